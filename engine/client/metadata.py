"""What a client knows of the cluster: the leader of each partition, and its epoch.

The client asks for metadata when it is missing, when a broker says NOT_LEADER_OR_FOLLOWER, when a
connection is lost, and otherwise every `metadata.max.age.ms`.  Between two requests it waits, at
least for the retry backoff, which grows while it learns nothing new.  Otherwise a thousand clients
would ask a cluster in trouble as fast as they can.  It asks at once only about a topic named for
the first time.

A producer's records for a topic that the brokers do not know (any more) wait outside the batches:
the topic may be about to appear.  An invalid name and a topic that this client may not write to
are `refused`, because waiting helps neither.

An answer may come from a broker that is cut off and out of date.  The leader epoch shows that: the
client ignores an epoch older than the one it knows (KIP-320).  Epochs compare within one topic id;
they start over for a topic that was deleted and created again.  A broker that refuses a batch may
name the new leader in the refusal (KIP-951): then the client need not ask.

Simplified: the client asks about a topic forever, where the Java client forgets one to which
nothing was sent for metadata.max.idle.ms (5 minutes); each request names all topics.

Left out: rebootstrapping (KIP-899), regular-expression subscriptions, auto-created topics.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.client.backoff import ExponentialBackoff
from engine.wire import messages as m
from engine.wire.errors import Errors

Place = tuple[str, int]
"""Topic and partition."""
REFUSALS = (Errors.INVALID_TOPIC_EXCEPTION, Errors.TOPIC_AUTHORIZATION_FAILED)


@dataclass(slots=True)
class Metadata:
    """Leaders by partition.  `wanted` means that a request should go out at `next_at`."""

    max_age_us: int
    backoff: ExponentialBackoff
    topics: dict[str, int] = field(default_factory=dict)
    """Partitions per topic; 0 for a topic that is asked about and not known."""
    refused: dict[str, Errors] = field(default_factory=dict)
    """The errors in the last answer for topics that cannot be written to."""
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    unknown_ids: dict[bytes, None] = field(default_factory=dict)
    """Topics that are known by their id only, from an assignment (KIP-848)."""
    leaders: dict[Place, tuple[int, int]] = field(default_factory=dict)
    """(leader, leader epoch)"""
    replicas: dict[Place, tuple[int, ...]] = field(default_factory=dict)
    nodes: dict[int, tuple[str, int]] = field(default_factory=dict)
    racks: dict[int, str] = field(default_factory=dict)
    wanted: bool = False
    asking: bool = False
    attempts: int = 0
    """Requests since the last one that brought something new."""
    next_at: int = 0
    fresh_until: int = 0
    updates: int = 0
    """Answers so far."""

    def want(self) -> None:
        self.wanted = True

    def add_topic(self, topic: str) -> None:
        if topic not in self.topics:
            self.topics[topic] = 0
            self.wanted = True
            self.attempts = 0
            self.next_at = 0

    def add_ids(self, topic_ids: list[bytes]) -> None:
        """Asks for the names of topics."""
        for topic_id in topic_ids:
            if topic_id not in self.unknown_ids:
                self.unknown_ids[topic_id] = None
                self.attempts, self.next_at = 0, 0
        self.wanted = True

    def due(self, now: int) -> bool:
        """Time to ask."""
        if self.asking or not (self.topics or self.unknown_ids):
            return False
        return now >= self.next_at if self.wanted else now >= self.fresh_until

    def due_at(self) -> int:
        return self.next_at if self.wanted else self.fresh_until

    def request(self) -> m.MetadataRequest:
        self.asking = True
        topic = m.MetadataRequest.MetadataRequestTopic
        named = [topic(name=name) for name in self.topics]
        unnamed = [topic(topic_id=each, name=None) for each in self.unknown_ids]
        return m.MetadataRequest(topics=named + unnamed, allow_auto_topic_creation=False)

    def failed(self, now: int) -> None:
        """No answer; ask another broker, a little later."""
        self.asking = False
        self.wanted = True
        self._back_off(now)

    def learn(self, now: int, body: m.MetadataResponse) -> list[str]:
        """Takes in an answer; gives what changed, as "orders-0: 102 in epoch 3"."""
        self.asking = False
        self.updates += 1
        self.nodes.update({each.node_id: (each.host, each.port) for each in body.brokers})
        self.racks.update({each.node_id: each.rack for each in body.brokers if each.rack})
        changed = []
        missing = False
        self.refused = {each.name: Errors(each.error_code) for each in body.topics
                        if each.name and each.error_code in REFUSALS}  # fmt: skip
        for topic in body.topics:
            name = topic.name or ""  # null where topics are asked for by id
            if not name:
                missing = True
                continue
            if topic.error_code != Errors.NONE:
                self._forget(name)
                missing = missing or name not in self.refused
                continue
            self._identify(name, topic.topic_id)
            self.topics[name] = len(topic.partitions)
            for each in topic.partitions:
                leader = (each.leader_id, each.leader_epoch)
                if self.name_leader((name, each.partition_index), *leader):
                    changed.append(f"{name}-{each.partition_index}: {leader[0]} "
                                   f"in epoch {leader[1]}")  # fmt: skip
                self.replicas[name, each.partition_index] = tuple(each.replica_nodes)
                missing = missing or each.leader_id < 0
        if changed:
            self.attempts = 0
        self.wanted = missing
        self.fresh_until = now + self.max_age_us
        self._back_off(now)
        return changed

    def _identify(self, topic: str, topic_id: bytes) -> None:
        """Another id under a known name is another topic: its epochs begin at 0 again."""
        if self.topic_ids.get(topic, topic_id) != topic_id:
            self._forget(topic)
        self.topic_ids[topic] = topic_id
        self.unknown_ids.pop(topic_id, None)

    def _forget(self, topic: str) -> None:
        """It has no leaders any more; it may come back while batches for it wait."""
        self.topics[topic] = 0
        self.leaders = {at: known for at, known in self.leaders.items() if at[0] != topic}

    def name_leader(self, place: Place, leader: int, epoch: int) -> bool:
        """Takes in a leader; True if it is new."""
        known = self.leaders.get(place)
        if known == (leader, epoch) or (known is not None and epoch < known[1]):
            return False
        self.leaders[place] = (leader, epoch)
        return True

    def learn_from_refusal(
        self, place: Place, leader: int, epoch: int, addresses: dict[int, tuple[str, int]]
    ) -> None:
        """Takes in a leader that a refusal names, and brokers' addresses (KIP-951), if its epoch
        is newer and its address is known.  Otherwise only a Metadata answer can name it."""
        known = self.leaders.get(place)
        is_news = known is not None and epoch > known[1]
        if is_news and (leader in addresses or leader in self.nodes):
            self.nodes.update(addresses)
            self.leaders[place] = (leader, epoch)

    def _back_off(self, now: int) -> None:
        self.next_at = now + self.backoff.wait_us(self.attempts)
        self.attempts += 1

    # -- what is known

    def leader(self, place: Place) -> int:
        """-1 if no leader is known."""
        return self.leaders.get(place, (-1, -1))[0]

    def led_by(self, leader: int) -> list[Place]:
        return [place for place, known in self.leaders.items() if known[0] == leader]

    def epoch(self, place: Place) -> int:
        return self.leaders.get(place, (-1, -1))[1]

    def partitions(self, topic: str) -> int:
        return self.topics.get(topic, 0)

    def refusal(self, topic: str) -> str:
        """The error that waiting does not cure, or empty.  A name stays invalid; access may be
        granted at any moment, so this error is for one record only."""
        error = self.refused.get(topic, Errors.NONE)
        if error == Errors.TOPIC_AUTHORIZATION_FAILED:
            del self.refused[topic]
        return error.name if error else ""

    def available(self, topic: str) -> list[int]:
        """The partitions of a topic that have a leader."""
        return [i for i in range(self.partitions(topic)) if self.leader((topic, i)) >= 0]
