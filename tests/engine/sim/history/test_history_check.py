"""The history checker: small histories with known verdicts, and mutations of clean ones."""

from __future__ import annotations

import pytest

from engine.sim.history import (
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


def test_what_was_seen_last_is_there_also_if_it_was_seen_first() -> None:
    """a at 10, b at 20, a again at 30: b is lost, and a is not."""
    other = [Send(0, "other", "orders", 0, "b", "acknowledged", 0, 1)]
    polls = [Poll(at, f"reader-{at}", (Read("orders", 0, 0, value),))
             for at, value in ((10, "a"), (20, "b"), (30, "a"))]  # fmt: skip
    for order in (polls, polls[::-1]):
        findings = check(History((*sent("a"), *other, *order)))
        assert [(each.kind, each.value) for each in findings] == [("lost", "b")]
        assert findings.items[0].operations == (other[0], polls[1], polls[2])


def test_the_highest_end_counts_no_matter_which_reader_found_it() -> None:
    """d was read at 3 and is beyond the end at 3; a reader of the past says nothing of that."""
    early = [Reached(80_000, "other", "orders", 0, 2)]
    promises = [sent("abc"), sent("d", "unknown")]
    for ends in ((END, early), (early, END)):
        assert judged(*promises, read("abcd"), *ends) == {"lost": 1, "skipped": 1}


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


def test_unseen_when_no_reader_came_that_far() -> None:
    assert judged(sent("abc"), read("ab")) == {"unseen": 1}
    assert judged(sent("abc")) == {"unseen": 3}


def test_a_reader_that_jumped_over_a_record_proves_nothing() -> None:
    jump = [Seek(50_100, "reader", "orders", 0, 2)]
    assert judged(sent("abc"), read("a"), jump, read("c", start=2, at_us=50_200)) == {"unseen": 1}


def test_duplicate() -> None:
    findings = check(History((*sent("abc"), *read("abcb"))))
    assert findings.kinds == {"duplicate": 1}
    assert findings.items[0].offset == 3


def test_duplicate_when_it_is_read_elsewhere_than_it_was_acknowledged() -> None:
    """Nobody has looked at offset 9, but both places cannot be right: it was sent once."""
    begin = [Seek(40_000, "reader", "orders", 0, 3)]
    findings = check(History((*sent("v", start=9), *begin, *read("v", start=3))))
    assert findings.kinds == {"duplicate": 1}
    assert str(findings.items[0]) == (
        "duplicate: 'v' was sent once, and is at offset 3 of orders-0 and was acknowledged at "
        "offset 9 of orders-0."
    )
    assert [type(each) for each in findings.items[0].operations] == [Send, Poll]


def test_as_many_places_as_sends_are_no_contradiction() -> None:
    """Sent twice, acknowledged at 9 and at nobody knows where: 9 is only unseen."""
    begin = [Seek(40_000, "reader", "orders", 0, 3)]
    here = read("v", start=3)
    assert judged(sent("v", start=9), sent("v", "unknown"), begin, here) == {"unseen": 1}
    assert judged(sent("v", start=9), sent("v", start=8), begin, here) == {"duplicate": 1}
    assert judged(sent("v", start=9), sent("v", "refused"), begin, here) == {"duplicate": 1}


def test_what_is_lost_is_not_also_there_twice() -> None:
    """c and d were read, the log was cut at 2, and the producer's next try put d at 2."""
    again = read("abd", "other", at_us=60_000)
    assert judged(sent("ab"), sent("cd", "unknown"), read("abcd"), again, END) == {"lost": 2}


def test_a_commit_belongs_to_the_proof_of_a_promised_duplicate() -> None:
    commit = EndTransaction(5, "producer", "t1", "committed")
    begin = [Seek(40_000, "reader", "orders", 0, 3)]
    here = read("v", start=3)
    findings = check(History((*sent("v", start=9, inside="t1"), commit, *begin, *here)))
    assert findings.kinds == {"duplicate": 1}
    assert commit in findings.items[0].operations
    assert judged(sent("v", start=9, inside="t1"), begin, here) == {}


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


def test_skipped_by_a_reader_that_takes_an_early_offset_for_the_end() -> None:
    whole, early = read("abc"), read("a", "other", at_us=60_000)
    stop = [Reached(90_000, "other", "orders", 0, 1)]
    for order in ((whole, END, early, stop), (early, stop, whole, END)):
        findings = check(History(tuple(op for each in (sent("abc"), *order) for op in each)))
        assert findings.kinds == {"skipped": 1}
        assert str(findings.items[0]) == (
            "skipped: other took offset 1 of orders-0 for the end, which is at offset 3, and "
            "missed offset 1, where reader had read 'b' and 1 more."
        )
        assert [type(each) for each in findings.items[0].operations] == [Send, Poll, *2 * [Reached]]


def test_an_end_that_others_read_past_later_may_have_been_the_end() -> None:
    early = [Reached(40_000, "other", "orders", 0, 1)]
    late = [Send(45_000, "producer", "orders", 0, "b", "acknowledged", 1, 46_000)]
    ends = [Reached(90_000, "reader", "orders", 0, 2)]
    assert judged(sent("a"), early, late, read("ab"), ends) == {}
    assert judged(sent("ab"), early, read("ab"), ends) == {"skipped": 1}
    unknown = sent("b", "unknown")
    assert judged(sent("a"), unknown, early, read("ab"), ends) == {}
    in_time = read("ab", "third", at_us=30_000)
    assert judged(sent("a"), unknown, early, read("ab"), in_time, ends) == {"skipped": 1}


def test_a_commit_belongs_to_the_proof_that_a_record_was_there_in_time() -> None:
    early = [Reached(40_000, "other", "orders", 0, 0)]
    commit = EndTransaction(5, "producer", "t1", "committed")
    ends = [Reached(90_000, "reader", "orders", 0, 1)]
    operations = (*sent("a", inside="t1"), commit, *early, *read("a"), *ends)
    (finding,) = check(History(operations))
    assert (finding.kind, finding.operations) == ("skipped", operations)


def test_ends_may_differ_by_offsets_that_no_reader_sees() -> None:
    """Markers of transactions take offsets too."""
    ends = [Reached(90_000, "reader", "orders", 0, 3), Reached(90_000, "other", "orders", 0, 4)]
    assert judged(sent("abc"), read("abc"), read("abc", "other"), ends) == {}
    aborted = [*sent("c", start=2, inside="t1"), EndTransaction(5, "producer", "t1", "aborted")]
    early = [Reached(90_000, "other", "orders", 0, 2)]
    seen = [read("abc"), read("ab", "other")]
    assert judged(sent("ab"), aborted, *seen, END, early, read_committed=("other",)) == {}


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
    findings = check(History((*sent("ab"), *stray, *read("abc"))))
    assert findings.kinds == {"phantom": 1}
    assert findings.items[0].sentence == (
        "'c' is read at offset 2 of orders-0, and was sent to orders-1."
    )
    assert stray[0] in findings.items[0].operations


def test_a_record_in_a_partition_it_was_not_sent_to_keeps_no_promise() -> None:
    promised = [Send(0, "producer", "orders", 1, "c", "acknowledged", 7, 1)]
    assert judged(sent("ab"), promised, read("abc")) == {"unseen": 1, "phantom": 1}


def test_aborted_read_only_under_read_committed() -> None:
    aborted = [*sent("ab", inside="t1"), EndTransaction(5, "producer", "t1", "aborted")]
    assert judged(aborted, read("ab")) == {}
    assert judged(aborted, read("ab"), read_committed=("reader",)) == {"aborted-read": 2}
    assert judged(aborted, read("ab"), read("..c", "other"), sent("c", start=2),
                  read_committed=("other",)) == {}  # fmt: skip


def test_a_committed_transaction_counts_like_any_record() -> None:
    committed = [*sent("abc", inside="t1"), EndTransaction(5, "producer", "t1", "committed")]
    assert judged(committed, read("a.c"), read_committed=("reader",)) == {"lost": 1}


def test_a_transaction_of_unknown_end_may_be_there_or_not() -> None:
    for seen in ("ab", "", "a"):
        assert judged(sent("ab", inside="t1"), read(seen), read_committed=("reader",)) == {}


def test_without_an_offset_only_its_absence_counts() -> None:
    """What an acks=0 producer believes."""
    blind = [Send(0, "producer", "orders", 0, "x", "acknowledged", -1, 1)]
    assert judged(blind, read("x")) == {}
    assert judged(blind) == {"unseen": 1}
    findings = check(History((*sent("abc"), *blind, *read("abc"), *END)))
    assert str(findings.items[0]) == (
        "lost: 'x' was taken for sent to orders-0, without an offset, and reader read all there "
        "is without seeing it."
    )
    assert "sends 'x' to orders-0: taken for sent, without an offset" in findings.items[0].timeline
    assert findings.kinds == {"lost": 1}


def test_without_an_offset_a_reader_of_the_tail_proves_nothing() -> None:
    """It may be where that one did not look."""
    blind = [Send(0, "producer", "orders", 0, "x", "acknowledged", -1, 1)]
    begin = [Seek(40_000, "reader", "orders", 0, 2)]
    tail = read("c", start=2)
    assert judged(sent("c", start=2), blind, begin, tail, END) == {"unseen": 1}
    start = [Seek(40_000, "reader", "orders", 0, 0)]
    empty = [Reached(90_000, "reader", "orders", 0, 0)]
    (finding,) = check(History((*blind, *start, *empty)))
    assert (finding.kind, finding.operations) == ("lost", (*blind, *empty))
    late = [Send(95_000, "producer", "orders", 0, "x", "acknowledged", -1, 96_000)]
    assert judged(late, start, empty) == {"unseen": 1}


def test_bad_words_get_a_remedy() -> None:
    with pytest.raises(ValueError, match="say one of acknowledged, refused, unknown"):
        Send(0, "producer", "orders", 0, "a", "ok")
    with pytest.raises(ValueError, match="'a' has offset 5 and no partition; name the partition"):
        Send(0, "producer", "orders", -1, "a", "acknowledged", 5)
    with pytest.raises(ValueError, match="there are lost, unseen"):
        check(History(())).of("gone")
