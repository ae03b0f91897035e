"""The panel's own members on real sockets: they join, freeze, die, leave; none is left over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit import lab
from kit.clusters import engine
from kit.clusters.interface import Cluster, ClusterError
from kit.group_panel.crew import Crew
from kit.group_panel.live_panel import GroupPanel

PATIENCE_S = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = engine.start(settings=lab.BRISK)
    yield cluster
    cluster.close()


@pytest.fixture
def panel(cluster: Cluster, request: Any) -> Iterator[GroupPanel]:
    name = f"orders-{request.node.name}"[:60]
    cluster.create_topic(name, partitions=4)
    panel = GroupPanel(cluster, name, f"g-{name}", work_ms=0)
    panel.write(100)
    yield panel
    panel.close()


def wait(panel: GroupPanel, until: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, panel.text
        time.sleep(0.1)
        panel.refresh()


def shares(panel: GroupPanel) -> dict[str, list[tuple[int, str]]]:
    """By member: its partitions and how they are drawn."""
    found: dict[str, list[tuple[int, str]]] = {}
    for each in panel.scene["pieces"]:
        found.setdefault(each["seat"], []).append((each["partition"], each["kind"]))
    return found


def own(*partitions: int) -> list[tuple[int, str]]:
    return [(each, "own") for each in partitions]


def pids(crew: Crew) -> list[int]:
    return [child.pid for child in crew._clients.children.values()]


def test_two_members_share_and_every_partition_stops_in_an_eager_rebalance(
    panel: GroupPanel,
) -> None:
    panel.add("range")
    wait(panel, lambda: shares(panel) == {"A": own(0, 1, 2, 3)})
    wait(panel, lambda: all(row[-1][2] == "reads" for row in panel.timeline["rows"].values())
         and len(panel.timeline["rows"]) == 4)  # fmt: skip
    panel.add("range")
    wait(panel, lambda: shares(panel) == {"A": own(0, 1), "B": own(2, 3)})
    wait(panel, lambda: len(ended(panel)) == 4)
    assert dict(panel.scene["facts"])["state"] == "Stable"
    assert all(member["standing"] == "stable" for member in panel.scene["members"])


def test_in_a_cooperative_rebalance_only_what_moves_stops(panel: GroupPanel) -> None:
    panel.add("cooperative-sticky")
    wait(panel, lambda: shares(panel) == {"A": own(0, 1, 2, 3)})
    wait(panel, lambda: len(panel.timeline["rows"]) == 4
         and all(row[-1][2] == "reads" for row in panel.timeline["rows"].values()))  # fmt: skip
    panel.add("cooperative-sticky")
    wait(panel, lambda: sorted(map(len, shares(panel).values())) == [2, 2])
    wait(panel, lambda: len(ended(panel)) == 2)
    moved = {each for each, _ in shares(panel)["B"]}
    assert {each.partition[1] for each in ended(panel)} == moved


def ended(panel: GroupPanel) -> list[Any]:
    return [each for each in panel._ownership.pauses(panel.topic) if each.end_us]


def test_a_frozen_member_becomes_a_zombie_and_finds_out_when_it_goes_on(panel: GroupPanel) -> None:
    panel.add("range")
    panel.add("range")
    wait(panel, lambda: shares(panel) == {"A": own(0, 1), "B": own(2, 3)})
    panel.press("freeze", "B")
    assert "B is **frozen**" in panel.scene["caption"]
    wait(panel, lambda: shares(panel).get("B") == [(2, "stale"), (3, "stale")])
    wait(panel, lambda: shares(panel).get("A") == own(0, 1, 2, 3))
    panel.press("remove", "B")
    assert panel.notice.startswith("B is frozen and cannot leave")
    panel.press("thaw", "B")
    wait(panel, lambda: shares(panel) == {"A": own(0, 1), "B": own(2, 3)})
    assert any("lost" in line[2] for line in panel.scene["trace"])


def test_a_member_that_leaves_costs_no_session_and_a_killed_one_does(panel: GroupPanel) -> None:
    for _ in range(3):
        panel.add("range")
    wait(panel, lambda: sum(map(len, shares(panel).values())) == 4 and len(shares(panel)) == 3)
    panel.press("remove", "C")
    wait(panel, lambda: shares(panel) == {"A": own(0, 1), "B": own(2, 3)})
    panel.press("kill", "B")
    drawn = shares(panel)
    assert drawn["B"] == [(2, "given"), (3, "given")]
    assert drawn[""] == [(2, "free"), (3, "free")]
    wait(panel, lambda: shares(panel) == {"A": own(0, 1, 2, 3)})
    with pytest.raises(ClusterError, match="B is gone"):
        panel.crew.freeze("B")


def test_no_process_is_left_when_the_panel_closes(panel: GroupPanel) -> None:
    panel.add("range")
    panel.add("range")
    wait(panel, lambda: len(shares(panel)) == 2)
    panel.press("freeze", "A")
    started = pids(panel.crew)
    panel.close()
    assert [pid for pid in started if os.path.exists(f"/proc/{pid}")] == []


def test_an_unknown_protocol_is_refused_with_those_that_there_are(cluster: Cluster) -> None:
    crew = Crew(cluster.bootstrap, "orders", "g")
    with pytest.raises(ClusterError, match="range, cooperative-sticky, consumer"):
        crew.add("round-trip")
