"""Subscriptions by regular expression, resolved by the coordinator (KIP-848).

A classic consumer matches the names itself, against all the metadata that it can get.  Here the
member sends the expression and the coordinator matches: once for the whole group, with the
result in the log.

The language is RE2's, which matches in linear time because it has no back references and
no look-around.  Python's `re` has both.  Here an expression that uses them is
refused, as RE2 refuses it.

Simplified: what RE2 has and `re` has not is refused too (`\\pL`, `\\z`, `\\Q...\\E`), classes such
as `[[:alpha:]]` are no classes, and an expression can be slow.  It is resolved in the heartbeat
that brings it, where Kafka does it in the background and the member gets its partitions
with a later heartbeat.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache

from engine.wire.errors import Errors, KafkaError

_NOT_IN_RE2 = re.compile(
    r"""
      \\[1-9]               # a back reference
    | \(\?P=                # and by name
    | \(\?<?[=!]            # look-around
    | \(\?>                 # an atomic group
    | \(\?\(                # a condition
    | \(\?\#                # a comment
    | [*+?}]\+              # possessive
    """,
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\[^1-9]", re.DOTALL)


def check(expression: str) -> None:
    """KafkaError(INVALID_REGULAR_EXPRESSION) if it cannot be used."""
    compiled(expression)


@lru_cache(maxsize=256)
def compiled(expression: str) -> re.Pattern[str]:
    """The expression as Python has it."""
    if _NOT_IN_RE2.search(_ESCAPED.sub("_", expression)):
        raise _invalid(expression, "invalid or unsupported Perl syntax")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(expression)
    except re.error as error:
        raise _invalid(expression, str(error)) from None


def matching(expression: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics whose whole name it matches, in order."""
    pattern = compiled(expression)
    return tuple(sorted(each for each in topics if pattern.fullmatch(each)))


def _invalid(expression: str, why: str) -> KafkaError:
    return KafkaError(
        Errors.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {why}.",
    )
