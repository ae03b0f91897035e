"""Draws one request from socket to socket as a timeline, in virtual time and as measured.

In virtual time the network has delays and the brokers' own work takes none, so the timeline
shows only waits.  On the served engine the stages are measured (request_metrics.py) and show
the work, in microseconds.  Both come from a run; nothing is drawn by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.sim.world.world import World
from kit.clusters.interface import Cluster
from kit.drawings.lanes import NOTE, REQUEST, Heard
from kit.drawings.sequence import SequenceDiagram
from kit.probes.requests import fetching
from kit.probes.virtual import topic_id
from lessons.nb04_broker.gantt import BROKER, MUTED, NETWORK, OTHERS, WAITING, Gantt, Span

TOPIC = "orders"


@dataclass(frozen=True)
class Path:
    """One Produce request: `picture` shows it, `seen` has its moments in ms after the send."""

    picture: Gantt
    seen: dict[str, Any]


def produce_path(diagram: SequenceDiagram) -> Path:
    """The first record that `diagram` has sent, from the producer to its answer."""
    heard = [each for each in diagram.heard if each.what != "fetch" or each.at_us]

    def at(row: Heard) -> float:
        return (row.at_us - diagram.since_us) / 1000

    def first(what: str, source: str = "") -> Heard | None:
        return next((r for r in heard if r.what == what and source in ("", r.source)), None)

    asked, appended = first("produce"), first("append", "101")
    assert asked is not None
    assert appended is not None
    answered, committed = first("produced"), first("high_watermark", "101")
    waited = answered and committed and at(answered) > at(committed)
    does = "checks the batch, gives the offset, appends" + ("" if waited else ", answers")
    spans = [
        Span("socket", NETWORK, 0, at(asked), "the request travels"),
        Span("101: its step", BROKER, at(appended), at(appended), does),
    ]
    if waited and committed:
        spans.append(Span("101: purgatory", WAITING, at(appended), at(committed), "waits"))
        spans += _followers(heard, at, at(appended), at(committed))
        spans.append(
            Span("101: high watermark", BROKER, at(committed), at(committed), committed.says)
        )
    if answered:
        made = committed if waited and committed else appended
        spans.append(Span("socket", NETWORK, at(made), at(answered), answered.says))
    seen: dict[str, Any] = {"answered after": at(answered) if answered else None}
    for follower in ("102", "103"):
        copied = first("append", follower)
        seen[f"{follower} has it after"] = at(copied) if copied else None
    return Path(Gantt("One Produce request", "ms", spans), seen)


def _followers(heard: list[Heard], at: Any, start: float, end: float) -> list[Span]:
    """What each follower did meanwhile: it got the record, and its next fetch said so."""
    spans = []
    for follower in ("102", "103"):
        copied = next(r for r in heard if r.kind == NOTE and r.source == follower
                      and r.what == "append")  # fmt: skip
        asked = [r for r in heard if r.kind == REQUEST and r.source == follower
                and r.says == "fetch from 1" and start <= at(r) <= end]  # fmt: skip
        spans.append(Span(f"{follower}: fetch answered", NETWORK, start, at(copied), "the record"))
        if asked:
            says = "asks from 1: has it"
            spans.append(Span(f"{follower}: next fetch", OTHERS, at(copied), at(asked[0]), says))
    return spans


def fetch_timeline(world: World, max_wait_ms: int = 500, write_after_ms: int | None = 120) -> Gantt:
    """A consumer's fetch at the end of the log, answered by a write or by its time."""
    cluster, admin = world.cluster, world.cluster.nodes["admin"]
    began = world.now_us
    end = world.replica(101, TOPIC, 0).high_watermark
    body = fetching(topic_id(world, TOPIC), end, max_wait_ms=max_wait_ms)
    number, effects = admin.ask(101, body)
    cluster.carry_out("admin", effects)
    parked = _run_until(world, lambda: _waits(world))
    spans = [Span("socket", NETWORK, 0, (parked - began) / 1000, "the request travels")]
    written = None
    if write_after_ms is not None:
        world.run(for_s=write_after_ms / 1000)
        sent = world.now_us
        diagram = SequenceDiagram(world, TOPIC)
        diagram.send("forty euros", acks="1")
        diagram.run(until=lambda _: not _waits(world))
        written = world.now_us
        heard_by_leader = (row for row in diagram.heard if row.source == "101")
        appended = next(row.at_us for row in heard_by_leader if row.what == "append")
        spans += [
            Span(
                "a producer", NETWORK, (sent - began) / 1000, (appended - began) / 1000, "a write"
            ),
            _moment("101: append", appended - began, "not yet committed"),
            _moment("101: high watermark", written - began, "the record is committed"),
        ]
    else:
        written = _run_until(world, lambda: not _waits(world))
        spans.append(_moment("101: a timer", written - began, f"{max_wait_ms} ms are over"))
    spans.insert(1, Span("101: purgatory", WAITING, (parked - began) / 1000,
                         (written - began) / 1000, "long polling"))  # fmt: skip
    heard = _run_until(world, lambda: number in admin.answers)
    answer = admin.answers.pop(number)
    size = sum(len(p.records or b"") for t in answer.responses for p in t.partitions)
    spans.append(
        Span("socket", NETWORK, (written - began) / 1000, (heard - began) / 1000, f"{size} bytes")
    )
    return Gantt(f"One Fetch request, fetch.max.wait.ms={max_wait_ms}", "ms", spans)


def _waits(world: World) -> bool:
    """Whether a client's request is in the leader's purgatory."""
    waiting = world.cluster.nodes[101].replicas.purgatory.operations.values()
    return any(not isinstance(each.request.source, int) for each, _ in waiting)


def _moment(name: str, at_us: int, says: str) -> Span:
    return Span(name, BROKER, at_us / 1000, at_us / 1000, says)


def _run_until(world: World, holds: Any) -> int:
    world.run(until=lambda _: holds(), for_s=5)
    return int(world.now_us)


# -- measured


def measured_timeline(cluster: Cluster, client_id: str, api: str = "Produce") -> Gantt:
    """The last request of a client at broker 101 of an engine, in microseconds."""
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    last = [line for line in provider.requests(101, client_id) if line["api"] == api][-1]
    read, begun, done, answered, writing, written = last["moments_us"]
    local_end = min(done, answered)
    rows = [
        Span("request queue", WAITING, read, begun, f"{last['request_bytes']} bytes read"),
        Span("local", BROKER, begun, local_end, "the broker's step"),
        Span("remote", WAITING, local_end, answered, "purgatory"),
        Span("response queue", WAITING, answered, writing, "answer made"),
        Span("response send", NETWORK, writing, written, f"{last['response_bytes']} bytes written"),
    ]
    if last["stages_ms"]["ThrottleTimeMs"]:
        muted = written + 1000 * last["stages_ms"]["ThrottleTimeMs"]
        rows.append(Span("throttle", MUTED, written, muted, "nothing is read"))
    return Gantt(f"One {api} request at broker 101, as measured", "µs", rows)
