"""Every line of a trace leads to the line of the engine that told it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kit.film import source_lines
from tests.kit.panel.worlds import SCRIPTS, played

ROOT = Path(__file__).parents[3]
BY_ANOTHER = {
    ("control.partition_changes.change_partition", "elected"),
    ("control.partition_changes.change_partition", "eligible"),
}
"""Rules whose kind is no word of the call that tells it: the rule itself is shown."""


def reported() -> set[tuple[str, str]]:
    """The (rule, kind) of every line that the replication scripts tell."""
    found = set()
    for script in sorted((SCRIPTS / "replication").glob("*.txt")):
        world = played(f"replication/{script.stem}")
        found |= {(line.rule, line.kind) for _, _, line in world.cluster.trace}
    return found


@pytest.mark.timeout(300)
def test_every_trace_line_of_the_scripts_is_found_in_the_source() -> None:
    rules = reported()
    assert len(rules) > 20
    by_another = set()
    for rule, kind in sorted(rules):
        place = source_lines.find(rule, kind)
        assert place is not None, (rule, kind)
        assert place.start <= place.line <= place.end
        lines = (ROOT / place.file).read_text("utf-8").splitlines()
        call = " ".join(lines[place.line - 1 : place.line + 4])
        if f'"{kind}"' not in call:
            assert f"def {rule.rsplit('.', 1)[1]}(" in lines[place.line - 1], (rule, kind)
            by_another.add((rule, kind))
    assert by_another <= BY_ANOTHER


def test_what_is_shown_is_the_function_around_the_line() -> None:
    place = source_lines.find("replication.partition.Partition.truncate", "truncate")
    assert place is not None
    assert (place.file, place.function) == ("engine/replication/partition.py", "truncate")
    shown = ["".join(words for _, words in line) for line in source_lines.excerpt(place)]
    assert shown[0].startswith("def truncate(self, offset: int, why: str)")
    assert len(shown) == place.end - place.start + 1
    ast.parse("\n".join(shown))
    assert "self._trace" in shown[place.line - place.start]


def test_why_a_log_was_cut_leads_to_where_that_was_decided() -> None:
    found = set()
    for name in ("kip_101_scenario_1_old_rule", "divergent_tail_truncated"):
        for _, _, line in played(f"replication/{name}").cluster.trace:
            if line.kind == "truncate":
                place = source_lines.find_reason(line.kind, line.why)
                assert place is not None
                found.add((place.file, place.function))
    assert found == {
        ("engine/replication/fetcher.py", "follow"),
        ("engine/replication/truncation.py", "where_to_cut"),
    }
    assert source_lines.find_reason("truncate", "because it was Tuesday") is None
    assert source_lines.find_reason("append", "") is None


def test_a_rule_that_is_not_the_engines_has_no_source() -> None:
    assert source_lines.find("toy.cluster", "append") is None
    assert source_lines.find("", "append") is None


def test_every_fault_that_a_cluster_notes_is_found() -> None:
    noted = []
    for module in ("cluster", "link_faults", "machine_faults"):
        for call in ast.walk(ast.parse((ROOT / f"engine/cluster/{module}.py").read_text("utf-8"))):
            if isinstance(call, ast.Call) and source_lines._name(call.func) == "note":
                kind = call.args[2]
                assert isinstance(kind, ast.Constant)
                noted.append((module, call.lineno, str(kind.value)))
    assert len(noted) > 10
    for module, line, kind in noted:
        place = source_lines.find(f"cluster.{module}", kind)
        assert place is not None
        assert place.file == f"engine/cluster/{module}.py"
        assert place.line <= line
        assert place.start <= place.line <= place.end < place.start + source_lines.LINES_MOST
