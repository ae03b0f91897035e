"""The history checker: small histories with known verdicts, and mutations of clean ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sim.history import (
    KINDS,
    EndTransaction,
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


def sent(
    values: str, verdict: str = "acknowledged", start: int = 0, inside: str = ""
) -> list[Send]:
    """One record per letter, at consecutive offsets."""
    return [
        Send(1000 * n, "producer", "orders", 0, value, verdict,
             start + n if verdict == "acknowledged" else -1, 1000 * n + 1, inside)
        for n, value in enumerate(values)
    ]  # fmt: skip


def read(values: str, client: str = "reader", start: int = 0, at_us: int = 50_000) -> list[Poll]:
    """One poll per letter, at consecutive offsets; a dot is a gap."""
    return [
        Poll(at_us + n, client, (Read("orders", 0, start + n, value),))
        for n, value in enumerate(values)
        if value != "."
    ]


def judged(*operations: list[Operation], read_committed: tuple[str, ...] = ()) -> dict[str, int]:
    history = History(tuple(op for each in operations for op in each), read_committed)
    return check(history).kinds


END = [Reached(90_000, "reader", "orders", 0, 3)]


def test_nothing_happened() -> None:
    findings = check(History(()))
    assert not findings
    assert findings.text == "0 sent (0 acknowledged, 0 refused, 0 unknown), 0 read: no anomaly"


def test_everything_acknowledged_is_read() -> None:
    assert judged(sent("abc"), read("abc"), END) == {}


@pytest.mark.parametrize("seen", ["ab", "abc"])
def test_an_unknown_record_may_be_there_or_not(seen: str) -> None:
    assert judged(sent("ab"), sent("c", "unknown"), read(seen)) == {}


def test_lost_when_a_reader_goes_past_its_offset() -> None:
    findings = check(History((*sent("abc"), *read("a.c"))))
    assert findings.kinds == {"lost": 1}
    assert str(findings.items[0]) == (
        "lost: 'b' was acknowledged at offset 1 of orders-0, and reader went past it without "
        "seeing it."
    )
    assert findings.items[0].timeline.splitlines() == [
        "     0.001 s  producer  sends 'b' to orders-0: acknowledged at offset 1",
        "     0.050 s  reader    reads 'a' at offset 0 of orders-0",
        "     0.050 s  reader    reads 'c' at offset 2 of orders-0",
    ]


def test_lost_when_another_record_is_there() -> None:
    other = Send(0, "other", "orders", 0, "x", "unknown")
    findings = check(History((*sent("abc"), other, *read("axc"))))
    assert findings.kinds == {"lost": 1}
    assert "where reader reads 'x'" in findings.items[0].sentence


def test_lost_when_the_log_ends_before_it() -> None:
    assert judged(sent("abcd"), read("abc"), END) == {"lost": 1}


def test_a_record_acknowledged_after_the_end_was_looked_for_is_not_lost() -> None:
    late = [Send(95_000, "producer", "orders", 0, "d", "acknowledged", 3, 96_000)]
    assert judged(sent("abc"), read("abc"), END, late) == {"unseen": 1}


def test_lost_when_two_readers_differ_at_an_offset() -> None:
    """KIP-101, scenario 2, as clients see it: nobody was promised either record."""
    both = [*sent("a"), *sent("bc", "unknown")]
    assert judged(both, read("ab"), read("ac", "other", at_us=60_000)) == {"lost": 1}


def test_lost_when_what_was_read_is_beyond_the_end() -> None:
    assert judged(sent("abc"), sent("d", "unknown"), read("abcd"), END) == {"lost": 1}


def test_lost_when_it_is_found_elsewhere() -> None:
    findings = check(History((*sent("abc"), *read("a.cb"))))
    assert findings.kinds == {"lost": 1, "reordered": 1}
    assert findings.items[0].sentence.endswith("and stands at offset 3.")


def test_what_is_lost_is_not_also_out_of_order() -> None:
    """b was promised offset 2; the next leader has c, sent later, at 1."""
    late = [Send(2_000, "producer", "orders", 0, "c", "acknowledged", 1, 2_001)]
    first = [
        Send(0, "producer", "orders", 0, "a", "acknowledged", 0, 1),
        Send(1_000, "producer", "orders", 0, "b", "acknowledged", 2, 1_001),
    ]
    end = [Reached(70_000, "reader", "orders", 0, 2)]
    assert judged(first, late, read("ac"), end) == {"lost": 1}


def test_unseen_when_nobody_read_that_far() -> None:
    assert judged(sent("abc"), read("ab")) == {"unseen": 1}
    assert judged(sent("abc")) == {"unseen": 3}


def test_a_reader_that_jumped_over_a_record_proves_nothing() -> None:
    jump = [Seek(50_100, "reader", "orders", 0, 2)]
    assert judged(sent("abc"), read("a"), jump, read("c", start=2, at_us=50_200)) == {"unseen": 1}


def test_duplicate() -> None:
    findings = check(History((*sent("abc"), *read("abcb"))))
    assert findings.kinds == {"duplicate": 1}
    assert findings.items[0].offset == 3


def test_a_value_may_be_there_as_often_as_it_was_sent() -> None:
    again = [Send(9000, "producer", "orders", 0, "b", "acknowledged", 3, 9001)]
    assert judged(sent("abc"), again, read("abcb")) == {}
    assert judged(sent("abc"), again, read("abcbb")) == {"duplicate": 1}


def test_a_refused_record_that_was_sent_again_is_no_phantom() -> None:
    assert judged(sent("a", "refused"), sent("a"), read("a")) == {}


def test_reordered() -> None:
    swapped = [*sent("a"), *sent("c", start=1), *sent("b", start=2)]
    in_order = [swapped[0], swapped[2], swapped[1]]
    assert judged(in_order, read("acb")) == {"reordered": 1}
    assert judged(sent("ac"), sent("b", start=2), read("acb")) == {}


def test_two_producers_have_no_order_between_them() -> None:
    other = [Send(0, "other", "orders", 0, "x", "acknowledged", 1, 5)]
    assert judged(sent("a"), other, sent("b", start=2), read("axb")) == {}


def test_skipped() -> None:
    assert judged(sent("abcd"), read("abcd"), read("a..d", "other")) == {"skipped": 1}
    findings = check(History((*sent("abcd"), *read("abcd"), *read("a..d", "other"))))
    assert "without seeing it and 1 more" in findings.items[0].sentence


def test_a_reader_that_begins_at_an_offset_owes_it() -> None:
    begin = [Seek(60_000, "other", "orders", 0, 1)]
    later = read("c", "other", start=2, at_us=60_001)
    assert judged(sent("abc"), read("abc"), begin, later) == {"skipped": 1}
    anywhere = [Seek(60_000, "other", "orders", 0)]
    assert judged(sent("abc"), read("abc"), anywhere, later) == {}


def test_non_monotonic_unless_it_sought() -> None:
    again = read("bc", start=1, at_us=60_000)
    assert judged(sent("abc"), read("abc"), again) == {"non-monotonic": 1}
    back = [Seek(55_000, "reader", "orders", 0, 1)]
    assert judged(sent("abc"), read("abc"), back, again) == {}


def test_phantoms() -> None:
    assert judged(sent("ab"), read("abz")) == {"phantom": 1}
    assert judged(sent("ab"), sent("c", "refused"), read("abc")) == {"phantom": 1}


def test_a_record_of_another_partition_is_a_phantom() -> None:
    stray = [Send(0, "producer", "orders", 1, "c", "unknown")]
    assert judged(sent("ab"), stray, read("abc")) == {"phantom": 1}


def test_aborted_read_only_under_read_committed() -> None:
    aborted = [*sent("ab", inside="t1"), EndTransaction(5, "producer", "t1", "aborted")]
    assert judged(aborted, read("ab")) == {}
    assert judged(aborted, read("ab"), read_committed=("reader",)) == {"aborted-read": 2}
    assert judged(aborted, read("ab"), read("..c", "other"), sent("c", start=2),
                  read_committed=("other",)) == {}  # fmt: skip


def test_a_committed_transaction_counts_like_any_record() -> None:
    committed = [*sent("abc", inside="t1"), EndTransaction(5, "producer", "t1", "committed")]
    assert judged(committed, read("a.c"), read_committed=("reader",)) == {"lost": 1}


def test_a_transaction_whose_end_nobody_knows_may_be_there_or_not() -> None:
    for seen in ("ab", "", "a"):
        assert judged(sent("ab", inside="t1"), read(seen), read_committed=("reader",)) == {}


def test_without_an_offset_only_its_absence_counts() -> None:
    """What an acks=0 producer believes."""
    blind = [Send(0, "producer", "orders", 0, "x", "acknowledged", -1, 1)]
    assert judged(blind, read("x")) == {}
    assert judged(blind) == {"unseen": 1}
    assert judged(sent("abc"), blind, read("abc"), END) == {"lost": 1}


def test_bad_words_get_a_remedy() -> None:
    with pytest.raises(ValueError, match="say one of acknowledged, refused, unknown"):
        Send(0, "producer", "orders", 0, "a", "ok")
    with pytest.raises(ValueError, match="there are lost, unseen"):
        check(History(())).of("gone")


# -- mutations of clean histories


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
def test_a_counter_example_proves_itself_and_is_minimal(mutation: str, seed: int) -> None:
    """Alone it is found again, in the same words; without any one of its operations it is not."""
    mutate, _ = MUTATIONS[mutation]
    history = mutate(draw(seed))
    for finding in check(history).items[:3] if history is not None else ():
        assert history is not None
        alone = _sentences(finding.operations, history)
        assert finding.sentence.partition(" and 1 more")[0].rstrip(".") in alone, finding.timeline
        for left_out in range(len(finding.operations)):
            rest = finding.operations[:left_out] + finding.operations[left_out + 1 :]
            assert finding.sentence.rstrip(".") not in _sentences(rest, history), (
                f"{finding}\n{finding.timeline}\nproven without number {left_out}"
            )


def _sentences(operations: tuple[Operation, ...], history: History) -> str:
    findings = check(History(operations, history.read_committed))
    return "\n".join(each.sentence for each in findings)


def test_every_kind_has_a_mutation() -> None:
    assert sorted({kind for _, kind in MUTATIONS.values()}) == sorted(KINDS)


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
        began = time.process_time()
        findings = check(History(tuple(operations)))
        costs.append(time.process_time() - began)
        assert list(findings.kinds) == ["lost", "skipped"]
    assert costs[1] < 30 * costs[0], costs
