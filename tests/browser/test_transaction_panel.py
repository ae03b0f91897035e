"""The Transaction panel as a learner meets it: a commit step by step, a zombie, another future."""

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
from tests.kit.transaction_panel.transfers import crashed

panel = lab.transactions(crashed(), "accounts")
panel.jump("COMMIT accounts-0")
panel
"""
LIVE = """
from kit import lab

cluster = lab.engine(private=True, settings=lab.BRISK)
cluster.create_topic("accounts", partitions=2)
panel = lab.transactions(cluster, "accounts")
panel
"""


@contextmanager
def panel_in(lab: Any, cell: str, **context: Any) -> Iterator[tuple[Any, Any]]:
    """A notebook whose cell shows a panel: the open notebook, and the panel in it."""
    with lab.open(lab.notebook(cell), **context) as notebook:
        notebook.run_all()
        panel = notebook.outputs.locator(".transaction-panel")
        panel.locator(".ledger").first.wait_for()
        yield notebook, panel
        assert notebook.complaints == []


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=60_000)
    return waiting(locator)


def state(panel: Any) -> Any:
    return panel.locator(".diagram .state.now text")


def log(panel: Any, name: str) -> Any:
    return panel.locator(f'[data-log="{name}"]')


def to_alice(notebook: Any, panel: Any) -> None:
    """To the moment at which Alice's record is in the log, from the beginning."""
    panel.focus()
    notebook.page.keyboard.press("Home")
    expect(panel.locator(".caption")).to_contain_text("begins")
    while "Alice -10" not in (said := panel.locator(".caption").text_content()):
        notebook.page.keyboard.press("n")
        expect(panel.locator(".caption")).not_to_have_text(said)


def test_a_commit_is_followed_step_by_step_and_opens_the_engines_source(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        expect(state(panel)).to_have_text("PrepareCommit")
        expect(log(panel, "accounts-0").locator(".entry.commit")).to_have_count(1)
        expect(log(panel, "accounts-0").locator(".lso")).to_contain_text("LSO 0")
        expect(log(panel, "accounts-0").locator(".lane.held")).to_have_count(1)
        expect(panel.locator(".part")).to_have_count(3)
        panel.focus()
        while state(panel).text_content() != "CompleteCommit":
            said = panel.locator(".caption").text_content()
            notebook.page.keyboard.press("n")
            expect(panel.locator(".caption")).not_to_have_text(said)
        expect(state(panel)).to_have_text("CompleteCommit")
        expect(log(panel, "accounts-0").locator(".lso")).to_contain_text("LSO 2")
        expect(log(panel, "accounts-0").locator(".lane.held")).to_have_count(0)
        expect(panel.locator(".reader.read_committed")).to_contain_text("Alice -10")
        panel.locator("aside button.now", has_text="CompleteCommit").click()
        expect(panel.locator(".source h4")).to_contain_text("engine/coordinators/transactions/")


def test_a_zombie_and_a_dead_coordinator_make_other_futures(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        to_alice(notebook, panel)
        panel.get_by_role("button", name="+ a second producer").click()
        expect(panel.locator(".bars")).to_have_count(2)
        notebook.page.keyboard.press("End")
        expect(panel.locator(".client.fenced")).to_contain_text("app")
        panel.get_by_role("button", name="drop 2").click()
        expect(panel.locator(".bars")).to_have_count(1)
        to_alice(notebook, panel)
        panel.get_by_role("button", name="kill 1").click()
        expect(panel.locator(".bars")).to_have_count(2)
        expect(panel.locator(".caption")).to_contain_text("killed")
        panel.get_by_role("radio", name="timeline 1").click()
        expect(panel.get_by_role("button", name="kill 1")).to_have_attribute(
            "aria-disabled", "true"
        )


def test_real_producers_are_started_used_and_fenced_by_buttons(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        panel.get_by_label("transactional.id of a new producer").fill("transfer")
        panel.get_by_role("button", name="+ producer").click()
        app = panel.locator('[data-member="app"]')
        expect(app.locator(".word")).to_have_text("Ready")
        expect(state(panel)).to_have_text("Empty")
        app.locator('[data-action="begin"]').click()
        expect(app.locator(".word")).to_have_text("InTransaction")
        app.locator('[data-action="send"]').click()
        expect(state(panel)).to_have_text("Ongoing")
        expect(panel.locator(".ledger .lane.held")).to_have_count(1)
        panel.get_by_role("button", name="+ a second producer").click()
        expect(panel.locator('[data-member="app-2"] .word')).to_have_text("Ready")
        expect(app.locator(".word")).to_contain_text("fenced")
        expect(panel.locator(".ledger .entry.abort")).to_have_count(1)
        expect(panel.locator(".ledger .lane.skipped")).to_have_count(1)
        expect(panel.locator("aside button", has_text="PrepareAbort")).not_to_have_count(0)
        panel.focus()
        notebook.page.keyboard.press("Home")
        expect(panel.locator(".when")).to_contain_text("looking back")
        expect(panel.locator(".client")).to_have_count(0)


def test_a_producers_own_keys_begin_send_and_abort(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        panel.focus()
        notebook.page.keyboard.press("End")
        client = panel.locator('[data-member="app-2"]')
        for key, word in (("b", "InTransaction"), ("s", "InTransaction"), ("x", "Ready")):
            last = panel.locator(".slider").get_attribute("max")
            client.get_by_role("button").first.focus()
            notebook.page.keyboard.press(key)
            expect(panel.locator(".slider")).not_to_have_attribute("max", last)
            panel.focus()
            notebook.page.keyboard.press("End")
            expect(client.locator(".word")).to_have_text(word)
        expect(state(panel)).to_have_text("CompleteAbort")
        notebook.page.keyboard.press("t")
        expect(panel.locator("footer pre")).to_contain_text("transfer: CompleteAbort")
        # none of these letters has reached the notebook's own shortcuts
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 1


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_it_fits_and_reads_in_both_themes(lab: Any, tmp_path: Path, theme: str) -> None:
    with panel_in(lab, WORLD, theme=theme) as (notebook, panel):
        for width, mode in ((1440, "wide"), (1024, "mid"), (512, "narrow")):
            notebook.page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            for key in ("Home", "End"):
                panel.focus()
                notebook.page.keyboard.press(key)
                panel.screenshot(path=tmp_path / f"transactions-{theme}-{width}-{key}.png")
                assert panel.evaluate(PARTS_OUTSIDE) == []
            assert panel.evaluate(TEXTS_OUTSIDE) == []


@pytest.mark.full
def test_nothing_moves_for_those_who_asked_for_that(lab: Any) -> None:
    with panel_in(lab, WORLD, reduced_motion="reduce") as (notebook, panel):
        panel.focus()
        for _ in range(4):
            notebook.page.keyboard.press("ArrowRight")
        assert panel.evaluate("panel => panel.getAnimations({subtree: true}).length") == 0


def test_it_has_a_name_and_a_voice_for_those_who_cannot_see_it(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        named = notebook.page.get_by_role("group", name="Transaction panel, time travel")
        expect(named).to_be_visible()
        voice = panel.get_by_role("group", name="accounts-0 (HW 1, LSO 0): 0 Alice -10")
        expect(voice).to_be_visible()
        expect(panel.locator(".caption")).to_have_attribute("aria-live", "polite")
        unnamed = panel.evaluate(
            "panel => [...panel.querySelectorAll('button, input, select')]"
            ".filter(part => !part.ariaLabel && !part.textContent.trim()).length"
        )
        assert unnamed == 0


PARTS_OUTSIDE = """panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    return [...panel.querySelectorAll(".id, .client, .entry, .bars, header, footer, .deck > *")]
        .filter(part => part.getBoundingClientRect().right > edge)
        .map(part => part.getAttribute("class"));
}"""
TEXTS_OUTSIDE = """panel => { return [...panel.querySelectorAll(".entry, .diagram .state")]
    .filter(entry => [...entry.querySelectorAll("text.value, .state > text")].some(words =>
        words.getBoundingClientRect().width > wide(entry)))
    .map(entry => entry.textContent);
    function wide(entry) { return entry.querySelector("rect").getBoundingClientRect().width; }
}"""
