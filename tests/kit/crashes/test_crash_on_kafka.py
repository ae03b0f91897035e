"""The same verdicts and the same mistakes on a real Kafka."""

from __future__ import annotations

import pytest

from kit.crashes.crash_test import crash_test
from tests.kit.crashes import loops

pytestmark = pytest.mark.real
AUTO = {"enable.auto.commit": True}
CASES = [
    (loops.at_least_once, {}, "at least once", []),
    (loops.commit_before_processing, {}, "at most once", ["commit before processing"]),
    (loops.auto_commit, AUTO, "loses and repeats", ["auto-commit of a record in hand"]),
    (loops.slow_poll, {}, "at least once", ["slow poll"]),
    (loops.commit_in_on_assign, {}, "at least once", ["commit in the wrong listener"]),
    (loops.zombie, {}, "at least once", ["zombie after eviction"]),
]


@pytest.mark.parametrize(("loop", "settings", "verdict", "mistakes"), CASES,
                         ids=[case[0].__name__ for case in CASES])  # fmt: skip
def test_kafka_gives_the_verdict_that_the_engine_gives(
    local_cluster, loop, settings, verdict, mistakes
) -> None:
    result = crash_test(loop, local_cluster, settings=settings)
    assert (result.verdict, [each.name for each in result.mistakes]) == (verdict, mistakes), (
        result.text
    )
