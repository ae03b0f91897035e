"""The end of a schedule: every fault is undone, the cluster comes to rest, clients are judged.

    settle    waits until all is sent, in sync and read; if that takes too long: liveness
    judge           compares what the clients saw with what they were promised
    judge_groups    waits until all groups are stable and all partitions owned, and reads offsets

acks=1 promises nothing, so what it acknowledged may be there or not.  A partition that had an
unclean election may have lost records, and only an idempotent producer is promised that nothing
is there twice or out of order.  A record may be unseen if it was deleted before any consumer read
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine.coordinators.offsets_topic import coordinator_of
from engine.sim.campaign.members import GroupSetup, start, undo_everything, unsettled
from engine.sim.clients.consumer import Consumer
from engine.sim.clients.histories import history_of
from engine.sim.clients.trimmer import Trimmer
from engine.sim.history import History, Send, check
from engine.sim.history.findings import Finding
from engine.sim.history.operations import ACKNOWLEDGED, UNKNOWN
from engine.sim.invariants.group_books import named
from engine.sim.invariants.invariants import Violation
from engine.sim.world.world import World
from engine.wire import messages as m

CALM_S = 60.0
ONE_MORE = 99
"""The number of a member that joins a group in which a partition waits for a rebalance."""


@dataclass(frozen=True)
class Clients:
    """`careful` sends with acks=all, and numbers its batches if `idempotent`; `hasty` acks=1.

    `trimmer` deletes records, if there is one.
    """

    careful: Any
    hasty: Any
    consumer: Consumer
    idempotent: bool
    trimmer: Trimmer | None = None


def settle(world: World, clients: Clients) -> None:
    """Stops the load; Violation if that does not settle within CALM_S."""
    producers = (clients.careful, clients.hasty)
    for producer in producers:
        world.tell(producer.name, "finish")
    if clients.trimmer is not None:
        world.tell(clients.trimmer.name, "finish")
    topic = clients.consumer.topic

    def healed(world: World) -> bool:
        return all(each.idle for each in producers) and _is_whole(world, topic)

    if not world.run(until=healed, for_s=CALM_S):
        raise Violation(f"liveness: the cluster has not healed within {CALM_S:.0f} s of calm")
    if not world.run(until=lambda w: _has_read_all(w, clients.consumer), for_s=CALM_S):
        raise Violation(f"liveness: the consumer has not caught up within {CALM_S:.0f} s of calm")


def _is_whole(world: World, topic: str) -> bool:
    image = world.image()
    partitions = image.topics[image.topic_ids[topic]].partitions.values()
    return all(len(each.isr) == len(each.replicas) for each in partitions)


def _has_read_all(world: World, consumer: Consumer) -> bool:
    for index, position in consumer.positions.items():
        leader = world.leader(consumer.topic, index)
        if leader < 0:
            return False
        if position.offset != world.replica(leader, consumer.topic, index).high_watermark:
            return False
    return True


def judge(world: World, clients: Clients) -> None:
    """Raises Violation for the first finding that breaks a promise."""
    history = history_of((clients.careful, clients.hasty), [clients.consumer], at_end=True)
    promised = tuple(
        replace(each, verdict=UNKNOWN, offset=-1)
        if isinstance(each, Send)
        and (each.client, each.verdict) == (clients.hasty.name, ACKNOWLEDGED)
        else each
        for each in history.operations
    )
    books = world.invariants.books if world.invariants is not None else {}
    for finding in check(History(promised)):
        known = books.get(f"{finding.topic}-{finding.partition}")
        if known is not None and known.unclean_at >= 0 and finding.kind != "phantom":
            continue
        numbered = clients.idempotent and finding.value.startswith(f"{clients.careful.name}-")
        if finding.kind in ("duplicate", "reordered") and not numbered:
            continue
        if finding.kind == "unseen" and is_deleted(world, finding):
            continue
        raise Violation(f"history: {finding}")


def is_deleted(world: World, finding: Finding) -> bool:
    """Whether a finding is below the log start, which only traced deletions may move."""
    leader = world.leader(finding.topic, finding.partition)
    log = world.replica(leader, finding.topic, finding.partition).log
    return finding.offset < int(log.log_start_offset)


def judge_groups(world: World, groups: tuple[GroupSetup, ...], topic: str) -> list[str]:
    """Raises Violation if a group does not come to rest, or its offsets are not there.

    Returns the partitions that had to wait for one more member, such as `billing: orders-3`.
    """
    if not groups or world.invariants is None or world.invariants.groups is None:
        return []
    invariants = world.invariants.groups
    _come_to_rest(world, groups, topic)
    orphans = {group.name: invariants.orphans(group.name) for group in groups}
    for name in [name for name, each in orphans.items() if each]:
        start(world, groups, topic, f"{name}-{ONE_MORE}")
    until_us = _come_to_rest(world, groups, topic)
    for group in groups:
        if left := invariants.orphans(group.name):
            raise Violation(f"liveness: {group.name}: a rebalance leaves {left} without an owner")
        now, found = world.cluster.now, _fetched(world, group, until_us)
        for index in world.partitions(topic):
            invariants.fetched(group.name, (topic, index), found.get(index, -1), now)
    return [f"{name}: {named(place)}" for name, each in orphans.items() for place in each]


def _come_to_rest(world: World, groups: tuple[GroupSetup, ...], topic: str) -> int:
    """Waits for it; the time in µs at which patience ends."""
    until_us = world.now_us + round(CALM_S * 1e6)
    while missing := unsettled(world, groups, topic):
        if world.now_us >= until_us:
            raise Violation(f"liveness: no rest within {CALM_S:.0f} s of calm, {missing}")
        world.run(for_s=1)
        undo_everything(world, groups, topic)  # a last loop may have ended meanwhile
    return until_us


def _fetched(world: World, group: GroupSetup, until_us: int) -> dict[int, int]:
    """The group's offsets by partition, as its coordinator answers them."""
    request = m.OffsetFetchRequest
    asked = request.OffsetFetchRequestGroup(group_id=group.name, topics=None)
    while world.now_us < until_us:
        coordinator = coordinator_of(world.image(), group.name)
        answer = world.ask(request(groups=[asked], require_stable=True), coordinator)
        if answer is not None and not answer.groups[0].error_code:
            parts = (part for row in answer.groups[0].topics for part in row.partitions)
            return {part.partition_index: part.committed_offset for part in parts}
        world.run(for_s=1)
    raise Violation(f"liveness: {group.name}: OffsetFetch is not answered within {CALM_S:.0f} s")
