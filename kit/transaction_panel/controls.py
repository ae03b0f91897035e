"""The buttons of a producer and of a transactional id, and why one is disabled."""

from __future__ import annotations

from dataclasses import dataclass

from kit.transaction_panel.scene import Client, Id
from kit.transaction_panel.view import GONE

MEANINGS = {
    "begin": "{name} begins a transaction; no broker hears of it.",
    "send": "{name} sends one more record, to the next partition.",
    "offsets": "{name} commits a consumer's offset inside the transaction.",
    "commit": "{name} commits: all its partitions, or none.",
    "abort": "{name} aborts: read_committed never gets its records.",
    "kill": "End {name} at once: it says nothing more, and its transaction stays open.",
}
ACTIONS = tuple(MEANINGS)
ZOMBIE = "A second producer with the id {id}: it takes over, and the first one is fenced."
KILL = "Kill broker {broker}, the coordinator of {id}: another broker takes over."
START = "Start broker {broker} again."
FOREIGN = "Another program started {name}: use it there."
NEEDS = {
    "begin": ("Ready",),
    "send": ("InTransaction",),
    "offsets": ("InTransaction",),
    "commit": ("InTransaction",),
    "abort": ("InTransaction", "AbortableError"),
}
"""The states of a client in which it may make the call (engine/client/transaction_states.py)."""


@dataclass(frozen=True)
class Button:
    """A button's action and words; `refusal` is a sentence if it cannot be pressed now."""

    action: str
    means: str
    refusal: str = ""


def of_client(client: Client) -> tuple[Button, ...]:
    """A producer's six buttons."""
    return tuple(
        Button(action, MEANINGS[action].format(name=client.name), _refusal(client, action))
        for action in ACTIONS
    )


def _refusal(client: Client, action: str) -> str:
    name = client.name
    if not client.ours:
        return FOREIGN.format(name=name)
    if client.process in GONE:
        return f"{name} is gone: start another producer."
    if action == "kill":
        return ""
    if client.state == "FatalError":
        return f"{name} is fenced and can only be closed: start another producer."
    if client.call:
        return f"{name} waits for {client.call} to return."
    if client.state in NEEDS[action]:
        return ""
    if client.state == "AbortableError":
        return f"The transaction of {name} is lost: abort it."
    if client.state == "InTransaction":
        return f"{name} is in a transaction already."
    return f"{name} is {client.state}: begin a transaction first."


def of_id(each: Id) -> tuple[Button, ...]:
    """What can be done about a transactional id."""
    broker, zombie = each.coordinator, Button("zombie", ZOMBIE.format(id=each.id))
    if broker < 0:
        return (zombie,)
    kill = Button("kill", KILL.format(broker=broker, id=each.id))
    if each.coordinator_state != "running":
        kill = Button("start broker", START.format(broker=broker))
    return (zombie, kill)
