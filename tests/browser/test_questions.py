"""Predictions and quiz questions in JupyterLab: by mouse, by keyboard alone, and again after a
restart of the kernel.  Sections of Deeper are closed when a notebook opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from kit.authoring import compose
from kit.authoring.build import timed

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.timeout(300)]

SAMPLE = Path(__file__).parents[1] / "kit" / "sample_course"
SOURCE = SAMPLE / "lessons" / "nb99_sample" / "source" / "99_sample.py"
COURSE = f"%env KAFKALAB_COURSE={SAMPLE}"
RUN = 'lab.verdict("99-1", {"high watermark": 3, "log ends": [5, 3, 4], "gap": 0.0})'


def questions(lab: Any, progress: Path) -> str:
    setup = f"{COURSE}\n%env KAFKALAB_PROGRESS={progress}\nfrom kit import lab"
    return lab.notebook(
        setup, 'lab.predict("99-1")', RUN, 'lab.predict("99-5")', 'lab.quiz("99-4")'
    )


def test_by_mouse_and_again_after_a_restart(lab: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    with lab.open(questions(lab, tmp_path / "progress.json")) as notebook:
        notebook.run_all()
        prediction, free, quiz = (
            notebook.page.locator(".kafka-question").nth(place) for place in range(3)
        )
        choices = prediction.get_by_role("radio")
        expect(choices).to_have_count(3)
        choices.nth(1).click()
        expect(choices.nth(1)).to_have_attribute("aria-checked", "true")
        expect(prediction.locator(".note")).to_contain_text("Recorded: b")
        assert "As you predicted" not in prediction.inner_text()
        notebook.run(2)
        verdict = notebook.page.locator(".jp-Cell").nth(2).locator(".jp-OutputArea-output")
        expect(verdict).to_contain_text("As you predicted")

        free.get_by_role("textbox").fill("102, 103")
        free.get_by_role("button", name="Record").click()
        expect(free.locator(".note")).to_contain_text("Recorded: 102 103")

        quiz.get_by_role("checkbox").nth(0).click()
        quiz.get_by_role("checkbox").nth(2).click()
        quiz.get_by_role("button", name="Answer").click()
        expect(quiz.locator(".verdict")).to_contain_text("The ISR first")

        notebook.page.evaluate(
            "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
        )
        notebook.wait_idle()
        notebook.run_all()
        expect(choices.nth(1)).to_have_attribute("aria-checked", "true")
        expect(prediction.locator(".note")).to_contain_text("Recorded: b")
        expect(free.get_by_role("textbox")).to_have_value("102 103")
        expect(quiz.get_by_role("checkbox").nth(2)).to_have_attribute("aria-checked", "true")
        assert notebook.complaints == []


def test_by_keyboard_alone(lab: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    with lab.open(questions(lab, tmp_path / "progress.json")) as notebook:
        notebook.run_all()
        page = notebook.page
        prediction = page.locator(".kafka-question").first
        choices = prediction.get_by_role("radio")
        choices.first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(choices.nth(2)).to_be_focused()
        assert choices.nth(2).get_attribute("aria-checked") == "false", "moving takes no choice"
        page.keyboard.press("Enter")
        expect(prediction.locator(".note")).to_contain_text("Recorded: c")
        free = page.locator(".kafka-question").nth(1)
        free.get_by_role("textbox").focus()
        page.keyboard.type("102 103")
        page.keyboard.press("Enter")
        expect(free.locator(".note")).to_contain_text("Recorded: 102 103")
        quiz = page.locator(".kafka-question").nth(2)
        quiz.get_by_role("checkbox").first.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        expect(quiz.get_by_role("button", name="Answer")).to_be_focused()
        page.keyboard.press("Enter")
        expect(quiz.locator(".verdict")).to_contain_text("The ISR first")


def test_deeper_sections_are_closed_when_a_notebook_opens(lab: Any, monkeypatch: Any) -> None:
    from playwright.sync_api import expect

    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    nbformat.write(compose.student(timed(SOURCE)), lab.folder / "99-sample.ipynb")
    with lab.open("99-sample.ipynb") as notebook:
        heading = notebook.page.locator(".jp-MarkdownCell", has_text="Deeper: another cluster")
        notebook.page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.scrollToItem(13, 'end')"
        )
        expect(heading).to_be_visible()
        inside = notebook.page.locator(".jp-CodeCell", has_text="five = {101")
        expect(inside).to_be_hidden()
        heading.get_by_role("button").first.click()
        expect(inside).to_be_visible()
