"""The producer that a loop gets when its effects are records: confluent-kafka's, and noted.

A result belongs to the input whose value is a word of the result's key or value.  It carries the
name of the application that wrote it in a header.  A result counts when the trial is over and a
reader with read_committed finds it (`results`); until then it is only `wrote`.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from kit.crashes.effects import Line, Progress
from kit.crashes.journal import Journal
from kit.crashes.tape import Situation

BY = "written-by"
_WORD = re.compile(r"[\w.-]+")


class UnknownInput(ValueError):
    """A result that names no input which the application has read."""


def words(text: bytes | str | None) -> list[str]:
    """The words of a key or a value."""
    plain = text.decode(errors="replace") if isinstance(text, bytes) else text or ""
    return _WORD.findall(plain)


class WatchedProducer:
    """A confluent-kafka Producer whose calls are noted."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        journal: Journal,
        progress: Progress,
        situation: Situation,
        line: Line,
    ) -> None:
        self._producer: Any = Producer(dict(settings))
        self._is_transactional = "transactional.id" in settings
        self._journal, self._progress = journal, progress
        self._situation, self._line = situation, line
        self._written: list[tuple[int, int]] = []
        self._offsets: list[list[int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def __len__(self) -> int:
        return len(self._producer)

    def abandon(self) -> None:
        """Drops the client, as the end of a program does."""
        del self._producer

    def init_transactions(self, *timeout: float) -> None:
        self._journal.note("inits")
        self._producer.init_transactions(*timeout)
        self._journal.note("ready")

    def produce(self, topic: str, value: Any = None, key: Any = None, **more: Any) -> None:
        place = self._input(key, value)
        self._freeze(place)
        headers = [*(more.pop("headers", None) or []), (BY, self._journal.who)]
        self._producer.produce(topic, value=value, key=key, headers=headers, **more)
        self._journal.note("wrote", *place, threading.get_ident(), self._line())
        self._progress.done += 1
        self._written.append(place)
        if not self._is_transactional:
            self._settled()
        self._progress.touch()

    def _input(self, key: Any, value: Any) -> tuple[int, int]:
        for word in [*words(key), *words(value)]:
            if word in self._progress.values:
                return self._progress.values[word]
        raise UnknownInput(
            "Each result must have its record's value in its key or its value, as a word: how else "
            "could a reader know which input it belongs to?"
        )

    def _freeze(self, place: tuple[int, int]) -> None:
        if place == (0, self._situation.freezes) and self._journal.note_once(
            "freeze", "freeze", *place
        ):
            os.kill(os.getpid(), signal.SIGSTOP)

    def send_offsets_to_transaction(
        self, positions: list[TopicPartition], group_metadata: Any, *timeout: float
    ) -> None:
        self._offsets = [[each.partition, each.offset] for each in positions]
        self._producer.send_offsets_to_transaction(positions, group_metadata, *timeout)
        self._progress.touch()

    def commit_transaction(self, *timeout: float) -> None:
        self._progress.commits += 1
        number = self._progress.commits
        self._journal.note("commit", number, self._offsets, "", threading.get_ident(), self._line())
        self._progress.touch()
        try:
            self._producer.commit_transaction(*timeout)
        except KafkaException as failure:
            self._journal.note("settled", number, self._offsets, failure.args[0].name())
            raise
        self._journal.note("settled", number, self._offsets, "")
        self._settled()

    def abort_transaction(self, *timeout: float) -> None:
        self._producer.abort_transaction(*timeout)
        self._progress.done -= len(self._written)
        self._written, self._offsets = [], []
        self._journal.note("aborted")

    def _settled(self) -> None:
        """What was written is done, as far as the application knows."""
        for place in self._written:
            self._progress.pending.pop(place, None)
        self._written, self._offsets = [], []
        self._progress.touch()
