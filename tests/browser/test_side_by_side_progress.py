"""While `lab.both` runs, its cell says how long and what each side does; then the table alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import ENGINE_ONLY

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

SCENARIO = """
import time
from kit import lab

def slow(cluster):
    cluster.create_topic("orders")
    time.sleep(4)
    return {"leader": cluster.leader("orders") > 0}

lab.both(slow)
"""


def test_a_waiting_cell_says_what_it_is_at(lab: Any) -> None:
    from playwright.sync_api import expect

    with lab.open(lab.notebook(ENGINE_ONLY, SCENARIO)) as notebook:
        notebook.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        step = notebook.outputs.filter(has_text="engine: creates topic orders")
        expect(step).to_be_visible(timeout=60_000)
        assert step.inner_text().split()[1] == "s"
        notebook.wait_idle()
        expect(step).to_have_count(0)
        expect(notebook.outputs.filter(has_text="Engine only.")).to_be_visible()
        left = [each["height"] for each in map(box, notebook.outputs.all()) if each]
        assert sorted(left)[0] < 8, "what is left of the lines takes no room"


def box(output: Any) -> Any:
    return output.bounding_box()
