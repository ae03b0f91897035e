"""The pipeline's dashboard in a browser: drawn, on a narrow screen and in the dark, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labs.pipeline import dashboard
from tests.labs.pipeline.test_dashboard import run

pytestmark = pytest.mark.browser
TIMEOUT_MS = 60_000
LETTERS = "() => getComputedStyle(document.querySelector('.plot text')).fill"


def test_every_chart_is_drawn_at_any_width_and_follows_the_scheme(chromium, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(dashboard.page(run()))
    page: Any = chromium.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.set_default_timeout(TIMEOUT_MS)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_function(
        "() => { const places = [...document.querySelectorAll('figure > .plot')];"
        " return places.length === 7 && places.every(place => place.querySelector('.trace')); }"
    )

    in_the_light = page.evaluate(LETTERS)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => ({LETTERS})() !== before", arg=in_the_light)

    page.set_viewport_size({"width": 420, "height": 860})
    page.wait_for_function(
        "() => [...document.querySelectorAll('.plot svg.main-svg')]"
        ".every(chart => chart.getBoundingClientRect().right <= innerWidth)"
    )
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    numbers = page.locator("details").first
    numbers.locator("summary").click()
    assert "positions: silver" in numbers.locator("td").first.inner_text()
    assert complaints == []
    assert asked == [file.as_uri()]
    page.close()
