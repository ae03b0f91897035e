"""Notebook 00 as a learner meets it: all cells green, then a broker killed in the panel."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]


def test_every_cell_runs_and_the_panel_moves_the_leader(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.lesson(PROJECT / "notebooks" / "00-start-here.ipynb") as notebook:
        notebook.scroll_to("panel")
        panel = notebook.outputs.locator(".cluster-panel")
        # A later cell has killed the leader: the panel looks again once it is in view.
        expect(panel.locator("header .fact", has_text="epoch")).to_have_text("epoch 1")
        notebook.kill_the_leader(panel)
