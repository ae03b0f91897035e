"""The Group panel in plain words: for screen readers, terminals and notebooks without a kernel.

        group g, topic orders: protocol classic · state Stable · generation 3 · assignor range
        member       coordinator: owns   itself: owns
        A            0 1 2               0 1 2          running, stable
        B            –                   3 4 5          frozen, not a member, a zombie
        lag 0: 2 (end 12, committed 10, read to 12)
        stopped at 4.1 s: 3 4 5, for up to 2.0 s

What a member itself owns is `?` if it reports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kit.film.steps import plain
from kit.group_panel.ownership import Pause
from kit.group_panel.scene import FREE, GIVEN, HELD, OWN, REPORTED, REVOKING, Lag, Member, Scene
from kit.group_panel.story import seconds

LISTED_MOST = 12
TOGETHER_US = 500_000
COORDINATOR = (OWN, REPORTED, GIVEN, REVOKING)


def render(scene: Scene, caption: str, pauses: Sequence[Pause], start_us: int, now_us: int) -> str:
    """The scene as lines of text, its caption last."""
    facts = " · ".join(f"{name} {value}" for name, value in scene.facts)
    lines = [f"group {scene.group}, topic {scene.topic}: {facts}"]
    rows = [("member", "coordinator: owns", "itself: owns", "")]
    rows += [(each.name, *_owned(scene, each), state(each)) for each in scene.members]
    widths = [max(len(row[at]) for row in rows) + 2 for at in range(3)]
    lines += [
        "".join(part.ljust(width) for part, width in zip(row, widths, strict=False)) + row[3]
        for row in rows
    ]
    free = [each.partition for each in scene.pieces if each.kind == FREE]
    if free:
        lines.append(f"no reader: {listed(free)}")
    behind = [lag for lag in scene.lags if lag.lag > 0]
    if behind:
        lines.append("lag " + "; ".join(lag_words(each) for each in behind[:LISTED_MOST]))
    lines += list(_stopped(pauses, start_us, now_us))[-LISTED_MOST:]
    return "\n".join([*(line.rstrip() for line in lines), plain(caption)])


def _stopped(pauses: Sequence[Pause], start_us: int, now_us: int) -> Iterator[str]:
    """Pauses that began together in one line."""
    for began, together in groupby(pauses, key=lambda pause: pause.start_us // TOGETHER_US):
        found = list(together)
        longest = max(each.lasts_us(now_us) for each in found)
        so_far = "" if all(each.end_us for each in found) else " so far"
        which = listed(sorted(each.partition[1] for each in found))
        at = (began * TOGETHER_US - start_us) / 1e6
        yield f"stopped at {at:.1f} s: {which}, for up to {seconds(longest)}{so_far}"


def _owned(scene: Scene, member: Member) -> tuple[str, str]:
    pieces = scene.of(member.name)
    told = [each.partition for each in pieces if each.kind in COORDINATOR]
    own = [each.partition for each in pieces if each.kind in HELD and each.kind != REPORTED]
    return listed(told), "?" if not member.process else listed(own)


def listed(partitions: Sequence[int]) -> str:
    """`0 1 2`; many in a row as `0–9`."""
    if len(partitions) > LISTED_MOST:
        return f"{len(partitions)} partitions"
    return " ".join(map(str, partitions)) or "–"


def state(member: Member) -> str:
    words = [member.process, member.standing, "a zombie" if member.zombie else ""]
    return ", ".join(word for word in words if word)


def lag_words(lag: Lag) -> str:
    read = "" if lag.position < 0 else f", read to {lag.position}"
    committed = "nothing" if lag.committed < 0 else str(lag.committed)
    return f"{lag.partition}: {lag.lag} (end {lag.end}, committed {committed}{read})"


def member(scene: Scene, member: Member) -> str:
    """One member in a sentence, as a screen reader tells it."""
    listed_there, own = _owned(scene, member)
    said = f"{member.name}, {state(member)}. The coordinator says it owns {listed_there}"
    return f"{said}." if own == "?" else f"{said}; it believes it owns {own}."
