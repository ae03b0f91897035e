"""The presenter's stage over a real engine: what a remote's button does, and what a scene mends."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest

from kit.clusters import engine
from kit.presenter import pages
from kit.presenter.scenes import SCENES
from kit.presenter.server import Server
from kit.presenter.stage import Stage


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    cluster = engine.start()
    stage = Stage(cluster)
    with Server(stage, "127.0.0.1", 0) as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.1,))
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()
    stage.close()
    cluster.close()


def get(server: Server, name: str) -> str:
    with urllib.request.urlopen(server.page(name), timeout=10) as answer:
        return answer.read().decode()


def post(server: Server, name: str, content: object) -> None:
    request = urllib.request.Request(server.page(name), json.dumps(content).encode())
    urllib.request.urlopen(request, timeout=10).close()


def wait_for(server: Server, test: Callable[[dict], object]) -> dict:
    """Watches as an open page does; the state for which the test holds."""
    limit = time.monotonic() + 40
    while True:
        post(server, "press", {"type": "watch"})
        state = json.loads(get(server, "state"))
        if test(state):
            return state
        assert time.monotonic() < limit, state["traits"]["scene"].get("text", state)
        time.sleep(0.2)


def row(state: dict, node: int) -> dict:
    return next(each for each in state["traits"]["scene"]["rows"] if each["id"] == node)


def offsets(state: dict) -> int:
    return max(each["log_end_offset"] for each in state["traits"]["scene"]["rows"])


def test_a_scene_moves_by_itself_and_a_press_kills_a_real_broker(server) -> None:
    state = wait_for(server, lambda s: offsets(s) > 1)
    leader = next(e["id"] for e in state["traits"]["scene"]["rows"] if e["role"] == "leader")
    post(server, "press", {"type": "press", "action": "kill", "node": leader, "other": None})
    state = wait_for(server, lambda s: row(s, leader)["state"] == "killed")
    assert server.stage.cluster.snapshot()["brokers"][leader]["state"] == "killed"
    wait_for(server, lambda s: any(e["role"] == "leader" for e in s["traits"]["scene"]["rows"]))

    post(server, "go", {"scene": 4})
    state = wait_for(server, lambda s: s["at"] == 4 and not s["traits"]["notice"])
    assert state["title"] == SCENES[4].title
    assert "lost" not in state["traits"]["scene"]["caption"], "the topic began again"
    state = wait_for(server, lambda s: row(s, leader)["state"] == "running" and offsets(s) < 4)
    assert server.stage.cluster.snapshot()["topics"]["orders"]["config"]["min.insync.replicas"] in (
        "1", 1,
    )  # fmt: skip


def test_looking_back_is_for_both_pages(server) -> None:
    wait_for(server, lambda s: s["traits"]["timeline"]["last"] > s["traits"]["timeline"]["first"])
    first = server.stage.panel.timeline["first"]
    post(server, "set", {"position": first})
    assert wait_for(server, lambda s: s["traits"]["position"] == first)
    post(server, "set", {"position": -1})
    assert wait_for(server, lambda s: s["traits"]["position"] == -1)


def test_a_page_that_has_the_newest_version_gets_nothing(server) -> None:
    version = json.loads(get(server, "state"))["version"]
    assert isinstance(version, int)
    answers = [json.loads(get(server, f"state?{server.stage.version}")) for _ in range(20)]
    assert {} in answers


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("press", {"type": "press", "action": "lose_power", "node": 101}, 400),
        ("press", {"type": "press", "action": "close", "node": 101}, 400),
        ("press", {"type": "press", "action": "kill", "node": "101"}, 400),
        ("press", {"type": "press", "action": "cut", "node": 101, "other": "x"}, 400),
        ("press", [], 400),
        ("go", {"scene": "next"}, 400),
        ("nothing", {}, 400),
    ],
)
def test_other_buttons_are_refused(server, name, content, status) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(server, name, content)
    assert refused.value.code == status


def test_without_the_key_there_is_nothing(server) -> None:
    for path in (
        "/",
        "/show",
        f"/{server.key[:-1]}/show",
        f"/{server.key}x/state",
        f"/{server.key}",
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.address + path, timeout=10)
        assert refused.value.code == 404
    before = server.stage.at
    post(server, "go", {"scene": 99})
    assert server.stage.at == before


def test_the_pages_ask_no_other_server() -> None:
    assert "default-src 'none'" in pages.POLICY
    assert "sha256-" in pages.POLICY
    for name in ("show", "remote"):
        assert "src=" not in pages.html(name)


def test_no_scene_tells_its_end() -> None:
    for scene in SCENES:
        assert scene.question.endswith("?")
        assert scene.to_press
