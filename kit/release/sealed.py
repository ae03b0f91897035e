"""A solution that is there and does not meet the eye.

The student edition has each source with its solution cells sealed: the third hint still leads to
the solution, but no file shows it to a reader or to a search.  Sealed is not secret: where the
judge runs on the learner's machine, nothing can be kept from a learner who wants to look.  A
school that grades hands out an edition whose solutions are left out, and whose judges are sealed:
many of them hold a function that does what the learner is asked for.
"""

from __future__ import annotations

import base64
import re
import zlib

MARK = "# sealed: "
LEFT_OUT = "# This edition has no solutions: ask your teacher."
CELL = re.compile(r"^# %%.*\n", re.MULTILINE)
MODULE = '''"""Sealed: a judge knows the answer.  See kit/release/sealed.py."""

from kit.release.sealed import unsealed

exec(compile(unsealed("""{}"""), __file__, "exec", dont_inherit=True))
'''
IS_SOLUTION = re.compile(r'tags=\[[^\]]*"solution"')


def sealed(source: str, *, leave_out: bool = False) -> str:
    """A lesson's source with its solution cells sealed, or left out."""
    heads = list(CELL.finditer(source))
    ends = [head.start() for head in heads[1:]] + [len(source)]
    parts = [source[: heads[0].start()] if heads else source]
    for head, end in zip(heads, ends, strict=True):
        body = source[head.end() : end]
        if IS_SOLUTION.search(head.group()):
            body = f"{LEFT_OUT if leave_out else seal(body.strip())}\n\n"
        parts += [head.group(), body]
    return "".join(parts)


def sealed_module(source: str) -> str:
    """A module that does the same, and that a search does not read."""
    return MODULE.format(seal(source))


def seal(text: str) -> str:
    packed = zlib.compress(text.encode(), 9)
    return MARK + base64.b64encode(packed).decode()


def unsealed(text: str) -> str:
    """The text of a cell, sealed or not."""
    if not text.startswith(MARK):
        return text
    return zlib.decompress(base64.b64decode(text.removeprefix(MARK))).decode()
