"""Notebook 04 as a learner meets it: all cells green, its pictures drawn, its panel live."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]

PICTURES = ("produce-timeline", "fetch-timeline", "measured-timeline", "stage-chart")


def test_every_cell_runs_and_the_pictures_are_drawn(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "04-inside-the-broker.ipynb") as notebook:
        pictures = notebook.page.locator(".jp-RenderedSVG")
        for cell in PICTURES:
            notebook.scroll_to(cell)
            expect(pictures.first).to_be_visible()
        notebook.scroll_to("break-it")
        panel = notebook.outputs.locator(".cluster-panel", has_text="live")
        expect(panel.locator(".title")).to_contain_text("orders")
