"""Brokers that do not know Kafka 4's requests: what they are asked, and which of them."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors
from kit.clusters import older_brokers, topics
from kit.clusters.connections import NotSpoken, Unreachable
from kit.clusters.interface import ClusterError
from kit.clusters.topics import OwnTopics, Topics

HERE = [("127.0.0.1", 101), ("127.0.0.1", 102), ("127.0.0.1", 103)]
Answer = m.MetadataResponse
TOPIC = Answer.MetadataResponseTopic(
    0,
    "orders",
    b"1" * 16,
    False,
    [Answer.MetadataResponsePartition(0, 0, 102, 7, [101, 102], [102])],
)


class Older:
    """Connections to brokers with ZooKeeper; the controller is the last one."""

    def __init__(self, *refusals: tuple[int, str]) -> None:
        self.asked: list[Any] = []
        self.refusals = list(refusals)

    def ask(self, address: tuple[str, int], request: Any) -> Any:
        self.asked.append((address[1], type(request).__name__))
        match request:
            case m.MetadataRequest():
                assert not request.allow_auto_topic_creation
                return Answer(topics=[TOPIC])
            case m.DescribeClusterRequest(include_fenced_brokers=False):
                broker = m.DescribeClusterResponse.DescribeClusterBroker(101, "host", 1)
                return m.DescribeClusterResponse(cluster_id="id", brokers=[broker])
            case m.CreateTopicsRequest() | m.DeleteTopicsRequest():
                error, why = self.refusals.pop(0) if self.refusals else (0, "")
                if isinstance(request, m.CreateTopicsRequest):
                    created = m.CreateTopicsResponse.CreatableTopicResult
                    made = bytes(16) if error else b"1" * 16
                    return m.CreateTopicsResponse(topics=[created("orders", made, error, why)])
                deleted = m.DeleteTopicsResponse.DeletableTopicResult
                return m.DeleteTopicsResponse(responses=[deleted("orders", b"1" * 16, error, why)])
        raise NotSpoken("This broker does not offer it.")

    def ask_first(self, addresses: Any, request: Any) -> Any:
        return self.ask(next(iter(addresses)), request)


def test_a_topic_is_described_by_its_metadata() -> None:
    (found,) = topics.described(Older(), HERE)  # type: ignore[arg-type]
    (partition,) = found.partitions
    assert (found.name, found.topic_id, found.is_internal) == ("orders", b"1" * 16, False)
    assert (partition.leader_id, partition.leader_epoch) == (102, 7)
    assert (partition.replica_nodes, partition.isr_nodes) == ([101, 102], [102])
    assert partition.eligible_leader_replicas is None


def test_brokers_are_listed_without_the_fenced_ones() -> None:
    older = Older()
    found = older_brokers.brokers(lambda request: older.ask(HERE[0], request))
    assert [(each.broker_id, each.is_fenced) for each in found] == [(101, False)]


@pytest.fixture
def nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Topics, "delete", lambda self, name: None)


@pytest.mark.usefixtures("nothing_of_ours")
def test_a_broker_that_is_not_the_controller_is_passed_over() -> None:
    older = Older((Errors.NOT_CONTROLLER, ""), (Errors.NOT_CONTROLLER, ""))
    Topics(older, lambda: HERE).create("orders", 1, 2, None, None)  # type: ignore[arg-type]
    assert [node for node, name in older.asked if name == "CreateTopicsRequest"] == [101, 102, 103]


@pytest.mark.usefixtures("nothing_of_ours")
def test_a_deletion_that_is_under_way_is_waited_for_and_a_topic_of_others_is_not() -> None:
    taken = Errors.TOPIC_ALREADY_EXISTS
    older = Older((taken, "Topic 'orders' is marked for deletion."))
    Topics(older, lambda: HERE).create("orders", 1, 2, None, None)  # type: ignore[arg-type]
    older = Older((taken, "Topic 'orders' already exists."))
    with pytest.raises(ClusterError, match="TOPIC_ALREADY_EXISTS"):
        Topics(older, lambda: HERE).create("orders", 1, 2, None, None)  # type: ignore[arg-type]


class Silent(Older):
    """Its first broker does what it is asked for, and gives no answer."""

    def ask(self, address: Any, request: Any) -> Any:
        answer = super().ask(address, request)
        if isinstance(request, m.CreateTopicsRequest) and address == HERE[0]:
            raise Unreachable("It does not answer.")
        return answer


class Late(Older):
    """Its brokers hear of the topic when they have been asked three times."""

    def ask(self, address: Any, request: Any) -> Any:
        answer = super().ask(address, request)
        asked = sum(name == "MetadataRequest" for _, name in self.asked)
        if isinstance(request, m.MetadataRequest) and asked < 3:
            unknown = Answer.MetadataResponseTopic(Errors.UNKNOWN_TOPIC_OR_PARTITION, "orders")
            return Answer(topics=[unknown])
        return answer


@pytest.mark.usefixtures("nothing_of_ours")
def test_a_topic_that_the_broker_asked_for_twice_is_ours() -> None:
    """A broker forwards a request again by itself if the controller is lost in between."""
    older = Late((Errors.TOPIC_ALREADY_EXISTS, "It exists."))
    OwnTopics("id").forget()
    Topics(older, lambda: HERE[:1]).create("orders", 1, 2, None, None)  # type: ignore[arg-type]
    assert OwnTopics("id").ids() == {uuids.to_text(b"1" * 16)}


@pytest.mark.usefixtures("nothing_of_ours")
@pytest.mark.parametrize("kind", [Older, Silent, Late])
def test_a_topic_that_an_unanswered_attempt_made_is_ours(kind: type[Older]) -> None:
    older = kind((Errors.REQUEST_TIMED_OUT, ""), (Errors.TOPIC_ALREADY_EXISTS, "It exists."))
    OwnTopics("id").forget()
    Topics(older, lambda: HERE).create("orders", 1, 2, None, None)  # type: ignore[arg-type]
    assert OwnTopics("id").ids() == {uuids.to_text(b"1" * 16)}
