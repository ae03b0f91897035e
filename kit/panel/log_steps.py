"""Finds what happened to one partition: its leader, its ISR, and its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kit.film.source import Line, Snapshot
from kit.film.steps import MAJOR, MINOR, NOTABLE, Step
from kit.film.words import be, join, plural
from kit.panel.cluster_steps import DOWN
from kit.panel.known import Known, committed, holds, kept
from kit.panel.scene import end_of, parted_offsets, values

State = Mapping[str, Any]
NEVER = "**never committed**"


def leadership(was: Snapshot, now: Snapshot, old: State, new: State) -> Iterator[Step]:
    """A leader was elected, was lost, or continues in a new epoch."""
    before, after, epoch = old["leader"], new["leader"], new.get("leader_epoch")
    if before == after and _up(was, after) and not _up(now, after):
        said = "It still counts as leader: the controller waits for heartbeats that do not come."
        yield Step(NOTABLE, "no heartbeat", said)
    elif before == after:
        if old.get("leader_epoch") != epoch and after >= 0:
            yield Step(NOTABLE, f"epoch {epoch}", f"{after} still leads, now in epoch {epoch}.")
    elif after < 0:
        said = f"**No leader**: {_gone(now, before)}, and no other ISR member is left to take over."
        yield Step(MAJOR, "no leader", said)
    else:
        cause = f"{_gone(now, before)}, and " if before >= 0 else ""
        said = f"{after} became **leader** in epoch {epoch}: {cause}{_claim(now, old, after)}."
        yield Step(MAJOR, f"{after} leads", said)


def _up(snapshot: Snapshot, broker: int) -> bool:
    return snapshot.get("brokers", {}).get(broker, {}).get("state") not in DOWN


def _gone(now: Snapshot, broker: int) -> str:
    """Why a broker no longer leads."""
    state = now.get("brokers", {}).get(broker, {})
    if state.get("state") in DOWN:
        return f"{broker} is {DOWN[state['state']]}"
    if state.get("state") == "paused":
        return f"{broker} is paused and was fenced"
    return f"{broker} was fenced" if state.get("fenced") else f"{broker} no longer leads"


def _claim(now: Snapshot, old: State, leader: int) -> str:
    """Why this replica may lead."""
    if leader in (old.get("isr") or ()):
        lost = now.get("brokers", {}).get(old["leader"], {}).get("state") in DOWN
        first = old["replicas"][0] == leader and not lost
        return f"{leader} is the preferred leader" if first else f"{leader} was next in the ISR"
    if leader in (old.get("elr") or ()):
        return f"{leader} is an eligible leader replica: it has every committed record"
    return f"{leader} was **not in the ISR**, so committed records may be lost"


def in_sync(now: Snapshot, old: State, new: State) -> Iterator[Step]:
    """Replicas that left the ISR, and those that came back."""
    before, after = old.get("isr") or [], new.get("isr") or []
    left = [replica for replica in before if replica not in after]
    back = [replica for replica in after if replica not in before]
    named = " ".join(map(str, after)) or "empty"
    if left and old["leader"] not in left:
        brokers = now.get("brokers", {})
        down = all(brokers.get(replica, {}).get("state") in DOWN for replica in left)
        why = f"{be(left, 'it is', 'they are')} down"
        if not down:
            why = f"{be(left, 'it has', 'they have')} not caught up in time"
        yield Step(NOTABLE, f"ISR {named}", f"{join(left)} left the ISR: {why}.")
    if back:
        said = f"{join(back)} {be(back)} back in the ISR, caught up with the leader"
        whole = len(after) == len(new.get("replicas") or ()) > len(before)
        said += ": all replicas are in sync again." if whole else "."
        yield Step(NOTABLE, f"ISR {named}", said)


def parting(
    was: Snapshot,
    now: Snapshot,
    lines: Sequence[Line],
    name: str,
    old: State,
    new: State,
    by: Known,
) -> Iterator[Step]:
    """A replica holds records that its leader does not: the logs show it, or the leader says so."""
    leader = new["leader"]
    reported = {
        line.node: line for line in lines if line.kind == "diverging" and line.partition == name
    }
    for replica in new["replicas"]:
        state, parted = new, parted_offsets(new, replica)
        if not parted and replica in reported:
            state, parted = old, parted_offsets(old, replica)
        if not parted:
            continue
        believed = committed(state, by, replica, parted)
        rest = [offset for offset in parted if offset not in believed]
        fate = _fates(state["logs"][replica], {"believed committed": believed, NEVER: rest})
        if replica in reported:
            line = reported[replica]
            where = f"its epoch {line['epoch']} ends at {line['end']}"
            said = f"{leader} tells {replica} where their logs diverge: {where}. {fate}."
            yield Step(MAJOR, f"diverge at {parted[0]}", said)
        elif not parted_offsets(old, replica) or (_up(now, replica) and not _up(was, replica)):
            said = f"{leader} and {replica} differ from offset {parted[0]} on: {fate}."
            yield Step(NOTABLE, f"diverge at {parted[0]}", said)


def cuts(old: State, new: State, by: Known) -> Iterator[Step]:
    """A replica truncated its log."""
    leader = new["leader"]
    leads = new.get("logs", {}).get(leader)
    for replica, log in sorted(new.get("logs", {}).items()):
        before = old.get("logs", {}).get(replica, {})
        was, end = end_of(before), kept(before, log)
        if end == was or log.get("log_end_offset", -1) < 0:
            continue
        gone = range(end, was)
        safe = committed(old, by, replica, gone)
        still = [at for at in safe if leads is not None and holds(leads, before, at)]
        lost = [at for at in safe if at not in still]
        fates = {
            f"committed, and {leader} has {be(still, 'it', 'them')}": still,
            "committed once, and **lost**": lost,
            NEVER: [at for at in gone if at not in safe],
        }
        said = f"{replica} cut its log from {was} to {end}: {_fates(before, fates)}."
        yield Step(MAJOR, f"{replica} cuts to {end}", said)


def _fates(log: Mapping[str, Any], fates: Mapping[str, Sequence[int]]) -> str:
    """The fates of a log's records; a fate without records is left out."""
    return "; ".join(
        f"{values(log, offsets)} {be(offsets, 'was', 'were')} {fate}"
        for fate, offsets in fates.items()
        if offsets
    )


def compaction(lines: Sequence[Line], name: str) -> Iterator[Step]:
    """What retention and the cleaner did to a replica, by its broker's trace."""
    for line in lines:
        if line.partition != name:
            continue
        by = line.node
        match line.kind:
            case "deleted":
                said = f"{by} deleted old segments: its log starts at {line['to']}."
                yield Step(NOTABLE, f"{by} deletes to {line['to']}", said)
            case "cleaning":
                said = f"{by} **cleans** {line['begin']} to {line['end'] - 1}: {line.why}."
                yield Step(MAJOR, f"{by} cleans", said)
            case "mapped":
                said = f"{by} has read what is dirty: {plural(line['keys'], 'key')} in its map."
                yield Step(NOTABLE, f"{by} has the map", said)
            case "copied":
                said = (
                    f"{by} has copied what stays into a new file, so far {line['kept']} "
                    f"of {line['read']} records."
                )
                yield Step(NOTABLE, f"{by} has copied", said)
            case "swapped":
                said = f"On {by} {line.why}: {plural(line['segments'], 'segment')} now."
                yield Step(NOTABLE, f"{by} swaps", said)
            case "cleaned":
                said = (
                    f"{by} is through: {line['records_after']} of {line['records_before']} "
                    f"records are left, and the log is clean up to {line['end']}."
                )
                yield Step(MAJOR, f"{by} has cleaned", said)
            case "cleaning-aborted":
                yield Step(NOTABLE, f"{by} gives up", f"{by} gave its pass up: {line.why}.")


def writes(old: State, new: State, least: int) -> Iterator[Step]:
    """The leader appended, or the high watermark moved."""
    leader = new["leader"]
    before, log = old.get("logs", {}).get(leader), new.get("logs", {}).get(leader)
    if before is None or log is None:
        return
    written = range(end_of(before), end_of(log))
    mark = log.get("high_watermark") or 0
    if written:
        yield _written(leader, log, written, new.get("isr") or [], least)
    elif mark > (before.get("high_watermark") or 0):
        said = f"The high watermark moved to {mark}: the whole ISR has what is below it."
        yield Step(MINOR, f"HW {mark}", said)


def _written(
    leader: int, log: Mapping[str, Any], written: range, isr: Sequence[int], least: int
) -> Step:
    it = be(written, "it", "them")
    what = values(log, written)
    if what.startswith("record"):
        what = be(written, "a record", plural(len(written), "record"))
    where = f"{be(written, 'offset', 'offsets')} {written[0]}"
    where = where if len(written) == 1 else f"{where}–{written[-1]}"
    name = f"write {what}" if len(what) < 14 else f"write {plural(len(written), 'record')}"
    if (log.get("high_watermark") or 0) >= end_of(log):
        fate = be(written, "it is committed", "they are committed")
        said = f"{leader} appended {what} at {where}, and {fate}: the whole ISR has {it}."
        return Step(MINOR, name, said)
    if len(isr) < least:
        short = f"the ISR has {plural(len(isr), 'member')}, min.insync.replicas asks for {least}"
        return Step(
            NOTABLE, name, f"{leader} appended {what} at {where}, **not committed**: {short}."
        )
    others = [replica for replica in isr if replica != leader]
    wait = f"{join(others)} must fetch {it} first" if others else "the high watermark moves next"
    return Step(MINOR, name, f"{leader} appended {what} at {where}. **Not committed** yet: {wait}.")
