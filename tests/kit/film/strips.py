"""Reads a strip back from its SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass

from kit.film.strip import LEFT

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Shown:
    """A moment as drawn: its time, its words, the boxes of each class, where its lines begin."""

    at: str
    in_view: bool
    words: list[str]
    boxes: Counter[str]
    lines: dict[str, list[int]]


def shots(picture: str) -> list[Shown]:
    """The moments of a strip, from top to bottom."""
    root = ET.fromstring(picture)
    times = [each for each in root.iter(f"{SVG}text") if (each.text or "").endswith(" s")
             and each.get("class") == "b" and each.get("x") == "18"]  # fmt: skip
    smalls = [each for each in root.iter(f"{SVG}g")
              if (each.get("transform") or "").startswith(f"translate({LEFT} ")]  # fmt: skip
    return [
        _shown(time, small) for time, small in zip(times, smalls, strict=True)
    ]  # fmt: skip


def _shown(time: ET.Element, small: ET.Element) -> Shown:
    words = [each.text for each in small.iter() if each.text and each.tag != f"{SVG}g"]
    boxes: Counter[str] = Counter()
    lines: dict[str, list[int]] = {}
    for path in small.iter(f"{SVG}path"):
        data = path.get("d") or ""
        if name := path.get("class"):
            boxes[name] += data.count("M")
        elif colour := path.get("stroke"):
            lines.setdefault(colour, []).append(round(float(data[1:].split()[0])))
    return Shown(time.text or "", len(time) > 0, words, boxes, lines)
