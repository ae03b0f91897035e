"""The buttons of a member, and why one is disabled."""

from __future__ import annotations

from dataclasses import dataclass

from kit.group_panel.scene import Member

MEANINGS = {
    "remove": "{name} leaves the group cleanly: LeaveGroup, no waiting.",
    "kill": "End {name}'s process at once: its session must time out.",
    "freeze": "Stop {name}'s process where it is: no heartbeats, and it does not know.",
    "thaw": "Let {name} go on where it was stopped.",
}
ACTIONS = tuple(MEANINGS)
FOREIGN = "Another program started {name}: end it there."


@dataclass(frozen=True)
class Button:
    """A button's action and words; `refusal` is a sentence if it cannot be pressed now."""

    action: str
    means: str
    refusal: str = ""


def buttons(member: Member) -> tuple[Button, ...]:
    """A member's three buttons; freeze becomes thaw when that is the way back."""
    name, frozen = member.name, member.process == "frozen"
    gone = f"{name} is gone: add another member." if member.process in ("killed", "left") else ""
    refusal = gone if member.ours else FOREIGN.format(name=name)
    still = f"{name} is frozen and cannot leave: thaw it first, or kill it." if frozen else ""
    wanted = (
        ("remove", still),
        ("kill", ""),
        ("thaw" if frozen else "freeze", ""),
    )
    return tuple(
        Button(action, MEANINGS[action].format(name=name), refusal or more)
        for action, more in wanted
    )
