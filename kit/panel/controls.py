"""The panel's buttons: what each one calls, and why one is disabled.

A cluster's `refusal(fault)` is a sentence that says why it does not offer a fault, or empty.  A
disabled button stays visible and gives the reason, because "a paused broker cannot be stopped" is
worth learning too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.sim.world import faults
from kit.clusters.faults import BUTTONS, FAULTS
from kit.film.source import Snapshot
from kit.panel.scene import cut_from


@dataclass(frozen=True)
class Button:
    """A button's action and words; `refusal` is a sentence if it cannot be pressed now."""

    action: str
    means: str
    refusal: str = ""


def offered(cluster: Any) -> dict[str, str]:
    """Per fault: an empty string if the cluster offers it, else a sentence."""
    return {fault: cluster.refusal(fault) for fault in BUTTONS}


def buttons(refusals: Mapping[str, str], state: str, node: int) -> tuple[Button, ...]:
    """A broker's four buttons; two become `start` and `resume` when these are the way back."""
    down = state not in ("running", "paused")
    paused = state == "paused"
    gone = f"{node} is down: start it first." if down else ""
    still = f"{node} is paused: resume it first." if paused else ""
    wanted = (
        ("start" if down else "kill", ""),
        ("stop", gone or still),
        ("resume" if paused else "pause", gone),
        ("cut", ""),
    )
    return tuple(
        Button(action, FAULTS[action].button.format(node=node), refusals.get(action) or refusal)
        for action, refusal in wanted
    )


@dataclass(frozen=True)
class Choice:
    """An entry of a broker's menu of links."""

    action: str
    other: int
    label: str
    refusal: str = ""


def links(refusals: Mapping[str, str], snapshot: Snapshot, node: int) -> tuple[Choice, ...]:
    """What can be cut for a broker, and the way back."""
    already = cut_from(snapshot, node)
    others = [other for other in sorted(snapshot.get("brokers", {})) if other != node]
    controllers = sorted(snapshot.get("controllers", {}))
    if len(controllers) < 2:
        controller = (snapshot.get("controller") or {}).get("id")
        controllers = [] if controller in (None, -1) else [controller]
    cut = refusals.get("cut", "")
    choices = [
        Choice("cut", other, f"from {other}", cut or _refusal(other in already, node, other))
        for other in others
    ]
    for controller in controllers:
        if controller != node:
            refusal = cut or _refusal(controller in already, node, controller)
            choices.append(Choice("cut", controller, f"from the controller {controller}", refusal))
    choices.append(Choice("isolate", -1, FAULTS["isolate"].button, refusals.get("isolate", "")))
    whole = "" if snapshot.get("links") else "No link is cut."
    choices.append(Choice("heal", -1, FAULTS["heal"].button, refusals.get("heal") or whole))
    return tuple(choices)


def _refusal(cut: bool, node: int, other: int) -> str:
    return f"The link between {node} and {other} is cut already." if cut else ""


def carry_out(cluster: Any, action: str, node: int, other: int | None = None) -> None:
    """Carries out a button's action; returns when the broker is done."""
    if action not in BUTTONS:
        raise ValueError(f"There is no button named {action!r}; there are {', '.join(BUTTONS)}.")
    arguments: Sequence[Any] = (node,)
    if action == "cut":
        arguments = (node, other)
    elif action == "heal":
        arguments = ()
    getattr(cluster, action)(*arguments)


def fault_of(action: str, node: int, other: int | None) -> faults.Fault:
    """A button's action as a simulated world's fault; ValueError if there is none."""
    if action not in BUTTONS:
        raise ValueError(f"There is no button named {action!r}; there are {', '.join(BUTTONS)}.")
    if action == "heal":
        return faults.fault("heal")
    if action == "cut":
        if other is None or other < 0:
            raise ValueError(f"Cut {node} from which broker? Name another one.")
        return faults.fault("cut", node, other)
    return faults.fault(action, node)
