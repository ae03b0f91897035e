"""Draws one batch's way to the broker: what it waited for, attempt by attempt.

    DeliveryTimeline.of(world, "shop", batch=1)

It reads the producer's own trace lines, from the moment when the producer takes the batch's
first record to the verdict.  Each wait and each attempt has a row, in order of time; the row
at the top is what delivery.timeout.ms allows.  The text says the same in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from engine.client.settings import ProducerSettings
from engine.events import Trace
from engine.sim.world.world import World
from kit.drawings.picture import Picture, picture
from lessons.nb08_producers.shop import outcome

WIDTH, LEFT, RIGHT, ROW, TOP = 820, 172, 24, 30, 40
LINGER, ATTEMPT, PAUSE = "linger", "attempt", "pause"
DONE = ("acknowledged", "reported", "refused", "unknown")
STYLE = """
.kio-delivery{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--attempt:#0072b2;
--pause:#e69f00;--linger:#999;
--bad:#c04a00;--good:#00795a}
@media(prefers-color-scheme:dark){.kio-delivery{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;
--line:#323a45;
--attempt:#56b4e9;--pause:#e6b44c;--linger:#8a94a3;--bad:#ff8a50;--good:#3ecfa0}}
.kio-delivery text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.kio-delivery .s{fill:var(--soft);font-size:11px}.kio-delivery .b{font-weight:700}
.kio-delivery .m{text-anchor:middle}.kio-delivery .e{text-anchor:end}
.kio-delivery .bad{fill:var(--bad)}.kio-delivery .good{fill:var(--good)}
.kio-delivery .in{fill:var(--bg);font-weight:700}
"""


@dataclass(frozen=True)
class Span:
    """One stretch of a batch's life; `says` is how it ended."""

    kind: str
    name: str
    begin_ms: float
    end_ms: float
    says: str = ""


@dataclass(frozen=True, repr=False)
class DeliveryTimeline(Picture):
    """`spans` in order of time; `allowed_ms` is delivery.timeout.ms."""

    spans: tuple[Span, ...]
    verdict: str
    allowed_ms: float
    request_ms: float

    @classmethod
    def of(cls, world: World, producer: str, batch: int = 1) -> DeliveryTimeline:
        """A batch of a producer in a world; batches are numbered from 1."""
        lines = [(at, line) for at, node, line in world.cluster.trace if node == producer]
        return cls.read(lines, batch, world.client(producer).settings)

    @classmethod
    def read(
        cls, trace: Sequence[tuple[int, Trace]], batch: int, settings: ProducerSettings
    ) -> DeliveryTimeline:
        """The same from any trace; times in microseconds."""
        own = [(at, line.kind, dict(line.fields), line.why) for at, line in trace]
        own = [each for each in own if each[2].get("batch") == batch]
        if not own:
            raise ValueError(f"There is no batch {batch} in this trace.")
        spans, verdict = _spans(own)
        return cls(tuple(spans), verdict, settings.delivery_timeout_ms, settings.request_timeout_ms)

    # -- showing

    @property
    def text(self) -> str:
        lines = [f"{self.verdict}; delivery.timeout.ms allows {self.allowed_ms:.0f} ms"]
        for span in self.spans:
            took = f"{span.end_ms - span.begin_ms:8.1f} ms"
            lines.append(f"{span.begin_ms:9.1f} ms  {took}  {span.name:22} {span.says}".rstrip())
        return "\n".join(lines)

    def svg(self) -> str:
        last = max(span.end_ms for span in self.spans)
        far = min(self.allowed_ms, last * 1.15)
        scale = (WIDTH - LEFT - RIGHT) / max(far, last)
        height = TOP + ROW * (len(self.spans) + 1) + 30

        def x(ms: float) -> float:
            return round(LEFT + ms * scale, 1)

        tone = "good" if self.verdict.startswith(("acknowledged", "reported")) else "bad"
        parts = [f'<text class="b {tone}" x="20" y="26">{escape(self.verdict)}</text>']
        base = TOP + ROW * (len(self.spans) + 1) + 8
        for ms in _ticks(max(far, last)):
            parts.append(f'<text class="s m" x="{x(ms)}" y="{base + 8}">{_time(ms)}</text>')
            parts.append(f'<path d="M{x(ms)} {TOP + 24}V{base - 6}" stroke="var(--line)"/>')
        parts += self._allowance(x, far)
        for row, span in enumerate(self.spans, start=1):
            parts += _bar(x, TOP + ROW * row, span)
        return picture("kio-delivery", WIDTH, height, self.text, STYLE, parts)

    def _allowance(self, x: Any, far: float) -> list[str]:
        """The top row: what delivery.timeout.ms allows, cut off if it is far away."""
        y = TOP + 2
        more = " →" if far < self.allowed_ms else ""
        return [
            f'<text class="e" x="{LEFT - 10}" y="{y + 13}">delivery.timeout.ms</text>'
            f'<rect x="{x(0)}" y="{y}" width="{x(far) - x(0):.1f}" height="18" rx="4" fill="none" '
            f'stroke="var(--soft)" stroke-dasharray="5 3"/>'
            f'<text class="s" x="{x(0) + 8}" y="{y + 13}">{_time(self.allowed_ms)}{more}</text>'
        ]


def _spans(own: list[tuple[int, str, dict[str, Any], str]]) -> tuple[list[Span], str]:
    """A batch's trace lines as stretches of time, and the verdict."""
    began = own[0][0]
    spans: list[Span] = []
    since, attempts, verdict, error = began, 0, "not answered yet", ""
    open_attempt: tuple[int, str] | None = None

    def ms(at: int) -> float:
        return (at - began) / 1000

    for at, kind, fields, why in own:
        if kind == "sent":
            waits = Span(PAUSE if attempts else LINGER, _paused(attempts, error), ms(since), ms(at))
            spans += [waits] if at > since else []
            attempts += 1
            open_attempt = (at, f"attempt {attempts}, to {fields['broker']}")
        elif kind == "answered" and open_attempt is not None:
            spans.append(
                Span(
                    ATTEMPT, open_attempt[1], ms(open_attempt[0]), ms(at), outcome(fields["error"])
                )
            )
            open_attempt, since, error = None, at, fields["error"]
        elif kind == "expired":
            if open_attempt is not None:
                spans.append(
                    Span(ATTEMPT, open_attempt[1], ms(open_attempt[0]), ms(at), "no answer so far")
                )
            elif at > since:
                spans.append(
                    Span(PAUSE, _paused(attempts, error), ms(since), ms(at), "the time is over")
                )
            open_attempt, since = None, at
        if kind in DONE:
            verdict = f"{kind} after {ms(at):.1f} ms" + (f": {why}" if why else "")
    return spans, verdict


def _paused(attempts: int, error: str) -> str:
    if not attempts:
        return "waits in the batch"
    lost = error in ("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "NOT_LEADER_OR_FOLLOWER")
    return "finds the leader" if lost else "pauses"


def _bar(x: Any, y: int, span: Span) -> list[str]:
    tone = {LINGER: "var(--linger)", PAUSE: "var(--pause)", ATTEMPT: "var(--attempt)"}[span.kind]
    wide = max(3.0, x(span.end_ms) - x(span.begin_ms))
    pattern = "" if span.kind == ATTEMPT else ' fill-opacity=".35" stroke-dasharray="4 2"'
    parts = [
        f'<text class="e" x="{LEFT - 10}" y="{y + 15}">{escape(span.name)}</text>'
        f'<rect x="{x(span.begin_ms)}" y="{y + 3}" width="{wide:.1f}" height="17" rx="3" '
        f'fill="{tone}" stroke="{tone}"{pattern}/>'
    ]
    if span.says:
        tone = "good" if span.says == "success" else "bad"
        at, anchor = x(span.begin_ms) + wide + 8, ""
        room = 7.6 * len(span.says)
        if wide > room + 16:
            tone, at = "in", x(span.begin_ms) + 8
        elif at + room > WIDTH - RIGHT:
            at, anchor = x(span.begin_ms) - 8, "e"
        parts.append(
            f'<text class="{tone} {anchor}" x="{at}" y="{y + 16}">{escape(span.says)}</text>'
        )
    return parts


def _ticks(far: float) -> list[float]:
    step = next(s for s in (1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000) if far / s <= 8)
    return [step * n for n in range(int(far / step) + 1)]


def _time(ms: float) -> str:
    return f"{ms / 1000:g} s" if ms >= 1000 or ms == 0 else f"{ms:g} ms"
