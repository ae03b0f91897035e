"""How a returning follower finds out where its history parted from the leader's.

A follower may hold records that were never committed and that the new leader never
had.  They must go before it fetches on.  Kafka's answer was mended several times; each
published rule is here, so that yesterday's bug can be run on today's code:

    to-high-watermark   cut at the own high watermark, ask nobody            (before 0.11)
    kip-101             ask the leader where my last epoch ends; cut there
    kip-279             the leader also names the epoch it speaks of; repeat until they match
    kip-320             the same, and every request carries the leader epoch and is fenced
    fetch-divergence    no question at all: the fetch names the last epoch, and the
                        leader answers where that epoch ends if the two logs differ
                        (KIP-595; what Kafka does since 2.7, our default)

The high watermark is no safe place to cut: it reaches a follower one fetch late, so
records above it may be committed (KIP-101, scenario 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.storage.log import Log

UNDEFINED = -1


@dataclass(frozen=True)
class TruncationRule:
    """What followers and leaders do under one published rule."""

    name: str
    cuts_to_high_watermark: bool = False
    asks_leader: bool = False
    names_epoch: bool = False
    fences_epoch: bool = False
    diverges_on_fetch: bool = False


RULES: dict[str, TruncationRule] = {
    rule.name: rule
    for rule in (
        TruncationRule("to-high-watermark", cuts_to_high_watermark=True),
        TruncationRule("kip-101", asks_leader=True),
        TruncationRule("kip-279", asks_leader=True, names_epoch=True),
        TruncationRule("kip-320", asks_leader=True, names_epoch=True, fences_epoch=True),
        TruncationRule("fetch-divergence", fences_epoch=True, diverges_on_fetch=True),
    )
}
DEFAULT_RULE = "fetch-divergence"


@dataclass(frozen=True, slots=True)
class Cut:
    """Truncate to `offset`; `done` if the logs agree below it for certain."""

    offset: int
    done: bool
    why: str


def end_of_epoch(log: Log, requested_epoch: int, leader_epoch: int) -> tuple[int, int]:
    """The leader's side: the largest epoch it has up to `requested_epoch`, and where it ends.

    `(UNDEFINED, UNDEFINED)` when the leader holds nothing that old.
    """
    if requested_epoch == leader_epoch:
        return leader_epoch, log.log_end_offset
    return log.end_offset_for_epoch(requested_epoch)


def where_to_cut(log: Log, leader_epoch: int, end_offset: int, high_watermark: int) -> Cut:
    """The follower's side: what to do with the leader's answer (epoch, end offset)."""
    own_end = log.log_end_offset
    if end_offset == UNDEFINED:
        return Cut(min(high_watermark, own_end), True, "the leader knows no such epoch")
    if leader_epoch == UNDEFINED:
        return Cut(min(end_offset, own_end), True, f"the leader's epoch ends at {end_offset}")
    own_epoch, own_epoch_end = log.end_offset_for_epoch(leader_epoch)
    if own_epoch == UNDEFINED:
        return Cut(min(end_offset, own_end), True, f"no epoch as old as {leader_epoch} here")
    if own_epoch != leader_epoch:
        why = f"epoch {leader_epoch} is unknown here; epoch {own_epoch} ends at {own_epoch_end}"
        return Cut(min(own_epoch_end, own_end), False, why)
    offset = min(own_epoch_end, end_offset, own_end)
    return Cut(offset, True, f"epoch {leader_epoch} ends at {end_offset} on the leader")
