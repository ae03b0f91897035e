"""The Transaction panel over a simulated world: step through a commit, and try another future.

    from kit import lab
    from kit.transaction_panel import producers

    world = lab.world(seed=7, settings={"offsets.topic.num.partitions": 8})
    world.create_topic("transfers")
    world.create_topic("accounts", partitions=8)
    producers.start(world, "app", "transfer")           # transactional.id transfer
    producers.act(world, "begin", "app")
    producers.send(world, "app", "accounts", "Alice -10", 0)
    producers.send(world, "app", "accounts", "Bob +10", 1)
    producers.send_offsets(world, "app", {("transfers", 0): 1}, "ledger")
    producers.act(world, "commit", "app")
    producers.wait(world, "app")
    world.run(for_s=1)

    panel = lab.transactions(world, "accounts")
    panel.jump("PrepareCommit")                          # the next step whose name has these words
    panel.step(); panel.back(); panel.go(0)
    panel.scene().row("accounts-0").last_stable_offset   # what is drawn, as plain data
    panel.press("kill", "app")                           # a producer's button: another future
    panel.zombie("transfer")                             # a second producer with this id
    panel.kill(102); panel.fork(); panel.run_on(3); panel.forget()

The panel records a copy of the world; yours stays where it is.  Producers of the engine that you
added yourself (engine/client/producer.py) are shown too; the buttons are for those of
`kit/transaction_panel/producers.py`.  The topics that you name are drawn, and of
`__consumer_offsets` the partitions that a transaction has written to.

All state is in traits, so a test needs no browser: `position` is the place on the timeline,
`press("commit", "app")` is what a button sends, `film` is everything a browser draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.sim.world.world import World
from kit.film import strip
from kit.film.source import Frame
from kit.film.steps import plain
from kit.film.timeline_panel import TimelinePanel
from kit.transaction_panel import controls, export, small, still, text
from kit.transaction_panel.film import Film
from kit.transaction_panel.recording import branch, perform, record
from kit.transaction_panel.scene import Scene, build
from kit.transaction_panel.view import is_internal

GROUP = "panel"


class TransactionTimePanel(TimelinePanel):
    """A recorded world's transactions."""

    _esm = export.time_script()
    _css = export.style()

    _longer_us = 1_500_000

    def __init__(self, world: World, *topics: str) -> None:
        """Without `topics`, those of users that the world has."""
        super().__init__()
        found = [name for name in world.image().topic_ids if not is_internal(name)]
        self.world, self.topics = world, topics or tuple(sorted(found))
        self._begin(record(world, self.topics))

    def _make(self) -> Film:
        at = self._forked_from.number if self._forked_from else 0
        return Film.of(self._first, self._second, at)

    @property
    def names(self) -> list[str]:
        """The names of the steps that have one, in their order."""
        told = (each for place in range(len(self)) for _, each in self._film.told(place))
        return [each.label for each in told if each.label]

    # -- another future

    def press(self, action: str, name: str, *, keep: bool | None = None) -> None:
        """A producer's button at the moment in view: begin, send, offsets, commit, abort or kill.

        At a timeline's end it happens there and the world goes on; earlier, it makes another
        future.  With `keep`, what was done later is done again there; as a rule after a kill only.
        """
        keep = action == "kill" if keep is None else keep
        seen = {each.name: each for each in self.scene().clients}
        refusal = f"There is no {name} at this moment."
        if name in seen:
            found = {each.action: each.refusal for each in controls.of_client(seen[name])}
            refusal = found.get(action, f"{name} has no button {action!r} at this moment.")
        if refusal:
            self.notice = refusal
        else:
            self._do_now(self._meant(action, name), keep)

    def zombie(self, transactional_id: str, *, keep: bool = True) -> None:
        """A second producer with an id: it fences the first one, which becomes a zombie."""
        self._do_now(("start", self._free_name(transactional_id), transactional_id), keep)

    def kill(self, broker: int, *, keep: bool = True) -> None:
        """Kills a broker, such as a coordinator."""
        self._broker("kill", broker, keep)

    def start(self, broker: int, *, keep: bool = True) -> None:
        self._broker("start broker", broker, keep)

    def fork(self, *, keep: bool = True) -> None:
        """A second timeline from here; without `keep` nothing more is done in it from outside.

        Where there are two, it takes the place of the second, and begins in the first.
        """
        self._another((), keep)

    def _meant(self, action: str, name: str) -> tuple[Any, ...]:
        """What a button does, with what a program would choose: value, partition, offset."""
        snapshot = self.frame().snapshot
        if action == "send":
            topic = self.topics[0]
            count = sum(each["topic"] == topic for each in snapshot["partitions"].values())
            sent = sum(
                len(stored["records"])
                for each in snapshot["partitions"].values()
                if each["topic"] == topic
                for stored in each["batches"]
            )
            shown = min(count, 2)  # two partitions are enough to see that all or none commit
            return "send", name, topic, f"{name} {sent + 1}", sent % max(1, shown)
        if action == "offsets":
            return "offsets", name, {(self.topics[0], 0): len(snapshot["records"])}, GROUP
        return action, name

    def _free_name(self, transactional_id: str) -> str:
        taken = {name for name, each in self.frame().snapshot["clients"].items()}
        taken |= set(map(str, self._first.world.cluster.states))
        first = next((name for name, each in self.frame().snapshot["clients"].items()
                      if each["id"] == transactional_id), "app")  # fmt: skip
        return next(name for n in range(2, 1000) if (name := f"{first}-{n}") not in taken)

    def _broker(self, action: str, broker: int, keep: bool) -> None:
        state = self.frame().snapshot["brokers"].get(broker)
        wanted = "running" if action == "kill" else "killed"
        if state is None:
            self.notice = f"There is no broker {broker}."
        elif state != wanted:
            self.notice = f"Broker {broker} is {state}."
        else:
            self._do_now((action, broker), keep)

    def _do_now(self, action: tuple[Any, ...], keep: bool) -> None:
        if self._is_at_end:
            perform(self._recording, *action)
            self._go_on()
        else:
            self._another((action,), keep)

    def _another(self, actions: tuple[tuple[Any, ...], ...], keep: bool) -> None:
        self._branch(lambda of, frame: branch(of, frame, actions, keep), acts=bool(actions))

    def _of_what(self) -> str:
        return "a transaction"

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "name": str(name)}:
                self.press(action, name)
            case {"type": "zombie", "id": str(transactional_id)}:
                self.zombie(transactional_id)
            case {"type": "broker", "action": "kill", "broker": int(broker)}:
                self.kill(broker)
            case {"type": "broker", "action": "start broker", "broker": int(broker)}:
                self.start(broker)
            case {"type": "fork"}:
                self.fork()

    # -- showing

    def scene(self, take: int | None = None) -> Scene:
        """What is drawn of a take."""
        frame = self.frame(take)
        return build(frame.snapshot, frame.lines)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        parts = []
        for number in range(self.active + 1):
            frame = self.frame(number)
            name = f"timeline {number + 1}, " if self.active else ""
            parts.append(f"{name}{self.seconds_of(frame)}")
            parts.append(text.render(self.scene(number), ""))
        return "\n".join([*parts, plain(self.caption)])

    def export(self, file: str | Path) -> Path:
        """Writes the recording as one HTML file that needs no kernel and no network."""
        return export.write(Path(file), self.film, self.position)

    def _still(self) -> str:
        return still.draw(self.scene(), self.caption)

    def _look(self, frames: Sequence[Frame]) -> strip.Look:
        scenes = [build(frame.snapshot, frame.lines) for frame in frames]
        return strip.Look(
            ", ".join(self.topics),
            [small.draw(scene) for scene in scenes],
            small.shapes(scenes),
            small.LEGEND,
        )
