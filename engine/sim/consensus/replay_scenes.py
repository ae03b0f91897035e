"""Six scenes, each of which breaks one rung of the ladder with real controllers.

Each is played with moves that may happen in any cluster, and stands for a counter-example of the
model; the numbers are those of its steps.  `one` leads epoch 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.quorum.election_state import NONE
from engine.quorum.replica import Replica
from engine.quorum.roles import NOMINEES, Role
from engine.sim.model.stage import PATIENCE_S, Stage
from engine.sim.world.world import World
from engine.wire import messages as m

FAR_MS = 300
"""A link so slow that two candidates ask before one of them is answered."""


@dataclass
class QuorumStage(Stage):
    """A scene of three controllers; the one that leads epoch 1 is named first."""

    trio: tuple[int, int, int] = (0, 0, 0)
    whose: ClassVar[str] = "controllers"

    def replica(self, node: int) -> Replica:
        return replica(self.world, node)

    def part(self, a: int, b: int) -> None:
        self.apply("cut", a, b, text=f"nothing passes between {a} and {b}")

    def alone(self, one: int) -> None:
        """Brokers still reach it."""
        for each in self.trio:
            if each != one:
                self.part(one, each)

    def join(self, a: int, b: int) -> None:
        self.apply("heal", a, b, text=f"{a} and {b} reach each other again")

    def die(self, node: int) -> None:
        self.apply("kill", node, text=f"{node} dies")

    def start(self, node: int, *steps: int) -> None:
        self.apply("start", node, text=f"{node} is back", steps=steps)

    def write(self, topic: str, leader: int, *steps: int, partitions: int = 1) -> None:
        """A client asks for a topic and does not wait; `leader` appends its records."""
        end, request = end_of(self.world, leader), m.CreateTopicsRequest
        asked = request.CreatableTopic(topic, partitions, 3)
        self.world.post(request([asked], timeout_ms=8_000), 101)
        text = f"{leader} appends topic {topic} in epoch {self.replica(leader).state.epoch}"
        self.until(lambda w: end_of(w, leader) > end, text, *steps)

    def committed(self, leader: int, *steps: int) -> None:
        """All that a leader has is committed."""
        end = end_of(self.world, leader)
        self.until(lambda w: high_watermark(w, leader) >= end, f"{leader} commits it", *steps)

    def elected(self, among: tuple[int, ...], *steps: int) -> int:
        """One of these leads a later epoch; no time passes after that."""
        before = max(self.replica(each).state.epoch for each in among)

        def leader(world: World) -> int:
            states = {each: replica(world, each).state for each in among}
            led = (n for n, each in states.items() if each.is_leader and each.epoch > before)
            return next(led, NONE)

        try:
            self.world.run(until=lambda w: leader(w) != NONE, for_s=PATIENCE_S)
        finally:
            found = leader(self.world)
            if found != NONE:
                self.note(f"{found} leads epoch {self.replica(found).state.epoch}", *steps)
        assert found != NONE, f"none of {among} is elected"
        return found


def replica(world: World, node: int) -> Replica:
    found: Replica = world.cluster.nodes[node].replica
    return found


def is_nominee(world: World, node: int) -> bool:
    return replica(world, node).state.role in NOMINEES


def end_of(world: World, node: int) -> int:
    return replica(world, node).log.end_offset


def high_watermark(world: World, node: int) -> int:
    return replica(world, node).log.high_watermark


# -- the scenes


def an_answer_of_an_earlier_epoch(stage: QuorumStage) -> None:
    """no-epochs: a voter of epoch 2 copies from the leader of epoch 1, and is counted there."""
    one, two, three = stage.trio
    stage.note(f"{one} leads epoch 1", 1, 2, 5)
    stage.alone(one)
    stage.write("A", one, 7)
    later = stage.elected((two, three), 3, 4, 6)
    voter = two + three - later
    stage.die(later)
    stage.join(one, voter)
    stage.at(lambda w: end_of(w, voter) == end_of(w, one), f"{voter} copies A from {one}", 8)
    stage.committed(one, 9)
    stage.die(one)
    stage.start(later)
    stage.elected((later, voter))


def a_log_without_the_record(stage: QuorumStage) -> None:
    """any-log: the voter that missed A is elected."""
    one, two, three = stage.trio
    stage.note(f"{one} leads epoch 1", 1, 2, 4)
    stage.part(one, three)
    stage.part(two, three)
    stage.write("A", one, 5)
    stage.until(lambda w: end_of(w, two) == end_of(w, one), f"{two} copies it", 6)
    stage.committed(one, 7)
    stage.die(one)
    stage.die(two)
    stage.at(lambda w: is_nominee(w, three), f"{three} hears of no leader")
    stage.join(two, three)
    stage.start(two)
    stage.elected((two, three), 3, 8, 9)


def the_longer_log(stage: QuorumStage) -> None:
    """longest-log: many records of epoch 1, which no other voter has, beat those of epoch 2."""
    one, two, three = stage.trio
    stage.note(f"{one} leads epoch 1", 1, 2, 5)
    stage.alone(one)
    stage.write("A", one, 7, partitions=50)
    later = stage.elected((two, three), 3, 4, 6)
    voter = two + three - later
    stage.die(one)
    stage.write("B", later, 10)
    stage.until(lambda w: end_of(w, voter) == end_of(w, later), f"{voter} copies it", 11)
    stage.committed(later, 12)
    stage.die(later)
    stage.join(one, voter)
    stage.start(one)
    stage.elected((one, voter), 8, 9, 13, 14)


def a_vote_forgotten(stage: QuorumStage) -> None:
    """vote-in-memory: a voter restarts, and votes a second time in epoch 2."""
    one, two, three = stage.trio
    stage.part(two, three)
    stage.die(one)
    stage.until(
        lambda w: is_nominee(w, two) and is_nominee(w, three), f"{two}, {three} hear of no leader"
    )
    for each in (two, three):
        stage.apply("slow", one, each, ms=FAR_MS, text=f"{one} and {each} are {FAR_MS} ms apart")
    stage.start(one)
    stage.at(
        lambda w: all(replica(w, each).state.role is Role.CANDIDATE for each in (two, three)),
        f"{two} and {three} stand for election in epoch 2", 1, 2,
    )  # fmt: skip
    stage.at(lambda w: replica(w, one).state.voted != NONE, f"{one} votes for one of them", 3)
    first = replica(stage.world, one).state.voted
    other = two + three - first
    stage.apply("cut_one_way", first, one, text=f"nothing from {first} reaches {one}")
    stage.die(one)
    stage.apply("heal", one, other, text=f"the link from {one} to {other} is fast again")
    stage.start(one, 5)
    stage.at(lambda w: replica(w, first).state.is_leader, f"{first} leads epoch 2", 4)
    stage.at(lambda w: replica(w, one).state.voted == other, f"{one} votes for {other}", 6)
    stage.at(lambda w: replica(w, other).state.is_leader, f"{other} leads epoch 2", 7)


def an_older_record_counted(stage: QuorumStage) -> None:
    """old-epoch-by-counting: figure 8 of the Raft paper."""
    one, two, three = stage.trio
    stage.note(f"{one} leads epoch 1", 1, 2, 5)
    stage.alone(one)
    stage.write("A", one, 7)
    size = end_of(stage.world, one)
    later = stage.elected((two, three), 3, 4, 6, 12)
    voter = two + three - later
    stage.part(later, voter)
    stage.join(one, voter)
    stage.elected((one, voter), 8, 9, 10, 11)
    stage.at(lambda w: end_of(w, voter) == size, f"{voter} copies A", 15)
    stage.apply("cut_one_way", one, voter, text=f"nothing from {one} reaches {voter}")
    stage.until(lambda w: high_watermark(w, one) >= size, f"{one} commits A", 16)
    stage.die(one)
    stage.join(later, voter)
    stage.elected((later, voter), 13, 14, 17, 18)


def two_voters_removed(stage: QuorumStage) -> None:
    """two-voters-at-once: one is a majority of its own voters, the others of theirs."""
    one, two, three = stage.trio
    stage.note(f"{one} leads epoch 1, and has committed its first record", 1, 2, 3, 4, 5, 6)
    stage.alone(one)
    for each, asked in ((two, 101), (three, 102)):
        key = stage.replica(one).state.history.voters.key_of(each)
        stage.world.post(m.RemoveRaftVoterRequest(None, *key), asked)
        stage.note(f"an operator asks to remove voter {each}")
    stage.until(
        lambda w: replica(w, one).state.voters == (one,), f"{one} is the only voter left", 10
    )
    stage.committed(one, 11)
    stage.elected((two, three), 7, 8, 9)


@dataclass(frozen=True)
class Scene:
    """How a rung is broken, in a world made with `options`.

    `otherwise` says what differs from the model's story, names apart, and why.
    """

    play: Callable[[QuorumStage], None]
    otherwise: str
    options: Mapping[str, Any] = field(default_factory=dict)


SCENES = {
    "no-epochs": Scene(
        an_answer_of_an_earlier_epoch,
        "The leader of epoch 2 dies at the moment of its election, so that the voter finds only "
        "the one of epoch 1. It comes back, and is elected without A. With this rule a leader does "
        "not hear of a later epoch in the answers to its own requests, either.",
    ),
    "any-log": Scene(
        a_log_without_the_record,
        "A voter that hears of its leader refuses the pre-vote. So the leader dies, and the voter "
        "that has A restarts; step 3 comes after that.",
    ),
    "longest-log": Scene(
        the_longer_log,
        "A is a topic of 50 partitions: its records make a longer log than those of B. Each leader "
        "dies, so that the next can be elected; steps 8 and 9 come after 12.",
    ),
    "vote-in-memory": Scene(
        a_vote_forgotten,
        "The voter is the leader of epoch 1, so they stand in epoch 2. Its links are slow: both "
        "candidates have its pre-vote before one of them has its vote. Step 5 comes before 4.",
    ),
    "old-epoch-by-counting": Scene(
        an_older_record_counted,
        "B2 is the record with which a leader opens its epoch; step 12 comes with step 6. A fetch "
        "brings one batch (controller.quorum.fetch.max.bytes=1), so A comes without the record "
        "that opens epoch 3. The leader that has counted A dies, so that another is elected; steps "
        "13 and 14 come after that.",
        options={"settings": {"controller.quorum.fetch.max.bytes": 1}},
    ),
    "two-voters-at-once": Scene(
        two_voters_removed,
        "Two requests remove a voter each, and the second does not wait until the first is "
        "committed. Steps 7 to 9 come last.",
        options={"voters": 3},
    ),
}
