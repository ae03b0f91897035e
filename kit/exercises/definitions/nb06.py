"""The judge's side of notebook 06: replication and the ISR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import (
    Exercise,
    Prediction,
    Verdict,
    compare_results,
    right,
    wrong,
)

# -- 06-4: the high watermark

WATERMARKS = (
    ({101: 3}, [101], 1, 0),
    ({101: 7, 102: 3}, [101, 102], 1, 0),
    ({101: 7, 102: 3}, [101], 1, 3),
    ({101: 7, 102: 3, 103: 5}, [101, 103], 2, 3),
    ({101: 7, 102: 3, 103: 5}, [101], 2, 3),
    ({101: 7, 102: 3, 103: 7}, [101, 102, 103], 2, 5),
)


def high_watermark(log_ends: dict, isr: list, min_isr: int, current: int) -> int:
    if len(isr) < min_isr:
        return current
    return max(current, min(log_ends[broker] for broker in isr))


def explain_watermark(arguments: tuple, expected: int, seen: Any) -> str:
    log_ends, isr, min_isr, current = arguments
    if len(isr) < min_isr:
        return (
            f"The ISR has {len(isr)} and the minimum is {min_isr}: the HW stands still (KIP-966)."
        )
    if isinstance(seen, int) and seen < current:
        return "The HW of a leader never goes back, whatever a follower that rejoins may hold."
    if seen == max(log_ends.values()):
        return "That is where the log ends: what is written, not what is committed."
    if seen == min(log_ends.values()):
        return "You waited for a replica that is not in the ISR."
    return ""


# -- 06-5: the election

ELECTIONS: tuple[tuple, ...] = (
    ([101], [101], [], [101]),
    ([101, 102], [102], [], [101, 102]),
    ([101, 102, 103], [103, 102], [], [102, 103]),
    ([101, 102, 103], [101], [], [102, 103]),
    ([101, 102, 103], [], [102], [102, 103]),
    ([101, 102, 103], [], [], [101, 102, 103]),
    ([103, 101, 102], [101, 103], [], [101, 103]),
    ([101, 102, 103], [101], [102], [102, 103]),
)


def elect(replicas: list, isr: list, elr: list, alive: list) -> int:
    candidates = isr or elr
    able = [broker for broker in replicas if broker in candidates and broker in alive]
    return able[0] if able else -1


def explain_election(arguments: tuple, expected: int, seen: Any) -> str:
    _, isr, elr, alive = arguments
    if expected == -1 and seen in alive:
        if seen in elr:
            return "The ELR counts only when the ISR is empty."
        return (
            f"{seen} is alive, but neither in the ISR nor eligible: electing it would be unclean."
        )
    if seen == -1 and elr:
        return "With an empty ISR an eligible leader replica may lead, and it is a clean election."
    if isr and seen == isr[0]:
        return "Both could lead. Kafka takes the first in the order of the replica list."
    if isinstance(seen, int) and seen not in alive:
        return f"{seen} is not alive."
    return f"{seen} has no place in the ISR." if isr and seen not in isr else ""


# -- 06-6: under-replicated partitions


def partition(leader: int, replicas: list[int], isr: list[int]) -> dict[str, Any]:
    return {"leader": leader, "replicas": replicas, "isr": isr}


METRICS: tuple[tuple, ...] = (
    ([],),
    ([partition(101, [101, 102], [101, 102])],),
    ([partition(101, [101, 102, 103], [101, 103])],),
    ([partition(-1, [102, 103], [])],),
    (
        [
            partition(101, [102, 101], [101]),
            partition(101, [101, 102], [101]),
            partition(103, [103, 101], [103, 101]),
            partition(-1, [102], []),
        ],
    ),
)


def under_replicated(partitions: list[dict]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for each in partitions:
        if each["leader"] != -1 and len(each["isr"]) < len(each["replicas"]):
            counts[each["leader"]] = counts.get(each["leader"], 0) + 1
    return counts


def explain_metric(arguments: tuple, expected: dict, seen: Any) -> str:
    if not isinstance(seen, Mapping):
        return ""
    if -1 in seen:
        return "Nobody leads an offline partition, so nobody counts it: that is another metric."
    if any(count == 0 for count in seen.values()):
        return "Leave out the brokers whose metric is zero."
    (partitions,) = arguments
    absent = {b for p in partitions for b in p["replicas"] if b not in p["isr"]}
    if absent & set(seen):
        return "A replica that is out of sync does not count itself: its leader does."
    return ""


# -- 06-7: settings, judged by a run

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
            f"{factor} replicas and a minimum of {minimum}: two brokers fewer stop the writes.",
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
    from kit.lessons import replication_runs as runs
    from kit.lessons.virtual import send

    world = runs.cluster(range(101, 101 + factor), minimum=minimum, brokers=4, checked=False)
    told = [send(world, runs.TOPIC, "payment").error]
    for broker, fault in ((101, world.stop), (102, world.kill)):
        fault(broker)
        world.run(for_s=8)
        led = world.leader(runs.TOPIC, 0) >= 0
        told.append(send(world, runs.TOPIC, "payment").error if led else "no leader")
    return ", ".join("paid" if each == "NONE" else f"refused ({each})" for each in told)


def _lost_by_a_dying_leader(factor: int, acks: str) -> str:
    from kit.lessons import replication_runs as runs
    from kit.lessons.virtual import readable, send

    lost = 0
    for seed in range(12):
        world = runs.cluster(range(101, 101 + factor), brokers=4, seed=seed, checked=False)
        send(world, runs.TOPIC, "payment", acks=acks)
        world.kill(101)
        world.run(for_s=5)
        led = world.leader(runs.TOPIC, 0) >= 0
        lost += not (led and readable(world, runs.TOPIC))
    return f"lost: {lost}"


def _last_copy_dies(factor: int, minimum: int) -> str:
    from engine.storage.memory_disk import MemoryDisk
    from kit.lessons import replication_runs as runs
    from kit.lessons.virtual import readable, send

    world = runs.cluster(range(101, 101 + factor), minimum=minimum, brokers=4, checked=False)
    for broker in range(102, 101 + factor):
        world.kill(broker)
        world.run(for_s=4)
    told = send(world, runs.TOPIC, "payment").error
    world.kill(101)
    world.run(for_s=4)
    world.cluster.disks[101] = MemoryDisk()
    for broker in range(101, 101 + factor):
        world.start(broker)
    world.run(for_s=10)
    led = world.leader(runs.TOPIC, 0) >= 0
    kept = "still there" if led and readable(world, runs.TOPIC) else "gone"
    return f"the write was answered {told}, and the payment is {kept}"


# -- 06-8: leaders go home, judged on the cluster


def judge_leaders(answer: Any, context: Context) -> Verdict:
    partitions = context.partitions("fleet")
    if len(partitions) != 6:
        return wrong(
            "fleet should have six partitions; run the cell that makes it once more.",
            expected=6,
            seen=len(partitions),
        )
    values = [record.value for record in context.records("fleet")]
    if b"keep me" not in values:
        return wrong(
            "The leaders are where they belong, but this is another topic: the record is gone.",
            expected="the record 'keep me'",
            seen=f"{len(values)} records",
        )
    away = {index: p.leader for index, p in partitions.items() if p.leader != p.replicas[0]}
    if away:
        idle = sorted({p.replicas[0] for p in partitions.values()} - _leaders(partitions))
        message = f"Broker {idle[0]} still leads nothing." if idle else "Some are still away."
        if len(away) < _prefer_101(partitions):
            message = "Some went home. Ask for the others, too: the request names partitions."
        return wrong(
            message,
            expected="each partition led by its first replica",
            seen=", ".join(f"fleet-{index} led by {leader}" for index, leader in away.items()),
        )
    return right("Every partition is led by its preferred replica, and the record is there.")


def _leaders(partitions: Mapping[int, Any]) -> set[int]:
    return {p.leader for p in partitions.values()}


def _prefer_101(partitions: Mapping[int, Any]) -> int:
    """How many partitions prefer broker 101, which was restarted."""
    return sum(p.replicas[0] == 101 for p in partitions.values())


ELECT = """
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient

admin = AdminClient({"bootstrap.servers": eng.bootstrap})
partitions = [TopicPartition("fleet", index) for index in range(6)]
"""

EXERCISES = (
    Prediction(
        "06-1",
        "The leader 101 has records 0 to 6 of a partition. Follower 102 has last asked for "
        "offset 3, follower 103 for offset 5; both are in the ISR. What is the high watermark?",
        ("7: the leader has them all", "3: all three have what is below it", "5: a majority has "
         "what is below it", "6: the last record's offset"),
        right=frozenset("b"),
        explanation="The HW is the smallest log end of the in-sync replicas, as the leader knows "
        "them from their last fetch: min(7, 3, 5). The first diagram below shows it move.",
        because={
            "a": "That is the log end. Written is not committed.",
            "c": "Kafka's replication does not vote: it waits for every member of the ISR.",
            "d": "The HW is the first offset that is not committed, and 6 is on one broker only.",
        },
    ),
    Prediction(
        "06-2",
        "Three replicas, all in sync, min.insync.replicas=2. One follower is slow but still in "
        "the ISR. How long does a write with acks=all wait?",
        ("until two replicas have it", "until all three have it", "until the leader has it"),
        right=frozenset("b"),
        explanation="acks=all waits for the whole current ISR; the minimum only decides whether "
        "the write is taken at all. The table of slow brokers measures it.",
        because={
            "a": "min.insync.replicas is a lower bound for the ISR, not the number to wait for.",
            "c": "That is acks=1.",
        },
    ),
    Prediction(
        "06-3",
        "A producer writes with acks=all. You kill the leader with SIGKILL. What happens?",
        ("the records of the last seconds are lost",
         "the producer gets an error for every record in flight",
         "for some seconds nothing is acknowledged, then the producer goes on; no acknowledged "
         "record is missing",
         "the producer notices nothing at all"),
        right=frozenset("c"),
        explanation="The controller waits for broker.session.timeout.ms, then names a leader "
        "from the ISR; the client retries until it finds it. Side by side you count them.",
        because={
            "a": "An acknowledged record was on every in-sync replica, and one of them leads now.",
            "b": "It retries by itself until delivery.timeout.ms (message.timeout.ms here).",
            "d": "Look at the gap in the chart of acknowledgements.",
        },
    ),
    Exercise(
        "06-4",
        "The rule of the high watermark",
        (
            "When is a record committed? Say it in one sentence that has the word every in it.",
            "Only the ISR counts, and only while it is not smaller than min_isr.",
            "max(current, min(log_ends[b] for b in isr)), unless len(isr) < min_isr.",
        ),
        lambda answer, context: compare_results(
            WATERMARKS, answer, high_watermark, explain_watermark
        ),
        {
            "the leader's log end": "def high_watermark(log_ends, isr, min_isr, current):\n"
            "    return max(log_ends.values())",
            "every replica": "def high_watermark(log_ends, isr, min_isr, current):\n"
            "    return max(current, min(log_ends.values()))",
            "as before KIP-966": "def high_watermark(log_ends, isr, min_isr, current):\n"
            "    return max(current, min(log_ends[b] for b in isr))",
            "it may go back": "def high_watermark(log_ends, isr, min_isr, current):\n"
            "    return min(log_ends[b] for b in isr) if len(isr) >= min_isr else current",
        },
        WATERMARKS,
    ),
    Exercise(
        "06-5",
        "Who leads next",
        (
            "Being alive is needed, and not enough.",
            "The ISR first; the ELR only when the ISR is empty; the order is that of replicas.",
            "candidates = isr or elr, then the first of replicas that is in it and alive.",
        ),
        lambda answer, context: compare_results(ELECTIONS, answer, elect, explain_election),
        {
            "anyone alive": "def elect(replicas, isr, elr, alive):\n"
            "    return next((b for b in replicas if b in alive), -1)",
            "order of the ISR": "def elect(replicas, isr, elr, alive):\n"
            "    return next((b for b in isr or elr if b in alive), -1)",
            "no ELR": "def elect(replicas, isr, elr, alive):\n"
            "    return next((b for b in replicas if b in isr and b in alive), -1)",
            "ISR and ELR alike": "def elect(replicas, isr, elr, alive):\n"
            "    return next((b for b in replicas if b in isr + elr and b in alive), -1)",
        },
        ELECTIONS,
    ),
    Exercise(
        "06-6",
        "Under-replicated partitions",
        (
            "Who counts: the broker that is missing, or the one that misses it?",
            "A partition is under-replicated when its ISR is smaller than its replica list.",
            "Count those with leader != -1 and len(isr) < len(replicas), by leader.",
        ),
        lambda answer, context: compare_results(METRICS, answer, under_replicated, explain_metric),
        {
            "counted at the missing broker": "def under_replicated(partitions):\n"
            "    counts = {}\n    for p in partitions:\n        for b in p['replicas']:\n"
            "            if b not in p['isr'] and p['leader'] != -1:\n"
            "                counts[b] = counts.get(b, 0) + 1\n    return counts",
            "offline ones, too": "def under_replicated(partitions):\n"
            "    counts = {}\n    for p in partitions:\n"
            "        if len(p['isr']) < len(p['replicas']):\n"
            "            counts[p['leader']] = counts.get(p['leader'], 0) + 1\n    return counts",
            "zeros kept": "def under_replicated(partitions):\n"
            "    counts = {p['leader']: 0 for p in partitions if p['leader'] != -1}\n"
            "    for p in partitions:\n"
            "        if p['leader'] != -1 and len(p['isr']) < len(p['replicas']):\n"
            "            counts[p['leader']] += 1\n    return counts",
        },
        METRICS,
    ),
    Exercise(
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
    ),
    Exercise(
        "06-8",
        "Bring the leaders home",
        (
            "There is an election that prefers the first replica.",
            "AdminClient.elect_leaders takes an election type and a list of TopicPartition.",
            "admin.elect_leaders(ElectionType.PREFERRED, partitions).result()",
        ),
        judge_leaders,
        {
            "the other election": ELECT
            + "admin.elect_leaders(ElectionType.UNCLEAN, partitions).result()",
            "only some of them": ELECT
            + "here = eng.snapshot()['topics']['fleet']['partitions']\n"
            "away = [p for p in partitions"
            " if here[p.partition]['leader'] != here[p.partition]['replicas'][0]]\n"
            "admin.elect_leaders(ElectionType.PREFERRED, away[:1]).result()",
            "a new topic": "eng.create_topic('fleet', partitions=6, replicas=3)",
        },
    ),
    Prediction(
        "06-9",
        "Fault tolerance is going on with a failed part; high availability is being up most of a "
        "long time; resilience is recovering from load, attack or failure. Which two of these "
        "are fault tolerance?",
        ("one of three replicas is dead and writes go on",
         "over the year a leader was there in 99.95 % of all minutes",
         "after a peak the consumers' lag is back at zero within the hour",
         "the leader dies and a follower takes over in the next epoch",
         "upgrades are planned so that the monthly downtime stays below 20 minutes",
         "a broker that was overrun restarts, cuts its log, catches up and rejoins the ISR"),
        right=frozenset("ad"),
        explanation="b and e are availability: a budget over time (99.95 % is 22 minutes a "
        "month, or 400 elections of 3 s). c and f are resilience.",
    ),
    Prediction(
        "06-10",
        "Which of these are true of the ISR?",
        ("the leader is always in it",
         "a follower that is two records behind is out",
         "a follower that was caught up at some moment in replica.lag.time.max.ms is in",
         "a broker that the controller fences is dropped",
         "acks=all waits for every member",
         "at an election the member with most records is taken"),
        right=frozenset("acde"),
        explanation="Time decides, not the number of records; and at an election the order of "
        "the replica list decides, for every member holds all that is committed.",
        because={
            "b": "Two records are nothing if they are caught up with in time.",
            "f": "Nobody compares logs at an election.",
        },
    ),
    Prediction(
        "06-11",
        "Three replicas in sync, min.insync.replicas=2, acks=all. What can lose a record that "
        "was acknowledged?",
        ("the leader is killed",
         "the power fails on all three brokers before anything is flushed",
         "an unclean election",
         "two brokers are killed one after the other, then come back",
         "a follower is paused for a minute"),
        right=frozenset("bc"),
        explanation="Replication bears the loss of copies one by one. It does not bear the loss "
        "of all at once, nor a leader that was chosen without having them.",
        because={
            "a": "Another in-sync replica has it.",
            "d": "The last one keeps it, and the HW stands still meanwhile.",
            "e": "It leaves the ISR, and that is all.",
        },
    ),
)  # fmt: skip
