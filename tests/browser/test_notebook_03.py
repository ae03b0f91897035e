"""Notebook 03 as a learner meets it: a batch moves to its log, and the surface is drawn."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.full, pytest.mark.timeout(600)]


def test_every_cell_runs_and_a_batch_moves_from_the_accumulator_to_the_log(lab: Any) -> None:
    from playwright.sync_api import expect

    file = PROJECT / "notebooks" / "03-producers-and-partitioning.ipynb"
    with lab.lesson(file, parts=("prediction-03-6", ".js-plotly-plot")) as notebook:
        notebook.scroll_to("accumulator")
        film = notebook.outputs.locator(".accumulator-film").first
        caption = film.locator(".caption")
        expect(caption).to_have_text("The accumulator is empty.")
        film.focus()
        notebook.page.keyboard.press("ArrowRight")
        expect(caption).to_contain_text("with 60 records")
        expect(film.locator(".lot.waits")).to_have_count(1)
        notebook.page.keyboard.press("ArrowRight")
        expect(caption).to_contain_text("linger.ms=5 is over")
        expect(film.locator(".lot.flying")).to_have_count(1)
        notebook.page.keyboard.press("End")
        expect(caption).to_contain_text("Batch 1 is acknowledged: 60 records")
        expect(film.locator(".lot")).to_have_count(0)
        expect(film.locator(".count", has_text="60")).to_have_count(1)

        notebook.scroll_to("surface")
        drawn = notebook.page.locator(".jp-CodeCell", has_text="def waiting_for_company(cluster)")
        expect(drawn.locator(".js-plotly-plot").first).to_be_visible()
