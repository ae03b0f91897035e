"""Plays the script of a case: trace scripts (engine/sim/scripts/scripts.py) and more commands.

    old: COMMAND | new: COMMAND            on that side only
    cluster … [before=KIP-207,…]           rules of the past (engine/past.py)
    consumer NAME TOPIC [epochs=no] [ids=no] [isolation=read_committed]
                                           a reader, from before KIP-320 without epochs, from before
                                           KIP-516 without topic ids
    poll NAME [on=BROKER]                  what it gets now
    producer NAME [checked=no] [SETTING=VALUE …]     the teachable producer, with its settings
    send NAME TOPIC VALUE …                hands records over, and does not wait
    settled NAME                           until it has nothing pending; then its verdicts
    begin NAME | commit NAME | abort NAME  a transaction of a producer with a transactional.id
    join MEMBER GROUP TOPIC                a member of a group, which then hangs
    offsets NAME TOPIC OFFSET GROUP [as=MEMBER]      a group's offset joins the transaction
    until end TOPIC BROKER OFFSET          the log on that broker ends there
    wait SECONDS                           of virtual time

and every fault of engine/sim/world/faults.py with its options, such as slow 101 102 ms=500.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from engine.client.producer import Producer
from engine.client.settings import ProducerSettings
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.sim.cases.group_members import Member
from engine.sim.cases.readers import Reader
from engine.sim.cases.stage import CaseStage
from engine.sim.clients.histories import history_in
from engine.sim.history import History, Operation, Send
from engine.sim.history.operations import ABORTED, COMMITTED, UNKNOWN, EndTransaction
from engine.sim.scripts.forms import CASE_FORMS, Command
from engine.sim.scripts.player import CONDITIONS, FAULTS, Player
from engine.sim.scripts.quiet import replica_on
from engine.sim.world import faults
from engine.wire.errors import KafkaError


@dataclass
class Transaction:
    """Which of a producer's records, `begin` to `end`, it wrote together, and how that ended."""

    producer: str
    begin: int
    end: int
    outcome: str = UNKNOWN
    ended_us: int = -1


class CasePlayer(Player):
    """Carries out a case's commands; `readers` and `producers` are those that it made."""

    forms = CASE_FORMS
    conditions: ClassVar = {**CONDITIONS, "end": ("TOPIC", "BROKER", "OFFSET")}

    def __init__(self, stage: CaseStage) -> None:
        super().__init__(stage)
        self.case_stage = stage
        self.readers: dict[str, Reader] = {}
        self.members: dict[str, Member] = {}
        self.producers: list[str] = []
        self.reported: dict[str, int] = {}
        self.transactions: list[Transaction] = []

    async def obey(self, command: Command) -> None:
        world = self.case_stage.world
        match command.verb:
            case "consumer":
                name, topic = command.words
                epochs = command.options.get("epochs", "yes") == "yes"
                committed = "isolation" in command.options
                ids = command.options.get("ids", "yes") == "yes"
                self.readers[name] = Reader(name, topic, epochs, read_committed=committed, ids=ids)
                self.case_stage.begin_reading(topic, name)
                self.case_stage.reader = ""
            case "poll":
                reader = self.readers.get(command.words[0])
                if reader is None:
                    raise ValueError(f"there is no consumer {command.words[0]}")
                on = int(command.options.get("on", -1))
                self._say(command, await reader.poll(self.case_stage, on))
            case "producer":
                self._producer(command)
            case "send":
                name, topic, *values = command.words
                for value in values:
                    world.tell(name, "send", topic, value.encode(), None, 0)
            case "settled":
                await self._settled(command)
            case "begin" | "commit" | "abort":
                await self._transaction(command)
            case "join":
                name, group, topic = command.words
                self.members[name] = Member(group, topic)
                self._say(command, await self.members[name].join(self.case_stage))
            case "offsets":
                await self._offsets(command)
            case "wait":
                world.run(for_s=float(command.words[0]))
            case "read":
                self.case_stage.begin_reading(command.words[0])
                await super().obey(command)
                self.case_stage.reader = ""
            case verb if verb in faults.KINDS and verb not in FAULTS:
                world.apply(faults.parse(command.text))
            case _:
                await super().obey(command)

    def _producer(self, command: Command) -> None:
        """Settings that the client refuses are the answer, and there is no such producer."""
        name, given = command.words[0], dict(command.options)
        checked = given.pop("checked", "yes") == "yes"
        try:
            settings = ProducerSettings.of(given, checked=checked)
        except KafkaError as error:
            self._say(command, f"{error.code.name}: {error.message}")
            return
        world = self.case_stage.world
        world.add(name, Producer(name, world.cluster.spec.brokers, settings))
        self.producers.append(name)
        if settings.transactional_id:
            world.tell(name, "init_transactions")

    async def _transaction(self, command: Command) -> None:
        """Waits until the call has returned; what was committed is kept for the judges."""
        name = command.words[0]
        world = self.case_stage.world
        if not await self.stage.wait(lambda: not world.client(name).busy):
            raise ValueError(f"{name} is busy still")
        world.tell(name, f"{command.verb}_transaction")
        await self.stage.wait(lambda: not world.client(name).busy)
        count = len(world.client(name).sends)
        if command.verb == "begin":
            self.transactions.append(Transaction(name, count, count))
            return
        error = world.client(name).error
        self._say(command, error or "done")
        last = next(each for each in reversed(self.transactions) if each.producer == name)
        last.end, last.ended_us = count, world.now_us
        last.outcome = UNKNOWN if error else COMMITTED if command.verb == "commit" else ABORTED

    async def _offsets(self, command: Command) -> None:
        """A commit that names no member is one from before KIP-447."""
        name, topic, offset, group = command.words
        whose = GroupMetadata(group)
        if "as" in command.options:
            whose = self.members[command.options["as"]].metadata
        world = self.case_stage.world
        given = {(topic, 0): Offset(int(offset))}
        world.tell(name, "send_offsets_to_transaction", given, whose)
        await self.stage.wait(lambda: not world.client(name).busy)
        self._say(command, world.client(name).error or "done")

    async def _settled(self, command: Command) -> None:
        name = command.words[0]
        world = self.case_stage.world
        if not await self.stage.wait(lambda: world.client(name).idle):
            raise ValueError(f"{name} has records pending still")
        sends = world.client(name).sends
        for sent in sends[self.reported.get(name, 0) :]:
            where = f" at offset {sent.offset}" if sent.offset >= 0 else ""
            self._say(
                command, f"{sent.verdict}{where}{sent.error and f', {sent.error}'}", sent.text
            )
        self.reported[name] = len(sends)

    def _holds(self, what: str, *words: str) -> bool:
        if what != "end":
            return super()._holds(what, *words)
        replica = replica_on(self.cluster, int(words[1]), words[0], 0)
        return replica is not None and replica.log.log_end_offset >= int(words[2])

    async def read_to_the_end(self) -> None:
        """Reads every topic at rest: a record that this reader does not see is gone."""
        await self.settle()
        for topic in sorted(self._image().topics.values(), key=lambda each: each.name):
            if topic.partitions[0].leader >= 0 and not topic.name.startswith("__"):
                self.case_stage.begin_reading(topic.name, "last-reader")
                await self._read(Command(0, "read", (topic.name,)))
                self.answers.pop()
                self.case_stage.note_end(topic.name)
                self.case_stage.reader = ""

    def history(self) -> History:
        """What all clients did, with what the producers themselves recorded."""
        reported = history_in(self.case_stage.world)
        told = [self._in_its_transaction(each, reported.operations) for each in reported.operations]
        ends = [
            EndTransaction(each.ended_us, each.producer, str(number), each.outcome)
            for number, each in enumerate(self.transactions)
        ]
        committed = tuple(name for name, each in self.readers.items() if each.read_committed)
        return History((*self.case_stage.operations, *told, *ends), committed)

    def _in_its_transaction(self, sent: Operation, among: Sequence[Operation]) -> Operation:
        if not isinstance(sent, Send):
            return sent
        of_client = [
            each for each in among if isinstance(each, Send) and each.client == sent.client
        ]
        place = of_client.index(sent)
        for number, each in enumerate(self.transactions):
            if each.producer == sent.client and each.begin <= place < each.end:
                return replace(sent, transaction=str(number))
        return sent

    def committed(self) -> list[list[str]]:
        """The values of each transaction whose commit was acknowledged."""
        return [
            [s.text for s in self.case_stage.world.client(t.producer).sends[t.begin : t.end]]
            for t in self.transactions
            if t.outcome == COMMITTED
        ]
