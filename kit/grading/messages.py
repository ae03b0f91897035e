"""Makes texts of learners safe to show: no terminal escapes, no hidden signs, a length limit.

A message may quote what a learner's code printed or raised.  It reaches terminals, pages and
tables, so each text is cleaned once, where it enters a report.
"""

from __future__ import annotations

import re
import unicodedata

READ_AT_MOST = 50_000
"""Characters of a text that are looked at."""
MOST_LINES = 40
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)


def cleaned(text: str, limit: int = 1000, most_lines: int = MOST_LINES) -> str:
    """The text without terminal escapes, at most `limit` characters and `most_lines` lines.

    Lines stay lines.  Any other control sign, a sign that hides or turns text, and a lone
    surrogate become an escape.
    """
    text = text[:READ_AT_MOST].replace("\r\n", "\n")
    text = text.replace("#x1B", "\x1b").replace("#x07", "\x07")  # so pytest's XML has them
    text = ESCAPES.sub("", text)
    shown = "\n".join(printable(line.replace("\t", "    ")) for line in text.split("\n"))
    cut = "\n".join(shown.split("\n")[:most_lines])[:limit]
    return shown if cut == shown else f"{cut.rstrip()} … (cut)"


def one_line(text: str, limit: int = 300) -> str:
    """Like `cleaned`, on one line."""
    return " ".join(cleaned(text, limit).split())


def printable(text: str) -> str:
    """The text on one line, with escapes for lone surrogates and signs without a glyph."""
    return "".join(map(_shown, text))


def _shown(sign: str) -> str:
    if sign.isprintable():
        return sign
    if unicodedata.category(sign) == "Zs":
        return " "
    return sign.encode("unicode_escape").decode()


def natural(text: str) -> list[tuple[int, int, str]]:
    """A key that sorts 06-2 before 06-10, and É beside E."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    parts = re.findall(r"[0-9]+|[^0-9]+", plain)
    return [(0, int(p[:18]), "") if p[0] in "0123456789" else (1, 0, p) for p in parts]
