"""Notebook 00 as a learner meets it: cells run, a verdict under its run, a broker killed."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]


def test_every_cell_runs_and_a_verdict_stands_under_its_run(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "00-start-here.ipynb") as notebook:
        notebook.scroll_to("panel")
        panel = notebook.outputs.locator(".cluster-panel").first
        # A later cell has killed the leader: the panel looks again once it is in view.
        expect(panel.locator("header .fact", has_text="epoch")).to_have_text("epoch 1")
        notebook.kill_the_leader(panel)

        notebook.scroll_to("prediction-00-1")
        question = notebook.outputs.locator(".kafka-question").first
        question.get_by_role("radio", name="at once").click()
        expect(question.locator(".note")).to_contain_text("Recorded: a")
        run = notebook.page.locator(".jp-CodeCell", has_text="patience_s = 20")
        run.locator(".jp-InputArea").click()
        notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
        notebook.wait_idle()
        expect(run.locator(".jp-OutputArea")).to_contain_text("clients read from the leader")
