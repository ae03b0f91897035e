"""Offsets in an open transaction: pending, kept by a commit marker, forgotten by an abort."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from engine.coordinators.classic.offset_rules import check_transactional_commit
from engine.coordinators.group_records import StoredRecord
from engine.coordinators.offsets import (
    CommittedOffset,
    OffsetRecord,
    Offsets,
    PendingOffset,
    TransactionEnd,
)
from engine.coordinators.runtime.shard import Producer
from engine.records import batch, control
from engine.wire import messages as m
from engine.wire.errors import Errors

HERE = ("orders", 0)
HOUR_MS = 3_600_000


def commit(offset: int) -> OffsetRecord:
    return OffsetRecord("g", *HERE, CommittedOffset(offset, 5, "", 1_800_000_000_000))


def offset_of(offsets: Offsets) -> int | None:
    found = offsets.of("g").get(HERE)
    return None if found is None else found.offset


class Heard:
    def __init__(self) -> None:
        self.errors: list[Errors] = []

    def stored(self, now: int, error: Errors) -> None:
        self.errors.append(error)


def write(groups: Any, offset: int, producer_id: int = 7) -> Heard:
    """A commit in the producer's transaction."""
    heard = Heard()
    records: list[StoredRecord] = [commit(offset)]
    shard = groups.coordinator.shards[0]
    shard.log.store(groups.now, records, heard, Producer(producer_id, 0))
    return heard


def end(groups: Any, committed: bool, producer_id: int = 7) -> Heard:
    heard = Heard()
    marker = control.end_transaction(
        commit=committed, producer_id=producer_id, producer_epoch=0, coordinator_epoch=3,
        timestamp=groups.now // 1000,
    )  # fmt: skip
    shard = groups.coordinator.shards[0]
    shard.log.end_transaction(groups.now, marker, producer_id, committed, False, heard)
    return heard


def stable_error(groups: Any) -> Errors:
    """What a fetch with require_stable is answered for this partition."""
    request = m.OffsetFetchRequest
    topic = request.OffsetFetchRequestTopics(topic_id=bytes([1] * 16), partition_indexes=[0])
    asked = request.OffsetFetchRequestGroup(group_id="g", topics=[topic])
    answer = groups.call(request(groups=[asked], require_stable=True)).groups[0]
    return Errors(answer.topics[0].partitions[0].error_code)


# -- the rule


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ([commit(1), PendingOffset(7, commit(2))], 1),
        ([commit(1), PendingOffset(7, commit(2)), TransactionEnd(7, True)], 2),
        ([commit(1), PendingOffset(7, commit(2)), TransactionEnd(7, False)], 1),
        ([PendingOffset(7, commit(2)), TransactionEnd(8, True)], None),
        ([PendingOffset(7, commit(2)), commit(3), TransactionEnd(7, True)], 3),
        (
            [PendingOffset(7, commit(2)), PendingOffset(8, commit(3)),
             TransactionEnd(8, True), TransactionEnd(7, True)], 3,
        ),
        (
            [PendingOffset(7, commit(2)), OffsetRecord("g", *HERE, None), TransactionEnd(7, True)],
            None,
        ),
        ([PendingOffset(7, commit(2)), PendingOffset(7, commit(4)), TransactionEnd(7, True)], 4),
    ],
    ids=["open", "committed", "aborted", "another producer's end", "a later commit stays",
         "the later of two transactions stays", "removed while pending", "the last of one"],
)  # fmt: skip
def test_the_log_decides_by_its_order_and_its_markers(lines: list[Any], kept: int | None):
    offsets = Offsets()
    for line in lines:
        offsets.apply(line)
    assert offset_of(offsets) == kept


def test_pending_offsets_name_their_producers_until_the_end():
    offsets = Offsets()
    for producer_id in (7, 8):
        offsets.apply(PendingOffset(producer_id, commit(producer_id)))
    assert offsets.pending_of("g") == {HERE: [7, 8]}
    assert offsets.groups == ["g"]
    offsets.apply(TransactionEnd(7, False))
    assert offsets.pending_of("g") == {HERE: [8]}
    offsets.apply(OffsetRecord("g", *HERE, None))
    assert (offsets.pending_of("g"), offsets.groups) == ({}, [])


def test_what_is_on_its_way_counts_for_a_removal_and_changes_nothing_here():
    offsets = Offsets()
    offsets.apply(PendingOffset(7, commit(2)))
    written = offsets.written("g", [TransactionEnd(7, True), PendingOffset(8, commit(3))])
    assert (offset_of(written), written.pending_of("g")) == (2, {HERE: [8]})
    assert (offset_of(offsets), offsets.pending_of("g")) == (None, {HERE: [7]})


# -- in the coordinator


def test_a_stable_fetch_is_refused_until_the_marker_is_replicated(groups: Any):
    groups.commit_error(1)
    assert write(groups, 17).errors == [Errors.NONE]
    assert (groups.committed(), stable_error(groups)) == (1, Errors.UNSTABLE_OFFSET_COMMIT)
    groups.shared.holds = True
    ended = end(groups, committed=True)
    assert (ended.errors, groups.committed()) == ([], 1)
    groups.replicate()
    assert ended.errors == [Errors.NONE]
    assert (groups.committed(), stable_error(groups)) == (17, Errors.NONE)


def test_a_successor_reads_the_same_from_the_log(groups: Any):
    groups.commit_error(1)
    write(groups, 17, producer_id=7)
    write(groups, 18, producer_id=8)
    end(groups, committed=True, producer_id=7)
    groups.lead(102)
    assert (groups.committed(), stable_error(groups)) == (17, Errors.UNSTABLE_OFFSET_COMMIT)
    end(groups, committed=False, producer_id=8)
    groups.lead(101)
    assert (groups.committed(), stable_error(groups)) == (17, Errors.NONE)


def test_the_pending_commit_of_an_unknown_group_makes_a_simple_one_for_a_successor(groups: Any):
    write(groups, 17)
    groups.lead(102)
    assert groups.state() == "Empty"


def test_an_open_transaction_keeps_its_group_and_its_offset_from_expiry(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=1)
    groups.lead(101)
    groups.commit_error(1)
    write(groups, 17)
    groups.wait(HOUR_MS)
    assert groups.committed() == 1
    end(groups, committed=False)
    groups.wait(HOUR_MS)
    assert (groups.committed(), groups.coordinator.shards[0].groups()) == (-1, [])


def test_a_group_without_offsets_waits_for_its_open_transaction(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=1)
    groups.lead(101)
    groups.commit_error(1, partition=1)
    write(groups, 17)
    groups.wait(HOUR_MS)
    assert (groups.committed(partition=1), groups.state()) == (-1, "Empty")
    end(groups, committed=True)
    assert groups.committed() == 17


def test_a_deleted_group_takes_its_pending_offsets_along(groups: Any):
    groups.commit_error(1)
    write(groups, 17)
    assert groups.call(m.DeleteGroupsRequest(["g"])).results[0].error_code == Errors.NONE
    end(groups, committed=True)
    assert groups.committed() == -1


def test_the_batches_are_those_of_a_transaction(groups: Any):
    write(groups, 17)
    end(groups, committed=True)
    data, marker = (batch.read_header(each) for each in groups.shared.log.batches[-2:])
    assert (data.producer_id, data.producer_epoch, data.base_sequence) == (7, 0, 0)
    assert data.is_transactional
    assert not data.is_control
    assert marker.is_control


def test_pending_offsets_survive_a_pickle(groups: Any):
    write(groups, 17)
    shard = groups.coordinator.shards[0]
    again = pickle.loads(pickle.dumps(shard.offsets))
    again.apply(TransactionEnd(7, True))
    assert offset_of(again) == 17


# -- the group's rules (KIP-447)


def test_a_transactional_commit_is_fenced_by_the_group_if_it_names_a_member(groups: Any):
    first, _, generation = groups.stable_pair()
    group = groups.coordinator.shards[0].group("g")
    answers = {
        "member": check_transactional_commit(group, first, None, generation),
        "older generation": check_transactional_commit(group, first, None, generation - 1),
        "unknown member": check_transactional_commit(group, "nobody", None, generation),
        "nobody": check_transactional_commit(group, "", None, -1),
        "no group": check_transactional_commit(None, "", None, -1),
        "no group, a member": check_transactional_commit(None, first, None, generation),
    }
    assert answers == {
        "member": Errors.NONE,
        "older generation": Errors.ILLEGAL_GENERATION,
        "unknown member": Errors.UNKNOWN_MEMBER_ID,
        "nobody": Errors.NONE,
        "no group": Errors.NONE,
        "no group, a member": Errors.ILLEGAL_GENERATION,
    }
