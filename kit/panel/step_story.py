"""One sentence for one step of a recorded world.

The engine's trace says what happened in names and numbers.  This module says it in words and
answers a learner's next question: was it committed, which broker must still hear of it, what
was lost.  A step may have several lines, because one message can bring several changes; the
sentence tells the weightiest.  `mark` is the step's kind on the timeline, "" for a small one:

    fault   election   parted   truncation   lost   ack   write
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.film.film import Told
from kit.film.source import Frame, Line
from kit.film.words import be, join, plural
from kit.panel.fault_story import tell_fault
from kit.panel.known import Known, mark_of
from kit.panel.promises import Promise, lost
from kit.panel.scene import end_of, parted_offsets, partition_of, values

State = Mapping[str, Any]
WEIGHTS = {
    "truncate": 90, "defect": 85, "disk-failed": 85, "disk-replaced": 84, "power-lost": 84,
    "elected": 80, "killed": 78, "stopping": 77, "stopped": 77, "started": 76, "paused": 75,
    "controller": 79, "resigned": 79, "active": 79,
    "resumed": 74, "cut": 73, "healed": 72, "slow": 71, "delay": 70, "drop": 70, "duplicate": 70,
    "reorder": 70, "strand": 70, "clock": 70, "bit-flipped": 70, "disk-full": 70, "disk-freed": 70,
    "add-voter": 70, "remove-voter": 70,
    "written-back": 66, "recovered": 65, "diverging": 60, "append": 55, "refused": 50,
    "acknowledged": 49, "high_watermark": 40, "leader": 35, "isr": 30, "fenced": 28,
    "unfenced": 27, "eligible": 26, "leader_epoch": 20, "topic-created": 15, "log_start": 10,
}  # fmt: skip


@dataclass(frozen=True)
class Caption(Told):
    """A step's sentence, its short name on the timeline, and its kind."""

    mark: str = ""


def weight(line: Line) -> int:
    """How much a line counts among those of a step; a decided ISR counts more than its news."""
    return WEIGHTS.get(line.kind, 0) + is_decided(line)


def is_decided(line: Line) -> bool:
    """A change of the ISR as its leader learns it, not as the news spreads."""
    return line.kind == "isr" and line.rule.endswith("isr_answered")


def tell(
    before: Frame | None,
    frame: Frame,
    topic: str,
    partition: int,
    made: Sequence[Promise] = (),
    by: Known | None = None,
) -> Caption:
    """The sentence of a frame.

    `made` is what clients had been promised, and `by` what the replicas had known to be
    committed, before it.
    """
    now = partition_of(frame.snapshot, topic, partition)
    was = partition_of(before.snapshot, topic, partition) if before is not None else None
    name = f"{topic}-{partition}"
    lines = [line for line in frame.lines if line.partition in ("", name)]
    lines.sort(key=weight, reverse=True)
    caption = Caption("")
    for line in lines:
        caption = _line(line, was or now, now, frame, by or {})
        if caption.sentence:
            break
    gone = [each for each in lost(now, made) if each not in lost(was, made)]
    if gone and was is not None and now is not None and was["leader"] != now["leader"]:
        what = join([promise.value for promise in gone])
        safe = "under acks=all" if gone[0].acks == "all" else f"with acks={gone[0].acks}"
        said = f"{what} {be(gone, 'was', 'were')} acknowledged {safe}, and {now['leader']} does "
        said += f"not have {be(gone, 'it', 'them')}: **lost**."
        return Caption(f"{caption.sentence} {said}".strip(), f"{what} lost", "lost")
    if not caption.mark and now is not None and was is not None and _parts(now) and not _parts(was):
        replica = _parts(now)[0]
        log = now["logs"][replica]
        apart = parted_offsets(now, replica)
        said = f"From offset {apart[0]} on, {replica} holds what its leader {now['leader']} "
        said += f"does not: {values(log, apart)}."
        return Caption(f"{caption.sentence} {said}".strip(), "logs diverge", "parted")
    return caption


def _parts(state: State) -> list[int]:
    return [replica for replica in state["replicas"] if parted_offsets(state, replica)]


def begin(frame: Frame, topic: str, partition: int) -> Caption:
    """The sentence of a recording's first frame: the state at that time."""
    state = partition_of(frame.snapshot, topic, partition)
    if state is None:
        return Caption(f"The recording begins; {topic} does not exist yet.", "start", "start")
    log = state.get("logs", {}).get(state["leader"], {})
    held = plural(end_of(log), "record") if end_of(log) else "no record yet"
    said = f"The recording begins: {state['leader']} leads {topic}, partition {partition}, in "
    return Caption(f"{said}epoch {state['leader_epoch']}, with {held}.", "start", "start")


def _line(line: Line, was: State | None, now: State | None, frame: Frame, by: Known) -> Caption:
    """One line of the trace in words; empty where it adds nothing."""
    if (fault := tell_fault(line, frame.lines)) is not None:
        return Caption(*fault, "fault")
    node = line.node
    match line.kind:
        case "fenced":
            said = f"The controller fences {line['broker']}: its heartbeats stopped."
            return Caption(said)
        case "unfenced":
            return Caption(
                f"The controller receives heartbeats of {line['broker']} again and unfences it."
            )
        case "controller":
            said = f"{node} leads the quorum of controllers in epoch {line['epoch']}: {line.why}."
            return Caption(said, f"{node} leads", "election")
        case "active":
            said = f"{node} is the **active controller** now, in epoch {line['epoch']}."
            return Caption(said, f"{node} active", "election")
        case "follower":
            return Caption(f"{node} follows the quorum's leader in epoch {line['epoch']}.")
        case "resigned":
            said = f"{node} resigns as the leader of the quorum: {line.why}."
            return Caption(said, f"{node} resigns", "election")
        case "topic-created":
            said = f"The controller creates {line['topic']}; the brokers do not know it yet."
            return Caption(said, "create")
        case "topic-deleted":
            said = f"The controller **deletes** {line['topic']}; its records go with it."
            return Caption(said, "delete", "fault")
        case "elected":
            return _elected(line, was)
        case "acknowledged":
            return _acknowledged(line, now)
        case "refused":
            what = join(line["values"] or ("the write",))
            return Caption(f"{node} **refuses** {what}: {line['says']}.", "refused", "ack")
    if now is None or was is None:
        return Caption("")
    return _replica(line, was, now, by)


def _replica(line: Line, was: State, now: State, by: Known) -> Caption:
    node, log = line.node, now.get("logs", {}).get(line.node, {})
    match line.kind:
        case "append":
            return _append(line, now)
        case "truncate":
            return _truncate(line, was, by.get(node, 0))
        case "high_watermark":
            return _high_watermark(line, was, now)
        case "leader" if line["leader"] == node:
            said = f"{node} learns that it leads, in epoch {line['epoch']}, from offset "
            return Caption(f"{said}{end_of(log)} on.")
        case "leader" if line["leader"] == -1:
            return Caption(f"{node} learns that there is no leader.")
        case "leader":
            return Caption(f"{node} learns that {line['leader']} leads in epoch {line['epoch']}.")
        case "isr":
            return _isr(line, was)
        case "leader_epoch":
            said = f"{node} notes that epoch {line['epoch']} starts at offset {line['start']}."
            return Caption(said)
        case "diverging":
            said = f"{now['leader']} tells {node} where their logs diverge: its epoch "
            return Caption(f"{said}{line['epoch']} ends at {line['end']}.", "parted", "parted")
        case "recovered":
            return Caption(f"{node} checks its log after the crash: it holds up to {line['end']}.")
        case "eligible":
            named = join(line["elr"]) or "none"
            return Caption(f"Eligible to lead besides the ISR (ELR): {named}.")
        case "log_start":
            return Caption(f"{node}'s log now starts at {line['to']}: what was before is deleted.")
        case "append-failed":
            return Caption(f"{node} cannot append what its leader sent: {line.why}.")
    return Caption("")


def _elected(line: Line, was: State | None) -> Caption:
    leader = line["leader"]
    why = line.why.split("; ")[0]
    if leader < 0:
        said = f"**No leader**: {why}, and no other ISR member is left to take over."
        return Caption(said, "no leader", "election")
    right = {"clean": "it was next in the ISR", "preferred": "it is the preferred leader",
             "eligible": "it is an eligible leader replica",
             "last known": "it led last, and **its log may lack committed records**",
             "unclean": "**it was not in the ISR**, so committed records may be lost"}  # fmt: skip
    said = f"The controller elects {leader}, epoch {line['epoch']}: {why}; "
    said += f"{right.get(line['reason'], str(line['reason']))}."
    return Caption(said, f"{leader} elected", "election")


def _acknowledged(line: Line, now: State | None) -> Caption:
    written, acks, first = line["values"], line["acks"], line["offset"]
    what, last = join(written) or "the write", first + max(len(written), 1) - 1
    label = f"{written[0]} ✓" if len(written) == 1 else "acknowledged"
    log = (now or {}).get("logs", {}).get(line.node, {})
    it = "it is" if first == last else "they are"
    if acks == "all":
        said = "the whole ISR has " + ("it" if first == last else "them")
    elif mark_of(log) > last:
        said = f"acks={acks}, and {it} committed already"
    else:
        said = f"acks={acks} asks for the leader's log only, so {it} **not committed** yet"
    is_at = f"{'is' if first == last else 'are'} at {_offsets(first, last)}"
    return Caption(f"The client learns that {what} {is_at}: {said}.", label, "ack")


def _append(line: Line, now: State) -> Caption:
    node, base, last = line.node, line["base"], line["last"]
    log = now.get("logs", {}).get(node, {})
    written = range(base, last + 1)
    what = values(log, written)
    where = "" if what.startswith("record") else f" at {_offsets(base, last)}"
    if node != now["leader"] or line.rule.endswith("follower"):
        said = f"{node} copies {what}{where}: its log ends at {last + 1}, and its next fetch "
        return Caption(f"{said}will say so.")
    isr = [replica for replica in now.get("isr") or () if replica != node]
    it = be(written, "it", "them")
    if (log.get("high_watermark") or 0) > last:
        fate = f"the ISR is {node} alone, so {it} {be(written)} committed at once"
    elif isr:
        fate = f"**not committed** until {join(isr)} {be(isr, 'has', 'have')} {it}"
    else:
        fate = "**not committed**: the ISR is smaller than min.insync.replicas"
    label = "" if what.startswith("record") else f"write {what}"
    said = f"{node} appends {what}{where}, epoch {line['epoch']}: {fate}."
    return Caption(said, label, "write")


def _offsets(base: int, last: int) -> str:
    return f"offset {base}" if base == last else f"offsets {base}–{last}"


def _truncate(line: Line, was: State, known: int) -> Caption:
    node, kept = line.node, line["to"]
    log = was.get("logs", {}).get(node, {})
    end = line["was"] if line["was"] is not None else end_of(log)
    gone = range(kept, end)
    mark = max(known, mark_of(log))
    said = f"{node} **cuts** its log from {end} to {kept}: {values(log, gone)} {be(gone)} gone"
    if mark <= kept:
        said += ", which it did not know to be committed"
    elif mark >= end:
        said += ", which it knew to be **committed**"
    else:
        below, above = values(log, range(kept, mark)), values(log, range(mark, end))
        said += f". It had known {below} to be **committed**, and {above} not"
    return Caption(f"{said}. Why: {line.why}.", f"{node} cuts to {kept}", "truncation")


def _high_watermark(line: Line, was: State, now: State) -> Caption:
    node, to = line.node, line["to"]
    log = now.get("logs", {}).get(node, {})
    before = was.get("logs", {}).get(node, {}).get("high_watermark") or 0
    if node != now["leader"]:
        return Caption(
            f"{node} learns that the high watermark is {to}: one fetch after the leader."
        )
    fresh = range(before, to)
    what = values(log, fresh) if fresh else "nothing new"
    said = f"Every member of the ISR has fetched past {what}: {node} moves the high watermark to "
    return Caption(f"{said}{to}, and {what} {be(fresh)} committed.", f"HW {to}")


def _isr(line: Line, was: State) -> Caption:
    before, after = was.get("isr") or [], line["isr"] or []
    back = [replica for replica in after if replica not in before]
    left = [replica for replica in before if replica not in after]
    named = join(after) or "none"
    if back:
        said = f"{join(back)} {be(back, 'has', 'have')} caught up and {be(back)} in the ISR again."
        return Caption(said, f"{back[0]} in ISR")
    if left:
        said = f"{join(left)} {be(left, 'is', 'are')} out of the ISR: too far behind for too long."
        return Caption(said, f"{left[0]} out of ISR")
    return Caption(f"{line.node} knows the ISR: {named}.")
