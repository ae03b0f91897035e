"""The live panel on real sockets: real producers commit, die and are fenced; none is left over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit import lab
from kit.clusters import engine
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, ClusterError
from kit.film.live_panel import LOOKING_BACK
from kit.transaction_panel.live_panel import FILES_ONLY, TransactionPanel

PATIENCE_S = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = engine.start(settings=lab.BRISK)
    yield cluster
    cluster.close()


@pytest.fixture
def panel(cluster: Cluster, request: Any) -> Iterator[TransactionPanel]:
    name = f"accounts-{request.node.name}"[:60]
    cluster.create_topic(name, partitions=2)
    panel = lab.transactions(cluster, name)
    yield panel
    panel.close()


def wait(panel: TransactionPanel, until: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, panel.text
        time.sleep(0.1)
        panel.refresh()


def one(panel: TransactionPanel, name: str) -> Any:
    """A transactional id of the cluster; None while it is not known."""
    return next((each for each in panel.picture.ids if each.id == name), None)


def client(panel: TransactionPanel, name: str = "app") -> Any:
    return next(each for each in panel.picture.clients if each.name == name)


def reader(panel: TransactionPanel, level: str) -> tuple[int, int, int]:
    each = panel.picture.reader(level)
    return each.given, each.held, each.skipped


def test_a_transfer_is_held_back_until_it_commits(panel: TransactionPanel) -> None:
    assert panel.start("transfer") == "app"
    panel.press("begin", "app")
    panel.send("app", "Alice -10", partition=0)
    panel.send("app", "Bob +10", partition=1)
    panel.press("offsets", "app")
    wait(panel, lambda: reader(panel, "read_uncommitted")[0] == 2)
    assert reader(panel, "read_committed") == (0, 2, 0)
    assert one(panel, "transfer").state == "Ongoing"
    assert client(panel).state == "InTransaction"
    rows = [each for each in panel.picture.rows if not each.internal]
    assert [each.cells[0].value for each in rows] == ["Alice -10", "Bob +10"]
    assert any(each.internal for each in panel.picture.rows)  # the group's offset
    panel.press("commit", "app")
    wait(panel, lambda: one(panel, "transfer").state == "CompleteCommit")
    wait(panel, lambda: reader(panel, "read_committed") == (2, 0, 0))
    names = [mark[2] for mark in panel.timeline["marks"]]
    assert names[0] == "add app"
    assert any("→ PrepareCommit" in line[2] for line in panel.scene["trace"])
    places = [panel.sources[line[5]]["place"] for line in panel.scene["trace"] if line[5]]
    assert any(each.startswith("engine/coordinators/transactions/") for each in places)


def test_a_second_producer_fences_the_first_and_aborts_what_it_left(
    panel: TransactionPanel,
) -> None:
    panel.start("orders")
    panel.press("begin", "app")
    panel.send("app", "half")
    wait(panel, lambda: reader(panel, "read_committed") == (0, 1, 0))
    assert panel.start("orders") == "app-2"
    wait(panel, lambda: reader(panel, "read_committed") == (0, 0, 1))
    assert client(panel).is_fenced
    assert not client(panel, "app-2").is_fenced
    panel.press("commit", "app")
    assert "fenced" in panel.notice
    assert client(panel).state == "FatalError"
    assert client(panel).error == "_FENCED"


def test_a_killed_producers_transaction_stays_open(panel: TransactionPanel) -> None:
    panel.start("lost")
    panel.press("begin", "app")
    panel.send("app", "half")
    wait(panel, lambda: reader(panel, "read_committed") == (0, 1, 0))  # it has arrived
    panel.press("kill", "app")
    wait(panel, lambda: client(panel).process == "killed")
    assert reader(panel, "read_committed") == (0, 1, 0)
    left = one(panel, "lost").left_ms
    assert left is not None
    assert left > 0
    assert "kill app" in [mark[2] for mark in panel.timeline["marks"]]
    panel.press("commit", "app")
    assert panel.notice == "app is gone: start another producer."


def test_another_broker_coordinates_when_the_coordinator_dies(
    cluster: Cluster, panel: TransactionPanel
) -> None:
    panel.start("moved")
    panel.press("begin", "app")
    panel.send("app", "A")
    wait(panel, lambda: one(panel, "moved").state == "Ongoing")
    before = one(panel, "moved").coordinator
    panel.kill(before)
    wait(panel, lambda: one(panel, "moved") is not None
         and one(panel, "moved").coordinator != before)  # fmt: skip
    panel.press("commit", "app")
    wait(panel, lambda: one(panel, "moved").state == "CompleteCommit")
    wait(panel, lambda: reader(panel, "read_committed") == (1, 0, 0))
    panel.start_broker(before)
    cluster.wait_until(lambda c: not c.snapshot()["brokers"][before]["fenced"], timeout_s=60)


def test_a_call_that_is_not_possible_says_so(panel: TransactionPanel) -> None:
    panel.start("early")
    panel.press("commit", "app")
    assert "not valid in state Ready" in panel.notice
    assert client(panel).state == "Ready"
    panel.press("explode", "app")
    assert "There is no button named 'explode'" in panel.notice
    panel.press("begin", "nowhere")
    assert panel.notice == "There is no producer nowhere of this panel."


def test_looking_back_shows_the_past_and_presses_nothing(panel: TransactionPanel) -> None:
    panel.start("back")
    panel.press("begin", "app")
    wait(panel, lambda: client(panel).state == "InTransaction")
    panel.position = 0
    assert panel.picture.clients == ()
    panel.press("abort", "app")
    assert panel.notice == LOOKING_BACK
    panel.position = -1
    assert client(panel).state == "InTransaction"


def test_what_the_browser_asks_for_is_done(panel: TransactionPanel) -> None:
    panel._handle_custom_msg({"type": "add", "id": " typed "}, [])
    wait(panel, lambda: client(panel).state == "Ready")
    assert client(panel).id == "typed"
    panel._handle_custom_msg({"type": "press", "action": "begin", "name": "app"}, [])
    panel._handle_custom_msg({"type": "press", "action": "send", "name": "app"}, [])
    wait(panel, lambda: one(panel, "typed").state == "Ongoing")
    panel._handle_custom_msg({"type": "press", "action": "abort", "name": "app"}, [])
    wait(panel, lambda: one(panel, "typed").state == "CompleteAbort")


def test_a_data_directory_shows_what_its_broker_has_stored(
    cluster: Cluster, panel: TransactionPanel
) -> None:
    panel.start("stored")
    for end in ("commit", "abort"):
        panel.press("begin", "app")
        panel.send("app", end)
        panel.press(end, "app")
    wait(panel, lambda: one(panel, "stored").state == "CompleteAbort")
    wait(panel, lambda: panel.picture.rows[0].last_stable_offset == 4)
    leader = panel.picture.rows[0].leader
    ours = one(panel, "stored")
    still = lab.transactions(str(data_dir(cluster, leader)), *panel.topics)
    wait(still, lambda: one(still, "stored") is not None
         and one(still, "stored").state == ours.state)  # fmt: skip
    cells = [(each.kind, each.value, each.fate) for each in still.picture.rows[0].cells]
    assert cells == [(each.kind, each.value, each.fate) for each in panel.picture.rows[0].cells]
    assert [each[2] or each[0] for each in cells] == ["committed", "commit", "aborted", "abort"]
    assert one(still, "stored").epoch == ours.epoch
    assert still.scene["files"]
    assert {len(each["buttons"]) for each in still.scene["ids"]} == {0}
    with pytest.raises(ClusterError, match="nothing can be done"):
        still.kill(leader)
    still.press("begin", "app")
    assert still.notice == FILES_ONLY
    with pytest.raises(ClusterError, match="There is no folder"):
        lab.transactions("/nowhere/at/all")


def test_no_process_is_left_when_the_panel_closes(panel: TransactionPanel) -> None:
    panel.start("one")
    panel.start("two")
    started = [child.pid for child in panel.processes._clients.children.values()]
    assert len(started) == 2
    panel.close()
    assert [pid for pid in started if os.path.exists(f"/proc/{pid}")] == []
