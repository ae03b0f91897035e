"""Notebook 12's pass of the cleaner as a learner meets it, in the dark."""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT
from tests.browser.conftest import STEP_TIMEOUT_MS

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(300)]
LESSON = PROJECT / "notebooks" / "12-retention-and-compaction.ipynb"


def test_a_pass_of_the_cleaner_is_gone_through_moment_by_moment(lab: Any) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=STEP_TIMEOUT_MS)
    with lab.lesson(LESSON, up_to="doorway", theme="dark") as notebook:
        notebook.run_named("dirty-ratio")
        notebook.run_named("watch-pass")
        panel = notebook.outputs.locator(".segment-panel").first
        expect(panel).to_contain_text("101 cleans 16 to 35")
        expect(panel).not_to_contain_text("5 keys in its map")
        panel.focus()
        notebook.page.keyboard.press("]")  # the next moment
        expect(panel).to_contain_text("5 keys in its map")
