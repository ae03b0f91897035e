"""What the controllers say to each other, in words.

    prevote, vote        pre-vote for 200?; vote for 200 in epoch 2?
    granted, denied      yes, epoch 2; no, epoch 2
    refused              no: epoch 3, 300 leads
    begin, ok            200 leads epoch 2; ok
    end                  200 resigns from epoch 2: 300, 100 next
    fetch                fetch from 15, after epoch 1
    fetched, idle        records 15–16, HW 15; HW 17
    diverging            epoch 1 ends at 15

A fetch is also how a follower reports how far it is: below its offset it has everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.quorum import raft_messages
from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.probes.messages import Message

HEARD = "heard"
STEPS = ("prevote", "denied")
"""Messages whose arrival is a step, though it changes nothing there."""


def asked(body: Any) -> Iterator[Message]:
    """What a request from one controller to another says."""
    part = raft_messages.partition_of(body)
    if part is None:
        return
    match body:
        case m.VoteRequest():
            yield _vote(part)
        case m.BeginQuorumEpochRequest():
            yield Message(0, "begin", f"{part.leader_id} leads epoch {part.leader_epoch}")
        case m.EndQuorumEpochRequest():
            named = " ".join(str(each.candidate_id) for each in part.preferred_candidates)
            says = f"{part.leader_id} resigns from epoch {part.leader_epoch}: {named} next"
            yield Message(0, "end", says)
        case m.FetchRequest():
            after = f", after epoch {part.last_fetched_epoch}" if part.fetch_offset > 0 else ""
            yield Message(0, "fetch", f"fetch from {part.fetch_offset}{after}")


def _vote(part: Any) -> Message:
    if part.pre_vote:
        return Message(0, "prevote", f"pre-vote for {part.replica_id}?")
    return Message(0, "vote", f"vote for {part.replica_id} in epoch {part.replica_epoch}?")


def answered(body: Any) -> Iterator[Message]:
    """What an answer says."""
    found = raft_messages.answered_partition(body)
    if found is None:
        return
    error, epoch, leader, part = found
    known = f"{leader} leads" if leader >= 0 else "no leader known"
    if error is not Errors.NONE:
        yield Message(0, "refused", f"no: epoch {epoch}, {known}")
        return
    match body:
        case m.VoteResponse():
            kind, word = ("granted", "yes") if part.vote_granted else ("denied", "no")
            yield Message(0, kind, f"{word}, epoch {epoch}")
        case m.FetchResponse():
            yield _fetched(part)
        case _:
            yield Message(0, "ok", "ok")


def _fetched(part: Any) -> Message:
    if part.diverging_epoch is not None and part.diverging_epoch.end_offset >= 0:
        ends = f"epoch {part.diverging_epoch.epoch} ends at {part.diverging_epoch.end_offset}"
        return Message(0, "diverging", ends)
    headers = [header for header, _ in batch.iterate(part.records or b"")]
    mark = f"HW {part.high_watermark}"
    if not headers:
        return Message(0, "idle", mark)
    base, last = headers[0].base_offset, headers[-1].last_offset
    which = f"record {base}" if base == last else f"records {base}–{last}"
    return Message(0, "fetched", f"{which}, {mark}", offset=base)
