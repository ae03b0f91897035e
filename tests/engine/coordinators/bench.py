"""Two brokers that have nothing but a coordinator, and the log that they share.

One of them leads the log's only partition.  Every request and answer goes through the codec in its
version.  Time moves only in `wait`; appends are replicated at once, or when `replicate` says so.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from random import Random
from typing import Any, Self

from engine import api
from engine.events import CancelTimer, Outbox, Reply, Request, Send, SetTimer, Stored, Token
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import BrokerImage, MetadataImage
from engine.records import batch
from engine.settings import Settings
from engine.wire import codec
from engine.wire.errors import Errors

START_US = 1_800_000_000_000_000


class SharedLog:
    """What is in the partition, on whichever broker leads it."""

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.batches: list[bytes] = []
        self.log_end_offset = 0

    def append(self, data: bytes) -> None:
        self.batches.append(bytes(batch.assign(data, self.log_end_offset, 0)))
        self.log_end_offset = batch.read_header(self.batches[-1]).next_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        kept = [each for each in self.batches if batch.read_header(each).last_offset >= offset]
        return kept[0] if kept else b""


class SharedPartition:
    def __init__(self) -> None:
        self.log = SharedLog()
        self.high_watermark = 0
        self.leader_epoch = 0
        self.leader = 101
        self.under_way: list[tuple[Stored, int]] = []
        self.refuses = Errors.NONE
        self.holds = self.delivering = False

    def lose_tail(self, lose: bool) -> None:
        """The next leader has what is replicated, and perhaps the rest, now replicated too."""
        if lose:
            kept = [
                each
                for each in self.log.batches
                if batch.read_header(each).next_offset <= self.high_watermark
            ]
            self.log.batches, self.log.log_end_offset = kept, self.high_watermark
        self.high_watermark = self.log.log_end_offset


class StubReplicas:
    """The replicas of one broker: the shared partition, if it leads."""

    def __init__(self, node_id: int, topic: str, partition: SharedPartition) -> None:
        self.node_id = node_id
        self.topic = topic
        self.shared = partition

    def partition(self, topic: str, index: int) -> SharedPartition | None:
        return self.shared if (topic, index) == (self.topic, 0) else None

    def append(
        self,
        now: int,
        topic: str,
        index: int,
        batch: bytes,
        then: Stored,
        timeout_ms: int,
        *rest: object,
    ) -> Errors:
        shared = self.shared
        if shared.leader != self.node_id:
            return Errors.NOT_LEADER_OR_FOLLOWER
        if shared.refuses is not Errors.NONE:
            return shared.refuses
        assert not shared.delivering, "an append must not begin inside another one's end"
        shared.log.append(batch)
        shared.under_way.append((then, shared.log.log_end_offset))
        if not shared.holds:
            self.deliver(now)
        return Errors.NONE

    def deliver(self, now: int, error: Errors = Errors.NONE) -> None:
        shared = self.shared
        under_way, shared.under_way = shared.under_way, []
        shared.delivering = True
        for then, end in under_way:
            if error is Errors.NONE:
                shared.high_watermark = max(shared.high_watermark, end)
            then.stored(now, error)
        shared.delivering = False


class StubBroker:
    """A broker without its coordinator, which a subclass makes under the broker's own name."""

    def __init__(
        self,
        node_id: int,
        settings: Settings,
        metadata: MetadataImage,
        topic: str,
        shared: SharedPartition,
    ) -> None:
        self.node_id = node_id
        self.controller = ActiveController((100,))
        self.settings = settings
        self.metadata = metadata
        self.ids = Random(node_id)
        self.outbox = Outbox()
        self.replicas = StubReplicas(node_id, topic, shared)

    @property
    def coordinator(self) -> Any:
        raise NotImplementedError


class Bench:
    """The brokers, their clock, and the answers that came back, by request number."""

    def __init__(
        self,
        broker: type[StubBroker],
        topic: str,
        nodes: tuple[int, ...],
        features: Mapping[str, int],
        settings: Mapping[str, Any],
        overrides: Mapping[str, Any],
    ) -> None:
        self.now = START_US
        own = {name.replace("_", "."): value for name, value in overrides.items()}
        self.settings = Settings({**settings, **own})
        self.metadata = MetadataImage(features=dict(features))
        for node in nodes:
            self.metadata.brokers[node] = BrokerImage(
                node, 1, bytes(16), "localhost", node, fenced=False
            )
        self.shared = SharedPartition()
        self.brokers = {
            node: broker(node, self.settings, self.metadata, topic, self.shared)
            for node in (101, 102)
        }
        self.timers: dict[tuple[int, Token], int] = {}
        self.answers: dict[int, Any] = {}
        self.waiting: dict[int, Request] = {}
        self.sent: list[Send] = []
        self.traced: list[Any] = []
        self.last_request = 0

    # -- requests, answers, time

    def ask(
        self, body: Any, version: int | None = None, client: str = "c", broker: int | None = None
    ) -> int:
        """Sends a request to the coordinator; its number finds the answer."""
        node = broker or self.shared.leader
        chosen = type(body).LATEST if version is None else version
        body = codec.decode(type(body).__name__, chosen, codec.encode(body, chosen))
        self.last_request += 1
        request = Request("conn", (self.last_request,), chosen, body, client, "127.0.0.1")
        self.waiting[self.last_request] = request
        api.dispatch(self.brokers[node], self.now, request)  # type: ignore[arg-type]
        self.carry_out(node)
        return self.last_request

    def carry_out(self, node: int) -> None:
        for effect in self.brokers[node].outbox.drain():
            if isinstance(effect, Reply):
                number = effect.token[0]
                assert number in self.waiting, f"request {number} was answered twice"
                del self.waiting[number]
                name = type(effect.body).__name__
                data = codec.encode(effect.body, effect.version)
                self.answers[number] = codec.decode(name, effect.version, data)
            elif isinstance(effect, SetTimer):
                self.timers[node, effect.token] = effect.at
            elif isinstance(effect, CancelTimer):
                self.timers.pop((node, effect.token), None)
            elif isinstance(effect, Send):
                self.sent.append(effect)
            else:
                self.traced.append(effect)

    def wait(self, ms: int) -> None:
        """Lets time pass, firing timers in order."""
        until = self.now + ms * 1000
        while self.timers:
            (node, token), at = min(self.timers.items(), key=lambda item: (item[1], str(item[0])))
            if at > until:
                break
            self.now = max(self.now, at)
            del self.timers[node, token]
            self.brokers[node].coordinator.on_timer(self.now, token)
            self.carry_out(node)
        self.now = until

    def replicate(self, error: Errors = Errors.NONE) -> None:
        """Ends the appends under way."""
        node = self.shared.leader
        self.brokers[node].replicas.deliver(self.now, error)
        self.carry_out(node)

    def restored(self) -> Self:
        """A copy by way of pickle, as the simulator makes them."""
        copy: Self = pickle.loads(pickle.dumps(self))
        return copy
