"""A real Kafka with ZooKeeper: its controller fails and returns, and its tree shows how.

What it shares with all providers is in test_shared_suite.py, which runs on the same cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters import broker_log, broker_metrics, registry, zookeeper
from kit.clusters.connections import Connections, NotSpoken, Unreachable
from kit.clusters.interface import NotOffered
from kit.clusters.reaper import LABEL_VARIABLE
from kit.clusters.zookeeper import ZooKeeperCluster
from tests.kit.clusters.contract import consume, controller_last, produce
from tests.real_clusters import restored, run_apart

pytestmark = [pytest.mark.real, pytest.mark.full, pytest.mark.heavy]
PATIENCE_S = 60.0


@pytest.fixture
def cluster(zookeeper_cluster: ZooKeeperCluster) -> Iterator[ZooKeeperCluster]:
    with restored(zookeeper_cluster):
        zookeeper_cluster.wait_until(lambda _: whole(zookeeper_cluster), PATIENCE_S)
        yield zookeeper_cluster


def whole(cluster: ZooKeeperCluster) -> bool:
    """Whether each broker has a session, and one of them is the controller."""
    sessions = cluster.znodes("/brokers/ids").keys()
    return len(sessions) == 1 + len(cluster.brokers) and cluster.controller()[0] > 0


def another_is_elected(cluster: ZooKeeperCluster, former: int) -> tuple[int, int]:
    cluster.wait_until(lambda _: cluster.controller()[0] not in (former, -1), PATIENCE_S)
    return cluster.controller()


def logged(cluster: ZooKeeperCluster, broker: int, words: str) -> int:
    """How often a broker has logged the words so far."""
    return len(broker_log.find(cluster, broker, words, last=1000).lines)


def test_the_tree_names_brokers_controller_and_topics(cluster: ZooKeeperCluster) -> None:
    cluster.create_topic("orders", 2)
    tree = cluster.znodes()
    assert tree["/brokers/ids"].children == ("101", "102", "103")
    assert all(tree[f"/brokers/ids/{each}"].ephemeral_owner for each in cluster.brokers)
    controller = tree["/controller"]
    number, epoch = cluster.controller()
    assert controller.ephemeral_owner == tree[f"/brokers/ids/{number}"].ephemeral_owner
    assert tree["/controller_epoch"].ephemeral_owner == 0
    state = json.loads(tree["/brokers/topics/orders/partitions/1/state"].data or "")
    assert (state["controller_epoch"], state["leader_epoch"]) == (epoch, 0)
    assert cluster.znode("/brokers/topics/none") is None
    assert cluster.snapshot()["controller"]["id"] == number
    assert cluster.modes() == {1: "standalone"}


def test_a_killed_controller_has_a_successor_in_the_next_epoch(cluster: ZooKeeperCluster) -> None:
    former, epoch = cluster.controller()
    follower, leader, controller = controller_last(cluster)
    replicas = {0: [controller, leader, follower], 1: [leader, controller, follower]}
    cluster.create_topic("killed", assignment=replicas)
    cluster.kill(former)
    successor, next_epoch = another_is_elected(cluster, former)
    assert next_epoch == epoch + 1
    cluster.wait_until(lambda c: c.leader("killed") not in (former, -1), PATIENCE_S)
    seen = cluster.snapshot()["topics"]["killed"]["partitions"]
    assert seen[0]["leader_epoch"] == 2, "it left the ISR, then another was elected"
    assert (seen[1]["leader"], seen[1]["leader_epoch"]) == (leader, 1), "the ISR alone has changed"
    assert seen[0]["isr"] == seen[1]["isr"] == sorted([leader, follower])
    assert produce(cluster, "killed", ["a", "b"]) == [None, None]
    assert consume(cluster, "killed", 2) == ["a", "b"]
    cluster.start(former)
    assert cluster.controller() == (successor, next_epoch)


def test_a_broker_may_be_started_at_once_beside_its_last_session(
    cluster: ZooKeeperCluster,
) -> None:
    before = cluster.znode("/brokers/ids/102")
    cluster.kill(102)
    cluster.kill(1)  # sessions outlive the member that has them
    assert before is not None
    cluster.start(1, 102)
    after = cluster.znode("/brokers/ids/102")
    assert after is not None
    assert after.czxid > before.czxid, "the broker epoch is that of the new session"


def test_a_paused_controller_is_fenced_when_it_returns(cluster: ZooKeeperCluster) -> None:
    former, epoch = cluster.controller()
    expired, resigned = "ZooKeeperClient Session expired", f"Controller id={former} Resigned"
    before = [logged(cluster, former, words) for words in (expired, resigned)]
    cluster.pause(former)
    successor, next_epoch = another_is_elected(cluster, former)
    assert next_epoch == epoch + 1
    cluster.resume(former)
    cluster.wait_until(lambda _: whole(cluster), PATIENCE_S)
    after = [logged(cluster, former, words) for words in (expired, resigned)]
    assert after[0] > before[0], "on a busy machine its next session may expire, too"
    assert after[1] == before[1] + 1
    assert cluster.controller() == (successor, next_epoch)


def test_an_isolated_controller_loses_its_session(cluster: ZooKeeperCluster) -> None:
    cluster.create_topic("isolated", 3)
    former, epoch = cluster.controller()
    cluster.isolate(former)
    links = cluster.snapshot()["links"]
    assert len(links) == 3
    assert {"between": [1, former], "state": "cut", "delay_ms": 0} in links
    _, next_epoch = another_is_elected(cluster, former)
    assert next_epoch == epoch + 1


def test_a_broker_cut_from_zookeeper_alone_loses_its_session(cluster: ZooKeeperCluster) -> None:
    controller, _ = cluster.controller()
    broker = next(each for each in cluster.brokers if each != controller)
    cluster.cut(1, broker)
    cluster.wait_until(lambda _: cluster.znode(f"/brokers/ids/{broker}") is None, PATIENCE_S)
    assert cluster.controller()[0] == controller


def test_a_broker_with_a_taken_id_is_refused(cluster: ZooKeeperCluster) -> None:
    owner = cluster.znode("/brokers/ids/102")
    assert owner is not None
    said = cluster.twin(102)
    assert "creating ephemeral at /brokers/ids/102, node already exists and owner" in said
    assert f"'{owner.ephemeral_owner:#x}'" in said
    assert "Fatal error during KafkaServer startup" in said
    assert cluster.znode("/brokers/ids/102") == owner


def test_without_zookeeper_records_flow_and_none_is_the_controller(
    cluster: ZooKeeperCluster,
) -> None:
    cluster.create_topic("kept")
    cluster.kill(1)
    assert produce(cluster, "kept", ["a"]) == [None]
    with pytest.raises(Unreachable, match="is a majority of it running"):
        cluster.znode("/controller")
    assert cluster.snapshot()["controller"]["id"] == -1
    cluster.start(1)
    cluster.wait_until(lambda _: whole(cluster), PATIENCE_S)


def test_what_kafka_3_9_has_not_got_is_refused(cluster: ZooKeeperCluster) -> None:
    assert "the engine offers lose_power" in cluster.refusal("lose_power")
    with pytest.raises(NotOffered, match="the engine does"):
        cluster.trace()
    address = cluster.provider.nodes()[101].address
    assert address is not None
    asking = Connections()
    heartbeat = m.ConsumerGroupHeartbeatRequest("new", subscribed_topic_names=["orders"])
    # Of this answer librdkafka says nothing: with group.protocol=consumer it waits.
    assert asking.ask(address, heartbeat).error_code == Errors.UNSUPPORTED_VERSION
    with pytest.raises(NotSpoken, match="does not offer DescribeQuorumRequest"):
        asking.ask(address, m.DescribeQuorumRequest())
    asking.close()


def test_its_brokers_show_their_metrics(cluster: ZooKeeperCluster) -> None:
    cluster.create_topic("asked")
    assert broker_metrics.requests(cluster, 101, "Metadata")["Metadata"].count > 0


def test_every_process_carries_the_label_and_listens_on_loopback_only(
    cluster: ZooKeeperCluster,
) -> None:
    label = cluster.provider.registration.label
    assert label in {each.label for each in registry.registrations("zookeeper")}
    found = registry.labelled_processes({label})
    assert len(found) == 5
    for process in found:
        assert process.environ()[LABEL_VARIABLE] == label
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                assert connection.laddr.ip.removeprefix("::ffff:") == "127.0.0.1"


def test_an_ensemble_of_three_outlives_its_leader_and_leaves_nothing_behind() -> None:
    with zookeeper.start(ensemble=3) as cluster:
        registration = cluster.provider.registration
        processes = [each.pid for each in registry.labelled_processes({registration.label})]
        assert len(processes) == 7
        assert sorted(cluster.modes().values()) == ["follower", "follower", "leader"]
        before = cluster.controller()
        leader = next(each for each, what in cluster.modes().items() if what == "leader")
        cluster.kill(leader)
        cluster.wait_until(lambda _: "leader" in cluster.modes().values(), PATIENCE_S)
        cluster.create_topic("orders")
        assert cluster.controller() == before, "sessions are the ensemble's, not a member's"
        (follower,) = (each for each, what in cluster.modes().items() if what == "follower")
        cluster.pause(follower)
        cluster.wait_until(lambda _: "leader" not in cluster.modes().values(), PATIENCE_S)
        with pytest.raises(Unreachable, match="is a majority of it running"):
            cluster.znode("/controller")
        cluster.resume(follower)
        cluster.start(leader)
        cluster.wait_until(
            lambda _: sorted(cluster.modes().values()) == ["follower", "follower", "leader"],
            PATIENCE_S,
        )
    assert not any(psutil.pid_exists(pid) for pid in processes)
    assert not Path(registration.directory).exists()
    assert not registration.file.exists()


ORPHANED = """
count() { ps -e -o args= | grep -c '[j]ava.*zookeeper' || true; }
"$PYTHON" -c "
import os, signal, subprocess, sys, psutil
from kit.clusters import zookeeper
cluster = zookeeper.start()
subprocess.run([sys.executable, '-m', 'kit.cli', 'status'])
for process in psutil.process_iter():
    if any(word.endswith('/reaper_process.py') for word in process.cmdline()):
        process.kill()
os.kill(os.getpid(), signal.SIGKILL)
"
count
"$PYTHON" -m kit.cli down | grep -c removed
count
find "$TMPDIR" -name 'zookeeper-*'
"""


def test_down_removes_what_a_killed_kernel_and_a_killed_reaper_left() -> None:
    done = run_apart(ORPHANED)
    status, _, rest = done.stdout.partition("\n4\n")
    assert "zookeeper  of process" in status, done.stderr
    assert rest.split() == ["6", "0"], "five processes and a folder; nothing is left of them"
