"""The truncation ladder for the model: what each published rule changed, guard by guard.

    rule                a new follower cuts at         a fetch needs          in sync if it
    to-high-watermark   its own high watermark         nothing                is long enough
    kip-101             where its last epoch ends      nothing                is long enough
                        on the leader
    kip-279             where the two logs diverge     nothing                is long enough
    kip-320-first-try   nowhere; when a fetch finds    the same epoch at the  has the same epoch
                        that the logs differ           end of both logs       at that offset
    kip-320             where they diverge, asked of   the same leader epoch  is in the leader's
                        a leader in the same epoch                            epoch, long enough

The last two also take no replica into the ISR before the leader's high watermark has reached
its own epoch.  Take a guard off the last rung, and see what it was for:

    explore(replace(RUNGS["kip-320"], is_caught_up=long_enough)).verdict

Four of its five guards are needed.  The fence of the fetch alone is not, in logs this small,
as long as the leader counts no follower from another epoch; in a broker the fetch is how the
leader comes to know the follower's epoch, so the two are one.
"""

from __future__ import annotations

from engine.sim.model.model import Replica, Rung, follows, leads

# -- where a new follower cuts its log


def own_high_watermark(leader: Replica, follower: Replica) -> int:
    return follower.high_watermark


def end_of_last_epoch(leader: Replica, follower: Replica) -> int:
    """KIP-101's answer: where the leader's first later epoch starts, or its log's end.

    A leader that knows neither that epoch nor a later one cannot tell.  Then the follower
    cuts at its high watermark, as before.
    """
    if not follower.log:
        return 0
    last_epoch = follower.log[-1].epoch
    if not knows_an_end(leader, last_epoch):
        return follower.high_watermark
    later = (offset for offset, record in enumerate(leader.log) if record.epoch > last_epoch)
    return next(later, len(leader.log))


def knows_an_end(leader: Replica, epoch: int) -> bool:
    """It has records of that epoch, or of a later one."""
    return bool(leader.log) and leader.log[-1].epoch >= epoch


def where_the_logs_part(leader: Replica, follower: Replica) -> int:
    """One past the last record that both hold at the same offset."""
    for offset in range(min(len(leader.log), len(follower.log)), 0, -1):
        if leader.log[offset - 1] == follower.log[offset - 1]:
            return offset
    return 0


# -- which leader it may ask, and fetch from


def any_leader(leader: Replica, epoch: int) -> bool:
    """No fence: the follower may even ask a broker that has not heard that it leads."""
    return True


def leader_of_that_epoch(leader: Replica, epoch: int) -> bool:
    return leader.epoch == epoch


def anyone(leader: Replica, follower: Replica) -> bool:
    return True


def same_epoch(leader: Replica, follower: Replica) -> bool:
    return leader.epoch == follower.epoch


def same_epoch_at_the_end(leader: Replica, follower: Replica) -> bool:
    return same_records_below(leader, follower, len(follower.log))


# -- which follower counts as in sync up to an offset


def long_enough(leader: Replica, follower: Replica, offset: int) -> bool:
    """It follows (in any epoch) and holds something at every offset below."""
    return bool(follows(follower, leader)) and len(follower.log) >= offset


def same_records_below(leader: Replica, follower: Replica, offset: int) -> bool:
    """It follows, and the record below `offset` has the same epoch on both."""
    if not (leads(leader) and follows(follower, leader)):
        return False
    if offset == 0:
        return True
    if min(len(leader.log), len(follower.log)) < offset:
        return False
    return leader.log[offset - 1].epoch == follower.log[offset - 1].epoch


def long_enough_in_this_epoch(leader: Replica, follower: Replica, offset: int) -> bool:
    return same_epoch(leader, follower) and len(follower.log) >= offset


# -- when a leader may take a follower into the ISR


def at_any_time(leader: Replica) -> bool:
    return True


def own_epoch_reached(leader: Replica) -> bool:
    """Every record of former epochs is below its high watermark."""
    committed = leader.high_watermark
    return committed == len(leader.log) or leader.log[committed].epoch == leader.epoch


RUNGS: dict[str, Rung] = {
    rung.name: rung
    for rung in (
        Rung(
            "to-high-watermark",
            "a follower cuts at its own high watermark and asks no other broker",
            "its high watermark",
            own_high_watermark,
            any_leader,
            anyone,
            long_enough,
            at_any_time,
        ),
        Rung(
            "kip-101",
            "it asks the leader where its last epoch ends, and cuts there",
            "the end of its last epoch there",
            end_of_last_epoch,
            any_leader,
            anyone,
            long_enough,
            at_any_time,
        ),
        Rung(
            "kip-279",
            "it asks until both name the same epoch, and cuts where the logs diverge",
            "where the logs diverge",
            where_the_logs_part,
            any_leader,
            anyone,
            long_enough,
            at_any_time,
        ),
        Rung(
            "kip-320-first-try",
            "it cuts when a fetch finds that the logs differ; no leader epoch is compared",
            "where the logs diverge",
            where_the_logs_part,
            any_leader,
            same_epoch_at_the_end,
            same_records_below,
            own_epoch_reached,
            truncates_when_fetching=True,
        ),
        Rung(
            "kip-320",
            "every question and every fetch names the leader epoch, and is fenced by it",
            "where the logs diverge",
            where_the_logs_part,
            leader_of_that_epoch,
            same_epoch,
            long_enough_in_this_epoch,
            own_epoch_reached,
        ),
    )
}
