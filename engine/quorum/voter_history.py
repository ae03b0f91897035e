"""The voters and the kraft.version that the log has had, by offset (KIP-853).

    offset   voters
    -1       100 200 300         from the format, or from the configuration
    57       100 200 300 400     counts as soon as it is appended, committed or not

A replica goes by the last set that its log holds.  If it waited until a set is committed, two
replicas could count by sets that are two changes apart, and two majorities need have no voter in
common.  A log that is cut takes its sets with it.

Source: KRaftControlRecordStateMachine of Kafka 4.3.1.
"""

from __future__ import annotations

from engine.metadata.records import MetadataRecord
from engine.quorum.voters import VoterSet
from engine.wire import messages as m

BEFORE_THE_LOG = -1


class VoterHistory:
    """Entries (offset, kraft.version, voters), the newest last; there is always one."""

    def __init__(self, initial: VoterSet | None = None) -> None:
        self.entries = [(BEFORE_THE_LOG, 0, initial or VoterSet())]

    @property
    def offset(self) -> int:
        """Where the last set is in the log."""
        return self.entries[-1][0]

    @property
    def version(self) -> int:
        """kraft.version: 0 if the voters are fixed, 1 if they may change."""
        return self.entries[-1][1]

    @property
    def voters(self) -> VoterSet:
        return self.entries[-1][2]

    def read(self, offset: int, record: MetadataRecord) -> None:
        """Takes in what the log says at an offset, if it is about the voters."""
        _, version, voters = self.entries[-1]
        match record:
            case m.KRaftVersionRecord():
                version = record.kraft_version
            case m.VotersRecord():
                voters = VoterSet.of_record(record)
            case _:
                return
        if self.entries[-1][0] == offset:
            self.entries.pop()
        self.entries.append((offset, version, voters))

    def truncate_to(self, end_offset: int) -> None:
        """The log ends here now."""
        while len(self.entries) > 1 and self.entries[-1][0] >= end_offset:
            self.entries.pop()

    def restart_at(self, end_offset: int, records: list[MetadataRecord]) -> None:
        """A snapshot of everything below `end_offset` takes the place of the log."""
        del self.entries[1:]
        for record in records:
            self.read(end_offset - 1, record)

    def before(self, end_offset: int) -> list[m.KRaftVersionRecord | m.VotersRecord]:
        """What a snapshot of everything below `end_offset` says of it; nothing at version 0."""
        found = next(each for each in reversed(self.entries) if each[0] < end_offset)
        _, version, voters = found
        return [m.KRaftVersionRecord(0, version), voters.record()] if version else []
