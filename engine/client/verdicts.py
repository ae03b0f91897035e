"""The producer's verdict on each record.

A record is *pending* until its batch is done.  Then it is acknowledged, refused or unknown
(engine/client/producer_batch.py says when).  After that its verdict never changes, not even by a
late answer.
"""

from __future__ import annotations

from engine.client.producer_batch import (
    ACKNOWLEDGED,
    PENDING,
    REFUSED,
    UNKNOWN,
    ProducerBatch,
    Sent,
)
from engine.events import Outbox

_HERE = "client.verdicts.Verdicts"


class Verdicts:
    """`sends` holds every record in the order in which it was handed over."""

    def __init__(self, outbox: Outbox, acks: int) -> None:
        self.outbox = outbox
        self.acks = acks
        self.sends: list[Sent] = []
        self.pending = 0

    def opened(self, record: Sent) -> None:
        self.sends.append(record)
        self.pending += 1

    def acknowledged(self, now: int, batch: ProducerBatch, offset: int) -> None:
        for at, record in enumerate(batch.records):
            record.offset = offset + at if offset >= 0 else -1
            self._close(now, record, ACKNOWLEDGED, "")
        # The cluster promises to keep a record only with acks=all and an offset.
        kind = "acknowledged" if self.acks == -1 and offset >= 0 else "reported"
        last = offset + len(batch.records) - 1 if offset >= 0 else -1
        self.outbox.trace(
            f"{_HERE}.acknowledged", kind, _name(batch), batch=batch.number,
            records=len(batch.records), offset=last, asked_us=batch.sent_us,
            value=batch.records[-1].text,
        )  # fmt: skip

    def failed(self, now: int, batch: ProducerBatch, error: str) -> None:
        """Refused, or unknown if an attempt may have arrived."""
        verdict = UNKNOWN if batch.maybe_stored else REFUSED
        for record in batch.records:
            self._close(now, record, verdict, error)
        self.outbox.trace(f"{_HERE}.failed", verdict, _name(batch), why=error, batch=batch.number,
                          records=len(batch.records), error=error)  # fmt: skip

    def turned_away(self, now: int, record: Sent, error: str) -> None:
        """A record that never got into a batch: too large, or no room in time."""
        self._close(now, record, REFUSED, error)
        self.outbox.trace(f"{_HERE}.turned_away", REFUSED, why=error, record=record.number,
                          error=error)  # fmt: skip

    def _close(self, now: int, record: Sent, verdict: str, error: str) -> None:
        if record.verdict == PENDING:
            record.verdict, record.error, record.done_us = verdict, error, now
            self.pending -= 1

    def count(self) -> dict[str, int]:
        """How many records have which verdict."""
        kinds = (ACKNOWLEDGED, REFUSED, UNKNOWN, PENDING)
        found = dict.fromkeys(kinds, 0)
        for record in self.sends:
            found[record.verdict] += 1
        return {kind: number for kind, number in found.items() if number}


def _name(batch: ProducerBatch) -> str:
    return f"{batch.place[0]}-{batch.place[1]}"
