"""A change of a group, drawn up before it is true.

A heartbeat may change several things, each of which depends on those before it: the member's
subscription, the group epoch, the target, what the member owns.  Each is a record.  `put` writes it
down and applies it to a copy of the group, so that the next decision sees it.

    the log takes the records    the copy becomes the group
    the log refuses them         the copy is thrown away, and nothing has happened

So memory is never ahead of a log that said no.  Most heartbeats change nothing and copy
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.coordinators.classic.group import Group
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.consumer.stored_group import ConsumerRecord, apply


@dataclass(slots=True)
class Draft:
    """`group` as it will be; `replaces` is the classic group that it was converted from.

    `why` tells the trace what happened, `left` which members are out.
    """

    group: ConsumerGroup
    replaces: Group | None = None
    records: list[ConsumerRecord | GroupRecord] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    is_copy: bool = False
    metadata_offset: int = -1
    """The metadata that the group was compared with; -1 if it was not."""

    def put(self, *records: ConsumerRecord) -> None:
        """Writes records down, each seen by what follows."""
        if records and not self.is_copy:
            self.group, self.is_copy = self.group.copied(), True
        for record in records:
            self.records.append(record)
            apply(self.group, record)

    def put_classic(self, record: GroupRecord) -> None:
        """A record of the classic group that goes or comes."""
        self.records.append(record)
