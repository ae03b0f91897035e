"""What an answer changes for others, and what it left in other cells, is seen in its code."""

from __future__ import annotations

import pytest

from kit.grading import meddling

SETUP = ["from kit import lab\nfrom kit.probes import clients\ncluster = lab.engine()\nlimit = 3"]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("clients = [1, 2]", "`clients`"),
        ("for limit in range(3): pass", "`limit`"),
        ("del cluster", "`cluster`"),
        ("def clients(): pass", "`clients`"),
        ("import clients", "`clients`"),
        ("with open('x') as limit: pass", "`limit`"),
        ("def answer():\n    global limit\n    limit = 4", "`limit`"),
        ("cluster.close()", "`cluster`"),
        ("print(cluster.brokers[0].close())", "`cluster`"),
        ("%reset -f", "kernel"),
        ("answer = 1\n!rm x", "kernel"),
        ("def answer(clients):\n    return clients.first()", ""),
        ("def answer():\n    limit = 4\n    return cluster.close()", ""),
        ("answer = [limit for limit in [1]]\nlab.check('1', answer)", "`limit`"),
        ("answer = limit + len(clients)", ""),
        ("def answer(:", ""),
    ],
)
def test_what_an_answer_changes(code: str, what: str) -> None:
    found = meddling.changes(code, "answer = None", SETUP)
    assert (what in found) if what else (found == "")


def test_a_name_that_the_stub_gives_is_the_exercises_own() -> None:
    assert meddling.changes("limit = 4", "limit = None", SETUP) == ""


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def answer(x):\n    return helper(x, limit)", {"helper"}),
        ("def answer(x):\n    def inner(y): return y\n    return inner(len(x))", set()),
        ("answer = [each for each in rows]", {"rows"}),
        ("try:\n    pass\nexcept ValueError as error:\n    print(error)", set()),
        ("def answer(:", set()),
    ],
)
def test_what_an_answer_lacks(code: str, names: set[str]) -> None:
    assert meddling.missing(code, {"limit"}) == names
