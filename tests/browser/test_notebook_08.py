"""Notebook 08 as a learner meets it: all cells green, and a delivery drawn as a timeline."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]


def test_every_cell_runs_and_a_delivery_is_drawn(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "08-reliable-producers.ipynb") as notebook:
        notebook.scroll_to("timeline-late")
        drawing = notebook.page.locator("svg[aria-label*='REQUEST_TIMED_OUT'], img[alt*='REQUEST']")
        pictures = notebook.page.locator(".jp-RenderedSVG")
        expect(pictures.or_(drawing).first).to_be_visible()
        notebook.scroll_to("fault-tape")
        table = notebook.outputs.locator("table", has_text="reordered").first
        expect(table).to_contain_text("A B C D E F G H I J")
