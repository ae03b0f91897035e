"""Says what happened between two moments of the quorum, in one sentence for learners.

A step's kind on the timeline is its `mark`: fault, election, parted, truncation, write, or "" for a
small one, as in the Cluster panel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.quorum.election_state import NONE
from kit.film.source import Frame, Line, Snapshot
from kit.film.steps import MAJOR, MINOR, NOTABLE, Step, together
from kit.film.words import be, join, plural
from kit.panel.fault_story import tell_fault
from kit.panel.step_story import Caption
from kit.quorum_panel.flights import HEARD
from kit.quorum_panel.log_story import Event, log_steps, parting
from kit.quorum_panel.standings import active_of, leader_of
from kit.quorum_panel.view import DOWN, Voter

KEEP_TELLING_US = 6_000_000
NO_DECISIONS = "until another one is active, no partition gets another leader and no topic is made"
OF_PROCESSES = ("killed", "stopped", "stopping", "started", "paused", "resumed")
"""Lines that a controller's state tells, too."""


def tell(before: Frame | None, frame: Frame) -> Caption:
    """What one step of a recording is about."""
    if before is None:
        return Caption(f"The recording begins. {standing(frame.snapshot)}", "start", "start")
    found = list(steps(before, frame))
    named = max((each for each in found if each.label), key=lambda each: each.weight, default=None)
    sentence = together(found, []) or standing(frame.snapshot)
    return Caption(sentence, named.label, named.mark) if named else Caption(sentence)


def caption(frames: Sequence[Frame], number: int) -> str:
    """The sentence under a live frame: its weightiest step, a recent one, or the current state."""
    place = number - frames[0].number
    later: list[Step] = []
    for earlier in range(place, 0, -1):
        if frames[place].time_us - frames[earlier].time_us > KEEP_TELLING_US:
            break
        found = list(steps(frames[earlier - 1], frames[earlier]))
        if any(step.weight >= MAJOR for step in found):
            return together(found, later)
        if earlier == place or any(step.weight == NOTABLE for step in found):
            later = later or [step for step in found if step.weight > MINOR]
    return together([], later) or standing(frames[place].snapshot)


def steps(before: Frame, frame: Frame) -> Iterator[Event]:
    """All that happened between two frames, causes before effects."""
    was, now = before.snapshot, frame.snapshot
    yield from _faults(was, now, frame.lines)
    yield from (_heard(line) for line in frame.lines if line.kind == HEARD)
    for each, new in now["voters"].items():
        old = was["voters"].get(each, new)
        yield from _process(each, old, new, frame.lines)
        if new["state"] not in DOWN and old["state"] not in DOWN:
            yield from _role(each, old, new, frame.lines)
            yield from log_steps(each, old, new, now)
    yield from parting(was, now)


# -- processes and links


def _faults(was: Snapshot, now: Snapshot, lines: Sequence[Line]) -> Iterator[Event]:
    """By the trace; where there is none, by the links themselves."""
    if not any(line.kind in ("cut", "healed") for line in lines):
        lines = [*lines, *_links(was, now)]
    told: dict[str, str] = {}
    for line in lines:
        if line.kind in OF_PROCESSES and line.node in now["voters"]:
            continue
        if (found := tell_fault(line, lines)) is not None:
            told[found[0]] = found[1]
    yield from (Event(MAJOR, label, said, "fault") for said, label in told.items())


def _links(was: Snapshot, now: Snapshot) -> Iterator[Line]:
    """What happened to links, as lines of a trace: at the node that all of them have, if any."""
    cut = [{tuple(link["between"]) for link in each["links"] if link["state"].startswith("cut")}
           for each in (was, now)]  # fmt: skip
    for kind, pairs in (("cut", cut[1] - cut[0]), ("healed", cut[0] - cut[1])):
        common = set.intersection(*map(set, pairs)) if pairs else set()
        for one, other in sorted(pairs):
            node, peer = (other, one) if other in common and one not in common else (one, other)
            yield Line(now["time_us"], node, kind, "", {"peer": peer})


def _process(each: int, old: Voter, new: Voter, lines: Sequence[Line]) -> Iterator[Event]:
    before, after = old["state"], new["state"]
    if before == after:
        return
    loses_power = any(line.kind == "power-lost" and line.node == each for line in lines)
    match after:
        case "killed" if not loses_power:
            said = f"{each} was **killed**. Its log and its vote stay on its disk."
            if old.get("is_active"):
                said = f"{each}, the active controller, was **killed**: {NO_DECISIONS}."
            yield Event(MAJOR, f"kill {each}", said, "fault")
        case "stopped":
            said = f"{each} has stopped; its log and its vote are on its disk."
            yield Event(MAJOR, f"stop {each}", said, "fault")
        case "paused":
            said = f"{each} is paused: its process is there, but it neither reads nor sends."
            yield Event(MAJOR, f"pause {each}", said, "fault")
        case "running" if before == "paused":
            said = f"{each} goes on where it was paused, and does not know what it missed"
            if new.get("is_active"):
                said += f": it **still takes itself** for active, in epoch {new['epoch']}"
            yield Event(MAJOR, f"resume {each}", f"{said}.", "fault")
        case "running":
            said = f"{each} starts, with the log and the vote that are on its disk."
            yield Event(MAJOR, f"start {each}", said, "fault")


# -- who leads


def _role(each: int, old: Voter, new: Voter, lines: Sequence[Line]) -> Iterator[Event]:
    role, epoch = new.get("role"), new.get("epoch", -1)
    moved = (old.get("role"), old.get("epoch")) != (role, epoch)
    voted, leader = new.get("voted", NONE), new.get("leader", NONE)
    votes = voted not in (NONE, each) and (old.get("voted"), old.get("epoch")) != (voted, epoch)
    if votes and role != "leader":
        said = f"{each} **votes** for {voted} in epoch {epoch}: the log of {voted} ends where its "
        yield Event(
            NOTABLE, "", f"{said}own does, or later. The vote is on its disk before it answers."
        )
    elif moved:
        why = next((line.why for line in lines if line.node == each and line.kind in
                    (str(role), "controller") and line.why), "")  # fmt: skip
        yield _became(each, old, new, why)
    elif old.get("leader") != leader and leader != NONE:
        yield Event(MINOR, "", f"{each} learns that {leader} leads epoch {epoch}.")
    more = [other for other in new.get("granted", ()) if other not in old.get("granted", ())]
    if not moved and more:
        counted = (
            f"{len(new['granted'])} would"
            if role == "prospective"
            else f"{len(new['granted'])} have"
        )
        yield Event(MINOR, "", f"{join(more)} {be(more, 'says', 'say')} yes to {each}: {counted}.")
    if new.get("is_active") and not old.get("is_active"):
        said = f"{each} is **active**: a majority has its first record, and so it has all that was "
        yield Event(NOTABLE, f"{each} active", f"{said}committed before. It decides from now on.",
                    "election")  # fmt: skip


def _heard(line: Line) -> Event:
    """A message that changes nothing where it arrives."""
    asks, node = line["from"], line.node
    if line["what"] == "prevote":
        said = (
            f"{asks} asks {node} whether it would vote for it (pre-vote). Nothing is written down."
        )
        return Event(MINOR, "", said)
    return Event(NOTABLE, f"{asks} says no", f"{asks} **refuses** {node} its vote: {line['says']}.")


def _became(each: int, old: Voter, new: Voter, why: str) -> Event:
    """A controller's new role, or the same one in another epoch."""
    epoch, leader = new.get("epoch", -1), new.get("leader", NONE)
    match new.get("role"):
        case "prospective":
            because = "got no majority in time" if old.get("role") == "candidate" else (
                "has heard of no leader for too long")  # fmt: skip
            said = (
                f"{each} {because}: it **asks** whether a majority would vote for it (pre-vote). "
            )
            return Event(NOTABLE, f"{each} asks", f"{said}Its epoch stays {epoch}.", "election")
        case "candidate":
            said = f"{each} **stands** for election in epoch {epoch}: it writes down that it votes "
            return Event(
                NOTABLE, f"{each} stands", f"{said}for itself, and asks for votes.", "election"
            )
        case "leader":
            how = why.replace(" voted", " have voted") if why else "a majority has voted for it"
            said = (
                f"{each} **leads** epoch {epoch}: {_listed(how)}. It opens the epoch with a record "
            )
            said += f"of its own, at offset {new['log_end_offset'] - 1}."
            return Event(MAJOR, f"{each} leads, epoch {epoch}", said, "election")
        case "resigned":
            said = (
                f"{each} **resigns** from epoch {epoch}: {why or 'a majority no longer fetches'}."
            )
            return Event(MAJOR, f"{each} resigns", said, "election")
        case "follower" if old.get("is_active"):
            said = f"{each} learns that {leader} leads epoch {epoch}: it is **deposed**, and goes "
            return Event(MAJOR, f"{each} deposed", f"{said}back to what is committed.", "election")
        case "follower":
            said = f"{each} learns that {leader} leads epoch {epoch}, and follows it."
            return Event(NOTABLE, "", said)
        case "unattached" if old.get("is_active"):
            said = f"{each} hears of epoch {epoch}: it is **deposed**, and knows no leader there."
            return Event(MAJOR, f"{each} deposed", said, "election")
        case "unattached" if old.get("epoch") != epoch:
            return Event(MINOR, "", f"{each} hears of epoch {epoch}, and knows no leader there.")
    return Event(MINOR, "", f"{each} knows no leader in epoch {epoch}.")


def _listed(why: str) -> str:
    """`100 200 have voted for it` with an "and"."""
    words = why.split()
    named = [each for each in words if each.isdigit()]
    others = words[len(named) :]
    if not named or words[: len(named)] != named:
        return why
    verb = "has" if len(named) == 1 else "have"
    return " ".join([join(named), *(verb if each == "have" else each for each in others)])


def standing(snapshot: Snapshot) -> str:
    """The present state, when nothing has just happened."""
    voters: Mapping[int, Any] = snapshot["voters"]
    active, leader = active_of(voters), leader_of(voters)
    if active == NONE:
        if leader != NONE:
            return f"{leader} leads epoch {voters[leader]['epoch']}, and is not active yet."
        running = sum(each["state"] == "running" for each in voters.values())
        if 2 * running <= len(voters):
            return f"**No controller is active**: {running} of {len(voters)} run, and no majority."
        return "**No controller is active.**"
    one = voters[active]
    waiting = one.get("log_end_offset", 0) - one.get("high_watermark", 0)
    fate = "all of it committed" if waiting <= 0 else f"{plural(waiting, 'record')} not committed"
    said = f"{active} is active in epoch {one.get('epoch')}; "
    return f"{said}its log ends at {one.get('log_end_offset')}, {fate}."
