"""A broker's copy of the metadata log: its own disk is where it starts from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from engine.broker.broker import Broker
from engine.events import Outbox
from engine.metadata.image import MetadataImage
from engine.metadata.records import METADATA_DIRECTORY
from engine.metadata.snapshot import SUFFIX
from engine.quorum.raft_log import RaftLog
from engine.settings import Settings
from engine.sim.campaign.play import SNAPSHOTS
from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

NOW = 10**15


def broker(world: World, node: int) -> Broker:
    found = world.cluster.nodes[node]
    assert isinstance(found, Broker)
    return found


def serves(world: World, node: int) -> None:
    assert world.run(until=lambda w: broker(w, node).is_serving, for_s=20)
    world.run(for_s=1)


def delete(world: World, topic: str) -> None:
    state = m.DeleteTopicsRequest.DeleteTopicState(None, world.image().topic_ids[topic])
    answer = world.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=1_000), 101)
    assert answer is not None
    assert answer.responses[0].error_code == 0


def files(world: World, node: int, ending: str) -> dict[str, bytes]:
    disk = world.cluster.disks[node]
    paths = [f"{METADATA_DIRECTORY}/{name}" for name in disk.list(METADATA_DIRECTORY)]
    return {path: disk.read(path, 0, disk.size(path)) for path in paths if path.endswith(ending)}


def on_disk(world: World, node: int) -> MetadataImage:
    """What a broker's own files say."""
    copy = RaftLog(world.cluster.disks[node], Settings(), Outbox(), NOW, flushes=False)
    copy.raise_high_watermark(copy.end_offset)
    return copy.committed()


def topics(image: MetadataImage) -> set[str]:
    return {each.name for each in image.topics.values()}


@pytest.mark.parametrize("controllers", [1, 3])
def test_the_copy_has_the_bytes_of_the_controllers(controllers: int) -> None:
    world = World(seed=3, controllers=controllers, rewindable=False)
    world.create_topic("orders", config={"retention.ms": 60_000})
    world.run(for_s=2)
    theirs = b"".join(files(world, 100, ".log").values())
    for each in (101, 102, 103):
        ours = b"".join(files(world, each, ".log").values())
        assert ours
        assert theirs.startswith(ours)
        assert asdict(on_disk(world, each)) == asdict(broker(world, each).metadata)


def test_a_broker_starts_from_its_copy_and_fetches_what_came_since() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    world.kill(103)
    world.create_topic("later", assignment={0: [101, 102]})
    asked: list[int] = []
    world.listen(lambda each: asked.extend(_offsets(each, 103)))
    known = on_disk(world, 103).offset
    world.start(103)
    assert topics(broker(world, 103).metadata) == {"orders"}, "before it has asked anybody"
    serves(world, 103)
    assert topics(broker(world, 103).metadata) == {"orders", "later"}
    assert asked[0] == known > 0
    assert asdict(on_disk(world, 103)) == asdict(broker(world, 103).metadata)


def _offsets(sent: Any, node: int) -> list[int]:
    """The offsets that a node asks of the metadata log from."""
    body = getattr(getattr(sent, "message", None), "body", None)
    if type(body).__name__ != "FetchRequest" or sent.call.sender != node:
        return []
    return [part.fetch_offset for topic in body.topics for part in topic.partitions
            if sent.call.destination == 100]  # fmt: skip


def test_what_a_power_loss_takes_is_fetched_again() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    world.lose_power(103)
    assert on_disk(world, 103).offset < broker(world, 102).metadata.offset, "it never flushes"
    world.start(103)
    serves(world, 103)
    assert topics(broker(world, 103).metadata) == {"orders"}
    assert asdict(on_disk(world, 103)) == asdict(broker(world, 103).metadata)


def test_it_writes_snapshots_and_starts_from_the_newest() -> None:
    world = World(seed=3, rewindable=False, settings=SNAPSHOTS)
    for number in range(8):
        world.create_topic(f"topic-{number}")
    world.run(for_s=2)
    assert files(world, 103, SUFFIX)
    world.stop(103)
    world.run(for_s=5)
    before = on_disk(world, 103)
    world.start(103)
    assert asdict(broker(world, 103).metadata) == asdict(before)
    assert topics(before) == {f"topic-{number}" for number in range(8)}


def test_one_that_was_away_for_long_begins_at_the_controllers_snapshot() -> None:
    world = World(seed=3, rewindable=False, settings=SNAPSHOTS)
    world.create_topic("gone", assignment={0: [101, 102]})
    world.kill(103)
    delete(world, "gone")
    for number in range(8):
        world.create_topic(f"topic-{number}", assignment={0: [101, 102]})
    world.start(103)
    serves(world, 103)
    assert world.trace_lines(("snapshot-loaded",))
    assert topics(broker(world, 103).metadata) == {f"topic-{number}" for number in range(8)}
    assert asdict(on_disk(world, 103)) == asdict(broker(world, 103).metadata)


def test_a_torn_end_is_cut_and_fetched_again() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    world.kill(103)
    disk, (path,) = world.cluster.disks[103], files(world, 103, ".log")
    whole = disk.read(path, 0, disk.size(path))
    disk.replace(path, whole[:-20])
    world.start(103)
    serves(world, 103)
    assert files(world, 103, ".log")[path].startswith(whole)


def test_a_damaged_snapshot_is_refused_with_a_remedy() -> None:
    world = World(seed=3, rewindable=False, settings=SNAPSHOTS)
    for number in range(8):
        world.create_topic(f"topic-{number}")
    world.run(for_s=2)
    world.kill(103)
    path = max(files(world, 103, SUFFIX))
    disk = world.cluster.disks[103]
    disk.replace(path, disk.read(path, 0, disk.size(path))[:-30])
    with pytest.raises(KafkaError, match="or delete __cluster_metadata-0 on 103"):
        world.start(103)


def test_a_copy_that_is_ahead_of_the_controllers_ends_the_broker() -> None:
    """The controllers' folder was deleted, or restored from an older copy."""
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    world.kill(103)
    world.kill(100)
    world.cluster.disks[100].delete(METADATA_DIRECTORY)
    world.start(100)
    world.start(103)
    world.run(for_s=5)
    assert 103 not in world.cluster.nodes
    (line,) = [each for each in world.trace_lines(("disk-failed",)) if " 103 " in each]
    assert "the controllers have lost what was committed" in line


def test_a_deposed_leader_ends_no_broker_that_knows_more() -> None:
    """It has less, and does not know yet that it was deposed."""
    world = World(seed=3, controllers=3, rewindable=False)
    world.create_topic("orders")
    active = world.cluster.controller
    assert active is not None
    former = active.node_id
    world.isolate(former)
    world.run(until=lambda w: w.cluster.controller not in (active, None), for_s=20)
    world.create_topic("later")
    world.run(until=lambda w: broker(w, 103).metadata.topic_ids.get("later") is not None, for_s=20)
    fetcher = broker(world, 103).metadata_fetcher
    told = m.FetchResponse.LeaderIdAndEpoch(former, active.replica.state.epoch)
    part = m.FetchResponse.PartitionData(
        error_code=Errors.OFFSET_OUT_OF_RANGE, current_leader=told, records=b""
    )
    topic = m.FetchResponse.FetchableTopicResponse(partitions=[part])
    assert fetcher.answered(world.cluster.now, m.FetchResponse(responses=[topic])) is None
    assert world.cluster.disks[103].failure == ""
    told.leader_epoch = 99
    fetcher.answered(world.cluster.now, m.FetchResponse(responses=[topic]))
    assert "have lost what was committed" in world.cluster.disks[103].failure


def test_controllers_with_another_past_end_the_broker() -> None:
    """They were restored from an older copy, and have gone on from there."""
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    disk = world.cluster.disks[100]
    older = files(world, 100, "")
    for number in range(4):
        world.create_topic(f"topic-{number}")
    world.kill(103)
    world.kill(100)
    disk.delete(METADATA_DIRECTORY)
    for path, data in older.items():
        disk.replace(path, data)
    world.kill(101)
    world.kill(102)
    for each in (101, 102):
        world.cluster.disks[each].delete(METADATA_DIRECTORY)
    for each in (100, 101, 102):
        world.start(each)
    world.run(until=lambda w: not w.is_fenced(101), for_s=20)
    for number in range(9):
        world.create_topic(f"other-{number}", assignment={0: [101, 102]})
    world.start(103)
    world.run(for_s=5)
    assert 103 not in world.cluster.nodes
    (line,) = [each for each in world.trace_lines(("disk-failed",)) if " 103 " in each]
    assert "or something else there" in line


def test_a_full_disk_ends_the_broker_alone() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    world.apply(Fault("fill_disk", (103,)))
    world.create_topic("later", assignment={0: [101, 102]})
    world.run(for_s=5)
    assert 103 not in world.cluster.nodes
    assert {101, 102} <= world.cluster.nodes.keys()


def test_a_batch_that_comes_twice_is_no_news() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    world.run(for_s=1)
    fetcher = broker(world, 103).metadata_fetcher
    before = fetcher.copy.end_offset
    (data,) = files(world, 103, ".log").values()
    told = m.FetchResponse.LeaderIdAndEpoch(100, fetcher.controller.epoch)
    part = m.FetchResponse.PartitionData(current_leader=told, records=data)
    topic = m.FetchResponse.FetchableTopicResponse(partitions=[part])
    news = fetcher.answered(world.cluster.now, m.FetchResponse(responses=[topic]))
    assert list(news or ()) == []
    assert fetcher.copy.end_offset == before


def test_a_topic_that_is_gone_takes_its_folder_but_not_the_metadata_log() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("gone")
    world.kill(103)
    delete(world, "gone")
    world.start(103)
    serves(world, 103)
    world.run(for_s=2)
    names = world.cluster.disks[103].list("")
    assert METADATA_DIRECTORY in names
    assert "gone-0" not in names
