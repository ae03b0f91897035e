"""THE rules: who leads a partition, who is in its ISR, who stays eligible.

Everything that happens to a partition (a broker dies, comes back, restarts uncleanly, a
leader reports another ISR, an administrator asks for an election) ends here, in one function
that turns the partition as it is into one record, or none.

Election, in this order; "usable" is a broker that is registered, not fenced and not
shutting down:

    preferred   replicas[0], if usable and in the ISR               (only when asked for)
    stay        the current leader, if usable and in the ISR        no change, no new epoch
    clean       the first usable replica in the ISR, in replica order
    eligible    with an empty ISR: the first usable one in the ELR; it becomes the ISR
    last known  ISR and ELR both empty: the last leader, if usable   counted as unclean
    unclean     the first usable replica at all                      (only when allowed)
    no leader   leader -1

Eligible leader replicas (KIP-966).  Before, the last member of the ISR was kept in it
even when it died, so that it alone could lead again; if it had lost its disk cache, so
were acknowledged records.  Now the high watermark stands still while the ISR is smaller
than min.insync.replicas, so a replica that leaves the ISR below that size still has
everything committed, and is remembered in the ELR:

    min.insync.replicas 2       isr 1 2 3  elr -
    3 dies                      isr 1 2    elr -       2 is enough: 3 may fall behind
    2 dies                      isr 1      elr 2       HW stays; 2 has all below it
    1 dies                      isr -      elr 1 2     leader none, last known 1
    2 restarts uncleanly        isr -      elr 1       2 may have lost records
    1 comes back                isr 1      elr -       elected from the ELR: clean

The leader epoch grows when and only when a record names a leader: when the leader
changes, also to -1.  A mere change of the ISR leaves it (since KAFKA-15021,
metadata.version 3.6); an unclean election empties the ELR and makes the leader
RECOVERING.  The partition epoch grows with every record.

Left out: reassignment, which also changes replicas; the older way, with
eligible.leader.replicas.version=0, is here: there the last ISR member stays.
Source: PartitionChangeBuilder of Kafka 4.3.1.  Where Kafka's order of the ELR is that of
a hash set, ours is ascending.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from engine.metadata.image import LEADER_UNCHANGED, NO_LEADER, RECOVERING, PartitionImage
from engine.wire import messages as m


class Election(Enum):
    """Which election to hold."""

    ONLINE = "online"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides besides the partition itself.

    `usable` says whether a broker may lead; `min_in_sync` is min.insync.replicas, at most
    the number of replicas; `elr_enabled` is eligible.leader.replicas.version ≥ 1.
    """

    usable: Callable[[int], bool]
    min_in_sync: int
    elr_enabled: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """The record, the partition before and after it, and how a new leader was found.

    `elected` is one of the words of the table above, "" if the leader stays.
    """

    record: m.PartitionChangeRecord
    before: PartitionImage
    after: PartitionImage
    elected: str


def change_partition(
    partition: PartitionImage,
    topic_id: bytes,
    index: int,
    rules: Rules,
    *,
    isr: tuple[int, ...] | None = None,
    unclean_restart: int | None = None,
    election: Election = Election.ONLINE,
    recovery_state: int | None = None,
) -> Change | None:
    """Works a proposed ISR (None: as it is) and an election into one record.

    `unclean_restart` is a broker that came back without a clean stop: it loses its place
    in the ELR.  None if nothing changes.
    """
    wanted_isr = partition.isr if isr is None else isr
    wanted_elr = _eligible(partition, wanted_isr, unclean_restart, rules)
    leader, elected = _elect(partition, wanted_isr, wanted_elr, rules, election)
    if leader == partition.leader:
        elected = ""

    unclean = elected in ("last known", "unclean")
    if elected == "eligible":
        wanted_isr = (leader,)
        wanted_elr = tuple(replica for replica in wanted_elr if replica != leader)
    elif unclean:
        # No other replica is known to agree with this leader's log: all must follow it.
        wanted_isr, wanted_elr = (leader,), ()
    elif not wanted_isr and not rules.elr_enabled:
        # The old rule: the last in-sync replica stays, alive or not.
        wanted_isr = partition.isr

    state = partition.leader_recovery_state if recovery_state is None else recovery_state
    if unclean:
        state = RECOVERING

    record = m.PartitionChangeRecord(topic_id=topic_id, partition_id=index)
    if leader != partition.leader:
        record.leader = leader
    if wanted_isr != partition.isr:
        record.isr = list(wanted_isr)
    if wanted_elr != partition.elr:
        record.eligible_leader_replicas = list(wanted_elr)
    if rules.elr_enabled:
        _remember_last_leader(partition, record)
    if state != partition.leader_recovery_state:
        record.leader_recovery_state = state
    if record == m.PartitionChangeRecord(topic_id=topic_id, partition_id=index):
        return None
    return Change(record, partition, partition.merge(record), elected)


def _eligible(
    partition: PartitionImage,
    isr: tuple[int, ...],
    unclean_restart: int | None,
    rules: Rules,
) -> tuple[int, ...]:
    """The ELR beside `isr`: below min.insync.replicas, all that were in ISR or ELR so far."""
    if not rules.elr_enabled or len(isr) >= rules.min_in_sync:
        return ()
    candidates = sorted({*partition.elr, *partition.isr})
    return tuple(each for each in candidates if each not in isr and each != unclean_restart)


def _elect(
    partition: PartitionImage,
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    rules: Rules,
    election: Election,
) -> tuple[int, str]:
    """The leader, and how it was found: a word of the table in this module's prologue."""
    current = partition.leader
    electable, how = (isr, "clean") if isr else (elr, "eligible")

    def valid(replica: int) -> bool:
        return replica in electable and rules.usable(replica)

    preferred = partition.replicas[0]
    if election is Election.PREFERRED and valid(preferred):
        return preferred, "preferred" if isr else how
    if valid(current):
        return current, "stay"
    for replica in partition.replicas:
        if valid(replica):
            return replica, how
    last_known = partition.last_known_elr
    if rules.elr_enabled and not isr and not elr and len(last_known) == 1:  # noqa: SIM102
        if rules.usable(last_known[0]):
            return last_known[0], "last known"
    if election is Election.UNCLEAN:
        for replica in partition.replicas:
            if rules.usable(replica):
                return replica, "unclean"
    return NO_LEADER, "no leader"


def _remember_last_leader(partition: PartitionImage, record: m.PartitionChangeRecord) -> None:
    """Notes the last leader when there is none any more, and forgets it with a new one."""
    if record.leader == NO_LEADER and not partition.last_known_elr:
        record.last_known_elr = [partition.leader]
    elif record.leader not in (LEADER_UNCHANGED, NO_LEADER) and partition.last_known_elr:
        record.last_known_elr = []
