"""Our log beside Kafka's own `UnifiedLog`: the same calls, the same answers, the same files.

One JVM runs `StorageOracle.java`.  Each side has a directory of its own; at the end either
side opens the other's.
"""

from __future__ import annotations

import base64
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.records import control
from engine.records.batch import Record, assign, encode, iterate
from engine.storage import checkpoints
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed
from engine.storage.log_validator import Origin
from engine.storage.real_disk import RealDisk
from engine.wire import uuids
from engine.wire.errors import KafkaError
from kit import jars
from kit.segment_panel import lookups
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import look

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000
SEGMENT_BYTES, INDEX_INTERVAL = 900, 200
KAFKAS_CONFIG = f"internal.segment.bytes={SEGMENT_BYTES} index.interval.bytes={INDEX_INTERVAL}"
CONFIG = LogConfig(
    segment_bytes=SEGMENT_BYTES,
    index_interval_bytes=INDEX_INTERVAL,
    retention_ms=-1,
    producer_id_expiration_ms=1 << 60,
)

Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Ask]:
    """Tells Kafka's log one line and gives its answer."""
    try:
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
        command += [jars.classpath(), str(Path(__file__).with_name("StorageOracle.java"))]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def ask(line: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline().rstrip("\n")

    yield ask
    process.communicate()


def state(log: Log) -> str:
    """As the oracle prints it."""
    epochs = ",".join(f"{epoch}:{start}" for epoch, start in log.epochs.entries)
    bases = ",".join(map(str, log.segments.base_offsets))
    producers = ",".join(f"{pid}={p.last_sequence}" for pid, p in sorted(log.producers))
    return (
        f"start={log.log_start_offset} end={log.log_end_offset} size={log.size_in_bytes} "
        f"epochs={epochs} segments={bases} producers={{{producers}}}"
    )


class Pair:
    """Our log and Kafka's, kept in step; every answer is compared."""

    def __init__(self, kafka: Ask, folder: Path) -> None:
        self.kafka = kafka
        self.disk = RealDisk(folder / "ours")
        self.theirs = folder / "theirs"
        self.open(clean=False)

    def open(self, clean: bool, log_start: int = 0) -> None:
        known = Checkpointed(clean, 0, log_start)
        self.log = Log(self.disk, "orders-0", CONFIG, NOW, known)
        directory = self.theirs / "orders-0"
        answer = self.kafka(
            f"open {directory} {str(clean).lower()} {log_start} 0 {KAFKAS_CONFIG} retention.ms=-1"
        )
        assert state(self.log) == answer

    def append(self, data: bytes, epoch: int, origin: Origin = "client") -> str:
        if epoch != self.log.latest_epoch:
            end = self.log.log_end_offset
            self.both(f"lead {epoch}", lambda: self.log.epochs.assign(epoch, end))
        try:
            info = self.log.append_as_leader(data, epoch, NOW, origin)
            ours = f"{info.base_offset} {info.last_offset}"
        except KafkaError as error:
            ours = f"error {error.code.name}"
        theirs = self.kafka(f"append {epoch} {origin.upper()} {base64.b64encode(data).decode()}")
        if ours.startswith("error"):
            theirs = " ".join(theirs.split()[:2])
        assert ours == theirs
        # Kafka makes room for a batch before it asks whether the producer may write it.
        if f"segments={','.join(map(str, self.log.segments.base_offsets))} " not in (
            answer := self.kafka("state")
        ):
            self.log.roll()
        assert state(self.log) == answer
        return ours

    def follow(self, data: bytes, epoch: int) -> None:
        info = self.log.append_as_follower(data)
        theirs = self.kafka(f"follow {epoch} {base64.b64encode(data).decode()}")
        assert f"{info.base_offset} {info.last_offset}" == theirs

    def both(self, line: str, ours: Callable[[], object]) -> None:
        ours()
        assert state(self.log) == self.kafka(line)

    def compare_lookups(self) -> None:
        for epoch in range(-1, self.log.latest_epoch + 2):
            found = "{} {}".format(*self.log.end_offset_for_epoch(epoch))
            assert found == self.kafka(f"epoch {epoch}")
        for timestamp in range(NOW_MS - 1, NOW_MS + 60, 7):
            answer = self.log.offset_for_timestamp(timestamp)
            found = "none" if answer is None else "{} {} {}".format(*answer)
            assert found == self.kafka(f"timestamp {timestamp}")
        if self.log.size_in_bytes:
            assert "{} {} {}".format(*self.log.max_timestamp()) == self.kafka("timestamp -3")

    def compare_files(self) -> None:
        self.log.close()
        assert self.kafka("close") == "closed"
        ours = contents(Path(self.disk.root) / "orders-0")
        theirs = contents(self.theirs / "orders-0")
        # Kafka writes a snapshot of the producers at each truncation, too.
        for name in set(theirs) - set(ours):
            assert name.endswith(".snapshot")
            del theirs[name]
        assert ours == theirs


def contents(directory: Path) -> dict[str, bytes]:
    """Files with something in them: Kafka makes an index only when it has an entry."""
    found = {path.name: path.read_bytes() for path in directory.iterdir()}
    return {name: data for name, data in sorted(found.items()) if data}


def batch(ids: random.Random, sequences: dict[int, int], epoch_of: dict[int, int]) -> bytes:
    count = ids.randint(1, 4)
    records = [
        Record(0, NOW_MS + ids.randrange(50), None, b"v" * ids.randrange(60)) for _ in range(count)
    ]
    producer_id = ids.choice((-1, -1, 7, 8))
    if producer_id < 0:
        return encode(records, compression=ids.choice((0, 0, 1)))
    sequence = sequences.get(producer_id, 0)
    if ids.random() < 0.1:
        sequence += ids.choice((-2, -1, 1))
    elif ids.random() < 0.1:
        epoch_of[producer_id] += ids.choice((-1, 1))
        sequence = 0
    data = encode(
        records,
        producer_id=producer_id,
        producer_epoch=max(epoch_of[producer_id], 0),
        base_sequence=max(sequence, 0),
    )
    sequences[producer_id] = max(sequence, 0) + count
    return data


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_leave_the_same_files(kafka: Ask, tmp_path: Path, seed: int) -> None:
    ids = random.Random(seed)
    pair = Pair(kafka, tmp_path)
    sequences: dict[int, int] = {}
    epoch_of = {7: 1, 8: 1}
    epoch = 0
    sent: list[bytes] = []
    for _ in range(60):
        choice = ids.random()
        end = pair.log.log_end_offset
        if choice < 0.7:
            data = batch(ids, sequences, epoch_of)
            sent.append(data)
            pair.append(data, epoch)
        elif choice < 0.8 and sent:
            pair.append(ids.choice(sent[-6:]), epoch)
        elif choice < 0.86:
            epoch += 1
        elif choice < 0.9:
            pair.both("roll", pair.log.roll)
        elif choice < 0.95 and end:
            bases = [h.base_offset for s in pair.log.segments for h, _ in s.headers(0)]
            cut = ids.choice([b for b in bases if b >= pair.log.log_start_offset] or [end])
            pair.both(f"truncate {cut}", lambda cut=cut: pair.log.truncate_to(cut))
        elif choice < 0.98:
            start = ids.randint(pair.log.log_start_offset, min(pair.log.log_start_offset + 4, end))
            pair.both(f"advance {start}", lambda start=start: pair.log.advance_log_start(start))
        else:
            start = end + ids.randrange(3)
            pair.both(
                f"restart {start}", lambda start=start: pair.log.truncate_fully_and_start_at(start)
            )
    assert state(pair.log) == kafka("state")
    pair.compare_lookups()
    pair.compare_files()


@pytest.mark.parametrize("codec", [0, 1], ids=["plain", "gzip"])
def test_records_without_a_timestamp_are_stored_alike(
    kafka: Ask, tmp_path: Path, codec: int
) -> None:
    """The largest timestamp in the header is the producer's: librdkafka writes 0."""
    pair = Pair(kafka, tmp_path)
    for timestamps in ((-1, -1), (-1, NOW_MS), (NOW_MS, -1), (-1,)):
        records = [Record(0, each, None, b"v") for each in timestamps]
        pair.append(assign(encode(records, compression=codec), 0, -1, max_timestamp=0), 0)
    pair.compare_lookups()
    pair.compare_files()


class Transactions:
    """Producers 7, 8 and 9 write in transactions, and a coordinator ends them, at random."""

    def __init__(self, pair: Pair, ids: random.Random) -> None:
        self.pair = pair
        self.ids = ids
        self.sequences: dict[int, int] = {}
        self.high_watermark = 0

    def write(self, epoch: int) -> None:
        producer_id = self.ids.choice((-1, 7, 8, 9))
        records = [Record(0, NOW_MS, None, b"v" * self.ids.randrange(80))] * self.ids.randint(1, 3)
        if producer_id < 0:
            self.pair.append(encode(records), epoch)
            return
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + len(records)
        data = encode(
            records,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=True,
        )
        self.pair.append(data, epoch)

    def end(self, epoch: int) -> None:
        marker = control.end_transaction(
            commit=self.ids.random() < 0.5,
            producer_id=self.ids.choice((7, 8, 9)),
            producer_epoch=0,
            coordinator_epoch=3,
            timestamp=NOW_MS,
        )
        self.pair.append(marker, epoch, "coordinator")

    def cut(self) -> None:
        log = self.pair.log
        bases = [header.base_offset for each in log.segments for header, _ in each.headers(0)]
        cut = self.ids.choice(bases[-8:])
        self.pair.both(f"truncate {cut}", lambda: log.truncate_to(cut))
        # A producer's next batch follows what the log has of it.
        self.sequences = {pid: state.last_sequence + 1 for pid, state in log.producers}

    def compare(self) -> None:
        """The last stable offset below a high watermark, and what is read up to it."""
        log = self.pair.log
        end = log.log_end_offset
        lowest = min(max(self.high_watermark, end - 6), end)
        high_watermark = self.high_watermark = self.ids.randint(lowest, end)
        log.producers.replicated_up_to(high_watermark)
        stable = log.last_stable_offset(high_watermark)
        assert str(stable) == self.pair.kafka(f"stable {high_watermark}")
        offset = self.ids.randint(log.log_start_offset, stable)
        found = log.slice(offset, 300, stable)
        if found is None:
            return
        headers = [header for header, _ in iterate(found.read())]
        ours = [
            f"{each.producer_id}@{each.first_offset}" for each in log.aborted_transactions(found)
        ]
        # Kafka cuts a slice anywhere, so it is asked for as many bytes as whole batches have.
        batches, _, theirs = self.pair.kafka(f"committed {offset} {len(found)}").partition(
            "aborted "
        )
        assert [each.base_offset for each in headers] == [int(each) for each in batches.split()]
        # Both take a few that begin behind the slice along; Kafka more where an entry of the
        # offset index is exactly at its end.
        more = [each for each in theirs.split(",") if each and each not in ours]
        assert [each for each in theirs.split(",") if each and each not in more] == ours
        assert all(int(each.partition("@")[2]) > headers[-1].last_offset for each in more)


@pytest.mark.parametrize("seed", range(5))
def test_random_transactions_leave_the_same_index_and_show_the_same(
    kafka: Ask, tmp_path: Path, seed: int
) -> None:
    ids = random.Random(seed)
    pair = Pair(kafka, tmp_path)
    transactions = Transactions(pair, ids)
    epoch = 0
    for _ in range(80):
        choice = ids.random()
        if choice < 0.6 or not pair.log.log_end_offset:
            transactions.write(epoch)
        elif choice < 0.9:
            transactions.end(epoch)
        elif choice < 0.93:
            epoch += 1
        elif choice < 0.96:
            pair.both("roll", pair.log.roll)
        elif pair.log.size_in_bytes:
            transactions.cut()
        transactions.compare()
    pair.compare_files()
    assert any(each.transaction_index.size for each in pair.log.segments)
    pair.disk.close()
    pair.disk = RealDisk(pair.disk.root)
    pair.open(clean=False)
    transactions.compare()
    pair.compare_files()


@pytest.mark.parametrize("version", [1, 2])
def test_both_take_and_refuse_the_same_markers(kafka: Ask, tmp_path: Path, version: int) -> None:
    pair = Pair(kafka, tmp_path)
    kafka(f"transaction-version {version}")
    pair.both("lead 0", lambda: pair.log.epochs.assign(0, 0))

    def append(data: bytes, origin: Origin) -> str:
        try:
            bumps = version == 2
            info = pair.log.append_as_leader(data, 0, NOW, origin, marker_bumps=bumps)
            ours = f"{info.base_offset} {info.last_offset}"
        except KafkaError as error:
            ours = f"error {error.code.name}"
        theirs = kafka(f"append 0 {origin.upper()} {base64.b64encode(data).decode()}")
        assert ours == " ".join(theirs.split()[:2])
        return ours.split()[0]

    def data(epoch: int) -> str:
        record = [Record(0, NOW_MS, None, b"v")]
        return append(
            encode(
                record, producer_id=7, producer_epoch=epoch, base_sequence=0, transactional=True
            ),
            "client",
        )

    def marker(epoch: int, coordinator_epoch: int = 3) -> str:
        return append(
            control.end_transaction(
                commit=True,
                producer_id=7,
                producer_epoch=epoch,
                coordinator_epoch=coordinator_epoch,
                timestamp=NOW_MS,
            ),
            "coordinator",
        )

    answers = [data(0), marker(0), marker(1), marker(1), data(1), marker(1), data(0)]
    answers += [marker(2, 2), marker(2), marker(1)]
    assert answers.count("error") >= 3
    kafka("transaction-version 1")


@pytest.mark.parametrize("clean", [True, False])
def test_each_opens_the_others_files(kafka: Ask, tmp_path: Path, clean: bool) -> None:
    ids = random.Random(5)
    pair = Pair(kafka, tmp_path)
    sequences: dict[int, int] = {}
    for number in range(40):
        pair.append(batch(ids, sequences, {7: 1, 8: 1}), number // 9)
    marker = control.end_transaction(
        commit=True, producer_id=9, producer_epoch=0, coordinator_epoch=3, timestamp=NOW_MS
    )
    pair.append(marker, 4, "coordinator")
    pair.compare_files()
    shutil.move(tmp_path / "ours", tmp_path / "swap")
    shutil.move(tmp_path / "theirs", tmp_path / "ours")
    shutil.move(tmp_path / "swap", tmp_path / "theirs")
    pair.disk = RealDisk(tmp_path / "ours")
    pair.open(clean)
    assert pair.log.recovered.cuts == ()
    pair.append(batch(ids, sequences, {7: 1, 8: 1}), 5)
    pair.compare_lookups()
    pair.compare_files()


def test_both_cut_the_same_torn_tail(kafka: Ask, tmp_path: Path) -> None:
    pair = Pair(kafka, tmp_path)
    for number in range(30):
        pair.append(encode([Record(0, NOW_MS, None, b"%d" % number)]), number // 8)
    pair.compare_files()
    for directory in (Path(pair.disk.root), pair.theirs):
        last = max((directory / "orders-0").glob("*.log"))
        last.write_bytes(last.read_bytes()[:-5])
    pair.disk.close()
    pair.disk = RealDisk(pair.disk.root)
    pair.open(clean=False)
    assert pair.log.recovered.cuts[0].is_torn_tail
    pair.compare_files()


def test_both_take_what_a_leader_sends(kafka: Ask, tmp_path: Path) -> None:
    leader = Log(RealDisk(tmp_path / "leader"), "orders-0", LogConfig(), NOW)
    for epoch, count in ((0, 3), (0, 1), (2, 2), (5, 4)):
        records = [Record(0, NOW_MS + n, b"k", b"v" * 20) for n in range(count)]
        leader.append_as_leader(encode(records), epoch, NOW)
    pair = Pair(kafka, tmp_path)
    fetched = leader.read(0, 1 << 20)
    pair.follow(fetched, 5)
    assert state(pair.log) == kafka("state")
    pair.compare_lookups()


def test_the_segment_panel_reads_the_files_of_an_open_kafka_log(kafka: Ask, tmp_path: Path) -> None:
    """Its indexes hold room for more entries; the look-ups in them are those of our log."""
    pair = Pair(kafka, tmp_path)
    for number in range(60):
        records = [Record(0, NOW_MS + number, b"k", b"v" * 20) for _ in range(1 + number % 3)]
        pair.append(encode(records, compression=number % 2), number // 20)
    replica = look(Folder(pair.theirs), "orders-0")
    assert [each.base_offset for each in replica.segments] == pair.log.segments.base_offsets
    assert (replica.log_end, replica.notes) == (pair.log.log_end_offset, ())
    assert list(replica.epochs) == pair.log.epochs.entries
    assert any("bytes of zeros" in file.says for file in replica.segments[-1].files)
    probed = 0
    for offset in range(pair.log.log_end_offset):
        found, ours = lookups.of_offset(replica, offset), pair.log.segments.from_offset(offset)[0]
        assert (found.segment, found.position) == (ours.base_offset, ours.find(offset)[0])
        probed += sum(step.kind == "probe" for step in found.steps)
    assert probed > 50
    for timestamp in range(NOW_MS - 2, NOW_MS + 60):
        answer = pair.log.offset_for_timestamp(timestamp)
        assert lookups.of_timestamp(replica, timestamp).offset == (answer[0] if answer else -1)


BAD: list[tuple[str, dict[str, Any]]] = [
    ("offsets not from 0", {"base_offset": 3}),
    ("control batch", {"control": True}),
    ("no sequence", {"producer_id": 7, "producer_epoch": 0}),
]


@pytest.mark.parametrize(("name", "fields"), BAD, ids=[name for name, _ in BAD])
def test_both_refuse_with_the_same_error(
    kafka: Ask, tmp_path: Path, name: str, fields: dict[str, Any]
) -> None:
    pair = Pair(kafka, tmp_path)
    answer = pair.append(encode([Record(0, NOW_MS, None, b"v")], **fields), 0)
    assert answer.startswith("error INVALID_RECORD")


def test_both_refuse_damage_size_and_timestamps_alike(kafka: Ask, tmp_path: Path) -> None:
    pair = Pair(kafka, tmp_path)
    good = encode([Record(0, NOW_MS, None, b"v")])
    assert pair.append(good[:-1] + b"?", 0) == "error CORRUPT_MESSAGE"
    too_long = encode([Record(0, NOW_MS, None, b"v" * 1000)])
    assert pair.append(too_long, 0) == "error RECORD_LIST_TOO_LARGE"
    huge = encode([Record(0, NOW_MS, None, b"v" * (1 << 20))])
    assert pair.append(huge, 0) == "error MESSAGE_TOO_LARGE"
    far_ahead = encode([Record(0, 1 << 50, None, b"v")])
    assert pair.append(far_ahead, 0) == "error INVALID_TIMESTAMP"
    assert pair.append(good, 0) == "0 0"


def test_kafka_reads_our_small_files(kafka: Ask, tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    topic_id = bytes(range(16))
    checkpoints.write_offsets(disk, checkpoints.HIGH_WATERMARKS, {("orders", 0): 7, ("a", 1): 8})
    checkpoints.write_topic_id(disk, "orders-0", topic_id)
    checkpoints.write_clean_shutdown(disk, 42)
    mine = checkpoints.MetaProperties("4L6g3nShT-eMCtK--X86sw", 101, uuids.to_text(topic_id))
    checkpoints.write_meta_properties(disk, mine)
    assert kafka(f"offsets {tmp_path}/replication-offset-checkpoint") == "{a-1=8, orders-0=7}"
    assert kafka(f"topic-id {tmp_path}/orders-0/partition.metadata") == uuids.to_text(topic_id)
    assert kafka(f"clean {tmp_path}") == "true 42"
    assert kafka(f"meta {tmp_path}") == f"{mine.cluster_id} 101 {mine.directory_id}"
