"""Client quotas on a broker: each answer passes through here and may mute its client.

    produce   producer_byte_rate     bytes of the request
    fetch     consumer_byte_rate     bytes of the answer; over the limit it goes out empty
    any       request_percentage     share of one thread's time, at most 1 s of muting

The answer is given at once and says throttle_time_ms; for that time nothing more is read
from the connection (KIP-219).  If two limits are exceeded, the longer time counts.  Brokers'
own requests are exempt; acks=0 is exempt from the request quota.

Counting starts with the first quota of a kind anywhere in the cluster, as in Kafka: it
costs nothing while there are none.  Every broker counts for itself.

Simplified: the time that a request cost is known only when it is over, so it is charged with the
client's next request (Kafka charges the handler's time at once and the network thread's later); the
simulator spends no time on requests, so request_percentage never applies there.  No replication
quotas, no connection quotas, no callback class.
Source: ClientQuotaManager, ClientRequestQuotaManager of Kafka 4.3; KIP-13, 55, 124, 219.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.events import AnyRequest, Effect, Reply, Trace
from engine.metadata import quota_entities as entities
from engine.metadata.image import MetadataImage
from engine.metadata.quota_entities import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from engine.quotas.rate import WindowedRate
from engine.replication.fetch_sessions import FetchSessions
from engine.settings import Settings
from engine.wire import codec, framing
from engine.wire import messages as m
from engine.wire.slices import Frame

LENGTH = 4
PERCENT_PER_US = 100 / 1_000_000
ACCOUNTS_MAX = 10_000
_RULE = "quotas.client_quotas.ClientQuotas.charge"


class ClientQuotas:
    """The accounts of one broker's clients; limits are in the metadata image."""

    def __init__(self, settings: Settings, image: MetadataImage, sessions: FetchSessions) -> None:
        self.image = image
        self.sessions = sessions
        self.samples: int = settings["quota.window.num"]
        self.window_ms: int = settings["quota.window.size.seconds"] * 1000
        self.accounts: dict[tuple[str, entities.Account], WindowedRate] = {}

    def charge(self, now: int, effects: Sequence[Effect]) -> list[Effect]:
        """The effects of a step, with replies that say how long their clients are muted."""
        charged: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Reply) and effect.request and is_client(effect.request):
                charged += self._charge_reply(now // 1000, effect, effect.request)
            else:
                charged.append(effect)
        return charged

    def fetch_bytes_max(self, request: AnyRequest) -> int | None:
        """An answer with more bytes than this is throttled in any case."""
        _, limit = entities.find(self.image.quotas, CONSUMER_BYTE_RATE, request.client_id)
        if limit is None or not is_client(request):
            return None
        return int(limit * (self.samples - 1) * self.window_ms / 1000)

    def _charge_reply(self, now_ms: int, reply: Reply, request: AnyRequest) -> list[Effect]:
        body, client = reply.body, request.client_id
        by_controller: int = getattr(body, "throttle_time_ms", 0)
        by_time = 0
        if body is not None:
            spent = request.thread_time_us * PERCENT_PER_US
            by_time = min(self._record(REQUEST_PERCENTAGE, client, spent, now_ms), self.window_ms)
        by_bytes, kind = 0, REQUEST_PERCENTAGE
        match request.body:
            case m.ProduceRequest():
                kind, size = PRODUCER_BYTE_RATE, request_size(request)
                by_bytes = self._record(kind, client, size, now_ms)
            case m.FetchRequest() if isinstance(body, m.FetchResponse):
                kind, size = CONSUMER_BYTE_RATE, self._answer_size(body, reply.version)
                by_bytes = self._record(kind, client, size, now_ms)
                if by_bytes or by_time:
                    self._record(kind, client, -size, now_ms)
                    body = self._empty_answer(request.body, body)
        mute_ms = max(by_bytes, by_time, by_controller)
        if not mute_ms:
            return [reply]
        if body is not None and hasattr(body, "throttle_time_ms"):
            body.throttle_time_ms = mute_ms
        why = f"over {kind if by_bytes >= by_time else REQUEST_PERCENTAGE}"
        if by_controller >= mute_ms:
            why = f"over {entities.CONTROLLER_MUTATION_RATE}, says the controller"
        fields = (("client_id", client), ("api", _api_name(request)), ("throttle_time_ms", mute_ms))
        return [
            replace(reply, body=body, mute_ms=mute_ms),
            Trace("throttled", "", fields, why, _RULE),
        ]

    def _record(self, key: str, client_id: str, value: float, now_ms: int) -> int:
        """Counts `value`; gives how long the client is over its limit, in milliseconds."""
        if not any(key in limits for limits in self.image.quotas.values()):
            return 0
        who, limit = entities.find(self.image.quotas, key, client_id)
        account = self.accounts.get((key, who))
        if account is None:
            if len(self.accounts) >= ACCOUNTS_MAX:
                self._forget_idle(now_ms)
            account = self.accounts[key, who] = WindowedRate(self.samples, self.window_ms)
        account.record(value, now_ms)
        return 0 if limit is None else account.throttle_ms(limit, now_ms)

    def _forget_idle(self, now_ms: int) -> None:
        for name in [each for each, rate in self.accounts.items() if not rate.measure(now_ms)]:
            del self.accounts[name]

    def _answer_size(self, answer: m.FetchResponse, version: int) -> int:
        """What the answer would take on the wire; only worked out where a limit may need it."""
        if not any(CONSUMER_BYTE_RATE in limits for limits in self.image.quotas.values()):
            return 0
        out = Frame(bytes(LENGTH))
        codec.encode_into(answer, version, out)
        return out.whole_size

    def _empty_answer(self, request: m.FetchRequest, answer: m.FetchResponse) -> m.FetchResponse:
        """A throttled fetch gets no records: they are fetched again, when there is room."""
        incremental = request.session_epoch > 0
        self.sessions.take_back(answer, incremental)
        return m.FetchResponse(session_id=answer.session_id if incremental else 0)


def is_client(request: AnyRequest) -> bool:
    """False for brokers, which are known by number and exempt."""
    return not isinstance(request.source, int)


def request_size(request: AnyRequest) -> int:
    """A request's bytes on the wire, without the four of its length."""
    if request.size:
        return request.size
    frame = framing.write_request(request.version, 0, request.client_id, request.body)
    return len(frame) - LENGTH


def _api_name(request: AnyRequest) -> str:
    return framing.API_NAMES[request.body.API_KEY]
