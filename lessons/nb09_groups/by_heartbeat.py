"""A member of the consumer protocol (KIP-848) that is nothing but its heartbeats.

    with ByHeartbeat(cluster, "billing") as first, ByHeartbeat(cluster, "billing") as second:
        first.hears()                   [0, 1, 2, 3, 4, 5]: what the answer assigns
        second.hears()                  []
        first.hears()                   [0, 1, 2]
        first.beat()                    says that it has these only
        second.hears()                  [3, 4, 5]

`by_hand` is the same for the classic protocol.
"""

from __future__ import annotations

import time
from typing import Any, Self

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster, WaitTimeout
from kit.probes.raw_client import RawClient
from lessons.nb09_groups.by_hand import TOPIC, coordinator_of

VERSION = 1
"""The latest of ConsumerGroupHeartbeat that Kafka 4.3 and the engine both have."""
LEAVES = -1
REBALANCE_MS = 10_000
EVERY_S, PATIENCE_S = 0.2, 20.0


class ByHeartbeat:
    """One connection to the coordinator; `partitions` is what the member has."""

    def __init__(self, cluster: Cluster, group: str, name: str = "one", topic: str = TOPIC) -> None:
        self.group, self.name, self.topic = group, name, topic
        self.epoch = 0
        self.partitions: list[int] = []
        self._topic_id = b""
        self._client = RawClient(cluster, coordinator_of(cluster, group), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.epoch:
            self._ask(m.ConsumerGroupHeartbeatRequest(self.group, self.name, LEAVES))
        self._client.socket.close()

    def beat(self) -> list[int] | None:
        """One heartbeat: the partitions that its answer assigns; None if it assigns nothing new.

        The first one joins.  WaitTimeout if the coordinator refuses it.
        """
        request = m.ConsumerGroupHeartbeatRequest
        owned = [request.TopicPartitions(self._topic_id, self.partitions)]
        body = request(self.group, self.name, self.epoch)
        body.topic_partitions = owned if self.partitions else []
        if not self.epoch:
            body.rebalance_timeout_ms, body.subscribed_topic_names = REBALANCE_MS, [self.topic]
        answer = self._ask(body)
        if answer.error_code != Errors.NONE:
            raise WaitTimeout(f"{self.group} refuses {self.name}: {Errors(answer.error_code).name}")
        self.epoch = answer.member_epoch
        if answer.assignment is None:
            return None
        self.partitions = []
        for each in answer.assignment.topic_partitions:
            self._topic_id, self.partitions = each.topic_id, sorted(each.partitions)
        return self.partitions

    def hears(self) -> list[int]:
        """Heartbeats until an answer assigns partitions, or takes some away: those it has then."""
        deadline = time.monotonic() + PATIENCE_S
        while (assigned := self.beat()) is None:
            if time.monotonic() > deadline:
                raise WaitTimeout(f"{self.group}: no answer to {self.name} assigns anything new")
            time.sleep(EVERY_S)
        return assigned

    def _ask(self, body: Any) -> Any:
        return self._client.ask(body, VERSION)
