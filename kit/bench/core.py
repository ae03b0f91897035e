"""How fast this core is, by a fixed loop in pure Python.

One machine is half as fast as another: the same commit did 25,850 simulator events and 46,080
explorer states a second on one, 10,160 and 20,750 on the next.  So a budget in events or states
a second is stated for a reference core, the first of these, and each run measures by this loop
how its own core compares.  The loop does what the simulator does most: it takes the next item
from an agenda, changes an object that was not touched for a while, and notes it in a dict.

The reference rate is between the two estimates that such a run gives (820,000 by events,
640,000 by states).  Never change the loop without estimating the rate again, in the same run as
both rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

REFERENCE_TURNS_PER_SECOND = 720_000
TURNS = 100_000
REPLICAS = 5_000


@dataclass(slots=True)
class _Replica:
    """A log's end and what is known of it, in a few objects as the simulator has them."""

    name: tuple[str, int]
    log_end_offset: int
    epochs: dict[int, int]

    def append(self, epoch: int) -> int:
        self.log_end_offset += 1
        self.epochs.setdefault(epoch, self.log_end_offset)
        return self.log_end_offset


def pace(turns: int = TURNS) -> float:
    """This core's speed beside the reference core: 0.5 if it is half as fast."""
    began = process_time()
    _loop(turns)
    return turns / (process_time() - began) / REFERENCE_TURNS_PER_SECOND


def paced(measure: Callable[[], float], rounds: int) -> tuple[float, float]:
    """The best of `rounds`, and the speed of this core around it (see `pace`).

    A core's speed changes by a quarter within seconds, so each round has its own.
    """
    found = []
    before = pace()
    for _ in range(rounds):
        measured = measure()
        after = pace()
        found.append((measured, (before + after) / 2))
        before = after
    return max(found, key=lambda each: each[0] / each[1])


def _loop(turns: int) -> None:
    replicas = {
        ("orders", number): _Replica(("orders", number), 0, {}) for number in range(REPLICAS)
    }
    agenda = [(number * 7919 % REPLICAS, number, name) for number, name in enumerate(replicas)]
    heapq.heapify(agenda)
    acknowledged: dict[tuple[tuple[str, int], int], int] = {}
    for number in range(REPLICAS, REPLICAS + turns):
        now, _, name = heapq.heappop(agenda)
        end = replicas[name].append(number // 1_000)
        acknowledged[name, end] = now
        heapq.heappush(agenda, (now + number * 7919 % REPLICAS + 1, number, name))
