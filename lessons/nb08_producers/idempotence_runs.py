"""Experiments of notebook 08 on the broker's memory: the last five batches, and gaps.

`numbered` sends batches with chosen producer id, epoch and sequence, as no client would; the
leader's answers show its rules.  The other functions let the engine's producer meet them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from engine.sim.cases import play_case
from engine.sim.world.world import World
from kit.probes import requests
from kit.probes.virtual import topic_id
from kit.tables import Table
from lessons.nb08_producers.producer_world import (
    NAME,
    TOPIC,
    cluster,
    finish,
    lines,
    log,
    outcome,
    send,
    shop,
    verdicts,
)

PRODUCER_ID = 7_000
WHEN_MS = 1_767_225_600_000
GAP, LOST = "OUT_OF_ORDER_SEQUENCE_NUMBER", "NETWORK_EXCEPTION"
ONE_EACH = {"batch.size": 0, "linger.ms": 0}


def numbered(world: World, value: str, sequence: int, epoch: int = 0, who: int = PRODUCER_ID,
             count: int = 1) -> str:  # fmt: skip
    """One batch to the leader of partition 0; the offset or the error that it answers."""
    records = requests.one_batch(
        *[value.encode()] * count, at_ms=WHEN_MS,
        producer_id=who, producer_epoch=epoch, base_sequence=sequence,
    )  # fmt: skip
    body = requests.producing(topic_id(world, TOPIC), acks=-1, records=records, timeout_ms=5_000)
    told = requests.first_partition(world.ask(body, world.leader(TOPIC, 0)))
    return requests.refusal(told) or f"offset {told.base_offset}"


def window() -> Table:
    """Seven batches, then each of them again; then batches that do not fit the sequence."""
    world = cluster()
    first = [numbered(world, value, n) for n, value in enumerate("ABCDEFG")]
    rows = [["A … G, sequence 0 … 6", f"{first[0]} … {first[-1]}", "7 records"]]

    def tried(what: str, *arguments: Any, **options: Any) -> None:
        told = numbered(world, *arguments, **options)
        rows.append([what, told, f"{len(log(world).split())} records"])

    for value, n in (("G", 6), ("C", 2), ("B", 1)):
        tried(f"{value} again, sequence {n}", value, n)
    tried("H, sequence 8: 7 is missing", "H", 8)
    tried("H, sequence 7", "H", 7)
    tried("H again, with another producer id", "H", 7, who=PRODUCER_ID + 1)
    tried("I, sequence 0 in epoch 1", "I", 0, epoch=1)
    tried("J, sequence 8, still in epoch 0", "J", 8, epoch=0)
    return Table("The leader remembers five batches", ("what arrives", "answer", "log"), rows)


def in_flight_and_window() -> Table:
    """Five and six requests are stored, all answers are lost, the producer sends again."""
    rows = []
    for in_flight in (5, 6):
        world = cluster()
        settings = {**ONE_EACH, "max.in.flight.requests.per.connection": in_flight,
                    "request.timeout.ms": 1_000, "delivery.timeout.ms": 20_000}  # fmt: skip
        shop(world, settings, checked=False)
        world.drop(101, NAME, api="Produce")  # the connection ends, and no answer comes
        send(world, *"ABCDEF"[:in_flight])
        producer = finish(world)
        answers = [outcome(fields["error"]) for _, _, fields, _ in lines(world, "answered")
                   if fields["attempt"] == 2]  # fmt: skip
        assert producer.identity is not None
        rows.append([str(in_flight), answers[0], str(producer.identity.identity[1]), log(world),
                     verdicts(producer)])  # fmt: skip
    columns = ("in flight", "A is sent again", "epoch then", "log", "told")
    return Table("The answers are lost, the window holds five", columns, rows)


def gap_after_an_unclean_election() -> Table:
    """The new leader lacks what the old one had acknowledged: a gap in the sequence."""
    rows = []
    for rule in ("reset", "kip-360"):
        world = cluster(**{"unclean.leader.election.enable": True})
        shop(world, {**ONE_EACH, "sequence.gap": rule})
        send(world, *"ABC")
        finish(world)
        for follower in (102, 103):
            world.kill(follower)
        world.run(until=lambda w: list(w.partition(TOPIC, 0).isr) == [101], for_s=20)
        send(world, *"DE")
        finish(world)
        world.kill(101)
        world.start(102)
        world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=400)
        for value in "FGH":
            send(world, value)
            finish(world, for_s=10)
        producer = world.client(NAME)
        first = lines(world, "answered")
        answers = dict.fromkeys(f["error"] for _, _, f, _ in first if f["error"] in (GAP, LOST))
        producer_id, epoch = producer.identity.identity
        after = verdicts_of(producer, "FGH")
        rows.append([_rule_name(rule), ", then ".join(answers), f"{producer_id}, {epoch}", after,
                     log(world)])  # fmt: skip
    columns = ("rule", "F is answered", "id, epoch then", "F G H", "log")
    return Table("A B C D E acknowledged; D E lost with 101; then F G H", columns, rows)


def _rule_name(rule: str) -> str:
    return "before KIP-360" if rule == "reset" else "KIP-360"


def verdicts_of(producer: Any, values: str) -> str:
    told = [each.verdict for each in producer.sends if each.text in values]
    return ", ".join(f"{told.count(kind)} {kind}" for kind in dict.fromkeys(told))


def named_case(name: str) -> Table:
    """A case of the collection, under its old rule and its new one: the judge's sentences.

    It runs in a thread of its own, because a notebook's kernel has an event loop already.
    """
    with ThreadPoolExecutor(1) as other:
        played = other.submit(play_case, name).result()
    rows = [[each.words, each.sentence] for each in (played.old, played.new)]
    return Table(played.old.case.title, ("rule", "verdict"), rows)
