"""Creates and deletes topics so that a cell can run twice and other topics stay untouched.

The kit remembers the ids of the topics that it created, per cluster, in its state
directory.  Asked to create a topic whose name is taken, it replaces its own and refuses
to touch any other: the name alone would not tell, the id does.

The controller answers a creation or deletion before every broker has heard of it, so both
wait until each running broker says the same.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors
from kit import places
from kit.clusters import older_brokers
from kit.clusters.connections import NO_BROKER, Address, Connections, NotSpoken, Unreachable
from kit.clusters.interface import Assignment, ClusterError, Config, WaitTimeout

POLL_S = 0.02
_ADMIN_TIMEOUT_S = 30.0
_RETRIABLE = (
    Errors.REQUEST_TIMED_OUT,
    Errors.NOT_CONTROLLER,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.BROKER_NOT_AVAILABLE,
)


class OwnTopics:
    """The ids of the topics that the kit made on one cluster, kept across kernels."""

    def __init__(self, cluster_id: str) -> None:
        self._file = places.state_dir() / f"topics-{cluster_id.replace('/', '_')}.txt"

    def ids(self) -> set[str]:
        """Ids in Kafka's spelling."""
        return set(self._file.read_text().split()) if self._file.exists() else set()

    def add(self, topic_id: str) -> None:
        with self._file.open("a") as out:
            out.write(f"{topic_id}\n")

    def forget(self) -> None:
        """Forgets a cluster that is gone for good."""
        self._file.unlink(missing_ok=True)

    @property
    def file(self) -> Path:
        return self._file


class Topics:
    """Topic administration on the brokers that `addresses` names at the moment."""

    def __init__(self, connections: Connections, addresses: Callable[[], list[Address]]) -> None:
        self._connections = connections
        self._addresses = addresses

    def cluster_id(self) -> str:
        """The cluster's id in Kafka's spelling."""
        answer = self._connections.ask_first(self._addresses(), m.DescribeClusterRequest())
        return str(answer.cluster_id)

    def create(
        self,
        name: str,
        partitions: int,
        replicas: int,
        config: Config | None,
        assignment: Assignment | None,
    ) -> None:
        """Creates `name`, replacing the kit's own topic of that name; waits for all brokers."""
        self.delete(name)
        is_new = not self._is_known(name)
        placed = [
            m.CreateTopicsRequest.CreatableReplicaAssignment(index, list(brokers))
            for index, brokers in sorted((assignment or {}).items())
        ]
        topic = m.CreateTopicsRequest.CreatableTopic(
            name,
            -1 if placed else partitions,
            -1 if placed else replicas,
            placed,
            [
                m.CreateTopicsRequest.CreatableTopicConfig(key, spelled(value))
                for key, value in (config or {}).items()
            ],
        )
        request = m.CreateTopicsRequest([topic], timeout_ms=10_000)
        result, attempts = self._administer(request, lambda answer: answer.topics[0])
        made = bytes(result.topic_id)
        if result.error_code == Errors.TOPIC_ALREADY_EXISTS and (attempts > 1 or is_new):
            made = self._awaited_id(name)  # an attempt made it, ours or the broker's own, unheard
        elif result.error_code:
            raise ClusterError(_refusal(f"create topic {name}", result))
        OwnTopics(self.cluster_id()).add(uuids.to_text(made))
        wanted = len(placed) or partitions
        self._await(lambda seen: _is_complete(seen, made, wanted), name, "created")

    def delete(self, name: str) -> None:
        """Deletes the kit's own topic `name` if there is one; waits for all brokers."""
        topic_id = self._id_of(name)
        if topic_id is None:
            return
        if uuids.to_text(topic_id) not in OwnTopics(self.cluster_id()).ids():
            raise ClusterError(
                f"There is a topic {name} that the kit did not make, so it stays as it is: "
                "choose another name, or delete that topic with Kafka's own tools."
            )
        state = m.DeleteTopicsRequest.DeleteTopicState(None, topic_id)
        request = m.DeleteTopicsRequest([state], timeout_ms=10_000)
        result, _ = self._administer(request, lambda answer: answer.responses[0])
        if result.error_code not in (0, Errors.UNKNOWN_TOPIC_ID):
            raise ClusterError(_refusal(f"delete topic {name}", result))
        self._await(lambda seen: seen is None or seen.topic_id != topic_id, name, "deleted")

    def _awaited_id(self, name: str) -> bytes:
        """The id of a topic that the controller has, and that a broker may not know yet."""
        deadline = time.monotonic() + _ADMIN_TIMEOUT_S
        while (found := self._id_of(name)) is None:
            if time.monotonic() > deadline:
                raise WaitTimeout(
                    f"Topic {name} exists, but no broker has heard of it after "
                    f"{_ADMIN_TIMEOUT_S:.0f} s: are they all cut off from the controller?"
                )
            time.sleep(POLL_S)
        return found

    def _is_known(self, name: str) -> bool:
        """Whether any broker that answers has the topic."""
        for address in self._addresses():
            with contextlib.suppress(Unreachable):
                if self._seen(address, name) is not None:
                    return True
        return False

    def _id_of(self, name: str) -> bytes | None:
        for address in self._addresses():
            try:
                seen = self._seen(address, name)
            except Unreachable:
                continue
            return None if seen is None else bytes(seen.topic_id)
        raise Unreachable(NO_BROKER)

    def _seen(self, address: Address, name: str) -> Any | None:
        """The topic as one broker knows it; None when it does not."""
        wanted = m.DescribeTopicPartitionsRequest.TopicRequest(name)

        def ask(request: Any) -> Any:
            return self._connections.ask(address, request)

        try:
            found = ask(m.DescribeTopicPartitionsRequest([wanted])).topics[0]
        except NotSpoken:
            (found,) = older_brokers.described(ask, name)
        if found.error_code in (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_ID):
            return None
        if found.error_code:
            raise ClusterError(f"Topic {name}: {Errors(found.error_code).name}.")
        return found

    def _administer(self, request: Any, result_of: Callable[[Any], Any]) -> tuple[Any, int]:
        """Sends an admin request again while its result is a retriable error; counts attempts.

        To another broker each time: one with ZooKeeper does not forward it to the controller.
        """
        deadline = time.monotonic() + _ADMIN_TIMEOUT_S
        silent = 0
        for attempts in itertools.count(1):
            addresses = self._addresses()
            if silent >= len(addresses):
                raise Unreachable(NO_BROKER)
            try:
                answer = self._connections.ask(addresses[(attempts - 1) % len(addresses)], request)
            except Unreachable:
                silent += 1  # what it was asked for, it may have done
                continue
            silent, result = 0, result_of(answer)
            if not _passes(result) or time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        return result, attempts

    def _await(self, condition: Callable[[Any | None], bool], name: str, what: str) -> None:
        deadline = time.monotonic() + _ADMIN_TIMEOUT_S
        pending = self._addresses()
        while pending:
            still = []
            for address in pending:
                try:
                    if not condition(self._seen(address, name)):
                        still.append(address)
                except Unreachable:
                    continue  # it died meanwhile, and learns of the change when it is back
            pending = still
            if pending and time.monotonic() > deadline:
                raise WaitTimeout(
                    f"Topic {name} was {what}, but {len(pending)} broker(s) have not heard of it "
                    f"after {_ADMIN_TIMEOUT_S:.0f} s: is one cut off from the controller?"
                )
            if pending:
                time.sleep(POLL_S)


def spelled(value: object) -> str:
    """A config value as Kafka spells it: `True` is `true`, 5 is `5`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_complete(seen: Any | None, topic_id: bytes, partitions: int) -> bool:
    return (
        seen is not None
        and seen.topic_id == topic_id
        and len(seen.partitions) == partitions
        and all(p.leader_id >= 0 for p in seen.partitions)
    )


def _passes(result: Any) -> bool:
    """Whether it is an error that goes away: with ZooKeeper, a deletion under way is one, too."""
    under_way = "marked for deletion" in (result.error_message or "")
    return result.error_code in _RETRIABLE or under_way


def _refusal(what: str, result: Any) -> str:
    error = Errors(result.error_code)
    reason = result.error_message or "no reason given"
    return f"Kafka refused to {what}: {error.name} ({reason.rstrip('.')})."


def described(connections: Connections, addresses: list[Address]) -> list[Any]:
    """Every topic, as the first broker that answers knows it."""

    def ask(request: Any) -> Any:
        return connections.ask_first(addresses, request)

    found: list[Any] = []
    cursor = None
    while True:
        try:
            answer = ask(m.DescribeTopicPartitionsRequest([], 2000, cursor))
        except NotSpoken:
            return _joined(older_brokers.described(ask))
        found += answer.topics
        if answer.next_cursor is None:
            return _joined(found)
        cursor = m.DescribeTopicPartitionsRequest.Cursor(
            answer.next_cursor.topic_name, answer.next_cursor.partition_index
        )


def _joined(topics: list[Any]) -> list[Any]:
    """Joins the parts of a topic that was split between pages."""
    by_name: dict[str, Any] = {}
    for topic in topics:
        if topic.name in by_name:
            by_name[topic.name].partitions += topic.partitions
        elif topic.error_code == Errors.NONE:
            by_name[topic.name] = topic
    return list(by_name.values())
