"""A small database of a fleet's orders, with a write-ahead log and a perfect memory.

Four statements change its one table.  Each change gets a *log sequence number* (LSN), which only
grows, as in PostgreSQL's write-ahead log:

    insert   a new order is placed
    update   an order is loaded, on its way, delivered, or its price changes
    delete   an order is cancelled
    rekey    an order gets another id; two changes, delete and insert, with one LSN

`Database.table(lsn)` is the ground truth: the rows after that LSN.  It comes from what the
statements stored, never from the log of changes, so a wrong log cannot confirm itself.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

START_MS = 1_772_438_400_000
"""2026-03-02 08:00:00 UTC: the clock of the first statement."""
FIRST_LSN = 24_023_128_000
"""An LSN is a byte position in the write-ahead log: it soon is above 32 bits."""
STATUSES = ("placed", "loaded", "under way", "delivered")
PRIORITIES = ("normal", "urgent")

Row = Mapping[str, Any]
Table = dict[int, Row]
"""The rows by `order_id`."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that one statement changed: `before` is None for an insert, `after` for a delete."""

    table: str
    lsn: int
    transaction: int
    committed_ms: int
    before: Row | None
    after: Row | None

    @property
    def order_id(self) -> int:
        row = self.before if self.after is None else self.after
        assert row is not None
        return int(row["order_id"])


@dataclass(slots=True)
class Database:
    """The table, its log, and every version of every row."""

    table_name: str
    log: list[Change] = field(default_factory=list)
    lsn: int = FIRST_LSN
    rows: Table = field(default_factory=dict)
    _versions: dict[int, list[tuple[int, Row | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _transactions: int = 0

    @property
    def highest_id(self) -> int:
        """Of all orders that ever were: an id is used once, as those of a sequence are."""
        return max(self._versions, default=0)

    def insert(self, order_id: int, **columns: Any) -> None:
        """KeyError if the order is there."""
        if order_id in self.rows:
            raise KeyError(f"order {order_id} is there already")
        self._write(None, {"order_id": order_id, **columns})

    def update(self, order_id: int, **columns: Any) -> None:
        """Sets these columns; KeyError if the order is not there."""
        before = self.rows[order_id]
        self._write(before, {**before, **columns})

    def delete(self, order_id: int) -> None:
        """KeyError if the order is not there."""
        self._write(self.rows[order_id], None)

    def rekey(self, order_id: int, other: int) -> None:
        """UPDATE orders SET order_id = other: one statement, one LSN, two keys."""
        if other in self.rows:
            raise KeyError(f"order {other} is there already")
        before = self.rows[order_id]
        self._write(before, None)
        self._write(None, {**before, "order_id": other}, same_statement=True)

    def table(self, lsn: int | None = None) -> Table:
        """The rows after this LSN; now, without one."""
        if lsn is None:
            return dict(self.rows)
        found: Table = {}
        for order_id, versions in self._versions.items():
            place = bisect_right(versions, lsn, key=lambda version: version[0])
            row = versions[place - 1][1] if place else None
            if row is not None:
                found[order_id] = row
        return found

    def _write(self, before: Row | None, after: Row | None, same_statement: bool = False) -> None:
        if not same_statement:
            self._transactions += 1
            self.lsn += 56 + 8 * (self._transactions % 5)
        at_ms = START_MS + 250 * self._transactions
        change = Change(self.table_name, self.lsn, self._transactions, at_ms, before, after)
        self.log.append(change)
        order_id = change.order_id
        self._versions[order_id].append((self.lsn, after))
        if after is None:
            del self.rows[order_id]
        else:
            self.rows[order_id] = after


@dataclass(frozen=True, slots=True)
class Morning:
    """So many statements, of these shares of 1; the others are updates.

    From the statement `priority_from` on, rows have a new column, `priority`.
    """

    statements: int = 1_000
    seed: int = 7
    trucks: int = 12
    inserts: float = 0.2
    deletes: float = 0.1
    rekeys: float = 0.02
    priority_from: int | None = None


def run(morning: Morning, database: Database | None = None) -> Database:
    """The database after the morning; the same seed makes the same log."""
    database = database or Database("orders")
    dice = random.Random(f"orders {morning.seed}")
    highest = database.highest_id
    for number in range(morning.statements):
        knows_priority = morning.priority_from is not None and number >= morning.priority_from
        more = {"priority": dice.choice(PRIORITIES)} if knows_priority else {}
        orders = list(database.rows)
        share = dice.random()
        if len(orders) < 5 or share < morning.inserts:
            highest += 1
            truck = f"truck-{dice.randint(1, morning.trucks):02d}"
            columns = {
                "truck": truck,
                "status": STATUSES[0],
                "cents": dice.randrange(2_000, 90_000),
            }
            database.insert(highest, **columns, **more)
        elif share < morning.inserts + morning.deletes:
            database.delete(dice.choice(orders))
        elif share < morning.inserts + morning.deletes + morning.rekeys:
            highest += 1
            database.rekey(dice.choice(orders), highest)
        else:
            order_id = dice.choice(orders)
            database.update(order_id, **_next(dice, database.rows[order_id]), **more)
    return database


def _next(dice: random.Random, row: Row) -> dict[str, Any]:
    """What happens to an order: its next status, or once delivered another price."""
    place = STATUSES.index(row["status"])
    if place + 1 < len(STATUSES):
        return {"status": STATUSES[place + 1]}
    return {"cents": max(100, row["cents"] + dice.randrange(-500, 501))}
