"""The picture of position and committed offset says what the members and the coordinator have."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kit import lab
from kit.group_panel import members
from kit.probes import virtual
from lessons.nb10_offsets.positions import Positions
from lessons.nb10_offsets.reading import numbered

ALL = [101, 102, 103]
SETTINGS = {"auto.commit.interval.ms": 1_000, "max.poll.records": 3}


def killed(commit: str, after: int) -> Positions:
    world = lab.world(seed=10)
    world.create_topic("orders", assignment={0: ALL, 1: ALL})
    for partition in (0, 1):
        virtual.send(world, "orders", *numbered(8), partition=partition)
    drawn = Positions(world, "orders", "billing")
    for name in "AB":
        members.join(world, name, "orders", "billing", "range", SETTINGS, 300_000, commit)
        if name == "A":
            drawn.run(lambda w: len(w.client("A").application.processed) >= after)
            drawn.kill("A")
    drawn.run(for_s=25)
    return drawn


@pytest.mark.parametrize("after", [4, 8, 12])
@pytest.mark.parametrize("commit", ["auto", "before", "after", "each"])
def test_the_successor_begins_at_the_committed_offset(commit: str, after: int) -> None:
    drawn = killed(commit, after)
    (crash,) = drawn.crashes
    for index, seen in drawn.partitions.items():
        committed = max(0, [value for at, value in seen.committed if at <= crash[0]][-1])
        first = min((work.offset for work in seen.processed if work.member == "B"), default=8)
        by_a = {work.offset for work in seen.processed if work.member == "A"}
        assert first == committed, (index, drawn.text)
        assert seen.repeated == [offset for offset in sorted(by_a) if offset >= committed]
        assert seen.lost == [offset for offset in range(committed) if offset not in by_a]
        assert seen.committed[-1][1] == 8, "in the end all is committed"


def test_each_strategy_has_its_price() -> None:
    lost = {commit: _all(killed(commit, 5), "lost") for commit in ("before", "after", "each")}
    again = {commit: _all(killed(commit, 5), "repeated") for commit in ("before", "after", "each")}
    assert lost["before"]
    assert lost["after"] == lost["each"] == again["before"] == []
    assert len(again["after"]) > len(again["each"])


def _all(drawn: Positions, kind: str) -> list[int]:
    return [offset for seen in drawn.partitions.values() for offset in getattr(seen, kind)]


def test_the_picture_has_a_square_for_each_record_and_both_lines() -> None:
    drawn = killed("auto", 8)
    root = ET.fromstring(drawn.svg())
    squares = [each for each in root.iter() if each.get("width") == "9"]
    legend = len(drawn.names) + 1
    assert len(squares) - legend == sum(len(seen.processed) for seen in drawn.partitions.values())
    assert "✕ A killed" in "".join(root.itertext())
    assert (
        "at the crash A had processed 8, its position was 8, the committed offset 6" in drawn.text
    )
    assert "processed twice: 6, 7; never processed: none." in drawn.text
