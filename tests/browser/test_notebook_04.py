"""Notebook 04 as a learner meets it: cells green, pictures, live panels, a prediction made."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT
from tests.browser.conftest import SELECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.full, pytest.mark.timeout(600)]

PICTURES = ("produce-timeline", "idle-and-waiting", "stages")


def test_every_cell_runs_pictures_are_drawn_and_a_prediction_is_settled_under_its_run(
    lab: Any,
) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "04-inside-the-broker.ipynb") as notebook:
        pictures = notebook.page.locator(".jp-RenderedSVG")
        for cell in PICTURES:
            notebook.scroll_to(cell)
            expect(pictures.first).to_be_visible()
        notebook.scroll_to("film")
        film = notebook.outputs.locator(".cluster-panel").first
        expect(film.locator(".title")).to_contain_text("orders")
        notebook.scroll_to("break-it")
        panel = notebook.outputs.locator(".cluster-panel", has_text="live")
        expect(panel.locator(".title")).to_contain_text("orders")
        notebook.scroll_to("prediction-04-1")
        question = notebook.page.locator(".kafka-question", has_text="04-1").first
        question.get_by_role("radio").nth(0).click()
        expect(question.locator(".note")).to_contain_text("Recorded: a")
        notebook.page.evaluate(SELECT, "produce-timeline")
        notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
        notebook.wait_idle()
        notebook.scroll_to("produce-timeline")
        verdict = notebook.outputs.filter(has_text="Not as you predicted")
        expect(verdict).to_contain_text("102 had the record after")
