"""12-8: how many segments retention deletes."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = (
    ([[100, 9], [100, 9], [100, 1]], 200, -1),
    ([[100, 9], [100, 9], [100, 1]], 250, -1),
    ([[100, 90], [100, 5], [100, 80]], -1, 60),
    ([[100, 9], [100, 90], [100, 5]], 200, 60),
    ([[100, 90], [100, 70]], -1, 60),
    ([[100, 90], [100, 5], [100, 5]], 0, 60),
    ([[100, 60], [100, 5]], -1, 60),
)


def made(source: Random) -> tuple:
    segments = [
        [source.randrange(50, 200), source.randrange(120)] for _ in range(source.randrange(1, 9))
    ]
    return segments, source.choice((-1, source.randrange(900))), source.choice((-1, 30, 60, 90))


def deleted(segments: list[list[int]], limit_bytes: int, limit_minutes: int) -> int:
    left = sum(size for size, _ in segments)
    for number, (size, minutes) in enumerate(segments):
        too_much = limit_bytes >= 0 and left - size >= limit_bytes
        too_old = limit_minutes >= 0 and minutes > limit_minutes
        if not (too_much or too_old):
            return number
        left -= size
    return len(segments)


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    segments, limit_bytes, limit_minutes = arguments
    if not isinstance(seen, int):
        return "A number of segments is asked for."
    old = sum(limit_minutes >= 0 and minutes > limit_minutes for _, minutes in segments)
    if expected == len(segments):
        return "The active segment goes, too, when a rule gives it up."
    if seen > expected and seen == old and limit_minutes >= 0:
        return "Deletion stops at the first segment that stays; what is behind it stays, too."
    if seen > expected and segments[expected][1] == limit_minutes:
        return f"A segment of exactly {limit_minutes} minutes is not older than the limit."
    if seen > expected and limit_bytes < 0 <= limit_minutes:
        return "A limit of -1 bytes is none: only the age counts."
    if seen > expected and limit_bytes >= 0:
        return "A segment goes for its size only if the others still hold the limit."
    if seen > expected:
        return "The first segment that is neither too old nor too much ends the deletion."
    if limit_bytes >= 0 and limit_minutes >= 0:
        return "Either rule is enough, and they are asked again for each segment in turn."
    if limit_bytes >= 0:
        return "The oldest segment goes as long as the others hold the limit, exactly or more."
    return "Each of the oldest segments goes whose newest record is older than the limit."


EXERCISE = Exercise(
    "12-8",
    "How many segments go",
    (
        "Look at one segment at a time, the oldest first. What makes you stop?",
        "The size rule looks at what would be left without this segment, and keep in mind what "
        "has gone already.",
        "Keep a sum of the bytes that are left. A segment goes if the sum without it is at least "
        "the byte limit, or if its age is above the limit of minutes; take its bytes off the sum. "
        "The first one for which neither holds ends the count.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, deleted, explain),
    {
        "down to the limit": "def deleted(segments, limit_bytes, limit_minutes):\n"
        "    left, count = sum(s for s, _ in segments), 0\n"
        "    for size, minutes in segments:\n"
        "        if not (0 <= limit_bytes < left or 0 <= limit_minutes < minutes):\n"
        "            break\n"
        "        left -= size\n"
        "        count += 1\n"
        "    return count",
        "each old one": "def deleted(segments, limit_bytes, limit_minutes):\n"
        "    if limit_minutes < 0 or limit_bytes >= 0:\n"
        "        left, count = sum(s for s, _ in segments), 0\n"
        "        for size, minutes in segments:\n"
        "            if not (0 <= limit_bytes <= left - size or 0 <= limit_minutes < minutes):\n"
        "                break\n"
        "            left -= size\n"
        "            count += 1\n"
        "        return count\n"
        "    return sum(minutes > limit_minutes for _, minutes in segments)",
        "never the active one": "def deleted(segments, limit_bytes, limit_minutes):\n"
        "    left = sum(s for s, _ in segments)\n"
        "    for number, (size, minutes) in enumerate(segments[:-1]):\n"
        "        if not (0 <= limit_bytes <= left - size or 0 <= limit_minutes < minutes):\n"
        "            return number\n"
        "        left -= size\n"
        "    return len(segments) - 1",
        "both rules": "def deleted(segments, limit_bytes, limit_minutes):\n"
        "    left = sum(s for s, _ in segments)\n"
        "    for number, (size, minutes) in enumerate(segments):\n"
        "        if limit_bytes >= 0 and left - size < limit_bytes:\n"
        "            return number\n"
        "        if limit_minutes >= 0 and minutes <= limit_minutes:\n"
        "            return number\n"
        "        if limit_bytes < 0 and limit_minutes < 0:\n"
        "            return number\n"
        "        left -= size\n"
        "    return len(segments)",
    },
    cases(CASES, made, count=40),
    minutes=7,
)
