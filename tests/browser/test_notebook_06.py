"""Notebook 06 as a learner meets it: all cells green, then the leader killed in the panel."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]


def test_every_cell_runs_and_the_panel_moves_the_leader(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "06-replication-and-the-isr.ipynb") as notebook:
        notebook.scroll_to("frame-by-frame")
        film = notebook.outputs.locator(".time-panel")
        expect(film.locator(".caption")).to_contain_text("101 appends A, B and C")
        notebook.scroll_to("break-it")
        notebook.kill_the_leader(notebook.outputs.locator(".cluster-panel", has_text="live"))
