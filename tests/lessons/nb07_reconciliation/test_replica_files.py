"""One replica's files: copied, and read by Kafka's tool and by ours alike."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.records import batch
from engine.records.record import Record
from kit import jars
from kit.clusters import files
from kit.clusters.interface import NotOffered
from lessons.nb07_reconciliation import replica_files
from lessons.nb07_reconciliation.replica_files import ReplicaFiles


@pytest.fixture
def replica(tmp_path: Path) -> ReplicaFiles:
    """Offsets 0 and 1 in epoch 0, offset 2 in epoch 3."""
    log = tmp_path / "orders-0"
    log.mkdir()
    first = batch.encode(
        [Record(0, 0, None, b"A", ()), Record(1, 0, None, b"B", ())], base_offset=0, leader_epoch=0
    )
    second = batch.encode([Record(2, 0, None, b"C", ())], base_offset=2, leader_epoch=3)
    (log / "00000000000000000000.log").write_bytes(first + second)
    (log / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 2\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\norders 1 9\norders 0 1\n")
    return ReplicaFiles(101, "orders", 0, tmp_path)


def require_java() -> None:
    try:
        jars.java()
        jars.classpath()
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))


def test_checkpoints_are_shown_as_they_stand(replica: ReplicaFiles) -> None:
    assert replica.epochs == ["0 0", "3 2"]
    assert replica.high_watermark == 1
    assert ReplicaFiles(101, "absent", 0, replica.directory).high_watermark is None
    assert ReplicaFiles(101, "absent", 0, replica.directory).epochs == []


def test_kafkas_tool_and_our_reader_agree(
    replica: ReplicaFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_java()
    expected = [["0 A (epoch 0)", "1 B (epoch 0)", "2 C (epoch 3)"]]
    assert replica_files.dump([replica]) == expected
    assert replica_files.reader() == "DumpLogSegments"
    monkeypatch.setenv("KAFKA_JARS", str(replica.directory))
    assert replica_files.records([replica]) == expected
    assert replica_files.reader() == "the engine's reader"


def test_a_flipped_bit_is_a_complaint(replica: ReplicaFiles) -> None:
    require_java()
    data = bytearray(replica.segments[0].read_bytes())
    data[-2] ^= 1
    replica.segments[0].write_bytes(data)
    with pytest.raises(ValueError, match="not valid"):
        replica_files.dump([replica])


def test_files_that_cannot_be_read_from_here_are_refused_with_a_remedy() -> None:
    elsewhere: Any = SimpleNamespace(name="docker")
    with pytest.raises(NotOffered, match=r"docker .*KAFKALAB_REAL=local"):
        replica_files.data_dir(elsewhere, 101)


def test_our_reader_is_the_snapshots(replica: ReplicaFiles) -> None:
    log = files.read_log(str(replica.directory), ("orders", 0), tail=10)
    assert log is not None
    assert log["high_watermark"] == replica.high_watermark
