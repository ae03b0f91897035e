"""The judge's side of the sample notebook."""

from random import Random

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import (
    Exercise,
    Prediction,
    Question,
    Verdict,
    compare_results,
    right,
    wrong,
)


def partitions(source: Random) -> list[tuple]:
    """Log ends and an ISR: three known cases, then some that only the judge knows."""
    inputs: list[tuple] = [
        ({101: 3}, [101]),
        ({101: 5, 102: 3}, [101, 102]),
        ({101: 5, 102: 3, 103: 4}, [101, 103]),
    ]
    for _ in range(5):
        log_ends = {broker: source.randrange(1000) for broker in (101, 102, 103)}
        inputs.append((log_ends, source.sample([101, 102, 103], k=2)))
    return inputs


def reference(log_end_offsets: dict, isr: list) -> int:
    return min(log_end_offsets[broker] for broker in isr)


def explain(arguments: tuple, expected: int, seen: object) -> str:
    log_end_offsets, _ = arguments
    if seen == max(log_end_offsets.values()):
        return "That is the leader's log end: what is written, not what is committed."
    if seen == min(log_end_offsets.values()):
        return "You waited for a replica that is not in the ISR."
    return ""


def judge_high_watermark(answer: object, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, reference, explain)


def judge_quorum(answer: object, context: Context) -> Verdict:
    if not isinstance(answer, dict):
        return wrong("Give a dictionary of settings.", expected="a dictionary", seen=answer)
    if answer.get("min.insync.replicas") == 3:
        return wrong("One lost broker stops all writes.", expected=2, seen=3)
    if answer.get("min.insync.replicas") == 1:
        return wrong("One lost broker may lose what was acknowledged.", expected=2, seen=1)
    if answer != {"replicas": 3, "min.insync.replicas": 2}:
        return wrong("Not these settings.", expected="3 and 2", seen=answer)
    return right("Survives one broker, and says so when it cannot.")


EXERCISES = (
    Prediction(
        "99-1",
        "Where does the high watermark stand?",
        ("at the longest log's end", "at the shortest in-sync log's end", "at the leader's end"),
        tempting="a",
        settle=lambda seen: "ba"[seen["high watermark"] == max(seen["log ends"])],
        because={
            "a": "The longest log ends at 5 and the high watermark is {high watermark}.",
            "b": "The high watermark is {high watermark}, {gap:.1f} above the shortest.",
            "c": "The leader may hold what the others do not; they end at {log ends}.",
        },
    ),
    Prediction(
        "99-5",
        "Which brokers are behind?",
        form="a list of brokers",
        settle=lambda seen: seen["behind"],
        explain=lambda answer, seen: f"Behind are {len(seen['behind'])}; you named {answer}.",
    ),
    Exercise(
        "99-2",
        "The rule of the high watermark",
        ("Who must have a record?", "Look at the ISR only.", "It is a minimum."),
        judge_high_watermark,
        {
            "the leader's log end": "def high_watermark(leo, isr):\n    return max(leo.values())",
            "every replica": "def high_watermark(leo, isr):\n    return min(leo.values())",
            "raises": "def high_watermark(leo, isr):\n    return leo['101']",
        },
        partitions,
    ),
    Exercise(
        "99-3",
        "Settings that survive one broker",
        ("Count the brokers.", "Lose one.", "How many are left, and how many must answer?"),
        judge_quorum,
        {
            "all of them": 'quorum = {"replicas": 3, "min.insync.replicas": 3}',
            "one is enough": 'quorum = {"replicas": 3, "min.insync.replicas": 1}',
        },
    ),
    Question(
        "99-4",
        "Which may lead?",
        ("one in the ISR", "one with the longest log", "one in the ELR, if the ISR is empty"),
        right=frozenset("ac"),
        explanation="The ISR first, then the ELR.",
        because={"b": "Nothing compares logs."},
    ),
)
