"""Says what happened between two frames of a group, in one sentence for learners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kit.film.film import Told
from kit.film.source import Frame, Line, Snapshot
from kit.film.steps import MAJOR, MINOR, NOTABLE, Step, together
from kit.film.words import be, join, plural
from kit.group_panel.ownership import Ownership
from kit.group_panel.scene import FREE, GIVEN, OWN, REPORTED, STALE, build
from kit.group_panel.seats import Seat, seats, with_names

KEEP_TELLING_US = 5_000_000
NAMED_MOST = 8
POLLED_LATE = ("consumer poll timeout has expired.", "the member is stale")
"""Why a member has lost its partitions if no coordinator took them: classic, and KIP-848."""


def caption(frames: Sequence[Frame], number: int, topic: str, ownership: Ownership) -> str:
    """The sentence under a live frame: its weightiest step, a recent one, or the current state."""
    place = number - frames[0].number
    later: list[Step] = []
    for earlier in range(place, 0, -1):
        if frames[place].time_us - frames[earlier].time_us > KEEP_TELLING_US:
            break
        found = steps(frames[earlier - 1], frames[earlier], topic, ownership)
        if any(step.weight == MAJOR for step in found):
            return together(found, later)
        if earlier == place or any(step.weight == NOTABLE for step in found):
            later = later or [step for step in found if step.weight > MINOR]
    return together([], later) or standing(frames[place].snapshot, topic)


def tell(before: Frame | None, frame: Frame, topic: str, ownership: Ownership) -> Told:
    """What one step of a recording is about."""
    if before is None:
        return Told(f"The recording begins. {standing(frame.snapshot, topic)}", "start")
    found = steps(before, frame, topic, ownership)
    if not found:
        return Told(standing(frame.snapshot, topic))
    named = max((step for step in found if step.label), key=lambda step: step.weight, default=None)
    if named is None:
        return Told(together(found, []))
    return Told(together(found, []), named.label, weight=named.weight)


def label(before: Frame, frame: Frame, topic: str, ownership: Ownership) -> str:
    """A name for a frame on the timeline; empty if nothing worth one happened."""
    found = [step for step in steps(before, frame, topic, ownership) if step.label]
    return max(found, key=lambda step: step.weight).label if found else ""


def steps(before: Frame, frame: Frame, topic: str, ownership: Ownership) -> list[Step]:
    """All that happened between two frames, causes before effects."""
    was, now = before.snapshot, frame.snapshot
    return [
        *_processes(frame, was),
        *_members(was, now),
        *_group(was, now, frame.lines, topic),
        *_clients(frame),
        *_given_up(frame, topic, now),
        *_zombies(was, now, topic),
        *_over(before, frame, topic, ownership),
    ]


# -- what happens to processes


def _processes(frame: Frame, was: Snapshot) -> Iterator[Step]:
    for line in frame.lines:
        name = line["client"]
        if name is None:
            continue
        client = frame.snapshot["clients"].get(name) or was["clients"].get(name) or {}
        owned = _listed(client)
        match line.kind:
            case "started":
                said = f"{name} starts, with {_protocol(client)}."
                yield Step(NOTABLE, f"add {name}", said)
            case "killed":
                said = f"{name} was **killed**: it says nothing more, so the coordinator waits "
                said += "until its session is over."
                yield Step(MAJOR, f"kill {name}", said)
            case "frozen":
                said = f"{name} is **frozen**: no heartbeats, no reading"
                said += f", and it still believes it owns {owned}." if owned else "."
                yield Step(MAJOR, f"freeze {name}", said)
            case "thawed":
                said = f"{name} runs again, and does not know what it missed"
                said += f": it believes it owns {owned}." if owned else "."
                yield Step(MAJOR, f"thaw {name}", said)
            case "left":
                said = f"{name} leaves cleanly: the coordinator need not wait for its session."
                yield Step(MAJOR, f"{name} leaves", said)


def _protocol(client: Mapping[str, Any]) -> str:
    protocol = str(client.get("protocol") or "its own settings")
    return "the consumer protocol (KIP-848)" if protocol == "consumer" else protocol


def _listed(client: Mapping[str, Any]) -> str:
    owned = [index for indexes in (client.get("owned") or {}).values() for index in indexes]
    return named(owned)


def named(partitions: Sequence[int]) -> str:
    """`partition 3`, `partitions 0, 1 and 2`, `12 partitions`."""
    if not partitions:
        return ""
    if len(partitions) > NAMED_MOST:
        return plural(len(partitions), "partition")
    return f"{be(partitions, 'partition', 'partitions')} {join(sorted(partitions))}"


# -- what the coordinator does


def _members(was: Snapshot, now: Snapshot) -> Iterator[Step]:
    old = {seat.member["id"]: seat for seat in seats(was) if seat.member is not None}
    new = {seat.member["id"]: seat for seat in seats(now) if seat.member is not None}
    for member_id, seat in new.items():
        if member_id not in old:
            yield Step(NOTABLE, f"{seat.name} joins", f"{seat.name} is a member of the group.")
    for member_id, seat in old.items():
        if member_id not in new and _knows(now):
            yield _removed(seat, now["clients"].get(seat.name))


def _knows(snapshot: Snapshot) -> bool:
    """Whether a coordinator knows the group now; between two coordinators none does."""
    return snapshot["group"] is not None


def _removed(seat: Seat, client: Mapping[str, Any] | None) -> Step:
    state = client["state"] if client else ""
    if state == "left":
        return Step(NOTABLE, "", f"The coordinator removes {seat.name} at once: it said goodbye.")
    if state == "killed":
        said = f"The session of {seat.name} is over: the coordinator **removes** it."
        return Step(MAJOR, f"{seat.name} expires", said)
    if state == "frozen":
        said = f"The session of {seat.name} is over: the coordinator **removes** it, and it does "
        return Step(MAJOR, f"{seat.name} expires", f"{said}not know.")
    return Step(NOTABLE, f"{seat.name} out", f"{seat.name} is no longer a member.")


def _group(was: Snapshot, now: Snapshot, lines: Sequence[Line], topic: str) -> Iterator[Step]:
    old, new = was["group"], now["group"]
    if new is None:
        if old is not None:
            said = "**No coordinator** knows the group: members keep reading, and cannot commit."
            yield Step(MAJOR, "no coordinator", said)
        return
    if old is None:
        return
    if old["coordinator"] != new["coordinator"]:
        said = f"{new['coordinator']} is the coordinator now: it has read the group's records."
        yield Step(MAJOR, f"coordinator {new['coordinator']}", said)
    if new["type"] != old["type"]:
        said = f"The group speaks the **{new['type']}** protocol now."
        yield Step(MAJOR, f"to {new['type']}", said)
    elif new["type"] == "consumer":
        yield from _epochs(old, new, now, topic)
    else:
        yield from _generations(old, new, lines, was, now, topic)


def _generations(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    lines: Sequence[Line],
    was: Snapshot,
    now: Snapshot,
    topic: str,
) -> Iterator[Step]:
    if old["state"] == new["state"] and old["generation"] == new["generation"]:
        return
    number = f"Generation {new['generation']}" if new["generation"] >= 0 else "The next generation"
    match new["state"]:
        case "PreparingRebalance":
            whys = [line.why for line in lines if line.kind == "group" and line.why]
            why = f": {with_names(with_names(whys[-1], now), was)}" if whys else ""
            said = f"**Rebalance**{why}. Every member must join again."
            yield Step(NOTABLE, "rebalance", said)
        case "CompletingRebalance":
            leader = next((s.name for s in seats(now) if s.member
                           and s.member["id"] == new.get("leader")), "the leader")  # fmt: skip
            said = f"{number}: all have joined, and {leader} computes who gets what."
            yield Step(NOTABLE, "", said)
        case "Stable":
            said = f"{number} is handed out: {shares(now, topic)}."
            yield Step(NOTABLE, f"generation {new['generation']}".replace(" -1", ""), said)
        case "Empty":
            yield Step(NOTABLE, "empty", "The group has no member; its offsets stay.")


def _epochs(
    old: Mapping[str, Any], new: Mapping[str, Any], now: Snapshot, topic: str
) -> Iterator[Step]:
    if new["epoch"] != old["epoch"]:
        said = f"Group epoch **{new['epoch']}**: the coordinator has a new target, and asks each "
        said += "member for what it must give back, in the answer to its heartbeat."
        yield Step(NOTABLE, f"epoch {new['epoch']}", said)
    elif old["state"] != "Stable" and new["state"] == "Stable":
        said = f"Every member has what the target says: {shares(now, topic)}."
        yield Step(NOTABLE, "reconciled", said)


def shares(snapshot: Snapshot, topic: str) -> str:
    """`A has 0 and 1, B has 2`, by the coordinator's word."""
    owned = [(seat.name, seat.owns(topic)) for seat in seats(snapshot) if seat.member is not None]
    if sum(len(owns) for _, owns in owned) > NAMED_MOST or len(owned) > 5:
        counts = sorted(len(owns) for _, owns in owned)
        range_of = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
        return f"{range_of} partitions each"
    return ", ".join(f"{name} has {join(owns) or 'nothing'}" for name, owns in owned) or "no member"


# -- what members do


def _clients(frame: Frame) -> Iterator[Step]:
    """What simulated members tell of their way through a rebalance."""
    for line in frame.lines:
        name = line["client"]
        why = f" ({with_names(line.why, frame.snapshot)})" if line.why else ""
        if name is None or not line.rule:
            continue
        match line.kind:
            case "rejoin":
                yield Step(MINOR, "", f"{name} hears that it must join again{why}.")
            case "joining":
                said = "sends JoinGroup and waits for the others"
                if _is_of_consumer_protocol(line):
                    said = (
                        "asks to join, with a heartbeat of epoch 0, and waits for no other member"
                    )
                yield Step(MINOR, "", f"{name} {said}.")
            case "joined":
                leads = ", and **leads**: it computes who gets what" if line["leader"] else ""
                number = "epoch" if _is_of_consumer_protocol(line) else "generation"
                yield Step(MINOR, "", f"{name} is in {number} {line['generation']}{leads}.")
            case "fenced":
                said = f"{name} hears that the coordinator does not know it any more{why}."
                yield Step(NOTABLE, f"{name} fenced", said)
            case "commit failed":
                yield Step(NOTABLE, "refused", f"A commit of {name} is **refused**{why}.")


def _is_of_consumer_protocol(line: Line) -> bool:
    return line.rule.startswith("client.consumer.consumer_group.")


def _given_up(frame: Frame, topic: str, now: Snapshot) -> Iterator[Step]:
    for kind in ("revoked", "lost", "assigned", "reads"):
        for line in frame.lines:
            if line.kind != kind or line["client"] is None:
                continue
            mine = [name.rpartition("-") for name in line["partitions"] or ()]
            given = sorted(int(index) for name, _, index in mine if name == topic)
            if given:
                yield _told(line, given, now, topic)


def _told(line: Line, given: Sequence[int], now: Snapshot, topic: str) -> Step:
    kind, name = line.kind, line["client"]
    if kind == "assigned":
        return Step(NOTABLE, "", f"{name} has {named(given)} now, and asks where to begin.")
    if kind == "reads":
        return Step(MINOR, "", f"{name} processes its first record of {named(given)}.")
    if kind == "lost":
        why = "it hears that it is no longer a member"
        if line.why in POLLED_LATE:
            why = "it did not poll for max.poll.interval.ms, so its own client ended its membership"
        said = f"{name} **has lost** {named(given)}: {why}, and it "
        return Step(MAJOR, f"{name} lost {len(given)}", f"{said}cannot commit what it read.")
    owned = (now["clients"].get(name, {}).get("owned") or {}).get(topic) or ()
    kept = sorted({*owned} - {*given})
    free = {each.partition for each in build(now, topic).pieces if each.kind == FREE}
    rest = f" and keeps {named(kept)}" if kept else ""
    then = ": what it gave up has no reader now." if {*given} <= free else "."
    return Step(NOTABLE, "", f"{name} gives up {named(given)}{rest}{then}")


def _zombies(was: Snapshot, now: Snapshot, topic: str) -> Iterator[Step]:
    before = {each.partition for each in build(was, topic).pieces if each.kind == STALE}
    pieces = build(now, topic).pieces
    for seat in seats(now):
        stale = [each.partition for each in pieces if each.kind == STALE
                 and each.seat == seat.name and each.partition not in before]  # fmt: skip
        if not stale or seat.member is not None:
            continue
        others = {each.seat for each in pieces if each.partition in stale
                  and each.kind in (OWN, GIVEN, REPORTED)}  # fmt: skip
        given = f"; the coordinator has given them to {join(sorted(others))}" if others else ""
        said = f"{seat.name} is a **zombie**: it believes it owns {named(stale)}{given}."
        yield Step(MAJOR, f"{seat.name} zombie", said)


# -- what it cost


def _over(before: Frame, frame: Frame, topic: str, ownership: Ownership) -> Iterator[Step]:
    pauses = ownership.pauses(topic)
    ended = [each for each in pauses if each.end_us is not None
             and before.time_us < each.end_us <= frame.time_us]  # fmt: skip
    running = [each for each in pauses if each.end_us is None or each.end_us > frame.time_us]
    if not ended or any(each.start_us <= frame.time_us for each in running):
        return
    start = min(each.start_us for each in ended)
    together_now = [each for each in pauses if each.end_us is not None and each.end_us > start
                    and each.start_us <= frame.time_us]  # fmt: skip
    longest = max(each.lasts_us(frame.time_us) for each in together_now)
    count = len({each.partition for each in together_now})
    all_of = len(frame.snapshot["ends"].get(topic, ()))
    said = f"All partitions are read again: **{count} of {all_of}** had stopped, the longest for "
    yield Step(NOTABLE, f"{seconds(longest)} stop", f"{said}**{seconds(longest)}**.")


def seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s" if us >= 100_000 else f"{us / 1e3:.0f} ms"


def standing(snapshot: Snapshot, topic: str) -> str:
    """The present state, when nothing has just happened."""
    group = snapshot["group"]
    if group is None:
        return f"No coordinator knows the group {snapshot['id']} yet: its first member makes it."
    if not group["members"]:
        return "The group has no member; its committed offsets stay."
    silent = [each for each in seats(snapshot) if each.process in ("killed", "frozen")]
    for seat in (each for each in silent if each.owns(topic)):
        ends = seat.standing(snapshot["time_us"])
        said = f"No reader for {named(seat.owns(topic))}: {seat.name} is {seat.process}, and "
        return f"{said}the coordinator does not know it; {ends}."
    if group["state"] == "PreparingRebalance":
        late = [each.name for each in seats(snapshot)
                if each.member and each.member.get("state") == "to join"]  # fmt: skip
        named_late = join(late) or "its members"
        return f"The coordinator waits for {named_late} to join again."
    if group["state"] == "CompletingRebalance":
        return "All have joined; the coordinator waits for the leader's assignment."
    where = f"generation {group['generation']}" if group.get("generation", -1) >= 0 else ""
    if group["type"] == "consumer":
        where = f"epoch {group['epoch']}"
    state = f"The group is {group['state']}{f', {where}' if where else ''}"
    return f"{state}: {shares(snapshot, topic)}."
