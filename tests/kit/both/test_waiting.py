"""While a side-by-side run lasts, its cell says what it is at; the file keeps nothing of that."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import IPython.display
import nbformat
import pytest
from nbclient import NotebookClient

from kit.authoring import outputs
from kit.both import waiting

CELL = """
import time
from kit.both import waiting
with waiting.shown() as at:
    at.step = "starting a real Kafka"
    time.sleep(2.5)
print("done")
"""


class Page:
    """What a notebook's page gets."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, bundle: dict[str, str], **_: Any) -> Page:
        self.update(bundle)
        return self

    def update(self, bundle: dict[str, str], **_: Any) -> None:
        self.texts.append(bundle["text/plain"])


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    page = Page()
    monkeypatch.setattr(IPython.display, "display", page.display)
    monkeypatch.setattr(waiting, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(waiting, "SOON_S", 0.05)
    return page


def until(page: Page, text: str) -> None:
    deadline = time.monotonic() + 20
    while not any(text in each for each in page.texts):
        assert time.monotonic() < deadline, page.texts
        time.sleep(0.01)


def test_each_step_of_each_side_is_shown_and_then_gone(page: Page) -> None:
    engine: Any = SimpleNamespace(name="engine", step="creates topic orders")
    kafka: Any = SimpleNamespace(name="local", step="")
    with waiting.shown() as at:
        at.step = "starting a real Kafka"
        until(page, "0 s  starting a real Kafka")
        at.watch(engine, kafka)
        until(page, "engine: creates topic orders")
        until(page, "Kafka (local): at work")
        kafka.step = "waits for every broker to be in service"
        until(page, "Kafka (local): waits for every broker to be in service")
    assert page.texts[-1] == ""


def test_an_error_ends_it_too(page: Page) -> None:
    def run() -> None:
        with waiting.shown() as at:
            at.step = "starting"
            until(page, "starting")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    shown = len(page.texts)
    assert page.texts[-1] == ""
    time.sleep(0.2)
    assert len(page.texts) == shown


def test_a_short_run_shows_nothing(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SOON_S", 60)
    with waiting.shown():
        pass
    assert page.texts == []


def test_a_file_keeps_nothing_of_it() -> None:
    cell = nbformat.v4.new_code_cell(CELL)
    seen: list[Any] = []
    client = NotebookClient(nbformat.v4.new_notebook(cells=[cell]), kernel_name="python3")
    publish = client.process_message

    def watched(message: Any, *more: Any) -> Any:
        if message["msg_type"] in ("display_data", "update_display_data"):
            seen.append(message["content"]["data"]["text/plain"])
        return publish(message, *more)

    client.process_message = watched  # type: ignore[method-assign]
    client.execute()
    assert any("starting a real Kafka" in text for text in seen), seen
    assert seen[-1] == ""
    outputs.clean(cell, 1)
    assert [output.get("text") for output in cell.outputs] == ["done\n"]
