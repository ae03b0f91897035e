"""The steps that concern one partition, and what differs between two timelines of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.film.source import Frame
from kit.film.words import be, join
from kit.panel.promises import Promise, lost
from kit.panel.scene import end_of, partition_of, records

State = Mapping[str, Any]


@dataclass(frozen=True)
class Differs:
    """What differs between two timelines at a moment: offsets by replica, and a sentence."""

    cells: tuple[tuple[int, tuple[int, ...]], ...]
    sentence: str


def concerning(frames: Sequence[Frame], topic: str, partition: int) -> list[Frame]:
    """The frames in which something happened to a partition, or to the whole cluster.

    Frames from before all replicas had heard of the topic are left out, if they ever did.
    """
    name = f"{topic}-{partition}"
    states = [partition_of(frame.snapshot, topic, partition) for frame in frames]
    served = (at for at, state in enumerate(states) if state and _is_served(state))
    born = (at for at, state in enumerate(states) if state)
    frames = frames[next(served, next(born, 0)) :]
    return [
        frame
        for place, frame in enumerate(frames)
        if place == 0 or any(line.partition in ("", name) for line in frame.lines)
    ]


def _is_served(state: State) -> bool:
    return all("log_end_offset" in state["logs"][replica] for replica in state["replicas"])


def compare(
    first: State | None, second: State | None, made: tuple[Sequence[Promise], Sequence[Promise]]
) -> Differs:
    """What differs between two timelines' states of a partition."""
    if first is None or second is None:
        return Differs((), "" if first is second else "The topic exists in one timeline only.")
    cells = tuple(_cells(first, second))
    facts = [
        *_fates(first, second, made),
        *_leaders(first, second),
        *_logs(first, second, [replica for replica, _ in cells]),
        *_in_sync(first, second),
    ]
    return Differs(
        cells, " ".join(facts[:2]) or "Leader, in-sync replicas and records are the same in both."
    )


def state_of(frame: Frame, topic: str, partition: int) -> State | None:
    """A frame's partition."""
    return partition_of(frame.snapshot, topic, partition)


def _cells(first: State, second: State) -> Iterator[tuple[int, tuple[int, ...]]]:
    for replica in first["replicas"]:
        one = records(first.get("logs", {}).get(replica, {}))
        other = records(second.get("logs", {}).get(replica, {}))
        parted = [at for at in sorted({*one, *other}) if one.get(at) != other.get(at)]
        if parted:
            yield replica, tuple(parted)


def _fates(
    first: State, second: State, made: tuple[Sequence[Promise], Sequence[Promise]]
) -> Iterator[str]:
    """Acknowledged records that only one timeline still has."""
    gone = lost(first, made[0]), lost(second, made[1])
    for here, there, name, other in ((0, 1, "1", "2"), (1, 0, "2", "1")):
        only = [each for each in gone[here] if each not in gone[there] and each in made[there]]
        if only:
            what = join([each.value for each in only])
            was = be(only, "was", "were")
            yield (
                f"{what} {was} acknowledged: **lost** in timeline {name}, "
                f"**kept** in timeline {other}."
            )


def _leaders(first: State, second: State) -> Iterator[str]:
    one, other = _leads(first), _leads(second)
    if one != other:
        yield f"Timeline 1: {one}; timeline 2: {other}."


def _leads(state: State) -> str:
    if state["leader"] < 0:
        return "no replica leads"
    return f"{state['leader']} leads in epoch {state.get('leader_epoch')}"


def _logs(first: State, second: State, replicas: Sequence[int]) -> Iterator[str]:
    for replica in replicas[:1]:
        one, other = first["logs"].get(replica, {}), second["logs"].get(replica, {})
        yield f"{replica} holds {_held(one)} in timeline 1, and {_held(other)} in timeline 2."


def _held(log: Mapping[str, Any]) -> str:
    held = records(log)
    named = [value for _, (_, value) in sorted(held.items())]
    if not named:
        return "nothing"
    if len(named) <= 5 and all(len(value) <= 8 for value in named):
        return join(named)
    return f"records up to {end_of(log) - 1}"


def _in_sync(first: State, second: State) -> Iterator[str]:
    one, other = first.get("isr") or (), second.get("isr") or ()
    if list(one) != list(other):
        here, there = join(one) or "empty", join(other) or "empty"
        yield f"The ISR is {here} in timeline 1, and {there} in timeline 2."
