"""The stub of the message classes: as fresh as the schemas, and true of the classes."""

from __future__ import annotations

import ast
import inspect

import pytest

from engine.wire import messages as m
from engine.wire import schema, stubs

STUB = ast.parse(stubs.STUB.read_text("utf-8"))
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def test_the_stub_is_fresh() -> None:
    fresh = stubs.text() == stubs.STUB.read_text("utf-8")
    assert fresh, "the stub is behind the schemas; run: python -m engine.wire.stubs"


def test_every_message_has_a_class_in_the_stub() -> None:
    apis = {f"{name}{kind}" for name in schema.api_files() for kind in ("Request", "Response")}
    records = {name for stem in schema.RECORD_FILES for name in schema.load_file(stem)}
    assert apis | records == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_the_constructor_has_the_fields_of_the_stub_in_their_order(name) -> None:
    def check(node: ast.ClassDef, cls: type) -> None:
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        names = [each.target.id for each in fields]
        parameters = dict(inspect.signature(cls).parameters)
        assert names == list(parameters) == list(cls.__slots__)
        for each in fields:
            if not (isinstance(each.value, ast.Constant) and each.value.value is ...):
                assert ast.literal_eval(each.value) == parameters[each.target.id].default
        for inner in node.body:
            if isinstance(inner, ast.ClassDef):
                check(inner, getattr(cls, inner.name))

    check(CLASSES[name], getattr(m, name))


def test_a_field_may_be_none_where_null_or_absence_is_allowed() -> None:
    def type_of(path: str, name: str) -> str:
        node = CLASSES[path.partition(".")[0]]
        for part in path.split(".")[1:]:
            node = next(n for n in node.body if isinstance(n, ast.ClassDef) and n.name == part)
        fields = (n for n in node.body if isinstance(n, ast.AnnAssign))
        return next(ast.unparse(n.annotation) for n in fields if n.target.id == name)

    assert type_of("FetchRequest", "max_wait_ms") == "int"
    assert type_of("FetchRequest", "cluster_id") == "str | None"
    assert type_of("FetchRequest", "replica_state") == "FetchRequest.ReplicaState | None"
    assert type_of("FetchResponse.PartitionData", "records") == "bytes | None"
    assert type_of("ConfigRecord", "value") == "str | None"
    assert type_of("PartitionRecord", "replicas") == "Sequence[int]"
    assert type_of("VotersRecord.Voter", "kraft_version_feature").endswith("KRaftVersionFeature")
