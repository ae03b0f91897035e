"""Notebooks 09 and 10 as a learner meets them, up to their first panel: light and dark.

Every cell of both runs in tests/notebooks; here it is what only a browser shows.
"""

from __future__ import annotations

from typing import Any

import pytest

from kit.course import PROJECT
from tests.browser.conftest import STEP_TIMEOUT_MS

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(300)]
NOTEBOOKS = PROJECT / "notebooks"


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_a_group_forms_and_the_panel_goes_back_in_time(lab: Any, theme: str) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=STEP_TIMEOUT_MS)
    lesson = NOTEBOOKS / "09-consumer-groups.ipynb"
    with lab.lesson(lesson, up_to="watch", theme=theme) as notebook:
        panel = notebook.outputs.locator(".group-panel").first
        expect(panel.locator("[data-member]")).to_have_count(3)
        caption = panel.locator(".caption")
        panel.focus()
        notebook.page.keyboard.press("End")
        expect(caption).to_contain_text("The group is Stable")
        notebook.page.keyboard.press("Home")
        expect(caption).not_to_contain_text("Stable")

        notebook.scroll_to("prediction-09-1")
        question = notebook.outputs.locator(".kafka-question").first
        question.get_by_role("radio").first.click()
        expect(question.locator(".note")).to_contain_text("Recorded")
        notebook.run_named("first-join")
        verdict = notebook.outputs.get_by_text("s you predicted")
        expect(verdict.first).to_be_visible()


def test_a_killed_member_is_seen_with_its_committed_offset(lab: Any) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=STEP_TIMEOUT_MS)
    lesson = NOTEBOOKS / "10-offsets-and-delivery-semantics.ipynb"
    with lab.lesson(lesson, up_to="watch") as notebook:
        panel = notebook.outputs.locator(".group-panel").first
        expect(panel.locator(".caption")).to_contain_text("A")
        before = panel.locator(".caption").inner_text()
        panel.focus()
        notebook.page.keyboard.press("ArrowRight")
        expect(panel.locator(".caption")).not_to_have_text(before)
