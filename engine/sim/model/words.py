"""The model's states and steps in words and as plain data, for people and for pictures.

A step is described by the states before and after it: which replica changed, and how.  Row i is
broker 101 + i; the records are A and B.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.plain import Plain
from engine.sim.model.model import BIT, Replica, Rung, State, announced_leader, leads
from engine.sim.model.rules import end_of_last_epoch, knows_an_end

FIRST_BROKER = 101
NO_BROKER = -1


def letter(number: int) -> str:
    """The name of the record written as number 0, 1, …"""
    return chr(ord("A") + number)


# -- as data


def as_data(state: State) -> Plain:
    """What the controller says, and what each replica holds and believes.

    `{"epoch", "leader", "isr", "replicas": {101: {"role", "epoch", "leader", "isr",
    "high_watermark", "log": [{"offset", "epoch", "record"}]}}}`; -1 is no leader, no epoch.
    """
    return {
        "epoch": state.epochs - 1,
        "leader": _broker(announced_leader(state)),
        "isr": _brokers(row.in_isr for row in state.replicas),
        "replicas": {
            _broker(index): _replica_as_data(state, replica)
            for index, replica in enumerate(state.replicas)
        },
    }


def _replica_as_data(state: State, replica: Replica) -> Plain:
    leader = leader_of(state, replica.epoch)
    bit = leads(replica)
    members = (row.counted & bit if bit else row.named & BIT[replica.epoch]
               for row in state.replicas)  # fmt: skip
    return {
        "role": "leader" if bit else "follower" if leader != NO_BROKER else "idle",
        "epoch": replica.epoch,
        "leader": leader,
        "isr": _brokers(members),
        "high_watermark": replica.high_watermark,
        "log": [
            {"offset": offset, "epoch": record.epoch, "record": letter(record.number)}
            for offset, record in enumerate(replica.log)
        ],
    }


def leader_of(state: State, epoch: int) -> int:
    """The broker that the controller gave an epoch to."""
    rows = (index for index, row in enumerate(state.replicas) if row.led & BIT[epoch])
    return _broker(next(rows, NO_BROKER))


def _broker(index: int) -> int:
    return FIRST_BROKER + index if index >= 0 else NO_BROKER


def _brokers(members: Iterable[Any]) -> list[int]:
    return [_broker(index) for index, is_member in enumerate(members) if is_member]


# -- in words


def sentence(rung: Rung, name: str, index: int, before: State, after: State) -> str:
    """One step as a sentence; `name` is that of its function in the model."""
    who, was, now = _broker(index), before.replicas[index], after.replicas[index]
    leader = leader_of(after, now.epoch)
    match name:
        case "controller_elects_leader":
            return f"the controller gives epoch {after.epochs - 1} to {who}; {_isr(after)}"
        case "controller_shrinks_isr":
            led = announced_leader(after)
            to = f"stays with {_broker(led)}" if led >= 0 else "has no leader"
            return (
                f"the controller takes {who} for dead; epoch {after.epochs - 1} {to}; {_isr(after)}"
            )
        case "replica_becomes_leader":
            return f"{who} becomes leader of epoch {now.epoch}"
        case "replica_becomes_follower" if leader == NO_BROKER:
            return f"{who} learns that epoch {now.epoch} has no leader"
        case "replica_becomes_follower":
            place = _place(rung, before.replicas[leader - FIRST_BROKER], was)
            cut = f" and truncates to {place}, {len(now.log)}" if now.log != was.log else ""
            return f"{who} follows {leader} in epoch {now.epoch}{cut}"
        case "leader_writes":
            return f"{who} appends {_last(now)} in epoch {now.epoch}"
        case "follower_fetches":
            news = ""
            if now.high_watermark != was.high_watermark:
                news = f" and learns of high watermark {now.high_watermark}"
            return f"{who} fetches {_last(now)} from {leader}{news}"
        case "follower_truncates":
            theirs = after.replicas[leader - FIRST_BROKER].log
            other = "another record" if len(theirs) > len(now.log) else "no record"
            return f"{who} truncates to {rung.cuts_at}, {len(now.log)}: {leader} has {other} there"
        case "leader_raises_high_watermark":
            return f"{who} raises its high watermark to {now.high_watermark}"
        case "leader_shrinks_isr":
            return f"{_broker(announced_leader(after))} takes {who} out of the ISR; {_isr(after)}"
        case "leader_expands_isr":
            return f"{_broker(announced_leader(after))} takes {who} into the ISR; {_isr(after)}"
        case _:
            return f"{who}: {name}"


def _place(rung: Rung, leader: Replica, follower: Replica) -> str:
    """Where a new follower cuts; kip-101's leader may have no answer."""
    if rung.truncation_offset is not end_of_last_epoch or not follower.log:
        return rung.cuts_at
    epoch = follower.log[-1].epoch
    if knows_an_end(leader, epoch):
        return rung.cuts_at
    return f"its own high watermark (no leader answers where epoch {epoch} ends)"


def _last(replica: Replica) -> str:
    return f"{letter(replica.log[-1].number)} at offset {len(replica.log) - 1}"


def _isr(state: State) -> str:
    members = _brokers(row.in_isr for row in state.replicas)
    return "ISR " + (" ".join(str(broker) for broker in members) or "empty")


def what_broke(state: State) -> str:
    """Which two replicas differ below which high watermark; empty if the property holds."""
    for index, leader in enumerate(state.replicas):
        if not leads(leader):
            continue
        for offset in range(leader.high_watermark):
            mine = _at(leader, offset)
            for other, member in enumerate(state.replicas):
                if member.in_isr and (mine is None or _at(member, offset) != mine):
                    return (
                        f"{_broker(index)} leads epoch {leader.epoch} with high watermark "
                        f"{leader.high_watermark} and holds {mine or 'nothing'} at offset "
                        f"{offset}; {_broker(other)}, in the ISR, holds "
                        f"{_at(member, offset) or 'nothing'}"
                    )
    return ""


def _at(replica: Replica, offset: int) -> str | None:
    return letter(replica.log[offset].number) if offset < len(replica.log) else None
