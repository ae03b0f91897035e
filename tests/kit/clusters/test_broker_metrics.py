"""A broker's own timers, read from the engine and from Java processes in the same shape."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from kit.clusters import broker_metrics, engine
from kit.clusters.interface import ClusterError, NotOffered
from kit.clusters.java_management import beans
from kit.clusters.kafka_cluster import KafkaCluster
from tests.kit.clusters.contract import produce

KINDS = ("Produce", "FetchConsumer", "FetchFollower")


@pytest.fixture(scope="module")
def engine_cluster() -> Iterator[KafkaCluster]:
    with engine.start() as cluster:
        yield cluster


def measured(cluster: KafkaCluster, acks: str) -> broker_metrics.Requests:
    """The timers of ten Produce requests, one after the other."""
    cluster.create_topic("measured", assignment={0: [101, 102, 103]})
    leader = cluster.leader("measured")  # on a loaded machine it need not be the preferred one
    before = broker_metrics.requests(cluster, leader, *KINDS)
    for number in range(10):
        assert produce(cluster, "measured", [str(number)], acks=acks) == [None]
    after = broker_metrics.requests(cluster, leader, *KINDS)
    if acks == "all":  # nobody waits for a follower otherwise, not even for its first fetch
        assert after["FetchFollower"].count > before["FetchFollower"].count
    assert after["FetchConsumer"].count == before["FetchConsumer"].count
    return after["Produce"] - before["Produce"]


def least_wait_ms(cluster: KafkaCluster, acks: str) -> float:
    """The least of three means: other work on this machine can only add to a mean."""
    runs = [measured(cluster, acks) for _ in range(3)]
    assert max(each.count for each in runs) == 10
    runs = [each for each in runs if each.count == 10]  # fewer where the leader changed meanwhile
    return min(each.mean_ms("RemoteTimeMs") for each in runs)


def check_that_only_acks_all_waits_for_others(cluster: KafkaCluster) -> None:
    leader_only, everyone = least_wait_ms(cluster, "1"), least_wait_ms(cluster, "all")
    assert leader_only == pytest.approx(0, abs=0.2)
    assert everyone > leader_only


def test_the_engine(engine_cluster: KafkaCluster) -> None:
    check_that_only_acks_all_waits_for_others(engine_cluster)
    assert measured(engine_cluster, "1").sums_ms["RemoteTimeMs"] == 0, "made within the step"
    assert broker_metrics.gauges(engine_cluster, 101).delayed_produce == 0
    with pytest.raises(NotOffered):
        broker_metrics.thread_names(engine_cluster, 101)


def test_timelines_are_in_order(engine_cluster: KafkaCluster) -> None:
    measured(engine_cluster, "all")
    lines = engine_cluster.provider.requests(101)
    assert {line["api"] for line in lines} >= {"Produce"}
    for line in lines:
        read, begun, done, answered, writing, written = line["moments_us"]
        assert 0 == read <= begun <= done
        assert begun <= answered <= writing <= written
        timed = sum(ms for name, ms in line["stages_ms"].items() if name != "ThrottleTimeMs")
        assert timed * 1000 == pytest.approx(written, rel=0.01, abs=1)


@pytest.mark.real
def test_a_real_broker(local_cluster: KafkaCluster) -> None:
    check_that_only_acks_all_waits_for_others(local_cluster)
    gauges = broker_metrics.gauges(local_cluster, 101)
    assert gauges.delayed_produce == 0 <= gauges.request_queue
    assert gauges.delayed_fetch < 20, "what is done is not counted"
    threads = broker_metrics.thread_names(local_cluster, 101)
    assert threads["kafka-request-handler"] == 8
    assert threads["kafka-network-thread-CLIENT-PLAINTEXT"] == 3


@pytest.mark.real
def test_a_reading_leaves_no_port_open(local_cluster: KafkaCluster) -> None:
    process = psutil.Process(local_cluster.provider.pid(101))

    def listening() -> set[int]:
        return {c.laddr.port for c in process.net_connections("tcp") if c.status == "LISTEN"}

    before = listening()
    assert beans(process.pid, ["kafka.network:type=RequestChannel,name=RequestQueueSize"])
    assert listening() == before


def check_that_controllers_count(cluster: KafkaCluster) -> dict[str, int]:
    cluster.create_topic("counted", 3)
    seen = broker_metrics.controllers(cluster, 100, 101)
    assert seen[101] == {}, "a broker has no such counts"
    assert (seen[100]["ActiveControllerCount"], seen[100]["OfflinePartitionsCount"]) == (1, 0)
    topics = cluster.snapshot()["topics"]
    assert seen[100]["GlobalTopicCount"] >= len(topics), "internal topics are counted, too"
    return seen[100]


def test_the_engines_controller(engine_cluster: KafkaCluster) -> None:
    check_that_controllers_count(engine_cluster)
    with pytest.raises(NotOffered, match="no queue"):
        broker_metrics.event_queue(engine_cluster, 100)


@pytest.mark.real
@pytest.mark.full
def test_a_real_controller_counts_under_the_same_names(
    engine_cluster: KafkaCluster, local_cluster: KafkaCluster
) -> None:
    ours = check_that_controllers_count(engine_cluster)
    theirs = check_that_controllers_count(local_cluster)
    assert ours.keys() <= theirs.keys()
    before = broker_metrics.event_queue(local_cluster, 100)
    local_cluster.create_topic("queued")
    events = broker_metrics.event_queue(local_cluster, 100) - before
    assert events.count > 0 <= events.mean_ms(broker_metrics.EVENT_QUEUE) < 10_000


def test_no_process_is_there() -> None:
    with pytest.raises(ClusterError, match="no process"):
        beans(2**22 - 1, ["x:y=z"])
