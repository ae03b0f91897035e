"""What clients did, as plain data: the only thing that the history checker looks at.

Nothing here knows where a history comes from.  A simulated producer writes one, a recorder
around confluent-kafka writes one, a test writes one by hand, and all are judged alike.

    Send            one record was sent, and how that ended
    Poll            these records were handed to a consumer, in this order
    Seek            a consumer's position was set: assigned, sought, or reset
    Reached         a consumer had reached the end when all was over
    EndTransaction  a producer's transaction was committed, was aborted, or ended unknown
    Process         a consumer's application has done a record's work, for good
    Commit          the group's committed offset, as the broker accepted it or handed it out

A send has one of three verdicts.  *Acknowledged* and *refused* are certain.  *Unknown* is
neither: a time-out, or NOT_ENOUGH_REPLICAS_AFTER_APPEND; such a record may be in the log
or not, and both are right.  With acks=0 a client says acknowledged, without an offset, though no
broker has said anything: it takes the record for sent, and the checker takes that as a promise.

A record is known by its topic and value, so values should be unique.  A value may be sent
again, say after a refusal; it may then appear as often as it was sent and not refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

ACKNOWLEDGED, REFUSED, UNKNOWN = "acknowledged", "refused", "unknown"
VERDICTS = (ACKNOWLEDGED, REFUSED, UNKNOWN)
COMMITTED, ABORTED = "committed", "aborted"
OUTCOMES = (COMMITTED, ABORTED, UNKNOWN)
Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Send:
    """One record, sent at `at_us`; its verdict came at `ended_us` (-1: never).

    `partition` and `offset` are -1 where the client got none.  `transaction` names the
    transaction it belongs to, within its client; empty if none.
    """

    at_us: int
    client: str
    topic: str
    partition: int
    value: str
    verdict: str
    offset: int = -1
    ended_us: int = -1
    transaction: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(
                f"The verdict of {self.value!r} is {self.verdict!r}; "
                f"say one of {', '.join(VERDICTS)}."
            )
        if self.offset >= 0 and self.partition < 0:
            raise ValueError(
                f"{self.value!r} has offset {self.offset} and no partition; "
                "name the partition too, or leave the offset out."
            )

    def was_over(self, at_us: int) -> bool:
        """Whether its verdict had come by then."""
        return max(self.ended_us, self.at_us) <= at_us


class Read(NamedTuple):
    """One record as a consumer got it."""

    topic: str
    partition: int
    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class Poll:
    """What one call of poll gave to a consumer."""

    at_us: int
    client: str
    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Seek:
    """A consumer's position is set to `offset`; -1 if only the broker knows it."""

    at_us: int
    client: str
    topic: str
    partition: int
    offset: int = -1


@dataclass(frozen=True, slots=True)
class Reached:
    """For this client the partition ended at `offset`, when nothing was in flight any more.

    Record it only when the cluster is at rest: a new leader's high watermark may lag behind for
    a moment, and a consumer then sees an end that is too low.
    """

    at_us: int
    client: str
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """How a producer's transaction ended, as far as its client knows."""

    at_us: int
    client: str
    transaction: str
    outcome: str

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(
                f"The outcome of {self.transaction!r} is {self.outcome!r}; "
                f"say one of {', '.join(OUTCOMES)}."
            )


@dataclass(frozen=True, slots=True)
class Process:
    """A record's effect, where a crash of the client cannot undo it.

    Note it when the effect is done.  A call that the outside world recognizes and ignores has
    no effect, and is not noted.
    """

    at_us: int
    client: str
    topic: str
    partition: int
    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class Commit:
    """The group's committed offset of a partition: the next application starts there.

    Note it when the broker has accepted it, or when it hands it out.  The consumers of a history
    that has commits are one group.
    """

    at_us: int
    client: str
    topic: str
    partition: int
    offset: int


Operation = Send | Poll | Seek | Reached | EndTransaction | Process | Commit


@dataclass(frozen=True)
class History:
    """Operations; those of one client are in its order, of many in any order.

    `read_committed` names the consumers that asked for isolation.level=read_committed.
    """

    operations: tuple[Operation, ...]
    read_committed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line: how much of what."""
        count = dict.fromkeys(VERDICTS, 0)
        reads = 0
        for each in self.operations:
            if isinstance(each, Send):
                count[each.verdict] += 1
            elif isinstance(each, Poll):
                reads += len(each.reads)
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in count.items())
        return f"{sum(count.values())} sent ({verdicts}), {reads} read"


def tell(operation: Operation) -> str:
    """An operation in a few words, without its time and client."""
    match operation:
        case Send():
            partition = f"-{operation.partition}" if operation.partition >= 0 else ""
            offset = f" at offset {operation.offset}" if operation.offset >= 0 else ""
            inside = f" in {operation.transaction}" if operation.transaction else ""
            verdict = operation.verdict
            if verdict == ACKNOWLEDGED and operation.offset < 0:
                verdict = "taken for sent, without an offset"
            to = f"{operation.topic}{partition}{inside}"
            return f"sends {operation.value!r} to {to}: {verdict}{offset}"
        case Poll():
            read = ", ".join(f"{r.value!r} at offset {r.offset}" for r in operation.reads)
            places = dict.fromkeys(f"{r.topic}-{r.partition}" for r in operation.reads)
            return f"reads {read or 'nothing'}{' of ' if places else ''}{', '.join(places)}"
        case Seek():
            where = f"goes to offset {operation.offset}" if operation.offset >= 0 else "begins"
            return f"{where} of {operation.topic}-{operation.partition}"
        case Reached():
            place = f"{operation.topic}-{operation.partition}"
            return f"finds the end of {place} at offset {operation.offset}"
        case EndTransaction():
            return f"ends {operation.transaction}: {operation.outcome}"
        case Process():
            place = f"{operation.topic}-{operation.partition}"
            return f"has processed {operation.value!r}, offset {operation.offset} of {place}"
        case Commit():
            place = f"{operation.topic}-{operation.partition}"
            return f"has offset {operation.offset} committed of {place}"
