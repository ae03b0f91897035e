"""Two outcomes laid side by side: what is the same, measured, explained, or not explained."""

from __future__ import annotations

import signal
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from kit.both import comparison, differences
from kit.both.comparison import UndeclaredDifference, compare, on, run
from kit.both.differences import Difference
from kit.both.outcomes import measured, rows
from kit.clusters.interface import NotOffered

HEALTHY: dict[str, Any] = {
    "controller": {"id": 100, "state": "running"},
    "brokers": {b: {"state": "running", "fenced": False} for b in (101, 102, 103)},
    "links": [],
}


class Cluster:
    """A cluster that remembers what was done to it."""

    def __init__(self, name: str, snapshot: dict[str, Any] | None = None) -> None:
        self.name = name
        self.seen = snapshot or HEALTHY
        self.done: list[tuple[Any, ...]] = []

    def snapshot(self) -> dict[str, Any]:
        return self.seen

    def wait_until(self, predicate: Any, timeout_s: float, what: str) -> None:
        self.done.append(("wait", what))

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.done.append((name, *args))


def verdicts(found: Any) -> dict[str, str]:
    return {row.what: row.verdict for row in found.rows}


def test_facts_must_agree_and_measurements_need_not() -> None:
    ours = {"leader": 102, "wait": measured(0.9, "s"), "isr": {103, 102}}
    theirs = {"leader": 102, "wait": measured(3.1, "s"), "isr": [102, 103]}
    found = compare("scene", ours, theirs, "local")
    assert verdicts(found) == {"leader": "same", "wait": "measured", "isr": "same"}
    for form in (found.text, found._repr_html_()):
        assert "· measured on each side, not compared" in form
    assert "not compared" not in compare("scenario", {"leader": 102}, {"leader": 102}).text
    assert found.verdict == "2 of 2 observations are the same on the engine and on Kafka."
    assert "0.9 s" in found.text
    assert "3.1 s" in found.text


def test_where_all_is_measured_nothing_is_said_to_be_the_same() -> None:
    found = compare("scene", {"wait": measured(0.9, "s")}, {"wait": measured(3.1, "s")}, "local")
    assert found.verdict == (
        "Each observation was measured on the engine and on Kafka; none is compared."
    )


def test_a_row_that_only_one_side_has_is_a_difference() -> None:
    found = compare("scene", {"leader": 102}, {"leader": 102, "elr": [103]}, "local")
    assert verdicts(found)["elr"] == "different"
    assert "not explained: elr" in found.verdict


def test_true_is_not_one() -> None:
    assert verdicts(compare("scene", {"a": True}, {"a": 1}, "local")) == {"a": "different"}


def test_a_declared_difference_passes_and_tells_why(monkeypatch) -> None:
    known = (Difference("scene", "feature › *", "The engine has none of these."),)
    monkeypatch.setattr(differences, "DIFFERENCES", known)
    found = compare("scene", {"feature": {"x": 1}}, {"feature": {"x": 2}}, "local")
    assert verdicts(found) == {"feature › x": "declared"}
    assert "The engine has none of these." in found.text
    assert "The engine has none of these." in found._repr_html_()
    elsewhere = compare("other", {"feature": {"x": 1}}, {"feature": {"x": 2}}, "local")
    assert verdicts(elsewhere) == {"feature › x": "different"}


def test_an_undeclared_difference_raises_with_both_sides() -> None:
    def scene(cluster: Any) -> dict[str, Any]:
        return {"leader": 101 if cluster.name == "engine" else 102}

    with pytest.raises(UndeclaredDifference, match="101") as raised:
        run(scene, Cluster("engine"), Cluster("local"), "")  # type: ignore[arg-type]
    assert "102" in str(raised.value)


def test_both_sides_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=60)

    def scene(cluster: Any) -> dict[str, Any]:
        meeting.wait()
        return {"leader": 101}

    assert run(scene, Cluster("engine"), Cluster("local"), "").complete  # type: ignore[arg-type]


def test_an_interrupt_ends_both_sides_and_both_are_mended() -> None:
    began = threading.Event()
    sides = Cluster("engine"), Cluster("local")

    def scene(cluster: Any) -> dict[str, Any]:
        if cluster.name == "engine":
            assert began.wait(20)
            signal.raise_signal(signal.SIGINT)
        began.set()
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        run(scene, *sides, "")  # type: ignore[arg-type]
    for side in sides:
        assert [done[0] for done in side.done] == ["wait", "wait"], side.name


def test_a_side_that_fails_is_named_when_the_other_is_done() -> None:
    sides = Cluster("engine"), Cluster("local")

    def scene(cluster: Any) -> dict[str, Any]:
        if cluster.name == "engine":
            raise ValueError("no leader")
        return {}

    with pytest.raises(ValueError, match="no leader") as raised:
        run(scene, *sides, "")  # type: ignore[arg-type]
    assert raised.value.__notes__ == ["This happened on the engine side."]
    assert [done[0] for done in sides[1].done] == ["wait", "wait"]


def test_without_a_real_kafka_the_engine_is_shown_alone_and_says_why() -> None:
    found = run(lambda c: {"leader": 101}, Cluster("engine"), None, "Run: make setup")  # type: ignore[arg-type]
    assert not found.complete
    assert found.differences == []
    assert "Engine only. Run: make setup" in found.text
    assert "no real Kafka" in found._repr_html_()


def test_a_scene_that_the_real_side_cannot_play_is_shown_on_the_engine_alone() -> None:
    def scene(cluster: Any) -> dict[str, Any]:
        if cluster.name != "engine":
            raise NotOffered("Docker cannot cut the one link 101-102: the engine can.")
        return {"leader": 102}

    found = run(scene, Cluster("engine"), Cluster("docker"), "")  # type: ignore[arg-type]
    assert not found.complete
    assert found.verdict == "Engine only. Docker cannot cut the one link 101-102: the engine can."


def test_an_error_says_on_which_side_and_the_cluster_is_mended() -> None:
    cluster = Cluster("local")

    def scene(_: Any) -> dict[str, Any]:
        raise ValueError("no leader")

    with pytest.raises(ValueError, match="no leader") as raised:
        on(scene, cluster)  # type: ignore[arg-type]
    assert raised.value.__notes__ == ["This happened on the local side."]
    assert [done[0] for done in cluster.done] == ["wait", "wait"]


def test_mending_undoes_what_a_scenario_broke() -> None:
    broken = {
        "controller": {"id": 100, "state": "killed"},
        "controllers": {
            100: {"state": "killed"},
            200: {"state": "running"},
            300: {"state": "paused"},
        },
        "brokers": {
            101: {"state": "killed", "fenced": True},
            102: {"state": "paused", "fenced": True},
            103: {"state": "running", "fenced": False},
        },
        "links": [{"between": [101, 103], "state": "cut"}],
    }
    cluster = Cluster("engine", broken)
    comparison.mend(cluster)  # type: ignore[arg-type]
    assert cluster.done[:4] == [("heal",), ("start", 100, 101), ("resume", 300), ("resume", 102)]


def test_what_cannot_be_compared_is_named() -> None:
    with pytest.raises(TypeError, match="'a › b' is a SimpleNamespace"):
        rows({"a": {"b": SimpleNamespace()}})
    with pytest.raises(TypeError, match="returns a mapping"):
        on(lambda _: [1, 2], Cluster("engine"))  # type: ignore[arg-type,return-value]


def test_long_values_stand_below_the_table() -> None:
    found = compare("scene", {"says": "x" * 100}, {"says": "x" * 100}, "local")
    assert max(map(len, found.text.splitlines()[1:3])) < 60
    assert "x" * 100 in found.text


def test_rows_of_a_nested_observation_stand_under_its_name() -> None:
    seen = {"leader": 101, "second kill": {"ISR": [102], "ELR": [103]}, "alone": {"x": 1}}
    found = compare("scene", seen, seen, "local")
    assert [line.strip().split("  ")[0] for line in found.text.splitlines()[2:]] == [
        "✓", "second kill", "✓", "✓", "✓",
    ]  # fmt: skip
    assert found.text.count("second kill") == 1
    assert "alone › x" in found.text
    html = found._repr_html_()
    assert html.count("second kill") == 1
    assert ">ISR</div>" in html


def test_every_declared_difference_has_a_reason() -> None:
    for difference in differences.DIFFERENCES:
        assert difference.why.endswith("."), difference


def test_what_a_side_cannot_count_is_a_dash_and_not_a_number() -> None:
    assert str(measured(float("nan"), "lines")) == "–"
    assert str(measured(0.0, "lines")) == "0 lines"
