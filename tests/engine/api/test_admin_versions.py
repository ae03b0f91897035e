"""ApiVersions, and what happens to requests that are not offered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine import api
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage
from engine.wire.errors import Errors
from tests.engine.api.fake_broker import FakeBroker, versions


def header(api_key: int, version: int) -> framing.RequestFrame:
    return framing.RequestFrame(api_key, version, 1, "c", 0)


@pytest.mark.parametrize("version", versions("ApiVersions"))
def test_every_offered_api_is_listed(version: int) -> None:
    broker = FakeBroker()
    request = m.ApiVersionsRequest("librdkafka", "2.16") if version >= 3 else m.ApiVersionsRequest()
    answer = broker.ask(request, version)
    listed = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert listed == {each.key: (each.low, each.high) for each in api.APIS.values()}
    assert not answer.zk_migration_ready


def test_every_offered_version_has_a_schema() -> None:
    for name, ours in api.APIS.items():
        request = getattr(m, f"{name}Request")
        assert ours.key == request.API_KEY
        assert ours.high <= request.LATEST
        assert ours.low >= request.VERSIONS.low or name == "Produce"


@pytest.mark.parametrize("name", api.APIS)
def test_the_table_says_what_a_module_has(name: str) -> None:
    ours, module = api.APIS[name], api._module(api.APIS[name].key)
    assert (ours.refuses, ours.fits) == (hasattr(module, "refuse"), hasattr(module, "fit"))


def test_only_features_that_the_engine_has_are_finalised() -> None:
    broker = FakeBroker()
    broker.metadata.features = {"share.version": 1, "eligible.leader.replicas.version": 1}
    answer = broker.ask(m.ApiVersionsRequest("a", "1"), 4)
    assert [(f.name, f.max_version_level) for f in answer.finalized_features] == [
        ("eligible.leader.replicas.version", 1)
    ]
    assert answer.finalized_features_epoch == 41


def test_features_from_level_0_are_withheld_before_version_4() -> None:
    broker = FakeBroker()
    old = broker.ask(m.ApiVersionsRequest("a", "1"), 3).supported_features
    new = broker.ask(m.ApiVersionsRequest("a", "1"), 4).supported_features
    assert [f.name for f in old] == ["metadata.version"]
    assert "eligible.leader.replicas.version" in [f.name for f in new]


@pytest.mark.parametrize("name", ["", "a b", "-a", "kafka/x", "a-"])
def test_a_malformed_software_name_is_refused(name: str) -> None:
    answer = FakeBroker().ask(m.ApiVersionsRequest(name, "1"), 3)
    assert answer.error_code == Errors.INVALID_REQUEST


def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    answer = api.check_version(header(18, 9))
    assert answer is not None
    version, body = answer
    assert version == 0
    decoded = FakeBroker.through_codec(body, 0)
    assert decoded.error_code == Errors.UNSUPPORTED_VERSION
    assert [(k.api_key, k.min_version, k.max_version) for k in decoded.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(("key", "version"), [(3, 14), (1, 3), (22, 6), (27, 0), (999, 0)])
def test_what_is_not_offered_closes_the_connection(key: int, version: int) -> None:
    with pytest.raises(MalformedMessage):
        api.check_version(header(key, version))


def test_a_request_that_got_lost_is_refused_in_its_own_way() -> None:
    """The broker relays REQUEST_TIMED_OUT when the controller does not answer."""
    topics = m.CreateTopicsRequest([m.CreateTopicsRequest.CreatableTopic("a", 1, 1)])
    request = SimpleNamespace(body=topics, version=7)
    answer = api.refusal(request, Errors.REQUEST_TIMED_OUT)  # type: ignore[arg-type]
    assert [topic.error_code for topic in answer.topics] == [Errors.REQUEST_TIMED_OUT]
