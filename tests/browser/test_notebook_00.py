"""Notebook 00 as a learner meets it: all cells green, then a broker killed in the panel."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from kit.course import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(600)]

NOTEBOOK = PROJECT / "notebooks" / "00-start-here.ipynb"
ENGINE_ONLY = "%env KAFKALAB_REAL=off"
PATIENCE_MS = 240_000
# JupyterLab draws only the cells near the view
SCROLL = """name => {
  const content = window.jupyterapp.shell.currentWidget.content;
  return content.scrollToItem(content.widgets.findIndex(cell => cell.model.id === name), "start");
}"""


def bring(lab: Any) -> str:
    """The notebook as learners get it, with the real side switched off."""
    path = lab.bring(NOTEBOOK)
    notebook = nbformat.read(lab.folder / path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(ENGINE_ONLY))
    nbformat.write(notebook, lab.folder / path)
    return path


def test_every_cell_runs_and_the_panel_moves_the_leader(lab: Any) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)
    with lab.open(bring(lab)) as notebook:
        notebook.page.set_default_timeout(PATIENCE_MS)
        notebook.run_all()
        expect(notebook.page.locator(".jp-RenderedText[data-mime-type*=error]")).to_have_count(0)
        notebook.page.evaluate(SCROLL, "panel")
        panel = notebook.outputs.locator(".cluster-panel")
        leads = panel.locator("header .fact", has_text="leader")
        before = leads.inner_text()
        panel.locator(".card.leads").get_by_role("button", name="kill").click()
        expect(leads).not_to_have_text(before)
        expect(panel.locator(".caption")).to_contain_text("became leader")
        assert notebook.complaints == []
