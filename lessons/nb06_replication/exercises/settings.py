"""06-7: replication settings, judged by running them in the simulator."""

from __future__ import annotations

from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong

FACTOR, MINIMUM = "replication.factor", "min.insync.replicas"
WANTED = {FACTOR: 4, MINIMUM: 2, "acks": "all"}


def judge_settings(answer: Any, context: Context) -> Verdict:
    if not isinstance(answer, dict) or set(answer) != set(WANTED):
        return wrong(
            "Give a dictionary with these three settings, and no others.",
            expected=sorted(WANTED),
            seen=answer,
        )
    factor, minimum, acks = (answer[name] for name in WANTED)
    acks = "all" if str(acks) in ("all", "-1") else str(acks)
    if factor not in (1, 2, 3, 4) or minimum not in (1, 2, 3, 4) or acks not in ("0", "1", "all"):
        return wrong(
            f"{_impossible(factor, minimum, acks)}, so these settings cannot be tried.",
            expected="1 to 4 replicas, a minimum of 1 to 4, acks 0, 1 or all",
            seen=answer,
        )
    if acks != "all":
        return wrong(
            f"With acks={acks} the producer is done before the followers have a copy: the death "
            "of the leader alone can lose a payment.",
            expected="lost: 0",
            seen=_lost_by_a_dying_leader(factor, acks),
            counter_example="in 12 worlds the links to the followers fail, the leader acknowledges "
            "a payment, and dies",
        )
    outcomes = _upgrade_and_death(factor, minimum)
    if outcomes != ["paid"] * 3:
        down = next(place for place, outcome in enumerate(outcomes) if outcome != "paid")
        brokers = ("all brokers up", "one broker down", "two brokers down")[down]
        return wrong(
            f"With {factor} replicas and a minimum of {minimum}, writes stop with {brokers}: that "
            f"leaves {('none', 'one', 'two', 'three')[max(factor - down, 0)]} of the replicas.",
            expected="paid, paid, paid",
            seen=", ".join(outcomes),
            counter_example="all up; one broker stopped for its upgrade; another one dead",
        )
    if minimum < 2:
        return wrong(
            "With a minimum of 1 writes never stop: the last replica acknowledges a payment that "
            "no other broker has.",
            expected="still there",
            seen=_last_copy_dies(factor, minimum),
            counter_example="three brokers gone, a payment acknowledged, the last disk dies",
        )
    return right(
        f"The judge ran it: {', '.join(outcomes)}. Writes survive the loss of two brokers, and "
        "each payment is on two brokers when it is acknowledged."
    )


def _impossible(factor: Any, minimum: Any, acks: str) -> str:
    if factor not in (1, 2, 3, 4):
        return f"Four brokers cannot hold {factor!r} replicas"
    if minimum not in (1, 2, 3, 4):
        return f"The minimum {minimum!r} is not a number from 1 to 4"
    return f"acks is 0, 1 or all, and not {acks}"


def _upgrade_and_death(factor: int, minimum: int) -> list[str]:
    from kit.probes.one_partition import TOPIC, cluster
    from kit.probes.virtual import send

    world = cluster(range(101, 101 + factor), minimum=minimum, brokers=4, checked=False)
    errors = [send(world, TOPIC, "payment").error]
    for broker, fault in ((101, world.stop), (102, world.kill)):
        fault(broker)
        world.run(for_s=8)
        led = world.leader(TOPIC, 0) >= 0
        errors.append(send(world, TOPIC, "payment").error if led else "no leader")
    return ["paid" if each == "NONE" else f"refused ({each})" for each in errors]


def _lost_by_a_dying_leader(factor: int, acks: str) -> str:
    from kit.probes.one_partition import TOPIC, cluster
    from kit.probes.virtual import readable, send

    lost = 0
    for seed in range(12):
        world = cluster(range(101, 101 + factor), brokers=4, seed=seed, checked=False)
        for follower in range(102, 101 + factor):
            world.cut(101, follower)
        send(world, TOPIC, "payment", acks=acks)
        world.kill(101)
        world.run(for_s=5)
        led = world.leader(TOPIC, 0) >= 0
        lost += not (led and readable(world, TOPIC))
    return f"lost: {lost}"


def _last_copy_dies(factor: int, minimum: int) -> str:
    from kit.probes.one_partition import TOPIC, cluster
    from kit.probes.virtual import readable, send

    world = cluster(range(101, 101 + factor), minimum=minimum, brokers=4, checked=False)
    for broker in range(102, 101 + factor):
        world.kill(broker)
        world.run(for_s=4)
    error = send(world, TOPIC, "payment").error
    world.kill(101)
    world.run(for_s=4)
    world.replace_disk(101)
    for broker in range(101, 101 + factor):
        world.start(broker)
    world.run(for_s=10)
    led = world.leader(TOPIC, 0) >= 0
    kept = "still there" if led and readable(world, TOPIC) else "gone"
    return f"the write was answered {error}, and the payment is {kept}"


EXERCISE = Exercise(
    "06-7",
    "Settings for payments",
    (
        "Replication factor minus the minimum is the number of brokers that may be down.",
        "In the worst hour two brokers are down, and a payment must still be on two brokers when "
        "it is acknowledged.",
        "Begin with the worst hour: how many copies must an acknowledged payment have? That is "
        "the minimum. Add the brokers that are down then: that is the factor. Then choose the acks "
        "that wait for the ISR; without it the minimum does not count.",
    ),
    judge_settings,
    {
        "the usual three and two": 'payments = {"replication.factor": 3, '
        '"min.insync.replicas": 2, "acks": "all"}',
        "as strict as can be": 'payments = {"replication.factor": 4, '
        '"min.insync.replicas": 3, "acks": "all"}',
        "always writable": 'payments = {"replication.factor": 4, '
        '"min.insync.replicas": 1, "acks": "all"}',
        "fast": 'payments = {"replication.factor": 4, "min.insync.replicas": 2, "acks": "1"}',
        "two copies": 'payments = {"replication.factor": 2, '
        '"min.insync.replicas": 1, "acks": "all"}',
        "more replicas than brokers": 'payments = {"replication.factor": 5, '
        '"min.insync.replicas": 2, "acks": "all"}',
        "one setting forgotten": 'payments = {"replication.factor": 4, "acks": "all"}',
    },
    minutes=8,
)
