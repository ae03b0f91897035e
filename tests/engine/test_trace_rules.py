"""A trace line's rule is the dotted name of the code that acted: the panel shows that code.

The names are texts in the calls that tell the lines.  Here the engine's syntax tree is walked,
and each of these texts must name a class, function or method that exists.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kit.film.source_lines import names_code

ENGINE = Path(__file__).resolve().parents[2] / "engine"
TELLERS = {
    # (where it is called, the function): which argument is the rule, and what stands before it
    ("", "trace"): (0, ""),
    ("cluster", "note"): (0, ""),
    ("control", "tell"): (0, "control."),
    ("control/brokers", "_tell"): (1, "control.brokers."),
    ("replication", "_trace"): (0, "replication.partition.Partition."),
    ("sim/campaign", "_trace"): (0, "replication.partition.Partition."),
    ("quotas", "Trace"): (4, ""),
    ("zookeeper", "tell"): (0, "zookeeper."),
}


@cache
def rules() -> tuple[tuple[str, str | None], ...]:
    """Place and rule of each call that tells a line; None for what cannot be read there."""
    return tuple(found())


def found() -> Iterator[tuple[str, str | None]]:
    for path in sorted(ENGINE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        constants = dict(assigned(tree.body))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from rules_in(path.relative_to(ENGINE), function, constants)


def rules_in(
    path: Path, function: ast.FunctionDef | ast.AsyncFunctionDef, constants: dict[str, ast.expr]
) -> Iterator[tuple[str, str | None]]:
    known = constants | dict(assigned(ast.walk(function)))
    handed_in = {each.arg for each in function.args.args}
    for call in ast.walk(function):
        if not isinstance(call, ast.Call):
            continue
        where = teller(path, call.func)
        if where is None or len(call.args) <= where[0]:
            continue
        rule = call.args[where[0]]
        if isinstance(rule, ast.Name | ast.Starred) or any(
            isinstance(each, ast.Name) and each.id in handed_in for each in ast.walk(rule)
        ):
            name = rule.id if isinstance(rule, ast.Name) else ""
            if name not in known:
                continue  # handed on: the caller names it
        yield f"engine/{path}:{call.lineno}", text(rule, known, where[1])


def teller(path: Path, called: ast.expr) -> tuple[int, str] | None:
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    for (folder, function), what in TELLERS.items():
        if function == name and path.as_posix().startswith(folder):
            return what
    return None


def assigned(nodes: object) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def text(rule: ast.expr, known: dict[str, ast.expr], before: str = "") -> str | None:
    """A text with the module's constants put in."""
    match rule:
        case ast.Constant(value=str(words)):
            return before + words
        case ast.Name(id=name) if name in known:
            return text(known[name], known, before)
        case ast.FormattedValue(value=inner):
            return text(inner, known)
        case ast.JoinedStr(values=parts):
            words = [text(part, known) for part in parts]
            return None if None in words else before + "".join(words)
    return None


def test_every_trace_rule_names_code_that_exists() -> None:
    wrong = [f"{place}: {rule}" for place, rule in rules() if not rule or not names_code(rule)]
    assert wrong == []


def test_the_walk_finds_the_calls_that_tell() -> None:
    named = {rule for _, rule in rules()}
    assert {
        "replication.partition.Partition.advance_high_watermark",  # by a method's name
        "control.topics.create",  # with the room put before it
        "client.sender.Sender.heard",  # with the module's constant
        "control.controller.Controller.step",  # by a name of the function's own
        "quotas.client_quotas.ClientQuotas.charge",  # a line that is made by hand
        "cluster.link_faults.cut",
    } <= named
    assert len(named) > 70
