"""Changes of a running broker's configs: what may change, and what a change leads to (KIP-226).

A dynamic config lives in the metadata log under the resource BROKER with the broker's id as its
name, or with an empty name for all brokers.  The broker that is asked checks the change, since
only it knows its own file; the controller then writes it down.  A change of one name for one
broker is allowed if the config is `broker` or `cluster` in the table; for all brokers at once
only if it is `cluster`.

Changes come as operations (KIP-339): set, delete, and for lists append and subtract.

Simplified: a name that Kafka does not have is refused; Kafka keeps it, for plug-ins to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from engine.settings.definitions import find
from engine.wire.errors import Errors, KafkaError


class Operation(IntEnum):
    """What IncrementalAlterConfigs may do to one name."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def check_broker_change(changes: Mapping[str, str | None], for_all: bool) -> None:
    """KafkaError(INVALID_REQUEST), Kafka's code here, if a broker may not change so."""
    for name, value in changes.items():
        try:
            config = find("broker", name)
        except KafkaError as error:
            raise KafkaError(Errors.INVALID_REQUEST, error.message) from None
        if not config.is_dynamic:
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{name} is read at start only: set it and restart."
            )
        if name.startswith(("ssl.", "sasl.")):
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{name} changes per listener only, and there is one."
            )
        if for_all and config.change == "broker":
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{name} is a config of one broker: name the broker."
            )
        if value is not None:
            try:
                config.parse(value)
            except KafkaError as error:
                raise KafkaError(Errors.INVALID_REQUEST, error.message) from None
