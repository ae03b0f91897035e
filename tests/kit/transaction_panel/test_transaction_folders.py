"""What files say without a snapshot: the same as the coordinator and the trace."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from kit.film.source import Frame
from kit.transaction_panel import recording, story
from kit.transaction_panel.folders import ids
from kit.transaction_panel.live_panel import grown
from kit.transaction_panel.view import LeadersLog
from tests.kit.transaction_panel.transfers import crashed


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    return recording.record(crashed(), ["accounts"]).frames


def led(frame: Frame) -> list[LeadersLog]:
    return [
        LeadersLog(each["topic"], each["index"], each["leader"], each["start"], each["end"],
                   each["high_watermark"], each["batches"])
        for each in frame.snapshot["partitions"].values()
    ]  # fmt: skip


def test_the_state_topic_alone_gives_the_coordinators_ids(frames: list[Frame]) -> None:
    states = set()
    for frame in frames:
        found = ids([e for e in frame.snapshot["records"] if e["is_replicated"]], led(frame))
        for name, each in frame.snapshot["transactions"].items():
            if each["producer_epoch"] < 0:
                continue  # it has no record yet
            same = ("state", "producer_id", "producer_epoch", "timeout_ms", "partitions")
            assert {key: found[name][key] for key in same} == {key: each[key] for key in same}
            states.add(each["state"])
    assert {"Empty", "Ongoing", "PrepareCommit", "CompleteAbort"} <= states


def test_a_partition_lacks_its_marker_while_its_log_has_the_transaction_open(
    frames: list[Frame],
) -> None:
    counts = []
    for frame in frames:
        for each in ids(frame.snapshot["records"], led(frame)).values():
            if each["state"] == "PrepareCommit":
                counts.append(sum(map(len, each["awaiting_markers"].values())))
    assert (max(counts), min(counts)) == (3, 0)
    assert ids(frames[20].snapshot["records"], []) != {}  # without the logs all are missing


def test_without_a_trace_what_was_written_says_what_happened(frames: list[Frame]) -> None:
    labels = []
    for before, frame in pairwise(frames):
        plain = replace(frame, lines=())
        labels.append(story.tell(before, grown(before, plain)).label)
    named = [each for each in labels if each]
    assert [each for each in named if each.startswith(("Prepare", "Complete"))] == [
        "PrepareCommit", "CompleteCommit", "PrepareAbort", "CompleteAbort",
        "PrepareCommit", "CompleteCommit",
    ]  # fmt: skip
    assert {"Alice -10", "Bob +10", "COMMIT accounts-0", "ABORT accounts-0"} <= {*named}
