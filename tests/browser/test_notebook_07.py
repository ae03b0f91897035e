"""Notebook 07 as a learner meets it: all cells green, then another ending in the film."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.full, pytest.mark.timeout(900)]

NOTEBOOK = PROJECT / "notebooks" / "07-high-watermark-and-epoch-reconciliation.ipynb"


def test_scrub_to_the_divergence_fork_and_see_the_other_ending(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(NOTEBOOK) as notebook:
        notebook.scroll_to("film")
        cell = notebook.page.locator(".jp-CodeCell", has_text="world.use_rule(rule)")
        film = cell.locator(".time-panel")
        expect(film.locator(".caption")).to_contain_text(
            "101 holds what its leader 103 does not: E"
        )
        slider = film.get_by_role("slider", name="timeline")
        parted = slider.input_value()
        slider.fill("0")
        expect(film.locator(".caption")).to_contain_text("The recording begins")
        slider.fill(parted)
        film.get_by_label("truncation rule of the fork").select_option("fetch-divergence")
        film.get_by_role("button", name="fork here").click()
        expect(film.locator(".caption")).to_contain_text("truncation rule fetch-divergence")
        film.focus()
        notebook.page.keyboard.press("x")
        expect(film.locator(".caption")).to_contain_text("102 cuts its log from 4 to 3: D is gone")
        notebook.page.keyboard.press("End")
        expect(film.locator(".compared")).to_contain_text(
            "D was acknowledged: lost in timeline 1, kept in timeline 2."
        )
        row = film.locator('[data-row="102"]')
        expect(row.locator(".lane").nth(0).locator(".cell")).to_have_count(4)
        expect(row.locator(".lane").nth(1).locator(".cell")).to_have_count(5)
