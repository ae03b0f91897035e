"""The Quorum panel as a learner meets it: an election step by step, another future, a real kill."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

WORLD = """
from kit import lab
from tests.kit.quorum_panel.quorums import parted

panel = lab.quorum(parted())
panel.jump("200 resigns")
panel
"""
LIVE = """
from kit import lab

cluster = lab.engine(private=True, controllers=3, settings=lab.BRISK)
cluster.create_topic("orders")
panel = lab.quorum(cluster)
panel
"""


@contextmanager
def panel_in(lab: Any, cell: str, **context: Any) -> Iterator[tuple[Any, Any]]:
    """A notebook whose cell shows a panel: the open notebook, and the panel in it."""
    with lab.open(lab.notebook(cell), **context) as notebook:
        notebook.run_all()
        panel = notebook.outputs.locator(".quorum-panel")
        panel.locator(".entries .entry").first.wait_for()
        yield notebook, panel
        assert notebook.complaints == []


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=60_000)
    return waiting(locator)


def row(panel: Any, controller: int) -> Any:
    return panel.locator(f'.row[data-row="{controller}"]')


@pytest.mark.full
def test_an_election_and_a_truncation_are_followed_by_keyboard(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        expect(panel.locator(".caption")).to_contain_text("200 resigns")
        expect(row(panel, 200).locator(".cell.parted.open")).to_have_count(7)
        expect(row(panel, 300).locator(".role")).to_contain_text("leader")
        expect(row(panel, 300).locator(".chip.active")).to_be_visible()
        expect(panel.locator(".entry.parted")).to_have_count(7)
        expect(panel.locator(".flight.held")).not_to_have_count(0)
        panel.focus()
        notebook.page.keyboard.press("x")
        expect(panel.locator(".caption")).to_contain_text("200 cuts its log from 25 to 14")
        expect(panel.locator(".cell.parted:not(.leaving)")).to_have_count(0)
        notebook.page.keyboard.press("Shift+E")
        expect(panel.locator(".caption")).to_contain_text("resigns")
        notebook.page.keyboard.press("o")
        expect(panel.locator(".source h4")).to_contain_text("engine/quorum/replica.py")
        notebook.page.keyboard.press("Escape")
        notebook.page.keyboard.press("t")
        expect(panel.locator("pre.reading")).to_contain_text("200 resigned, epoch 1")
        notebook.page.keyboard.press("Home")
        expect(panel.locator(".caption")).to_contain_text("No controller is active")
        notebook.page.keyboard.press("e")
        expect(panel.locator(".caption")).to_contain_text("pre-vote")
        expect(row(panel, 200).locator(".card.nominee")).to_be_visible()
        # none of these letters has reached the notebook's own shortcuts
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 1


@pytest.mark.full
def test_a_controllers_own_keys_make_another_future(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        row(panel, 300).get_by_role("button", name="kill 300").focus()
        notebook.page.keyboard.press("k")
        expect(panel.locator(".rail.other")).to_have_count(1)
        expect(panel.locator(".caption")).to_contain_text("300, the active controller, was killed")
        expect(row(panel, 300).locator(".lane")).to_have_count(2)
        notebook.page.keyboard.press("End")
        expect(panel.locator(".compared")).to_contain_text("Timeline 1: 300 leads epoch 2")
        panel.get_by_role("button", name="drop 2").click()
        expect(panel.locator(".rail.other")).to_have_count(0)
        row(panel, 100).get_by_role("button", name="cut 100").click()
        panel.get_by_role("menuitem", name="from the controller 300").click()
        expect(row(panel, 100).locator(".chip.cut").last).to_contain_text("300")


@pytest.mark.full
def test_a_real_controller_is_killed_and_started(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        expect(panel.locator(".chip.active")).to_have_count(1)
        former = panel.locator(".row:has(.chip.active)").get_attribute("data-row")
        row(panel, former).locator('[data-action="kill"]').click()
        expect(row(panel, former).locator(".chip.killed")).to_be_visible()
        expect(panel.locator(".chip.active")).to_have_count(1)
        # An election in which two stand at one moment takes another epoch.
        opened = re.compile(r"leader change: \d+, epoch [2-9]")
        expect(panel.locator(".entry .words", has_text=opened)).to_be_visible()
        for width in range(900, 1200, 25):  # the newest record is never under the trace
            notebook.page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile("wide|mid|narrow"))
            assert panel.evaluate(PARTS_OUTSIDE) == []
            assert panel.evaluate("p => p.querySelector('.rows').scrollWidth <= "
                                  "p.querySelector('.rows').clientWidth + 1")  # fmt: skip
        row(panel, former).locator('[data-action="start"]').click()
        expect(row(panel, former).locator(".role")).to_have_text("follower")
        panel.focus()
        notebook.page.keyboard.press("Home")
        expect(panel.locator(".when")).to_contain_text("looking back")
        expect(row(panel, former).locator(".chip.active")).to_be_visible()


@pytest.mark.full
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_and_reads_in_both_themes(lab: Any, tmp_path: Path, theme: str) -> None:
    with panel_in(lab, WORLD, theme=theme) as (notebook, panel):
        for width, mode in ((1440, "wide"), (1024, "mid"), (512, "narrow")):
            notebook.page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            panel.screenshot(path=tmp_path / f"quorum-{theme}-{width}.png")
            assert panel.evaluate(PARTS_OUTSIDE) == []
            assert panel.evaluate(TEXTS_OUTSIDE) == []


def test_it_has_a_name_and_a_voice_for_those_who_cannot_see_it(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        named = notebook.page.get_by_role("group", name="Quorum panel, time travel")
        expect(named).to_be_visible()
        voice = panel.get_by_role("img", name="200 resigned, epoch 1, voted for itself")
        expect(voice).to_be_visible()
        said = "offset 14, epoch 1: topic lost created; not committed; on 200"
        expect(panel.get_by_role("group", name=said)).to_be_visible()
        unnamed = panel.evaluate(
            "panel => [...panel.querySelectorAll('button, input, select')]"
            ".filter(part => !part.ariaLabel && !part.labels?.length && !part.textContent.trim())"
            ".length"
        )
        assert unnamed == 0


PARTS_OUTSIDE = """panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    return [...panel.querySelectorAll(".card, .cell, .entry, header, footer, .deck > *")]
        .filter(part => part.getBoundingClientRect().right > edge)
        .map(part => part.getAttribute("class"));
}"""
TEXTS_OUTSIDE = """panel => [...panel.querySelectorAll(".cell:not(.quiet)")]
    .filter(cell => cell.querySelector("text.value").getBoundingClientRect().width
        > cell.querySelector(".face").getBoundingClientRect().width + 2)
    .map(cell => cell.textContent)"""
