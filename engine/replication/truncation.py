"""How a returning follower finds out where its log diverged from the leader's.

A follower may hold records that were never committed and that the new leader never
had.  They must go before it fetches on.  Kafka's rule was corrected several times; each
published version is here, so that an old bug can be run in today's code:

    to-high-watermark   cut at the own high watermark, without asking        (before 0.11)
    kip-101             ask the leader where my last epoch ends; cut there        (0.11)
    kip-279             the leader also names the epoch it speaks of; repeat until they
                        match                                                      (2.0)
    kip-320-first-try   no question: the fetch names the epoch of the last record, and the
                        leader answers where that epoch ends if the two logs differ; but
                        no request names the leader epoch               (never released)
    kip-320             as kip-279, and every question and every fetch carries the leader
                        epoch and is fenced by it                                  (2.1)
    fetch-divergence    the fetch names the last record's epoch, and is fenced
                        (KIP-595; what Kafka does since 2.7, our default)

The high watermark is no safe place to cut: it reaches a follower one fetch late, so
records above it may be committed (KIP-101, scenario 1).  The model
shows what is wrong with the others (engine/sim/model/rules.py), and engine/sim/model/replay.py
shows it in this code.

All rules speak today's protocol; a field that a rule does not know stays -1, as a broker
of those days would have read it: the leader epoch in requests (KIP-320), the epoch in the
answer to OffsetForLeaderEpoch (version 0, KIP-101), the last epoch in a fetch.  In one thing
all rules differ from old brokers: the ISR grows only by followers that have reached the start
of the leader's epoch (KAFKA-7128), which the model leaves to its last two rungs.
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
        TruncationRule("kip-320-first-try", diverges_on_fetch=True),
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
        return Cut(min(end_offset, own_end), True, f"no epoch as young as {leader_epoch} here")
    if own_epoch != leader_epoch:
        why = f"epoch {leader_epoch} is unknown here; epoch {own_epoch} ends at {own_epoch_end}"
        return Cut(min(own_epoch_end, own_end), False, why)
    offset = min(own_epoch_end, end_offset, own_end)
    return Cut(offset, True, f"epoch {leader_epoch} ends at {end_offset} on the leader")
