"""Scenarios of notebook 08 for `lab.both`: each takes a cluster and returns what it saw.

Their producer is the engine's own (shop.py), on the sockets of either side: it can lose an answer
on purpose and show every batch's numbers.  Rates come from confluent-kafka (measure.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.clients import ask, in_sync, partition, produce_at, topic_id, values
from kit.probes.raw_client import RawClient
from kit.tables import Table
from lessons.nb08_producers import fault_tape, measure
from lessons.nb08_producers.fault_stages import Live
from lessons.nb08_producers.shop import Shop, committed

ALL = (101, 102, 103)
PATIENCE_S = 30.0
REPEATS = 3
COUNT = 40
SLOW_MS = 5
QUICK = {"request.timeout.ms": 250, "delivery.timeout.ms": 600}
PLAIN = {"enable.idempotence": False}
Seen = Mapping[str, Any]


# -- numbers on the wire


def numbers(cluster: Cluster) -> Seen:
    """The numbers that a producer writes into its batches."""
    cluster.create_topic("orders", assignment={0: ALL})
    off = _numbers(cluster, PLAIN, "A")
    on = _numbers(cluster, {}, "B", "C")
    again = _numbers(cluster, {}, "C")
    return {
        "idempotence off": {"asks for an id": off["asked"], "numbers": off["numbers"]},
        "idempotence on": {"asks for an id": on["asked"], "numbers": on["numbers"]},
        "the same value from a new producer": {
            "another id": again["id"] != on["id"],
            "numbers": again["numbers"],
            "the log then": " ".join(values(cluster, "orders")),
        },
    }


def _numbers(cluster: Cluster, settings: Mapping[str, Any], *sent: str) -> dict[str, Any]:
    """One producer's run: whether it asked for an id, the id, and the numbers that it wrote."""
    with Shop(cluster, "orders", settings) as shop:
        shop.send(*sent)
        shop.wait()
        wrote = shop.lines("sent")
        return {
            "asked": bool(shop.lines("producer_id")),
            "id": wrote[0]["producer_id"],
            "numbers": [f"epoch {each['epoch']}, sequence {each['sequence']}" for each in wrote],
        }


def window(cluster: Cluster) -> Seen:
    """Batches with numbers of our choice, as no client would send them, and the answers."""
    cluster.create_topic("numbered", assignment={0: ALL})
    init = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    own = ask(cluster, 101, init).producer_id

    def send(sequence: int, epoch: int = 0, producer_id: int = own) -> str:
        return numbered(cluster, "numbered", producer_id, epoch, sequence)

    stored = [send(n) for n in range(7)]
    return {
        "sequence 0 … 6": f"{stored[0]} … {stored[-1]}",
        "6 again": send(6),
        "2 again, the fifth last": send(2),
        "1 again, the sixth last": send(1),
        "8, where 7 is next": send(8),
        "7": send(7),
        "8 again, which is next now": send(8),
        "8 with another producer id": send(8, producer_id=own + 900),
        "0 in epoch 1": send(0, epoch=1),
        "9 in epoch 0": send(9),
        "the log ends at": partition(cluster, "numbered")["logs"][101]["log_end_offset"],
    }


def numbered(cluster: Cluster, topic: str, producer_id: int, epoch: int, sequence: int) -> str:
    """One batch with these numbers to 101: the offset or the error that it answers."""
    records = requests.one_batch(
        b"x", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    body = requests.producing(topic_id(cluster, topic), acks=-1, records=records, timeout_ms=5_000)
    answer = requests.first_partition(ask(cluster, 101, body))
    return requests.refusal(answer) or f"offset {answer.base_offset}"


def lost_on_the_way(cluster: Cluster) -> Seen:
    """The answer to B is lost, then a connection under C D E, with three ways to send."""
    seen: dict[str, Any] = {}
    for label, settings in (
        ("idempotence off, 5 in flight", PLAIN),
        ("idempotence off, 1 in flight", {**PLAIN, "max.in.flight.requests.per.connection": 1}),
        ("idempotence on, 5 in flight", {}),
    ):
        cluster.create_topic("orders", assignment={0: ALL})
        with Shop(cluster, "orders", {"request.timeout.ms": 1_000, **settings}) as shop:
            shop.send("A")
            shop.wait()
            shop.lose_answers(1)
            shop.send("B")
            shop.wait()
            shop.lose_requests(1 if "1 in" in label else 3)
            shop.send("C", "D", "E")
            shop.wait()
            seen[label] = {
                "errors that the application saw": len(shop.having("unknown")),
                "most requests under way": shop.most_under_way,
                "the log": " ".join(shop.log()),
            }
    return seen


# -- time that runs out


def time_runs_out(cluster: Cluster) -> Seen:
    """Nothing gets through: which clock ends the wait of a record, and where it waits."""
    cluster.create_topic("orders", assignment={0: ALL})
    # The third attempt begins between 1,440 and 1,560 ms: far from its timeout at the end.
    settings = {"request.timeout.ms": 600, "delivery.timeout.ms": 1_800, "max.block.ms": 900,
                "buffer.memory": 40_000}  # fmt: skip
    with Shop(cluster, "orders", settings) as shop:
        shop.send("first")
        shop.wait()
        shop.lose_requests()
        shop.send(*("x" * 15_000 for _ in range(3)))
        shop.wait()
        _, sent, _, outside = shop.producer.sends
        first_pause = shop.lines("retry")[0]["backoff_us"] / 1000
        attempts = sum(line["batch"] == 2 for line in shop.lines("sent"))
    with Shop(cluster, "nowhere", settings) as lost:
        lost.send("A")
        lost.wait()
        unknown = lost.producer.sends[0]
    return {
        "sent, and no answer": {
            "attempts": measured(attempts, "attempts"),
            "first pause between attempts": measured(first_pause, "ms"),
            **_ending(sent),
        },
        "no room in buffer.memory": _ending(outside),
        "no such topic in the metadata": _ending(unknown),
    }


def _ending(sent: Any) -> dict[str, Any]:
    return {
        "verdict": sent.verdict,
        "ended by": sent.error,
        "after": measured((sent.done_us - sent.made_us) / 1000, "ms"),
    }


# -- copies


def minimum(cluster: Cluster) -> Seen:
    """min.insync.replicas=2 while two brokers leave; then the last one dies, and 102 returns."""
    cluster.create_topic("orders", assignment={0: ALL}, config={"min.insync.replicas": 2})
    seen: dict[str, Any] = {"ISR of 3": {"acks=all": _once(cluster, "all", "A")}}
    cluster.stop(103)
    cluster.wait_until(in_sync("orders", 101, 102), PATIENCE_S, "103 to leave the ISR")
    seen["ISR of 2"] = {"acks=all": _once(cluster, "all", "B")}
    cluster.stop(102)
    cluster.wait_until(in_sync("orders", 101), PATIENCE_S, "102 to leave the ISR")
    seen["ISR of 1"] = {
        "acks=all": _once(cluster, "all", "C"),
        "acks=1": _once(cluster, "1", "D"),
    }
    cluster.kill(101)
    cluster.start(102, 103)
    cluster.wait_until(_is_led_by(102, 103), PATIENCE_S, "a new leader")
    cluster.wait_until(committed("orders"), PATIENCE_S, "the log to be committed")
    seen["101 dies, 102 and 103 return"] = {"the log": " ".join(values(cluster, "orders"))}
    return seen


def _once(cluster: Cluster, acks: str, value: str) -> str:
    """One record with retries=0: what the application hears."""
    with Shop(cluster, "orders", {**PLAIN, "acks": acks, "retries": 0}) as shop:
        shop.send(value)
        shop.wait()
        return shop.errors[-1] or shop.verdicts[-1]


def _is_led_by(*brokers: int) -> Any:
    return lambda cluster: partition(cluster, "orders")["leader"] in brokers


def retries(cluster: Cluster) -> Seen:
    """Two troubles that pass, with retries=0 and with the default."""
    cluster.create_topic("strict", assignment={0: ALL}, config={"min.insync.replicas": 3})
    cluster.create_topic("orders", assignment={0: ALL})
    seen: dict[str, Any] = {}
    with _pair(cluster, "strict") as (never, default):
        cluster.stop(103)
        cluster.wait_until(in_sync("strict", 101, 102), PATIENCE_S, "103 to leave the ISR")
        never.send("A")
        never.wait()
        default.send("A")
        default.wait(for_s=1)
        refused = default.lines("retry")
        cluster.start(103)
        default.wait()
        seen["the ISR is too small, and recovers"] = {
            "retries=0": never.errors[-1],
            "the default": default.verdicts[-1],
            "after attempt 1 the client logs": f"{refused[0]['left']} attempts left",
            "attempts that were refused": measured(len(refused), "attempts"),
        }
    cluster.wait_until(in_sync("orders", *ALL), PATIENCE_S, "the ISR to be whole again")
    with _pair(cluster, "orders") as (never, default):
        cluster.stop(101)
        for each in (never, default):
            each.send("B")
            each.wait()
        seen["the leader is stopped"] = {
            "retries=0 succeeds": never.verdicts[-1] == "acknowledged",
            "the default succeeds": default.verdicts[-1] == "acknowledged",
        }
    return seen


@contextmanager
def _pair(cluster: Cluster, topic: str) -> Iterator[tuple[Shop, Shop]]:
    """A producer with retries=0 and one with the default; both know all brokers."""
    with Shop(cluster, topic, {**PLAIN, "retries": 0}) as never, Shop(cluster, topic) as default:
        for each in (never, default):
            each.send("first")
            each.wait()
        yield never, default


def hears_and_reads(cluster: Cluster) -> Seen:
    """When the producer hears and when a consumer reads, by acks; followers 5 ms away."""
    cluster.create_topic("timed", assignment={0: ALL})
    _far_followers(cluster)
    seen: dict[str, Any] = {}
    for acks in ("0", "1", "all"):
        heard, read = measure.times(cluster, "timed", COUNT // 2, acks)
        seen[f"acks={acks}"] = {
            "the producer hears": measured(heard, "ms"),
            "a consumer reads": measured(read, "ms"),
        }
    return seen


def _far_followers(cluster: Cluster) -> None:
    """One machine's own noise hides round trips between brokers, so links are made longer."""
    if cluster.offers("slow"):
        for follower in ALL[1:]:
            cluster.slow(ALL[0], follower, SLOW_MS)


# -- the application


def styles(cluster: Cluster) -> Seen:
    """Three requests are lost with their connection; then the rate of waiting for each answer."""
    seen: dict[str, Any] = {}
    for acks in ("0", "all"):
        cluster.create_topic("orders", assignment={0: ALL})
        with Shop(cluster, "orders", {"acks": acks, "request.timeout.ms": 1_000}) as shop:
            shop.send("A")
            shop.wait()
            shop.lose_requests(3)
            shop.send("B", "C", "D")
            shop.wait()
            seen[f"acks={acks}"] = {
                "reported as success": len(shop.having("acknowledged")),
                "offset of D, as reported": shop.producer.sends[-1].offset,
                "the log": " ".join(shop.log()),
            }
    for label, waits in (("waits for each answer", True), ("sends on", False)):
        batches = {"acks": "all", "batch.num.messages": 1_000}
        rate = measure.send_all(cluster, "orders", COUNT, batches, waits=waits).rate
        seen[label] = {"rate": measured(rate, "records/s")}
    return seen


def dead_letters(cluster: Cluster) -> Seen:
    """Twelve records, an outage longer than delivery.timeout.ms, a handler that keeps failures."""
    cluster.create_topic("orders", assignment={0: ALL})
    kept: list[str] = []
    with Shop(cluster, "orders", QUICK) as shop:
        for n in range(12):
            shop.lose_requests(1_000 if n in (4, 5) else 0)
            shop.lose_answers(1_000 if n == 6 else 0)
            shop.send(f"order-{n}")
            shop.wait()
            if shop.verdicts[-1] != "acknowledged":
                kept.append(shop.producer.sends[-1].text)
        stored = shop.log()
    return {
        "handed over": 12,
        "stored": len(stored),
        "kept by the handler": len(kept),
        "in neither place": 12 - len({*stored, *kept}),
        "in both: unknown, and stored": len({*stored} & {*kept}),
    }


# -- errors


def errors_on_the_wire(cluster: Cluster) -> Seen:
    """Errors that pass, and one that does not, provoked one by one."""
    cluster.create_topic("orders", assignment={0: ALL})
    cluster.create_topic("small", assignment={0: ALL}, config={"max.message.bytes": 500})
    cluster.create_topic("one-copy", assignment={0: [103]})
    with Shop(cluster, "small") as shop:
        shop.send("x" * 1_000)
        shop.wait()
        large = f"{shop.verdicts[-1]}: {shop.errors[-1]}"
        attempts = len(shop.lines("sent"))
    with RawClient(cluster, 101, "lesson") as client:
        answer = client.ask(requests.producing("nowhere", 10))
        nowhere = requests.refusal(requests.first_partition(answer))
    follower = produce_at(cluster, 102, "orders", "y")
    cluster.kill(103)
    cluster.wait_until(lambda c: partition(c, "one-copy")["leader"] == -1, PATIENCE_S, "no leader")
    return {
        "larger than max.message.bytes": {"verdict": large, "attempts": attempts},
        "a topic that is not there": nowhere,
        "produce to a follower": follower,
        "metadata of a partition without a leader": _metadata_error(cluster, "one-copy"),
    }


def _metadata_error(cluster: Cluster, topic: str) -> str:
    request = m.MetadataRequest
    body = request(topics=[request.MetadataRequestTopic(name=topic)])
    answer = ask(cluster, 101, body)
    return Errors(answer.topics[0].partitions[0].error_code).name


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
    """Which errors are retriable, and what one attempt with each does to a record's verdict."""
    from engine.client.completion import AFTER_APPEND, STALE_METADATA

    rows = []
    for each in (*PASSING, *SEQUENCE, *FINAL):
        error = Errors[each]
        yes_no = [error.retriable, error in STALE_METADATA, error in AFTER_APPEND]
        says = ["yes" if each else "no" for each in yes_no]
        rows.append([each, str(int(error)), *SAID_OTHERWISE.get(each, says)])
    columns = ("error", "code", "sent again", "looks up the leader", "may be stored")
    return Table("What a producer makes of an error", columns, rows)


# -- the fault tape


def one_fault_tape(cluster: Cluster) -> Seen:
    """Fast, default and safe settings under the same faults, judged by the history checker."""
    for attempt in range(REPEATS):
        stage = Live(cluster)
        try:
            return fault_tape.observed(fault_tape.play(stage))
        except fault_tape.Disturbed:
            if attempt + 1 == REPEATS:
                raise
            cluster.heal()
            cluster.wait_until(in_sync("safe", *ALL), PATIENCE_S, "the ISR to be whole again")
        finally:
            stage.close()
    raise AssertionError("not reached")
