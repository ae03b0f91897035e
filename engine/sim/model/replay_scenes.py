"""Four scenes, each of which breaks one rule of the truncation ladder with real brokers.

Each is played with moves that may happen in any cluster, and stands for a
counter-example of the model; the numbers are those of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.sim.model.replay_stage import TOPIC, Replay, heard_epoch, is_up, leads, log_end

CONTROLLER = 100
SETTINGS = {
    "broker.session.timeout.ms": 1_000,
    "broker.heartbeat.interval.ms": 200,
    "replica.fetch.backoff.ms": 300,
}
"""A dead broker is missed after a second, before a message that is late by 1.7 s arrives."""
LATE_MS = 1_700


def cut_at_the_high_watermark(stage: Replay) -> None:
    """to-high-watermark: 102 has A, does not know that it is committed, and cuts it."""
    stage.note("101 leads epoch 0; 102 and 103 follow", 1, 2, 4)
    stage.write("A", 101, 5)
    stage.until(lambda w: log_end(w, 102) == log_end(w, 103) == 1, "102 and 103 fetch it", 6)
    for follower in (102, 103):
        stage.apply("cut_one_way", 101, follower, text=f"nothing from 101 reaches {follower}")
    stage.acknowledged("A", 7)
    stage.apply("kill", 101, text="101 dies", steps=(3,))
    stage.until(lambda w: heard_epoch(w, 102) == 1, "102 learns that 103 leads epoch 1", 8)


def an_epoch_the_leader_never_had(stage: Replay) -> None:
    """kip-101: 101 is asked where epoch 1 ends, of which it has nothing; it points too far.

    KIP-279 calls it a fast leader change.
    """
    stage.preferred_returns(1, 2, 3)
    stage.write("A", 101, 4)
    stage.acknowledged("A", 5, 6)
    stage.apply("cut", 101, 102, text="nothing passes between 101 and 102")
    stage.write("X", 101, acks=1)
    stage.elect_preferred(7, 8)
    stage.write("B", 102, 9, acks=1)
    stage.apply("stop", 102, text="102 leaves cleanly")
    stage.until(lambda w: not is_up(w, 102) and leads(w, 101), "101 leads epoch 2", 10)
    stage.write("C", 101)
    stage.acknowledged("C")
    stage.apply("heal", 101, 102, text="101 and 102 reach each other")
    stage.apply("start", 102, text="102 is back")
    stage.until(
        lambda w: 102 in w.replica(101, TOPIC, 0).in_sync_replicas,
        "102 asks where epoch 1 ends, and fetches on",
        11,
    )


def a_fetch_from_another_epoch(stage: Replay) -> None:
    """kip-279: 101, in epoch 2, counts a fetch of 102, which is still in epoch 0."""
    stage.preferred_returns(1)
    stage.apply("cut_one_way", 101, 103, text="nothing from 101 reaches 103")
    stage.write("X", 101, acks=1)
    stage.until(lambda w: log_end(w, 102) == 1, "102 fetches it, in epoch 0", 2)
    stage.apply(
        "reorder",
        CONTROLLER,
        102,
        ms=LATE_MS,
        api="Fetch",
        text="the next news of the controller reaches 102 late",
    )
    stage.elect_preferred(3)
    stage.apply("heal", 101, 103, text="101 reaches 103 again")
    stage.until(lambda w: log_end(w, 101) == 0, "101 follows 103 and cuts X, which 103 never had")
    stage.apply("stop", 103, text="103 leaves cleanly", steps=(8,))
    stage.until(lambda w: leads(w, 101), "101 leads epoch 2", 4, 5)
    stage.write("A", 101, 6)
    stage.acknowledged("A", 7, 9)


def a_zombie_is_believed(stage: Replay) -> None:
    """kip-320-first-try: 102 cuts what it acknowledged in epoch 2, as epoch 1's leader tells it.

    102 is late by one message, fetches from 101 in an epoch that is over, is counted, and
    then follows 103, which is cut off and still leads.
    """
    stage.preferred_returns(1, 2)
    stage.apply(
        "reorder",
        CONTROLLER,
        102,
        ms=LATE_MS,
        count=2,
        api="Fetch",
        text="the next two news of the controller reach 102 late",
    )
    stage.elect_preferred(3, 4)
    stage.apply("cut", CONTROLLER, 103, text="103 is cut off from the controller")
    stage.until(lambda w: leads(w, 101), "101 leads epoch 2, and 103 does not know", 5, 6, 9)
    stage.write("A", 101, 7)
    stage.acknowledged("A", 8, 10)
    stage.until(lambda w: log_end(w, 102) == 0, "102 learns that 103 leads epoch 1, cuts A", 11, 12)


@dataclass(frozen=True)
class Scene:
    """How a rule is broken; `replicas` names the preferred leader first.

    `absent` is down while the topic is created: so another broker leads epoch 0.
    `otherwise` says what differs from the model's story, and why; `unplayed` are the steps
    of that story that the scene replaces by something else.
    """

    play: Callable[[Replay], None]
    replicas: tuple[int, ...]
    fixed_by: str
    otherwise: str
    unplayed: tuple[int, ...] = ()
    absent: int = 0


SCENES = {
    "to-high-watermark": Scene(
        cut_at_the_high_watermark,
        (101, 103, 102),
        "kip-101",
        "Brokers and epochs have the model's numbers. Step 3 comes late: a KRaft controller begins "
        "no new epoch when a follower is missing (KAFKA-15021). So A is written in epoch 0, 101 "
        "dies instead of 103, 103 leads epoch 1, and 102 cuts when it hears of that.",
    ),
    "kip-101": Scene(
        an_epoch_the_leader_never_had,
        (102, 101),
        "kip-279",
        "Brokers, epochs and records have the model's numbers and names; X and C are added. In the "
        "model 101 has not heard that it leads again, and has no answer. A broker that leads knows "
        "where its own epoch begins, and answers that; X, which it wrote before, lies below it. So "
        "102 cuts too little instead of too much, and keeps B where 101 has X.",
        absent=102,
    ),
    "kip-279": Scene(
        a_fetch_from_another_epoch,
        (103, 101, 102),
        "kip-320-first-try",
        "Brokers, epochs and records have the model's numbers and names; X is added. Step 10 is "
        "not played: a broker that has not heard that it leads refuses to say where an epoch ends. "
        "Instead 102 holds X of epoch 0 all along, where 101 writes A of epoch 2; its next fetch, "
        "from offset 1, tells 101 only how long its log is.",
        (10,),
        absent=103,
    ),
    "kip-320-first-try": Scene(
        a_zombie_is_believed,
        (103, 101, 102),
        "kip-320",
        "Every step is the model's, with its numbers.",
        absent=103,
    ),
}
