"""The quota on controller mutations: partitions created or deleted per second (KIP-599).

Creating topics is cheap for a client and expensive for the controller, so it has a limit of its
own, controller_mutation_rate, counted in partitions by the controller itself, for the whole
cluster.  It is a bucket of tokens: a burst of controller.quota.window.num seconds' worth may pass
at once.

    strict       CreateTopics 6+, CreatePartitions 3+, DeleteTopics 5+: with the bucket below
                 zero a topic is refused, THROTTLING_QUOTA_EXCEEDED
    permissive   older versions have no such error: the change is made, and the client muted

One topic may overdraw the bucket: the check comes before the change, not after.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.events import AnyRequest
from engine.metadata import quota_entities as entities
from engine.metadata.image import MetadataImage
from engine.metadata.quota_entities import CONTROLLER_MUTATION_RATE, Account
from engine.quotas.rate import TokenBucket
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message

STRICT_SINCE: dict[type[Message], int] = {
    m.CreateTopicsRequest: 6,
    m.CreatePartitionsRequest: 3,
    m.DeleteTopicsRequest: 5,
}
MESSAGE = "The throttling quota has been exceeded."


@dataclass(slots=True)
class MutationQuota:
    """What one request may still change; `throttle_ms` is for its answer."""

    bucket: TokenBucket | None = None
    limit: float = 0.0
    now_ms: int = 0
    strict: bool = True
    throttle_ms: int = 0

    def take(self, partitions: int) -> None:
        """KafkaError if a strict quota is used up."""
        if self.bucket is None:
            return
        if self.strict:
            self.throttle_ms = self.bucket.throttle_ms(self.limit, self.now_ms)
            if self.throttle_ms:
                raise KafkaError(Errors.THROTTLING_QUOTA_EXCEEDED, MESSAGE)
        self.bucket.take(partitions, self.limit, self.now_ms)
        if not self.strict:
            self.throttle_ms = self.bucket.throttle_ms(self.limit, self.now_ms)


NO_QUOTA = MutationQuota()


class MutationQuotas:
    """The controller's accounts."""

    def __init__(self, settings: Settings, image: MetadataImage) -> None:
        self.image = image
        self.samples: int = settings["controller.quota.window.num"]
        self.window_ms: int = settings["controller.quota.window.size.seconds"] * 1000
        self.buckets: dict[Account, TokenBucket] = {}

    def of(self, now: int, request: AnyRequest) -> MutationQuota:
        """The quota of the client whose request a broker has forwarded."""
        since = STRICT_SINCE.get(type(request.body))
        if since is None or request.envelope is None:
            return NO_QUOTA
        client_id, version = request.envelope.client_id, request.envelope.version
        who, limit = entities.find(self.image.quotas, CONTROLLER_MUTATION_RATE, client_id)
        if limit is None:
            return NO_QUOTA
        bucket = self.buckets.setdefault(who, TokenBucket(self.samples, self.window_ms))
        return MutationQuota(bucket, limit, now // 1000, version >= since)
