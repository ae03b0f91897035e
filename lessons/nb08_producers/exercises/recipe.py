"""08-7: settings for a ledger, judged by playing the fault tape in the simulator.

The rate of a recipe is measured there, too, with the producer 2 ms from the leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong

MINIMUM = "min.insync.replicas"
IN_FLIGHT = "max.in.flight.requests.per.connection"
GIVEN = ("acks", "enable.idempotence", IN_FLIGHT, MINIMUM)
MOST_IN_FLIGHT = 5
FAST_ENOUGH = 0.8
"""Part of the rate with the most requests in flight."""
HARM = {
    "lost": "Acknowledged and lost: {}. The last replica had acknowledged it alone.",
    "duplicate": "Twice in the log: {}. An answer was lost, and the leader took the second attempt "
    "for a new record.",
    "reordered": "Out of order: {}. Several requests were in flight when the connection ended.",
}
LOST_WITH = {
    "0": "Counted as a success and lost: {}. With acks=0 no broker answers, and the producer "
    "believes that all is well.",
    "1": "Acknowledged and lost: {}. The answer came before the followers had it.",
}


def judge_recipe(answer: Any, context: Context) -> Verdict:
    from engine.client.settings import ProducerSettings
    from engine.sim.world.world import World
    from engine.wire.errors import KafkaError
    from lessons.nb08_producers import fault_tape
    from lessons.nb08_producers.fault_stages import Simulated

    if not isinstance(answer, dict) or set(answer) != set(GIVEN):
        return wrong(
            "Give a dictionary with these four settings, and no others.",
            expected=sorted(GIVEN),
            seen=answer,
        )
    settings = {name: answer[name] for name in GIVEN if name != MINIMUM}
    try:
        ProducerSettings.of(settings)
    except KafkaError as refusal:
        return wrong(
            f"The client refuses these settings: {refusal.message}",
            expected="a producer",
            seen="ConfigException",
        )
    minimum = answer[MINIMUM]
    if minimum not in (1, 2):
        return wrong(
            f"With a minimum of {minimum!r}, three replicas and one broker down for its upgrade, "
            "no write is acknowledged.",
            expected="a minimum that two brokers can meet",
            seen=minimum,
        )
    recipe = fault_tape.Recipe(settings, minimum)
    judged = fault_tape.play(Simulated(World(seed=8)), {"ledger": recipe})["ledger"]
    for kind, sentence in HARM.items():
        if found := judged.findings.of(kind):
            if kind == "lost":
                sentence = LOST_WITH.get(str(settings["acks"]), sentence)
            first = found[0]
            return wrong(
                sentence.format(judged.named(kind)),
                expected="A B C D E F G H I J",
                seen=" ".join(judged.log),
                counter_example=f"{first.sentence}\n{first.timeline}",
            )
    most = _rate({**settings, IN_FLIGHT: MOST_IN_FLIGHT})
    mine = _rate(settings)
    if mine < FAST_ENOUGH * most:
        return wrong(
            f"Nothing is lost, twice or out of order. But {settings[IN_FLIGHT]} in flight gives "
            f"{mine:.0f} records/s, and idempotence keeps the order with more, too.",
            expected=f"about {most:.0f} records/s, with the producer 2 ms from the leader",
            seen=f"{mine:.0f} records/s",
        )
    return right(
        "The judge played the whole tape: every record is there, once, in its order. "
        f"Without a fault it is {mine:.0f} records/s, with the producer 2 ms from the leader."
    )


def _rate(settings: Mapping[str, Any]) -> float:
    """Records per virtual second, a record per request."""
    from lessons.nb08_producers.virtual_runs import without_a_fault

    return without_a_fault(settings)[0]


def _answer(acks: str, idempotence: bool, in_flight: int, minimum: int) -> str:
    return (
        f'ledger = {{"acks": "{acks}", "enable.idempotence": {idempotence}, '
        f'"{IN_FLIGHT}": {in_flight}, "{MINIMUM}": {minimum}}}'
    )


EXERCISE = Exercise(
    "08-7",
    "Settings for a ledger",
    (
        "Three harms, three settings: which of them stops a copy, which keeps the order, which "
        "keeps the last replica from answering alone?",
        "Idempotence stops the second copy and keeps the order, if acks is what it needs. Against "
        "the loss it can do nothing: which setting of the topic can?",
        "Choose the acks that wait for the ISR, and a minimum that one broker cannot meet alone "
        "but two can. Switch on what lets the leader recognize a repeat. Then allow as many "
        "requests in flight as that permits.",
    ),
    judge_recipe,
    {
        "fast": _answer("1", False, 5, 2),
        "the old recipe, half": _answer("all", False, 5, 2),
        "Kafka's defaults": _answer("all", True, 5, 1),
        "idempotence with acks=1": _answer("1", True, 5, 2),
        "six in flight": _answer("all", True, 6, 2),
        "slow and safe": _answer("all", True, 1, 2),
        "all three must have it": _answer("all", True, 5, 3),
        "no broker answers": _answer("0", False, 5, 2),
    },
    minutes=6,
)
