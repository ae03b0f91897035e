"""The stage of a case: a world, and the history of every client that sends requests there.

It records what the player asks brokers: each Produce is a send with its verdict, each
Fetch of a reader is a poll.  So the history checker can judge a case afterwards, and the
script says nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable

from engine import past
from engine.client.completion import AFTER_APPEND
from engine.cluster.cluster import Cluster
from engine.records import batch
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.cases.aborted import after_marker, is_aborted
from engine.sim.history import Operation, Poll, Reached, Read, Seek, Send
from engine.sim.scripts.player import PATIENCE_S
from engine.sim.scripts.scripts import Script
from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.framing import Answer
from engine.wire.structures import Message, RequestMessage

LATEST = -1
HAND = "by hand"
"""The client that a script's own `produce` stands for."""


class CaseStage:
    """Plays in virtual time; with invariants on where all rules are those of today."""

    def __init__(self, script: Script, seed: int = 0) -> None:
        settings = dict(script.settings)
        before = past.check(str(settings.pop("before", "")).replace(",", " ").split())
        checked = script.rule == DEFAULT_RULE and not before
        self.world = World(seed, script.brokers, settings, rule=script.rule, checked=checked,
                           before=before)  # fmt: skip
        self.operations: list[Operation] = []
        self.latest: list[tuple[str, Errors, int]] = []
        """(topic, error, offset) of each request for the end of a partition."""
        self.reader = ""
        self.readers = 0

    @property
    def cluster(self) -> Cluster:
        return self.world.cluster

    async def ask(
        self, broker: int, body: RequestMessage[Answer], version_max: int | None = None
    ) -> Answer | None:
        asked_us = self.world.now_us
        answer = self.world.ask(body, broker, version_max)
        self._note(asked_us, body, answer)
        return answer

    async def answer_to(
        self, broker: int, body: RequestMessage[Answer], version_max: int | None = None
    ) -> Answer:
        """Like `ask`; ValueError if the broker does not answer."""
        answer = await self.ask(broker, body, version_max)
        if answer is None:
            raise ValueError(f"broker {broker} does not answer")
        return answer

    async def wait(self, condition: Callable[[], bool]) -> bool:
        return self.world.run(until=lambda _: condition(), for_s=PATIENCE_S)

    async def fault(self, fault: Fault) -> None:
        self.world.apply(fault)

    # -- the history

    def begin_reading(self, topic: str, name: str = "", offset: int = 0) -> None:
        """Counts fetches as this reader's from now on; without a name it is a new reader."""
        if not name:
            self.readers += 1
            name = f"reader-{self.readers}"
        self.reader = name
        self.operations.append(Seek(self.world.now_us, name, topic, 0, offset))

    def note_end(self, topic: str) -> None:
        """The current reader has reached the end of the partition, and the cluster is at rest."""
        end = 0
        for op in self.operations:
            match op:
                case Seek(client=self.reader, topic=there, offset=offset) if there == topic:
                    end = offset
                case Poll(client=self.reader, reads=reads):
                    end = max([end, *(read.offset + 1 for read in reads if read.topic == topic)])
        self.operations.append(Reached(self.world.now_us, self.reader, topic, 0, end))

    def read_by(self, name: str) -> list[str]:
        """The values that a reader was given."""
        polls = [op for op in self.operations if isinstance(op, Poll) and op.client == name]
        return [read.value for poll in polls for read in poll.reads]

    def name_of(self, topic_id: bytes) -> str:
        return str(self.world.image().topics[topic_id].name)

    def _note(self, asked_us: int, body: Message, answer: Message | None) -> None:
        match body, answer:
            case m.ProduceRequest(), m.ProduceResponse() | None:
                self._note_send(asked_us, body, answer)
            case m.FetchRequest(), m.FetchResponse() if self.reader:
                self._note_poll(body, answer)
            case m.ListOffsetsRequest(), m.ListOffsetsResponse():
                asked = body.topics[0]
                found = answer.topics[0].partitions[0]
                if asked.partitions[0].timestamp == LATEST and not self.reader:
                    self.latest.append((asked.name, Errors(found.error_code), found.offset))

    def _note_send(
        self, asked_us: int, body: m.ProduceRequest, answer: m.ProduceResponse | None
    ) -> None:
        data = body.topic_data[0]
        topic, part = self.name_of(data.topic_id), data.partition_data[0]
        verdict, offset = "unknown", -1
        if answer is not None:
            found = answer.responses[0].partition_responses[0]
            error = Errors(found.error_code)
            if not error:
                verdict, offset = "acknowledged", found.base_offset
            elif error not in AFTER_APPEND:
                verdict = "refused"
        for number, record in enumerate(batch.decode_all(part.records or b"")):
            self.operations.append(
                Send(asked_us, HAND, topic, part.index, (record.value or b"").decode(), verdict,
                     offset + number if offset >= 0 else -1, self.world.now_us)
            )  # fmt: skip

    def _note_poll(self, body: m.FetchRequest, answer: m.FetchResponse) -> None:
        asked = body.topics[0].partitions[0]
        data = answer.responses[0].partitions[0]
        records = data.records or b""
        if not records:
            return
        topic = body.topics[0].topic or self.name_of(body.topics[0].topic_id)
        aborted = [
            (each.first_offset, each.producer_id) for each in data.aborted_transactions or ()
        ]
        reads: list[Read] = []
        for header, at in batch.iterate(records):
            if header.is_control:
                aborted = after_marker(header, aborted)
            elif not is_aborted(header, aborted):
                reads += [
                    Read(topic, asked.partition, record.offset, (record.value or b"").decode())
                    for record in batch.decode(records, at)
                    if record.offset >= asked.fetch_offset
                ]
        if reads:
            self.operations.append(Poll(self.world.now_us, self.reader, tuple(reads)))
