"""The runs of notebook 04: what their tables and pictures say, and the scenes on a live engine."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from kit.clusters import engine
from kit.clusters.broker_metrics import STAGES, Requests
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.one_partition import cluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import producing
from lessons.nb04_broker import (
    broker_runs,
    connection_scenes,
    load_scenes,
    quota_scenes,
    request_bytes,
    request_path,
    scenes,
)
from lessons.nb04_broker.gantt import BROKER, WAITING, Gantt, Span, ticks
from lessons.nb04_broker.stage_chart import StageChart


@pytest.fixture(scope="module")
def served() -> Iterator[KafkaCluster]:
    with engine.start() as live:
        yield live


# -- in virtual time


def test_the_fields_of_a_request_add_up_to_its_bytes() -> None:
    table = request_bytes.anatomy()
    shown = {row[2]: row[3] for row in table.rows}
    assert shown["API key"] == "0 = Produce"
    assert shown["client id"] == "till-4"
    assert shown["acks"] == "-1 = all"
    assert shown["batch"].startswith("1 record, magic 2")
    ends = [int(row[1]) for row in table.rows if row[0] == "body"]
    assert ends[0] == 4 + 17
    assert table.closing == (
        "145 bytes: 4 of length, 17 of header, 124 of body; 91 of them are the batch."
    )


def test_a_follower_is_told_from_a_consumer_by_its_replica_id() -> None:
    rows = {row[0]: row for row in request_bytes.other_requests().rows}
    assert rows["a consumer"][4] == "-1"
    assert rows["a follower"][4] == "102"


def test_only_offset_and_epoch_are_written_into_a_batch() -> None:
    seen = dict(request_bytes.stored_bytes(cluster()).rows)
    changed = seen["bytes that differ on disk"]
    assert set(re.findall(r"\(([^)]*)\)", changed)) == {"base offset", "leader epoch"}
    assert seen["fetched equals stored"] == seen["CRC still right"] == "yes"


def test_purgatory_ends_when_the_slower_follower_has_asked() -> None:
    spans = request_path.produce_timeline(cluster(minimum=2)).spans
    by_name = {span.name: span for span in spans}
    waits = by_name["101: purgatory"]
    told = [span.end for span in spans if span.name.endswith("next fetch")]
    assert len(told) == 2
    assert waits.end == max(told) == by_name["101: high watermark"].start


def test_with_acks_1_nobody_waits() -> None:
    names = [span.name for span in request_path.produce_timeline(cluster(), "1").spans]
    assert names == ["socket", "101: its step", "socket"]


def test_a_long_poll_is_ended_by_a_write_or_by_its_time() -> None:
    world = cluster(minimum=2)
    quiet = request_path.fetch_timeline(world.fork(), 500, None).spans[1]
    spans = request_path.fetch_timeline(world, 500, 100).spans
    written = spans[1]
    assert quiet.kind == written.kind == WAITING
    assert quiet.end - quiet.start == pytest.approx(500)
    assert 100 < written.end < 110
    by_name = {span.name: span for span in spans[2:]}
    committed = by_name["101: high watermark"].start
    assert by_name["a producer"].end == by_name["101: append"].start < committed == written.end


def test_a_power_loss_takes_no_acknowledged_record() -> None:
    rows = broker_runs.page_cache().rows
    assert [row[-1] for row in rows] == ["A B"] * 4
    assert [row[1] for row in rows] == ["2", "–", "0", "2"]


def test_fewer_and_larger_fetches_cost_delay() -> None:
    often, _, soon = broker_runs.fetch_experiment(1, 500)
    seldom, kilobytes, late = broker_runs.fetch_experiment(50_000, 500)
    assert often > 10 * seldom
    assert seldom == pytest.approx(2, rel=0.02)
    assert kilobytes > 20
    assert soon < 10 < late <= 510


def test_the_queue_grows_as_idleness_ends() -> None:
    (calm, much), (busy, little) = (broker_runs._handlers(load, 8, 20_000) for load in (0.5, 0.95))
    assert much > 0.4 > 0.1 > little
    assert sum(busy) > 50 * sum(calm)
    at_99 = [float(row[2].split()[0]) for row in broker_runs.idle_and_waiting().rows]
    assert at_99 == sorted(at_99)
    assert at_99[1] > 2


def test_a_greedy_client_comes_in_bursts_and_near_its_limit_in_the_mean() -> None:
    rows = broker_runs.settling().rows
    assert [row[1] for row in rows] == ["burst", "trickle"] * 4
    assert all(float(row[3].split()[0]) < 50 for row in rows if row[1] == "trickle")
    assert 100 <= float(rows[-1][4].split()[0]) <= 105


def test_every_broker_counts_for_itself() -> None:
    assert [row[2] for row in broker_runs.one_broker_or_three().rows] == ["1.0", "3.0"]


# -- pictures


def test_a_timeline_is_said_in_words_and_drawn_well_formed() -> None:
    spans = [Span("queue", WAITING, 0, 2, "waits"), Span("step", BROKER, 2, 2, "<works>")]
    picture = Gantt("One request", "ms", spans)
    assert "waits" in picture.text
    root = ElementTree.fromstring(picture.svg())
    assert "One request" in "".join(root.itertext())
    assert "<works>" in "".join(root.itertext())


@pytest.mark.parametrize("last", [0.004, 0.9, 2.5, 7, 123, 2084, 501_000])
def test_ticks_are_few_and_reach_the_end(last: float) -> None:
    marks = ticks(last)
    assert marks[0] == 0
    assert 2 <= len(marks) <= 8
    assert marks[-1] <= last < marks[-1] + 2 * (marks[1] - marks[0])


def test_stages_are_charted_for_both_sides() -> None:
    some = Requests(2, dict.fromkeys(STAGES, 2.0))
    chart = StageChart({"local": {"acks=all": some}, "engine": {"acks=all": some}})
    assert list(chart.sides) == ["engine", "local"]
    assert chart.text.count("1.00") == 2 * len(STAGES)
    drawn = "".join(ElementTree.fromstring(chart.svg()).itertext())
    assert drawn.count("5.00 ms") == 2  # five stages: the throttle time stands apart
    assert drawn.count("then muted 1 ms") == 2


# -- on a live engine


def test_a_paused_follower_keeps_a_write_and_what_is_behind_it(served: KafkaCluster) -> None:
    seen = scenes.purgatory_and_order(served)
    assert seen["the write is answered"] is False
    assert seen["another connection is served"] is True
    assert seen["after the follower moves on, answers in order"] == [0, 1]


def test_old_work_is_done_when_the_leader_wakes(served: KafkaCluster) -> None:
    assert scenes.retries_pile_up(served, 3)["records after the broker moved on"] == 3


def test_a_session_names_partitions_once(served: KafkaCluster) -> None:
    seen = scenes.fetch_session(served)
    assert seen["partitions in a quiet one"] == 0
    assert seen["partitions after one write"] == 1


def test_limits_on_connections(served: KafkaCluster) -> None:
    seen = connection_scenes.connection_limits(served)
    assert seen["127.0.0.1 as an exception: served"] == connection_scenes.CROWD
    assert seen["max.connections"] == {
        "the next one": "waits",
        "when the others have left": "served",
    }


def test_an_impolite_client_is_not_read(served: KafkaCluster) -> None:
    seen = quota_scenes.producer_over_its_rate(served)
    assert seen["sends on at once: bytes stay unread"] is True
    assert seen["not before its time"] is True
    assert seen["another client id is not throttled"] is True


def test_each_cause_shows_in_its_stage(served: KafkaCluster) -> None:
    timers: dict[str, dict[str, Requests]] = {}
    seen = load_scenes.stages(served, timers)
    assert seen["followers 25 ms away: the longest stage"] == "RemoteTimeMs"
    assert seen["a slow reader: sending took"].value > 100
    assert all(set(row.sums_ms) == set(STAGES) for row in timers["engine"].values())
    assert set(timers) == {"engine"}


def test_a_limited_flood_obeys_its_throttle_time(served: KafkaCluster) -> None:
    seen = quota_scenes.neighbours(served, 0.3)
    assert seen["the limit cut the flood"] is True
    assert seen["the limited flood"].value <= 2.6  # the burst, and nothing that lies unread


def test_idle_readers_are_answered_with_nothing(served: KafkaCluster) -> None:
    assert load_scenes.idle_readers(served, 5)["each was answered, with nothing"] is True


def test_the_last_request_is_drawn_as_measured(served: KafkaCluster) -> None:
    scenes.placed(served)
    with RawClient(served, 101, "followed") as client:
        client.ask(producing(scenes.TOPIC, 100, acks=-1))
    spans = request_path.measured_timeline(served, "followed").spans
    assert [span.name for span in spans][:3] == ["request queue", "local", "remote"]
    assert all(a.end == b.start for a, b in itertools.pairwise(spans))
