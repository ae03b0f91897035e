"""A drawn finding says what its text says."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from engine.sim.history import KINDS, History, Poll, Read, Send, check
from lessons.nb08_producers.history_view import HistoryView
from tests.engine.sim.history.random_histories import MUTATIONS, draw


def view(kind: str) -> HistoryView:
    mutate = next(mutate for mutate, kinds in MUTATIONS.values() if kinds == kind)
    history = next(found for seed in range(50) if (found := mutate(draw(seed))) is not None)
    return HistoryView(check(history))


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_the_counter_example_is_drawn(kind: str) -> None:
    drawn = view(kind)
    finding = drawn.shown[0]
    assert finding.kind == kind
    root = ElementTree.fromstring(drawn.svg())
    words = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert finding.sentence.split()[-1] in " ".join(words)
    for operation in finding.operations:
        assert operation.client in words
        assert f"{operation.at_us / 1e6:.3f} s" in words
    assert (root.get("aria-label") or "").split() == drawn.text.split()


def test_the_text_is_the_sentence_and_the_timeline() -> None:
    drawn = view("lost")
    assert drawn.text.splitlines()[2] == str(drawn.shown[0])
    assert drawn.shown[0].timeline in drawn.text
    assert drawn._repr_mimebundle_()["text/plain"] == drawn.text


def test_promises_that_contradict_each_other_need_no_read() -> None:
    """F is promised 0 and E, sent before it, 1; nothing is drawn as missing."""
    sends = (
        Send(0, "producer", "orders", 0, "E", "acknowledged", 1, 1),
        Send(10, "producer", "orders", 0, "F", "acknowledged", 0, 11),
    )
    reads = (Read("orders", 0, 0, "F"), Read("orders", 0, 1, "E"))
    drawn = HistoryView(check(History((*sends, Poll(50, "reader", reads)))))
    assert [each.kind for each in drawn.shown] == ["reordered"]
    assert ">read<" not in drawn.svg()
    assert ">–<" not in drawn.svg()


def test_a_clean_history_is_one_line() -> None:
    assert HistoryView(check(draw(1).history())).text.endswith("no anomaly")


def test_limit_chooses_the_first_findings_of_any_kind() -> None:
    drawn = view("reordered")
    assert [each.kind for each in HistoryView(drawn.findings, limit=1).shown] == ["reordered"]
