"""A sequence diagram of one partition, drawn while a simulated cluster runs.

    diagram = SequenceDiagram(world, "orders")
    diagram.send("A", "B", "C")
    diagram.run(for_s=0.1)
    diagram

It has a lane per node and a row per event, in order of virtual time.  Followers' fetches
and their answers are arrows; a replica's decision (an append, a high watermark that moves)
stands in its lane.  Idle fetches carry no news and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Answer
from engine.sim.world.world import World
from kit.probes import messages
from kit.probes.virtual import post, topic_id

CLIENT = "admin"
LANE_OF_CLIENT = "producer"
SHOWN = ("append", "high_watermark", "isr", "truncate", "leader")
REQUEST, ANSWER, NOTE = "request", "answer", "note"
_COLOURS = {REQUEST: "#D55E00", ANSWER: "#0072B2", NOTE: "#009E73"}


@dataclass(frozen=True)
class Heard:
    """One row: a message from `source` to `destination`, or a note in the lane of both.

    `what` is a message's kind (kit/probes/messages.py), or the trace's word for a decision.
    """

    at_us: int
    kind: str
    what: str
    source: str
    destination: str
    says: str


class SequenceDiagram:
    """Messages and decisions about partition 0 of `topic` since the diagram was made."""

    def __init__(self, world: World, topic: str) -> None:
        self.world = world
        self.topic = topic
        self.topic_id = topic_id(world, topic)
        self.since_us = world.now_us
        self.heard: list[Heard] = []
        self._traced = world.cluster.trace_count

    def send(self, *values: str, acks: str = "all") -> None:
        """Sends one batch to the leader; the answer is heard as the world runs on."""
        post(self.world, self.topic, *values, acks=acks)

    def run(
        self, until: Callable[[World], bool] | None = None, for_s: float | None = None
    ) -> SequenceDiagram:
        """Like the world's own run, and listens."""
        end_us = None if for_s is None else self.world.now_us + int(for_s * 1e6)
        self.world.listen(self._listen)
        try:
            while until is None or not until(self.world):
                at = self.world.next_at
                ahead_us = 0 if at is None else at - self.world.cluster.now
                if at is None or (end_us is not None and self.world.now_us + ahead_us > end_us):
                    break
                self.world.step()
                self._read_trace()
        finally:
            self.world.unlisten(self._listen)
        if end_us is not None:
            self.world.run(for_s=max(0, end_us - self.world.now_us) / 1e6)
        return self

    # -- listening

    def _listen(self, what: Sent | Arrived) -> None:
        if isinstance(what, Sent):
            return
        kind, source, destination = REQUEST, lane(what.call.sender), lane(what.call.destination)
        if isinstance(what.message, Answer):
            kind, source, destination = ANSWER, destination, source
        message = messages.first(what.message.body, self.topic, self.topic_id)
        if message is not None:
            at_us = what.at_us - self.world.cluster.now + self.world.now_us
            self.heard.append(Heard(at_us, kind, message.kind, source, destination, message.brief))

    def _read_trace(self) -> None:
        cluster = self.world.cluster
        new = cluster.trace_count - self._traced
        self._traced = cluster.trace_count
        for at, node, line in list(cluster.trace)[-new:] if new else ():
            if line.kind in SHOWN and line.partition == f"{self.topic}-0":
                where = lane(node)
                at_us = at - cluster.now + self.world.now_us
                says = _in_words(line.kind, dict(line.fields))
                self.heard.append(Heard(at_us, NOTE, line.kind, where, where, says))

    # -- showing

    @property
    def lanes(self) -> list[str]:
        """The producer, then the leader, then the followers."""
        brokers = [str(each) for each in self.world.partition(self.topic, 0).replicas]
        has_client = any(LANE_OF_CLIENT in (h.source, h.destination) for h in self.heard)
        return [*([LANE_OF_CLIENT] if has_client else []), *brokers]

    @property
    def text(self) -> str:
        lines = []
        for heard in self.heard:
            at = f"{(heard.at_us - self.since_us) / 1000:8.2f} ms"
            if heard.kind == NOTE:
                lines.append(f"{at}  {heard.source:<8} {heard.says}")
            else:
                lines.append(f"{at}  {heard.source} → {heard.destination}: {heard.says}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        lanes = self.lanes
        head = "".join(f"<th scope='col' style='{_HEAD}'>{escape(name)}</th>" for name in lanes)
        width = f"{92 / len(lanes):.0f}%"
        columns = "<col style='width:8%'>" + f"<col style='width:{width}'>" * len(lanes)
        rows = "".join(self._row(heard, lanes) for heard in self.heard)
        return (
            "<table style='width:100%;max-width:860px;table-layout:fixed;border-collapse:collapse;"
            "color:var(--jp-content-font-color1,inherit)'>"
            f"<colgroup>{columns}</colgroup><thead><tr><th style='{_HEAD}'>ms</th>{head}</tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )

    def _row(self, heard: Heard, lanes: list[str]) -> str:
        first, last = sorted((lanes.index(heard.source), lanes.index(heard.destination)))
        span = last - first + 1
        at = f"{(heard.at_us - self.since_us) / 1000:.1f}"
        idle = f"<td style='{_CELL};{_lifelines(1)}'></td>"
        drawn = _note(heard) if heard.kind == NOTE else _arrow(heard, span, lanes)
        return (
            f"<tr style='background:none'><td style='{_CELL};text-align:right;opacity:.7'>{at}</td>"
            f"{idle * first}<td colspan='{span}' style='{_CELL};{_lifelines(span)}'>{drawn}</td>"
            f"{idle * (len(lanes) - 1 - last)}</tr>"
        )


_HEAD = "text-align:center;padding:3px 0;border-bottom:1px solid var(--jp-border-color1,#bbb)"
_CELL = "padding:1px 0;vertical-align:bottom"
_PAPER = "background:var(--jp-layout-color0,transparent)"


def _lifelines(span: int) -> str:
    """A thin line down the middle of each lane that a cell covers."""
    ink = "linear-gradient(var(--jp-border-color2,#ccc),var(--jp-border-color2,#ccc))"
    places = (f"{100 * (lane + 0.5) / span:.2f}%" for lane in range(span))
    return "background:" + ",".join(f"{ink} {place} 0/1px 100% no-repeat" for place in places)


def _note(heard: Heard) -> str:
    """What a replica decided, on its own line."""
    colour = _COLOURS[NOTE]
    return (
        f"<div style='margin-left:50%;border-left:4px solid {colour};padding-left:8px;"
        f"text-align:left;white-space:nowrap'><strong>{escape(heard.says)}</strong></div>"
    )


def _arrow(heard: Heard, span: int, lanes: list[str]) -> str:
    """A message, from the middle of one lane to the middle of another."""
    colour, margin = _COLOURS[heard.kind], f"{50 / span:.2f}%"
    rightwards = lanes.index(heard.source) < lanes.index(heard.destination)
    head = f"<span aria-hidden='true' style='color:{colour}'>{'▶' if rightwards else '◀'}</span>"
    words = f"<span style='{_PAPER};padding:0 4px'>{escape(heard.says)}</span>"
    left, right = ("<span></span>", head) if rightwards else (head, "<span></span>")
    return (
        f"<div style='margin:0 {margin};border-bottom:2px solid {colour};display:flex;"
        f"justify-content:space-between;align-items:flex-end'>{left}{words}{right}</div>"
    )


def lane(node: int | str) -> str:
    return LANE_OF_CLIENT if node == CLIENT else str(node)


def _in_words(kind: str, fields: dict[str, Any]) -> str:
    match kind:
        case "append":
            base, last = fields["base"], fields["last"]
            return f"append {base}" if base == last else f"append {base}–{last}"
        case "high_watermark":
            return f"HW → {fields['to']}"
        case "isr":
            return f"ISR {' '.join(map(str, fields['isr']))}"
        case "truncate":
            return f"truncate {fields['was']} → {fields['to']}"
        case _:
            return f"epoch {fields['epoch']}: {fields['leader']} leads"
