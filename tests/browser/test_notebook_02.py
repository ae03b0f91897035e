"""Notebook 02 as a learner meets it: a record's bytes, a look-up step by step, a flipped bit."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.full, pytest.mark.timeout(600)]


def test_every_cell_runs_and_a_look_up_leads_to_its_batch(lab: Any) -> None:
    from playwright.sync_api import expect

    file = PROJECT / "notebooks" / "02-topics-partitions-and-the-log.ipynb"
    with lab.lesson(file, parts=("prediction-02-7", ".segment-panel")) as notebook:
        notebook.scroll_to("open-the-file")
        panels = notebook.outputs.locator(".segment-panel")
        expect(panels).to_have_count(3)
        expect(panels.nth(0).locator(".batch h4")).to_have_text("Batch 5")
        expect(panels.nth(0)).to_contain_text("one more")

        notebook.scroll_to("look-up")
        expect(panels.nth(1).locator(".batch h4")).to_have_text("Batch 35")

        notebook.scroll_to("break-it")
        expect(panels.nth(2)).to_contain_text("checksum")
