"""The margin's trace lines: short, newest last, and only of what is in view."""

from __future__ import annotations

import pytest

from kit.film.source import Frame, Line
from kit.panel.trace_lines import listing, say
from tests.kit.panel.toy_cluster import divergence


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("append", {"base": 2, "last": 2, "epoch": 1}, "append 2, epoch 1"),
        ("append", {"base": 2, "last": 4}, "append 2–4"),
        ("truncate", {"to": 2, "was": 5}, "truncate 5 → 2"),
        ("truncate", {"to": 2, "from": 5}, "truncate 5 → 2"),
        ("high_watermark", {"to": 3}, "HW → 3"),
        ("leader_epoch", {"epoch": 1, "start": 2}, "epoch 1 starts at 2"),
        ("isr", {"isr": [102, 103]}, "ISR 102 103"),
        ("leader", {"leader": 102, "epoch": 1}, "leads, epoch 1"),
        ("leader", {"leader": 103, "epoch": 1}, "follows 103, epoch 1"),
        ("leader", {"leader": -1, "epoch": 2}, "no leader, epoch 2"),
        ("elected", {"leader": 102, "epoch": 1, "reason": "clean"}, "elects 102, epoch 1 (clean)"),
        ("fenced", {"broker": 101}, "fences 101"),
        ("registered", {"broker": 101, "epoch": 7}, "registers 101"),
        ("something-new", {"x": 1}, "something-new x=1"),
    ],
)
def test_a_line_in_a_few_words(kind: str, fields: dict[str, object], words: str) -> None:
    assert say(Line(0, 102, kind, "orders-0", fields)) == words


def test_the_list_holds_what_is_in_view_up_to_the_frame_in_view() -> None:
    def line(time_us: int, partition: str, to: int) -> Line:
        return Line(time_us, 102, "high_watermark", partition, {"to": to})

    frames = [
        Frame(4, divergence(1_000_000), (line(900_000, "orders-0", 1),)),
        Frame(5, divergence(2_000_000), (line(1_500_000, "orders-0", 2), line(0, "orders-1", 9))),
        Frame(6, divergence(3_000_000), (line(2_500_000, "orders-0", 3),)),
    ]
    reported = listing(frames, 5, "orders", 0)
    assert [(t["at"], t["says"], t["now"]) for t in reported] == [
        ("0.000", "HW → 1", False),
        ("0.500", "HW → 2", True),
    ]
    assert len(listing(frames, 6, "orders", 0, most=2)) == 2
