"""Moments, bytes and sizes as a reader sees and writes them."""

from __future__ import annotations

from datetime import UTC, datetime

CHARACTERS = 40


def moment(timestamp_ms: int) -> str:
    """`2026-11-23 08:44:16.123 UTC`; `no timestamp` for -1."""
    if timestamp_ms < 0:
        return "no timestamp"
    try:
        when = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms, beyond any calendar"
    return f"{when:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03d} UTC"


def shown(data: bytes | None) -> str:
    """Bytes as text where they are text, else in hex; `null` for None."""
    if data is None:
        return "null"
    try:
        words = data.decode()
        if not words.isprintable():
            raise UnicodeDecodeError("utf-8", data, 0, 1, "not printable")
    except UnicodeDecodeError:
        words = "0x" + data[: CHARACTERS // 2].hex()
        return words + "…" * (len(data) > CHARACTERS // 2)
    return f"“{words[:CHARACTERS]}{'…' * (len(words) > CHARACTERS)}”"


def size(count: int) -> str:
    """`812 B`, `4.1 kB`, `1.05 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.1f} kB"
    return f"{count / 1_000_000:.2f} MB"


def offsets(first: int, last: int) -> str:
    """`7`, or `7–9`."""
    return str(first) if first == last else f"{first}–{last}"


def name(path_name: str) -> str:
    """`…0042.index`: a segment's file without its leading zeros."""
    stem, dot, suffix = path_name.partition(".")
    return f"{int(stem)}{dot}{suffix}" if stem.isdigit() and len(stem) == 20 else path_name


def milliseconds(time: int | str | None) -> int:
    """A time as Kafka counts it; ValueError says how to write one."""
    words = str(time).strip()
    if words.lstrip("-").isdigit():
        return int(words)
    try:
        when = datetime.fromisoformat(words.removesuffix("UTC").strip())
    except ValueError:
        example = moment(1_700_000_000_000)
        raise ValueError(f"{words!r} is no time: milliseconds, or as in {example}.") from None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
