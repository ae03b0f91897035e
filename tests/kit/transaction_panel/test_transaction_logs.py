"""A log as plain data says the same as its broker: what is open, what stable, what readers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from engine.sim.world.world import World
from kit.film.source import Frame
from kit.transaction_panel import logs, producers, recording
from kit.transaction_panel.readers import seen
from tests.kit.transaction_panel.transfers import bank, committed, crashed


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    """Two transfers, and one that is aborted because its producer died."""
    return recording.record(crashed(), ["accounts"]).frames


def batch(base: int, producer: int = -1, kind: str = "data", count: int = 1) -> dict[str, Any]:
    return {
        "base": base,
        "last": base + count - 1,
        "producer_id": producer,
        "epoch": 0,
        "is_transactional": producer >= 0,
        "kind": kind,
        "records": [[base + n, f"v{base + n}"] for n in range(count)] if kind == "data" else [],
    }


def had(batches: Sequence[Mapping[str, Any]], watermark: int) -> list[tuple[int, str, str]]:
    """By offset, what read_uncommitted and read_committed have."""
    stable = logs.last_stable_offset(logs.transactions(batches), watermark)
    partition = {
        "batches": batches,
        "high_watermark": watermark,
        "last_stable_offset": stable,
    }
    return [(each.offset, each.uncommitted, each.committed) for each in seen(partition)]


def test_every_moments_lso_is_the_one_that_its_batches_give(frames: list[Frame]) -> None:
    checked = 0
    for frame in frames:
        for partition in frame.snapshot["partitions"].values():
            found = logs.transactions(partition["batches"])
            own = logs.last_stable_offset(found, partition["high_watermark"])
            assert own == partition["last_stable_offset"]
            checked += own < partition["high_watermark"]
    assert checked > 20  # the two differ often, or this shows nothing


def test_an_open_transaction_holds_back_all_that_is_behind_it() -> None:
    log = [batch(0), batch(1, 7), batch(2), batch(3, 8), batch(4, 8, "commit"), batch(5)]
    assert had(log, 5) == [
        (0, "given", "given"),
        (1, "given", "held"),
        (2, "given", "held"),
        (3, "given", "held"),
        (4, "marker", "marker"),
        (5, "ahead", "ahead"),
    ]


def test_aborted_records_are_skipped_and_only_those_of_that_producer() -> None:
    log = [
        batch(0, 7, count=2),
        batch(2, 8),
        batch(3, 7, "abort"),
        batch(4, 8, "commit"),
        batch(5, 7),
    ]
    assert had(log, 6) == [
        (0, "given", "skipped"),
        (1, "given", "skipped"),
        (2, "given", "given"),
        (3, "marker", "marker"),
        (4, "marker", "marker"),
        (5, "given", "held"),
    ]


def test_a_marker_that_is_not_replicated_frees_nothing() -> None:
    log = [batch(0, 7), batch(1, 7, "commit")]
    assert had(log, 1)[0] == (0, "given", "held")
    assert had(log, 2)[0] == (0, "given", "given")


def test_the_state_topics_records_are_read_with_their_states(frames: list[Frame]) -> None:
    records = frames[-1].snapshot["records"]
    assert [each["offset"] for each in records] == list(range(len(records)))
    states = [each["state"] for each in records]
    assert states[:6] == ["Empty", *["Ongoing"] * 3, "PrepareCommit", "CompleteCommit"]
    assert states[6:10] == ["Ongoing", "PrepareAbort", "CompleteAbort", "Empty"]
    prepared = records[4]
    assert prepared["partitions"] == ["__consumer_offsets-7", "accounts-0", "accounts-1"]
    assert (prepared["id"], prepared["timeout_ms"]) == ("transfer", 20_000)


def test_a_record_counts_only_once_it_is_replicated(frames: list[Frame]) -> None:
    loose = [each for frame in frames for each in frame.snapshot["records"]
             if not each["is_replicated"]]  # fmt: skip
    assert {"PrepareCommit", "PrepareAbort", "Ongoing"} <= {each["state"] for each in loose}
    assert all(each["is_replicated"] for each in frames[-1].snapshot["records"])


def test_the_groups_offsets_are_seen_where_they_are_committed(frames: list[Frame]) -> None:
    found = frames[-1].snapshot["partitions"]["__consumer_offsets-7"]
    assert [each["kind"] for each in found["batches"]] == ["data", "commit"] * 2
    assert found["batches"][0]["records"] == [[0, "transfers-0: 1"]]


def test_a_producers_own_word_is_shown_beside_the_coordinators() -> None:
    world = bank()
    producers.act(world, "begin", "app")
    word = producers.words(world)["app"]
    assert (word.id, word.state, word.producer_id, word.epoch) == (
        "transfer",
        "InTransaction",
        0,
        0,
    )
    assert world.snapshot()["transactions"]["transfer"]["state"] == "Empty"


def test_calls_wait_for_one_another_and_a_refused_one_harms_nothing() -> None:
    world = bank()
    producers.act(world, "commit", "app")
    node: Any = world.client("app")
    assert "InTransaction" not in node.refused
    assert "commit_transaction is not possible" in node.refused
    producers.act(world, "begin", "app")
    producers.send(world, "app", "accounts", "A", 0)
    producers.act(world, "commit", "app")
    producers.act(world, "begin", "app")  # the commit has not returned yet
    assert node.waiting == [("begin_transaction", ())]
    assert producers.wait(world, "app")
    assert producers.words(world)["app"].state == "InTransaction"
    assert world.snapshot()["transactions"]["transfer"]["state"] != "Ongoing"
    producers.act(world, "begin", "app")
    assert "InTransaction does not follow it" in node.refused


def test_a_world_without_transactions_has_one_frame_and_says_so() -> None:
    world = World(seed=1, checked=False)
    world.create_topic("accounts")
    (frame,) = recording.record(world, ["accounts"]).frames
    assert frame.snapshot["transactions"] == {}


def test_the_recording_leaves_the_world_where_it_is() -> None:
    world = committed()
    before = world.events, world.now_us, len(world.tape)
    recording.record(world, ["accounts"])
    assert (world.events, world.now_us, len(world.tape)) == before
