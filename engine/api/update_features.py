"""UpdateFeatures (key 57): raises or lowers the finalised level of features (KIP-584, KIP-778).

A broker forwards the request; the controller writes FeatureLevelRecords
(engine/control/feature_levels.py), and every node acts by them once it has applied them.

Left out: share.version and streams.version, which this engine does not support; so
`--release-version`, which names them all, is refused as a whole.  A quorum keeps the kraft.version
that it began with.
Versions: 1+ the way of the update (upgrade, safe or unsafe downgrade) and validate-only; below 2
the answer has a row for each feature.  Version 0 has `allow_downgrade`, which Kafka 4.3.1 does
not read: there every update is an upgrade.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m


def handle(broker: Broker, now: int, request: Request[m.UpdateFeaturesRequest]) -> None:
    update = m.UpdateFeaturesRequest.FeatureUpdateKey
    updates = [
        update(each.feature, each.max_version_level, upgrade_type=each.upgrade_type)
        for each in request.body.feature_updates
    ]
    body = m.UpdateFeaturesRequest(
        request.body.timeout_ms, updates, validate_only=request.body.validate_only
    )
    broker.forward(now, request, without=body)
