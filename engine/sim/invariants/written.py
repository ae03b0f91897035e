"""Which values were ever written to which topic of one name, as the replicas accepted them.

A topic that is deleted takes its records with it.  So the end of a schedule has to know of each
record whether it was in a topic that is gone, and this page remembers it: the logs are deleted.

    payments, id 7f…   till-1.212/1/0   till-1.212/1/1        deleted
    payments, id a2…   till-1.212/2/0                          the one that is there
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.records import batch
from engine.replication.partition import Partition

READ_BYTES = 1 << 20


@dataclass
class Written:
    """`values` by topic id; `read_to` is how far each replica of a topic has been read."""

    values: dict[bytes, dict[str, None]] = field(default_factory=dict)
    read_to: dict[tuple[bytes, int, int], int] = field(default_factory=dict)

    def appended(self, replica: Partition) -> None:
        """Takes in what is new in a replica's log."""
        place = (replica.topic_id, replica.index, replica.node_id)
        log, values = replica.log, self.values.setdefault(replica.topic_id, {})
        start = max(self.read_to.get(place, 0), log.log_start_offset)
        while start < log.log_end_offset:
            data = log.read(start, READ_BYTES)
            for header, at in batch.iterate(data):
                start = header.next_offset
                if not header.is_control:
                    values.update(dict.fromkeys(map(_value, batch.decode(data, at))))
        self.read_to[place] = log.log_end_offset

    def cut(self, replica: Partition) -> None:
        """What follows is read again."""
        place = (replica.topic_id, replica.index, replica.node_id)
        self.read_to[place] = min(self.read_to.get(place, 0), replica.log.log_end_offset)

    def before(self, topic_id: bytes, value: str) -> bool:
        """Whether another topic of the name had this record."""
        return any(value in known for each, known in self.values.items() if each != topic_id)


def _value(record: batch.Record) -> str:
    return (record.value or b"").decode()
