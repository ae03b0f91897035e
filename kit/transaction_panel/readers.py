"""What two readers of a partition have been given: read_uncommitted, and read_committed.

Both have asked for everything, and have had an answer up to where the leader lets them:

    offset             0          1          2       3          4
                       Alice -10  Carol -1   ABORT   Alice -20  Bob 20     high watermark 5
    read_uncommitted   given      given              given      given
    read_committed     skipped    given              held       held       LSO 3

read_committed is *held back* at the last stable offset, by the oldest transaction that is open
there; all that is behind it waits too, also records that are in no transaction.  What was aborted
below the LSO it *skips*: the broker sends it along, with a list of the aborted transactions, and
the client drops it.  No marker is ever given to an application.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kit.transaction_panel import logs

GIVEN, SKIPPED, HELD, AHEAD, MARKER = "given", "skipped", "held", "ahead", "marker"
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"
LEVELS = (UNCOMMITTED, COMMITTED)


@dataclass(frozen=True)
class Seen:
    """A record or a marker, and what each reader has of it."""

    offset: int
    value: str
    stored: logs.Stored
    fate: str
    uncommitted: str
    committed: str


def seen(partition: Mapping[str, Any]) -> Iterator[Seen]:
    """A partition's log from its beginning, as the two readers have it."""
    found = logs.transactions(partition["batches"])
    watermark, stable = partition["high_watermark"], partition["last_stable_offset"]
    for stored in partition["batches"]:
        if stored["kind"] != logs.DATA:
            yield Seen(stored["base"], stored["kind"], stored, stored["kind"], MARKER, MARKER)
            continue
        fate = next((each.fate for each in found if each.holds(stored)), "")
        for offset, value in stored["records"]:
            replicated = offset < watermark
            level = GIVEN if replicated else AHEAD
            if offset < stable:
                strict = SKIPPED if fate == logs.ABORTED else GIVEN
            else:
                strict = HELD if replicated else AHEAD
            yield Seen(offset, value, stored, fate, level, strict)
