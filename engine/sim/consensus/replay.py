"""The ladder's counter-examples, replayed in the controllers' own code.

    broken = replay("any-log")            a world with that rule, up to what it breaks
    print(broken)                         move by move, with the steps of the model's story
    kept = follow(broken)                 the same tape, with the rules of KRaft

The model is freer than a quorum: its voters stand for election at any time, and hear of nothing
unless they take a step.  Controllers first ask for a pre-vote, and no voter that hears from its
leader grants one; a leader also contacts voters that do not fetch.  So each scene
(replay_scenes.py) goes a way that is open to real controllers, and says where it differs; the cause
is the model's.

broken_rules.py says which lines of the controllers are broken, while the scene plays: to go back
into a scene, enter `BROKEN_RULES[rule].mutant.in_force()` first.
"""

from __future__ import annotations

from engine.sim.consensus.broken_rules import BROKEN_RULES, Overlooking
from engine.sim.consensus.ladder import Exploration, explore
from engine.sim.consensus.replay_scenes import SCENES, QuorumStage, replica
from engine.sim.model.stage import PATIENCE_S
from engine.sim.world.world import World

AFTERMATH_S = 15.0


def replay(rule: str, seed: int = 4, found: Exploration | None = None) -> QuorumStage:
    """Plays a rule's scene in a world with that rule, up to the invariant that it breaks.

    `found` is what `explore(rule)` gave, if it is known already.  ValueError names the rules.
    """
    if rule not in SCENES:
        raise ValueError(f"{rule!r} has no counter-example: choose from {', '.join(SCENES)}.")
    scene, broken = SCENES[rule], BROKEN_RULES[rule]
    world = World(seed, controllers=3, **scene.options)
    assert world.run(until=_is_at_rest, for_s=PATIENCE_S), "the controllers never agree"
    story = (found or explore(rule)).counter_example
    stage = QuorumStage(rule, world, world.events, story, otherwise=scene.otherwise)
    stage.trio = _leader_first(world)
    assert world.invariants is not None, "a new world is checked"
    world.invariants = Overlooking(world.invariants, broken.overlooks)
    with broken.mutant.in_force():
        return stage.watched(lambda: scene.play(stage))


def follow(broken: QuorumStage) -> QuorumStage:
    """The tape of a replay with the rules of KRaft, and the aftermath.

    A copy of its world goes back to where the scene begins, and does each action again at its
    moment; then every fault is undone, and time passes.
    """
    tape = broken.tape
    ended_us = broken.world.now_us
    world = broken.world.fork()
    world.goto(event=broken.begins)
    other = QuorumStage("kraft", world, broken.begins, trio=broken.trio)

    def play() -> None:
        world.follow(tape)
        other.note(f"the same {len(tape)} actions, each at its moment")
        world.run(for_s=(ended_us - world.now_us) / 1e6)
        other.note("as much time passes as then")
        world.heal()
        for each in world.cluster.spec.controllers:
            if each not in world.cluster.nodes:
                world.start(each)
        world.run(for_s=AFTERMATH_S)
        other.note(f"all links and controllers are repaired, and {AFTERMATH_S:.0f} s pass")

    return other.watched(play)


def _is_at_rest(world: World) -> bool:
    """The controllers have the same log, all of it committed."""
    logs = [replica(world, each).log for each in world.cluster.spec.controllers]
    return len({offset for each in logs for offset in (each.end_offset, each.high_watermark)}) == 1


def _leader_first(world: World) -> tuple[int, int, int]:
    controllers = world.cluster.spec.controllers
    leader = replica(world, controllers[0]).state.leader
    two, three = (each for each in controllers if each != leader)
    return leader, two, three
