"""The teacher's pages in a browser: the projector with its remote, and who is stuck where."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kit.clusters import engine
from kit.page_server import PageServer
from kit.presenter.scenes import SCENES
from kit.presenter.server import Server as Presenter
from kit.presenter.stage import Stage
from kit.workshop.room import Room
from kit.workshop.server import Server as Workshop

pytestmark = pytest.mark.browser
TIMEOUT_MS = 60_000


@contextmanager
def running(server: PageServer) -> Iterator[None]:
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


def opened(chromium: Any, address: str, width: int, height: int, scheme: str = "light") -> Any:
    page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(TIMEOUT_MS)
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
    page.goto(address)
    return page


def fits(page: Any) -> bool:
    return page.evaluate(
        "() => document.querySelector('.film-panel').getBoundingClientRect().bottom <= innerHeight"
        " && document.documentElement.scrollWidth <= innerWidth"
    )


def test_the_remote_kills_a_broker_and_the_projector_shows_it(chromium) -> None:
    cluster = engine.start()
    stage = Stage(cluster)
    server = Presenter(stage, "127.0.0.1", 0)
    try:
        with running(server):
            large = opened(chromium, server.page("show"), 1920, 1080)
            small = opened(chromium, server.page("show"), 1280, 720, "dark")
            remote = opened(chromium, server.page("remote"), 420, 860)
            for page in (large, small):
                page.locator(".cluster-panel .row.running").nth(2).wait_for()
                assert fits(page)
                assert page.locator("h1").inner_text() == SCENES[0].title
            letter = "() => document.querySelector('.film-panel b').getBoundingClientRect().height"
            assert large.evaluate(letter) > 1.3 * small.evaluate(letter)

            first = remote.locator(".card").first
            first.locator("button.kill").click()
            for page in (large, small):
                page.locator(".cluster-panel .row.killed").wait_for()
            first.locator("button.start").click()
            large.locator(".cluster-panel .row.running").nth(2).wait_for()

            large.keyboard.press("PageDown")
            title = f"h1:has-text('{SCENES[1].title}')"
            for page in (large, small, remote):
                page.locator(title).wait_for()
                assert page.complaints == []
                page.close()
    finally:
        stage.close()
        cluster.close()


def test_the_grid_shows_who_is_stuck_first(chromium) -> None:
    room = Room({"06-4": "The high watermark", "06-5": "The election", "07-1": "Epochs"}, 3600)
    people = [room.join() for _ in range(3)]
    done = {"attempts": 1, "hints": 0, "solved": True}
    room.report(people[0][1], {"06-4": done, "06-5": done})
    room.report(people[1][1], {"06-4": {"attempts": 5, "hints": 2, "solved": False}})
    room.report(people[2][1], {"06-4": {"attempts": 1, "hints": 0, "solved": False}})
    server = Workshop(room, "127.0.0.1", 0)
    with running(server):
        page = opened(chromium, f"{server.address}/watch/{room.watch_key}", 1280, 720, "dark")
        page.locator("tbody tr").nth(2).wait_for()
        names = page.locator("tbody th").all_inner_texts()
        assert names == [people[1][0], people[2][0], people[0][0]]
        assert page.locator("thead th b").all_inner_texts() == ["06-4", "06-5"]
        assert page.locator(".cell.stuck[role=img]").get_attribute("aria-label") == (
            "stuck, 5 attempts, 2 hints, now"
        )
        room.report(people[1][1], {"06-4": done, "07-1": done})
        page.locator("nav button", has_text="07").click()
        page.locator("thead th", has_text="Epochs").wait_for()
        assert page.complaints == []
        room.ends_at = room.clock()
    page.locator("text=it has ended").wait_for()
    page.close()
