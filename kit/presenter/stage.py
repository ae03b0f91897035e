"""A real cluster, the real Cluster panel over it, and the scene that is on.

The panel lives as it does in a kernel: on an event loop, here of a thread of its own.  Everything
that a page sees of it are its traits; everything that a page can do are its presses.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from kit.clusters.interface import Cluster
from kit.panel.panel import ClusterPanel
from kit.presenter.scenes import SCENES, Scene
from kit.probes.background_load import BackgroundLoad

TOPIC = "orders"
PERIOD_S = 1.2
TRAITS = ("scene", "timeline", "notice", "topic", "partition", "position")
SETTABLE = ("position", "partition")


class Stage:
    """Safe for several threads: all work on the panel is done on one loop."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.at = 0
        self.version = 0
        self._load: BackgroundLoad | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._changing = threading.Lock()
        self._begin(SCENES[0])
        self.panel: ClusterPanel = self._on_loop(self._new_panel)

    @property
    def scene(self) -> Scene:
        return SCENES[self.at]

    def state(self) -> dict[str, Any]:
        """What a page shows."""
        return {
            "version": self.version,
            "traits": {name: getattr(self.panel, name) for name in TRAITS},
            "at": self.at,
            "of": len(SCENES),
            "title": self.scene.title,
            "question": self.scene.question,
            "to_press": self.scene.to_press,
        }

    def watch(self) -> None:
        self._loop.call_soon_threadsafe(lambda: self.panel.attention.keep())

    def press(self, action: str, node: int, other: int | None) -> None:
        self._loop.call_soon_threadsafe(self.panel.press, action, node, other)

    def set(self, name: str, value: int) -> None:
        if name in SETTABLE:
            self._loop.call_soon_threadsafe(setattr, self.panel, name, value)

    def go(self, number: int) -> None:
        """Another scene: everything is mended, and the topic begins again."""
        if not 0 <= number < len(SCENES) or not self._changing.acquire(blocking=False):
            return
        threading.Thread(target=self._change, args=(number,), daemon=True).start()

    def close(self) -> None:
        if self._load:
            self._load.close()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self) -> None:
        self.panel.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _change(self, number: int) -> None:
        try:
            self.at = number
            self._say(f"{SCENES[number].title} …")
            self._begin(SCENES[number])
            old, self.panel = self.panel, self._on_loop(self._new_panel)
            self._on_loop(old.close)
            self.version += 1
        except Exception as error:  # shown on the page, where the presenter is
            self._say(f"The scene could not begin: {error}")
        finally:
            self._changing.release()

    def _begin(self, scene: Scene) -> None:
        if self._load:
            self._load.close()
            self._load = None
        self.cluster.heal()
        nodes = self.cluster.snapshot()["brokers"]
        for node, seen in nodes.items():
            if seen["state"] == "paused":
                self.cluster.resume(node)
            elif seen["state"] != "running":
                self.cluster.start(node)
        first_three = self.cluster.brokers[:3]
        self.cluster.create_topic(
            TOPIC,
            assignment={0: first_three},
            config={"min.insync.replicas": min(scene.minimum, len(first_three))},
        )
        self._load = BackgroundLoad(self.cluster, TOPIC, period_s=PERIOD_S, acks=scene.acks)

    def _new_panel(self) -> ClusterPanel:
        """One for each scene: the topic begins again, and its old records were not lost."""
        panel = ClusterPanel(self.cluster, TOPIC)
        panel.observe(self._changed, list(TRAITS))
        return panel

    def _say(self, words: str) -> None:
        self._loop.call_soon_threadsafe(setattr, self.panel, "notice", words)
        self.version += 1

    def _changed(self, change: Any) -> None:
        self.version += 1

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        async def done() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result()
