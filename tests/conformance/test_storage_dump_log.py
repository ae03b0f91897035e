"""Kafka's `DumpLogSegments` reads our files and finds nothing wrong with them."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.coordinators.runtime.shard import encode_batch
from engine.coordinators.transactions.metadata import TransactionMetadata
from engine.coordinators.transactions.states import TransactionState
from engine.coordinators.transactions.transaction_records import (
    TRANSACTIONS_LOG,
    TransactionRecord,
)
from engine.records import batch, compression, control
from engine.records.batch import Record, encode
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.real_disk import RealDisk
from kit import jars

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000

NO_COMPLAINT = re.compile(r"SLF4J|Non-consecutive offsets in |  -1 is followed by ")
"""The tool of 4.3 takes the first record of any segment but the first for a gap."""

Dump = Callable[..., str]


@pytest.fixture(scope="module")
def dump() -> Dump:
    """Runs the tool over files; its output, when it had nothing to complain about."""
    try:
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
        command += [jars.classpath(), "org.apache.kafka.tools.DumpLogSegments"]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))

    def run(files: list[Path], *options: str) -> str:
        done = subprocess.run(
            [*command, "--files", ",".join(map(str, files)), *options],
            capture_output=True,
            text=True,
            timeout=120,
        )
        complaints = [line for line in done.stderr.splitlines() if not NO_COMPLAINT.match(line)]
        assert (done.returncode, complaints) == (0, [])
        return done.stdout

    return run


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed log of three thousand records: all codecs, producers, a transaction, epochs."""
    root = tmp_path_factory.mktemp("disk")
    ids = random.Random(3)
    disk = RealDisk(root)
    log = Log(disk, "orders-0", LogConfig(segment_bytes=60_000, index_interval_bytes=1000), NOW)
    codecs = [codec for codec in range(5) if _has(codec)]
    for number in range(300):
        records = [
            Record(0, NOW_MS + ids.randrange(10_000), b"k%d" % n, b"v" * 100, (("h", b"1"),))
            for n in range(10)
        ]
        data = encode(
            records,
            compression=ids.choice(codecs) if number % 2 else 0,
            producer_id=7,
            producer_epoch=0,
            base_sequence=10 * number,
            transactional=True,
        )
        log.append_as_leader(data, number // 100, NOW)
    log.truncate_to(2500)
    marker = control.end_transaction(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=1, timestamp=NOW_MS
    )
    log.append_as_leader(marker, 4, NOW, "coordinator")
    log.close()
    disk.close()
    return root / "orders-0"


def _has(codec: int) -> bool:
    try:
        compression.compress(codec, b"")
    except Exception:
        return False
    return True


def test_the_log_reads_record_by_record(dump: Dump, directory: Path) -> None:
    logs = sorted(directory.glob("*.log"))
    assert len(logs) > 2
    output = dump(logs, "--deep-iteration", "--print-data-log")
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", output, re.MULTILINE)]
    assert offsets == list(range(2501))
    assert "isvalid: false" not in output
    assert "invalid bytes" not in output
    assert "endTxnMarker: COMMIT coordinatorEpoch: 1" in output
    assert len(re.findall(r"partitionLeaderEpoch: 1 ", output)) == 100


@pytest.mark.parametrize("option", ["--index-sanity-check", "--verify-index-only"])
def test_the_indexes_are_sane_and_agree_with_the_log(
    dump: Dump, directory: Path, option: str
) -> None:
    indexes = sorted(directory.glob("*index"))
    assert all(index.stat().st_size for index in indexes)
    output = dump(indexes, option)
    if option == "--index-sanity-check":
        assert output.count("passed sanity check.") == len(indexes)


def test_the_producers_snapshots_read(dump: Dump, directory: Path) -> None:
    snapshots = sorted(directory.glob("*.snapshot"))
    output = dump(snapshots)
    assert output.count("producerId: 7 producerEpoch: 0") == len(snapshots)
    last = output.splitlines()[-1]
    assert "coordinatorEpoch: 1 currentTxnFirstOffset: OptionalLong.empty" in last
    assert "lastSequence: 2499 lastOffset: 2499 offsetDelta: 9" in last


def test_the_records_of_transactional_ids_read(dump: Dump, tmp_path: Path) -> None:
    whole = TransactionMetadata(
        7, 5, 60_000, 30, TransactionState.PREPARE_COMMIT, (("orders", 0), ("orders", 2)), 20
    )
    records = [TransactionRecord("t", whole, version) for version in (0, 1)]
    records.append(TransactionRecord("u", None))
    data = batch.assign(encode_batch(TRANSACTIONS_LOG, records, 1_000, 0), 0, 0)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    output = dump([path], "--transaction-log-decoder")
    for part in ('"transactionalId":"t"', '"producerId":7', '"producerEpoch":5',
                 '"transactionStatus":2', '"partitionIds":[0,2]'):  # fmt: skip
        assert output.count(part) == 2, part
    assert '{"transactionalId":"u"}} payload: <DELETE>' in output
