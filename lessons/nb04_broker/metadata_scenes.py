"""Scenarios of notebook 04 on requests to any broker: metadata, and deleting a topic."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from engine.wire import messages as m
from kit.both.outcomes import measured
from kit.clusters import broker_log, broker_metrics
from kit.clusters.interface import Cluster, NotOffered
from kit.probes.clients import admin, outcome, partition
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, producing
from lessons.nb04_broker.scenes import ALL, PATIENCE_S, TOPIC, Seen, error, placed

ADMIN = ("CreateTopics", "DeleteTopics")
_RENAMED_OR_DELETED = re.compile(r"^\[(\S+ \S+)\] .*(is renamed to|Deleted log) .*?(/\S+-delete)\b")
"""A line about a deleted topic's directory: the time, what happened, and the path."""


def metadata_from_anybody(cluster: Cluster) -> Seen:
    """Every broker knows the leader; only the leader takes a write, and no broker passes it on."""
    placed(cluster)
    answers = []
    for broker in ALL:
        with RawClient(cluster, broker, "lesson") as client:
            named = m.MetadataRequest.MetadataRequestTopic(name=TOPIC)
            answers.append(_metadata(client.ask(m.MetadataRequest(topics=[named]))))
    with RawClient(cluster, 102, "lost") as client:
        refused = first_partition(client.ask(producing(TOPIC)))
        ends = partition(cluster, TOPIC)["logs"]
    return {
        "all three say the same": all(each == answers[0] for each in answers),
        "leader and ISR": answers[0][1],
        "a write to 102": error(refused.error_code),
        "records on 101 after it": ends[101]["log_end_offset"],
        "a client that gets no error sees new partitions": _new_partitions(cluster),
    }


def _metadata(answer: Any) -> tuple[list[int], list[Any]]:
    found = answer.topics[0].partitions[0]
    brokers = sorted(each.node_id for each in answer.brokers)
    return brokers, [found.leader_id, sorted(found.isr_nodes)]


def _new_partitions(cluster: Cluster, refresh_ms: int = 500) -> Any:
    """How long a client without a reason to ask keeps using the partitions it knows."""
    seen: list[int] = []

    def look(statistics: str) -> None:
        partitions = json.loads(statistics)["topics"].get(TOPIC, {}).get("partitions", {})
        seen.append(len([index for index in partitions if index != "-1"]))

    settings = {"topic.metadata.refresh.interval.ms": refresh_ms, "statistics.interval.ms": 50}
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, **settings, "stats_cb": look, "log_level": 0}
    )
    producer.produce(TOPIC, b"x")
    producer.flush(PATIENCE_S)
    client = admin(cluster)
    added = client.create_partitions([NewPartitions(TOPIC, 4)])[TOPIC]
    assert outcome(added) == "NONE", outcome(added)
    began = time.monotonic()
    while not (seen and seen[-1] == 4) and time.monotonic() < began + PATIENCE_S:
        producer.poll(0.05)
    return measured(time.monotonic() - began, f"s with a refresh every {refresh_ms / 1000:g} s")


def deleted_topic(cluster: Cluster) -> Seen:
    """DeleteTopics is answered when the decision is written down, not when the files are gone."""
    controller = cluster.snapshot()["controller"]["id"]
    before = _at_the_controller(cluster, controller)
    placed(cluster, "doomed")
    cluster.cut(controller, 103)
    with RawClient(cluster, 102, "lesson") as client, RawClient(cluster, 103, "lesson") as behind:
        client.ask(m.DeleteTopicsRequest(topic_names=["doomed"], timeout_ms=5_000), 5)
        answer = client.ask(m.DeleteTopicsRequest(topic_names=["doomed"], timeout_ms=5_000), 5)
        try:
            cluster.wait_until(lambda _: _knows(client) != "NONE", PATIENCE_S, "102 to hear of it")
            answers = [_knows(client), _knows(behind)]
        finally:
            cluster.heal()
        cluster.wait_until(lambda _: _knows(behind) != "NONE", PATIENCE_S, "103 to hear of it")
    # Brokers hear of the decision one after the other.
    cluster.wait_until(lambda c: "doomed" not in c.snapshot()["topics"], PATIENCE_S, "its end")
    later = _at_the_controller(cluster, controller)
    return {
        "asked of 102, decided by the controller": "doomed" not in cluster.snapshot()["topics"],
        **{f"{kind} requests that reached it": measured(later[kind] - before[kind], "since then")
           for kind in ADMIN},
        "deleted once more, at once": error(answer.responses[0].error_code),
        "102's answer about it, and that of 103, cut off": answers,
        **_left_at_101(cluster),
    }  # fmt: skip


def _at_the_controller(cluster: Cluster, controller: int) -> dict[str, float]:
    """How many requests it has had; a broker passes these on to it (KIP-590)."""
    try:
        found = broker_metrics.requests(cluster, controller, *ADMIN)
    except NotOffered:
        return dict.fromkeys(ADMIN, float("nan"))
    return {kind: float(found[kind].count) for kind in ADMIN}


def _knows(client: RawClient) -> str:
    named = m.MetadataRequest.MetadataRequestTopic(name="doomed")
    return error(client.ask(m.MetadataRequest(topics=[named])).topics[0].error_code)


def _left_at_101(cluster: Cluster, seconds: float = 1.0) -> Seen:
    """What there is once the old name is gone; nan where the files cannot be read."""
    directories = log_files = float("nan")
    place = cluster.provider.nodes()[101].data_dir  # type: ignore[attr-defined]
    if place is not None:
        deadline = time.monotonic() + seconds
        while (Path(place) / "doomed-0").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        renamed = list(Path(place).glob("doomed-0.*-delete"))
        directories = len(renamed)
        log_files = sum(len(list(each.glob("*.log"))) for each in renamed)
    return {
        "directories doomed-0.…-delete at 101": measured(directories, "a moment later"),
        "log files in them": measured(log_files, "a moment later"),
        "an earlier one, from renaming to removal": measured(_kept_s(cluster), "s"),
    }


def _kept_s(cluster: Cluster) -> float:
    """How long 101 kept a deleted topic's directory, by its log; nan without such a pair of lines.

    A real broker says where it renamed a directory to, and when it has deleted that one.
    """
    if cluster.name == "engine":
        return float("nan")
    renamed: dict[str, datetime] = {}
    kept = float("nan")
    for line in broker_log.find(cluster, 101, "log partition", last=100_000).lines:
        if (found := _RENAMED_OR_DELETED.search(line)) is None:
            continue
        at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f")
        directory = found[3]
        if found[2] == "is renamed to":
            renamed[directory] = at
        elif directory in renamed:
            kept = (at - renamed[directory]).total_seconds()
    return kept


def metadata_and_admin(cluster: Cluster) -> Seen:
    """Requests that any broker answers, and a deletion."""
    return {"metadata": metadata_from_anybody(cluster), "DeleteTopics": deleted_topic(cluster)}
