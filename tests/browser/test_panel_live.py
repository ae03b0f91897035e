"""The Cluster panel as a learner meets it: in JupyterLab, with mouse, keyboard and both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

IMPORTS = """
from kit.panel.panel import ClusterPanel
from tests.kit.panel.toy_cluster import Script, ToyCluster, divergence
"""
LIVE = """
cluster = ToyCluster(partitions=3)
cluster.write("A", "B")
ClusterPanel(cluster, "orders", interval_s=0.05)
"""
ENGINE = """
from confluent_kafka import Producer
from kit import lab

cluster = lab.engine(private=True)
cluster.create_topic("orders", partitions=1, replicas=3)
producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
producer.produce("orders", b"A")
producer.flush(10)
leader = cluster.leader("orders")
lab.panel(cluster, "orders")
"""
PARTED = 'ClusterPanel(Script(divergence()), "orders")'


@contextmanager
def panel_in(lab: Any, cell: str, **context: Any) -> Iterator[tuple[Any, Any]]:
    """A notebook whose last cell shows a panel: the open notebook, and the panel in it."""
    with lab.open(lab.notebook(IMPORTS, cell), **context) as notebook:
        notebook.run_all()
        panel = notebook.outputs.locator(".cluster-panel")
        panel.locator(".row").first.wait_for()
        yield notebook, panel
        assert notebook.complaints == []


def card(panel: Any, broker: int) -> Any:
    return panel.locator(f'[data-row="{broker}"] .card')


def fact(panel: Any, name: str) -> Any:
    return panel.locator("header .fact", has_text=name)


def is_light(rgb: str) -> bool:
    numbers = rgb[rgb.index("(") + 1 : -1].split(",")[:3]
    return sum(map(float, numbers)) > 3 * 128


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=30_000)
    return waiting(locator)


def test_the_mouse_kills_the_leader_and_another_one_leads(lab: Any) -> None:
    with panel_in(lab, LIVE) as (_, panel):
        expect(fact(panel, "leader")).to_have_text("leader 101")
        card(panel, 101).get_by_role("button", name="kill 101").click()
        expect(fact(panel, "leader")).to_have_text("leader 102")
        expect(card(panel, 101)).to_contain_text("killed")
        expect(card(panel, 102)).to_contain_text("leader")
        expect(panel.locator(".caption")).to_contain_text("102 became leader in epoch 1")
        card(panel, 101).get_by_role("button", name="start 101").click()
        expect(card(panel, 101)).to_contain_text("running")


def test_on_the_engine_a_killed_leader_is_succeeded_from_the_isr(lab: Any) -> None:
    with panel_in(lab, ENGINE) as (_, panel):
        expect(panel.locator(".cell")).to_have_count(3)
        old = fact(panel, "leader").inner_text()
        panel.locator(".card.leads").get_by_role("button", name="kill").click()
        expect(fact(panel, "leader")).not_to_have_text(old)
        expect(panel.locator(".caption")).to_contain_text("became leader in epoch 1")
        expect(panel.locator("aside")).to_contain_text("elects")


def test_the_keyboard_alone_kills_starts_and_cuts(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        keyboard = notebook.page.keyboard
        kill = card(panel, 101).locator(".slot > button").first
        kill.focus()
        keyboard.press("Enter")
        expect(fact(panel, "leader")).to_have_text("leader 102")
        expect(kill).to_have_text("start")  # the same button, still focused
        expect(kill).to_be_focused()
        keyboard.press("k")
        expect(card(panel, 101)).to_contain_text("running")
        keyboard.press("c")
        expect(panel.get_by_role("menuitem").first).to_be_focused()
        keyboard.press("ArrowDown")
        keyboard.press("Enter")
        expect(card(panel, 103)).to_contain_text("✂ 101")
        keyboard.press("c")
        keyboard.press("Escape")
        expect(panel.get_by_role("menu")).to_have_count(0)
        # none of these letters has reached the notebook's own shortcuts
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2


def test_a_learner_looks_back_and_returns_to_now(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        card(panel, 101).get_by_role("button", name="kill 101").click()
        expect(fact(panel, "leader")).to_have_text("leader 102")
        panel.focus()
        notebook.page.keyboard.press("Home")
        expect(panel.locator(".when")).to_contain_text("looking back")
        expect(fact(panel, "leader")).to_have_text("leader 101")
        kill = card(panel, 103).locator(".slot > button").first
        expect(kill).to_have_attribute("aria-disabled", "true")
        kill.click(force=True)
        expect(panel.locator(".notice")).to_contain_text("You are looking back")
        notebook.page.keyboard.press("End")
        expect(panel.locator(".when")).to_contain_text("live")
        expect(fact(panel, "leader")).to_have_text("leader 102")


def test_another_partition_is_opened_from_the_strip(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        expect(panel.get_by_role("tab")).to_have_count(3)
        panel.get_by_role("tab").nth(1).click()
        expect(panel.locator(".title")).to_contain_text("partition 1")
        expect(fact(panel, "leader")).to_have_text("leader 102")
        notebook.page.keyboard.press("ArrowRight")
        expect(panel.locator(".title")).to_contain_text("partition 2")


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_it_fits_and_reads_in_both_themes(lab: Any, tmp_path: Path, theme: str) -> None:
    with panel_in(lab, PARTED, theme=theme) as (notebook, panel):
        for width, mode in ((1440, "wide"), (480, "narrow")):
            notebook.page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            panel.screenshot(path=tmp_path / f"panel-{theme}-{width}.png")
            paper = panel.evaluate("panel => getComputedStyle(panel).backgroundColor")
            ink = panel.evaluate("panel => getComputedStyle(panel).color")
            assert (is_light(paper), is_light(ink)) == (theme == "light", theme == "dark")
            expect(panel.locator(".cell.open")).to_have_count(3)
            expect(panel.locator(".cell.parted")).to_have_count(3)
            assert panel.evaluate(PARTS_OUTSIDE) == []


def test_nothing_moves_for_those_who_asked_for_that(lab: Any) -> None:
    with panel_in(lab, LIVE, reduced_motion="reduce") as (_, panel):
        card(panel, 101).get_by_role("button", name="kill 101").click()
        expect(fact(panel, "leader")).to_have_text("leader 102")
        assert panel.evaluate("panel => panel.getAnimations({subtree: true}).length") == 0
        cell = panel.locator(".cell").first
        assert cell.evaluate("cell => getComputedStyle(cell).transitionProperty") == "none"


def test_it_has_a_name_and_a_voice_for_those_who_cannot_see_it(lab: Any) -> None:
    with panel_in(lab, PARTED) as (notebook, panel):
        expect(notebook.page.get_by_role("group", name="Cluster panel")).to_be_visible()
        lanes = panel.get_by_role("img")
        expect(lanes.first).to_have_attribute("aria-label", PARTED_LANE)
        expect(panel.locator(".caption")).to_have_attribute("aria-live", "polite")
        panel.focus()
        notebook.page.keyboard.press("t")
        expect(panel.locator("pre")).to_contain_text("101 follower")
        unnamed = panel.evaluate(
            "panel => [...panel.querySelectorAll('button, input')]"
            ".filter(part => !part.ariaLabel && !part.textContent.trim()).length"
        )
        assert unnamed == 0


def test_a_notebook_opened_another_day_shows_the_still_picture(lab: Any) -> None:
    path = lab.notebook(IMPORTS, PARTED)
    with lab.open(path) as notebook:
        notebook.run_all()
        notebook.outputs.locator(".cluster-panel .row").first.wait_for()
        expect(notebook.outputs.locator("img")).to_be_hidden()
        notebook.save()
    with lab.open(path) as notebook:  # with a new kernel
        expect(notebook.outputs.locator("img")).to_be_visible()
        expect(notebook.outputs.locator(".cluster-panel")).to_have_count(0)


PARTS_OUTSIDE = """panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    return [...panel.querySelectorAll(".lane, .card, .mark, header, footer")]
        .filter(part => part.getBoundingClientRect().right > edge)
        .map(part => part.getAttribute("class"));
}"""
PARTED_LANE = (
    "101, follower, running, not in the ISR. HW 2  LEO 5. 0: A of epoch 0; 1: B of epoch 0; "
    "2: X1 of epoch 0, not committed; 3: X2 of epoch 0, not committed; "
    "4: X3 of epoch 0, not committed."
)
