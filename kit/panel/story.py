"""Says what happened between two frames, in one sentence for learners.

`steps` lists the facts, and `caption` chooses one of them.  Under a stream of writes the
caption keeps showing the weightiest event of the last seconds.
Words in `**` are stressed; drawings without stress leave the marks out.
"""

from __future__ import annotations

from collections.abc import Sequence

from kit.film.source import Frame, Snapshot
from kit.film.steps import MAJOR, NOTABLE, Step, together
from kit.film.words import be, join, plural
from kit.panel import log_steps
from kit.panel.cluster_steps import cluster_steps
from kit.panel.known import Known, known
from kit.panel.scene import end_of, partition_of, same_topic

KEEP_TELLING_US = 6_000_000


def caption(frames: Sequence[Frame], number: int, topic: str, partition: int) -> str:
    """The sentence under a frame: its weightiest step, a recent one, or the present state."""
    place = number - frames[0].number
    by = known(frames[: place + 1], topic, partition)
    later: list[Step] = []  # follows the cause that the loop looks for
    for earlier in range(place, 0, -1):
        if frames[place].time_us - frames[earlier].time_us > KEEP_TELLING_US:
            break
        found = steps(frames[earlier - 1], frames[earlier], topic, partition, by[earlier - 1])
        if any(step.weight == MAJOR for step in found):
            return together(found, later)
        if earlier == place or any(step.weight == NOTABLE for step in found):
            later = later or found
    return together([], later) or standing(frames[place].snapshot, topic, partition)


def label(before: Frame, frame: Frame, topic: str, partition: int) -> str:
    """A name for a frame on the timeline; empty if nothing worth one happened."""
    found = steps(before, frame, topic, partition)
    return max(found, key=lambda step: step.weight).label if found else ""


def steps(
    before: Frame, frame: Frame, topic: str, partition: int, by: Known | None = None
) -> list[Step]:
    """All that happened between two frames, causes before effects.

    `by` is what the replicas had known to be committed, if more than the frames say.
    """
    was, now = before.snapshot, frame.snapshot
    collected = cluster_steps(was, now)
    old, new = partition_of(was, topic, partition), partition_of(now, topic, partition)
    if old is None and new is not None:
        collected.append(Step(NOTABLE, f"create {topic}", standing(now, topic, partition)))
    elif new is None and old is not None:
        collected.append(Step(MAJOR, f"delete {topic}", f"The topic {topic} was deleted."))
    elif old is not None and new is not None and not same_topic(was, now, topic):
        said = f"{topic} was deleted and made again: a new topic with the old one's name, and none "
        collected.append(Step(MAJOR, f"{topic} again", f"{said}of its records."))
    elif old is not None and new is not None:
        collected += log_steps.leadership(was, now, old, new)
        collected += log_steps.in_sync(now, old, new)
        collected += log_steps.parting(
            was, now, frame.lines, f"{topic}-{partition}", old, new, by or {}
        )
        collected += log_steps.cuts(old, new, by or {})
        collected += log_steps.compaction(frame.lines, f"{topic}-{partition}")
        collected += log_steps.writes(old, new, minimum_isr(now, topic))
    return collected


def standing(snapshot: Snapshot, topic: str, partition: int) -> str:
    """The present state, when nothing has just happened."""
    state = partition_of(snapshot, topic, partition)
    if state is None:
        return f"There is no topic {topic} here." if topic else "There is no topic yet."
    leader = state["leader"]
    if leader < 0:
        return f"{topic}, partition {partition} has **no leader**: it takes no reads and no writes."
    log = state.get("logs", {}).get(leader, {})
    waiting = end_of(log) - (log.get("high_watermark") or 0)
    count = end_of(log) - (log.get("log_start_offset") or 0)
    held = "no record yet"
    if count:
        fate = "all committed" if waiting <= 0 else f"{waiting} not yet committed"
        held = f"{plural(count, 'record')}, {fate}"
    rest = [replica for replica in state["replicas"] if replica not in state.get("isr", ())]
    lag = f" {join(rest)} {be(rest)} not in the ISR." if rest else ""
    return f"{leader} leads in epoch {state.get('leader_epoch')}: {held}.{lag}"


def minimum_isr(snapshot: Snapshot, topic: str) -> int:
    """The topic's min.insync.replicas, 1 where a snapshot does not say."""
    config = snapshot.get("topics", {}).get(topic, {}).get("config") or {}
    return int(config.get("min.insync.replicas", 1))
