"""Scenarios of notebook 06 for `lab.both`: each takes a cluster and returns what it saw.

A scenario names its topic, waits on conditions and never sleeps, and returns only what
must be the same on the engine and on Kafka; times go through `measured`.  Brokers are
101, 102, 103, and 101 is the preferred leader, so that both sides tell the same story.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import ElectionType
from confluent_kafka.admin import ConfigResource, ConfigSource, NewTopic

from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.background_load import BackgroundLoad
from kit.probes.clients import (
    admin,
    ask,
    elect,
    fetch_at,
    in_sync,
    metadata_at,
    outcome,
    partition,
    produce_at,
    send,
    set_broker_config,
    topic_id,
    values,
    whole,
)

ALL = (101, 102, 103)
PATIENCE_S = 60.0
SLOW_MS = 4_000
"""Each way: a fetch takes longer than replica.lag.time.max.ms."""
SILENCE_MS = 200
"""For a write that cannot be acknowledged: much shorter than replica.lag.time.max.ms."""
FACTORS = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2))
OFFLINE = "factor-2-minimum-1"
"""All of its brokers are down for a while."""
FLEET = {0: (101, 102, 103), 1: (102, 103, 101), 2: (103, 101, 102),
         3: (101, 103, 102), 4: (102, 101, 103), 5: (103, 102, 101)}  # fmt: skip
Seen = Mapping[str, Any]


# -- leaders and followers


def leaders_and_followers(cluster: Cluster) -> Seen:
    """The roles in a healthy cluster, and a follower's answers to clients."""
    cluster.create_topic("fleet", partitions=6, replicas=3)
    cluster.create_topic("orders", assignment={0: ALL, 1: ALL})
    send(cluster, "orders", "A")
    cluster.wait_until(lambda c: _high_watermarks(c) == {1}, PATIENCE_S, "A to be committed")
    fleet = cluster.snapshot()["topics"]["fleet"]["partitions"].values()
    orders = partition(cluster, "orders")
    to_leader = produce_at(cluster, 101, "orders", "B")
    # A follower answers up to the HW that it knows, and it hears of B's one fetch later.
    cluster.wait_until(lambda c: _high_watermarks(c) == {2}, PATIENCE_S, "B to be committed")
    return {
        "leaders of six partitions": sorted(Counter(p["leader"] for p in fleet).values()),
        "each led by its first replica": all(p["leader"] == p["replicas"][0] for p in fleet),
        "all in sync": all(len(p["isr"]) == 3 for p in fleet),
        "replicas of orders-0": f"{_listed(orders['replicas'])}, led by {orders['leader']}",
        "partition 0 of orders": _copies(cluster),
        "partition 1 of orders": _copies(cluster, 1),
        "produce to the leader": to_leader,
        "produce to a follower": produce_at(cluster, 102, "orders", "C"),
        "consumer's fetch from a follower": fetch_at(cluster, 102, "orders"),
        "a consumer without a rack asks the leader": _asked(cluster, 101, ""),
        "one in the rack of 102 asks the leader": _asked(cluster, 101, "b"),
        "a topic with 4 replicas on 3 brokers": _creation(cluster, 4),
        "default.replication.factor": {
            "Kafka's default": _own_default(cluster),
            "a topic created with -1 replicas has": _default_replicas(cluster),
        },
    }


def _high_watermarks(cluster: Cluster) -> set[int]:
    return {log["high_watermark"] for log in partition(cluster, "orders")["logs"].values()}


def _copies(cluster: Cluster, index: int = 0) -> list[str]:
    logs = cluster.snapshot(values=True)["topics"]["orders"]["partitions"][index]["logs"]
    stored = {broker: [value for each in log["batches"] for value in each["values"]]
              for broker, log in sorted(logs.items())}  # fmt: skip
    return [f"{broker}: {' '.join(values) or 'nothing'}" for broker, values in stored.items()]


def _asked(cluster: Cluster, broker: int, rack: str) -> str:
    """A consumer's Fetch from a rack (KIP-392): records, or the replica that it should ask."""
    request = requests.fetching(topic_id(cluster, "orders"))
    request.rack_id = rack
    answer = ask(cluster, broker, request)
    preferred = requests.first_partition(answer).preferred_read_replica
    return f"{requests.records_in(answer)} records" if preferred < 0 else f"read from {preferred}"


def asks_again(cluster: Cluster, broker: int, topic: str, value: str) -> list[Any]:
    """What a client does: a write, the leader by that broker's metadata, the write there."""
    refused = produce_at(cluster, broker, topic, value)
    partitions = metadata_at(cluster, broker, topic).partitions
    leader = next(p.leader_id for p in partitions if p.partition_index == 0)
    return [refused, leader, produce_at(cluster, leader, topic, value)]


def _creation(cluster: Cluster, replicas: int) -> str:
    client = admin(cluster)
    return outcome(client.create_topics([NewTopic("too-many", 1, replicas)])["too-many"])


def _default_replicas(cluster: Cluster) -> int:
    cluster.create_topic("default", partitions=1, replicas=-1)
    return len(partition(cluster, "default")["replicas"])


def _own_default(cluster: Cluster) -> str:
    broker = ConfigResource(ConfigResource.Type.BROKER, "101")
    client = admin(cluster)
    found = client.describe_configs([broker])[broker].result(20)
    return _default(found.get("default.replication.factor"))


# -- a leader dies


def standing(seen: Mapping[str, Any]) -> str:
    """A partition of a snapshot in words."""
    isr = " ".join(map(str, seen["isr"]))
    return f"{seen['leader']} leads in epoch {seen['leader_epoch']}, ISR {isr}"


def under_replicated(cluster: Cluster, topic: str = "orders") -> list[str]:
    """Partitions with replicas out of the ISR, counted where Kafka counts them: at the leader."""
    partitions = cluster.snapshot()["topics"][topic]["partitions"].values()
    counted = Counter(p["leader"] for p in partitions if len(p["isr"]) < len(p["replicas"]))
    return [f"{leader}: {number}" for leader, number in sorted(counted.items())]


def send_to_each(cluster: Cluster, topics: Iterable[str], value: str) -> dict[str, str]:
    """One record with acks=all to each topic at the same time; the answers."""
    names = list(topics)
    with ThreadPoolExecutor(len(names)) as pool:
        answers = pool.map(lambda topic: send(cluster, topic, value), names)
    return dict(zip(names, answers, strict=True))


def missing(cluster: Cluster, value: str, answers: Mapping[str, str]) -> list[str]:
    """The topics in which a value was acknowledged and no consumer finds it."""
    acknowledged = [topic for topic, answer in answers.items() if answer == "NONE"]
    return [topic for topic in acknowledged if value not in values(cluster, topic)]


# -- out of the ISR, and back


def out_and_back(cluster: Cluster) -> Seen:
    """103 is cut off, comes back, loses its heartbeats, comes back, and is slow under load."""
    cluster.create_topic("orders", assignment={0: ALL})
    send(cluster, "orders", "A")
    all_in = in_sync("orders", *ALL)
    without_103 = in_sync("orders", 101, 102)
    cluster.wait_until(all_in, PATIENCE_S, "all to be in sync")
    cluster.cut(101, 103)
    for value in ("B", "C"):
        send(cluster, "orders", value, acks="1")
    cluster.wait_until(lambda c: _log_end(c, 102) == 3, PATIENCE_S, "102 to have B and C")
    behind = partition(cluster, "orders")
    asked = time.monotonic()
    answer = send(cluster, "orders", "D")  # waits for 103, until 103 is out
    waited = time.monotonic() - asked
    cluster.wait_until(without_103, PATIENCE_S, "103 to be out of the ISR")
    cut_off = partition(cluster, "orders")
    cluster.heal()
    cluster.wait_until(all_in, PATIENCE_S, "103 to be back")
    healed, copies = partition(cluster, "orders"), _copies(cluster)
    controller = cluster.snapshot()["controller"]["id"]
    cluster.cut(controller, 103)
    cluster.wait_until(lambda c: c.snapshot()["brokers"][103]["fenced"], PATIENCE_S, "a fence")
    cluster.wait_until(without_103, PATIENCE_S, "103 to be out of the ISR")
    cluster.heal()
    cluster.wait_until(all_in, PATIENCE_S, "103 to be back again")
    with BackgroundLoad(cluster, "orders", acks="1"):
        cluster.slow(101, 103, SLOW_MS)
        cluster.wait_until(without_103, PATIENCE_S, "103 to be out once more")
    return {
        "103 is two records behind": {
            "leader": behind["leader"],
            "log ends of 101, 102, 103": [behind["logs"][b]["log_end_offset"] for b in ALL],
            "high watermark": behind["logs"][101]["high_watermark"],
            "ISR": behind["isr"],
        },
        "D, acks=all": answer,
        "D waited for 103": measured(waited, "s"),
        "then": {
            "ISR": cut_off["isr"],
            "high watermark": cut_off["logs"][101]["high_watermark"],
        },
        "the link is healed": {"ISR": healed["isr"], "logs": copies},
        "103 loses its heartbeats only: fenced, ISR 101 102": True,
        "103 fetches, too slowly for the load: ISR 101 102": True,
    }


def _log_end(cluster: Cluster, broker: int) -> int:
    return int(partition(cluster, "orders")["logs"][broker]["log_end_offset"])


# -- acks=1


def acks_and_silent_followers(cluster: Cluster) -> Seen:
    """The leader alone has B, C and D, and dies before a follower can fetch them.

    The same code writes to a topic that has no followers.
    """
    factors = {"orders": "replication factor 3", "one-copy": "replication factor 1, the same code"}
    cluster.create_topic("orders", assignment={0: ALL})
    cluster.create_topic("one-copy", assignment={0: (101,)})
    for topic in factors:
        send(cluster, topic, "A")
    cluster.wait_until(lambda c: _high_watermarks(c) == {1}, PATIENCE_S, "A to be committed")
    cluster.cut(101, 102)
    cluster.cut(101, 103)
    seen: dict[str, dict[str, Any]] = {topic: _three_writes(cluster, topic) for topic in factors}
    cluster.kill(101)
    cluster.wait_until(lambda c: c.leader("orders") == 102, PATIENCE_S, "102 to lead")
    cluster.wait_until(lambda c: c.leader("one-copy") == -1, PATIENCE_S, "one-copy to be offline")
    cluster.wait_until(lambda c: values(c, "orders"), PATIENCE_S, "A to be readable")
    for topic in factors:
        led = cluster.leader(topic) != -1
        read = values(cluster, topic) if led else "no leader"
        seen[topic]["101 killed: a consumer reads"] = read
    cluster.heal()
    cluster.start(101)
    cluster.wait_until(in_sync("orders", *ALL), PATIENCE_S, "101 to be back in the ISR")
    cluster.wait_until(lambda c: c.leader("one-copy") == 101, PATIENCE_S, "101 to lead again")
    for topic in factors:
        seen[topic]["101 back in the ISR: a consumer reads"] = values(cluster, topic)
    return {name: seen[topic] for topic, name in factors.items()}


def _three_writes(cluster: Cluster, topic: str) -> dict[str, Any]:
    """B with acks=0, C with acks=1, D with acks=all: answers, waits in ms, and the log ends."""
    answers, waited_ms = [], []
    for value, acks in zip("BCD", ("0", "1", "all"), strict=True):
        asked = time.monotonic()
        answers.append(send(cluster, topic, value, acks=acks, timeout_ms=SILENCE_MS))
        waited_ms.append(1000 * (time.monotonic() - asked))
    logs = partition(cluster, topic)["logs"]
    return {
        "B acks=0, C acks=1, D acks=all": answers,
        **{
            f"{value} waited": measured(ms, "ms")
            for value, ms in zip("BCD", waited_ms, strict=True)
        },
        "log ends": [log["log_end_offset"] for log in logs.values()],
    }


# -- how many replicas


def brokers_go_and_return(cluster: Cluster) -> Seen:
    """101 is killed, then 102 stopped; which topics take a write?  Then both come back."""
    topics = {f"factor-{r}-minimum-{m}": (r, m) for r, m in FACTORS}
    for topic, (factor, minimum) in topics.items():
        config = {"min.insync.replicas": minimum}
        cluster.create_topic(topic, assignment={0: ALL[:factor]}, config=config)
    cluster.create_topic("fleet", assignment=FLEET)
    answers = {topic: [send(cluster, topic, "A")] for topic in topics}
    replicas, leaders = _replica_lists(cluster), [_leaders(cluster)]
    for broker, fault in ((101, cluster.kill), (102, cluster.stop)):
        fault(broker)
        for topic in topics:
            cluster.wait_until(_without(broker, topic), PATIENCE_S, f"{topic} without {broker}")
            led = cluster.leader(topic) != -1
            answers[topic].append(send(cluster, topic, "B") if led else "no leader")
        leaders.append(_leaders(cluster))
    alone = values(cluster, "factor-3-minimum-1")
    cluster.start(101, 102)
    cluster.wait_until(whole("fleet"), PATIENCE_S, "all to be in sync")
    cluster.wait_until(lambda c: c.leader(OFFLINE) != -1, PATIENCE_S, "a leader again")
    leaders.append(_leaders(cluster))
    again = asks_again(cluster, 101, "fleet", "D")
    elected = Counter(elect(cluster, "fleet", ElectionType.PREFERRED, each) for each in FLEET)
    cluster.wait_until(lambda c: _leaders(c) == leaders[0], PATIENCE_S, "leaders at home")
    home = _leaders(cluster)
    moments = ("at first", "101 killed", "102 stopped", "both are back")
    return {
        "acks=all": {_spelled(topic): given for topic, given in answers.items()},
        "two are down: factor 3, minimum 1: a consumer reads": alone,
        "both are back: factor 2, minimum 1": send(cluster, OFFLINE, "C"),
        "replica lists of fleet": replicas,
        "leaders of fleet": dict(zip(moments, leaders, strict=True)),
        "a write to 101, its metadata, the write there": again,
        "preferred elections for the six": elected,
        "leaders then": home,
        "led by 101, 102, 103 each time": [_per_broker(each) for each in (*leaders, home)],
    }


def _leaders(cluster: Cluster) -> list[int]:
    found = cluster.snapshot()["topics"]["fleet"]["partitions"]
    return [partition["leader"] for _, partition in sorted(found.items())]


def _replica_lists(cluster: Cluster) -> list[str]:
    """The replicas of each partition of `fleet` in their order, as `101 102 103`."""
    found = cluster.snapshot()["topics"]["fleet"]["partitions"]
    return [_listed(partition["replicas"]) for _, partition in sorted(found.items())]


def _listed(brokers: Iterable[int]) -> str:
    return " ".join(map(str, brokers))


def _per_broker(leaders: Iterable[int]) -> str:
    """How many partitions 101, 102 and 103 lead, as `2 2 2`."""
    counted = Counter(leaders)
    return " ".join(str(counted[broker]) for broker in ALL)


def _without(broker: int, topic: str) -> Any:
    """A condition: the topic has no leader, or goes on without the broker."""

    def holds(cluster: Cluster) -> bool:
        now = partition(cluster, topic)
        return now["leader"] == -1 or broker not in (now["leader"], *now["isr"])

    return holds


def _spelled(topic: str) -> str:
    return topic.replace("-minimum-", ", minimum ").replace("-", " ")


# -- settings


DEFAULTS = (
    "replica.lag.time.max.ms",
    "min.insync.replicas",
    "default.replication.factor",
    "unclean.leader.election.enable",
    "auto.leader.rebalance.enable",
    "leader.imbalance.check.interval.seconds",
    "leader.imbalance.per.broker.percentage",
    "unclean.leader.election.interval.ms",
    "broker.session.timeout.ms",
    "broker.heartbeat.interval.ms",
    "replica.selector.class",
)


def settings_and_defaults(cluster: Cluster) -> Seen:
    """Kafka's defaults as the broker reports them, and one change while it runs."""
    client = admin(cluster)
    broker = ConfigResource(ConfigResource.Type.BROKER, "101")
    found = client.describe_configs([broker])[broker].result(20)
    defaults = {setting: _default(found.get(setting)) for setting in DEFAULTS}
    internal = "unclean.leader.election.interval.ms"
    hidden = set_broker_config(cluster, "101", internal, "7000")
    one = set_broker_config(cluster, "101", "min.insync.replicas", "2")
    return {
        "default": defaults,
        f"{internal}=7000 while it runs": hidden,
        "min.insync.replicas=2 for broker 101 alone": one,
        **{f"{setting}={value} for the cluster; a new topic has": _for_new_topics(
            cluster, setting, value, before) for setting, value, before in CHANGES},
    }  # fmt: skip


CHANGES = (("min.insync.replicas", "2", "1"), ("unclean.leader.election.enable", "true", "false"))


def _for_new_topics(cluster: Cluster, setting: str, value: str, before: str) -> list[str]:
    """Changes a default of all brokers while they run, and looks at a topic made after it."""
    answer = set_broker_config(cluster, "", setting, value)
    try:
        cluster.create_topic("later")
        return [answer, _effective(admin(cluster), "later", setting)]
    finally:
        set_broker_config(cluster, "", setting, before)


def _default(entry: Any) -> str:
    if entry is None:
        return "not listed"
    found = {each.source: each.value for each in (entry, *entry.synonyms.values())}
    return str(found.get(ConfigSource.DEFAULT_CONFIG.value) or "not set")


def _effective(client: Any, topic: str, setting: str) -> str:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(client.describe_configs([resource])[resource].result(20)[setting].value)
