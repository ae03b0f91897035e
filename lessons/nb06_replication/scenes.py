"""Scenarios of notebook 06 for `lab.both`: each takes a cluster and returns what it saw.

A scenario names its topic, waits on conditions and never sleeps, and returns only what
must be the same on the engine and on Kafka; times go through `measured`.  Brokers are
101, 102, 103, and 101 is the preferred leader, so that both sides tell the same story.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import ConfigResource, ConfigSource, NewTopic

from kit.both.outcomes import measured
from kit.clusters.explain import explain
from kit.clusters.interface import Cluster
from kit.probes.background_load import BackgroundLoad
from kit.probes.clients import (
    admin,
    fetch_at,
    in_sync,
    name,
    outcome,
    partition,
    produce_at,
    send,
    set_broker_config,
    values,
)

ALL = (101, 102, 103)
PATIENCE_S = 60.0
WEAK = "written with acks=1"
Seen = Mapping[str, Any]


# -- leaders and followers


def leaders_and_followers(cluster: Cluster) -> Seen:
    """The roles in a healthy cluster, and a follower's answers to clients."""
    cluster.create_topic("fleet", partitions=6, replicas=3)
    cluster.create_topic("orders", assignment={0: ALL})
    send(cluster, "orders", "A")
    cluster.wait_until(lambda c: _high_watermarks(c) == {1}, PATIENCE_S, "A to be committed")
    fleet = cluster.snapshot()["topics"]["fleet"]["partitions"].values()
    copies = _copies(cluster)
    to_leader = produce_at(cluster, 101, "orders", "B")
    # A follower answers up to the HW that it knows, and it hears of B's one fetch later.
    cluster.wait_until(lambda c: _high_watermarks(c) == {2}, PATIENCE_S, "B to be committed")
    return {
        "leaders of six partitions": sorted(Counter(p["leader"] for p in fleet).values()),
        "each led by its first replica": all(p["leader"] == p["replicas"][0] for p in fleet),
        "all in sync": all(len(p["isr"]) == 3 for p in fleet),
        "copies of the record": copies,
        "produce to the leader": to_leader,
        "produce to a follower": produce_at(cluster, 102, "orders", "C"),
        "consumer's fetch from a follower": fetch_at(cluster, 102, "orders"),
        "a topic with 4 replicas on 3 brokers": _creation(cluster, 4),
        "replicas when nobody says": _default_replicas(cluster),
    }


def _high_watermarks(cluster: Cluster) -> set[int]:
    return {log["high_watermark"] for log in partition(cluster, "orders")["logs"].values()}


def _copies(cluster: Cluster) -> list[str]:
    logs = cluster.snapshot(values=True)["topics"]["orders"]["partitions"][0]["logs"]
    return [f"{b}: {' '.join(v for e in log['batches'] for v in e['values'])}"
            for b, log in sorted(logs.items())]  # fmt: skip


def _creation(cluster: Cluster, replicas: int) -> str:
    client = admin(cluster)
    return outcome(client.create_topics([NewTopic("too-many", 1, replicas)])["too-many"])


def _default_replicas(cluster: Cluster) -> int:
    cluster.create_topic("default", partitions=1, replicas=-1)
    return len(partition(cluster, "default")["replicas"])


# -- the leader dies


def leader_dies_under_load(
    cluster: Cluster, loads: dict[str, BackgroundLoad] | None = None
) -> Seen:
    """The leader dies under acks=all load; then a second broker; then both come back."""
    cluster.create_topic("orders", assignment={0: ALL}, config={"min.insync.replicas": 2})
    with BackgroundLoad(cluster, "orders") as load:
        load.wait_for(50)
        before = partition(cluster, "orders")
        cluster.kill(101)
        load.mark("101 killed")
        cluster.wait_until(lambda c: c.leader("orders") == 102, PATIENCE_S, "a new leader")
        load.mark("102 leads")
        load.wait_for(50)
        after = partition(cluster, "orders")
        urp = under_replicated(cluster)
    if loads is not None:
        loads[cluster.name] = load
    refused = _below_the_minimum(cluster)
    home = _both_come_back(cluster)
    lost = load.acknowledged.keys() - set(values(cluster, "orders"))
    return {
        "leader": [before["leader"], after["leader"]],
        "leader epoch": [before["leader_epoch"], after["leader_epoch"]],
        "ISR": f"{before['isr']}, then {after['isr']}",
        "under-replicated partitions, at their leader": urp,
        "acknowledged records missing": len(lost),
        "a second broker killed": refused,
        "both back": home,
        "time without a leader": measured(load.events[1][0] - load.events[0][0], "s"),
        "longest wait for an acknowledgement": measured(load.longest_pause_s, "s"),
        "records acknowledged": measured(len(load.acknowledged), "records"),
    }


def _both_come_back(cluster: Cluster) -> Seen:
    cluster.start(101, 103)
    cluster.wait_until(in_sync("orders", *ALL), PATIENCE_S, "the ISR to be whole again")
    cluster.wait_until(lambda c: WEAK in values(c, "orders"), PATIENCE_S, "the acks=1 record")
    leads = cluster.leader("orders")
    elected = _elect(cluster, "orders", ElectionType.PREFERRED)
    cluster.wait_until(lambda c: c.leader("orders") == 101, PATIENCE_S, "101 to lead again")
    return {
        "ISR": partition(cluster, "orders")["isr"],
        "a consumer sees the acks=1 record": True,
        "leader": leads,
        "preferred election": elected,
        "leader then": cluster.leader("orders"),
        "the same again": _elect(cluster, "orders", ElectionType.PREFERRED),
    }


def _below_the_minimum(cluster: Cluster) -> Seen:
    cluster.kill(103)
    cluster.wait_until(in_sync("orders", 102), PATIENCE_S, "the ISR to shrink to 102")
    end = partition(cluster, "orders")["logs"][102]["log_end_offset"]
    told = send(cluster, "orders", "refused")
    unchanged = partition(cluster, "orders")["logs"][102]["log_end_offset"] == end
    return {
        "eligible leaders (ELR)": partition(cluster, "orders")["elr"],
        "acks=all": told,
        "which means": explain(told, cluster.snapshot(), "orders"),
        "log end unchanged": unchanged,
        "acks=1": send(cluster, "orders", WEAK, acks="1"),
        "a consumer sees the acks=1 record": WEAK in values(cluster, "orders"),
    }


def under_replicated(cluster: Cluster, topic: str = "orders") -> list[str]:
    """Partitions with replicas out of the ISR, counted where Kafka counts them: at the leader."""
    partitions = cluster.snapshot()["topics"][topic]["partitions"].values()
    counted = Counter(p["leader"] for p in partitions if len(p["isr"]) < len(p["replicas"]))
    return [f"{leader}: {number}" for leader, number in sorted(counted.items())]


# -- out of sync, and no leader


def out_of_sync_may_not_lead(cluster: Cluster) -> Seen:
    """103 falls behind; the ISR dies; 103 may not lead until an unclean election is requested."""
    cluster.create_topic("ledger", assignment={0: (101, 103)})
    send(cluster, "ledger", "A")
    cluster.cut(101, 103)
    asked = time.monotonic()
    told = send(cluster, "ledger", "B")  # waits for 103, until 103 is out
    waited = time.monotonic() - asked
    # The leader knows at once, the other brokers' metadata a moment later.
    cluster.wait_until(
        lambda c: partition(c, "ledger")["isr"] == [101], PATIENCE_S, "103 to be out of the ISR"
    )
    shrunk = partition(cluster, "ledger")["isr"]
    cluster.stop(101)
    cluster.wait_until(lambda c: partition(c, "ledger")["leader"] == -1, PATIENCE_S, "no leader")
    alone = partition(cluster, "ledger")
    preferred = _elect(cluster, "ledger", ElectionType.PREFERRED)
    unclean = _elect(cluster, "ledger", ElectionType.UNCLEAN)
    cluster.wait_until(lambda c: c.leader("ledger") == 103, PATIENCE_S, "an unclean leader")
    left = values(cluster, "ledger")
    cluster.heal()
    cluster.start(101)
    cluster.wait_until(in_sync("ledger", 101, 103), PATIENCE_S, "the ISR to be whole again")
    return {
        "103 is cut off; B, acks=all": told,
        "B waited for 103": measured(waited, "s"),
        "ISR when B is acknowledged": shrunk,
        "101 stopped": {"leader": alone["leader"], "ISR": alone["isr"], "ELR": alone["elr"]},
        "103 lives; preferred election": preferred,
        "103 lives; unclean election": unclean,
        "a consumer reads from 103": left,
        "and when 101 is back in the ISR": values(cluster, "ledger"),
    }


def _elect(cluster: Cluster, topic: str, kind: ElectionType, index: int = 0) -> str:
    wanted, client = TopicPartition(topic, index), admin(cluster)
    return name(client.elect_leaders(kind, [wanted]).result(20)[wanted])


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
    told = {setting: _default(found.get(setting)) for setting in DEFAULTS}
    one = set_broker_config(cluster, "101", "min.insync.replicas", "2")
    everywhere = set_broker_config(cluster, "", "min.insync.replicas", "2")
    cluster.create_topic("later")
    effective = _effective(client, "later", "min.insync.replicas")
    set_broker_config(cluster, "", "min.insync.replicas", "1")
    return {
        "default": told,
        "min.insync.replicas=2 for broker 101 alone": one,
        "min.insync.replicas=2 for the cluster": everywhere,
        "a new topic then has": effective,
    }


def _default(entry: Any) -> str:
    if entry is None:
        return "no such setting"
    values = {synonym.source: synonym.value for synonym in entry.synonyms.values()}
    found = values.get(ConfigSource.DEFAULT_CONFIG.value, entry.value)
    return "not set" if found is None or found == "" else str(found)


def _effective(client: Any, topic: str, setting: str) -> str:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(client.describe_configs([resource])[resource].result(20)[setting].value)
