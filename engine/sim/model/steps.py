"""The steps of the replication model: when each may be taken, and what it changes.

A step is a function of a rung and a state; it yields each way in which it can be taken
there, as the index of the replica that it is about and the state it leads to.  The names
and guards are those of the published specification, or the rung's where rungs differ.
Nothing prefers one step to another: the explorer takes them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.sim.model.model import (
    BIT,
    LOG_SIZE,
    MAX_EPOCHS,
    MAX_RECORDS,
    Record,
    Replica,
    Rung,
    State,
    announced_leader,
    follows,
    leads,
    true_leader,
)

Step = tuple[int, State]


# -- changes that several steps share


def _with(state: State, index: int, replica: Replica) -> State:
    rows = state.replicas
    return State((*rows[:index], replica, *rows[index + 1 :]), state.epochs, state.records)


def _announce(state: State, leader: int, isr: tuple[bool, ...]) -> State:
    """The controller announces the next epoch; a replica may hear of it late or never."""
    bit = BIT[state.epochs]
    rows = tuple(
        replica._replace(
            led=replica.led | bit if index == leader else replica.led,
            named=replica.named | bit if isr[index] else replica.named,
            in_isr=isr[index],
        )
        for index, replica in enumerate(state.replicas)
    )
    return State(rows, state.epochs + 1, state.records)


def _hear(state: State, index: int, epoch: int) -> State:
    """A replica goes on to a later epoch; an ISR it kept as a leader before is forgotten."""
    old = leads(state.replicas[index])
    rows = state.replicas
    if old:
        rows = tuple(row._replace(counted=row.counted & ~old) for row in rows)
    return _with(State(rows, state.epochs, state.records), index, rows[index]._replace(epoch=epoch))


def _write_isr(state: State, index: int, member: bool) -> State:
    """The true leader's change of the ISR; it and the controller agree at once."""
    bit, replica = BIT[state.epochs - 1], state.replicas[index]
    counted = replica.counted | bit if member else replica.counted & ~bit
    return _with(state, index, replica._replace(in_isr=member, counted=counted))


# -- the steps


def controller_elects_leader(rung: Rung, state: State) -> Iterator[Step]:
    """Any member of the ISR may be made leader, at any time."""
    if state.epochs < MAX_EPOCHS:
        leader = announced_leader(state)
        isr = tuple(replica.in_isr for replica in state.replicas)
        for index, is_member in enumerate(isr):
            if is_member and index != leader:
                yield index, _announce(state, index, isr)


def controller_shrinks_isr(rung: Rung, state: State) -> Iterator[Step]:
    """It takes a member for dead: out of the ISR, unless it leads and is the last."""
    if state.epochs < MAX_EPOCHS:
        leader = announced_leader(state)
        isr = tuple(replica.in_isr for replica in state.replicas)
        for index, is_member in enumerate(isr):
            rest = (*isr[:index], False, *isr[index + 1 :])
            if index == leader:
                yield index, _announce(state, -1, rest if any(rest) else isr)
            elif is_member:
                yield index, _announce(state, leader, rest)


def replica_becomes_leader(rung: Rung, state: State) -> Iterator[Step]:
    for index, replica in enumerate(state.replicas):
        for epoch in range(replica.epoch + 1, state.epochs):
            bit = BIT[epoch]
            if replica.led & bit:
                heard = _hear(state, index, epoch)
                rows = (row._replace(counted=row.counted | row.named & bit)
                        for row in heard.replicas)  # fmt: skip
                yield index, heard._replace(replicas=tuple(rows))


def replica_becomes_follower(rung: Rung, state: State) -> Iterator[Step]:
    """It cuts its log where the rung says, then follows; a leaderless epoch is only noted."""
    for index, replica in enumerate(state.replicas):
        for epoch in range(replica.epoch + 1, state.epochs):
            bit = BIT[epoch]
            leader = next((row for row in state.replicas if row.led & bit), None)
            if leader is None:
                yield index, _hear(state, index, epoch)
            elif not replica.led & bit and rung.may_follow(leader, epoch):
                end = len(replica.log)
                if not rung.truncates_when_fetching:
                    end = min(end, rung.truncation_offset(leader, replica))
                yield index, _truncate(_hear(state, index, epoch), index, end)


def _truncate(state: State, index: int, end: int) -> State:
    replica = state.replicas[index]
    cut = replica._replace(log=replica.log[:end], high_watermark=min(replica.high_watermark, end))
    return _with(state, index, cut)


def leader_writes(rung: Rung, state: State) -> Iterator[Step]:
    """A replica that believes it leads appends a record."""
    if state.records < MAX_RECORDS:
        for index, leader in enumerate(state.replicas):
            if leads(leader) and len(leader.log) < LOG_SIZE:
                log = (*leader.log, Record(leader.epoch, state.records))
                after = _with(state, index, leader._replace(log=log))
                yield index, after._replace(records=state.records + 1)


def follower_fetches(rung: Rung, state: State) -> Iterator[Step]:
    """The next record, and the leader's high watermark as far as the follower's log reaches."""
    for index, follower in enumerate(state.replicas):
        end = len(follower.log)
        for leader in state.replicas:
            more = len(leader.log) > end and leads(leader) and follows(follower, leader)
            if more and rung.may_fetch(leader, follower):
                fetched = follower._replace(
                    log=(*follower.log, leader.log[end]),
                    high_watermark=min(leader.high_watermark, end + 1),
                )
                yield index, _with(state, index, fetched)


def follower_truncates(rung: Rung, state: State) -> Iterator[Step]:
    """Where a rung truncates on a fetch: the follower's last record is not the leader's."""
    if rung.truncates_when_fetching:
        for index, follower in enumerate(state.replicas):
            for leader in state.replicas:
                if leads(leader) and follows(follower, leader) and _ends_apart(leader, follower):
                    end = rung.truncation_offset(leader, follower)
                    yield index, _truncate(state, index, end)


def _ends_apart(leader: Replica, follower: Replica) -> bool:
    """The follower's log is longer, or its last record is of another epoch on the leader."""
    end = len(follower.log)
    if end == 0 or end > len(leader.log):
        return end > 0
    return leader.log[end - 1].epoch != follower.log[end - 1].epoch


def leader_raises_high_watermark(rung: Rung, state: State) -> Iterator[Step]:
    """By one record, once every replica that the leader counts in its ISR has it."""
    for index, leader in enumerate(state.replicas):
        bit, next_offset = leads(leader), leader.high_watermark + 1
        if bit and next_offset <= len(leader.log):
            counted = (member for member in state.replicas if member.counted & bit)
            if all(rung.is_caught_up(leader, member, next_offset) for member in counted):
                yield index, _with(state, index, leader._replace(high_watermark=next_offset))


def leader_shrinks_isr(rung: Rung, state: State) -> Iterator[Step]:
    """Any follower that lacks something may be dropped at once."""
    at = true_leader(state)
    if at >= 0:
        leader = state.replicas[at]
        for index, member in enumerate(state.replicas):
            may_go = member.in_isr and index != at
            if may_go and not rung.is_caught_up(leader, member, len(leader.log)):
                yield index, _write_isr(state, index, False)


def leader_expands_isr(rung: Rung, state: State) -> Iterator[Step]:
    """A follower that has everything below the high watermark may be taken in."""
    at = true_leader(state)
    if at >= 0:
        leader = state.replicas[at]
        for index, follower in enumerate(state.replicas):
            may_come = not follower.in_isr and rung.may_expand(leader)
            if may_come and rung.is_caught_up(leader, follower, leader.high_watermark):
                yield index, _write_isr(state, index, True)


STEPS: tuple[Callable[[Rung, State], Iterator[Step]], ...] = (
    replica_becomes_follower,
    replica_becomes_leader,
    leader_writes,
    follower_fetches,
    follower_truncates,
    leader_raises_high_watermark,
    leader_shrinks_isr,
    leader_expands_isr,
    controller_elects_leader,
    controller_shrinks_isr,
)
"""The controller's come last: so, of equally short ways, the search finds one that reads well."""
