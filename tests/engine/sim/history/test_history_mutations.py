"""Clean histories drawn at random, and one change in each that must be found."""

from __future__ import annotations

import gc
import re
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sim.history import (
    KINDS,
    Findings,
    History,
    Operation,
    Poll,
    Reached,
    Read,
    Seek,
    Send,
    check,
)
from tests.engine.sim.history.random_histories import MUTATIONS, draw


@given(st.integers(0, 100_000))
@settings(max_examples=150, deadline=None)
def test_a_clean_history_has_no_findings(seed: int) -> None:
    findings = check(draw(seed).history())
    assert not findings, findings.text


@pytest.mark.parametrize("mutation", MUTATIONS)
@given(seed=st.integers(0, 100_000))
@settings(max_examples=100, deadline=None)
def test_a_mutation_is_flagged_with_its_kind_and_nothing_else(mutation: str, seed: int) -> None:
    mutate, kind = MUTATIONS[mutation]
    history = mutate(draw(seed))
    if history is None:
        return
    findings = check(history)
    assert list(findings.kinds) == [kind], findings.text


@pytest.mark.parametrize("mutation", MUTATIONS)
@given(seed=st.integers(0, 100_000))
@settings(max_examples=30, deadline=None)
def test_the_order_of_the_clients_does_not_matter(mutation: str, seed: int) -> None:
    mutate, _ = MUTATIONS[mutation]
    history = mutate(draw(seed))
    if history is None:
        return
    clients = list(dict.fromkeys(each.client for each in history.operations))
    Random(seed).shuffle(clients)
    by_client = tuple(
        each for name in clients for each in history.operations if each.client == name
    )
    said, again = check(history), check(History(by_client, history.read_committed))
    assert _what(said) == _what(again), f"{said.text}\n\n{again.text}"


def _what(findings: Findings) -> list[tuple[str, str, int, int, str]]:
    return sorted((f.kind, f.topic, f.partition, f.offset, f.value) for f in findings)


@pytest.mark.parametrize("mutation", MUTATIONS)
@given(seed=st.integers(0, 100_000))
@settings(max_examples=30, deadline=None)
def test_a_counter_example_proves_itself_and_is_minimal(mutation: str, seed: int) -> None:
    """Alone it is found again, in the same words; without any one of its operations it is not."""
    mutate, _ = MUTATIONS[mutation]
    history = mutate(draw(seed))
    for finding in check(history).items[:3] if history is not None else ():
        assert history is not None
        alone = _sentences(finding.operations, history)
        said = re.sub(r" and \d+ more", "", finding.sentence).rstrip(".")
        assert said in alone, finding.timeline
        for left_out in range(len(finding.operations)):
            rest = finding.operations[:left_out] + finding.operations[left_out + 1 :]
            assert said not in _sentences(rest, history), (
                f"{finding}\n{finding.timeline}\nproven without number {left_out}"
            )


def _sentences(operations: tuple[Operation, ...], history: History) -> str:
    findings = check(History(operations, history.read_committed))
    return "\n".join(each.sentence for each in findings)


def test_every_kind_has_a_mutation() -> None:
    assert sorted({kind for _, kind in MUTATIONS.values()}) == sorted(KINDS)


@pytest.mark.full
def test_the_cost_grows_with_the_length() -> None:
    """Twelve times the operations, less than thirty times the time, also with many findings."""
    costs = []
    for records in (4_000, 48_000):
        operations: list[Operation] = [
            Send(n, "producer", "orders", 0, f"v{n}", "acknowledged", n, n + 1)
            for n in range(records)
        ]
        for reader in ("one", "other"):
            operations.append(Seek(records, reader, "orders", 0, 0))
            operations += [
                Poll(records + n, reader, (Read("orders", 0, n, f"v{n}"),))
                for n in range(records)
                if n % 11 and (n % 7 or reader == "other")
            ]
            operations.append(Reached(3 * records, reader, "orders", 0, records))
        tries = []
        gc.disable()  # the collector's share grows with all that lives, not with the history
        for _ in range(3):
            began = time.process_time()
            findings = check(History(tuple(operations)))
            tries.append(time.process_time() - began)
            assert list(findings.kinds) == ["lost", "skipped"]
        gc.enable()
        costs.append(min(tries))
    assert costs[1] < 30 * costs[0], costs
