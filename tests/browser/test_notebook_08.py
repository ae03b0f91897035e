"""Notebook 08 as a learner meets it: a lost answer is watched, a prediction gets its verdict."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.full, pytest.mark.timeout(600)]

STEPS_TO_THE_ANSWER = 4
"""From the cut link to the answer: B is appended, copied twice, and committed."""


def test_every_cell_runs_and_a_lost_answer_is_held_at_the_cut(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "08-reliable-producers.ipynb") as notebook:
        notebook.scroll_to("watch")
        panel = notebook.outputs.locator(".time-panel").first
        expect(panel.locator(".caption")).to_contain_text("The way from 101 to shop is cut")
        panel.focus()
        for _ in range(STEPS_TO_THE_ANSWER):
            notebook.page.keyboard.press("ArrowRight")
        expect(panel.locator(".says.held")).to_have_text("held: B is at 1")

        notebook.scroll_to("prediction-08-1")
        question = notebook.outputs.locator(".kafka-question").first
        question.get_by_role("textbox").fill("A B C")
        question.get_by_role("button", name="Record").click()
        expect(question.locator(".note")).to_contain_text("Recorded: A B C")
        run = notebook.page.locator(".jp-CodeCell", has_text="world.cut_one_way(101")
        run.locator(".jp-InputArea").click()
        notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
        notebook.wait_idle()
        expect(run.locator(".jp-OutputArea")).to_contain_text("The producer sent the record 2")

        notebook.scroll_to("rates")
        drawn = notebook.page.locator(".jp-CodeCell", has_text="def rates(cluster)")
        expect(drawn.locator(".jp-RenderedSVG").first).to_be_visible()
