"""Changes of a running broker's configs: what may change, and what a change leads to (KIP-226).

A dynamic config lives in the metadata log under the resource BROKER with the broker's id as its
name, or with an empty name for all brokers.  The broker that is asked checks the change, since
only it knows its own file; the controller then writes it down.  A change of one name for one
broker is allowed if the config is `broker` or `cluster` in the table; for all brokers at once
only if it is `cluster`.

Changes come as operations (KIP-339): set, delete, and for lists append and subtract.

Simplified: a name that Kafka does not have is refused; Kafka keeps it, for plug-ins to read.
And changes of listeners are not checked, since they have no effect here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from engine.settings.definitions import find
from engine.settings.settings import Settings
from engine.wire.errors import Errors, KafkaError


class Operation(IntEnum):
    """What IncrementalAlterConfigs may do to one name."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_POOLS = (
    "background.threads", "log.cleaner.threads", "num.io.threads", "num.network.threads",
    "num.recovery.threads.per.data.dir", "num.replica.fetchers", "remote.log.reader.threads",
)  # fmt: skip


def check_broker_change(
    changes: Mapping[str, str | None], for_all: bool, settings: Settings | None = None
) -> None:
    """KafkaError(INVALID_REQUEST), as in Kafka, if a running broker may not change so.

    The broker that is asked gives its `settings`: a pool of threads may at most double or
    halve at a time.
    """
    for name, value in changes.items():
        try:
            config = find("broker", name)
        except KafkaError as error:
            raise KafkaError(Errors.INVALID_REQUEST, error.message) from None
        if not config.is_dynamic:
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{name} is read at start only: set it and restart."
            )
        if name.startswith("ssl."):
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{name} changes per listener only, and there is one."
            )
        if for_all and config.change == "broker":
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{name} is a config of one broker: name the broker."
            )
        if value is not None:
            try:
                wanted = config.parse(value)
            except KafkaError as error:
                raise KafkaError(Errors.INVALID_REQUEST, error.message) from None
            if settings is not None and name in _POOLS:
                _check_pool(name, settings[name], wanted)


def _check_pool(name: str, now: int, wanted: int) -> None:
    if not max(now // 2, 1) <= wanted <= now * 2:
        raise KafkaError(
            Errors.INVALID_REQUEST,
            f"{name} may at most double or halve at a time: from {now} it cannot become {wanted}.",
        )
