"""Frames: one per change, the trace in them, and a bounded memory."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kit.clusters.interface import NotOffered
from kit.film.source import LiveSource
from tests.kit.panel.toy_cluster import Script, ToyCluster, divergence


def test_a_frame_is_kept_only_when_something_changed() -> None:
    cluster = ToyCluster()
    source = LiveSource(cluster)
    assert source.poll()
    assert not source.poll()
    cluster.write("A")
    assert source.poll()
    assert [frame.number for frame in source.frames] == [0, 1]
    assert source.now() is source.frames[-1]


def test_frames_are_bounded_and_keep_their_numbers() -> None:
    cluster = ToyCluster()
    source = LiveSource(cluster, keep=5)
    for number in range(20):
        cluster.write(str(number))
        source.poll()
    assert [frame.number for frame in source.frames] == [15, 16, 17, 18, 19]


def test_each_trace_line_is_in_one_frame() -> None:
    cluster = ToyCluster()
    source = LiveSource(cluster)
    cluster.write("A", to=[101])
    source.poll()
    cluster.write("B", to=[101])
    source.poll()
    assert [[line["base"] for line in frame.lines] for frame in source.frames] == [[0], [1]]


def test_a_providers_trace_serves_where_the_cluster_has_none() -> None:
    toy = ToyCluster()
    toy.write("A")

    class Wrapped:
        provider = toy
        snapshot = toy.snapshot

    source = LiveSource(Wrapped())
    assert [line.node for line in source.now().lines] == [101, 102, 103]


def test_a_cluster_that_has_no_trace_to_tell_is_asked_once() -> None:
    toy, asked = ToyCluster(), []

    class Silent:
        snapshot = toy.snapshot

        def trace(self, since: int = 0) -> Any:
            asked.append(since)
            raise NotOffered("Only the engine tells.")

    source = LiveSource(Silent())
    assert source.now().lines == ()
    toy.write("A")
    assert source.poll()
    assert asked == [0]


def test_a_dead_brokers_log_stays_as_it_was_last_seen() -> None:
    gone: dict[str, Any] = deepcopy(divergence())
    gone["brokers"][101]["state"] = "killed"
    gone["topics"]["orders"]["partitions"][0]["logs"][101] = {"role": "offline"}
    source = LiveSource(Script(divergence(), gone))
    source.poll()
    source.poll()
    log = source.now().snapshot["topics"]["orders"]["partitions"][0]["logs"][101]
    assert (log["log_end_offset"], log["role"]) == (5, "offline")


def test_a_topic_made_again_under_its_name_inherits_nothing() -> None:
    again = deepcopy(divergence())
    again["topics"]["orders"]["id"] = "another"
    again["topics"]["orders"]["partitions"][0]["logs"] = {}
    source = LiveSource(Script(divergence(), again))
    source.poll()
    source.poll()
    assert source.now().snapshot["topics"]["orders"]["partitions"][0]["logs"] == {}
