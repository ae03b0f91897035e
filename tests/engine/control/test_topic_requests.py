"""Topics: what CreateTopics, CreatePartitions and DeleteTopics make, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors

Topic = m.CreateTopicsRequest.CreatableTopic
Assignment = m.CreateTopicsRequest.CreatableReplicaAssignment
Config = m.CreateTopicsRequest.CreatableTopicConfig


def create(bench: Any, *topics: Any, validate_only: bool = False) -> list[Any]:
    request = m.CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    answer: list[Any] = bench.ask(request).topics
    return answer


def placed(name: str = "orders", partitions: int = 3, replicas: int = 3, **more: Any) -> Any:
    return Topic(name=name, num_partitions=partitions, replication_factor=replicas, **more)


def assigned(*replicas: list[int], first: int = 0) -> Any:
    assignments = [
        Assignment(partition_index=index, broker_ids=brokers)
        for index, brokers in enumerate(replicas, first)
    ]
    return Topic(name="orders", num_partitions=-1, replication_factor=-1, assignments=assignments)


def test_new_topic_has_an_id_and_leaders_in_epoch_0(bench: Any) -> None:
    (result,) = create(bench, placed())
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 3, 3)
    topic = bench.image.topics[result.topic_id]
    assert (topic.name, sorted(topic.partitions)) == ("orders", [0, 1, 2])
    for partition in topic.partitions.values():
        assert sorted(partition.replicas) == [101, 102, 103]
        assert partition.isr == partition.replicas
        assert (partition.leader, partition.leader_epoch) == (partition.replicas[0], 0)
    assert {p.leader for p in topic.partitions.values()} == {101, 102, 103}


def test_answer_names_the_configs_in_effect_and_where_they_are_from(bench: Any) -> None:
    configs = [Config(name="retention.ms", value="1000")]
    (result,) = create(bench, placed(configs=configs))
    described = {each.name: (each.value, each.config_source) for each in result.configs}
    assert described["retention.ms"] == ("1000", 1)
    assert described["min.insync.replicas"] == ("1", 3)
    assert described["cleanup.policy"] == ("delete", 5)
    assert bench.image.configs[2, "orders"] == {"retention.ms": "1000"}


def test_minus_one_asks_for_the_defaults(new_bench: Any) -> None:
    bench = new_bench(**{"num.partitions": 4, "default.replication.factor": 2})
    bench.join(101, 102, 103)
    (result,) = create(bench, placed(partitions=-1, replicas=-1))
    assert (result.num_partitions, result.replication_factor) == (4, 2)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (placed(""), Errors.INVALID_TOPIC_EXCEPTION),
        (placed(".."), Errors.INVALID_TOPIC_EXCEPTION),
        (placed("a b"), Errors.INVALID_TOPIC_EXCEPTION),
        (placed("x" * 250), Errors.INVALID_TOPIC_EXCEPTION),
        (placed("a.b"), Errors.INVALID_TOPIC_EXCEPTION),
        (placed("a_b"), Errors.TOPIC_ALREADY_EXISTS),
        (placed("__cluster_metadata"), Errors.INVALID_REQUEST),
        (placed(partitions=0), Errors.INVALID_PARTITIONS),
        (placed(partitions=-2), Errors.INVALID_PARTITIONS),
        (placed(partitions=20_000), Errors.POLICY_VIOLATION),
        (placed(replicas=0), Errors.INVALID_REPLICATION_FACTOR),
        (placed(replicas=4), Errors.INVALID_REPLICATION_FACTOR),
        (placed(configs=[Config(name="retention.ms", value="soon")]), Errors.INVALID_CONFIG),
        (placed(configs=[Config(name="no.such", value="1")]), Errors.INVALID_CONFIG),
        (placed(configs=[Config(name="retention.ms", value=None)]), Errors.INVALID_CONFIG),
        (placed(assignments=assigned([101]).assignments), Errors.INVALID_REQUEST),
        (assigned([]), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned([101, 109]), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned([101, 101]), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned([101], [101, 102]), Errors.INVALID_REPLICA_ASSIGNMENT),
        (assigned([101], first=1), Errors.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=lambda value: value.name if isinstance(value, Errors) else "",
)
def test_impossible_topic_is_refused_with_kafkas_code(
    bench: Any, topic: Any, error: Errors
) -> None:
    create(bench, placed("a_b", 1, 1))
    end = bench.image.offset
    (result,) = create(bench, topic)
    assert (Errors(result.error_code), bench.image.offset) == (error, end)
    assert result.error_message


def test_one_bad_topic_does_not_spoil_the_others(bench: Any) -> None:
    results = create(bench, placed("good"), placed("bad", replicas=9), placed("fine", 1, 1))
    assert [result.error_code for result in results] == [0, Errors.INVALID_REPLICATION_FACTOR, 0]
    assert sorted(bench.image.topic_ids) == ["fine", "good"]


def test_name_given_twice_is_refused_once(bench: Any) -> None:
    results = create(bench, placed("twice"), placed("twice"))
    assert [result.error_code for result in results] == [Errors.INVALID_REQUEST]


def test_validate_only_judges_and_makes_nothing(bench: Any) -> None:
    end = bench.image.offset
    results = create(bench, placed(), placed("bad", replicas=9), validate_only=True)
    assert [result.error_code for result in results] == [0, Errors.INVALID_REPLICATION_FACTOR]
    assert (bench.image.offset, bench.image.topics) == (end, {})
    assert not bench.reported("topic-created")


def test_fenced_brokers_follow_but_do_not_lead(bench: Any) -> None:
    bench.die(103)
    create(bench, placed(partitions=12, replicas=3))
    for partition in bench.image.topic("orders").partitions.values():
        assert sorted(partition.isr) == [101, 102]
        assert partition.replicas[0] != 103
        assert partition.leader == partition.replicas[0]


def test_fenced_brokers_are_not_chosen_while_others_will_do(bench: Any) -> None:
    bench.die(103)
    create(bench, placed(partitions=12, replicas=2))
    partitions = bench.image.topic("orders").partitions.values()
    assert all(103 not in partition.replicas for partition in partitions)


def test_no_topic_without_a_live_broker(bench: Any) -> None:
    bench.die(101, 102, 103)
    assert create(bench, placed())[0].error_code == Errors.INVALID_REPLICATION_FACTOR
    refused = create(bench, assigned([101, 102]))[0]
    assert refused.error_code == Errors.INVALID_REPLICA_ASSIGNMENT


# -- more partitions


def add(bench: Any, count: int, *assignments: list[int], validate_only: bool = False) -> int:
    request = m.CreatePartitionsRequest
    wanted = [request.CreatePartitionsAssignment(broker_ids=each) for each in assignments]
    topic = request.CreatePartitionsTopic(name="orders", count=count, assignments=wanted or None)
    answer = bench.ask(request([topic], timeout_ms=5_000, validate_only=validate_only))
    code: int = answer.results[0].error_code
    return code


def test_partitions_are_added_with_the_topics_replication_factor(bench: Any) -> None:
    create(bench, placed(partitions=2, replicas=2))
    before = dict(bench.image.topic("orders").partitions)
    assert add(bench, 5) == Errors.NONE
    partitions = bench.image.topic("orders").partitions
    assert sorted(partitions) == [0, 1, 2, 3, 4]
    assert {len(partition.replicas) for partition in partitions.values()} == {2}
    assert {index: partitions[index] for index in before} == before


def test_added_partitions_may_be_assigned(bench: Any) -> None:
    create(bench, placed(partitions=1, replicas=2))
    assert add(bench, 2, [103, 101]) == Errors.NONE
    assert bench.partition("orders", 1).replicas == (103, 101)
    assert add(bench, 3, [103]) == Errors.INVALID_REPLICA_ASSIGNMENT
    assert add(bench, 4, [103, 101]) == Errors.INVALID_REPLICA_ASSIGNMENT


def test_partitions_never_become_fewer(bench: Any) -> None:
    assert add(bench, 2) == Errors.UNKNOWN_TOPIC_OR_PARTITION
    create(bench, placed(partitions=3))
    assert add(bench, 3) == Errors.INVALID_PARTITIONS
    assert add(bench, 1) == Errors.INVALID_PARTITIONS
    assert add(bench, 4, validate_only=True) == Errors.NONE
    assert len(bench.image.topic("orders").partitions) == 3


# -- limits


@pytest.mark.parametrize("validate_only", [True, False])
def test_one_request_adds_at_most_as_many_partitions_as_a_batch_has_records(
    bench: Any, validate_only: bool
) -> None:
    create(bench, placed(partitions=1, replicas=1))
    end = bench.image.offset
    for count in (10_002, 2**31 - 1):
        assert add(bench, count, validate_only=validate_only) == Errors.UNKNOWN_SERVER_ERROR
    assert bench.image.offset == end
    assert add(bench, 10_001, validate_only=True) == Errors.NONE


def test_topics_of_one_request_share_that_limit(bench: Any) -> None:
    create(bench, placed("a", 1, 1), placed("b", 1, 1))
    request = m.CreatePartitionsRequest
    wanted = [request.CreatePartitionsTopic(name, 6_001, None) for name in ("a", "b")]
    results = bench.ask(request(wanted, timeout_ms=5_000, validate_only=True)).results
    assert [each.error_code for each in results] == [Errors.NONE, Errors.UNKNOWN_SERVER_ERROR]


def test_a_creation_of_more_records_than_a_batch_has_is_refused_as_a_whole(bench: Any) -> None:
    # A topic is a record too, and so is a config.
    one_config = [Config(name="retention.ms", value="1000")]
    for topics in (
        [placed("a", 10_000, 1)],
        [placed("a", 9_999, 1, configs=one_config)],
        [placed("a", 5_000, 1), placed("b", 4_999, 1)],
    ):
        results = create(bench, *topics, validate_only=True)
        assert {each.error_code for each in results} == {Errors.POLICY_VIOLATION}
    (largest,) = create(bench, placed("a", 9_999, 1), validate_only=True)
    assert largest.error_code == Errors.NONE


def test_a_deletion_of_more_topics_than_a_batch_has_records_is_refused(bench: Any) -> None:
    create(bench, *(placed(f"t{i}", 1, 1) for i in range(5_000)))
    create(bench, *(placed(f"u{i}", 1, 1) for i in range(5_000)))
    create(bench, placed("one-more", 1, 1))
    names = list(bench.image.topic_ids)
    assert {code for _, code in delete(bench, *names)} == {Errors.POLICY_VIOLATION}
    assert {code for _, code in delete(bench, *names[1:])} == {Errors.NONE}


# -- delete


def delete(bench: Any, *names: str, ids: tuple[bytes, ...] = ()) -> list[tuple[Any, int]]:
    request = m.DeleteTopicsRequest
    topics = [request.DeleteTopicState(name=name) for name in names]
    topics += [request.DeleteTopicState(name=None, topic_id=topic_id) for topic_id in ids]
    answer = bench.ask(request(topics=topics, timeout_ms=5_000))
    return [(each.name, each.error_code) for each in answer.responses]


def test_deleted_topic_is_gone_with_its_configs(bench: Any) -> None:
    create(bench, placed(configs=[Config(name="retention.ms", value="1000")]))
    assert delete(bench, "orders") == [("orders", 0)]
    assert (bench.image.topics, bench.image.topic_ids) == ({}, {})
    assert (2, "orders") not in bench.image.configs


def test_topic_created_again_has_another_id(bench: Any) -> None:
    (first,) = create(bench, placed())
    assert delete(bench, ids=(first.topic_id,)) == [("orders", 0)]
    (second,) = create(bench, placed())
    assert second.topic_id != first.topic_id
    assert delete(bench, ids=(first.topic_id,)) == [(None, Errors.UNKNOWN_TOPIC_ID)]


def test_deletions_that_make_no_sense(bench: Any) -> None:
    (made,) = create(bench, placed())
    assert delete(bench, "nix") == [("nix", Errors.UNKNOWN_TOPIC_OR_PARTITION)]
    assert delete(bench, ids=(bytes(16),)) == [(None, Errors.INVALID_REQUEST)]
    assert delete(bench, "nix", "nix") == [("nix", Errors.INVALID_REQUEST)]
    assert delete(bench, "orders", ids=(made.topic_id,)) == [("orders", Errors.INVALID_REQUEST)]
    assert delete(bench, ids=(made.topic_id,)) == [("orders", 0)]


def test_old_versions_name_topics_in_another_field(bench: Any) -> None:
    create(bench, placed())
    answer = bench.ask(m.DeleteTopicsRequest(topic_names=["orders"], timeout_ms=5_000))
    assert [each.error_code for each in answer.responses] == [0]


def test_deletion_may_be_disabled(new_bench: Any) -> None:
    bench = new_bench(**{"delete.topic.enable": False})
    assert delete(bench, "orders") == [("orders", Errors.TOPIC_DELETION_DISABLED)]


def test_fencing_after_deletion_touches_nothing_that_is_gone(bench: Any) -> None:
    create(bench, placed())
    delete(bench, "orders")
    bench.die(101)
    assert not bench.reported("elected")


def test_a_request_without_time_is_too_late(bench: Any) -> None:
    create(bench, placed())
    end = bench.image.offset
    for request in (
        m.CreateTopicsRequest([placed("late")], timeout_ms=0),
        m.CreatePartitionsRequest(
            [m.CreatePartitionsRequest.CreatePartitionsTopic("orders", 9, None)], timeout_ms=-1
        ),
        m.DeleteTopicsRequest(topic_names=["orders"], timeout_ms=0),
    ):
        answer = bench.ask(request)
        (row,) = (
            getattr(answer, "topics", None)
            or getattr(answer, "results", None)
            or (answer.responses)
        )
        assert (row.error_code, row.error_message) == (Errors.REQUEST_TIMED_OUT, None)
    assert bench.image.offset == end
