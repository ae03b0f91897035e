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

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from engine.sim.world.world import World
from kit.film import replay
from kit.film.asking import answering
from kit.film.moments import Moment, within
from kit.film.output import put_out, with_still
from kit.film.source import Frame
from kit.film.steps import plain
from kit.transaction_panel import controls, export, still, text
from kit.transaction_panel.film import Film
from kit.transaction_panel.recording import (
    FRAMES_MOST,
    TransactionRecording,
    branch,
    perform,
    record,
)
from kit.transaction_panel.scene import Scene, build
from kit.transaction_panel.view import is_internal

LONGER_US = 1_500_000
"""How long a world runs on after an action at its end."""
GROUP = "panel"


class TransactionTimePanel(anywidget.AnyWidget):
    """A recorded world's transactions."""

    _esm = export.time_script()
    _css = export.style()

    film = traitlets.Dict().tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)

    def __init__(self, world: World, *topics: str) -> None:
        """Without `topics`, those of users that the world has."""
        super().__init__()
        found = [name for name in world.image().topic_ids if not is_internal(name)]
        self.world, self.topics = world, topics or tuple(sorted(found))
        self._first = record(world, self.topics)
        self._second: TransactionRecording | None = None
        self._forked_at = 0
        self._film = Film.of(self._first)
        self.film = self._film.to_plain()
        if len(self._first.frames) >= FRAMES_MOST:
            self.notice = f"Only the first {FRAMES_MOST} steps are recorded."
        self.on_msg(self._hear)

    # -- where on the timeline

    def __len__(self) -> int:
        """How many moments the timeline has."""
        return len(self._film.moments)

    def step(self) -> None:
        self.go(self.position + 1)

    def back(self) -> None:
        self.go(self.position - 1)

    def go(self, place: int) -> None:
        self.position = within(self._film.moments, place)

    def jump(self, words: str) -> bool:
        """To the next step whose name has these words, such as "PrepareCommit"; else False."""
        for place in range(self.position + 1, len(self)):
            if any(words in told.label for _, told in self._film.told(place)):
                self.go(place)
                return True
        self.notice = f"There is no {words!r} after this moment."
        return False

    @property
    def names(self) -> list[str]:
        """The names of the steps that have one, in their order."""
        told = (each for place in range(len(self)) for _, each in self._film.told(place))
        return [each.label for each in told if each.label]

    @property
    def moment(self) -> Moment:
        return self._film.moments[within(self._film.moments, self.position)]

    @property
    def active(self) -> int:
        """The take that buttons and trace belong to."""
        return self.moment.active

    def frame(self, take: int | None = None) -> Frame:
        """The frame in view, of the active take or of take 0 or 1."""
        return self._film.frame(self.moment, self.active if take is None else take)

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
        self._branch((), keep)

    def run_on(self, seconds: float = 3.0) -> None:
        """Runs the active timeline for so many seconds of virtual time."""
        self._go_on(round(seconds * 1_000_000))

    def forget(self) -> None:
        """Drops the second timeline."""
        at = self.moment.first
        self._second = None
        self._show()
        self.go(at)

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
        recording = self._active_recording()
        if self.frame() is recording.frames[-1]:
            perform(recording, *action)
            self._go_on()
        else:
            self._branch((action,), keep)

    def _active_recording(self) -> TransactionRecording:
        return self._second if self.active and self._second is not None else self._first

    def _branch(self, actions: tuple[tuple[Any, ...], ...], keep: bool) -> None:
        """Another future: timeline 2, or for an action in timeline 2, another end of it."""
        if self._first.world.timeline is None:
            self.notice = "This world keeps no checkpoints: make it with rewindable=True."
            return
        of_second = self._second if actions and self.active else None
        of, frame = of_second or self._first, self.frame(1 if of_second else 0)
        try:
            new = branch(of, frame, actions, keep)
        except ValueError as error:
            self.notice = str(error)
            return
        at = self.moment.first
        if of_second:
            new.prepend(of_second, frame)
            at = self.position
        else:
            self._forked_at = frame.number
        self._second = new
        self._show()
        self.go(at + 1 + bool(actions and not of_second))

    def _go_on(self, us: int = LONGER_US) -> None:
        recording = self._active_recording()
        replay.run(recording, recording.now_us + us)
        at, known = self.position, len(self)
        self._show()
        if len(self) == known:
            self.notice = f"Nothing happens to a transaction in {us / 1e6:.1f} s."
        self.go(at + 1)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        with answering(self, content):
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
                case {"type": "forget"}:
                    self.forget()
                case {"type": "run_on"}:
                    self.run_on()

    # -- showing

    def scene(self, take: int | None = None) -> Scene:
        """What is drawn of a take."""
        frame = self.frame(take)
        return build(frame.snapshot, frame.lines)

    @property
    def caption(self) -> str:
        """What is new in view; where there are two timelines, it says in which of them."""
        return " ".join(self._film.captions(within(self._film.moments, self.position)))

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        first = self._film.takes[0].frames[0].time_us
        parts = []
        for number in range(self.active + 1):
            frame = self.frame(number)
            name = f"timeline {number + 1}, " if self.active else ""
            parts.append(f"{name}t = {(frame.time_us - first) / 1e6:.6f} s, event {frame.event}")
            parts.append(text.render(self.scene(number), ""))
        return "\n".join([*parts, plain(self.caption)])

    def export(self, file: str | Path) -> Path:
        """Writes the recording as one HTML file that needs no kernel and no network."""
        return export.write(Path(file), self.film, self.position)

    def _show(self) -> None:
        self._film = Film.of(self._first, self._second, self._forked_at)
        with self.hold_sync():
            self.film = self._film.to_plain()
            self.go(self.position)

    def _ipython_display_(self, **kwargs: Any) -> None:
        put_out(self._repr_mimebundle_()[0])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        live = super()._repr_mimebundle_(**kwargs)
        return with_still(live, self.text, still.draw(self.scene(), self.caption))
