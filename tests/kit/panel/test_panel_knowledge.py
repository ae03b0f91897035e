"""What captions say of records that are cut: who had known them to be committed, and who has them.

`two_deaths` is a run in which two leaders die.  101 dies with five records and high watermark
4, and 103 with four records and high watermark 3; started again, each has forgotten its mark.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from engine.sim.world.world import World
from kit.film.source import Frame, Line
from kit.panel import story
from kit.panel.film import Film
from kit.panel.known import known
from kit.panel.promises import promises
from kit.panel.recording import branch, record
from kit.panel.time_panel import TimePanel
from lessons.nb07_reconciliation import watermark_runs as runs
from tests.kit.panel.panels import captions
from tests.kit.panel.toy_cluster import Records, divergence, make_log, make_partition, make_snapshot

AB: Records = [("A", 0), ("B", 0)]
ABX: Records = [*AB, ("X", 0)]
ABY: Records = [*AB, ("Y", 1)]


@pytest.fixture(scope="module")
def deaths() -> World:
    return runs.two_deaths()


@pytest.fixture
def forked(deaths: World) -> TimePanel:
    panel = TimePanel(deaths, "orders")
    panel.jump("parted")
    panel.fork("to-high-watermark")
    return panel


def cuts(panel: TimePanel) -> dict[int, list[str]]:
    """What each broker's cuts are told as, in the second timeline."""
    reported: dict[int, list[str]] = {}
    for frame, step in zip(panel._film.takes[1].frames, panel._film.takes[1].told, strict=True):
        for line in frame.lines:
            if line.kind == "truncate":
                reported.setdefault(line.node, []).append(step.sentence)
    return reported


def test_a_cut_through_the_high_watermark_describes_both_sides(forked: TimePanel) -> None:
    why = "Why: cut at the own high watermark."
    assert cuts(forked) == {
        102: [
            "102 **cuts** its log from 4 to 3: D is gone, which it did not know to be committed. "
            + why
        ],
        101: [
            "101 **cuts** its log from 5 to 0: records 0–4 are gone. "
            f"It had known records 0–3 to be **committed**, and E not. {why}"
        ],
        103: [
            "103 **cuts** its log from 4 to 0: records 0–3 are gone. "
            f"It had known A, B and C to be **committed**, and D not. {why}"
        ],
    }


def test_what_a_broker_knew_is_what_it_knew_before_it_died(deaths: World) -> None:
    recording = record(deaths, "orders")
    by = known(recording.frames, "orders", 0)
    heard = dict.fromkeys((101, 102, 103), 0)
    forgot = []
    for frame, knew in zip(recording.frames, by, strict=True):
        for line in frame.lines:
            if line.kind == "high_watermark":
                heard[line.node] = line["to"]
        state = frame.snapshot["topics"].get("orders", {}).get("partitions", {}).get(0, {})
        for replica, log in state.get("logs", {}).items():
            assert knew[replica] == heard[replica], (frame.number, replica)
            if log.get("high_watermark", 0) < knew[replica]:
                forgot.append(replica)
    assert set(forgot) == {101, 103}  # as their snapshots say, they know nothing after the start


def test_a_fork_after_the_start_still_knows_what_was_known_before(deaths: World) -> None:
    panel = TimePanel(deaths, "orders")
    take = panel._film.takes[0]
    learns = [
        place for place, reported in enumerate(take.told) if reported.sentence.startswith("103 le")
    ]
    restarted = take.frames[learns[-1]]
    other = branch(panel._first, restarted)
    film = Film.of("orders", 0, panel._first, other, restarted)
    assert film.takes[1].known[0] == take.known[learns[-1]] == {101: 5, 102: 5, 103: 3}


def test_a_cut_after_a_restart_is_judged_by_what_was_known_before_the_death() -> None:
    logs = {101: make_log(ABX, 3, "leader"), 102: make_log(ABX, 3)}
    rested = make_snapshot({0: make_partition(logs, 101, 0, [101, 102])}, 1)
    logs = {101: make_log(ABX, 0), 102: make_log(ABY, 2, "leader")}
    started = make_snapshot({0: make_partition(logs, 102, 1, [102])}, 2)
    cut = make_snapshot({0: make_partition({**logs, 101: make_log(AB, 0)}, 102, 1, [102])}, 3)
    frames = [Frame(number, each) for number, each in enumerate((rested, started, cut))]
    assert "101 cut its log from 3 to 2: X was committed once, and **lost**." in story.caption(
        frames, 2, "orders", 0
    )


def test_a_record_that_replaced_another_is_not_known_to_be_committed() -> None:
    logs = {101: make_log(ABX, 3), 102: make_log(ABY, 2, "leader")}
    before = make_snapshot({0: make_partition(logs, 102, 1, [102])}, 1)
    logs = {101: make_log(ABY, 2), 102: make_log(ABY, 2, "leader")}
    after = make_snapshot({0: make_partition(logs, 102, 1, [102])}, 2)
    frames = [Frame(0, before), Frame(1, after)]
    assert [each[101] for each in known(frames, "orders", 0)] == [3, 2]


def test_a_cut_record_that_the_leader_has_is_not_lost() -> None:
    logs = {101: make_log(AB, 1), 102: make_log(AB, 2, "leader")}
    before = make_snapshot({0: make_partition(logs, 102, 0, [101, 102])}, 1)
    logs = {101: make_log([], 0), 102: logs[102]}
    after = make_snapshot({0: make_partition(logs, 102, 0, [101, 102])}, 2)
    assert story.caption([Frame(0, before), Frame(1, after)], 1, "orders", 0) == (
        "101 cut its log from 2 to 0: A and B were committed, and 102 has them."
    )


def test_a_divergence_is_described_on_both_sides_of_the_high_watermark() -> None:
    parted: dict[str, Any] = divergence()
    log = parted["topics"]["orders"]["partitions"][0]["logs"][101]
    log["high_watermark"] = 3
    line = Line(4_512_000, 101, "diverging", "orders-0", {"epoch": 0, "end": 2})
    frames = [Frame(0, divergence()), Frame(1, parted, (line,))]
    assert story.caption(frames, 1, "orders", 0).endswith(
        "X1 was believed committed; X2 and X3 were **never committed**."
    )


# -- each step says what is new in it


def test_a_moment_tells_what_is_new_and_in_which_timeline(forked: TimePanel) -> None:
    reported = captions(forked)
    assert [here for here, there in pairwise(reported) if here == there] == []
    news = "The controller receives heartbeats of 103 again and unfences it."
    assert [each for each in reported if news in each] == [
        f"Timeline 2: {news}",
        f"Timeline 1: {news}",
    ]
    assert "Timeline 1: 103 copies W at offset 4: its log ends at 5" in "\n".join(reported)
    back = [
        each.split(": ") for each in reported if "has caught up and is in the ISR again" in each
    ]
    assert sorted((timeline, said[:3]) for timeline, said in back) == [
        ("Timeline 1", "101"), ("Timeline 1", "103"), ("Timeline 2", "101"), ("Timeline 2", "103"),
    ]  # fmt: skip


def test_what_is_the_same_in_both_is_reported_once(forked: TimePanel) -> None:
    said = "101 starts, with the log that is on its disk."
    assert [each for each in captions(forked) if said in each] == [said]


def test_the_isr_that_was_decided_is_reported_and_not_the_news_of_an_older_one(
    deaths: World,
) -> None:
    panel = TimePanel(deaths, "orders")
    panel.jump("end")
    assert [line.kind for line in panel.frame().lines] == ["isr"] * 3
    assert panel.caption == "103 has caught up and is in the ISR again."
    step = panel.film["takes"][0]["steps"][-1]
    assert step["source"] == step["lines"][-1][4]  # the line whose source opens is that one


def test_several_records_have_several_offsets(deaths: World) -> None:
    panel = TimePanel(deaths, "orders")
    panel.jump("ack")
    assert panel.caption == (
        "The client learns that A, B and C are at offsets 0–2: the whole ISR has them."
    )
    said = {flight.message.brief for flight in panel._film.flights(0)}
    assert {"A, B, C are at 0–2", "D is at 3"} <= said
    lines = panel.film["takes"][0]["steps"][panel.moment.first]["lines"]
    assert [words for _, words, *_ in lines] == ["acknowledges A B C at 0–2"]


def test_a_topic_that_was_made_again_has_lost_nothing() -> None:
    logs = {each: make_log(ABX, 3, "leader" if each == 101 else "follower") for each in (101, 102)}
    before = make_snapshot({0: make_partition(logs, 101, 0, [101, 102])}, 1)
    logs = {each: make_log([], 0, "leader" if each == 102 else "follower") for each in (101, 102)}
    after = make_snapshot({0: make_partition(logs, 102, 0, [101, 102])}, 2)
    frames = [Frame(0, before), Frame(1, after)]
    assert "**lost**" in story.caption(frames, 1, "orders", 0)
    after["topics"]["orders"]["id"] = "the next topic"
    assert story.caption(frames, 1, "orders", 0) == (
        "orders was deleted and made again: a new topic with the old one's name, and none of its "
        "records."
    )
    assert known(frames, "orders", 0) == [{101: 3, 102: 3}, {101: 0, 102: 0}]


def test_what_was_promised_ends_with_its_topic() -> None:
    told = {"offset": 0, "acks": "all", "values": ("A",)}
    acknowledged = Line(1, 101, "acknowledged", "orders-0", told)
    other, deleted = (Line(2, 100, "topic-deleted", "", {"topic": t}) for t in ("old", "orders"))
    lines = ((acknowledged,), (other,), (deleted,))
    frames = [Frame(number, {}, each) for number, each in enumerate(lines)]
    assert [[each.value for each in made] for made in promises(frames, "orders-0")] == [
        ["A"], ["A"], [],
    ]  # fmt: skip
