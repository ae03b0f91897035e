"""The consumer that a loop gets: confluent-kafka's, and every call is noted.

The consumer behaves as it does at work, with one exception: when the whole topic has been read,
a poll returns at once, since nothing will come any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kit.crashes.effects import Line, Progress
from kit.crashes.journal import Journal
from kit.crashes.tape import auto_commit_s

SLICE_S = 0.04
PENDING_S = 1.0
"""How long an application may sit on records that it has read and not processed."""
Listener = Callable[[Any, list[TopicPartition]], None] | None


class WatchedConsumer:
    """A confluent-kafka Consumer whose calls are noted."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        journal: Journal,
        progress: Progress,
        line: Line,
        late_listener_s: float = 0.0,
    ) -> None:
        given = settings.get("on_commit")
        self._late_listener_s = late_listener_s
        self._journal, self._progress, self._line = journal, progress, line
        self._consumer: Any = Consumer({**settings, "on_commit": self._on_commit(given)})
        self._settle_s = 0.12 + auto_commit_s(settings)
        self._inside = ""
        self._polled_us = self._first_poll_us = 0
        self._rested = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def abandon(self) -> None:
        """Drops the client, as the end of a program does."""
        del self._consumer

    # -- reading

    def poll(self, timeout: float = -1) -> Any:
        message = self._until(timeout, self._poll_once)
        return message[0] if message else None

    def _poll_once(self, slice_s: float) -> list[Any]:
        message = self._consumer.poll(slice_s)
        return [] if message is None else [message]

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        def take(slice_s: float) -> list[Any]:
            ahead = sum(max(0, self._progress.ends.get(p, 0) - position)
                        for p, position in self._progress.positions.items())  # fmt: skip
            count = min(num_messages, ahead) if ahead else num_messages
            found: list[Any] = self._consumer.consume(count, slice_s)
            return found

        return self._until(timeout, take)

    def _until(self, timeout: float, take: Callable[[float], list[Any]]) -> list[Any]:
        """Polls in short slices, so that the end of the topic is noticed."""
        now_us = time.monotonic_ns() // 1000
        if not self._polled_us:
            self._first_poll_us = now_us
            self._journal.note("polls")
        since_us, self._polled_us = now_us - (self._polled_us or now_us), now_us
        deadline = time.monotonic() + timeout if timeout >= 0 else float("inf")
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            found = take(min(SLICE_S, left_s))
            if found:
                self._got(found, since_us)
                return found
            self._rest()
            if self._progress.has_read_all and timeout >= 0:
                return []
            if time.monotonic() >= deadline:
                return []

    def _got(self, messages: list[Any], since_us: int) -> None:
        records = [m for m in messages if m.error() is None]
        for each in messages:
            if each.error() is not None:
                self._journal.note("error", each.error().name())
        for each in records:
            self._progress.positions[each.partition()] = each.offset() + 1
            place = each.partition(), each.offset()
            self._progress.pending[place] = True
            self._progress.values[(each.value() or b"").decode(errors="replace")] = place
        if records:
            places = [[m.partition(), m.offset()] for m in records]
            self._progress.got += len(places)
            self._journal.note("got", places, since_us, threading.get_ident())
            self._active()

    def _rest(self) -> None:
        """Notes, once, that all is read and done, and where the group's offsets are."""
        progress = self._progress
        waits_s = PENDING_S if progress.pending else self._settle_s
        if self._rested or not progress.has_read_all or progress.in_hand:
            return
        if progress.quiet_s >= waits_s:
            self._rested = True
            self._journal.note("idle", self._committed(list(progress.positions)))

    def _active(self) -> None:
        self._rested = False
        self._progress.touch()

    def _committed(self, partitions: list[int]) -> list[tuple[int, int]]:
        asked = [TopicPartition(self._topic, each) for each in partitions]
        if not asked:
            return []
        try:
            found = self._consumer.committed(asked, timeout=5)
        except KafkaException as failure:
            self._journal.note("error", failure.args[0].name())
            return []
        return [(each.partition, each.offset) for each in found if each.offset >= 0]

    # -- the group

    def subscribe(
        self,
        topics: list[str],
        on_assign: Listener = None,
        on_revoke: Listener = None,
        on_lost: Listener = None,
    ) -> None:
        self._topic = topics[0]

        def assigned(_: Any, partitions: list[TopicPartition]) -> None:
            indexes = [each.partition for each in partitions]
            committed = dict(self._committed(indexes))
            self._progress.positions |= dict.fromkeys(indexes, 0) | committed
            again, self._progress.joined = self._progress.joined, True
            if not again:
                self._progress.join_s = (time.monotonic_ns() // 1000 - self._first_poll_us) / 1e6
            self._journal.note("assigned", [[p, committed.get(p, -1)] for p in indexes])
            self._active()
            if again and on_assign is not None:
                time.sleep(self._late_listener_s)
            self._call("on_assign", on_assign, partitions)

        def gone(word: str, name: str, listener: Listener) -> Any:
            def told(_: Any, partitions: list[TopicPartition]) -> None:
                self._journal.note(word, [each.partition for each in partitions])
                self._active()
                self._call(name, listener, partitions)
                for each in partitions:
                    self._progress.positions.pop(each.partition, None)
                    for place in [p for p in self._progress.pending if p[0] == each.partition]:
                        del self._progress.pending[place]

            return told

        self._consumer.subscribe(
            topics,
            on_assign=assigned,
            on_revoke=gone("revoked", "on_revoke", on_revoke),
            on_lost=gone("lost", "on_lost", on_lost)
            if on_lost
            else gone("lost", "on_revoke", on_revoke),
        )

    def _call(self, name: str, listener: Listener, partitions: list[TopicPartition]) -> None:
        if listener is None:
            return
        self._inside = name
        try:
            listener(self, partitions)
        finally:
            self._inside = ""

    def assign(self, partitions: list[TopicPartition]) -> None:
        """As confluent-kafka's; the positions are those that the caller names."""
        for each in partitions:
            self._topic = each.topic
            if each.offset >= 0 or each.partition not in self._progress.positions:
                self._progress.positions[each.partition] = max(0, each.offset)
        self._progress.joined = True
        self._journal.note("assigned", [[each.partition, each.offset] for each in partitions])
        self._consumer.assign(partitions)

    def seek(self, partition: TopicPartition) -> None:
        self._consumer.seek(partition)
        self._progress.positions[partition.partition] = max(0, partition.offset)
        self._journal.note("seek", partition.partition, partition.offset, self._line())
        self._active()

    def pause(self, partitions: list[TopicPartition]) -> None:
        self._consumer.pause(partitions)
        self._journal.note("paused", [each.partition for each in partitions])

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._consumer.resume(partitions)
        self._journal.note("resumed", [each.partition for each in partitions])

    # -- commits

    def commit(self, message: Any = None, offsets: Any = None, asynchronous: bool = True) -> Any:
        self._progress.commits += 1
        number, places = self._progress.commits, self._meant(message, offsets)
        thread = threading.get_ident()
        self._journal.note("commit", number, places, self._inside, thread, self._line())
        named = {"message": message} if message is not None else {}
        named |= {"offsets": offsets} if offsets is not None else {}
        self._progress.touch()
        try:
            answer = self._consumer.commit(**named, asynchronous=asynchronous)
        except KafkaException as failure:
            self._journal.note("settled", number, places, failure.args[0].name())
            raise
        if not asynchronous:
            for each in answer or []:
                error = each.error.name() if each.error is not None else ""
                self._journal.note("settled", number, [[each.partition, each.offset]], error)
        return answer

    def _meant(self, message: Any, offsets: Any) -> list[list[int]]:
        """The offsets that a commit names; without a name it takes what was read."""
        if message is not None:
            return [[message.partition(), message.offset() + 1]]
        if offsets is not None:
            return [[each.partition, each.offset] for each in offsets]
        return [[partition, place] for partition, place in self._progress.positions.items()]

    def _on_commit(self, given: Any) -> Any:
        def settled(error: Any, partitions: list[TopicPartition]) -> None:
            places = [[each.partition, each.offset] for each in partitions if each.offset >= 0]
            if places:
                self._journal.note("settled", 0, places, error.name() if error else "")
            if given is not None:
                given(error, partitions)

        return settled
