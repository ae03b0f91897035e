"""08-7: settings for a ledger, judged by playing the fault tape in the simulator."""

from __future__ import annotations

from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong

MINIMUM = "min.insync.replicas"
GIVEN = ("acks", "enable.idempotence", "max.in.flight.requests.per.connection", MINIMUM)
HARM = {
    "lost": "Acknowledged, and gone: the last copy answered alone.",
    "duplicate": "Twice in the log: an answer was lost, and the second try was taken for new.",
    "reordered": "Out of order: two requests were under way when the connection ended.",
}


def judge_recipe(answer: Any, context: Context) -> Verdict:
    from engine.client.settings import ProducerSettings
    from engine.sim.world.world import World
    from engine.wire.errors import KafkaError
    from lessons.nb08_producers import fault_tape
    from lessons.nb08_producers.fault_stages import Simulated

    if not isinstance(answer, dict) or set(answer) != set(GIVEN):
        return wrong(
            "Give a dictionary with these four settings.", expected=sorted(GIVEN), seen=answer
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
            "With three replicas and one broker down for its upgrade, writes must go on.",
            expected="a minimum that two brokers can meet",
            seen=minimum,
        )
    recipe = fault_tape.Recipe(settings, minimum)
    judged = fault_tape.play(Simulated(World(seed=8)), {"ledger": recipe})["ledger"]
    for kind, sentence in HARM.items():
        if (harmed := judged.named(kind)) != "–":
            if kind == "lost" and str(settings["acks"]) in ("0", "1"):
                sentence = "Acknowledged, and gone: the answer came before the copies."
            first = next(each for each in judged.findings.of(kind) if each.value in harmed)
            return wrong(
                sentence,
                expected="A B C D E F G H I J",
                seen=" ".join(judged.log),
                counter_example=f"{first.sentence}\n{first.timeline}",
            )
    if settings["max.in.flight.requests.per.connection"] == 1:
        return wrong(
            "Nothing is lost, twice or out of order, but with one request in flight it is slow; "
            "idempotence keeps the order with more.",
            expected="more than one request in flight",
            seen=1,
        )
    return right("The judge played the whole tape: every record is there, once, in its order.")


def _answer(acks: str, idempotence: bool, in_flight: int, minimum: int) -> str:
    return (
        f'ledger = {{"acks": "{acks}", "enable.idempotence": {idempotence}, '
        f'"max.in.flight.requests.per.connection": {in_flight}, "{MINIMUM}": {minimum}}}'
    )


EXERCISE = Exercise(
    "08-7",
    "Settings for a ledger",
    (
        "Three harms, three settings: which of them stops a copy, which keeps the order, which "
        "keeps the last replica from answering alone?",
        "Idempotence takes care of copies and order, if acks is what it needs to be. The topic "
        "has to do the rest.",
        "acks all, idempotence on, five in flight, and a minimum of two.",
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
    },
)
