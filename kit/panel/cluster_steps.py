"""Finds what happened to processes and links: they cause most changes of the logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.film.source import Snapshot
from kit.film.steps import MAJOR, NOTABLE, Step
from kit.panel.scene import cut_from

DOWN = {"killed": "dead", "stopped": "stopped", "unknown": "gone"}


def cluster_steps(was: Snapshot, now: Snapshot) -> list[Step]:
    """What happened to the controllers, the brokers and their links."""
    quorum = len(now.get("controllers", {})) > 1
    of_controllers = _quorum(was, now) if quorum else _controller(was, now)
    return [*of_controllers, *_brokers(was, now), *_links(was, now)]


def _controller(was: Snapshot, now: Snapshot) -> Iterator[Step]:
    old, new = was.get("controller") or {}, now.get("controller") or {}
    if old.get("state") == new.get("state"):
        return
    who, state = new.get("id", "?"), new.get("state", "unknown")
    if state == "running":
        yield Step(
            MAJOR, f"{who} back", f"The controller {who} runs again: elections are possible."
        )
    else:
        loss = "until it returns, no leader is elected and no ISR changes."
        said = f"The controller {who} is **{DOWN.get(state, state)}**: {loss}"
        yield Step(MAJOR, f"{state} {who}", said)


def _quorum(was: Snapshot, now: Snapshot) -> Iterator[Step]:
    """Several controllers: what happened to each, and which one is active now."""
    for each, new in sorted(now["controllers"].items()):
        before = str(was.get("controllers", {}).get(each, new)["state"])
        if before != new["state"]:
            yield _changed(each, before, str(new["state"]))
    old, new = was.get("controller") or {}, now.get("controller") or {}
    active = [each for each in now["controllers"].values() if each.get("is_active")]
    was_active = [each for each in was.get("controllers", {}).values() if each.get("is_active")]
    if active and (not was_active or old.get("id") != new.get("id")):
        said = f"{new['id']} is the **active controller** now, in epoch {new.get('epoch')}."
        yield Step(MAJOR, f"{new['id']} active", said)
    elif was_active and not active:
        loss = "until another one is, no leader is elected and no ISR changes."
        yield Step(MAJOR, "no controller", f"**No controller is active**: {loss}")


def _brokers(was: Snapshot, now: Snapshot) -> Iterator[Step]:
    for broker, new in sorted(now.get("brokers", {}).items()):
        old = was.get("brokers", {}).get(broker, new)
        before, after = str(old.get("state")), str(new.get("state"))
        if before != after:
            yield _changed(broker, before, after)
        elif bool(old.get("fenced")) != bool(new.get("fenced")) and after not in DOWN:
            if new.get("fenced"):
                said = f"The controller **fences {broker}**: its heartbeats stopped."
                yield Step(NOTABLE, f"fence {broker}", said)
            else:
                said = f"{broker} is unfenced: the controller hears it again."
                yield Step(NOTABLE, f"unfence {broker}", said)


def _changed(broker: int, before: str, after: str) -> Step:
    match after:
        case "killed":
            said = f"{broker} was **killed**. Its log stays on its disk as it was."
            return Step(MAJOR, f"kill {broker}", said)
        case "stopped":
            said = f"{broker} stopped cleanly: it handed its leaderships over before it went."
            return Step(MAJOR, f"stop {broker}", said)
        case "paused":
            said = f"{broker} is paused: its process is there, but it does not answer."
            return Step(MAJOR, f"pause {broker}", said)
        case "running" if before == "paused":
            said = f"{broker} runs again, and does not know what it missed."
            return Step(MAJOR, f"resume {broker}", said)
        case "running":
            said = f"{broker} is started, with the log that is on its disk."
            return Step(MAJOR, f"start {broker}", said)
        case _:
            return Step(NOTABLE, f"{broker} {after}", f"{broker} is {after}.")


def _links(was: Snapshot, now: Snapshot) -> Iterator[Step]:
    brokers = sorted({*was.get("brokers", {}), *now.get("brokers", {})})
    for node in brokers:
        before, after = cut_from(was, node), cut_from(now, node)
        for other in after:
            if other not in before and _is_reported_by(node, other, brokers):
                said = f"The link between {node} and {other} is **cut**: no message gets through."
                yield Step(MAJOR, f"cut {node}–{other}", said)
        for other in before:
            if other not in after and _is_reported_by(node, other, brokers):
                said = f"The link between {node} and {other} works again"
                said += "; missed records must still be fetched."
                yield Step(NOTABLE, f"heal {node}–{other}", said)


def _is_reported_by(node: int, other: int, brokers: Sequence[int]) -> bool:
    """Each link is reported once: at its broker or, between two brokers, at the lower id."""
    return other not in brokers or node < other
