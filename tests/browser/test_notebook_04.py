"""Notebook 04 as a learner meets it: all cells green, its pictures drawn, its panels live."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]

PICTURES = ("produce-timeline", "idle-and-waiting", "stages")


def test_every_cell_runs_and_the_pictures_are_drawn(lab: Any) -> None:
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


def test_a_prediction_is_taken_by_mouse_and_settled_under_its_run(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "04-inside-the-broker.ipynb") as notebook:
        notebook.scroll_to("prediction-04-1")
        question = notebook.page.locator(".kafka-question", has_text="04-1").first
        question.get_by_role("radio").nth(0).click()
        expect(question.locator(".note")).to_contain_text("Recorded: a")
        assert "Not as you predicted" not in notebook.page.locator(".jp-Notebook").inner_text()
        notebook.run_named("produce-timeline")
        verdict = notebook.page.locator(".jp-OutputArea-output", has_text="Not as you predicted")
        expect(verdict).to_contain_text("102 had the record after")
