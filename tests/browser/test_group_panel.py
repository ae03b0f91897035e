"""The Group panel as a learner meets it: real consumers on the engine, and time travel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

LIVE = """
from kit import lab

cluster = lab.engine(private=True, settings=lab.BRISK)
cluster.create_topic("orders", partitions=6)
panel = lab.group_panel(cluster, "orders", "billing", work_ms=0)
panel.write(60)
panel.add("range")
panel
"""
WORLD = """
from kit import lab
from tests.kit.group_panel.test_group_time_panel import story

panel = lab.group_panel(story(), "orders", "g")
panel.jump("B expires")
panel
"""
TOYS = """
from kit.group_panel.live_panel import GroupPanel
from tests.kit.group_panel.toy_group import ToyCluster, ToyCrew, belief, group_of, member

owned = {f"m{n:02}": [p for p in range(PARTITIONS) if p % MEMBERS == n] for n in range(MEMBERS)}
group = group_of([member(name, owns) for name, owns in owned.items()])
crew = ToyCrew({name: belief(name, owns) for name, owns in owned.items()})
GroupPanel(ToyCluster(group, partitions=PARTITIONS), "orders", "g", crew=crew)
"""


@contextmanager
def panel_in(lab: Any, cell: str, **context: Any) -> Iterator[tuple[Any, Any]]:
    """A notebook whose cell shows a panel: the open notebook, and the panel in it."""
    with lab.open(lab.notebook(cell), **context) as notebook:
        notebook.run_all()
        panel = notebook.outputs.locator(".group-panel")
        panel.locator(".row").first.wait_for()
        yield notebook, panel
        assert notebook.complaints == []


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=60_000)
    return waiting(locator)


def fact(panel: Any, name: str) -> Any:
    return panel.locator("header .fact", has_text=name)


def card(panel: Any, name: str) -> Any:
    return panel.locator(f'[data-member="{name}"] .card')


def drawn(panel: Any, kind: str) -> Any:
    return panel.locator(f".pieces .piece.{kind}")


def test_a_second_consumer_takes_half_and_a_frozen_one_becomes_a_zombie(lab: Any) -> None:
    with panel_in(lab, LIVE) as (_, panel):
        expect(drawn(panel, "own")).to_have_count(6)
        piece = panel.locator('.pieces [data-piece="5"]')
        before = piece.evaluate("piece => (piece.mine = true, piece.getAttribute('style'))")
        panel.get_by_role("button", name="+ add").click()
        expect(fact(panel, "members")).to_have_text("members 2")
        expect(card(panel, "B")).to_contain_text("stable")
        expect(panel.locator(".bars .span.stopped, .bars .span.waits").first).to_be_visible()
        expect(piece).not_to_have_attribute("style", before)
        assert piece.evaluate("piece => piece.mine")  # the same piece has moved
        card(panel, "B").get_by_role("button", name="freeze B").click()
        expect(card(panel, "B")).to_contain_text("frozen")
        expect(panel.locator(".caption")).to_contain_text("zombie")
        expect(drawn(panel, "stale")).to_have_count(3)
        expect(card(panel, "B")).to_contain_text("not a member")
        line = panel.locator("aside button", has_text="PreparingRebalance").last
        line.click()
        expect(panel.locator(".source h4")).to_contain_text("engine/coordinators/classic/")


def test_the_keyboard_adds_freezes_and_kills(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        expect(card(panel, "A")).to_contain_text("stable")
        panel.focus()
        notebook.page.keyboard.press("a")
        expect(card(panel, "B")).to_contain_text("stable")
        card(panel, "A").get_by_role("button").nth(2).focus()
        notebook.page.keyboard.press("z")
        expect(card(panel, "A")).to_contain_text("frozen")
        notebook.page.keyboard.press("z")
        expect(card(panel, "A")).to_contain_text("range")
        notebook.page.keyboard.press("k")
        expect(card(panel, "A")).to_contain_text("killed")
        notebook.page.keyboard.press("t")
        expect(panel.locator("footer pre")).to_contain_text("coordinator: owns")
        # none of these letters has reached the notebook's own shortcuts
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 1


def test_time_travel_steps_forks_and_plays_without_asking_the_kernel(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        expect(panel.locator(".caption")).to_contain_text("zombie")
        expect(drawn(panel, "stale")).to_have_count(2)
        panel.focus()
        notebook.page.keyboard.press("a")  # joins as the others did, not as a fork would
        expect(panel.locator(".bars")).to_have_count(2)
        expect(card(panel, "C")).to_contain_text("range")
        expect(card(panel, "C")).not_to_contain_text("cooperative")
        panel.get_by_role("button", name="drop 2").click()
        expect(panel.locator(".bars")).to_have_count(1)
        panel.focus()
        notebook.page.keyboard.press("Home")
        expect(panel.locator(".caption")).to_contain_text("The recording begins")
        notebook.page.keyboard.press("ArrowRight")
        expect(panel.locator(".caption")).to_contain_text("A starts")
        notebook.page.keyboard.press("End")
        fact(panel, "assignor").click()
        notebook.page.keyboard.press("Home")  # the group is not known yet: the fact is gone
        expect(panel.locator(".caption")).to_contain_text("The recording begins")
        notebook.page.keyboard.press("ArrowRight")
        expect(panel.locator(".caption")).to_contain_text("A starts")
        notebook.page.keyboard.press("Home")
        panel.get_by_role("button", name="fork here").click()
        expect(panel.locator(".bars")).to_have_count(2)
        expect(panel.locator(".compared")).to_contain_text("cooperative-sticky")
        notebook.page.keyboard.press("End")
        panel.get_by_role("radio", name="timeline 1").click()
        expect(fact(panel, "assignor")).to_have_text("assignor range")
        panel.get_by_role("radio", name="timeline 2").click()
        expect(fact(panel, "assignor")).to_have_text("assignor cooperative-sticky")


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
@pytest.mark.parametrize(
    ("members", "partitions"),
    [
        pytest.param(1, 1, marks=pytest.mark.full),
        pytest.param(12, 30, marks=pytest.mark.full),
        (40, 60),
    ],
)
def test_it_fits_and_reads_in_both_themes(
    lab: Any, tmp_path: Path, theme: str, members: int, partitions: int
) -> None:
    cell = f"MEMBERS, PARTITIONS = {members}, {partitions}\n{TOYS}"
    with panel_in(lab, cell, theme=theme) as (notebook, panel):
        for width, mode in ((1440, "wide"), (1024, "mid"), (512, "narrow")):
            notebook.page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            panel.screenshot(path=tmp_path / f"group-{theme}-{members}-{width}.png")
            expect(drawn(panel, "own")).to_have_count(partitions)
            assert panel.evaluate(PARTS_OUTSIDE) == []
            assert panel.evaluate(OVERLAPPING) == 0


@pytest.mark.full
def test_nothing_moves_for_those_who_asked_for_that(lab: Any) -> None:
    with panel_in(lab, WORLD, reduced_motion="reduce") as (notebook, panel):
        panel.focus()
        for _ in range(4):
            notebook.page.keyboard.press("ArrowRight")
        assert panel.evaluate("panel => panel.getAnimations({subtree: true}).length") == 0
        piece = panel.locator(".pieces .piece").first
        assert piece.evaluate("piece => getComputedStyle(piece).transitionProperty") == "none"


def test_it_has_a_name_and_a_voice_for_those_who_cannot_see_it(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        expect(notebook.page.get_by_role("group", name="Group panel, time travel")).to_be_visible()
        voice = panel.get_by_role("group", name="B, frozen, not a member, a zombie.")
        expect(voice).to_be_visible()
        expect(panel.locator(".caption")).to_have_attribute("aria-live", "polite")
        unnamed = panel.evaluate(
            "panel => [...panel.querySelectorAll('button, input, select')]"
            ".filter(part => !part.ariaLabel && !part.textContent.trim()).length"
        )
        assert unnamed == 0


PARTS_OUTSIDE = """panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    return [...panel.querySelectorAll(".piece, .card, .bars, header, footer, .deck > *")]
        .filter(part => part.getBoundingClientRect().right > edge)
        .map(part => part.getAttribute("class"));
}"""
OVERLAPPING = """panel => {
    const boxes = [...panel.querySelectorAll(".pieces .piece .face")]
        .map(face => face.getBoundingClientRect());
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    return boxes.flatMap((a, at) => boxes.slice(at + 1).filter(b => !apart(a, b))).length;
}"""
