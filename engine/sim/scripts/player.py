"""Carries out the commands of a trace script, one after another, on any stage.

The stage is a cluster in virtual time or one behind sockets; the player cannot tell which.
It sends a client's requests and records the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from engine.cluster.cluster import Cluster
from engine.metadata.image import MetadataImage, PartitionImage, TopicImage
from engine.records import batch
from engine.sim.scripts.forms import FORMS, Command, Form
from engine.sim.scripts.quiet import is_away, is_quiet, is_still, replica_on
from engine.sim.world.faults import Fault, parse
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.framing import Answer
from engine.wire.structures import RequestMessage

PATIENCE_S = 30.0
FAULTS = ("kill", "start", "stop", "pause", "resume", "lose_power", "write_back", "isolate", "cut",
          "heal")  # fmt: skip
CONDITIONS = {"leader": ("TOPIC", "BROKER"), "isr": ("TOPIC", "BROKER,…"),
              "fenced": ("BROKER",), "still": ("BROKER",)}  # fmt: skip
ELECTIONS = ("preferred", "unclean")
"""The index of each is its number in the protocol."""


class ScriptError(ValueError):
    """A script that cannot be read or carried out; names the line."""


class Stage(Protocol):
    """Where a script is played: in virtual time, or behind sockets."""

    @property
    def cluster(self) -> Cluster: ...

    async def ask(self, broker: int, body: RequestMessage[Answer]) -> Answer | None:
        """A client's request to a broker and its answer."""

    async def wait(self, condition: Callable[[], bool]) -> bool:
        """Lets time pass until the condition holds; False if it does not."""

    async def fault(self, fault: Fault) -> None: ...


class Player:
    """Carries out commands on a stage and records the answers."""

    forms: ClassVar[Mapping[str, Form]] = FORMS
    conditions: ClassVar[Mapping[str, tuple[str, ...]]] = CONDITIONS

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.cluster = stage.cluster
        self.answers: list[str] = []

    async def settle(self) -> None:
        if not await self.stage.wait(lambda: is_quiet(self.cluster)):
            raise ScriptError(f"after {PATIENCE_S:.0f} s there is still no quiet")

    async def carry_out(self, command: Command) -> None:
        """Carries out a command; ValueError if that is impossible."""
        form = self.forms.get(command.verb)
        objection = form.objection(command) if form is not None else ""
        if objection:
            raise ValueError(objection)
        await self.obey(command)

    async def obey(self, command: Command) -> None:
        match command.verb:
            case "create":
                await self._create(command)
            case "config":
                await self._config(command)
            case "produce":
                await self._produce(command)
            case "read":
                await self._read(command)
            case "latest":
                await self._latest(command)
            case "delete-records":
                await self._delete_records(command)
            case "delete-topic":
                await self._delete_topic(command)
            case "elect":
                await self._elect(command)
            case "until":
                await self._until(command)
            case "quiet":
                await self.settle()
            case verb if verb in FAULTS:
                await self.stage.fault(parse(command.text))
            case verb:
                raise ValueError("there is no such command; see engine/sim/scripts/scripts.py")

    def _say(self, command: Command, answer: str, value: str = "") -> None:
        words = (command.verb, *command.words[:1], *([value] if value else []))
        self.answers.append(f"{' '.join(words)}: {answer}")

    # -- which broker to ask

    def _image(self) -> MetadataImage:
        image: MetadataImage = self.cluster.nodes[self.cluster.spec.controller].image
        return image

    def _topic(self, name: str) -> TopicImage:
        image = self._image()
        if name not in image.topic_ids:
            known = ", ".join(sorted(image.topic_ids)) or "none"
            raise ValueError(f"there is no topic {name}; there are {known}")
        return image.topics[image.topic_ids[name]]

    def _partition(self, topic: str) -> PartitionImage:
        return self._topic(topic).partitions[0]

    def _leader(self, command: Command, option: str) -> int:
        return int(command.options.get(option, self._partition(command.words[0]).leader))

    def _anyone(self) -> int:
        for broker in self.cluster.spec.brokers:
            if not is_away(self.cluster, broker):
                return broker
        raise ValueError("no broker is there to ask")

    async def _ask(self, broker: int, body: RequestMessage[Answer]) -> Answer:
        answer = await self.stage.ask(broker, body)
        if answer is None:
            raise ValueError(f"broker {broker} does not answer; is it running, and in reach?")
        return answer

    # -- commands

    async def _create(self, command: Command) -> None:
        request = m.CreateTopicsRequest
        configs = dict(command.options)
        assignments = [
            request.CreatableReplicaAssignment(
                partition_index=index, broker_ids=[int(each) for each in brokers.split(",")]
            )
            for index, brokers in enumerate(configs.pop("replicas").split("/"))
        ]
        topic = request.CreatableTopic(
            name=command.words[0],
            num_partitions=-1,
            replication_factor=-1,
            assignments=assignments,
            configs=[request.CreatableTopicConfig(name=n, value=v) for n, v in configs.items()],
        )
        body = request(topics=[topic], timeout_ms=10_000)
        answer = await self._ask(self._anyone(), body)
        if answer.topics[0].error_code:
            self._say(command, Errors(answer.topics[0].error_code).name)
        await self.settle()

    async def _config(self, command: Command) -> None:
        request = m.IncrementalAlterConfigsRequest
        configs = [
            request.AlterableConfig(name=name, config_operation=0, value=value)
            for name, value in command.options.items()
        ]
        resource = request.AlterConfigsResource(
            resource_type=2, resource_name=command.words[0], configs=configs
        )
        await self._ask(self._anyone(), request(resources=[resource]))

    async def _produce(self, command: Command) -> None:
        acks = {"all": -1, "1": 1}[command.options.get("acks", "all")]
        topic = self._topic(command.words[0])
        producer = int(command.options.get("producer", -1))
        sequence = int(command.options.get("sequence", 0))
        request = m.ProduceRequest
        for value in command.words[1:]:
            data = batch.encode(
                [batch.Record(0, self.cluster.now // 1000, None, value.encode(), ())],
                producer_id=producer,
                producer_epoch=0 if producer >= 0 else -1,
                base_sequence=sequence if producer >= 0 else -1,
            )
            sequence += 1
            part = request.PartitionProduceData(index=0, records=data)
            body = request(
                acks=acks,
                timeout_ms=int(command.options.get("timeout_ms", 10_000)),
                topic_data=[request.TopicProduceData(topic_id=topic.id, partition_data=[part])],
            )
            answer = await self._ask(self._leader(command, "to"), body)
            one = answer.responses[0].partition_responses[0]
            error = Errors(one.error_code)
            self._say(command, error.name if error else f"offset {one.base_offset}", value)

    async def _read(self, command: Command) -> None:
        topic = self._topic(command.words[0])
        on = self._leader(command, "on")
        request = m.FetchRequest
        values = []
        earliest = await self._list_offsets(command, -2)
        offset, error = earliest.offset, Errors(earliest.error_code)
        while not error:
            part = request.FetchPartition(
                partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            body = request(
                max_wait_ms=0,
                session_epoch=-1,
                topics=[request.FetchTopic(topic_id=topic.id, partitions=[part])],
            )
            data = (await self._ask(on, body)).responses[0].partitions[0]
            error = Errors(data.error_code)
            if error or not data.records:
                break
            for header, at in batch.iterate(data.records):
                records = () if header.is_control else batch.decode(data.records, at)
                values += [(each.value or b"").decode() for each in records]
                offset = header.next_offset
        self._say(command, error.name if error else " ".join(values) or "nothing")

    async def _latest(self, command: Command) -> None:
        answer = await self._list_offsets(command, -1)
        error = Errors(answer.error_code)
        self._say(command, error.name if error else f"offset {answer.offset}")

    async def _list_offsets(
        self, command: Command, timestamp: int
    ) -> m.ListOffsetsResponse.ListOffsetsPartitionResponse:
        request = m.ListOffsetsRequest
        part = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = request.ListOffsetsTopic(name=command.words[0], partitions=[part])
        body = request(replica_id=-1, topics=[topic])
        answer = await self._ask(self._leader(command, "on"), body)
        return answer.topics[0].partitions[0]

    async def _delete_records(self, command: Command) -> None:
        request = m.DeleteRecordsRequest
        part = request.DeleteRecordsPartition(partition_index=0, offset=command.number(1))
        topic = request.DeleteRecordsTopic(name=command.words[0], partitions=[part])
        answer = await self._ask(
            self._leader(command, "on"), request(topics=[topic], timeout_ms=10_000)
        )
        one = answer.topics[0].partitions[0]
        error = Errors(one.error_code)
        self._say(command, error.name if error else f"low watermark {one.low_watermark}")

    async def _delete_topic(self, command: Command) -> None:
        request = m.DeleteTopicsRequest
        state = request.DeleteTopicState(name=command.words[0])
        await self._ask(self._anyone(), request(topics=[state], timeout_ms=10_000))
        await self.settle()

    async def _elect(self, command: Command) -> None:
        request = m.ElectLeadersRequest
        part = request.TopicPartitions(topic=command.words[1], partitions=[0])
        if command.words[0] not in ELECTIONS:
            raise ValueError(f"an election is {' or '.join(ELECTIONS)}, not {command.words[0]}")
        kind = ELECTIONS.index(command.words[0])
        body = request(election_type=kind, topic_partitions=[part], timeout_ms=10_000)
        answer = await self._ask(self._anyone(), body)
        one = answer.replica_election_results[0].partition_result[0]
        self._say(command, Errors(one.error_code).name, command.words[1])

    async def _until(self, command: Command) -> None:
        what, *words = command.words
        if len(words) != len(self.conditions.get(what, "")):
            known = ", ".join(" ".join((name, *about)) for name, about in self.conditions.items())
            raise ValueError(f"the conditions are {known}")
        if not await self.stage.wait(lambda: self._holds(*command.words)):
            raise ValueError(f"{' '.join(command.words)}: it did not come to hold")

    def _holds(self, what: str, *words: str) -> bool:
        match what:
            case "leader":
                return self._is_led_by(words[0], int(words[1]))
            case "isr":
                wanted = sorted(int(each) for each in words[1].split(","))
                return sorted(self._partition(words[0]).isr) == wanted
            case "fenced":
                return bool(self._image().brokers[int(words[0])].fenced)
            case "still":
                return is_still(self.cluster, int(words[0]))
            case _:
                raise ValueError(f"no condition {what}")

    def _is_led_by(self, topic: str, broker: int) -> bool:
        """The broker leads, and every replica in reach knows it."""
        image = self._partition(topic)
        replicas = [replica_on(self.cluster, b, topic, 0) for b in image.replicas
                    if not is_away(self.cluster, b)]  # fmt: skip
        return image.leader == broker and all(
            replica is not None and replica.leader_epoch == image.leader_epoch
            for replica in replicas
        )
