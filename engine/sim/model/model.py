"""A small model of replication, to be searched through to its last state.

One partition, its controller, and replicas with nothing but a log, a high watermark and
an epoch.  Everything that may take its time is a step of its own: the controller announces
an epoch, a replica hears of it (or of a later one first, or never), a record is written, a
follower fetches.  There are no failures: a dead broker is one that takes no step.  The rules are
those of the specification that Kafka's developers published with KIP-320
(hachikuji/kafka-specification), with its bounds: logs of two records, two records ever written,
epochs 0 to 2.

    replica   log     high watermark   epoch     led   named   counted   in_isr
      101     A0 B1         1            1       0     0 1     1         yes
      102     A0 B1         1            1       1     0 1     1         yes
      103     A0            0            0             0                 no

The first three columns are what a replica knows.  The others are what other nodes know of it, and
is in its row, so that swapping two replicas is swapping two rows: `led` are the epochs
the controller gave it to lead, `named` the epochs announced with it in the ISR, `counted`
the epochs whose leader, as long as it has heard of no later epoch, counts it in its ISR,
`in_isr` is the controller's last word.  Two states with the same rows in another order are
one state: `canonical` sorts the rows.

`strong_isr` must hold in every state: every member of the ISR has the same records at the same
offsets as each replica that believes it leads, below that replica's high watermark.

The steps are in engine/sim/model/steps.py; what differs from rung to rung of the ladder is a
`Rung` (engine/sim/model/rules.py).  In two points the model differs.  The
specification has a rule for a follower that hears of an epoch without a leader, but no step that
leads there; here there is one.  Where KIP-101's answer is beyond the follower's log, the
specification disables the step; here the follower cuts at its log's end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

LOG_SIZE = 2
MAX_RECORDS = 2
MAX_EPOCHS = 3
BIT = (1, 2, 4, 0)
"""An epoch as a bit; epoch -1, before any was heard of, is no bit at all."""


class Record(NamedTuple):
    """The `number`-th record ever written, by the leader of `epoch`."""

    epoch: int
    number: int


class Replica(NamedTuple):
    """One row; sets of epochs are bits."""

    log: tuple[Record, ...] = ()
    high_watermark: int = 0
    epoch: int = -1
    led: int = 0
    named: int = 0
    counted: int = 0
    in_isr: bool = True


class State(NamedTuple):
    """All rows, and how many epochs were announced and records written so far."""

    replicas: tuple[Replica, ...]
    epochs: int = 0
    records: int = 0


@dataclass(frozen=True)
class Rung:
    """What brokers do under one published rule; each field is a guard or an offset."""

    name: str
    change: str
    cuts_at: str
    truncation_offset: Callable[[Replica, Replica], int]
    may_follow: Callable[[Replica, int], bool]
    may_fetch: Callable[[Replica, Replica], bool]
    is_caught_up: Callable[[Replica, Replica, int], bool]
    may_expand: Callable[[Replica], bool]
    truncates_when_fetching: bool = False


def init(replicas: int) -> State:
    return State((Replica(),) * replicas)


def canonical(state: State) -> State:
    """The one state that stands for all that differ only in the order of their rows."""
    return State(tuple(sorted(state.replicas)), state.epochs, state.records)


# -- questions about a state


def leads(replica: Replica) -> int:
    """Whether it believes it leads: the bit of its epoch, also for a zombie."""
    return replica.led & BIT[replica.epoch]


def follows(follower: Replica, leader: Replica) -> int:
    """The follower's epoch is one that the other was given to lead."""
    return leader.led & BIT[follower.epoch]


def announced_leader(state: State) -> int:
    """Index of the leader by the controller's last word; -1 if there is none."""
    newest = BIT[state.epochs - 1]
    for index, replica in enumerate(state.replicas):
        if replica.led & newest:
            return index
    return -1


def true_leader(state: State) -> int:
    """Index of the announced leader once it has heard of its epoch; only it may change the ISR."""
    index = announced_leader(state)
    return index if index >= 0 and state.replicas[index].epoch == state.epochs - 1 else -1


def strong_isr(state: State) -> bool:
    for leader in state.replicas:
        committed = leader.high_watermark
        if committed and leads(leader):
            if len(leader.log) < committed:
                return False
            for member in state.replicas:
                if member.in_isr and member.log[:committed] != leader.log[:committed]:
                    return False
    return True
