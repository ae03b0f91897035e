"""The ladder's counter-examples, replayed in the brokers' own code.

    broken = replay("kip-279")            a world with that rule, up to the broken invariant
    print(broken)                         move by move, with the steps of the model's story
    fixed = follow(broken)                the same tape, with the next rule

The model is freer than a cluster.  Its controller moves leadership back and forth while
every replica stays in the ISR, its replicas hear of a later epoch without the ones before, and
a broker answers in a role that it has not heard of.  A KRaft controller moves leadership
when asked for the preferred leader, or away from a broker that leaves or is missed; a
broker applies the metadata log record by record, and refuses if it does not lead.  So each
scene (engine/sim/model/replay_scenes.py) goes a way that is open to real brokers, and says where it
differs; the cause is the model's.  No election is unclean, no broker loses power, and no setting is
unsafe except min.insync.replicas=1.

    scene of               replays                    breaks also      fixed by
    to-high-watermark      3 replicas, 8 steps                         kip-101
    kip-101                2 replicas, 11 steps                        kip-279
    kip-279                3 replicas, 10 steps       all before it    kip-320-first-try
    kip-320-first-try      3 replicas, 12 steps       all before it    kip-320

Two cells of the ladder are not here.  With two replicas, to-high-watermark needs a
leadership that goes over and back while both stay in the ISR, which no KRaft controller
does.  With three, kip-101's story is kip-279's.
"""

from __future__ import annotations

from engine.sim.model.explore import explore
from engine.sim.model.replay_scenes import LATE_MS, SCENES, SETTINGS
from engine.sim.model.replay_stage import TOPIC, Replay
from engine.sim.model.stage import PATIENCE_S, PAUSE_S
from engine.sim.world.world import World

AFTERMATH_S = 15.0


def replay(rule: str, seed: int = 7, checked: bool = True) -> Replay:
    """Plays a rule's scene in a world with that rule, up to the first broken invariant.

    With `checked=False` nothing stops it, and the scene runs to its end.
    """
    if rule not in SCENES:
        raise ValueError(f"{rule!r} has no counter-example: choose from {', '.join(SCENES)}.")
    scene = SCENES[rule]
    world = World(seed, settings=SETTINGS, rule=rule, checked=checked)
    if scene.absent:
        world.stop(scene.absent)
        world.run(until=lambda w: scene.absent not in w.cluster.nodes, for_s=PATIENCE_S)
    world.create_topic(TOPIC, assignment={0: list(scene.replicas)})
    world.run(for_s=PAUSE_S)
    story = explore(rule, len(scene.replicas)).counter_example
    stage = Replay(rule, world, world.events, story, otherwise=scene.otherwise)
    return stage.watched(lambda: scene.play(stage))


def follow(broken: Replay, rule: str | None = None) -> Replay:
    """The tape of a replay with another rule (by default the next), and the aftermath.

    A copy of its world goes back to where the scene begins, changes the rule, and does each
    action again at its moment; then every fault is undone, and time passes.
    """
    tape = broken.tape
    ended_us = broken.world.now_us
    world = broken.world.fork()
    world.goto(event=broken.begins)
    world.use_rule(rule or SCENES[broken.rule].fixed_by)
    other = Replay(world.cluster.spec.rule, world, broken.begins)

    def play() -> None:
        world.follow(tape)
        other.note(f"the same {len(tape)} actions, each at its moment")
        world.run(for_s=(ended_us - world.now_us) / 1e6 + LATE_MS / 1e3)
        other.note("as much time passes as then, and more")
        world.heal()
        world.run(for_s=AFTERMATH_S)
        other.note(f"all links and brokers are repaired, and {AFTERMATH_S:.0f} s pass")

    return other.watched(play)
