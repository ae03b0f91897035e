"""Keys pressed faster than the kernel answers, and a kernel that does not answer at all."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

CELLS = {
    ".time-panel": """
from kit import lab
from tests.kit.panel.worlds import old_rule
lab.panel(old_rule(), "orders")
""",
    ".group-panel": """
from tests.kit.group_panel.test_group_time_panel import story
lab.group_panel(story(), "orders", "g")
""",
    ".transaction-panel": """
from tests.kit.transaction_panel.transfers import crashed
lab.transactions(crashed(), "accounts")
""",
}
ONCE = 6
AT_WORK = "The engine is at work"
RESTARTED = "run this panel's cell again"


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=60_000)
    return waiting(locator)


def test_a_panel_survives_keys_that_are_faster_than_its_kernel(lab: Any) -> None:
    with lab.open(lab.notebook(*CELLS.values())) as notebook:
        notebook.run_all()
        for kind in CELLS:
            panel = notebook.outputs.locator(kind)
            slider = panel.locator("input[type=range]")
            slider.wait_for()
            panel.focus()
            panel.press("End")
            for _ in range(ONCE):
                for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "f"):
                    panel.press(key)
            notebook.wait_idle()  # a busy page draws the notice late
            expect(panel.locator(".notice").filter(has_text=AT_WORK)).to_have_count(0)
            panel.press("Home")
            panel.press("ArrowRight")
            panel.press("f")
            expect(panel.locator("footer")).to_contain_text("imeline 2")
            expect(panel.locator(".notice").filter(has_text=AT_WORK)).to_have_count(0)
        assert notebook.complaints == []


def test_after_a_restart_a_panel_says_what_to_run(lab: Any) -> None:
    with lab.open(lab.notebook(next(iter(CELLS.values())))) as notebook:
        notebook.run_all()
        panel = notebook.outputs.locator(".time-panel")
        panel.locator(".row").first.wait_for()
        notebook.restart()
        panel.focus()
        panel.press("f")
        expect(panel.locator(".notice")).to_contain_text(AT_WORK)
        expect(panel.locator(".notice")).to_contain_text(RESTARTED)
