"""A consumer that a case moves by hand: one poll at a time, from the broker that the script names.

Two kinds, from before and after KIP-320:

* without epochs it knows an offset and nothing else.  It believes any broker that claims to
  lead; an offset out of range means auto.offset.reset
* with epochs it names the leader epoch that it knows of in every request, so a zombie
  refuses it.  When the leader is a new one, it first asks where the epoch of its last
  record ends there.  If that is below its own position, the log was truncated

From before KIP-516 it names the topic, not its id.  With the id, a topic that was deleted and made
again is another one: the answer is UNKNOWN_TOPIC_ID, the reader asks for metadata, and goes on
where it was, as clients of today do.

With read_committed it stops before the first open transaction, and drops what was aborted.

A real consumer finds the leader and the epoch in its metadata.  Here a reader knows the
newest, unless the script names another broker: then it stands for a consumer whose metadata
came from a broker that is behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import batch
from engine.sim.cases.aborted import after_marker, is_aborted
from engine.sim.cases.stage import CaseStage
from engine.sim.history import Seek
from engine.wire import messages as m
from engine.wire.errors import Errors

LATEST = -1
LAST_VERSION_WITH_NAMES = 12
"""Of Fetch; from 13 on a topic is named by its id (KIP-516)."""


@dataclass
class Reader:
    """`position` is the next offset, `read_epoch` the epoch of the last record read."""

    name: str
    topic: str
    epochs: bool
    position: int = 0
    read_epoch: int = -1
    known_epoch: int = -1
    read_committed: bool = False
    ids: bool = True
    topic_id: bytes = b""
    """Of the topic that it has metadata of."""

    async def poll(self, stage: CaseStage, on: int = -1) -> str:
        """Reads what there is; gives what the application gets: values, an error, or nothing."""
        stage.reader = self.name
        image = stage.world.partition(self.topic, 0)
        broker = on if on >= 0 else image.leader
        if on < 0:
            self.known_epoch = image.leader_epoch
        if self.epochs and 0 <= self.read_epoch < self.known_epoch and on < 0:
            parted = await self._validate(stage, broker)
            if parted:
                return parted
        values: list[str] = []
        while True:
            data = await self._fetch(stage, broker)
            error = Errors(data.error_code)
            if error == Errors.OFFSET_OUT_OF_RANGE:
                values.append(await self._reset(stage))
                break
            if error:
                values.append(error.name)
                if error is Errors.UNKNOWN_TOPIC_ID:
                    self.topic_id = b""
                break
            if not self._take(data, values):
                break
        stage.reader = ""
        return " ".join(values) or "nothing"

    async def _fetch(self, stage: CaseStage, broker: int) -> m.FetchResponse.PartitionData:
        request = m.FetchRequest
        part = request.FetchPartition(
            partition=0,
            current_leader_epoch=self.known_epoch if self.epochs else -1,
            fetch_offset=self.position,
            partition_max_bytes=1 << 20,
        )
        self.topic_id = self.topic_id or stage.world.image().topic_ids[self.topic]
        named = request.FetchTopic(partitions=[part])
        if self.ids:
            named.topic_id = self.topic_id
        else:
            named.topic = self.topic
        body = request(
            max_wait_ms=0, session_epoch=-1, topics=[named], isolation_level=self.read_committed
        )
        latest = None if self.ids else LAST_VERSION_WITH_NAMES
        return (await stage.answer_to(broker, body, latest)).responses[0].partitions[0]

    def _take(self, data: m.FetchResponse.PartitionData, values: list[str]) -> bool:
        before, records = self.position, data.records or b""
        aborted = [
            (each.first_offset, each.producer_id) for each in data.aborted_transactions or ()
        ]
        for header, at in batch.iterate(records):
            self.read_epoch = header.partition_leader_epoch
            if header.is_control or is_aborted(header, aborted):
                self.position = max(self.position, header.next_offset)
                if header.is_control:
                    aborted = after_marker(header, aborted)
                continue
            for record in batch.decode(records, at):
                if record.offset >= self.position:
                    values.append((record.value or b"").decode())
                    self.position = record.offset + 1
        return self.position > before

    async def _validate(self, stage: CaseStage, broker: int) -> str:
        """Asks where the epoch of the last record ends; a sentence if that is before us."""
        request = m.OffsetForLeaderEpochRequest
        part = request.OffsetForLeaderPartition(
            partition=0, current_leader_epoch=self.known_epoch, leader_epoch=self.read_epoch
        )
        topic = request.OffsetForLeaderTopic(topic=self.topic, partitions=[part])
        answer = await stage.answer_to(broker, request(replica_id=-1, topics=[topic]))
        found = answer.topics[0].partitions[0]
        if found.error_code or found.end_offset >= self.position:
            self.read_epoch = self.known_epoch
            return ""
        was, self.position = self.position, found.end_offset
        self.read_epoch = found.leader_epoch
        stage.operations.append(Seek(stage.world.now_us, self.name, self.topic, 0, self.position))
        stage.reader = ""
        return f"truncation detected: the log was cut at offset {self.position}, we stood at {was}"

    async def _reset(self, stage: CaseStage) -> str:
        """auto.offset.reset=latest.  The application did not seek, so the history has no seek."""
        request = m.ListOffsetsRequest
        part = request.ListOffsetsPartition(partition_index=0, timestamp=LATEST)
        topic = request.ListOffsetsTopic(name=self.topic, partitions=[part])
        leader = stage.world.leader(self.topic, 0)
        answer = await stage.answer_to(leader, request(replica_id=-1, topics=[topic]))
        was, self.position = self.position, answer.topics[0].partitions[0].offset
        return f"OFFSET_OUT_OF_RANGE at {was}, reset to latest: {self.position}"
