"""The caption: what each kind of step is called, in a learner's words."""

from __future__ import annotations

from typing import Any

import pytest

from kit.film.source import Frame, Line
from kit.panel import story
from tests.kit.panel.toy_cluster import Records, divergence, make_log, make_partition, make_snapshot

AB: Records = [("A", 0), ("B", 0)]
ABX: Records = [*AB, ("X1", 0), ("X2", 0), ("X3", 0)]
ABY: Records = [*AB, ("Y1", 1)]


def at_rest(held: Records = AB, mark: int = 2, time_us: int = 0, **states: str) -> dict[str, Any]:
    logs = {
        101: make_log(held, mark, "leader"),
        102: make_log(held, mark),
        103: make_log(held, mark),
    }
    return make_snapshot({0: make_partition(logs, 101, 0, [101, 102, 103])}, time_us, **states)


def moved(leader: int, isr: list[int], time_us: int = 100_000, **states: str) -> dict[str, Any]:
    snapshot = at_rest(time_us=time_us, **states)
    state = snapshot["topics"]["orders"]["partitions"][0]
    state.update(leader=leader, leader_epoch=1, isr=isr)
    return snapshot


def reported(*snapshots: dict[str, Any], lines: tuple[Line, ...] = ()) -> str:
    frames = [Frame(number, snapshot) for number, snapshot in enumerate(snapshots)]
    frames[-1] = Frame(frames[-1].number, frames[-1].snapshot, lines)
    return story.caption(frames, frames[-1].number, "orders", 0)


def test_a_dead_leader_is_followed_by_the_next_in_the_isr() -> None:
    before = at_rest(b101="killed")
    assert reported(before, moved(102, [102, 103], b101="killed")) == (
        "102 became **leader** in epoch 1: 101 is dead, and 102 was next in the ISR."
    )


def test_a_killed_leader_counts_as_leader_until_the_controller_notices() -> None:
    assert reported(at_rest(), at_rest(time_us=1, b101="killed")) == (
        "101 was **killed**. Its log stays on its disk as it was. "
        "It still counts as leader: the controller waits for heartbeats that do not come."
    )


def test_an_unclean_election_says_what_it_may_cost() -> None:
    before = moved(101, [101], b101="killed")
    after = moved(103, [103], time_us=200_000, b101="killed")
    assert "103 was **not in the ISR**, so committed records may be lost" in reported(before, after)


def test_an_eligible_leader_replica_is_named_as_such() -> None:
    before = moved(-1, [], b101="killed")
    before["topics"]["orders"]["partitions"][0]["elr"] = [102]
    after = moved(102, [102], time_us=200_000, b101="killed")
    assert "102 is an eligible leader replica" in reported(before, after)


def test_no_leader_is_said_and_stays_said() -> None:
    before, after = moved(102, [102]), moved(-1, [], time_us=200_000, b102="killed")
    assert "**No leader**: 102 is dead" in reported(before, after)
    assert "orders, partition 0 has **no leader**" in reported(after)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("stopped", "102 stopped cleanly"),
        ("paused", "102 is paused: its process is there, but it does not answer."),
        ("killed", "102 was **killed**."),
    ],
)
def test_what_was_done_to_a_broker(state: str, sentence: str) -> None:
    assert sentence in reported(at_rest(), at_rest(time_us=1, b102=state))


def test_a_return_to_service_is_described_by_the_state_before() -> None:
    paused, killed = at_rest(b102="paused"), at_rest(b102="killed")
    assert "102 runs again, and does not know what it missed." in reported(paused, at_rest())
    assert "102 is started, with the log that is on its disk." in reported(killed, at_rest())


def test_a_link_is_reported_once() -> None:
    cut = at_rest(time_us=1)
    cut["links"] = [{"between": [103, 101], "state": "cut", "delay_ms": 0}]
    assert (
        reported(at_rest(), cut)
        == "The link between 101 and 103 is **cut**: no message gets through."
    )
    assert (
        reported(cut, at_rest())
        == "The link between 101 and 103 works again; missed records must still be fetched."
    )


def test_the_controller_is_missed() -> None:
    without = at_rest(time_us=1)
    without["controller"]["state"] = "killed"
    assert "The controller 100 is **dead**" in reported(at_rest(), without)


def test_a_replica_leaves_the_isr_and_returns() -> None:
    left = moved(101, [101, 102])
    left["topics"]["orders"]["partitions"][0]["leader_epoch"] = 0
    assert reported(at_rest(), left) == "103 left the ISR: it has not caught up in time."
    assert reported(left, at_rest()) == (
        "103 is back in the ISR, caught up with the leader: all replicas are in sync again."
    )


def test_nothing_is_called_whole_before_the_isr_is_whole() -> None:
    cut, healed, one_back = moved(101, [101]), moved(101, [101]), moved(101, [101, 102])
    cut["links"] = [{"between": [101, 103], "state": "cut", "delay_ms": 0}]
    assert "in sync again" not in reported(cut, healed)
    assert "in sync again" not in reported(healed, one_back)
    assert "in sync again" in reported(one_back, moved(101, [101, 102, 103]))


def test_a_write_that_is_committed_at_once() -> None:
    assert reported(at_rest(), at_rest([*AB, ("C", 0)], 3)) == (
        "101 appended C at offset 2, and it is committed: the whole ISR has it."
    )


def test_a_write_that_waits_for_the_isr() -> None:
    after = at_rest()
    after["topics"]["orders"]["partitions"][0]["logs"][101] = make_log([*AB, ("C", 0)], 2, "leader")
    assert reported(at_rest(), after) == (
        "101 appended C at offset 2. **Not committed** yet: 102 and 103 must fetch it first."
    )


def test_a_write_that_cannot_be_committed_names_min_insync_replicas() -> None:
    before, after = moved(101, [101]), moved(101, [101])
    after["topics"]["orders"]["partitions"][0]["logs"][101] = make_log([*AB, ("C", 0)], 2, "leader")
    assert "the ISR has 1 member, min.insync.replicas asks for 2" in reported(before, after)


def test_many_records_are_counted_not_listed() -> None:
    after = at_rest([*AB, *[("v", 0)] * 9], 11)
    assert "appended 9 records at offsets 2–10" in reported(at_rest(), after)


def test_a_cut_log_tells_what_went_and_whether_it_had_been_committed() -> None:
    before, after = divergence(), divergence()
    after["topics"]["orders"]["partitions"][0]["logs"][101] = make_log(ABY, 2)
    assert reported(before, after) == (
        "101 cut its log from 5 to 2: X1, X2 and X3 were **never committed**."
    )
    before["topics"]["orders"]["partitions"][0]["logs"][101]["high_watermark"] = 4
    assert reported(before, after).endswith(
        "X1 and X2 were committed once, and **lost**; X3 was **never committed**."
    )
    before["topics"]["orders"]["partitions"][0]["logs"][101]["high_watermark"] = 5
    assert reported(before, after).endswith("X1, X2 and X3 were committed once, and **lost**.")


def test_the_leader_tells_where_histories_part() -> None:
    line = Line(4_512_000, 101, "diverging", "orders-0", {"epoch": 0, "end": 2})
    assert reported(divergence(), divergence(), lines=(line,)) == (
        "102 tells 101 where their logs diverge: its epoch 0 ends at 2. "
        "X1, X2 and X3 were **never committed**."
    )


def test_a_broker_that_returns_with_another_history_gets_its_own_sentence() -> None:
    down = divergence()
    down["brokers"][101]["state"] = "killed"
    assert reported(down, divergence()) == (
        "101 is started, with the log that is on its disk. "
        "102 and 101 differ from offset 2 on: X1, X2 and X3 were **never committed**."
    )


def test_an_event_stays_in_the_caption_while_writes_stream_in() -> None:
    dead = moved(102, [102, 103], time_us=1_000_000, b101="killed")
    later = moved(102, [102, 103], time_us=3_000_000, b101="killed")
    logs = later["topics"]["orders"]["partitions"][0]["logs"]
    logs.update({b: make_log([*AB, ("C", 1)], 3) for b in (102, 103)})
    assert reported(at_rest(b101="killed"), dead, later).startswith("102 became **leader**")
    later["time_us"] = 60_000_000
    assert reported(at_rest(b101="killed"), dead, later).startswith("102 appended C")


def test_a_cut_is_still_reported_when_the_replica_is_back_in_the_isr() -> None:
    parted, cut, back = divergence(1), divergence(2), divergence(1_000_000)
    for snapshot in (cut, back):
        snapshot["topics"]["orders"]["partitions"][0]["logs"][101] = make_log(ABY, 2)
    back["topics"]["orders"]["partitions"][0]["isr"] = [101, 102, 103]
    assert reported(parted, cut, back) == (
        "101 cut its log from 5 to 2: X1, X2 and X3 were **never committed**. "
        "101 is back in the ISR, caught up with the leader: "
        "all replicas are in sync again."
    )


def test_frames_worth_a_name_get_one() -> None:
    frames = [Frame(0, at_rest()), Frame(1, at_rest(time_us=1, b101="killed"))]
    assert story.label(*frames, "orders", 0) == "kill 101"
    assert story.label(frames[0], Frame(1, at_rest(time_us=1)), "orders", 0) == ""


def test_how_things_stand() -> None:
    assert reported(at_rest()) == "101 leads in epoch 0: 2 records, all committed."
    assert story.standing(at_rest(), "", 0) == "There is no topic yet."
