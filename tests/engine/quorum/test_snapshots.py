"""Snapshots of the metadata: written, found again, refused if damaged, copied by who is behind."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from engine.control.controller import Controller
from engine.events import Outbox
from engine.metadata import image_records, records, snapshot
from engine.metadata.image import MetadataImage
from engine.metadata.records import METADATA_DIRECTORY, encode_batch
from engine.metadata.snapshot import SnapshotId
from engine.quorum.raft_log import RaftLog
from engine.quorum.snapshots import Snapshots
from engine.records import batch
from engine.settings import Settings
from engine.sim.invariants.invariants import Violation
from engine.sim.world.world import World
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import CorruptBatch, Errors, KafkaError

NOW = 1_767_225_600_000_000
SMALL = {"metadata.log.max.record.bytes.between.snapshots": 4096}
CUT = {**SMALL, "internal.metadata.log.segment.bytes": 4096, "metadata.max.retention.bytes": 16384}
"""A snapshot every 4 KiB, segments of that size, and no more than 16 KiB in all."""


def world(controllers: int = 3, topics: int = 0, **settings: object) -> World:
    made = World(seed=7, controllers=controllers, rewindable=False, settings=settings or SMALL)
    add_topics(made, topics)
    return made


def add_topics(of: World, topics: int) -> None:
    known = len(of.image().topic_ids)
    for number in range(known, known + topics):
        of.create_topic(f"topic-{number}", partitions=2)


def active(of: World) -> Controller:
    found = of.cluster.controller
    assert found is not None
    return found


def follower(of: World) -> int:
    leader = active(of).node_id
    return next(each for each in of.cluster.spec.controllers if each != leader)


def files(of: World, node_id: int) -> list[str]:
    names = of.cluster.disks[node_id].list(METADATA_DIRECTORY)
    return [name for name in names if name.endswith(snapshot.SUFFIX)]


def same(one: MetadataImage, other: MetadataImage) -> bool:
    return list(image_records.records(one)) == list(image_records.records(other)) and (
        (one.offset, one.epoch) == (other.offset, other.epoch)
    )


def random_image(seed: int) -> MetadataImage:
    """As a run leaves it: topics made and deleted, configs, quotas, brokers that come and go."""
    made, chance = world(1), Random(seed)
    add_topics(made, chance.randrange(1, 6))
    made.kill(chance.choice((101, 102, 103)))
    made.run(for_s=chance.choice((0.5, 20)))
    image = active(made).image
    for record in (
        m.ConfigRecord(2, "topic-0", "retention.ms", str(chance.randrange(1000))),
        m.ConfigRecord(4, "", "log.cleaner.threads", "2"),
        m.ClientQuotaRecord(
            [m.ClientQuotaRecord.EntityData("client-id", None)], "producer_byte_rate", 5.0, False
        ),
        m.ProducerIdsRecord(101, 7, 1000 * chance.randrange(1, 9)),
        m.RegisterControllerRecord(100, bytes(16), False, [], []),
    ):
        image.apply(record)
    return image


# -- the file


@pytest.mark.parametrize("seed", range(3))
def test_the_records_of_an_image_give_that_image(seed: int) -> None:
    before = random_image(seed)
    which = SnapshotId(before.offset, before.epoch)
    after = MetadataImage(offset=before.offset, epoch=before.epoch)
    for record in snapshot.decode(snapshot.encode(which, image_records.records(before), 5, 9)):
        after.apply(record)
    assert after == before


@pytest.mark.parametrize("seed", range(3))
def test_what_differs_leads_from_one_image_to_another(seed: int) -> None:
    here, there = random_image(seed), random_image(seed + 10)
    for record in image_records.removals(here, there):
        here.apply(record)
    for record in image_records.additions(here, there):
        here.apply(record)
    assert sorted(map(repr, image_records.records(here))) == sorted(
        map(repr, image_records.records(there))
    )
    assert image_records.removals(here, there) == image_records.additions(here, there) == []


def test_many_records_come_in_batches_of_1024() -> None:
    records = [m.FeatureLevelRecord(f"feature-{number}", 1) for number in range(2500)]
    data = snapshot.encode(SnapshotId(9, 2), records, 5, 9)
    assert snapshot.decode(data) == records
    header = snapshot.header_of(data)
    assert header is not None
    assert header.last_contained_log_timestamp == 5


def damaged(how: str) -> bytes:
    data = snapshot.encode(SnapshotId(9, 2), [m.FeatureLevelRecord("group.version", 1)], 5, 9)
    size = len(data)
    match how:
        case "a flipped bit":
            return data[: size // 2] + bytes([data[size // 2] ^ 1]) + data[size // 2 + 1 :]
        case "cut inside its last batch":
            return data[:-3]
        case "cut between two batches":
            return data[: data.index(snapshot_end(data))]
        case "its beginning is missing":
            return data[len(data) - len(snapshot_end(data)) :]
        case _:
            return b""


def snapshot_end(data: bytes) -> bytes:
    """The last batch."""
    return data[[position for _, position in batch.iterate(data)][-1] :]


DAMAGE = ("a flipped bit", "cut inside its last batch", "cut between two batches",
          "its beginning is missing", "an empty file")  # fmt: skip


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_refused(how: str) -> None:
    with pytest.raises(CorruptBatch):
        snapshot.decode(damaged(how))


def test_files_of_a_stopped_copy_are_cleared_away_and_a_bootstrap_is_left_alone() -> None:
    disk = MemoryDisk()
    for name in (
        "00000000000000000009-0000000002.checkpoint",
        "00000000000000000005-0000000001.checkpoint",
        "00000000000000000000-0000000000.checkpoint",
        "00000000000000000011-0000000002-x.checkpoint.part",
        "00000000000000000003-0000000001.checkpoint.deleted",
        "00000000000000000000.log",
    ):
        disk.append(f"{METADATA_DIRECTORY}/{name}", b"x")
    found = Snapshots(disk)
    assert found.ids == [(5, 1), (9, 2)]
    assert len(disk.list(METADATA_DIRECTORY)) == 4


# -- a node writes them, and begins with one


@pytest.mark.parametrize("controllers", [1, 3])
def test_every_controller_writes_its_own_and_starts_from_it(controllers: int) -> None:
    made = world(controllers, topics=40, **CUT)
    made.run(for_s=2)
    before = active(made).image
    for node_id in made.cluster.spec.controllers:
        log = made.cluster.nodes[node_id].log
        assert files(made, node_id), f"{node_id} has none"
        assert log.start_offset > 0, "the log alone would not do"
    for node_id in made.cluster.spec.controllers:
        made.kill(node_id)
    for node_id in made.cluster.spec.controllers:
        made.start(node_id)
    assert made.run(until=lambda w: w.cluster.controller is not None, for_s=20)
    made.run(for_s=1)
    for node_id in made.cluster.spec.controllers:
        assert set(before.topics) == set(made.cluster.nodes[node_id].image.topics)


def test_a_standby_that_starts_at_its_newest_snapshot_knows_what_it_holds() -> None:
    """There may be no next change for long."""
    made = world(3, **{"metadata.log.max.record.bytes.between.snapshots": 1})
    add_topics(made, 3)
    made.run(for_s=2)
    node_id = follower(made)
    made.kill(node_id)
    made.start(node_id)
    assert made.cluster.nodes[node_id].image.topics
    made.run(for_s=2)
    assert same(made.cluster.nodes[node_id].image, active(made).image)


def test_a_start_decodes_each_record_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 partitions that is what a start consists of."""
    made = world(1, topics=12)
    controller = active(made)
    newest = controller.log.snapshots.newest
    assert newest is not None
    held = len(controller.log.snapshots.load(newest))
    behind = controller.log.end_offset - newest.end_offset
    made.kill(100)
    decoded: list[m.Message] = []
    original = records.decode_record

    def decode(value: bytes) -> m.Message:
        decoded.append(original(value))
        return decoded[-1]

    monkeypatch.setattr(records, "decode_record", decode)
    made.start(100)
    assert held <= len(decoded) <= held + behind


def test_by_default_a_short_run_writes_none() -> None:
    made = World(seed=7, controllers=3, rewindable=False)
    add_topics(made, 12)
    assert not any(files(made, each) for each in made.cluster.spec.controllers)


def test_after_an_hour_one_is_written_with_the_next_change() -> None:
    made = World(seed=7, rewindable=False,
                 settings={"metadata.log.max.snapshot.interval.ms": 60_000})  # fmt: skip
    made.run(for_s=61)
    assert not files(made, 100)
    add_topics(made, 1)
    assert len(files(made, 100)) == 1


@pytest.mark.parametrize("how", DAMAGE)
def test_a_controller_does_not_start_on_a_damaged_one_and_says_what_to_do(how: str) -> None:
    """Nothing is lost: an older one, or the log from 0 on, has it all."""
    made = world(1, topics=30)
    before = active(made).image
    assert len(files(made, 100)) >= 2
    made.kill(100)
    disk = made.cluster.disks[100]
    newest = f"{METADATA_DIRECTORY}/{files(made, 100)[-1]}"
    disk.replace(newest, damaged(how))
    log_size = disk.size(f"{METADATA_DIRECTORY}/00000000000000000000.log")
    with pytest.raises(KafkaError, match=r"is damaged .*: if an older one or a log"):
        made.start(100)
    assert disk.size(f"{METADATA_DIRECTORY}/00000000000000000000.log") == log_size
    disk.delete(newest)
    made.start(100)
    made.run(for_s=1)
    assert set(active(made).image.topics) == set(before.topics)


def test_a_log_that_begins_at_a_damaged_one_goes_on_with_that_of_another_node() -> None:
    made = world(3, topics=40, **CUT)
    made.run(for_s=1)
    before, bad = set(active(made).image.topics), follower(made)
    other = next(each for each in made.cluster.spec.controllers if each != bad)
    made.kill(bad)
    disk = made.cluster.disks[bad]
    for name in files(made, bad):
        flip(made, bad, name)
    with pytest.raises(KafkaError, match="else put the newest of another node in its place"):
        made.start(bad)
    for name in files(made, bad):
        disk.delete(f"{METADATA_DIRECTORY}/{name}")
    add_topics(made, 10)
    path = f"{METADATA_DIRECTORY}/{files(made, other)[-1]}"
    theirs = made.cluster.disks[other]
    disk.replace(path, theirs.read(path, 0, theirs.size(path)))
    made.start(bad)
    made.run(for_s=3)
    assert before < set(active(made).image.topics)
    assert same(made.cluster.nodes[bad].image, active(made).image)


def test_a_node_whose_snapshot_goes_bad_halts_when_it_needs_it() -> None:
    """Deposed, it has to go back to what is committed, and has only a damaged file to begin with.

    If it stayed, it could be elected, and would lead without knowing anything.
    """
    made = world(3, topics=12)
    made.run(for_s=1)
    former = active(made).node_id
    for name in files(made, former):
        flip(made, former, name)
    made.isolate(former)  # it fences brokers, and cannot commit that
    made.run(for_s=5)
    halted = [(who, line.why) for _, who, line in made.cluster.trace if line.kind == "disk-failed"]
    assert [who for who, _ in halted] == [former]
    assert "it halts: the snapshot" in halted[0][1]
    made.heal()
    assert active(made).node_id != former
    add_topics(made, 1)


def test_a_log_that_does_not_begin_at_0_needs_one() -> None:
    made = world(1, topics=40, **CUT)
    controller = active(made)
    assert controller.log.start_offset > 0
    made.kill(100)
    for name in files(made, 100):
        made.cluster.disks[100].delete(f"{METADATA_DIRECTORY}/{name}")
    with pytest.raises(KafkaError, match="no snapshot of what came before: copy the newest"):
        made.start(100)


def test_a_log_that_ends_before_the_newest_one_goes_on_behind_it() -> None:
    made = world(1, topics=12)
    before = set(active(made).image.topics)
    made.kill(100)
    disk = made.cluster.disks[100]
    newest = snapshot.id_of(files(made, 100)[-1])
    assert newest is not None
    path = f"{METADATA_DIRECTORY}/00000000000000000000.log"
    disk.truncate(path, disk.size(path) // 2)
    made.start(100)
    made.run(for_s=1)
    log = active(made).log
    assert log.start_offset == newest.end_offset < log.end_offset
    held = MetadataImage()
    for record in log.snapshots.load(newest):
        held.apply(record)
    assert set(held.topics) == set(active(made).image.topics)
    assert held.topics.keys() <= before


# -- what the log no longer has


def test_old_ones_go_with_the_log_below_the_next() -> None:
    made = world(3, topics=60, **CUT)
    made.run(for_s=2)
    for node_id in made.cluster.spec.controllers:
        log = made.cluster.nodes[node_id].log
        kept = [snapshot.id_of(name) for name in files(made, node_id)]
        assert kept[0] is not None
        assert kept[0].end_offset == log.start_offset > 0
        assert log.log.size_in_bytes <= 16384 + 4096


def lose_the_log(of: World, node_id: int) -> None:
    """Keeps quorum-state, so that no vote is given twice."""
    disk = of.cluster.disks[node_id]
    for name in disk.list(METADATA_DIRECTORY):
        if name.endswith((".log", ".index", ".timeindex", snapshot.SUFFIX)) or "epoch" in name:
            disk.delete(f"{METADATA_DIRECTORY}/{name}")


@pytest.mark.parametrize("behind", ["away for long", "an empty log"])
def test_a_follower_behind_the_start_of_the_log_copies_the_snapshot(behind: str) -> None:
    made = world(3, topics=1, **CUT, **{"controller.quorum.fetch.snapshot.max.bytes": 1000})
    made.run(for_s=1)
    node_id = follower(made)
    made.kill(node_id)
    add_topics(made, 40)
    if behind == "an empty log":
        lose_the_log(made, node_id)
    made.start(node_id)
    made.run(for_s=3)
    assert "snapshot-loaded" in [line.kind for _, who, line in made.cluster.trace if who == node_id]
    assert same(made.cluster.nodes[node_id].image, active(made).image)


def test_it_can_lead_afterwards_from_what_it_copied() -> None:
    made = world(3, topics=1, **CUT)
    made.run(for_s=1)
    former, behind = active(made).node_id, follower(made)
    made.kill(behind)
    add_topics(made, 40)
    made.start(behind)
    made.run(for_s=3)
    topics = set(active(made).image.topics)
    for node_id in made.cluster.spec.controllers:
        if node_id not in (former, behind):
            made.kill(node_id)
    made.run(for_s=1)
    made.kill(former)
    made.start(next(e for e in made.cluster.spec.controllers if e not in (former, behind)))
    assert made.run(until=lambda w: w.cluster.controller is not None, for_s=30)
    assert set(active(made).image.topics) == topics
    add_topics(made, 1)


def pause_it(of: World) -> Callable[[], None]:
    of.pause(103)
    return lambda: of.resume(103)


def isolate_it(of: World) -> Callable[[], None]:
    of.isolate(103)
    return of.heal


def kill_it(of: World) -> Callable[[], None]:
    of.kill(103)
    return lambda: of.start(103)


@pytest.mark.parametrize("leave", [pause_it, isolate_it, kill_it])
def test_a_broker_that_was_away_for_long_loads_the_snapshot(
    leave: Callable[[World], Callable[[], None]],
) -> None:
    """Topics were deleted, made, and changed meanwhile; in the end it hosts what it should."""
    made = world(3, topics=8, **CUT)
    made.run(for_s=1)
    come_back = leave(made)
    made.run(for_s=12)
    add_topics(made, 40)
    names = m.DeleteTopicsRequest.DeleteTopicState
    doomed = [names(name=f"topic-{number}", topic_id=bytes(16)) for number in range(3)]
    made.post(m.DeleteTopicsRequest(topics=doomed, timeout_ms=1000), 101)
    made.run(for_s=1)
    come_back()
    made.run(for_s=15)
    assert "snapshot-loaded" in [line.kind for _, who, line in made.cluster.trace if who == 103]
    broker = made.cluster.nodes[103]
    assert same(broker.metadata, active(made).image)
    hosted = {key[0] for key in broker.replicas.partitions}
    assert hosted == set(broker.metadata.topic_ids)


def test_the_snapshot_that_was_being_copied_is_gone_by_then() -> None:
    """The leader has a newer one: SNAPSHOT_NOT_FOUND, and the follower asks again."""
    made = world(3, topics=1, **CUT, **{"controller.quorum.fetch.snapshot.max.bytes": 100})
    made.run(for_s=1)
    node_id = follower(made)
    made.kill(node_id)
    add_topics(made, 40)
    made.start(node_id)
    assert made.run(until=lambda w: w.cluster.nodes[node_id].replica.copying.download, for_s=5)
    replica = made.cluster.nodes[node_id].replica
    former, snapshots = replica.copying.download.id, active(made).log.snapshots
    snapshots.ids.remove(former)
    add_topics(made, 4)  # the leader writes the next one
    assert made.run(until=lambda w: replica.copying.download is None, for_s=5)
    assert former not in made.cluster.nodes[node_id].log.snapshots.ids
    made.run(for_s=5)
    assert same(made.cluster.nodes[node_id].image, active(made).image)


@pytest.mark.parametrize("whose", ["the leader", "the follower"])
def test_a_process_ends_between_two_pieces(whose: str) -> None:
    """The follower begins again: another leader's file may have other bytes."""
    made = world(3, topics=1, **CUT, **{"controller.quorum.fetch.snapshot.max.bytes": 100})
    made.run(for_s=1)
    node_id = follower(made)
    made.kill(node_id)
    add_topics(made, 40)
    made.start(node_id)
    cluster = made.cluster

    def some(_: World) -> bool:
        download = cluster.nodes[node_id].replica.copying.download
        return download is not None and len(download.data) > 1000

    assert made.run(until=some, for_s=5)
    ended = active(made).node_id if whose == "the leader" else node_id
    made.kill(ended)
    if ended == node_id:
        made.start(node_id)
    assert made.run(until=lambda w: w.cluster.nodes[node_id].log.high_watermark > 0, for_s=30)
    made.run(for_s=1)
    assert same(cluster.nodes[node_id].image, active(made).image)
    kinds = [line.kind for _, _, line in cluster.trace]
    assert kinds.count("snapshot-loaded") == 1


# -- what goes wrong beside it


def flip(of: World, node_id: int, name: str, position: int = 70) -> None:
    disk, path = of.cluster.disks[node_id], f"{METADATA_DIRECTORY}/{name}"
    (byte,) = disk.read(path, position, 1)
    disk.write(path, position, bytes([byte ^ 1]))


def test_a_follower_that_gets_a_damaged_snapshot_asks_again_later() -> None:
    """The leader's disk is at fault; meanwhile nothing else stands still."""
    made = world(3, topics=1, **CUT)
    made.run(for_s=1)
    node_id = follower(made)
    made.kill(node_id)
    add_topics(made, 40)
    leader = active(made).node_id
    flip(made, leader, files(made, leader)[-1])
    made.start(node_id)
    made.run(for_s=2)
    refusals = [line for _, _, line in made.cluster.trace if line.kind == "snapshot-refused"]
    assert 1 <= len(refusals) <= 5
    assert f"stop {leader}" in refusals[0].why
    made.stop(leader)
    made.run(for_s=8)
    assert same(made.cluster.nodes[node_id].image, active(made).image)


def test_a_damaged_old_snapshot_goes_like_any_other() -> None:
    made = world(3, **SMALL)
    add_topics(made, 30)
    leader = active(made)
    assert len(files(made, leader.node_id)) >= 2
    oldest = files(made, leader.node_id)[0]
    flip(made, leader.node_id, oldest, 20)
    add_topics(made, 20)
    assert active(made) is leader
    assert oldest not in files(made, leader.node_id)


def test_a_snapshot_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: Snapshots, new: SnapshotId, data: bytes) -> None:
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, "no")

    monkeypatch.setattr(Snapshots, "write", write)
    made = world(3, topics=20)
    leader = active(made)
    made.run(for_s=5)
    assert active(made) is leader
    failed = {node for _, node, line in made.cluster.trace if line.kind == "snapshot-failed"}
    assert failed >= {leader.node_id, *made.cluster.spec.brokers}


def test_two_of_three_controllers_are_enough_to_start() -> None:
    made = world(3, topics=20, **CUT)
    made.run(for_s=1)
    cluster = made.cluster
    for node_id in cluster.spec.nodes:
        made.kill(node_id)
    flip(made, 200, files(made, 200)[-1])
    assert list(cluster.boot()) == [200]
    assert made.run(until=lambda w: w.cluster.controller is not None, for_s=20)
    for node_id in cluster.spec.nodes:
        made.kill(node_id)
    flip(made, 300, files(made, 300)[-1])
    with pytest.raises(KafkaError, match="is damaged"):
        cluster.boot()


def test_a_process_that_ends_between_the_snapshot_and_the_log_goes_on_with_the_snapshot() -> None:
    """Its log is longer, and of a leader that was deposed: those records were never committed."""
    disk, settings, outbox = MemoryDisk(), Settings(), Outbox()
    log = RaftLog(disk, settings, outbox, NOW)
    for _ in range(100):
        log.append(encode_batch([m.NoOpRecord()], NOW // 1000), 2, NOW)
    newest = SnapshotId(80, 5)
    log.snapshots.write(newest, snapshot.encode(newest, [], 1, 1))
    again = RaftLog(disk, settings, Outbox(), NOW)
    assert (again.start_offset, again.end_offset, again.last_epoch) == (80, 80, 5)
    assert list(again.records(80, again.end_offset)) == []


def test_records_of_a_kafka_with_more_are_not_called_damaged() -> None:
    made = world(1, topics=12)
    newest = active(made).log.snapshots.newest
    assert newest is not None
    made.kill(100)
    whole = snapshot.encode(newest, [m.NoOpRecord()], 1, 1)
    _, second, last = (position for _, position in batch.iterate(whole))
    rows = [batch.Record(0, 1, None, bytes([1, 18, 0]))]
    strange = batch.encode(rows, base_offset=1, leader_epoch=newest.epoch)
    made.cluster.disks[100].replace(newest.path, whole[:second] + strange + whole[last:])
    with pytest.raises(KafkaError, match="a Kafka with more than this engine has"):
        made.start(100)


def test_a_batch_that_is_missing_in_the_middle_is_missed() -> None:
    records = [m.FeatureLevelRecord(f"feature-{number}", 1) for number in range(2500)]
    data = snapshot.encode(SnapshotId(9, 2), records, 5, 9)
    places = [position for _, position in batch.iterate(data)]
    with pytest.raises(CorruptBatch, match="is missing"):
        snapshot.decode(data[: places[2]] + data[places[3] :])


@pytest.mark.parametrize("name", ["9-2.checkpoint", "²-1.checkpoint", "0-.checkpoint", "x"])
def test_other_names_are_no_snapshots(name: str) -> None:
    assert snapshot.id_of(name) is None


# -- what the simulator watches over


def test_a_snapshot_ahead_of_the_high_watermark_is_noticed() -> None:
    made = world(3, topics=2)
    leader = active(made)
    made.isolate(leader.node_id)
    ahead = leader.log.end_offset + 1
    leader.log.snapshots.write(SnapshotId(ahead, leader.epoch), b"")
    with pytest.raises(Violation, match=rf"snapshot: {ahead}-\d+ of {leader.node_id} is ahead of"):
        made.run(for_s=1)


def test_a_log_that_begins_between_its_snapshots_is_noticed() -> None:
    made = world(3, topics=12)
    leader = active(made)
    leader.log.log.advance_log_start(leader.log.high_watermark - 1)
    with pytest.raises(Violation, match=f"log start: the log of {leader.node_id} begins at"):
        add_topics(made, 1)
