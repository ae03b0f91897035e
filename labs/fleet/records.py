"""Generates what a fleet of trucks reports to three topics, with trouble.

    fleet.positions   {"event_id", "truck", "event_time", "speed_kmh"}
    fleet.orders      {"event_id", "order_id", "truck", "event_time", "revision", "status"}
    fleet.payments    {"event_id", "order_id", "event_time", "cents"}

`event_time` is the sender's clock, in milliseconds since 1970, UTC.  Positions and orders have
the truck as their key, payments the order.  The records come in the order of their arrival,
which is not the order in which they were sent:

* **out of order**: each report takes 20 ms to 2 s, so neighbors overtake each other;
* **late**: the truck was in a tunnel, and the report takes up to LATEST_MS;
* **duplicate**: an answer got lost and the sender sent the same bytes again, up to
  RESENT_WITHIN_MS after the first copy arrived;
* **malformed**: not JSON, a field missing, a field of another type, a required field that is
  null, or a record without a value;
* **skewed**: the second truck sends half of the first one's reports, the third a third (Zipf's
  law), so the first truck's partition is the long one.

Half-way the senders get new firmware.  From then on a record says `"schema": 2`, a position has
a `heading`, and a share of the positions writes `event_time` as text, "2026-03-02T08:00:00.123Z".
The first is a column more; the second is a change that the old parser must reject and a mended
one can read, so the dead letters have something to replay.

The same seed gives the same records, byte for byte.  A record carries what the generator knows
about it, and `labs.fleet.truth` counts that knowledge: neither reads the bytes again.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, NamedTuple

POSITIONS, ORDERS, PAYMENTS = "fleet.positions", "fleet.orders", "fleet.payments"
TOPICS = (POSITIONS, ORDERS, PAYMENTS)

START_MS = 1_772_438_400_000
"""2026-03-02 08:00:00 UTC: when the first truck leaves."""
MINUTE_MS = 60_000
LATEST_MS = 15 * MINUTE_MS
"""A late report takes at most that long."""
RESENT_WITHIN_MS = 5 * MINUTE_MS
"""A duplicate arrives at most that long after its original.  A watermark of LATEST_MS plus this
loses no event and forgets no event id too early."""

NOT_JSON, MISSING_FIELD, WRONG_TYPE = "not JSON", "missing field", "wrong type"
NULL_FIELD, NULL_VALUE = "null field", "no value"
REASONS = (NOT_JSON, MISSING_FIELD, WRONG_TYPE, NULL_FIELD, NULL_VALUE)
STATUSES = ("placed", "loaded", "delivered")
_TYPED = {POSITIONS: "speed_kmh", ORDERS: "revision", PAYMENTS: "cents"}
"""The number of each topic that a record of the wrong type spells as text."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The fleet to generate.  `events` is the number of records in all; shares are of 1."""

    events: int = 20_000
    seed: int = 7
    trucks: int = 40
    per_second: int = 50
    """How many originals are sent per second of the fleet's own time."""
    late: float = 0.05
    duplicate: float = 0.02
    malformed: float = 0.01
    orders: float = 0.10
    """The share of originals that are new states of an order; each delivery adds a payment."""
    time_as_text: float = 0.10
    """The share of positions after the schema change that write their time as text."""


class Record(NamedTuple):
    """One record, and what the generator knows about it."""

    topic: str
    key: bytes
    value: bytes | None
    arrives_ms: int
    report: dict[str, Any]
    """What the sender meant, even if the bytes arrive spoiled."""
    fault: str = ""
    """One of REASONS, or nothing."""
    late: bool = False
    duplicate: bool = False
    schema: int = 1
    time_as_text: bool = False

    @property
    def event_id(self) -> str:
        return str(self.report["event_id"])

    @property
    def event_time_ms(self) -> int:
        return int(self.report["event_time"])


def records(fleet: Fleet) -> Iterator[Record]:
    """The records in the order in which they arrive: exactly `fleet.events` of them."""
    senders = _Senders(fleet)
    on_the_way: list[tuple[int, int, Record]] = []
    made = 0
    sent_ms = START_MS
    for original in range(fleet.events):
        sent_ms = START_MS + original * 1000 // fleet.per_second
        # The delay is at least 20 ms, so what arrives until now can no longer be overtaken.
        while on_the_way and on_the_way[0][0] <= sent_ms:
            yield heapq.heappop(on_the_way)[2]
        for record in senders.report(sent_ms, schema=1 + (made >= fleet.events // 2)):
            if made < fleet.events:
                heapq.heappush(on_the_way, (record.arrives_ms, made, record))
                made += 1
        if made == fleet.events:
            break
    while on_the_way:
        yield heapq.heappop(on_the_way)[2]


class _Senders:
    """The trucks and the till: they make up reports, and the network spoils them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._dice = random.Random(f"fleet {fleet.seed}")
        self._trucks = [f"truck-{number:02d}" for number in range(1, fleet.trucks + 1)]
        self._weights = list(accumulate(1 / rank for rank in range(1, fleet.trucks + 1)))
        self._sent = Counter[str]()
        self._open_orders: dict[str, tuple[str, int]] = {}
        """By truck: the order it works on, and the order's last revision."""

    def report(self, now_ms: int, schema: int) -> Iterator[Record]:
        """An original, the payment that it may cause, and their duplicates."""
        truck = self._dice.choices(self._trucks, cum_weights=self._weights)[0]
        if self._dice.random() >= self._fleet.orders:
            yield from self._on_its_way(POSITIONS, truck, self._position(truck), now_ms, schema)
            return
        order = self._order(truck)
        yield from self._on_its_way(ORDERS, truck, order, now_ms, schema)
        if order["status"] == STATUSES[-1]:
            payment = {"order_id": order["order_id"], "cents": self._dice.randint(500, 90_000)}
            yield from self._on_its_way(PAYMENTS, order["order_id"], payment, now_ms, schema)

    def _position(self, truck: str) -> dict[str, Any]:
        speed = min(130, max(0, round(self._dice.gauss(78, 14))))
        return {"truck": truck, "speed_kmh": speed}

    def _order(self, truck: str) -> dict[str, Any]:
        order_id, revision = self._open_orders.pop(truck, ("", 0))
        if not order_id:
            self._sent["orders"] += 1
            order_id = f"order-{self._sent['orders']:06d}"
        if revision + 1 < len(STATUSES):
            self._open_orders[truck] = (order_id, revision + 1)
        return {
            "order_id": order_id,
            "truck": truck,
            "revision": revision + 1,
            "status": STATUSES[revision],
        }

    def _on_its_way(
        self, topic: str, key: str, body: dict[str, Any], now_ms: int, schema: int
    ) -> Iterator[Record]:
        dice, fleet = self._dice, self._fleet
        late = dice.random() < fleet.late
        delay = dice.randint(MINUTE_MS, LATEST_MS) if late else dice.randint(20, 2000)
        self._sent[key] += 1
        report = {"event_id": f"{key}-{self._sent[key]:06d}", **body, "event_time": now_ms}
        if topic == PAYMENTS:
            report["event_id"] = f"payment-{key}"
        as_text = False
        if schema == 2:
            report["schema"] = 2
            if topic == POSITIONS:
                report["heading"] = dice.randrange(360)
                as_text = dice.random() < fleet.time_as_text
        written = report | {"event_time": _text(now_ms)} if as_text else report
        fault = dice.choice(REASONS) if dice.random() < fleet.malformed else ""
        value = _spoiled(dice, topic, fault, written) if fault else json.dumps(written).encode()
        record = Record(
            topic, key.encode(), value, now_ms + delay, report,
            fault, late, False, schema, as_text and not fault,
        )  # fmt: skip
        yield record
        if not fault and dice.random() < fleet.duplicate:
            again = record.arrives_ms + dice.randint(1, RESENT_WITHIN_MS)
            yield record._replace(arrives_ms=again, duplicate=True)


def _text(time_ms: int) -> str:
    """ISO 8601 with milliseconds, as the new firmware writes a time."""
    whole = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"


def _spoiled(dice: random.Random, topic: str, fault: str, report: dict[str, Any]) -> bytes | None:
    required = dice.choice(("event_id", "event_time", _TYPED[topic]))
    if fault == NULL_VALUE:
        return None
    if fault == MISSING_FIELD:
        return json.dumps(
            {name: each for name, each in report.items() if name != required}
        ).encode()
    if fault == NULL_FIELD:
        return json.dumps(report | {required: None}).encode()
    if fault == WRONG_TYPE:
        return json.dumps(report | {_TYPED[topic]: "unknown"}).encode()
    return json.dumps(report)[: dice.randint(1, 40)].encode()
