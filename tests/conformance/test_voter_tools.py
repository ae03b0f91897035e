"""Kafka's tools change the engine's voters, and read the records that say so (KIP-853)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.metadata.records import METADATA_DIRECTORY
from engine.metadata.snapshot import SUFFIX
from engine.sim.campaign.play import SNAPSHOTS
from engine.sim.world.world import World
from kit.clusters import engine
from kit.clusters.data_dirs import data_dir
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.kafka_tools import KafkaTools
from tests.real_clusters import require_local_kafka

pytestmark = [pytest.mark.real, pytest.mark.full, pytest.mark.heavy]

SERVERS, CONTROLLERS = "--bootstrap-server", "--bootstrap-controller"


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    require_local_kafka()
    with KafkaTools() as running:
        yield running


def status(cluster: KafkaCluster, tools: KafkaTools) -> dict[str, str]:
    printed = tools.run(cluster.bootstrap, "metadata-quorum", "describe", "--status")
    return dict(re.findall(r"(\w+): +(.*)", printed))


def ids(nodes: str) -> list[int]:
    return [int(each) for each in re.findall(r'"id": (\d+)', nodes)]


def directories(nodes: str) -> dict[int, str]:
    return {int(a): b for a, b in re.findall(r'"id": (\d+), "directoryId": "([^"]+)"', nodes)}


def observes(cluster: KafkaCluster, tools: KafkaTools, controller: int) -> bool:
    found = status(cluster, tools)
    is_voter = controller in ids(found["CurrentVoters"])
    return not is_voter and controller in ids(found["CurrentObservers"])


@pytest.mark.parametrize("at", [SERVERS, CONTROLLERS])
def test_a_controller_is_removed_and_added_again(
    tools: KafkaTools, at: str, tmp_path: Path
) -> None:
    with engine.start(controllers=3, voters=3) as ours:
        there = ours.bootstrap if at == SERVERS else ours.bootstrap_controllers
        before = status(ours, tools)
        known, leader = directories(before["CurrentVoters"]), int(before["LeaderId"])
        assert sorted(known) == [100, 200, 300]
        gone = next(each for each in known if each != leader)
        for chosen in (gone, leader):
            arguments = ("--controller-id", str(chosen), "--controller-directory-id", known[chosen])
            tools.run(there, "metadata-quorum", "remove-controller", *arguments, at=at)
            ours.wait_until(lambda _: observes(ours, tools, chosen), 30, "it observes")  # noqa: B023
            assert len(ids(status(ours, tools)["CurrentVoters"])) == 2
            config = tmp_path / f"{chosen}.properties"
            port = ours.bootstrap_controllers.split(",")[chosen // 100 - 1].rpartition(":")[2]
            config.write_text(
                f"node.id={chosen}\nprocess.roles=controller\n"
                f"log.dirs={data_dir(ours, chosen)}\n"
                f"listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n"
            )
            printed = tools.run(
                there, "metadata-quorum", "--command-config", str(config), "add-controller", at=at
            )
            assert f"Added controller {chosen} with directory id {known[chosen]}" in printed
            assert directories(status(ours, tools)["CurrentVoters"]) == known


def test_dump_log_reads_the_voters_in_log_and_snapshots(tools: KafkaTools, tmp_path: Path) -> None:
    made = World(seed=3, controllers=4, voters=3, rewindable=False, settings=SNAPSHOTS)
    made.add_voter(400)
    made.create_topic("orders")
    made.remove_voter(300)
    disk = made.cluster.disks[100]
    names = [n for n in disk.list(METADATA_DIRECTORY) if n.endswith((".log", SUFFIX))]
    for name in names:
        path = f"{METADATA_DIRECTORY}/{name}"
        (tmp_path / name).write_bytes(disk.read(path, 0, disk.size(path)))
    assert sum(name.endswith(SUFFIX) for name in names) >= 2
    for name in names:
        printed = tools.run(
            "", "dump-log", "--cluster-metadata-decoder", "--deep-iteration",
            "--files", str(tmp_path / name),
        )  # fmt: skip
        assert "isvalid: false" not in printed
        if name.endswith(SUFFIX):
            assert re.search(r'KRaftVersion:? {"version":0,"kRaftVersion":1}', printed)
            assert re.search(r'KRaftVoters:? {"version":0,"voters":\[{"voterId":100,', printed)
