"""The controller part of a broker: it wants to be elected, and if it is, it decides.

    elect       reads /controller: if it is there, another broker is the controller
                else creates it and sets /controller_epoch one higher, both or neither
                then reads everything (changes.load)
    resign      forgets everything; /controller belongs to its session, or to another broker

Every broker watches /controller.  When it vanishes all of them try; one wins.  The epoch is read
first and set by its version: a broker that was paused between the two wins nothing.

A controller stops for one of three reasons.  Its session is over, and its client tells it so.  It
reads in /controller that another broker is the controller.  Or a fenced write fails, because
/controller_epoch has another version (steps.py).

Source: KafkaController and KafkaZkClient of Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from engine.control import elections
from engine.events import Answered, AnyRequest, Outbox, Reply
from engine.metadata.image import MetadataImage
from engine.plain import Plain
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message
from engine.zookeeper import admin, changes, deletion, states, znodes
from engine.zookeeper.channels import OrderRound
from engine.zookeeper.context import Context
from engine.zookeeper.messages import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    StopReplicaRequest,
)
from engine.zookeeper.steps import Results, Steps
from engine.zookeeper.tree import Code, Create, Exists, GetData, Multi, Operation, SetData

NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True)
class BalanceTimer:
    """Rings when leaders go back to the preferred replicas."""


class Controller:
    """Of broker `node_id`; `refusal` makes the answer that refuses a request."""

    def __init__(
        self,
        node_id: int,
        settings: Settings,
        outbox: Outbox,
        ids: Random,
        steps: Steps,
        refusal: Callable[[AnyRequest, Errors, str | None], Message],
    ) -> None:
        self.node_id = node_id
        self.outbox = outbox
        self.steps = steps
        self.refusal = refusal
        self.context = Context(node_id, settings, outbox, ids, steps)
        self.known = NO_CONTROLLER
        steps.moved = self.look

    @property
    def is_active(self) -> bool:
        """Elected, and done with reading."""
        return self.context.is_active and self.context.is_loaded

    @property
    def epoch(self) -> int:
        return self.context.epoch

    @property
    def image(self) -> MetadataImage:
        return self.context.image

    # -- election

    def elect(self, now: int, _: Results) -> list[Operation]:
        """An event: tries to become the controller, unless there is one."""
        self.steps.then(self._looked, self._try)
        return [Exists(znodes.CONTROLLER, watch=True), GetData(znodes.CONTROLLER, watch=True)]

    def look(self, now: int, _: Results) -> list[Operation]:
        """An event: /controller has changed, or another broker may be the controller."""
        self.steps.then(self._looked)
        return [Exists(znodes.CONTROLLER, watch=True), GetData(znodes.CONTROLLER, watch=True)]

    def _looked(self, now: int, results: Results) -> None:
        znode = results[1].znode
        self.known = NO_CONTROLLER if znode is None else znodes.controller_of(znode.data)
        if self.context.is_active and self.known != self.node_id:
            named = "no broker is" if self.known == NO_CONTROLLER else f"{self.known} is"
            self.resign(now, f"{named} the controller")

    def _try(self, now: int, _: Results) -> list[Operation] | None:
        if self.known != NO_CONTROLLER or self.context.is_active:
            return None
        self.steps.then(self._epoch_read)
        return [GetData(znodes.CONTROLLER_EPOCH)]

    def _epoch_read(self, now: int, results: Results) -> list[Operation]:
        znode = results[0].znode
        if znode is None:
            self.steps.then(self._try)
            return [Create(znodes.CONTROLLER_EPOCH, "0")]
        epoch = int(znode.data) + 1
        self.steps.then(partial(self._claimed, epoch))
        return [Multi((
            Create(znodes.CONTROLLER, znodes.controller_data(self.node_id), ephemeral=True),
            SetData(znodes.CONTROLLER_EPOCH, str(epoch), znode.version),
        ))]  # fmt: skip

    def _claimed(self, epoch: int, now: int, results: Results) -> list[Operation] | None:
        result = results[0]
        if result.is_ok and result.parts[1].znode is not None:
            self._lead(now, epoch, result.parts[1].znode.version)
            return None
        if result.code in (Code.NODE_EXISTS, Code.BAD_VERSION):
            # It may have been us: the answer of the first attempt was lost.
            self.steps.then(partial(self._checked, epoch))
            return [GetData(znodes.CONTROLLER, watch=True), GetData(znodes.CONTROLLER_EPOCH)]
        return None

    def _checked(self, epoch: int, now: int, results: Results) -> list[Operation] | None:
        there, found = results[0].znode, results[1].znode
        ours = there is not None and znodes.controller_of(there.data) == self.node_id
        if ours and found is not None and int(found.data) == epoch:
            self._lead(now, epoch, found.version)
            return None
        # There is one, or it is gone again, and its watch says so.
        return self.look(now, ())

    def _lead(self, now: int, epoch: int, version: int) -> None:
        c = self.context
        self.known = self.node_id
        c.is_active, c.epoch, c.epoch_version = True, epoch, version
        c.image.epoch = epoch
        c.tell("controller.Controller.elect", "controller", "it has created /controller",
                leader=self.node_id, epoch=epoch)  # fmt: skip
        if c.settings["auto.leader.rebalance.enable"]:
            self._set_balance(now)
        changes.load(c)

    def resign(self, now: int, why: str) -> None:
        """No controller any more: what was asked of it is refused, what it knew forgotten."""
        c = self.context
        if not c.is_active:
            return
        c.is_active = False
        c.tell("controller.Controller.resign", "resigned", why, epoch=c.epoch)
        c.channels.drop_all()
        for request, _, _ in c.creating:
            self.refuse(request)
        c.forget()

    def expired(self, now: int) -> None:
        """The session is over, and with it what it owned."""
        self.resign(now, "its session is over")
        self.known = NO_CONTROLLER

    # -- watches

    def noticed(self, now: int, what: str, path: str) -> bool:
        """A watch has fired; False if it was none of the controller's."""
        c = self.context
        above, _, name = path.rpartition("/")
        if path == znodes.CONTROLLER:
            self.steps.put(now, self.elect if what == "deleted" else self.look)
        elif path == znodes.BROKER_IDS:
            self.steps.put(now, partial(changes.broker_change, c))
        elif path == znodes.TOPICS:
            self.steps.put(now, partial(changes.topic_change, c))
        elif path == znodes.DELETE_TOPICS:
            self.steps.put(now, partial(deletion.marks_change, c))
        elif above == znodes.TOPICS:
            self.steps.put(now, partial(changes.partitions_change, c, name))
        else:
            return False
        return True

    # -- requests

    def requested(self, now: int, request: AnyRequest) -> None:
        """A request to the controller, from a broker or, with an envelope, from a client."""
        self.steps.put(now, partial(self._decide, request))

    def _decide(self, request: AnyRequest, now: int, _: Results) -> list[Operation] | None:
        if not self.context.is_active:
            self.refuse(request)
            return None
        try:
            if isinstance(request.body, ControlledShutdownRequest):
                self._shut_down(request, request.body)
                return None
            return admin.decide(self.context, request, now)
        except KafkaError as error:
            self.outbox.reply(request, self.refusal(request, error.code, error.text))
            return None

    def _shut_down(self, request: AnyRequest, body: ControlledShutdownRequest) -> None:
        broker = self.context.live.get(body.broker_id)
        if broker is None or body.broker_epoch < broker.epoch:
            answer = ControlledShutdownResponse(Errors.STALE_BROKER_EPOCH)
            self.outbox.reply(request, answer)
            return
        self.steps.then(partial(self._shutting_down, request, body.broker_id))
        changes.controlled_shutdown(self.context, body.broker_id)

    def _shutting_down(self, request: AnyRequest, broker: int, now: int, _: Results) -> None:
        c = self.context
        remaining = []
        for key in c.on_broker(broker):
            image = c.partition(key)
            if image is not None and image.leader == broker and len(image.replicas) > 1:
                remaining.append(key)
        self.outbox.reply(request, ControlledShutdownResponse(remaining=remaining))

    def refuse(self, request: AnyRequest) -> None:
        """NOT_CONTROLLER: the broker asks another one."""
        if request.envelope is not None:
            answer: Message = m.EnvelopeResponse(error_code=Errors.NOT_CONTROLLER)
            reply = Reply(request.source, request.token, 0, answer, request)
            self.outbox.effects.append(reply)
            return
        if isinstance(request.body, ControlledShutdownRequest):
            answer = ControlledShutdownResponse(Errors.NOT_CONTROLLER)
        else:
            text = f"Broker {self.node_id} is not the controller."
            answer = self.refusal(request, Errors.NOT_CONTROLLER, text)
        self.outbox.reply(request, answer)

    def ordered(self, now: int, token: OrderRound, body: Answered) -> None:
        """A broker has answered, or the request was lost."""
        order = self.context.channels.answered(now, token, body)
        error = Errors(getattr(body, "error_code", 0))
        if order is not None and error != Errors.NONE:
            self.context.tell("controller.Controller.ordered", "order-refused", f"{error.name}",
                               broker=token.broker, epoch=order.controller_epoch)  # fmt: skip
        if isinstance(order, StopReplicaRequest):
            event = partial(deletion.stopped, self.context, token.broker, order, body)  # type: ignore[arg-type]
            self.steps.put(now, event)

    # -- leaders go back

    def _set_balance(self, now: int) -> None:
        every_s: int = self.context.settings["leader.imbalance.check.interval.seconds"]
        self.outbox.set_timer(BalanceTimer(), now + every_s * 1_000_000)

    def balance(self, now: int) -> None:
        """The timer: an event of its own."""
        if self.is_active:
            self.steps.put(now, self._balance)
            self._set_balance(now)

    def _balance(self, now: int, _: Results) -> list[Operation] | None:
        if not self.is_active:
            return None
        c = self.context
        decision = elections.balance_leaders(c.state)
        self.steps.then(partial(states.send, c))
        return admin.write_changes(c, decision, "leader.imbalance.check.interval.seconds is over")

    # -- views

    def snapshot(self) -> Plain:
        """The controller's own view, as plain data."""
        c = self.context
        return {
            "id": self.node_id,
            "epoch": c.epoch,
            "brokers": {each.id: {"epoch": each.epoch} for each in c.live.values()},
            "topics": len(c.image.topic_ids),
            "partitions": len(c.replicas),
        }
