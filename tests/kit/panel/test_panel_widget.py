"""The widget without a browser: presses, traits, the loop, and what a notebook stores."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from kit.film import attention, output
from kit.film.live_panel import LOOKING_BACK
from kit.panel.panel import ClusterPanel
from tests.kit.panel.toy_cluster import Script, ToyCluster, divergence


def row(panel: ClusterPanel, broker: int) -> dict[str, Any]:
    (found,) = [row for row in panel.scene["rows"] if row["id"] == broker]
    return dict(found)


def hear(panel: ClusterPanel, **content: Any) -> None:
    """What a browser's message does."""
    panel._handle_custom_msg(content, [])


def test_a_press_reaches_the_cluster_and_the_leader_moves() -> None:
    cluster = ToyCluster()
    panel = ClusterPanel(cluster, "orders")
    hear(panel, type="press", action="kill", node=101, other=None)
    assert cluster.calls == [("kill", 101)]
    assert panel.scene["leader"] == 102
    assert row(panel, 101)["state"] == "killed"
    assert "102 became **leader** in epoch 1" in panel.scene["caption"]


def test_a_buttons_place_names_the_way_back() -> None:
    panel = ClusterPanel(ToyCluster(), "orders")
    panel.press("kill", 101)
    panel.press("pause", 102)
    assert [b["action"] for b in row(panel, 101)["buttons"]] == ["start", "stop", "pause", "cut"]
    assert [b["action"] for b in row(panel, 102)["buttons"]] == ["kill", "stop", "resume", "cut"]
    assert row(panel, 101)["buttons"][1]["refusal"] == "101 is down: start it first."


def test_links_are_cut_by_pairs_and_healed_together() -> None:
    cluster = ToyCluster()
    panel = ClusterPanel(cluster, "orders")
    choices = {c["label"]: c for c in row(panel, 101)["links"]}
    assert choices["heal all links"]["refusal"] == "No link is cut."
    hear(panel, type="press", action="cut", node=101, other=103)
    assert row(panel, 101)["cut_from"] == (103,)
    choices = {c["label"]: c for c in row(panel, 101)["links"]}
    assert choices["from 103"]["refusal"] == "The link between 101 and 103 is cut already."
    hear(panel, type="press", action="heal", node=101, other=-1)
    hear(panel, type="press", action="isolate", node=102, other=-1)
    assert cluster.calls == [("cut", 101, 103), ("heal",), ("isolate", 102)]


def test_what_a_provider_does_not_offer_is_a_button_with_a_sentence() -> None:
    cluster = ToyCluster()
    cluster.refuses["pause"] = "Docker cannot pause here."
    panel = ClusterPanel(cluster, "orders")
    assert row(panel, 101)["buttons"][2]["refusal"] == "Docker cannot pause here."
    reader = ClusterPanel(Script(divergence()), "orders")
    assert all(button["refusal"] for button in row(reader, 101)["buttons"])


def test_a_refusal_of_the_cluster_is_shown_as_it_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(node: int) -> None:
        raise RuntimeError("Somebody else holds the lease.")

    cluster = ToyCluster()
    monkeypatch.setattr(cluster, "kill", refuse)
    panel = ClusterPanel(cluster, "orders")
    panel.press("kill", 101)
    assert panel.notice == "Somebody else holds the lease."


def test_a_button_that_does_not_exist_is_named() -> None:
    panel = ClusterPanel(ToyCluster(), "orders")
    panel.press("explode", 101)
    assert "There is no button named 'explode'" in panel.notice


def test_looking_back_shows_the_past_and_presses_nothing() -> None:
    cluster = ToyCluster()
    panel = ClusterPanel(cluster, "orders")
    cluster.write("A")
    panel.refresh()
    panel.press("kill", 101)
    panel.position = 1
    assert panel.scene["leader"] == 101
    assert panel.timeline == {
        "first": 0,
        "last": 2,
        "at": 1,
        "marks": [[1, "write A"], [2, "kill 101"]],
    }
    panel.press("kill", 102)
    assert (cluster.calls, panel.notice) == ([("kill", 101)], LOOKING_BACK)
    panel.position = -1
    assert panel.scene["leader"] == 102


def test_another_partition_is_opened_with_its_own_story() -> None:
    cluster = ToyCluster(partitions=3)
    panel = ClusterPanel(cluster)
    cluster.write("A", partition=2)
    panel.refresh()
    assert (panel.topic, panel.scene["leader"], panel.timeline["marks"]) == ("orders", 101, [])
    panel.partition = 2
    assert (panel.scene["leader"], panel.timeline["marks"]) == (103, [[1, "write A"]])


def test_a_partition_that_a_topic_does_not_have_opens_its_first() -> None:
    panel = ClusterPanel(ToyCluster(partitions=2), "orders", partition=7)
    assert (panel.partition, panel.scene["leader"]) == (0, 101)


def test_before_there_is_a_topic_the_brokers_can_be_broken_already() -> None:
    cluster = ToyCluster()
    cluster.state["topics"].clear()
    panel = ClusterPanel(cluster)
    assert panel.scene["caption"] == "There is no topic yet."
    assert [row["id"] for row in panel.scene["rows"]] == [101, 102, 103]
    first = row(panel, 102)["buttons"][0]
    assert (first["action"], first["refusal"]) == ("kill", "")


def test_a_cluster_that_does_not_answer_leaves_the_last_picture_and_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ToyCluster()
    panel = ClusterPanel(cluster, "orders")

    def refuse(**_: Any) -> None:
        raise ConnectionError("The engine's process has ended.")

    monkeypatch.setattr(cluster, "snapshot", refuse)
    panel.refresh()
    assert panel.notice == "The cluster does not answer: The engine's process has ended."
    assert panel.scene["leader"] == 101


def test_while_watched_it_polls_off_the_loop_and_shows_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ToyCluster()
    panel = ClusterPanel(cluster, "orders", interval_s=0.001)
    asked, shown = set(), set()
    snapshot = cluster.snapshot
    monkeypatch.setattr(
        cluster, "snapshot", lambda **k: (asked.add(threading.get_ident()), snapshot(**k))[1]
    )
    panel.observe(lambda change: shown.add(threading.get_ident()), "scene")

    async def scenario() -> None:
        hear(panel, type="watch")
        cluster.write("A")
        while not panel.scene["rows"][0]["cells"]:
            await asyncio.sleep(0)
        panel.press("kill", 101)
        assert cluster.calls == []  # a press returns before it is done
        while panel.scene["leader"] != 102 or panel.notice:
            await asyncio.sleep(0)
        panel.close()

    asyncio.run(scenario())
    assert shown == {threading.get_ident()}
    assert threading.get_ident() not in asked


def test_polling_ends_when_no_view_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "WATCHED_FOR_S", 0.0)
    panel = ClusterPanel(ToyCluster(), "orders", interval_s=0.001)

    async def scenario() -> None:
        panel.attention.keep()
        assert panel.attention.polling is not None
        await panel.attention.polling

    asyncio.run(scenario())


def test_a_notebook_stores_the_text_and_a_still_picture_beside_the_widget() -> None:
    panel = ClusterPanel(Script(divergence()), "orders")
    bundle, _ = panel._repr_mimebundle_()
    assert set(bundle) == {
        "application/vnd.jupyter.widget-view+json",
        "image/svg+xml",
        "text/plain",
    }
    assert bundle["text/plain"] == panel.text
    assert "Run this cell" in bundle["image/svg+xml"]


def test_it_is_put_out_as_a_still_and_then_as_a_live_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(output, "display", lambda bundle, raw: shown.append(bundle))
    ClusterPanel(Script(divergence()), "orders")._ipython_display_()
    assert [sorted(bundle) for bundle in shown] == [
        ["image/svg+xml", "text/plain"],
        ["application/vnd.jupyter.widget-view+json", "text/plain"],
    ]
