"""The live panel on real sockets: the leader of three controllers fails, and writes alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit import lab
from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster
from kit.film.live_panel import LOOKING_BACK
from kit.quorum_panel.live_panel import QuorumPanel
from kit.quorum_panel.scene import NO_FILES
from tests.real_clusters import require_local_kafka, restored

PATIENCE_S = 60


@pytest.fixture(
    scope="module",
    params=[
        "engine",
        pytest.param("local", marks=[pytest.mark.real, pytest.mark.full, pytest.mark.heavy]),
    ],
)
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if request.param == "local":
        require_local_kafka()
        started = local.start(controllers=3)
    else:
        started = engine.start(controllers=3, settings=lab.BRISK)
    with started:
        started.create_topic("orders")
        yield started


@pytest.fixture
def panel(cluster: KafkaCluster) -> Iterator[QuorumPanel]:
    with restored(cluster):
        panel = lab.quorum(cluster)
        wait(panel, lambda: panel.picture.leader > 0 and len(running(panel)) == 3)
        yield panel
        panel.close()


def wait(panel: QuorumPanel, until: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, panel.text
        time.sleep(0.1)
        panel.refresh()


def running(panel: QuorumPanel) -> list[int]:
    return [row.id for row in panel.picture.rows if row.state == "running"]


def said(panel: QuorumPanel, controller: int) -> list[str]:
    """The records that a controller has."""
    return [each.says for each in panel.picture.entries if controller in each.held_by]


class Remote:
    """A Kafka whose controllers' files are out of reach; its log grows."""

    def __init__(self) -> None:
        self.end, self.state, self.brokers = 9, "running", [101]

    def snapshot(self, values: bool = False, tail: int = 0) -> dict[str, Any]:
        leads = {"is_active": True, "role": "leader", "epoch": 3, "leader": 100}
        known = {"state": self.state, "log_end_offset": self.end, "high_watermark": self.end}
        return {"time_us": self.end, "topics": {}, "controllers": {100: {**known, **leads}}}

    def refusal(self, fault: str) -> str:
        return "Other people use it." if fault == "kill" else ""


def test_noops_alone_are_no_news_for_the_timeline() -> None:
    cluster = Remote()
    panel = lab.quorum(cluster)
    cluster.end = 10
    panel.refresh()
    assert len(panel.frames) == 1
    assert "LEO 10" in panel.text
    assert NO_FILES in panel.text
    assert panel.scene["rows"][0]["buttons"][0]["refusal"] == "Other people use it."
    cluster.state = "killed"
    panel.refresh()
    assert [name for _, name in panel.timeline["marks"]] == ["kill 100"]
    panel.close()


def test_every_controller_has_the_records_of_a_new_topic(
    cluster: KafkaCluster, panel: QuorumPanel
) -> None:
    roles = sorted(row.role for row in panel.picture.rows)
    assert roles == ["follower", "follower", "leader"]
    cluster.create_topic("more")
    wait(panel, lambda: all("topic more created" in said(panel, each) for each in running(panel)))
    (entry,) = [each for each in panel.picture.entries if each.says == "topic more created"]
    assert entry.epoch == panel.picture.row(panel.picture.leader).epoch
    wait(panel, lambda: any(name == "write more" for _, name in panel.timeline["marks"]))
    assert panel.notice == ""


def test_the_active_controller_is_killed_by_its_button(
    cluster: KafkaCluster, panel: QuorumPanel
) -> None:
    former = panel.picture.leader
    epoch = panel.picture.row(former).epoch
    panel._handle_custom_msg({"type": "press", "action": "kill", "node": former, "other": None}, [])
    wait(panel, lambda: panel.picture.leader not in (former, -1))
    assert panel.picture.row(former).state == "killed"
    assert panel.picture.row(former).cells
    assert panel.picture.row(panel.picture.leader).epoch > epoch
    (buttons,) = [row["buttons"] for row in panel.scene["rows"] if row["id"] == former]
    assert buttons[0]["action"] == "start"
    wait(panel, lambda: any("leads, epoch" in name for _, name in panel.timeline["marks"]))
    panel.position = panel.frames[0].number
    assert panel.picture.row(former).state == "running"
    panel.press("start", former)
    assert panel.notice == LOOKING_BACK
    panel.position = -1
    panel.press("start", former)
    wait(panel, lambda: panel.picture.row(former).role == "follower")


@pytest.mark.full
def test_an_isolated_leader_writes_alone_and_cuts_its_log_when_it_returns(
    cluster: KafkaCluster, panel: QuorumPanel
) -> None:
    former = panel.picture.leader
    panel.press("isolate", former)
    wait(panel, lambda: panel.picture.leader not in (former, -1))
    assert len(panel.picture.row(former).cut_from) == 2
    wait(panel, lambda: panel.picture.parts_at is not None)
    apart = [cell for cell in panel.picture.row(former).cells if cell.parted]
    assert apart
    assert not any(cell.committed for cell in apart)
    panel.press("heal", former)
    wait(panel, lambda: panel.picture.parts_at is None)
    assert f"{former} **cuts** its log" in panel.scene["caption"]
    wait(panel, lambda: len({row.log_end_offset for row in panel.picture.rows}) == 1)
    cluster.wait_until(
        lambda c: not any(each["fenced"] for each in c.snapshot()["brokers"].values()), 60
    )


def test_the_text_is_what_a_notebook_stores(panel: QuorumPanel) -> None:
    bundle = panel._repr_mimebundle_()[0]
    assert bundle["text/plain"] == panel.text
    assert panel.text.startswith(f"quorum: active {panel.picture.leader} · epoch ")
    assert "Quorum" in bundle["image/svg+xml"]
