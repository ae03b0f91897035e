"""A turn of the wide row notes each of its figures once, and reads back what it has written."""

from __future__ import annotations

from kit.bench import wide
from kit.clusters import engine


def test_a_turn_notes_every_figure() -> None:
    found = wide._Found()
    with engine.start() as cluster:
        cluster.create_topic(wide._NARROW)
        found.take_turn(cluster, "wide-0", partitions=4, records=400)
    figures = (found.created, found.produce, found.consume, found.median, found.p99)
    assert [len(each) for each in figures] == [1] * 5
    assert all(each[0] > 0 for each in figures)
    assert found.median[0] <= found.p99[0]
