"""What only the local provider promises: its processes, ports, files and links."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from kit.clusters import link_proxy, local, registry, remote
from kit.clusters.interface import ClusterError, LeaseTaken, NotOffered
from kit.clusters.reaper import LABEL_VARIABLE
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, one_batch, producing
from tests.kit.clusters.contract import partition, produce, whole_again
from tests.real_clusters import require_local_kafka, restored

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[3]


def values(cluster, topic, broker):
    log = cluster.snapshot(values=True)["topics"][topic]["partitions"][0]["logs"][broker]
    return [value for batch in log["batches"] for value in batch["values"]]


def append(client: RawClient, topic: str, value: bytes) -> None:
    """A write to the broker that we name, even if another leads by now."""
    answer = client.ask(producing(topic, acks=1, records=one_batch(value)))
    assert first_partition(answer).error_code == 0


def test_a_diverged_tail_is_seen_on_the_dead_leader_and_truncated_when_it_returns(
    local_cluster,
) -> None:
    with restored(local_cluster) as cluster:
        cluster.create_topic("diverged", assignment={0: [101, 102, 103]})
        produce(cluster, "diverged", ["A", "B"])
        with RawClient(cluster, 101, "late") as client:
            cluster.isolate(101)  # it cannot take the others out of the ISR, however long it takes
            for value in (b"X1", b"X2", b"X3"):
                append(client, "diverged", value)
        cluster.kill(101)
        cluster.heal()
        cluster.wait_until(lambda c: c.leader("diverged") in (102, 103), 60)
        assert produce(cluster, "diverged", ["Y1"]) == [None]

        dead = partition(cluster, "diverged")["logs"][101]
        assert dead["role"] == "offline"
        assert (dead["log_end_offset"], dead["epochs"]) == (5, [[0, 0]])
        assert values(cluster, "diverged", 101) == ["A", "B", "X1", "X2", "X3"]

        cluster.start(101)
        cluster.wait_until(whole_again("diverged"), 60)
        returned = partition(cluster, "diverged")["logs"][101]
        assert (returned["log_end_offset"], returned["epochs"]) == (3, [[0, 0], [1, 2]])
        assert values(cluster, "diverged", 101) == ["A", "B", "Y1"]


def test_a_followers_uncommitted_end_is_shown(local_cluster) -> None:
    with restored(local_cluster) as cluster:
        cluster.create_topic("ends", assignment={0: [101, 102, 103]})
        with RawClient(cluster, 101, "late") as client:
            cluster.isolate(103)
            cluster.cut(100, 101)  # it cannot take 103 out of the ISR, however long it takes
            append(client, "ends", b"a")
        cluster.wait_until(lambda c: partition(c, "ends")["logs"][102]["log_end_offset"] == 1, 60)
        logs = partition(cluster, "ends")["logs"]
        assert logs[101]["high_watermark"] == 0, "103 is in the ISR and has not got it"
        assert logs[103]["log_end_offset"] == 0
        assert values(cluster, "ends", 102) == ["a"]


def test_an_isolated_leader_still_believes_in_itself(local_cluster) -> None:
    with restored(local_cluster) as cluster:
        cluster.create_topic("zombie", assignment={0: [101, 102, 103]})
        cluster.isolate(101)
        cluster.wait_until(lambda c: c.leader("zombie") in (102, 103), 60)
        seen = partition(cluster, "zombie")
        assert seen["logs"][101]["role"] == "leader"
        assert seen["logs"][101]["leader_epoch"] == 0
        assert seen["logs"][seen["leader"]]["leader_epoch"] == 1


def test_a_loss_of_power_is_not_offered(local_cluster) -> None:
    with pytest.raises(NotOffered, match="the engine offers lose_power"):
        local_cluster.lose_power(101)


def test_every_process_carries_the_label_and_listens_on_loopback_only(local_cluster) -> None:
    children = local_cluster.provider._reaper.children()
    assert {"100", "101", "102", "103", "links"} <= children.keys()
    for name in ("100", "101", "102", "103", "links"):
        process = psutil.Process(children[name]["pid"])
        label = process.environ()[LABEL_VARIABLE]
        assert label == local_cluster.provider.registration.label
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                assert connection.laddr.ip.removeprefix("::ffff:") == "127.0.0.1"


KERNEL = textwrap.dedent("""
    import sys
    import time
    from kit.clusters import local
    cluster = local.start()
    provider = cluster.provider
    pids = [provider.pid(node) for node in provider.nodes()]
    try:
        print(provider.registration.directory, *pids, flush=True)
        while True:
            time.sleep(0.05)  # a read would not notice a signal that came just before it
    except KeyboardInterrupt:
        print(*(node.state for node in provider.nodes().values()), flush=True)
    sys.stdin.read()
""")


def test_jvms_survive_an_interrupted_cell_and_end_with_a_killed_kernel(local_cluster) -> None:
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        process_group=0,
    )
    try:
        directory, *pids = kernel.stdout.readline().split()
        assert len(pids) == 4
        os.killpg(kernel.pid, signal.SIGINT)
        assert kernel.stdout.readline().split() == ["running"] * 4
    finally:
        kernel.kill()
        kernel.wait()
    deadline = time.monotonic() + 60
    while any(psutil.pid_exists(int(pid)) for pid in pids) or Path(directory).exists():
        assert time.monotonic() < deadline, "something outlived its kernel"
        time.sleep(0.02)
    assert all(n.state == "running" for n in local_cluster.provider.nodes().values())


def test_a_shared_cluster_outlives_its_starter_and_is_broken_by_one_at_a_time(
    monkeypatch, tmp_path
) -> None:
    require_local_kafka()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    starter = subprocess.run(
        [sys.executable, "-c", "from kit.clusters import local; local.start(shared=True)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert starter.returncode == 0, starter.stderr
    (registration,) = registry.registrations("local")
    try:
        first, second = local.attach(), local.attach()
        assert first is not None
        assert second is not None
        first.create_topic("shared")
        second.create_topic("shared", 2)  # a topic the kit made, whichever kernel did
        first.kill(101)
        assert second.provider.nodes()[101].state == "killed"
        with pytest.raises(LeaseTaken, match="Another notebook"):
            second.start(101)
        first.close()
        second.start(101)
        second.close()
        processes = {p.pid for p in registry.labelled_processes({registration.label})}
        assert len(processes) == 5
    finally:
        reaper = local.Reaper.connect(registration.reaper_socket)
        reaper.end()
    assert not any(psutil.pid_exists(pid) for pid in processes)
    assert not Path(registration.directory).exists()
    assert registry.registrations() == []
    assert local.attach() is None


def test_a_node_that_cannot_start_is_explained(monkeypatch, tmp_path) -> None:
    require_local_kafka()
    monkeypatch.setattr(local, "JVM_FLAGS", ["-Xmx1m", "-XX:+NoSuchFlag"])
    with pytest.raises(ClusterError, match=r"ended while starting .*: see .*last-failure.log"):
        local.start()


def test_the_proxys_links_know_the_nodes_of_real_client_ids(local_cluster) -> None:
    assert link_proxy.node_of("broker-101-fetcher-0") == 101
    with restored(local_cluster) as cluster:
        cluster.isolate(102)
        cluster.wait_until(lambda c: c.snapshot()["brokers"][102]["fenced"], 60)
        assert [link["between"] for link in cluster.snapshot()["links"]] == [
            [100, 102],
            [101, 102],
            [102, 103],
        ]


def test_a_remote_cluster_is_used_and_not_broken(local_cluster) -> None:
    with remote.attach(local_cluster.bootstrap) as cluster:
        assert cluster.brokers == [101, 102, 103]
        cluster.create_topic("remote", 2)
        assert produce(cluster, "remote", ["a"]) == [None]
        cluster.wait_until(lambda c: partition(c, "remote")["logs"][101]["log_end_offset"] == 1)
        assert partition(cluster, "remote")["logs"][101]["epochs"] == [[0, 0]]
        with pytest.raises(NotOffered, match="belongs to others"):
            cluster.kill(101)
        cluster.delete_topic("remote")
