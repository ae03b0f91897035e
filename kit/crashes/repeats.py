"""Mistakes that repeat work which no crash need have repeated."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from kit.crashes.evidence import Evidence, Place, name_of
from kit.crashes.facts import Case, Mistake, count, middle, owners, records, them, was, where
from kit.crashes.journal import Note


def one_short(case: Case) -> Mistake | None:
    """Every commit names the record that was just processed, and not the next one."""
    for each in case.situation("plain"):
        own: list[tuple[Note, int]] = []
        for call in each.of("commit", "A1"):
            done = dict(sorted(each.done_by(each.before(call))))
            for partition, offset in call.details[1]:
                if done.get(partition) != offset:
                    return None
                own.append((call, offset))
        if len(own) < 2:
            continue
        crashes = [e for e in case.trials if e.crash is not None and len(e.repeated) == 1]
        shown = max(crashes, key=middle, default=each)
        call, offset = own[-1]
        for note in shown.of("commit", "A1"):
            call, offset = note, note.details[1][0][1]
        line = case.line(call.details[4])
        again = records(shown.repeated) if shown.repeated else f"record {offset}"
        return Mistake(
            "one offset short",
            f"When record {offset} was processed, line {line} committed offset {offset}: its own. "
            f"The committed offset is the next one to read, so after each restart "
            f"{again} is processed again, even if nothing else is open.",
            "Commit the record's offset + 1, or pass the record: commit(message=record).",
            shown,
        )
    return None


def slow(case: Case) -> Mistake | None:
    """Too long from poll to poll: the client left the group, and another one took over."""
    for each in case.situation("slow"):
        limit_s = int(each.trial.situation.settings["max.poll.interval.ms"]) / 1000
        evicted = [n for n in each.notes if (n.kind == "error" and "MAX_POLL" in n.details[0])
                   or (n.kind == "settled" and n.details[2])]  # fmt: skip
        if not evicted or not each.repeated:
            continue
        who = evicted[0].who
        polls = [n for n in each.before(evicted[0]) if n.kind == "got" and n.who == who]
        took_s = (evicted[0].at_us - polls[-1].at_us) / 1e6 if polls else 0.0
        if took_s <= limit_s:
            continue
        batch = len(polls[-1].details[0])
        return Mistake(
            "slow poll",
            f"Application {name_of(who)} took {took_s:.1f} s for {count(batch, 'record')} from "
            f"one poll, and max.poll.interval.ms allows {limit_s:g} s. It was out of the group by "
            f"then, another application had its partition, and {records(each.repeated)} "
            f"{was(each.repeated)} processed twice.",
            "Take fewer records at a time (consume(n) with a smaller n), commit after each, or "
            "work in another thread and keep polling with the partitions paused.",
            each,
        )
    return None


def zombie(case: Case) -> Mistake | None:
    """An application that lost its partition works on as if nothing had happened."""
    for each in case.situation("freeze"):
        for freeze in each.of("freeze"):
            later = [n for n in each.after(freeze) if n.who == freeze.who]
            refused = [n for n in later if n.kind == "settled" and n.details[2]]
            since = (
                refused[0] if refused else next(iter(n for n in later if n.kind == "done"), None)
            )
            if since is None:
                continue
            others = each.done_by(n for n in each.notes if n.who[0] != freeze.who[0])
            old = itertools.takewhile(lambda n: n.kind not in ("got", "assigned"), later)
            again = [p for p in each.done_by(n for n in old if n.at_us > since.at_us)
                     if p in others]  # fmt: skip
            if not again:
                continue
            why = "without asking whether they were still its own"
            if refused:
                why = f"though its commit of offset {refused[0].details[1][0][1]} had been refused "
                why += f"({refused[0].details[2]})"
            return Mistake(
                "zombie after eviction",
                f"Application A stood still while it processed record {freeze.details[1]}, its "
                f"session ended, and B did the work. Then A went on with {records(again)}, {why}: "
                f"{count(len(each.repeated), 'record')} {was(each.repeated)} processed twice.",
                "When a commit is refused, drop what is in hand and poll: the partition has "
                "another owner. What was in hand at that moment only an idempotent effect repairs.",
                each,
            )
    return None


def seek_back(case: Case) -> Mistake | None:
    """The position went back, and records from before the seek were still processed."""
    for each in case.situation("failure"):
        for seek in each.of("seek"):
            partition, target, line = seek.details
            stale: list[Place] = []
            for note in each.after(seek):
                if note.who != seek.who:
                    continue
                if note.kind == "got" and [partition, target] in note.details[0]:
                    break
                if note.kind == "start" and note.details[0] == partition:
                    stale.append((partition, note.details[1]))
            stale = [place for place in stale if place[1] > target]
            if stale and (each.disordered or each.repeated):
                return Mistake(
                    "seek without pause",
                    f"Record {target} failed, and line {case.line(line)} went back to it. But "
                    f"{records(stale)} had been read before the seek, and the loop processed "
                    f"{them(stale)} first: {count(len(each.repeated), 'record')} "
                    f"{was(each.repeated)} processed twice, and record {target} came too late.",
                    "Stop there: pause the partition, drop what you have read of it, seek, and "
                    "resume when the record may be tried again.",
                    each,
                )
    return None


def listener(case: Case) -> Mistake | None:
    """What was processed is committed when the partition has gone: too late."""
    for each in [*case.situation("join"), *case.situation("freeze")]:
        late = sorted({n.details[2] for n in each.of("commit")} & {"on_assign", "on_lost"})
        if each.trial.situation.name == "freeze" and "on_lost" not in late:
            continue
        handed = _handed_over(each)
        if late and handed is not None:
            return Mistake(
                "commit in the wrong listener",
                f"{handed.left}. The loop commits in {' and '.join(late)}, after the partition "
                f"has gone: B started at offset {handed.start}, and {handed.harm}.",
                "Commit in on_revoke: it is called while the partition is still yours."
                + " In on_lost there is nothing to save." * ("on_lost" in late),
                each,
            )
    return None


def leaving(case: Case) -> Mistake | None:
    """Processed records of a partition that leaves are committed nowhere."""
    if listener(case) is not None or one_short(case) is not None:
        return None  # that is why
    for each in case.situation("join"):
        handed = _handed_over(each)
        if handed is not None and not any(n.details[2] == "on_revoke" for n in each.of("commit")):
            return Mistake(
                "no commit when a partition leaves",
                f"{handed.left}, and only offset {handed.start} was committed: {handed.harm} at a "
                "rebalance in which nothing had failed.",
                "Commit what is processed in on_revoke, before the partition leaves.",
                each,
            )
    return None


@dataclass(frozen=True)
class _HandedOver:
    """A partition that went from A to B, and was processed twice in part."""

    left: str
    start: int
    harm: str


def _handed_over(evidence: Evidence) -> _HandedOver | None:
    places = [place for place in evidence.repeated if len(owners(evidence, place)) > 1]
    if not places:
        return None
    partition = places[0][0]
    places = [place for place in places if place[0] == partition]
    starts = [offset for n in evidence.of("assigned") if n.who[0] == "B"
              for p, offset in n.details[0] if p == partition]  # fmt: skip
    mine = [p for p in evidence.done_by(n for n in evidence.notes if n.who[0] == "A")
            if p[0] == partition]  # fmt: skip
    return _HandedOver(
        f"Partition {partition} left application A when it was processed up to record "
        f"{mine[-1][1]}",
        max(0, starts[0]) if starts else 0,
        f"{records(places)} of partition {partition} {was(places)} processed twice",
    )


def never(case: Case) -> Mistake | None:
    """No offset is ever committed."""
    for each in case.situation("plain"):
        if each.crash is not None or not each.of("idle"):
            continue
        if each.of("commit") or any(offset >= 0 for _, offset in each.of("idle")[-1].details[0]):
            return None
        worst = max(case.trials, key=lambda e: len(e.repeated))
        return Mistake(
            "no commit",
            f"All {len(each.done_by(each.notes))} records were processed, and the group has no "
            f"committed offset: a restart begins at auto.offset.reset. {where(case, worst)} "
            f"repeated {count(len(worst.repeated), 'record')}.",
            "Commit after processing, or let the client commit what you store.",
            worst,
        )
    return None
