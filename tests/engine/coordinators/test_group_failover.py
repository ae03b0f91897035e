"""The coordinator moves to another broker, and nothing that was acknowledged is lost."""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.classic.stored_group import GroupRecord, group_record, restore_group
from engine.coordinators.group_records import OFFSETS_LOG, decode_record
from engine.coordinators.offsets import OffsetRecord
from engine.coordinators.runtime.shard import encode_batch
from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors


def test_a_stable_group_goes_on_under_the_new_coordinator(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.commit_error(17, first, generation)
    before = groups.coordinator.snapshot()["g"]
    groups.lead(102)
    after = groups.coordinator.snapshot()["g"]
    assert after.pop("coordinator") == 102
    assert before.pop("coordinator") == 101
    for member in before["members"] + after["members"]:
        member.pop("session_ends_at")
    assert after == before
    assert groups.heartbeat(first, generation) == Errors.NONE
    assert groups.commit_error(18, second, generation) == Errors.NONE
    groups.lead(101)
    assert groups.committed() == 18


def test_members_that_do_not_find_the_new_coordinator_time_out_there(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.lead(102)
    groups.wait(6000)
    assert groups.heartbeat(first, generation) == Errors.NONE
    groups.wait(6000)
    assert groups.heartbeat(first, generation) == Errors.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(second, generation) == Errors.UNKNOWN_MEMBER_ID


def test_everything_that_waits_is_sent_to_the_new_coordinator(groups: Any):
    first, second, _ = groups.stable_pair()
    joining = groups.join(first)
    groups.join(second)
    follower = groups.sync(second, 2)
    groups.shared.holds = True
    committing = groups.commit(3, group="other")
    stuck = groups.sync(first, 2, {first: [0]})
    parked = groups.join(instance="x", group="third")
    groups.lead(102)
    for each in (follower, stuck, parked):
        assert groups.answers[each].error_code == Errors.NOT_COORDINATOR
    row = groups.answers[committing].topics[0].partitions[0]
    assert row.error_code == Errors.NOT_COORDINATOR
    assert joining in groups.answers
    assert not groups.waiting


def test_no_assignment_of_a_generation_is_given_that_a_successor_does_not_know(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.join(first)
    groups.join(second)
    groups.shared.holds = True
    given = groups.sync(first, generation + 1, {first: [0, 1, 2, 3]})
    groups.shared.lose_tail(True)
    groups.lead(102)
    assert groups.answers[given].error_code == Errors.NOT_COORDINATOR
    assert groups.coordinator.snapshot()["g"]["generation"] == generation
    assert groups.heartbeat(first, generation + 1) == Errors.ILLEGAL_GENERATION
    assert groups.heartbeat(first, generation) == Errors.NONE


def test_offsets_above_the_high_watermark_are_not_given_out_after_a_failover(groups: Any):
    groups.commit_error(17)
    groups.shared.holds = True
    groups.commit(18)
    groups.lead(102)
    asked = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=None)
    answer = groups.call(m.OffsetFetchRequest(groups=[asked])).groups[0]
    assert answer.error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS
    groups.shared.high_watermark = groups.shared.log.log_end_offset
    assert groups.committed() == 18


def test_a_late_word_about_a_write_of_a_former_term_changes_nothing(groups: Any):
    groups.shared.holds = True
    groups.commit(18)
    write, _ = groups.shared.under_way[0]
    groups.lead(102)
    groups.lead(101)
    write.stored(groups.now, Errors.NOT_LEADER_OR_FOLLOWER)
    groups.carry_out(101)
    groups.shared.high_watermark = groups.shared.log.log_end_offset
    assert groups.committed() == 18


def test_a_group_over_the_limit_rebalances_after_loading(make_groups: Any):
    groups = make_groups()
    groups.lead(101)
    first, second, _ = groups.stable_pair()
    groups.brokers[102].settings = type(groups.settings)({
        **groups.settings.static, "group.max.size": 1,
    })  # fmt: skip
    groups.lead(102)
    assert groups.state() == "PreparingRebalance"
    groups.join(second)
    assert groups.answers[groups.join(first)].error_code == Errors.GROUP_MAX_SIZE_REACHED


def test_the_log_reads_as_kafka_writes_it(groups: Any):
    first, _, generation = groups.stable_pair()
    groups.commit_error(17, first, generation)
    records = [each for data in groups.shared.log.batches for each in batch.decode_all(data)]
    decoded = [decode_record(each.key, each.value) for each in records]
    assert [type(each) for each in decoded] == [GroupRecord, GroupRecord, OffsetRecord]
    assert records[1].key == b"\x00\x02\x00\x01g"
    assert records[1].value[:2] == b"\x00\x03"
    assert records[2].key == b"\x00\x01\x00\x01g\x00\x06orders\x00\x00\x00\x00"
    assert records[2].value[:2] == b"\x00\x04"
    assert decode_record(b"\x00\x03\x00\x01g", b"") is None, "a group of the new protocol"


@pytest.mark.parametrize("key", [b"", b"k", b"\0\1\0\1g", b"\0\2\0\x7f"])
def test_what_is_no_record_is_passed_over(key: bytes):
    """An admin's tool may write to the topic; a broker that reads it must not fall over it."""
    assert decode_record(key, b"v") is None


RECORDED = {
    # as a Kafka 4.3.1 wrote them: an offset with its topic's id, a group of one static member
    "0001000673696d706c6500066f726465727300000000": (
        "0004000000000000000700000003026d000001a1fda9358a010010a461f9f475a841739b0392ae6c86c2d0"
    ),
    "0002000173": (
        "00030008636f6e73756d657200000001000572616e6765002769312d39306231366561312d323739322d3466"
        "35322d386264352d623864356336663432336639000001a1fda936cb00000001002769312d39306231366561"
        "312d323739322d346635322d386264352d623864356336663432336639000269310003636c69000a2f313237"
        "2e302e302e3100004e20000027100000001c00030000000100066f7264657273ffffffff00000000ffffffff"
        "ffff0000001a00030000000100066f72646572730000000100000000ffffffff"
    ),
}


@pytest.mark.parametrize("key", RECORDED)
def test_records_of_a_real_kafka_are_read_and_written_back_byte_by_byte(key: str):
    stored = bytes.fromhex(key), bytes.fromhex(RECORDED[key])
    record = decode_record(*stored)
    if isinstance(record, GroupRecord):
        group = restore_group(record.group, record.value)
        assert (group.state, group.static_members) == ("Stable", {"i1": group.leader})
        assert group.subscribed_topics == ("orders",)
        record = group_record(group, {each.id: each.assignment for each in group.members.values()})
    (written,) = batch.decode_all(encode_batch(OFFSETS_LOG, [record], 0, 0))
    assert (written.key, written.value) == stored


def test_the_whole_state_survives_a_pickle(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.join(first)
    groups.shared.holds = True
    groups.commit(4, second, generation)
    copy = groups.restored()
    for world in (groups, copy):
        world.replicate()
        world.join(second)
    assert copy.answers == groups.answers
    assert copy.timers == groups.timers
    assert copy.coordinator.snapshot() == groups.coordinator.snapshot()
    assert copy.coordinator.shards[0].groups() == groups.coordinator.shards[0].groups()
