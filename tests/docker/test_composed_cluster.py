"""The composed cluster keeps the contract, and `down` leaves nothing of it."""

import subprocess
import sys
import time

import pytest

from kit.clusters import docker as composed
from kit.clusters.interface import LeaseTaken, NotOffered
from tests.kit.clusters import contract_leader_kill as leader_kill
from tests.kit.clusters.contract import CHECKS
from tests.real_clusters import restored

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
PATIENCE_S = 120


LONG = ("topics_are_made_twice_and_foreign_ones_left_alone",)
"""What differs least between providers: it runs in `make test-all`."""


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            check, id=check.__name__, marks=[pytest.mark.full] if check.__name__ in LONG else []
        )
        for check in CHECKS
    ],
)
def test_the_composed_cluster_keeps_the_contract(check, docker_cluster) -> None:
    try:
        with restored(docker_cluster):
            check(docker_cluster)
    except NotOffered as error:
        pytest.skip(f"not a missing part: {error}")


def test_no_acknowledged_record_is_lost_when_a_leader_is_killed(docker_cluster) -> None:
    with restored(docker_cluster):
        seen = leader_kill.leader_killed_under_load(docker_cluster, seed=0)
    leader_kill.nothing_acknowledged_is_lost(seen)


@pytest.mark.full
def test_writes_are_refused_when_two_are_dead_and_the_kit_says_why(docker_cluster) -> None:
    with restored(docker_cluster):
        sentence = leader_kill.second_broker_killed_refuses_writes(docker_cluster)
    assert "min.insync.replicas=2" in sentence


def test_a_second_notebook_sees_the_cluster_but_may_not_break_it(docker_cluster) -> None:
    with restored(docker_cluster):
        docker_cluster.pause(101)
        second = composed.attach()
        assert second is not None
        assert second.provider.nodes()[101].state == "paused"
        with pytest.raises(LeaseTaken, match="Another notebook"):
            second.kill(102)
        second.close()


def test_down_leaves_nothing(docker_cluster) -> None:
    removed = composed.down()
    assert {each.split()[0] for each in removed} == {"container", "network", "volume"}
    assert composed.attach() is None
    assert composed.down() == []


KERNEL = """
import sys
from kit.clusters import docker
cluster = docker.start()
print(len(cluster.brokers), flush=True)
sys.stdin.read()
"""


@pytest.mark.full
def test_a_notebooks_containers_go_when_its_kernel_is_killed(docker_daemon, kafka_image) -> None:
    composed.down()
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert kernel.stdout is not None
        assert kernel.stdout.readline().strip() == "3"
    finally:
        kernel.kill()
        kernel.wait()
    deadline = time.monotonic() + PATIENCE_S
    while (left := composed.attach()) is not None:
        left.close()
        assert time.monotonic() < deadline, "containers outlived their kernel"
        time.sleep(0.1)
