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
            "Give a dictionary with these three settings.", expected=sorted(WANTED), seen=answer
        )
    factor, minimum, acks = (answer[name] for name in WANTED)
    acks = "all" if str(acks) in ("all", "-1") else str(acks)
    if factor not in (1, 2, 3, 4) or minimum not in (1, 2, 3, 4) or acks not in ("0", "1", "all"):
        return wrong(
            "These cannot be tried on four brokers.",
            expected="1 to 4 replicas, a minimum of 1 to 4, acks 0, 1 or all",
            seen=answer,
        )
    if acks != "all":
        return wrong(
            "The answer comes before the copies: the leader's death alone can lose a payment.",
            expected="lost: 0",
            seen=_lost_by_a_dying_leader(factor, acks),
            counter_example="the leader dies at the moment of the answer, in 12 worlds",
        )
    told = _upgrade_and_death(factor, minimum)
    if "refused" in told:
        return wrong(
            f"{factor} replicas and a minimum of {minimum}: the loss of two brokers stops writes.",
            expected="paid, paid, paid",
            seen=told,
            counter_example="all up; one broker stopped for its upgrade; another one dead",
        )
    if minimum < 2:
        return wrong(
            "Writes never stop, and that is the trouble: the last copy answers alone.",
            expected="still there",
            seen=_last_copy_dies(factor, minimum),
            counter_example="three brokers gone, a payment acknowledged, the last disk dies",
        )
    return right(
        f"The judge ran it: {told}. Two brokers may go, and each answer speaks for two copies."
    )


def _upgrade_and_death(factor: int, minimum: int) -> str:
    from kit.probes.one_partition import TOPIC, cluster
    from kit.probes.virtual import send

    world = cluster(range(101, 101 + factor), minimum=minimum, brokers=4, checked=False)
    told = [send(world, TOPIC, "payment").error]
    for broker, fault in ((101, world.stop), (102, world.kill)):
        fault(broker)
        world.run(for_s=8)
        led = world.leader(TOPIC, 0) >= 0
        told.append(send(world, TOPIC, "payment").error if led else "no leader")
    return ", ".join("paid" if each == "NONE" else f"refused ({each})" for each in told)


def _lost_by_a_dying_leader(factor: int, acks: str) -> str:
    from kit.probes.one_partition import TOPIC, cluster
    from kit.probes.virtual import readable, send

    lost = 0
    for seed in range(12):
        world = cluster(range(101, 101 + factor), brokers=4, seed=seed, checked=False)
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
    told = send(world, TOPIC, "payment").error
    world.kill(101)
    world.run(for_s=4)
    world.replace_disk(101)
    for broker in range(101, 101 + factor):
        world.start(broker)
    world.run(for_s=10)
    led = world.leader(TOPIC, 0) >= 0
    kept = "still there" if led and readable(world, TOPIC) else "gone"
    return f"the write was answered {told}, and the payment is {kept}"


EXERCISE = Exercise(
    "06-7",
    "Settings for payments",
    (
        "Replication factor minus the minimum is how many brokers you may be without.",
        "Two are gone, and the write must still be on two brokers when it is answered.",
        "Four replicas, a minimum of two, and the acks that wait for the ISR.",
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
        "one setting forgotten": 'payments = {"replication.factor": 4, "acks": "all"}',
    },
)
