"""ZooKeeper's tree in a simulated world, moment by moment: what is there, new, changed or gone.

    film = ZnodeFilm(world)                 recorded from the world's beginning, event by event
    film.moments[-1]                        the tree now, and what changed last
    lab.znodes(world)                       all moments, with a slider

    - /brokers/ids/103      host 127.0.0.1, port 9103   ends with the session of 103
    + /controller           brokerid 101                ends with the session of 101
    ~ /controller_epoch     1 → 2

A `-` is gone, a `+` new, a `~` has other data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from engine.sim.world.run import EPOCH_US
from engine.sim.world.world import World
from engine.zookeeper.tree import Znode
from kit.drawings.picture import Picture, picture
from kit.film import replay

Tree = Mapping[str, Znode]
APART_US = 1_000
"""Changes that follow each other more closely are one moment."""
MOST = 30
"""Moments; where there would be more, they are longer."""
NEW, CHANGED, GONE, SAME = "+", "~", "-", " "
DATA_MOST, ALONE_MOST = 58, 80
"""Letters of data, beside an owner and without one."""

WIDTH, EDGE, TOP, ROW, INDENT, DATA, OWNER = 860, 18, 48, 21, 15, 250, 690
STYLE = (
    ".kio-znodes{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--new:#0072b2;--chg:#8a5a00;--gone:#c04a00}"
    "@media(prefers-color-scheme:dark){.kio-znodes{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--new:#56b4e9;--chg:#e69f00;--gone:#ff8a50}}"
    '.kio-znodes text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-znodes .s{fill:var(--soft)}.kio-znodes .b{font-weight:700;font-size:14px}"
    ".kio-znodes .d{font:12px ui-monospace,monospace}.kio-znodes .g{text-decoration:line-through}"
)
_INK = {NEW: "new", CHANGED: "chg", GONE: "gone"}


@dataclass(frozen=True)
class Line:
    """A znode: its path, its data, what happened to it, and whose session it ends with."""

    path: str
    data: str
    mark: str
    owner: str

    def __str__(self) -> str:
        owner = f"  ends with the session of {self.owner}" if self.owner else ""
        return f"{self.mark} {self.path:<44} {self.data}{owner}".rstrip()


@dataclass(frozen=True, repr=False)
class Moment(Picture):
    """The tree at a time, with what changed since the moment before."""

    time_us: int
    number: int
    of: int
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        seconds = (self.time_us - EPOCH_US) / 1e6
        return f"ZooKeeper's tree at {seconds:.3f} s, change {self.number} of {self.of}"

    @property
    def text(self) -> str:
        return "\n".join([self.title, *map(str, self.lines)])

    def svg(self) -> str:
        parts = [f'<text class="b" x="{EDGE}" y="25">{escape(self.title)}</text>']
        for place, line in enumerate(self.lines):
            parts += _row(line, TOP + ROW * place)
        height = TOP + ROW * len(self.lines)
        return picture("kio-znodes", WIDTH, height, self.text, STYLE, parts)


def _row(line: Line, y: int) -> Iterator[str]:
    x = EDGE + 22 + INDENT * (line.path.count("/") - 1)
    name = f"/{line.path.rpartition('/')[2]}"
    gone = " g" if line.mark == GONE else ""
    if line.mark != SAME:
        ink = f"var(--{_INK[line.mark]})"
        yield (
            f'<rect x="{EDGE - 8}" y="{y - 15}" width="{WIDTH - 2 * EDGE + 16}" height="{ROW - 1}" '
            f'rx="4" fill="{ink}" fill-opacity=".14"/>'
            f'<text class="b" x="{EDGE}" y="{y}" style="fill:{ink}">{escape(line.mark)}</text>'
        )
    yield f'<text class="{gone.strip()}" x="{x}" y="{y}">{escape(name)}</text>'
    if line.data:
        yield f'<text class="d{gone}" x="{DATA}" y="{y}">{escape(line.data)}</text>'
    if line.owner:
        yield f'<text class="s" x="{OWNER}" y="{y}">session of {escape(line.owner)}</text>'


class ZnodeFilm:
    """`moments` in their order; the first has the znodes that were there at the beginning."""

    def __init__(self, world: World) -> None:
        self.owners: dict[int, str] = {}
        seen = list(self._seen(world))
        apart_us = APART_US
        while len(joined := _joined(seen, apart_us)) > MOST:
            apart_us *= 2
        befores = [{}, *(tree for _, tree in joined)]
        self.moments = tuple(
            Moment(at, number, len(joined), tuple(self._lines(before, tree)))
            for number, ((at, tree), before) in enumerate(zip(joined, befores, strict=False), 1)
        )

    def _seen(self, world: World) -> Iterator[tuple[int, Tree]]:
        """Every tree that the world had, and since when."""
        past = replay.from_the_beginning(world)
        past.invariants = None
        last: Tree = {}
        goes_on = True
        while goes_on:
            for node, running in past.cluster.nodes.items():
                client = getattr(getattr(running, "plane", running), "client", None)
                if session := getattr(client, "session", 0):
                    self.owners[session] = str(node)
            tree = _tree(past)
            if tree and tree != last:
                last = tree
                yield past.cluster.now, tree
            goes_on = past.events < world.events and past.step()

    def _lines(self, before: Tree, after: Tree) -> Iterator[Line]:
        for path in sorted({*before, *after}, key=lambda each: each.split("/")):
            was, now = before.get(path), after.get(path)
            shown = now or was
            assert shown is not None
            owner = self.owners.get(shown.ephemeral_owner, "")
            data = _short(_data(was, now), DATA_MOST if owner else ALONE_MOST)
            yield Line(path, data, _mark(was, now), owner)


def _tree(world: World) -> Tree:
    """Empty while no member runs; ValueError for a world without an ensemble."""
    members = world.cluster.spec.ensemble
    is_down = members and not any(each in world.cluster.nodes for each in members)
    tree = {} if is_down else world.znodes()
    return {path: znode for path, znode in tree.items() if path != "/"}


def _joined(seen: list[tuple[int, Tree]], apart_us: int) -> list[tuple[int, Tree]]:
    """The last tree of each time in which changes follow each other closely."""
    later = [at for at, _ in seen[1:]]
    return [
        (at, tree)
        for (at, tree), after in zip(seen, [*later, None], strict=True)
        if after is None or after - at > apart_us
    ]


def _mark(was: Any, now: Any) -> str:
    if was is None:
        return NEW
    if now is None:
        return GONE
    if was.czxid != now.czxid:
        return NEW  # another one took its place
    return SAME if was.data == now.data else CHANGED


def _data(was: Any, now: Any) -> str:
    """What is in a znode; of one whose data has changed, the fields that have."""
    after = _fields((now or was).data)
    if was is None or now is None or was.data == now.data:
        return ", ".join(f"{name} {value}".strip() for name, value in after.items())
    before = _fields(was.data)
    return ", ".join(
        f"{name} {before.get(name, 'none')} → {value}".strip()
        for name, value in after.items()
        if value != before.get(name)
    )


def _fields(data: str) -> dict[str, str]:
    """Of JSON each field that says something but the format's version; else one without a name."""
    try:
        known = json.loads(data)
    except ValueError:
        return {"": data}
    if not isinstance(known, dict):
        return {"": data}
    said = {name: value for name, value in known.items() if name != "version" and value is not None}
    return {name: _spoken(value) for name, value in said.items()}


def _spoken(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_spoken(each)}" for name, each in value.items())
    return str(value)


def _short(data: str, most: int) -> str:
    return data if len(data) <= most else f"{data[: most - 1]}…"
