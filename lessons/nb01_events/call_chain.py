"""A server that handles each request in a thread, in virtual time: who waits for a slow service.

    shop = Threads(8, {"checkout": ["payment", "stock", "mail"], "page": []}, {"payment": 30, …})
    shop.slow("mail", 2_000, from_s=10, for_s=20)
    shop.arrives(0.05, "checkout")
    shop.run()                                 # -> Served(at_s, kind, waited_ms, took_ms)

A request waits for a free thread, then its calls are made one after the other, and the thread
is held until the last one has been answered.  That is what a server with a thread pool does, and
what an asynchronous server does at its limit of open calls.  Simplified: no request gives up, a
called service has no queue of its own, and each service takes the same time for each call.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PAGE_MS = 10.0
"""What the server itself does for a request."""


@dataclass(frozen=True, slots=True)
class Served:
    """One request: when it came, what it was, how long it waited for a thread and took in all."""

    at_s: float
    kind: str
    waited_ms: float
    took_ms: float

    @property
    def end_s(self) -> float:
        return self.at_s + self.took_ms / 1000


class Threads:
    """`calls` names, for each kind of request, the services in order; `service_ms` their times."""

    def __init__(
        self, threads: int, calls: Mapping[str, Sequence[str]], service_ms: Mapping[str, float]
    ) -> None:
        self.threads, self.calls, self.service_ms = threads, calls, service_ms
        self.slowed: dict[str, tuple[float, float, float]] = {}
        self.coming: list[tuple[float, str]] = []

    def slow(self, service: str, ms: float, from_s: float, for_s: float) -> None:
        """Within that time each call of the service takes `ms`."""
        self.slowed[service] = (ms, from_s, from_s + for_s)

    def arrives(self, at_s: float, kind: str) -> None:
        self.coming.append((at_s, kind))

    def run(self) -> list[Served]:
        """Every request in the order in which it came."""
        free_at = [0.0] * self.threads
        heapq.heapify(free_at)
        served = []
        for at_s, kind in sorted(self.coming):
            start = max(at_s, heapq.heappop(free_at))
            end = start + PAGE_MS / 1000
            for service in self.calls[kind]:
                end += self._call_ms(service, end) / 1000
            heapq.heappush(free_at, end)
            served.append(Served(at_s, kind, (start - at_s) * 1000, (end - at_s) * 1000))
        return served

    def _call_ms(self, service: str, at_s: float) -> float:
        ms, start, end = self.slowed.get(service, (0.0, 0.0, 0.0))
        return ms if start <= at_s < end else self.service_ms[service]


def slowest(served: Sequence[Served], kind: str) -> float:
    """Milliseconds that the slowest request of a kind took."""
    return max((each.took_ms for each in served if each.kind == kind), default=0.0)


def each_second(served: Sequence[Served], kind: str) -> list[tuple[float, float]]:
    """Second -> the slowest request of a kind that came in it, in seconds: points for a chart."""
    worst: dict[int, float] = {}
    for each in served:
        if each.kind == kind:
            worst[int(each.at_s)] = max(worst.get(int(each.at_s), 0.0), each.took_ms / 1000)
    return [(float(second), round(took, 3)) for second, took in sorted(worst.items())]
