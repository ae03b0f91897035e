"""The results that a trial has left in its topic: what readers of both isolation levels find.

The judgement of a loop that writes is not what it meant to write.  When its applications are gone,
each of its transactional ids starts once more, as the next start of the application would, which
aborts what is still open.  Then two readers read the topic to its end.  What read_committed finds
is `done`, by the application in its header; what only read_uncommitted finds is `undone`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kit.crashes.journal import Journal
from kit.crashes.writing import BY, words

PATIENCE_S = 60.0
Place = tuple[int, int]


class ResultsUnreadable(RuntimeError):
    """The cluster did not give the results in time."""


def create(bootstrap: str, topic: str, replicas: int) -> None:
    """Creates a trial's topic, with one partition, and waits until it is there."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic(topic, 1, replicas)]).values():
        created.result(PATIENCE_S)


def delete(bootstrap: str, prefix: str) -> None:
    """Deletes the topics of all trials."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    with contextlib.suppress(KafkaException):
        found = [name for name in admin.list_topics(timeout=PATIENCE_S).topics
                 if name.startswith(prefix)]  # fmt: skip
        for deleted in (admin.delete_topics(found) if found else {}).values():
            deleted.result(PATIENCE_S)


def note_all(
    settings: Mapping[str, Any],
    transactional_ids: Iterable[str],
    topic: str,
    inputs: Mapping[str, Place],
    journal: Journal,
) -> None:
    """Ends what is open, and notes every result.  `settings` reach the cluster."""
    for each in transactional_ids:
        Producer({**settings, "transactional.id": each}).init_transactions(PATIENCE_S)
    readers = [_reader(settings, level) for level in ("read_committed", "read_uncommitted")]
    try:
        _wait_until_stable(readers, topic)
        committed = {message.offset() for message in _read(readers[0], topic)}
        for message in _read(readers[1], topic):
            found = [word for word in [*words(message.key()), *words(message.value())]
                     if word in inputs]  # fmt: skip
            if not found:
                continue
            by = dict(message.headers() or []).get(BY, b"A1").decode()
            kind = "done" if message.offset() in committed else "undone"
            Journal(journal.path, by).note(kind, *inputs[found[0]], found[0])
    finally:
        for reader in readers:
            reader.close()


def _wait_until_stable(readers: Iterable[Any], topic: str) -> None:
    """Until the last marker is written: then both isolation levels end at the same offset."""
    ends = time.monotonic() + PATIENCE_S
    while True:
        found = [_end(reader, topic) for reader in readers]
        if found[0] == found[1] and found[0] is not None:
            return
        if time.monotonic() > ends:
            raise ResultsUnreadable("a transaction stayed open")
        time.sleep(0.02)


def _end(reader: Any, topic: str) -> int | None:
    try:
        low_and_high = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=5)
    except KafkaException:
        return None
    return None if low_and_high is None else int(low_and_high[1])


def _reader(settings: Mapping[str, Any], level: str) -> Any:
    return Consumer(
        {
            **settings,
            "group.id": "results",
            "isolation.level": level,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
        }
    )


def _read(reader: Any, topic: str) -> Iterator[Any]:
    reader.assign([TopicPartition(topic, 0, 0)])
    while True:
        message = reader.poll(PATIENCE_S)
        if message is None:
            raise ResultsUnreadable(f"no end of {topic} in sight")
        if message.error() is not None:
            return
        yield message
