"""ApiVersions (key 18): what this broker speaks, asked first by every modern client (KIP-35).

The client may ask in a version that the broker does not know; the answer then has version 0,
error UNSUPPORTED_VERSION, and the one range that the client needs to ask again.  From version 3
the client says what software it is (KIP-511), and a name that could break a log line or a
metric is refused.

Features (KIP-584) are what brokers must agree on before they use it: *supported* is a range of
levels that this software knows, *finalised* the level the controller has switched on.  The
engine lists the features it implements, and no others: a client relies on what it sees here.

Left out: rejecting a client that reached the wrong node.
Versions: 1+ throttle time, 3+ flexible and features; below 4 a feature that starts at level 0
is withheld, since older Java clients fail on it (KAFKA-17011).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine import api
from engine.api import Api
from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata.features import SUPPORTED
from engine.metadata.image import MetadataImage
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_KEY = m.ApiVersionsRequest.API_KEY


def handle(broker: Broker, now: int, request: Request[m.ApiVersionsRequest]) -> None:
    found = answer(request.version, request.body, broker.metadata, api.APIS)
    broker.outbox.reply(request, found)


def answer(
    version: int, body: m.ApiVersionsRequest, metadata: MetadataImage, offered: Mapping[str, Api]
) -> m.ApiVersionsResponse:
    """What a listener that offers these APIs says; KafkaError for a strange client."""
    if version >= 3:
        _check_software(body)
    return m.ApiVersionsResponse(
        api_keys=_ranges(offered),
        supported_features=[
            m.ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in SUPPORTED.items()
            if low > 0 or version >= 4
        ],
        finalized_features_epoch=metadata.offset - 1,
        finalized_features=_finalized(metadata),
    )


def unsupported(offered: Mapping[str, Api]) -> m.ApiVersionsResponse:
    """The answer, in version 0, to a request in a version that is not offered."""
    return m.ApiVersionsResponse(
        error_code=Errors.UNSUPPORTED_VERSION,
        api_keys=[each for each in _ranges(offered) if each.api_key == _KEY],
    )


def refuse(
    request: Request[m.ApiVersionsRequest], code: Errors, message: str | None
) -> m.ApiVersionsResponse:

    return m.ApiVersionsResponse(error_code=code)


def _ranges(offered: Mapping[str, Api]) -> list[m.ApiVersionsResponse.ApiVersion]:
    row = m.ApiVersionsResponse.ApiVersion
    return [row(each.key, each.low, each.high) for each in offered.values()]


def _finalized(metadata: MetadataImage) -> list[m.ApiVersionsResponse.FinalizedFeatureKey]:
    return [
        m.ApiVersionsResponse.FinalizedFeatureKey(
            name=name, max_version_level=level, min_version_level=level
        )
        for name, level in sorted(metadata.levels.items())
        if level > 0 and name in SUPPORTED
    ]


def _check_software(body: m.ApiVersionsRequest) -> None:
    for what, text in (
        ("name", body.client_software_name),
        ("version", body.client_software_version),
    ):
        if not _SOFTWARE.fullmatch(text):
            raise KafkaError(
                Errors.INVALID_REQUEST,
                f"A client software {what} has letters, digits, '.' and '-', not {text!r}.",
            )
