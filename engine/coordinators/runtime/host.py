"""What a coordinator may use of the broker that it lives in.

A coordinator needs little: a place for its effects, the settings, the metadata image, and
the partitions that hold its log.  These protocols say exactly that.  A broker fits them
as it is, a test's stand-in fits them too, and no coordinator imports a broker.
"""

from __future__ import annotations

from random import Random
from typing import Protocol

from engine.events import Outbox, Stored
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.settings import Settings
from engine.wire.errors import Errors


class Log(Protocol):
    """A partition's log, to be read from its start to its end when a shard is loaded."""

    @property
    def log_start_offset(self) -> int: ...

    @property
    def log_end_offset(self) -> int: ...

    def read(self, offset: int, max_bytes: int) -> bytes: ...


class Partition(Protocol):
    """A replica on this broker; what is below its high watermark cannot be lost."""

    @property
    def log(self) -> Log: ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def leader_epoch(self) -> int: ...


class Replicas(Protocol):
    """The replicas on this broker."""

    def partition(self, topic: str, index: int) -> Partition | None: ...

    def append(
        self,
        now: int,
        topic: str,
        index: int,
        batch: bytes,
        then: Stored,
        timeout_ms: int,
        guard: int | None = None,
        marker_bumps: bool = False,
    ) -> Errors:
        """Appends with acks=all to a partition led here.

        NONE when it is under way: `then` hears the end, perhaps before this returns.  Any
        other error is the reason why nothing was appended, and `then` hears nothing.  `guard` and
        `marker_bumps` are for transactions: see `engine.storage.log`.
        """
        ...


class Host(Protocol):
    """The broker; `ids` is its only source of randomness."""

    @property
    def node_id(self) -> int: ...

    @property
    def controller(self) -> ActiveController: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def metadata(self) -> MetadataImage: ...

    @property
    def ids(self) -> Random: ...

    @property
    def replicas(self) -> Replicas: ...
