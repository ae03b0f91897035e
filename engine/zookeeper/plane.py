"""What connects a broker with ZooKeeper and with its controller: the seam of the two designs.

    start     the chroot and the parents of all znodes, the cluster's id, the dynamic configs of
              brokers
    register  /brokers/ids/<id>, ephemeral; its czxid is the broker epoch.  If another session holds
              it the broker stops: the id is taken, or its own former session is not over yet
    serve     from now on it obeys its controller (orders.py), and wants to become it itself
    expired   its own controller part resigns; with the next session it registers again
    stop      ControlledShutdown, then the end of the session: the znodes go at once

A broker whose session is over goes on serving: its clients and followers know no better until other
brokers lead.  That is why a leader epoch is in every fetch.

Source: KafkaServer of Kafka 3.9.  Simplified: dynamic configs come without a time to live for their
notes in /config/changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from engine.broker.broker import Broker
from engine.broker.lifecycle import parse_listener
from engine.events import AnyRequest, Response, Token
from engine.metadata.image import BROKER, TOPIC
from engine.plain import Plain
from engine.wire.structures import Message
from engine.zookeeper import znodes
from engine.zookeeper.admin import ADMINISTRATIVE
from engine.zookeeper.channels import OrderRetry, OrderRound
from engine.zookeeper.client import Client, ClientRound, ClientTimer
from engine.zookeeper.controller import BalanceTimer, Controller
from engine.zookeeper.messages import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    Notice,
)
from engine.zookeeper.orders import ORDERS, Orders
from engine.zookeeper.settings import ZooKeeperSettings
from engine.zookeeper.steps import Results, Steps
from engine.zookeeper.tree import (
    CloseSession,
    Create,
    GetChildren,
    GetData,
    Multi,
    Operation,
    Result,
    SetData,
)

SHUTDOWN_RETRIES = 3
SHUTDOWN_BACKOFF_US = 5_000_000
"""controlled.shutdown.max.retries and .retry.backoff.ms of Kafka 3.9."""
GOODBYE_US = 1_000_000
_HERE = "zookeeper.plane.ZooKeeperPlane"


@dataclass(frozen=True, slots=True)
class ShutdownRound:
    """Token of ControlledShutdown."""


@dataclass(frozen=True, slots=True)
class ShutdownTimer:
    """Rings when the controller is asked again, or when the broker stops all the same."""


class ZooKeeperPlane:
    """The control plane of one broker; `members` are those of the ensemble."""

    def __init__(
        self, broker: Broker, members: Sequence[int], settings: ZooKeeperSettings, chroot: str = ""
    ) -> None:
        self.broker = broker
        self.outbox = broker.outbox
        self.client = Client(broker.node_id, members, settings, broker.outbox, broker.ids, self,
                             chroot)  # fmt: skip
        self.steps = Steps(self.client)
        self.orders = Orders(broker, self.client)
        self.controller = Controller(
            broker.node_id, broker.settings, broker.outbox, broker.ids, self.steps,
            broker.apis.refusal,
        )  # fmt: skip
        self.changes_seen = -1
        self.shutdown_tries = 0
        self.is_saying_goodbye = False

    # -- what the broker hands over

    def start(self, now: int) -> None:
        self.client.start(now)

    def stop(self, now: int) -> None:
        """Begins a clean stop."""
        self.broker.lifecycle.leaving = True
        self._ask_to_stop(now)

    def requested(self, now: int, request: AnyRequest) -> bool:
        """True if the request is for this plane."""
        body = request.body
        if isinstance(body, Notice):
            self.client.noticed(now, request)
        elif isinstance(body, ORDERS):
            self.orders.requested(now, request)
        elif isinstance(body, ControlledShutdownRequest) or (
            isinstance(body, ADMINISTRATIVE) and isinstance(request.source, int)
        ):
            self.controller.requested(now, request)
        else:
            return False
        return True

    def answered(self, now: int, event: Response) -> None:
        match event.token:
            case ClientRound() as token:
                self.client.answered(now, token, event.body)
            case OrderRound() as order:
                self.controller.ordered(now, order, event.body)
            case ShutdownRound():
                self._shutdown_answered(now, event.body)

    def expired(self, now: int, token: Token) -> None:
        match token:
            case ClientTimer():
                self.client.expired(now)
            case OrderRetry(broker):
                self.controller.context.channels.send(broker)
            case BalanceTimer():
                self.controller.balance(now)
            case ShutdownTimer():
                self._ask_to_stop(now)

    # -- the session

    def session_began(self, now: int) -> None:
        """The first session, or the next one after it had expired."""
        self.steps.put(now, self._prepare, self._prepared, self._register, self._registered,
                       self.controller.elect)  # fmt: skip

    def session_expired(self, now: int) -> None:
        self.steps.drop()
        self.controller.expired(now)

    def noticed(self, now: int, what: str, path: str) -> None:
        if path == znodes.CONFIG_CHANGES:
            self.steps.put(now, self._read_changes)
        else:
            self.controller.noticed(now, what, path)

    # -- registration

    def _prepare(self, now: int, _: Results) -> list[Operation]:
        cluster = znodes.fields_data(id=self.broker.lifecycle.cluster_id)
        top = ("/",) if self.client.chroot else ()
        return [*(Create(each) for each in (*top, *znodes.PERSISTENT)),
                Create(znodes.CLUSTER_ID, cluster)]  # fmt: skip

    def _prepared(self, now: int, _: Results) -> list[Operation]:
        self.steps.then(self._take_cluster)
        own = str(self.broker.node_id)
        return [GetData(znodes.CLUSTER_ID), GetData(znodes.config(BROKER, "")),
                GetData(znodes.config(BROKER, own)),
                GetChildren(znodes.CONFIG_CHANGES, watch=True)]  # fmt: skip

    def _take_cluster(self, now: int, results: Results) -> None:
        cluster, default, own, notes = results
        cluster_id = self.broker.lifecycle.cluster_id
        there = cluster_id if cluster.znode is None else znodes.fields(cluster.znode.data)["id"]
        if there != cluster_id:
            self._refuse(f"ZooKeeper holds cluster {there}, and this broker belongs to "
                         f"{cluster_id}: give it the right zookeeper.connect")  # fmt: skip
            return
        for name, result in (("", default), (str(self.broker.node_id), own)):
            if result.znode is not None:
                self.orders.take_configs(now, BROKER, name, result.znode.data)
        if self.broker.lifecycle.epoch < 0:
            self.changes_seen = max(map(_number_of, notes.children), default=-1)
        else:
            self.steps.then(self._read_changes)  # what came while it had no session

    def _register(self, now: int, _: Results) -> list[Operation]:
        broker = self.broker
        host, port = parse_listener(broker.settings["advertised.listeners"][0])
        path = znodes.broker(broker.node_id)
        data = znodes.broker_data(host, port, broker.settings["broker.rack"])
        return [Multi((Create(path, ephemeral=True), SetData(path, data, 0)))]

    def _registered(self, now: int, results: Results) -> list[Operation] | None:
        result, broker = results[0], self.broker
        if result.is_ok:
            self._take_epoch(now, result)
            return None
        self.steps.then(self._compare_owner)
        return [GetData(znodes.broker(broker.node_id))]

    def _compare_owner(self, now: int, results: Results) -> list[Operation] | None:
        znode, path = results[0].znode, znodes.broker(self.broker.node_id)
        if znode is None:
            self.steps.then(self._registered)
            return self._register(now, ())
        if znode.ephemeral_owner != self.client.session:
            session = hex(znode.ephemeral_owner)
            self._refuse(
                f"{path} belongs to session {session}: another broker has this id, or the session "
                "of the former process is not over yet; start it again then"
            )
            return None
        self._take_epoch(now, results[0])
        return None

    def _take_epoch(self, now: int, result: Result) -> None:
        """Registered: the znode's czxid is the broker epoch, new with each session."""
        broker = self.broker
        znode = result.parts[1].znode if result.parts else result.znode
        assert znode is not None
        broker.lifecycle.epoch, broker.lifecycle.fenced = znode.czxid, False
        broker.replicas.broker_epoch = broker.replicas.isr_changes.broker_epoch = znode.czxid
        broker.is_serving = True
        self._trace("_take_epoch", "registered", "an ephemeral znode of its session",
                    broker=broker.node_id, epoch=znode.czxid)  # fmt: skip

    def _refuse(self, why: str) -> None:
        """This broker cannot be part of the cluster: its process ends."""
        self.steps.drop()
        self._trace("_refuse", "refused", why)
        self.outbox.halt()

    # -- dynamic configs

    def _read_changes(self, now: int, _: Results) -> list[Operation]:
        self.steps.then(self._read_notes)
        return [GetChildren(znodes.CONFIG_CHANGES, watch=True)]

    def _read_notes(self, now: int, results: Results) -> list[Operation]:
        fresh = [each for each in results[0].children if _number_of(each) > self.changes_seen]
        self.changes_seen = max(map(_number_of, fresh), default=self.changes_seen)
        self.steps.then(self._read_configs)
        return [GetData(f"{znodes.CONFIG_CHANGES}/{each}") for each in fresh]

    def _read_configs(self, now: int, results: Results) -> list[Operation]:
        paths = {znodes.fields(each.znode.data)["entity_path"]: None
                 for each in results if each.znode is not None}  # fmt: skip
        self.steps.then(partial(self._take_configs, list(paths)))
        return [GetData(f"/config/{each}") for each in paths]

    def _take_configs(self, paths: list[str], now: int, results: Results) -> None:
        for path, result in zip(paths, results, strict=True):
            kind, _, name = path.partition("/")
            resource_type = TOPIC if kind == "topics" else BROKER
            if result.znode is not None:
                name = "" if name == znodes.ALL_BROKERS else name
                self.orders.take_configs(now, resource_type, name, result.znode.data)

    # -- stopping

    def _ask_to_stop(self, now: int) -> None:
        self.shutdown_tries += 1
        known = self.controller.known
        if self.is_saying_goodbye:
            self.outbox.halt()
        elif self.shutdown_tries > SHUTDOWN_RETRIES or self.broker.lifecycle.epoch < 0:
            self._say_goodbye(now)
        elif known < 0:
            self.outbox.set_timer(ShutdownTimer(), now + SHUTDOWN_BACKOFF_US)
        else:
            body = ControlledShutdownRequest(self.broker.node_id, self.broker.lifecycle.epoch)
            self.outbox.send(known, ShutdownRound(), body, connection=None)

    def _shutdown_answered(self, now: int, body: Message | tuple[()] | None) -> None:
        match body:
            case ControlledShutdownResponse(error_code=0, remaining=[]):
                self._say_goodbye(now)
            case _:
                self.outbox.set_timer(ShutdownTimer(), now + SHUTDOWN_BACKOFF_US)

    def _say_goodbye(self, now: int) -> None:
        """Ends the session, so that the znodes do not wait for its timeout."""
        self.is_saying_goodbye = True
        if self.client.is_connected:
            self.client.ask([CloseSession(self.client.session)], self._session_closed)
        self.outbox.set_timer(ShutdownTimer(), now + GOODBYE_US)

    def _session_closed(self, now: int, results: Results) -> None:
        self.outbox.halt()

    # -- views

    def snapshot(self) -> Plain:
        """Of this broker's part: its session, and the controller that it obeys."""
        return {
            "session": hex(self.client.session),
            "member": self.client.member if self.client.is_connected else None,
            "controller_epoch": self.orders.controller_epoch,
            "controller": self.broker.controller.id,
        }

    def _trace(self, method: str, kind: str, why: str, **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{method}", kind, "", why, **fields)


def _number_of(note: str) -> int:
    """Of `config_change_0000000003`: 3."""
    return int(note.rpartition("_")[2])
