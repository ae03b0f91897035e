"""Partitions: their first state, elections, replicas that leave an ISR; and what brokers get of it.

    new       replicas are assigned, no state znode yet
    online    its leader is a live broker
    offline   its leader is gone, or there is none (-1)

Who leads, in the old design, by the first replica in the order of the assignment that

    offline     is alive and in the ISR; with unclean.leader.election.enable: or alive at all
    preferred   stands first, is alive and in the ISR
    shutdown    is alive, in the ISR, and does not stop itself

If there is none, nothing changes for an offline partition, until its leader leaves the ISR: then
the leader is -1.  The last member never leaves the ISR, alive or not, so it alone can lead again;
that is what eligible leader replicas (KIP-966) have changed since.

The leader epoch grows with every change that the controller makes, the ISR of a follower included.
A change is read, decided and written in three steps.  The write names the version that was read:
if the znode has changed in between, the partition is read and decided again.

Source: PartitionStateMachine, ReplicaStateMachine, Election of Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from engine.metadata.image import NO_LEADER, RECOVERING, PartitionImage
from engine.zookeeper import znodes
from engine.zookeeper.context import Context, Key
from engine.zookeeper.messages import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from engine.zookeeper.steps import Results
from engine.zookeeper.tree import Code, Create, GetData, Operation, SetData

Rule = Callable[[Context, Key, PartitionImage], PartitionImage | None]
"""From a partition as it is to what it is to be; None leaves it."""
EPOCH_DURING_DELETE = -2


# -- rules


def offline(c: Context, key: Key, image: PartitionImage) -> PartitionImage | None:
    """A new leader for a partition that has none."""
    alive = [each for each in image.replicas if c.is_online(each)]
    in_sync = [each for each in alive if each in image.isr]
    if in_sync:
        isr = tuple(each for each in image.isr if c.is_online(each))
        return led_by(image, in_sync[0], isr)
    if alive and c.state.unclean_allowed(key[0]):
        changed = led_by(image, alive[0], (alive[0],))
        return replace(changed, leader_recovery_state=RECOVERING)
    return None


def shutdown(c: Context, key: Key, image: PartitionImage) -> PartitionImage | None:
    """Another leader, because this one is about to stop."""
    staying = tuple(each for each in image.isr if c.is_online(each))
    for replica in image.replicas:
        if replica in staying:
            return led_by(image, replica, staying)
    return None


def without(broker: int, c: Context, key: Key, image: PartitionImage) -> PartitionImage | None:
    """The broker leaves the ISR, unless it is the last; if it led, no replica does."""
    if broker not in image.isr:
        return None
    leader = NO_LEADER if image.leader == broker else image.leader
    isr = image.isr if len(image.isr) == 1 else tuple(r for r in image.isr if r != broker)
    return led_by(image, leader, isr)


def keep(c: Context, key: Key, image: PartitionImage) -> PartitionImage | None:
    """Only reads it."""
    return None


def led_by(image: PartitionImage, leader: int, isr: tuple[int, ...]) -> PartitionImage:
    return replace(image, leader=leader, isr=isr, leader_epoch=image.leader_epoch + 1)


# -- changes


def change(c: Context, keys: Sequence[Key], rule: Rule, why: str) -> None:
    """Puts the steps that change these partitions by a rule."""
    if keys:
        c.steps.then(partial(_read, c, keys), partial(_decide, c, keys, rule, why))


def _read(c: Context, keys: Sequence[Key], now: int, _: Results) -> list[Operation]:
    return [GetData(znodes.state(*key)) for key in keys]


def _decide(
    c: Context, keys: Sequence[Key], rule: Rule, why: str, now: int, results: Results
) -> list[Operation]:
    wanted: list[tuple[Key, PartitionImage]] = []
    for key, result in zip(keys, results, strict=True):
        if result.znode is None:
            continue
        image, written_by = znodes.state_of(
            result.znode.data, result.znode.version, c.replicas[key]
        )
        if written_by > c.epoch:
            c.tell("states.change", "superseded", f"controller epoch {written_by} has written it",
                    f"{key[0]}-{key[1]}")  # fmt: skip
            continue
        changed = rule(c, key, image)
        if changed is None:
            c.take(key, image, written_by)
        else:
            wanted.append((key, changed))
    return write(c, wanted, why, partial(_again, c, rule, why))


def _again(c: Context, rule: Rule, why: str, keys: Sequence[Key]) -> None:
    change(c, keys, rule, why)


def write(
    c: Context,
    wanted: Sequence[tuple[Key, PartitionImage]],
    why: str,
    again: Callable[[Sequence[Key]], None],
    orders: bool = True,
) -> list[Operation]:
    """Operations that write states; brokers hear of what was written, `again` gets what was not."""
    if not wanted:
        return []
    c.steps.then(partial(_written, c, wanted, why, again, orders))
    return [
        c.fenced(SetData(
            znodes.state(*key), znodes.state_data(image, c.epoch), image.partition_epoch
        ))
        for key, image in wanted
    ]  # fmt: skip


def _written(
    c: Context,
    wanted: Sequence[tuple[Key, PartitionImage]],
    why: str,
    again: Callable[[Sequence[Key]], None],
    orders: bool,
    now: int,
    results: Results,
) -> None:
    refused: list[Key] = []
    for (key, image), result in zip(wanted, results, strict=True):
        if result.code is Code.BAD_VERSION:
            refused.append(key)
        elif result.znode is not None:
            _take_over(c, key, replace(image, partition_epoch=result.znode.version), why, orders)
    if refused:
        again(refused)


def _take_over(c: Context, key: Key, image: PartitionImage, why: str, orders: bool) -> None:
    before = c.partition(key)
    c.take(key, image, c.epoch)
    if before is None or before.leader != image.leader:
        unclean = before is not None and image.leader not in (NO_LEADER, *before.isr)
        reason = "no leader" if image.leader == NO_LEADER else "unclean" if unclean else "clean"
        c.tell(
            "states.change",
            "elected",
            f"{why}; {reason} election",
            f"{key[0]}-{key[1]}",
            leader=image.leader,
            epoch=image.leader_epoch,
            isr=image.isr,
            reason=reason,
        )
    if orders:
        c.order([each for each in image.replicas if each in c.live], key)
    else:
        c.inform(list(c.live), [key])


# -- new partitions


def initialize(c: Context, keys: Sequence[Key]) -> None:
    """Puts the steps that give new partitions a state: who is alive is in sync, the first leads."""
    made = []
    for key in keys:
        alive = tuple(each for each in c.replicas[key] if c.is_online(each))
        if alive:
            image = PartitionImage(c.replicas[key], alive, leader=alive[0])
            made.append((key, image))
        else:
            c.tell("states.initialize", "not-started", "none of its brokers is alive",
                    f"{key[0]}-{key[1]}")  # fmt: skip
    if made:
        c.steps.then(partial(_create, c, made), partial(_created, c, made))


def _create(
    c: Context, made: Sequence[tuple[Key, PartitionImage]], now: int, _: Results
) -> list[Operation]:
    found: dict[str, str] = {}
    for (name, index), image in made:
        found[znodes.partitions(name)] = found[znodes.partition(name, index)] = ""
        found[znodes.state(name, index)] = znodes.state_data(image, c.epoch)
    return [c.fenced(Create(path, data)) for path, data in found.items()]


def _created(
    c: Context, made: Sequence[tuple[Key, PartitionImage]], now: int, results: Results
) -> None:
    # A create whose answer was lost may have been carried out: then what is there counts.
    there = iter(results)
    seen: set[str] = set()
    again: list[Key] = []
    for key, image in made:
        for path in (znodes.partitions(key[0]), znodes.partition(*key)):
            if path not in seen:
                seen.add(path)
                next(there)
        result = next(there)
        if result.is_ok:
            _take_over(c, key, image, "a new partition", orders=True)
        elif result.code is Code.NODE_EXISTS:
            again.append(key)
    change(c, again, offline, "a new partition")


# -- what brokers get


def send(c: Context, now: int, _: Results = ()) -> None:
    """A step: everything that was decided goes to the brokers, as one request of a kind to each."""
    batch, c.batch = c.batch, type(c.batch)()
    for broker, keys in batch.leader_and_isr.items():
        found = [each for each in map(c.state_for_brokers, keys) if each is not None]
        if broker in c.live and found:
            c.channels.put(broker, LeaderAndIsrRequest(
                c.node_id, c.epoch, c.live[broker].epoch, found))  # fmt: skip
    for broker, keys in batch.metadata.items():
        found = [each for each in map(c.state_for_brokers, keys) if each is not None]
        if broker in c.live:
            live = list(c.live.values())
            c.channels.put(broker, UpdateMetadataRequest(
                c.node_id, c.epoch, c.live[broker].epoch, live, found))  # fmt: skip
    for broker, stopped in batch.stop.items():
        for delete in (False, True):
            places = [(*key, _stop_epoch(c, key)) for key, each in stopped.items()
                      if each is delete]  # fmt: skip
            if broker in c.live and places:
                c.channels.put(broker, StopReplicaRequest(
                    c.node_id, c.epoch, c.live[broker].epoch, places, delete))  # fmt: skip


def _stop_epoch(c: Context, key: Key) -> int:
    image = c.partition(key)
    return EPOCH_DURING_DELETE if image is None or key[0] in c.deleting else image.leader_epoch
