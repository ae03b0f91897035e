"""A group's two numbers in each partition, the position and the committed offset, over time.

    drawn = Positions(world, "orders", "billing")
    drawn.run(until)            in place of world.run: looks after each event
    drawn.kill("A")
    drawn.run(for_s=25)
    drawn

Upwards are a partition's records, to the right is virtual time.  A square is a record that a member
has processed.  The dashed line is the position, which `poll` moves; the solid line is the committed
offset.  When a member dies, its successor begins at the solid line.  All of it is read from the
members and from the coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape

from engine.broker.broker import Broker
from engine.sim.world.world import World
from kit.drawings.axes import Axis, labels
from kit.drawings.picture import Picture, picture
from kit.drawings.series_looks import px
from kit.group_panel import members

Steps = list[tuple[float, int]]
"""A value from a time on, in seconds; -1 is no value."""

WIDTH, LEFT, RIGHT, TOP, ROW, GAP, FOOT, SIDE = 680, 62, 168, 58, 14, 40, 48, 9
STYLE = (
    ".kio-pos{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e7ec;--bad:#c04a00;"
    "--m0:#0072b2;--m1:#009e73;--m2:#cc79a7;--done:#1c2430}"
    "@media(prefers-color-scheme:dark){.kio-pos{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--line:#262d37;--bad:#ff8a50;--m0:#56b4e9;--done:#e8ebf0}}"
    '.kio-pos text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-pos .s{fill:var(--soft)}.kio-pos .b{font-weight:700;font-size:14px}"
    ".kio-pos .e{text-anchor:end}.kio-pos .m{text-anchor:middle}.kio-pos .bad{fill:var(--bad)}"
    ".kio-pos .m0{fill:var(--m0);stroke:var(--m0)}.kio-pos .m1{fill:var(--m1);stroke:var(--m1)}"
    ".kio-pos .m2{fill:var(--m2);stroke:var(--m2)}"
    ".kio-pos .again{stroke:var(--bad);stroke-width:2.4}"
)


@dataclass(frozen=True)
class Work:
    """A record that a member has processed; `again` if it is not the first time."""

    at_s: float
    offset: int
    member: str
    again: bool


@dataclass
class Seen:
    """What was seen of one partition."""

    end: int = 0
    committed: Steps = field(default_factory=list)
    positions: dict[str, Steps] = field(default_factory=dict)
    processed: list[Work] = field(default_factory=list)

    @property
    def repeated(self) -> list[int]:
        return sorted({work.offset for work in self.processed if work.again})

    @property
    def lost(self) -> list[int]:
        """The records that the group has left behind without processing them."""
        done = {work.offset for work in self.processed}
        behind = self.committed[-1][1] if self.committed else 0
        return [offset for offset in range(behind) if offset not in done]


class Positions(Picture):
    """The partitions of `topic`, as the group's members and its coordinator see them."""

    def __init__(self, world: World, topic: str, group: str) -> None:
        self.world, self.topic, self.group = world, topic, group
        self.partitions = {index: Seen() for index in world.partitions(topic)}
        self.crashes: list[tuple[float, str]] = []
        self.names: list[str] = []
        self._counted: dict[str, int] = {}

    def run(self, until: Callable[[World], bool] | None = None, for_s: float = 60) -> None:
        """Runs the world until a condition holds, or for some virtual seconds."""

        def look(world: World) -> bool:
            self._look()
            return until is not None and until(world)

        self.world.run(look, for_s=for_s)

    def kill(self, name: str) -> None:
        """The member's process dies."""
        self._look()
        members.act(self.world, "kill", name)
        self.crashes.append((self._now_s, name))
        self._look()

    # -- looking

    @property
    def _now_s(self) -> float:
        return self.world.now_us / 1e6

    def _look(self) -> None:
        alive = members.members(self.world, self.group)
        for name, member in alive.items():
            if name not in self.names:
                self.names.append(name)
            done = member.application.processed if member.application else []
            for record in done[self._counted.get(name, 0) :]:
                seen = self.partitions[record.partition]
                again = any(work.offset == record.offset for work in seen.processed)
                seen.processed.append(Work(self._now_s, record.offset, name, again))
            self._counted[name] = len(done)
        committed = self._committed()
        for index, seen in self.partitions.items():
            seen.end = max(seen.end, self._end(index))
            _note(seen.committed, self._now_s, committed.get(index, -1))
            for name in self.names:
                position = -1
                if name in alive:
                    position = alive[name].position((self.topic, index))
                _note(seen.positions.setdefault(name, []), self._now_s, position)

    def _committed(self) -> dict[int, int]:
        brokers = [node for node in self.world.cluster.nodes.values() if isinstance(node, Broker)]
        return {
            index: committed.offset
            for broker in brokers
            for shard in broker.groups.shards
            for (topic, index), committed in shard.offsets.of(self.group).items()
            if topic == self.topic
        }

    def _end(self, index: int) -> int:
        leader = self.world.partition(self.topic, index).leader
        if leader not in self.world.cluster.nodes:
            return 0
        return self.world.replica(leader, self.topic, index).log.log_end_offset

    # -- in words

    @property
    def text(self) -> str:
        lines = [f"{name} is killed at {at - self._first:.1f} s." for at, name in self.crashes]
        lines += [self._told(index, seen) for index, seen in self.partitions.items()]
        return "\n".join(lines)

    def _told(self, index: int, seen: Seen) -> str:
        commits = [f"{value} at {at - self._first:.1f} s" for at, value in _moved(seen.committed)]
        said = [
            f"{self.topic}-{index}: {seen.end} records",
            f"committed: {', '.join(commits) or 'none'}",
        ]
        for at, name in self.crashes:
            done = sum(work.member == name for work in seen.processed)
            committed = _at(seen.committed, at)
            position = _before(seen.positions.get(name, []), at)
            said.append(
                f"at the crash {name} had processed {done}, its position was {_spoken(position)}, "
                f"the committed offset {_spoken(committed)}"
            )
        said.append(f"processed twice: {_offsets(seen.repeated)}")
        said.append(f"never processed: {_offsets(seen.lost)}")
        return "; ".join(said) + "."

    # -- as a picture

    @property
    def _first(self) -> float:
        """When a member first knew a position, in the world's seconds."""
        rows = [steps for seen in self.partitions.values() for steps in seen.positions.values()]
        known = [at for steps in rows for at, value in steps if value >= 0]
        return min(known, default=0.0)

    def svg(self) -> str:
        first = self._first
        works = [work.at_s for seen in self.partitions.values() for work in seen.processed]
        changes = [seen.committed[-1][0] for seen in self.partitions.values() if seen.committed]
        last = max([*works, *changes, *(at for at, _ in self.crashes), first + 1.0])
        x = Axis(0.0, (last - first) * 1.02, LEFT, WIDTH - RIGHT)
        parts: list[str] = []
        top: float = TOP
        for index, seen in self.partitions.items():
            bottom = top + ROW * seen.end
            parts += self._partition(index, seen, x, first, bottom)
            top = bottom + GAP
        bottom = top - GAP
        for at, name in self.crashes:
            place = x.at(at - first)
            parts.append(
                f'<path d="M{px(place)} {TOP - 20}V{px(bottom)}" stroke="var(--bad)" '
                'stroke-width="1.5" stroke-dasharray="4 3"/>'
                f'<text class="bad m" x="{px(place)}" y="{TOP - 25}">✕ {escape(name)} killed</text>'
            )
        ticks = "".join(f"M{px(x.at(tick))} {px(bottom)}v5" for tick in x.ticks(8))
        parts.append(f'<path d="{ticks}" stroke="var(--soft)"/>')
        for tick, words in zip(x.ticks(8), labels(x.ticks(8)), strict=True):
            parts.append(
                f'<text class="s m" x="{px(x.at(tick))}" y="{px(bottom + 20)}">{words}</text>'
            )
        middle = px((x.start + x.end) / 2)
        parts.append(f'<text class="s m" x="{middle}" y="{px(bottom + 38)}">seconds</text>')
        parts += self._legend()
        height = px(max(bottom + FOOT, TOP + 130))
        return picture("kio-pos", WIDTH, height, self.text, STYLE, parts)

    def _partition(
        self, index: int, seen: Seen, x: Axis, first: float, bottom: float
    ) -> Iterator[str]:
        yield (
            f'<text class="b" x="{px(x.start)}" y="{px(bottom - ROW * seen.end - 8)}">'
            f"{escape(self.topic)}-{index}</text>"
        )
        heights = [bottom - ROW * offset for offset in range(seen.end + 1)]
        grid = "".join(f"M{px(x.start)} {px(y)}H{px(x.end)}" for y in heights)
        yield f'<path d="{grid}" stroke="var(--line)"/>'
        for offset, y in enumerate(heights[:-1]):
            yield f'<text class="s e" x="{px(x.start - 8)}" y="{px(y - 2.5)}">{offset}</text>'
        for offset in seen.lost:
            y = bottom - ROW * offset - 3
            yield f'<text class="bad" x="{px(x.end + 8)}" y="{px(y)}">{offset} never</text>'
        end = first + x.high
        for name, steps in seen.positions.items():
            colour = f"var(--m{self.names.index(name) % 3})"
            path = _path(steps, x, first, end, bottom)
            yield (
                f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.6" '
                'stroke-dasharray="4 3"/>'
            )
        path = _path(seen.committed, x, first, end, bottom)
        yield f'<path d="{path}" fill="none" stroke="var(--done)" stroke-width="2.4"/>'
        for work in seen.processed:
            yield self._square(
                x.at(work.at_s - first), bottom - ROW * (work.offset + 0.5), work.member, work.again
            )

    def _square(self, x: float, y: float, name: str, again: bool) -> str:
        look = f"m{self.names.index(name) % 3}{' again' if again else ''}"
        place = f'x="{px(x - SIDE / 2)}" y="{px(y - SIDE / 2)}"'
        return f'<rect class="{look}" {place} width="{SIDE}" height="{SIDE}"/>'

    def _legend(self) -> Iterator[str]:
        x, y = WIDTH - RIGHT + 64, TOP
        for name in self.names:
            yield self._square(x + 9, y, name, False)
            yield f'<text x="{x + 24}" y="{y + 4}">{escape(name)} processed</text>'
            y += 22
        yield self._square(x + 9, y, self.names[-1], True) if self.names else ""
        yield f'<text x="{x + 24}" y="{y + 4}">once more</text>'
        y += 22
        for look, words in (('1.6" stroke-dasharray="4 3', "position"), ("2.4", "committed")):
            yield (
                f'<path d="M{x} {y}h18" stroke="var(--done)" stroke-width="{look}"/>'
                f'<text x="{x + 24}" y="{y + 4}">{words}</text>'
            )
            y += 22


def _note(steps: Steps, at_s: float, value: int) -> None:
    if not steps or steps[-1][1] != value:
        steps.append((at_s, value))


def _moved(steps: Steps) -> Steps:
    """Where the committed offset got beyond the start of the log."""
    return [(at, value) for at, value in steps if value > 0]


def _at(steps: Steps, at_s: float) -> int:
    return next((value for since, value in reversed(steps) if since <= at_s), -1)


def _before(steps: Steps, at_s: float) -> int:
    return next((value for since, value in reversed(steps) if since < at_s), -1)


def _path(steps: Steps, x: Axis, first: float, end: float, bottom: float) -> str:
    """A step line; it is broken where there is no value."""
    path: list[str] = []
    for number, (since, value) in enumerate(steps):
        until = steps[number + 1][0] if number + 1 < len(steps) else end
        if value < 0 or until < first:
            continue
        y = px(bottom - ROW * value)
        joined = number and steps[number - 1][1] >= 0 and path
        path.append(f"{'V' + y if joined else 'M' + px(x.at(max(since - first, 0))) + ' ' + y}")
        path.append(f"H{px(x.at(until - first))}")
    return "".join(path)


def _spoken(offset: int) -> str:
    return "none" if offset < 0 else str(offset)


def _offsets(offsets: list[int]) -> str:
    return ", ".join(map(str, offsets)) or "none"
