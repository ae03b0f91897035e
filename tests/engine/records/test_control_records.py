"""Control records: transaction markers and the quorum's own records."""

from __future__ import annotations

import pytest

from engine.records import batch, control
from engine.records.batch import CorruptBatch, Record
from engine.records.control import ControlType
from engine.wire import messages as m


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_ends_one_producers_transaction(commit: bool) -> None:
    marker = control.end_transaction(
        commit=commit, producer_id=9, producer_epoch=2, coordinator_epoch=5, timestamp=77
    )
    header = batch.validate(marker)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch) == (9, 2)
    [record] = batch.decode(marker)
    assert control.control_type(record) == (ControlType.COMMIT if commit else ControlType.ABORT)
    assert control.read(record) == m.EndTxnMarker(coordinator_epoch=5)
    # Version 0, type; then version 0 and the coordinator's epoch: Kafka's layout.
    assert (record.key, record.value) == (bytes([0, 0, 0, commit]), bytes.fromhex("000000000005"))


def test_a_leader_change_says_who_leads() -> None:
    voters = [m.LeaderChangeMessage.Voter(voter_id=100)]
    message = m.LeaderChangeMessage(version=0, leader_id=100, voters=voters, granting_voters=voters)
    written = control.quorum([message], timestamp=1, base_offset=8, leader_epoch=3)
    [record] = batch.decode(written)
    assert record.offset == 8
    assert control.read(record) == message
    assert not batch.read_header(written).is_transactional


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\0\0\0\x63"])
def test_a_key_that_names_no_type_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch, match="at offset 4 is no control record"):
        control.control_type(Record(4, 0, key, b""))


def test_a_value_that_is_cut_off_is_corrupt() -> None:
    with pytest.raises(CorruptBatch, match="COMMIT at offset 4"):
        control.read(Record(4, 0, b"\0\0\0\1", b"\0\0\0"))
