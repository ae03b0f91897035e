"""The slider of notebook 01, by keyboard: the picture and its count follow."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.conftest import STEP_TIMEOUT_MS

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(300)]


CELL = """from kit import lab
from lessons.nb01_events.links import Links
lab.slider(Links, systems=range(2, 31))"""


def test_the_slider_counts_links(lab: Any) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=STEP_TIMEOUT_MS)
    path = lab.notebook(CELL)
    with lab.open(path) as notebook:
        notebook.run_all()
        picture = notebook.outputs.locator(".kio-slider img")
        expect(picture).to_have_attribute("alt", re.compile("5 systems: 10 links"))
        notebook.outputs.get_by_role("slider").focus()
        for _ in range(2):
            notebook.page.keyboard.press("ArrowRight")
        expect(picture).to_have_attribute("alt", re.compile("7 systems: 21 links"))
        notebook.page.keyboard.press("End")
        expect(picture).to_have_attribute("alt", re.compile("30 systems: 435 links"))
        stills = notebook.outputs.locator(".jp-RenderedSVG")
        expect(stills).to_be_hidden()
