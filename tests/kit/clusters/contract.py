"""What every provider promises, as checks that run on a cluster.

The same functions run on the engine, on local processes and on containers, and so prove
that the three share one interface.  Each takes a healthy cluster, breaks it with the
interface's own methods if it must, and leaves repair to its caller.  If a provider does
not offer a check's fault, the check ends with `NotOffered`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kit.clusters.interface import Cluster, ClusterError

_PATIENCE_S = 60
_QUIET: dict[str, Any] = {"log_level": 0}


def topics_are_made_twice_and_foreign_ones_left_alone(cluster: Cluster) -> None:
    for partitions in (3, 2):
        cluster.create_topic("twice", partitions, config={"min.insync.replicas": 2})
    topic = cluster.snapshot()["topics"]["twice"]
    assert sorted(topic["partitions"]) == [0, 1]
    assert topic["config"] == {"min.insync.replicas": "2"}

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **_QUIET})
    admin.create_topics([NewTopic("foreign", 1, 3)])["foreign"].result(30)
    cluster.wait_until(lambda c: c.leader("foreign") >= 0, _PATIENCE_S)
    assert "the kit did not make" in sentence_of(lambda: cluster.create_topic("foreign"))
    assert "the kit did not make" in sentence_of(lambda: cluster.delete_topic("foreign"))
    admin.delete_topics(["foreign"])["foreign"].result(30)

    cluster.delete_topic("twice")
    cluster.delete_topic("twice")  # nothing there: nothing to do
    assert "twice" not in cluster.snapshot()["topics"]


def records_come_back_in_order(cluster: Cluster) -> None:
    cluster.create_topic("orders")
    sent = [f"order-{n}" for n in range(500)]
    assert produce(cluster, "orders", sent) == [None] * 500
    assert consume(cluster, "orders", 500) == sent


def a_snapshot_shows_what_every_replica_holds(cluster: Cluster) -> None:
    cluster.create_topic("seen", assignment={0: cluster.brokers})
    produce(cluster, "seen", ["a", "b", "c"])
    cluster.wait_until(lambda c: watermarks(c, "seen") == {3}, _PATIENCE_S)
    snapshot = cluster.snapshot(values=True, tail=2)
    assert all(b["state"] == "running" for b in snapshot["brokers"].values())
    assert [b["rack"] for b in snapshot["brokers"].values()] == ["a", "b", "c"]
    seen = snapshot["topics"]["seen"]["partitions"][0]
    assert seen["replicas"] == cluster.brokers
    assert seen["leader"] == cluster.brokers[0]
    assert seen["isr"] == cluster.brokers
    for broker, log in seen["logs"].items():
        assert log["role"] == ("leader" if broker == seen["leader"] else "follower")
        assert (log["log_start_offset"], log["log_end_offset"]) == (0, 3)
        assert log["epochs"] == [[0, 0]]
        values = [value for each in log["batches"] for value in each["values"]]
        assert values[-2:] == ["b", "c"]
        assert all(each["epoch"] == 0 for each in log["batches"])
    assert "batches" not in cluster.snapshot()["topics"]["seen"]["partitions"][0]["logs"][101]


def a_description_is_text_and_html(cluster: Cluster) -> None:
    cluster.create_topic("described")
    description = cluster.describe("described")
    leader = str(cluster.leader("described"))
    assert leader in description.text
    assert leader in description._repr_html_()
    assert "create_topic" in sentence_of(lambda: cluster.describe("no-such-topic"))


def a_group_shows_its_offsets(cluster: Cluster) -> None:
    cluster.create_topic("read")
    produce(cluster, "read", ["a", "b", "c"])
    group = f"readers-{uuid4().hex[:8]}"
    consume(cluster, "read", 3, group=group)
    shown = cluster.snapshot()["groups"][group]
    assert shown["offsets"] == {"read": {0: 3}}
    assert shown["coordinator"] in cluster.brokers


def a_member_shows_what_it_owns(cluster: Cluster) -> None:
    cluster.create_topic("shared", partitions=2)
    group = f"readers-{uuid4().hex[:8]}"
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "client.id": "till",
            **_QUIET,
        }
    )
    try:
        consumer.subscribe(["shared"])

        def owns(c: Cluster) -> bool:
            consumer.poll(0.05)
            members = c.snapshot()["groups"].get(group, {"members": []})["members"]
            return [each["owns"] for each in members] == [{"shared": [0, 1]}]

        cluster.wait_until(owns, _PATIENCE_S, "the member to own both partitions")
        shown = cluster.snapshot()["groups"][group]
        assert (shown["type"], shown["state"], shown["protocol"]) == ("classic", "Stable", "range")
        (member,) = shown["members"]
        assert (member["client_id"], member["state"]) == ("till", "stable")
        assert member["id"] == consumer.memberid()
    finally:
        consumer.close()


def a_member_of_the_consumer_protocol_shows_what_it_owns(cluster: Cluster) -> None:
    cluster.create_topic("shared-848", partitions=2)
    group = f"readers-{uuid4().hex[:8]}"
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "client.id": "till",
            "group.protocol": "consumer",
            **_QUIET,
        }
    )
    try:
        consumer.subscribe(["shared-848"])

        def owns(c: Cluster) -> bool:
            consumer.poll(0.05)
            members = c.snapshot()["groups"].get(group, {"members": []})["members"]
            return [each["owns"] for each in members] == [{"shared-848": [0, 1]}]

        # librdkafka joins in its own time: on a busy machine this has taken more than a minute.
        cluster.wait_until(owns, 2 * _PATIENCE_S, "the member to own both partitions")
        shown = cluster.snapshot()["groups"][group]
        assert (shown["type"], shown["assignor"]) == ("consumer", "uniform")
        (member,) = shown["members"]
        assert (member["client_id"], member["epoch"]) == ("till", shown["epoch"])
        assert member["target"] == member["owns"]
        assert member["subscribed"]["topics"] == ["shared-848"]
        assert member["id"] == consumer.memberid()
    finally:
        consumer.close()


def a_killed_leader_costs_no_acknowledged_record(cluster: Cluster) -> None:
    replicas = {0: controller_last(cluster)}
    cluster.create_topic("kept", assignment=replicas, config={"min.insync.replicas": 2})
    before = partition(cluster, "kept")
    assert produce(cluster, "kept", ["a", "b"]) == [None, None]
    cluster.kill(before["leader"])
    cluster.wait_until(
        lambda c: c.leader("kept") not in (before["leader"], -1), _PATIENCE_S, "a new leader"
    )
    assert produce(cluster, "kept", ["c"]) == [None]
    after = partition(cluster, "kept")
    assert after["leader_epoch"] == before["leader_epoch"] + 1
    assert after["isr"] == [b for b in before["isr"] if b != before["leader"]]
    assert after["logs"][before["leader"]]["role"] == "offline"
    assert cluster.snapshot()["brokers"][before["leader"]]["state"] == "killed"
    assert "start" in sentence_of(lambda: cluster.pause(before["leader"]))

    cluster.start(before["leader"])
    cluster.wait_until(whole_again("kept"), _PATIENCE_S, "the ISR to be whole again")
    assert consume(cluster, "kept", 3) == ["a", "b", "c"]


def a_clean_stop_hands_leadership_over(cluster: Cluster) -> None:
    cluster.create_topic("handed")
    produce(cluster, "handed", ["a"])
    leader = cluster.leader("handed")
    cluster.stop(leader)
    assert cluster.snapshot()["brokers"][leader]["state"] == "stopped"
    cluster.wait_until(lambda c: c.leader("handed") not in (leader, -1), _PATIENCE_S)
    cluster.start(leader)
    cluster.wait_until(whole_again("handed"), _PATIENCE_S, "the ISR to be whole again")


def a_paused_leader_is_replaced_and_follows_when_it_wakes(cluster: Cluster) -> None:
    cluster.create_topic("paused")
    produce(cluster, "paused", ["a"])
    leader = cluster.leader("paused")
    cluster.pause(leader)
    assert cluster.snapshot()["brokers"][leader]["state"] == "paused"
    cluster.wait_until(lambda c: c.leader("paused") not in (leader, -1), _PATIENCE_S)
    assert produce(cluster, "paused", ["b"]) == [None]
    cluster.resume(leader)
    cluster.wait_until(whole_again("paused"), _PATIENCE_S, "the ISR to be whole again")
    assert consume(cluster, "paused", 2) == ["a", "b"]


def a_follower_cut_off_leaves_the_isr_until_healed(cluster: Cluster) -> None:
    leader, follower, other = controller_last(cluster)
    cluster.create_topic("cut", assignment={0: [leader, follower, other]})
    cluster.cut(leader, follower)
    assert [link["between"] for link in cluster.snapshot()["links"]] == [[leader, follower]]
    assert produce(cluster, "cut", ["a"], acks="1") == [None]
    left = sorted([leader, other])
    cluster.wait_until(lambda c: partition(c, "cut")["isr"] == left, _PATIENCE_S)
    assert partition(cluster, "cut")["logs"][follower]["log_end_offset"] == 0
    cluster.heal()
    cluster.wait_until(whole_again("cut"), _PATIENCE_S, "the ISR to be whole again")
    assert cluster.snapshot()["links"] == []


def an_isolated_leader_is_replaced(cluster: Cluster) -> None:
    cluster.create_topic("isolated")
    produce(cluster, "isolated", ["a"])
    leader = cluster.leader("isolated")
    cluster.isolate(leader)
    cluster.wait_until(lambda c: c.leader("isolated") not in (leader, -1), _PATIENCE_S)
    cluster.heal()
    cluster.wait_until(whole_again("isolated"), _PATIENCE_S, "the ISR to be whole again")


def a_slow_link_is_shown_and_still_works(cluster: Cluster) -> None:
    cluster.create_topic("slow", assignment={0: cluster.brokers})
    leader, follower, _ = cluster.brokers
    cluster.slow(leader, follower, ms=50)
    assert cluster.snapshot()["links"] == [
        {"between": [leader, follower], "state": "slow", "delay_ms": 50}
    ]
    assert produce(cluster, "slow", ["a"]) == [None]


def a_wrong_call_gets_a_sentence(cluster: Cluster) -> None:
    assert "There is no node 7" in sentence_of(lambda: cluster.kill(7))
    assert "two different nodes" in sentence_of(lambda: cluster.cut(101, 101))
    assert "create_topic" in sentence_of(lambda: cluster.leader("no-such-topic"))
    assert "INVALID_TOPIC_EXCEPTION" in sentence_of(lambda: cluster.create_topic("no good"))
    assert "INVALID_REPLICATION_FACTOR" in sentence_of(
        lambda: cluster.create_topic("many", replicas=7)
    )
    assert "a miracle" in sentence_of(
        lambda: cluster.wait_until(lambda c: False, timeout_s=0.1, what="a miracle")
    )


CHECKS: tuple[Callable[[Cluster], None], ...] = (
    topics_are_made_twice_and_foreign_ones_left_alone,
    records_come_back_in_order,
    a_snapshot_shows_what_every_replica_holds,
    a_description_is_text_and_html,
    a_group_shows_its_offsets,
    a_member_shows_what_it_owns,
    a_member_of_the_consumer_protocol_shows_what_it_owns,
    a_wrong_call_gets_a_sentence,
    a_killed_leader_costs_no_acknowledged_record,
    a_clean_stop_hands_leadership_over,
    a_paused_leader_is_replaced_and_follows_when_it_wakes,
    a_follower_cut_off_leaves_the_isr_until_healed,
    an_isolated_leader_is_replaced,
    a_slow_link_is_shown_and_still_works,
)


# -- what the checks are written with


def produce(
    cluster: Cluster, topic: str, values: list[str], acks: str = "all"
) -> list[KafkaError | None]:
    """Sends values to partition 0; the delivery reports' errors, in the order of the values."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": acks, **_QUIET})
    reports: dict[int, KafkaError | None] = {}

    def note(number: int) -> Callable[[KafkaError | None, object], None]:
        return lambda error, _: reports.update({number: error})

    for number, value in enumerate(values):
        producer.produce(topic, value, partition=0, on_delivery=note(number))
    producer.flush(_PATIENCE_S)
    return [reports[number] for number in range(len(values))]


def consume(cluster: Cluster, topic: str, count: int, group: str | None = None) -> list[str]:
    """The first `count` values of partition 0; with a group, commits what it read."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group or f"contract-{uuid4().hex[:8]}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **_QUIET,
        }
    )
    try:
        if group:
            consumer.subscribe([topic])
        else:
            consumer.assign([TopicPartition(topic, 0, 0)])
        messages: list[Any] = []
        while len(messages) < count:
            polled = consumer.consume(count - len(messages), timeout=_PATIENCE_S)
            assert polled, f"only {len(messages)} of {count} records came back"
            messages += [each for each in polled if each.error() is None]
        if group:
            consumer.commit(asynchronous=False)
        return [each.value().decode() for each in messages]
    finally:
        consumer.close()


def controller_last(cluster: Cluster) -> list[int]:
    """The brokers.  With ZooKeeper one is the controller, too.

    Without it no leader can shrink its ISR, and a partition that it led has two epochs more: one
    without the dead replica, one with a new leader.
    """
    controller = cluster.snapshot()["controller"]["id"]
    return sorted(cluster.brokers, key=lambda broker: broker == controller)


def partition(cluster: Cluster, topic: str) -> dict[str, Any]:
    """Partition 0 of a topic in a fresh snapshot."""
    found: dict[str, Any] = cluster.snapshot()["topics"][topic]["partitions"][0]
    return found


def watermarks(cluster: Cluster, topic: str) -> set[int]:
    """The high watermarks that the replicas know."""
    return {log["high_watermark"] for log in partition(cluster, topic)["logs"].values()}


def whole_again(topic: str) -> Callable[[Cluster], bool]:
    """A condition: every replica of the topic is in sync."""
    return lambda c: partition(c, topic)["isr"] == sorted(partition(c, topic)["replicas"])


def sentence_of(call: Callable[[], object]) -> str:
    """The message of the ClusterError that a call must raise."""
    try:
        call()
    except ClusterError as error:
        return str(error)
    raise AssertionError("a ClusterError was expected")
