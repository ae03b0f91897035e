"""What happened to the controllers' logs between two moments: written, copied, committed, cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kit.film.source import Snapshot
from kit.film.steps import MAJOR, MINOR, NOTABLE, Step
from kit.film.words import be, join, plural
from kit.panel.known import kept
from kit.panel.scene import parted_offsets
from kit.quorum_panel import logs
from kit.quorum_panel.standings import leader_of
from kit.quorum_panel.view import Voter

SAID_MOST = 3


@dataclass(frozen=True)
class Event(Step):
    """A step with its kind on the timeline."""

    mark: str = ""


def log_steps(each: int, old: Voter, new: Voter, now: Snapshot) -> Iterator[Event]:
    stays = kept(old, new)
    end = new.get("log_end_offset", -1)
    if stays < old.get("log_end_offset", -1):
        gone = range(stays, old["log_end_offset"])
        said = f"{each} **cuts** its log from {gone.stop} to {stays}: {_said(old, gone)} "
        said += f"{be(gone)} gone. {be(gone, 'It was', 'They were')} never committed."
        yield Event(MAJOR + 1, f"{each} cuts to {stays}", said, "truncation")
    fresh = range(stays, end)
    opens = new.get("role") == "leader" and {*_of(new, fresh, "kinds")} == {"leader"}
    if fresh and not opens and not _is_quiet(new, fresh):
        yield _appended(each, new, fresh)
    before, after = old.get("high_watermark", -1), new.get("high_watermark", -1)
    if 0 <= before < after and not _is_quiet(new, range(before, after)):
        said = f"{each} learns that everything below {after} is committed, and applies it."
        if leader_of(now["voters"]) == each:
            it = range(before, after)
            said = f"A majority has {_said(new, it)} on disk: {each} moves the high watermark to "
            said += f"{after}. {be(_of(new, it, 'kinds'), 'It is', 'They are')} **committed**."
            yield Event(NOTABLE, f"HW {after}", said)
        else:
            yield Event(MINOR, "", said)


def _appended(each: int, new: Voter, fresh: range) -> Event:
    it = be(_of(new, fresh, "kinds"), "it", "them")
    if new.get("role") != "leader":
        said = (
            f"{each} copies {_said(new, fresh)} from {new.get('leader')}. Its next fetch says so."
        )
        return Event(MINOR, "", said)
    said = f"{each} writes {_said(new, fresh)}: **not committed** until a majority has {it}."
    named = next(iter(_of(new, fresh, "briefs")), "")
    return Event(NOTABLE, f"write {named}", said, "write")


def parting(was: Snapshot, now: Snapshot) -> Iterator[Event]:
    """A new leader's history lacks what another log has."""
    leader = leader_of(now["voters"])
    for each, new in now["voters"].items():
        apart = parted_offsets({"logs": now["voters"], "leader": leader}, each)
        former = {"logs": was["voters"], "leader": leader_of(was["voters"])}
        if apart and not parted_offsets(former, each):
            said = f"From offset {apart[0]} on, {each} has what its next leader {leader} has not: "
            said += f"{_said(new, range(apart[0], apart[-1] + 1))}."
            yield Event(NOTABLE, "logs diverge", said, "parted")


def _of(voter: Voter, offsets: range, name: str) -> list[str]:
    """What the log's batches say of these offsets: `kinds`, `briefs` or `values`."""
    found: list[str] = []
    for stored in voter["batches"]:
        if logs.is_quiet(stored):
            continue
        listed = zip(stored[name], stored["kinds"], strict=True)
        found += [each for offset, (each, kind) in enumerate(listed, stored["base_offset"])
                  if offset in offsets and kind != logs.QUIET]  # fmt: skip
    return found


def _said(voter: Voter, offsets: range) -> str:
    """Records in words, some of them; else by their offsets."""
    found = [f"“{each}”" for each in _of(voter, offsets, "values")]
    if not found:
        last = offsets[-1]
        return f"record {last}" if len(offsets) == 1 else f"records {offsets[0]}–{last}"
    more = len(found) - SAID_MOST
    return join([*found[:SAID_MOST], plural(more, "more record")] if more > 0 else found)


def _is_quiet(voter: Voter, offsets: range) -> bool:
    """Whether these are known, and NoOps all of them."""
    held = [each for each in voter["batches"] if each["last_offset"] >= offsets[0]]
    return bool(held) and all(map(logs.is_quiet, held))
