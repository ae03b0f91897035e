"""Seeded fault schedules with every invariant on: the short form of the campaign."""

from __future__ import annotations

import pytest

from engine.events import Expired
from engine.sim import campaign
from engine.sim.clients import Producer
from engine.sim.consumer import Consumer
from engine.sim.history import judge
from engine.sim.schedules import Outcome, draw, play

SEEDS = range(40)


@pytest.fixture(scope="module")
def results() -> list[Outcome]:
    return list(campaign.outcomes(SEEDS, light=True))


def test_forty_schedules_are_clean(results: list[Outcome]) -> None:
    assert [f"{each.seed}: {each.violation}" for each in results if each.violation] == []


def test_the_campaign_does_something(results: list[Outcome]) -> None:
    assert sum(each.elections > 0 for each in results) >= campaign.ELECTIONS_MIN * len(results)
    assert sum(each.truncations > 0 for each in results) >= campaign.TRUNCATIONS_MIN * len(results)
    assert all(each.acknowledged > 0 for each in results)


def test_the_report_names_a_failing_seed_and_how_to_replay_it(results: list[Outcome]) -> None:
    text, good = campaign.report(results)
    assert good, text
    text, good = campaign.report([*results, Outcome(4711, events=1, violation="no loss: gone")])
    assert not good
    assert "no loss: gone" in text
    assert "python -m engine.sim.campaign --replay 4711" in text


def test_a_schedule_is_a_function_of_its_seed() -> None:
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


def test_a_tape_replays_the_run_without_the_schedule() -> None:
    drawn = draw(5, light=True)
    told: list[list[str]] = [[], []]
    original = play(drawn, tell=told[0].append)
    replayed = play(drawn, tape=original.tape, tell=told[1].append)
    assert original.tape
    assert told[1] == told[0]
    assert replayed.tape == original.tape


# -- the history checker


def history(*verdicts: str, idempotent: bool = False) -> tuple[Producer, Consumer]:
    """A producer that sent a, b, c … with these verdicts, and a consumer that saw nothing."""
    producer = Producer("p", "orders", 1, (101,), idempotent=idempotent)
    for _ in verdicts:
        producer.step(0, Expired(("make",)))
    for offset, (sent, verdict) in enumerate(zip(producer.history[0], verdicts, strict=True)):
        sent.value = "abcdefgh"[offset]
        sent.verdict = verdict
        sent.offset = offset if verdict == "acknowledged" else -1
    return producer, Consumer("c", "orders", 1, (101,))


def see(consumer: Consumer, values: str) -> None:
    consumer.positions[0].seen += [(offset, 0, value) for offset, value in enumerate(values)]


def test_everything_acknowledged_is_seen() -> None:
    producer, consumer = history("acknowledged", "acknowledged")
    see(consumer, "ab")
    assert judge(producer, consumer) == []


def test_an_acknowledged_record_that_is_missing_is_lost() -> None:
    producer, consumer = history("acknowledged", "acknowledged")
    see(consumer, "a")
    assert judge(producer, consumer)[0].startswith("lost: 'b' was acknowledged at offset 1")
    assert judge(producer, consumer, unclean=("orders-0",)) == []


@pytest.mark.parametrize("seen", ["a", "ab"])
def test_an_unknown_record_may_be_there_or_not(seen: str) -> None:
    producer, consumer = history("acknowledged", "unknown")
    see(consumer, seen)
    assert judge(producer, consumer) == []


def test_a_refused_record_and_one_never_sent_are_phantoms() -> None:
    producer, consumer = history("refused")
    see(consumer, "az")
    kinds = [finding.partition(":")[0] for finding in judge(producer, consumer)]
    assert kinds == ["phantom", "phantom"]


@pytest.mark.parametrize(("seen", "kind"), [("abb", "duplicated"), ("acb", "reordered")])
def test_an_idempotent_producer_is_never_seen_twice_or_out_of_order(seen: str, kind: str) -> None:
    producer, consumer = history("unknown", "unknown", "unknown")
    see(consumer, seen)
    assert judge(producer, consumer) == []
    producer.idempotent = True
    assert judge(producer, consumer)[0].startswith(kind)
