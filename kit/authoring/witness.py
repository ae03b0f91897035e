"""Notes, while a notebook is built, which sides each of its cells reached.

    both     a complete `lab.both`        engine   the engine's sockets
    kafka    a Kafka alone                sim      a world in virtual time
    read     none of them

It wraps, in the kernel of a build alone, the classes that every cell must go through to reach
a side: `KafkaCluster` and `World`.  It also counts the rows of each `lab.both`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "KAFKALAB_WITNESS"
KEY = "kafkalab"
"""Of a cell's metadata: `{"side": "both", "rows": 7, "moves": true}`."""
START = "from kit.authoring import witness\n\nwitness.start()"
IGNORED = frozenset({"close", "name", "provider"})


def read(file: Path) -> list[dict[str, Any]]:
    """What was noted of each code cell after the one that started it, in order."""
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found[1:]


def start() -> None:
    """Begins to take notes; they are written after each cell."""
    from IPython.core.getipython import get_ipython

    shell, file = get_ipython(), Path(os.environ[VARIABLE])
    assert shell is not None, "a build runs in IPython's kernel"
    reached: set[str] = set()
    rows: list[int] = []
    notes: list[dict[str, Any]] = []
    _watch_clusters(reached.add)
    _watch_worlds(reached.add)
    _watch_comparisons(rows.append)

    def before(info: Any) -> None:
        reached.clear()
        rows.clear()

    def after(result: Any) -> None:
        compared = {"side": "both", "rows": max(rows)} if rows else {"side": side(reached)}
        notes.append(compared)
        file.write_text(json.dumps(notes))

    shell.events.register("pre_run_cell", before)
    shell.events.register("post_run_cell", after)


def side(reached: set[str]) -> str:
    """The one word for what a cell reached that compared nothing."""
    return next((each for each in ("engine", "kafka", "sim") if each in reached), "read")


def _watch_clusters(note: Callable[[str], None]) -> None:
    from kit.clusters.kafka_cluster import KafkaCluster

    look = KafkaCluster.__getattribute__

    def watched(self: Any, name: str) -> Any:
        if name[:1] != "_" and name not in IGNORED:
            note("engine" if look(self, "name") == "engine" else "kafka")
        return look(self, name)

    setattr(KafkaCluster, "__getattribute__", watched)  # noqa: B010


def _watch_worlds(note: Callable[[str], None]) -> None:
    from engine.sim.world.world import World

    for name in ("step", "run"):
        _before(World, name, lambda: note("sim"))


def _before(owner: type, name: str, act: Callable[[], None]) -> None:
    method = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        act()
        return method(*arguments, **options)

    setattr(owner, name, wrapped)


def _watch_comparisons(note: Callable[[int], None]) -> None:
    from kit.both import comparison

    run = comparison.run

    def watched(*arguments: Any, **options: Any) -> Any:
        outcome = run(*arguments, **options)
        if outcome.complete:
            note(len(outcome.rows))
        return outcome

    comparison.run = watched
