"""Errors that a producer meets: provoked on a cluster, and in a table with what it makes of each.

`errors_on_the_wire` is a scenario for `lab.both`.  In `errors_by_name` the engine's producer meets
each answer once, from a broker that only plays a script.
"""

from __future__ import annotations

from engine.client.completion import AFTER_APPEND, STALE_METADATA
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.clients import metadata_at, partition, produce_at
from kit.probes.raw_client import RawClient
from kit.tables import Table
from lessons.nb08_producers.be_the_broker import meets_once
from lessons.nb08_producers.scenes import ALL, PATIENCE_S, Seen
from lessons.nb08_producers.shop import Shop


def errors_on_the_wire(cluster: Cluster) -> Seen:
    """Errors that pass, and one that does not, provoked one by one."""
    cluster.create_topic("orders", assignment={0: ALL})
    cluster.create_topic("small", assignment={0: ALL}, config={"max.message.bytes": 500})
    cluster.create_topic("one-copy", assignment={0: [103]})
    cluster.delete_topic("late")
    with Shop(cluster, "small") as shop:
        shop.send("x" * 1_000)
        shop.wait()
        large = f"{shop.verdicts[-1]}: {shop.errors[-1]}"
        attempts = len(shop.lines("sent"))
    with RawClient(cluster, 101, "lesson") as client, Shop(cluster, "late") as shop:
        answer = client.ask(requests.producing("late", 10))
        absent = requests.refusal(requests.first_partition(answer))
        shop.send("A")
        shop.wait(for_s=0.3)
        waiting = shop.verdicts[-1]
        cluster.create_topic("late", assignment={0: ALL})
        shop.wait()
        found = shop.verdicts[-1]
    follower = produce_at(cluster, 102, "orders", "y")
    cluster.kill(103)
    cluster.wait_until(lambda c: partition(c, "one-copy")["leader"] == -1, PATIENCE_S, "no leader")
    return {
        "larger than max.message.bytes": {"verdict": large, "attempts": attempts},
        "a topic that is not there": absent,
        "a producer's record for it": waiting,
        "the same record, when the topic is there": found,
        "produce to a follower": follower,
        "metadata of a partition without a leader": _metadata_error(cluster, "one-copy"),
    }


def _metadata_error(cluster: Cluster, topic: str) -> str:
    return Errors(metadata_at(cluster, 101, topic).partitions[0].error_code).name


PASSING = ("NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION",
           "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT",
           "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR")  # fmt: skip
SEQUENCE = ("OUT_OF_ORDER_SEQUENCE_NUMBER", "DUPLICATE_SEQUENCE_NUMBER")
SAID_OTHERWISE = {
    "REQUEST_TIMED_OUT": ["yes", "no; yes if no answer came", "yes"],
    "OUT_OF_ORDER_SEQUENCE_NUMBER": ["with idempotence", "no", "not this attempt"],
    "DUPLICATE_SEQUENCE_NUMBER": ["no: it is success", "no", "it is stored"],
}
"""Where a flag of the protocol is not all there is to say."""
FINAL = ("MESSAGE_TOO_LARGE", "INVALID_RECORD", "TOPIC_AUTHORIZATION_FAILED",
         "INVALID_REQUIRED_ACKS", "INVALID_PRODUCER_EPOCH")  # fmt: skip


def errors_by_name() -> Table:
    """Which errors are retriable, what one attempt with each does to a record's verdict, and what
    a producer does that meets it once."""
    rows = []
    for each in (*PASSING, *SEQUENCE, *FINAL):
        error = Errors[each]
        yes_no = [error.retriable, error in STALE_METADATA, error in AFTER_APPEND]
        says = ["yes" if each else "no" for each in yes_no]
        times, verdict = meets_once(each)
        rows.append([
            each, str(int(error)), *SAID_OTHERWISE.get(each, says), f"{times}, {verdict}",
        ])  # fmt: skip
    columns = ("error", "code", "sent again", "looks up the leader", "may be stored",
               "one such answer: requests, verdict")  # fmt: skip
    return Table("What a producer makes of an error", columns, rows)
