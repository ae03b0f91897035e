"""The runs of notebook 04: what their tables and pictures say, and the scenes on a live engine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from kit.clusters import engine
from kit.clusters.broker_metrics import STAGES, Requests
from kit.clusters.kafka_cluster import KafkaCluster
from kit.drawings.sequence import SequenceDiagram
from kit.probes.one_partition import cluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, one_batch, producing
from lessons.nb04_broker import (
    broker_runs,
    broker_threads,
    connection_scenes,
    fetch_rates,
    metadata_scenes,
    quota_scenes,
    reader_costs,
    request_bytes,
    request_log,
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


def followed(acks: str) -> request_path.Path:
    diagram = SequenceDiagram(cluster(minimum=2), "orders")
    diagram.send("forty euros", acks=acks)
    return request_path.produce_path(diagram.run(for_s=1))


def test_purgatory_ends_when_the_slower_follower_has_asked() -> None:
    spans = followed("all").picture.spans
    by_name = {span.name: span for span in spans}
    waits = by_name["101: purgatory"]
    asked = [span.end for span in spans if span.name.endswith("next fetch")]
    assert len(asked) == 2
    assert waits.end == max(asked) == by_name["101: high watermark"].start


def test_with_acks_1_the_request_does_not_wait() -> None:
    spans = followed("1").picture.spans
    assert [span.name for span in spans] == ["socket", "101: its step", "socket"]


def test_without_an_answer_the_path_ends_at_the_broker() -> None:
    path = followed("0")
    assert path.seen["answered after"] is None
    assert [span.name for span in path.picture.spans] == ["socket", "101: its step"]


def test_changed_fields_are_named_by_their_place() -> None:
    sent = bytes(70)
    assert request_bytes.changed_fields(sent, sent) == []
    stored = bytes([1]) + bytes(16) + bytes([1]) + bytes(51) + bytes([1])
    assert request_bytes.changed_fields(sent, stored) == ["base offset", "CRC", "records"]
    assert request_bytes.changed_fields(sent, sent + b"x") == ["records"]


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


def test_a_greedy_client_comes_in_bursts_and_near_its_limit_in_the_mean() -> None:
    kilobytes = [size for _, size in broker_runs.accepted(for_s=51)]
    assert kilobytes[0] > 1_000
    assert max(kilobytes[1:11]) < 200
    assert 100 <= sum(kilobytes) / 51 <= 105


def test_the_wait_brings_the_rate_down_to_the_limit() -> None:
    assert quota_scenes.settles(600_000, 50_000, 1.9)
    assert not quota_scenes.settles(600_000, 50_000, 0.4)


def test_every_broker_counts_for_itself() -> None:
    assert [row[2] for row in broker_runs.one_broker_or_three().rows] == ["1.0", "3.0"]


def test_second_attempts_keep_the_queue_long_after_the_slow_time() -> None:
    patient, impatient = broker_runs.queue_with_retries().series.values()
    slow_until = broker_runs.SLOW_WHILE[1]
    assert patient[-1][1] < 5 < max(length for _, length in patient)
    assert impatient[-1][1] > 2 * max(length for at, length in impatient if at <= slow_until)


def test_a_line_of_the_request_log_has_the_client_and_the_stages() -> None:
    text = (
        '[2026-11-29 15:50:48,078] DEBUG Completed request:{"requestHeader":{"requestApiKey":0,'
        '"clientId":"till-4"},"response":{"topic":"}"},"totalTimeMs":9.5,"requestQueueTimeMs":7.25,'
        '"localTimeMs":1.5,"remoteTimeMs":0.0,"throttleTimeMs":0,"responseQueueTimeMs":0.5,'
        '"sendTimeMs":0.25} (kafka.request.logger)'
    )
    line = request_log.Logged("the log", text, request_log.parsed(text))
    assert line.fields["requestHeader"]["clientId"] == "till-4"
    assert line.longest == "request queue"
    assert request_log.stages({"alone": line}, "the end").rows[0] == (
        "request queue", "waits for a request handler", "7.25 ms",
    )  # fmt: skip
    assert "till-4" in line.beginning


def test_a_kept_directory_is_timed_by_the_two_lines_about_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = (
        "[2026-11-29 15:50:48,078] INFO Log for partition doomed-0 is renamed to "
        "/data/101/doomed-0.a1-delete and is scheduled for deletion (kafka.log.LogManager)",
        "[2026-11-29 15:50:50,000] INFO Log for partition other-0 is renamed to "
        "/data/101/other-0.b2-delete and is scheduled for deletion (kafka.log.LogManager)",
        "[2026-11-29 15:51:48,080] INFO Deleted log for partition doomed-0 in "
        "/data/101/doomed-0.a1-delete. (kafka.log.LogManager)",
    )
    real: Any = SimpleNamespace(name="local")
    found = SimpleNamespace(lines=lines)
    monkeypatch.setattr(metadata_scenes.broker_log, "find", lambda *_, **__: found)
    assert metadata_scenes._kept_s(real) == pytest.approx(60.002)
    found.lines = lines[:2]
    assert math.isnan(metadata_scenes._kept_s(real))


def test_a_dashboard_adds_up_the_rates_of_all_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    base = broker_threads.REQUESTS
    beans = {
        f"{base},name=TotalTimeMs,request=Produce": {"Mean": 1.5, "99thPercentile": 7.0},
        f"{base},name=RequestsPerSec,request=Produce,version=12": {"OneMinuteRate": 30.0},
        f"{base},name=RequestsPerSec,request=Produce,version=13": {"OneMinuteRate": 3.0},
    }
    monkeypatch.setattr(broker_threads.java_management, "beans", lambda *_: beans)
    real = SimpleNamespace(provider=SimpleNamespace(pid=lambda broker: 1))
    rows = broker_threads.total_times(real).rows  # type: ignore[arg-type]
    assert rows[0] == ("Produce", "33.0", "1.5 ms", "7.0 ms")
    assert [row[1] for row in rows[1:]] == ["0.0", "0.0"]


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


def test_a_fetch_brings_the_bytes_of_the_log_file(served: KafkaCluster) -> None:
    scenes.placed(served)
    with RawClient(served, 101, "client") as client:
        first = one_batch(b"A")
        client.ask(producing(scenes.TOPIC, acks=-1, records=first))
        client.ask(producing(scenes.TOPIC, acks=-1))
        stored = first_partition(client.ask(fetching(scenes.TOPIC, 1))).records
    assert scenes.in_log_file(served, stored).value == len(first)
    assert scenes.in_log_file(served, b"no such bytes").value == -1


def test_a_captured_frame_says_what_was_asked_for(served: KafkaCluster) -> None:
    with RawClient(served, 101, "client") as client:
        frames = request_bytes.captured(client)
        scenes.led(served, client, scenes.TOPIC, [101])
        client.ask(fetching(scenes.TOPIC, 1))
    assert [request_bytes.api_key(frame) for frame in (frames[0], frames[-1])] == [0, 1]
    assert request_bytes.asked_for(frames[-1]) == [0, 1]


def test_a_broker_that_is_cut_off_answers_from_its_old_copy(served: KafkaCluster) -> None:
    seen = metadata_scenes.deleted_topic(served)
    answers = seen["102's answer about it, and that of 103, cut off"]
    assert answers == ["UNKNOWN_TOPIC_OR_PARTITION", "NONE"]
    assert seen["DeleteTopics requests that reached it"].value == 2


def test_old_work_is_done_when_the_leader_wakes(served: KafkaCluster) -> None:
    assert scenes.retries_pile_up(served, 3)["records after the broker moved on"] == 3


def test_a_session_names_partitions_once(served: KafkaCluster) -> None:
    seen = scenes.fetch_session(served)
    assert seen["partitions in a quiet one"] == 0
    assert seen["partitions after one write"] == 1


def test_limits_on_connections(served: KafkaCluster) -> None:
    seen = connection_scenes.connection_limits(served)
    assert seen["127.0.0.2 as an exception: too many from 127.0.0.1"]
    assert seen["127.0.0.1 as an exception: served"] == connection_scenes.CROWD
    assert seen["max.connections"] == {
        "the next one": "waits",
        "when the others have left": "served",
    }


def test_a_reader_waits_at_the_broker_and_is_answered_by_a_write(served: KafkaCluster) -> None:
    scenes.placed(served)
    quiet = fetch_rates.read_on(served, 0.5, max_wait_ms=250)
    with fetch_rates.writing(served, every_ms=20, value_bytes=100):
        eager = fetch_rates.read_on(served, 0.5, max_wait_ms=5_000)
    assert quiet.records == 0
    assert quiet.mean_ms >= 240
    assert eager.mean_ms < 250
    assert eager.records >= eager.fetches > 2


def test_a_limited_flood_obeys_its_throttle_time(served: KafkaCluster) -> None:
    seen = quota_scenes.neighbors(served, 0.3)
    assert seen["the limit cut the flood"] is True
    assert seen["the limited flood"].value <= 2.6  # the burst, and nothing that lies unread


def test_idle_readers_are_answered_with_nothing(served: KafkaCluster) -> None:
    assert reader_costs.idle_readers(served, (5,))["each was answered, with nothing"] is True


def test_the_last_request_is_drawn_as_measured(served: KafkaCluster) -> None:
    scenes.placed(served)
    with RawClient(served, 101, "followed") as client:
        client.ask(producing(scenes.TOPIC, 100, acks=-1))
    spans = request_path.measured_timeline(served, "followed").spans
    assert [span.name for span in spans][:3] == ["request queue", "local", "remote"]
    assert all(a.end == b.start for a, b in itertools.pairwise(spans))
