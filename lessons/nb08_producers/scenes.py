"""Scenarios of notebook 08 for `lab.both`: each takes a cluster and returns what it saw.

Their producer is the engine's own (shop.py), on the sockets of either side: it can lose an answer
on purpose and show every batch's numbers.  Rates come from confluent-kafka (measure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import OFFSET_STORED, Consumer, ElectionType, Message, TopicPartition

from engine.sim.history import check
from engine.wire import messages as m
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.clients import READER, ask, elect, in_sync, partition, topic_id, values
from lessons.nb08_producers import fault_tape, flipped_bit, measure
from lessons.nb08_producers.fault_stages import Live
from lessons.nb08_producers.shop import Shop, committed, outcome

ALL = (101, 102, 103)
PATIENCE_S = 30.0
REPEATS = 3
COUNT = 40
SLOW_MS = 5
QUICK = {"request.timeout.ms": 250, "delivery.timeout.ms": 600}
PLAIN = {"enable.idempotence": False}
TOGETHER = {"linger.ms": 1_000, "batch.size": 16_384}
BLIND = {**PLAIN, "acks": "0"}
ONE_IN_FLIGHT = {"max.in.flight.requests.per.connection": 1}
DEFAULTS = {"enable.idempotence": True, "max.in.flight.requests.per.connection": 5}
"""Of the Java client, where confluent-kafka's are others."""
Seen = Mapping[str, Any]


# -- numbers on the wire


def numbers(cluster: Cluster) -> Seen:
    """The numbers that a producer writes into its batches."""
    cluster.create_topic("orders", assignment={0: ALL, 1: ALL})
    off = _numbers(cluster, PLAIN, ("A", 0))
    on = _numbers(cluster, {}, ("B", 0), ("B", 0), ("C D E", 0), ("F", 0), ("G", 1))
    again = _numbers(cluster, {}, ("F", 0))
    return {
        "idempotence off": {
            "asks for an id": off["asked"],
            "id": off["ids"],
            "numbers": off["numbers"],
        },
        "idempotence on": {
            "asks for an id": on["asked"],
            "one id in all five batches, 0 or more": len(on["ids"]) == 1 and on["ids"][0] >= 0,
            "numbers of B, B, C D E and F": on["numbers"],
            "numbers of G, in partition 1": on["elsewhere"],
        },
        "the same value from a new producer": {
            "another id": again["ids"] != on["ids"],
            "numbers": again["numbers"],
            "the log then": " ".join(values(cluster, "orders")),
        },
    }


def _numbers(
    cluster: Cluster, settings: Mapping[str, Any], *sent: tuple[str, int]
) -> dict[str, Any]:
    """One producer's run: whether it asked for an id, and what it wrote into its batches."""
    with Shop(cluster, "orders", {**settings, **TOGETHER}) as shop:
        for batch, index in sent:
            shop.own.send(*batch.split(), partition=index)
            shop.own.flush()
        wrote = [each for each in shop.own.lines("sent") if each["attempt"] == 1]
        return {
            "asked": bool(shop.lines("producer_id")),
            "ids": sorted({each["producer_id"] for each in wrote}),
            "numbers": _said(each for each in wrote if each["partition"] == "orders-0"),
            "elsewhere": _said(each for each in wrote if each["partition"] != "orders-0"),
        }


def _said(batches: Iterable[dict[str, Any]]) -> str:
    """The epochs and the first sequence numbers of batches, in order."""
    each_epoch: dict[int, list[str]] = {}
    for batch in batches:
        each_epoch.setdefault(batch["epoch"], []).append(str(batch["sequence"]))
    return "; ".join(f"epoch {n}, sequence {', '.join(all_)}" for n, all_ in each_epoch.items())


def window(cluster: Cluster) -> Seen:
    """Batches with numbers of our choice, as no client would send them, and the answers."""
    cluster.create_topic("numbered", assignment={0: ALL})
    init = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    own = ask(cluster, 101, init).producer_id

    def send(sequence: int, epoch: int = 0, producer_id: int = own) -> str:
        return numbered(cluster, "numbered", producer_id, epoch, sequence)

    stored = [send(n) for n in range(7)]
    return {
        "sequence 0 … 6": f"{stored[0]} … {stored[-1]}",
        "6 again": send(6),
        "2 again, the fifth last": send(2),
        "1 again, the sixth last": send(1),
        "8, where 7 is next": send(8),
        "7": send(7),
        "8 again, which is next now": send(8),
        "8 with another producer id": send(8, producer_id=own + 900),
        "0 in epoch 1": send(0, epoch=1),
        "9 in epoch 0": send(9),
        "the log ends at": partition(cluster, "numbered")["logs"][101]["log_end_offset"],
    }


def numbered(cluster: Cluster, topic: str, producer_id: int, epoch: int, sequence: int) -> str:
    """One batch with these numbers to 101: the offset or the error that it answers."""
    records = requests.one_batch(
        b"x", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    body = requests.producing(topic_id(cluster, topic), acks=-1, records=records, timeout_ms=5_000)
    answer = requests.first_partition(ask(cluster, 101, body))
    return requests.refusal(answer) or f"offset {answer.base_offset}"


def lost_on_the_way(cluster: Cluster) -> Seen:
    """The answer to B is lost, then a connection under C D E, with five ways to send."""
    seen: dict[str, Any] = {}
    for label, settings in (
        ("idempotence off, 5 in flight", PLAIN),
        ("idempotence off, 5 in flight, retries=0", {**PLAIN, "retries": 0}),
        ("idempotence off, 1 in flight", {**PLAIN, **ONE_IN_FLIGHT}),
        ("idempotence on, 1 in flight", ONE_IN_FLIGHT),
        ("idempotence on, 5 in flight", {}),
    ):
        cluster.create_topic("orders", assignment={0: ALL})
        with Shop(cluster, "orders", {"request.timeout.ms": 1_000, **settings}) as shop:
            shop.send("A")
            shop.wait()
            shop.lose_answers(1)
            shop.send("B")
            shop.wait()
            shop.lose_requests(1 if "1 in" in label else 3)
            shop.send("C", "D", "E")
            shop.wait()
            seen[label] = {
                "errors that the application saw": len(shop.having("unknown")),
                "B, by attempt": _attempts(shop, batch=2),
                "the log": " ".join(shop.log()),
            }
    return seen


def one_batch_is_damaged(cluster: Cluster) -> Seen:
    """B and C are under way; a bit of B flips, so B is refused alone and sent again."""
    seen: dict[str, Any] = {}
    for label, settings in (("idempotence off", PLAIN), ("idempotence on", {})):
        cluster.create_topic("orders", assignment={0: ALL})
        with Shop(cluster, "orders", settings) as shop:
            shop.send("A")
            shop.wait()
            flipped_bit.in_the_next(shop, 1)
            shop.send("B", "C")
            shop.wait()
            log = shop.log()
            first = [outcome(line["error"]) for line in shop.lines("answered")[1:3]]
            found = check(fault_tape.history_of(shop.producer, "orders", log))
            seen[label] = {
                "most requests under way": shop.most_under_way,
                "first answers to B, C": first,
                "the log": " ".join(log),
                "the history checker": " ".join(map(str, found)) or "no anomaly",
            }
    return seen


def _attempts(shop: Shop, batch: int) -> list[str]:
    """The number that each attempt carried, and its outcome."""
    sent = [line["sequence"] for line in shop.lines("sent") if line["batch"] == batch]
    heard = [outcome(line["error"]) for line in shop.lines("answered") if line["batch"] == batch]
    return [f"sequence {number} {error}" for number, error in zip(sent, heard, strict=True)]


# -- time that runs out


def time_runs_out(cluster: Cluster) -> Seen:
    """Nothing gets through: which clock ends the wait of a record, and where it waits."""
    cluster.create_topic("orders", assignment={0: ALL})
    # The third attempt begins between 1,440 and 1,560 ms: far from its timeout at the end.
    settings = {"request.timeout.ms": 600, "delivery.timeout.ms": 1_800, "max.block.ms": 900,
                "buffer.memory": 40_000}  # fmt: skip
    with Shop(cluster, "orders", settings) as shop:
        shop.send("first")
        shop.wait()
        shop.lose_requests()
        shop.send(*("x" * 15_000 for _ in range(3)))
        shop.wait()
        _, sent, _, outside = shop.producer.sends
        first_pause = shop.lines("retry")[0]["backoff_us"] / 1000
        attempts = sum(line["batch"] == 2 for line in shop.lines("sent"))
    with Shop(cluster, "nowhere", settings) as lost:
        lost.send("A")
        lost.wait()
        unknown = lost.producer.sends[0]
    return {
        "sent, and no answer": {
            "attempts": measured(attempts, "attempts"),
            "first pause between attempts": measured(first_pause, "ms"),
            **_ending(sent),
        },
        "no room in buffer.memory": _ending(outside),
        "no such topic in the metadata": _ending(unknown),
    }


def _ending(sent: Any) -> dict[str, Any]:
    return {
        "verdict": sent.verdict,
        "ended by": sent.error,
        "after": measured((sent.done_us - sent.made_us) / 1000, "ms"),
    }


# -- copies


def minimum(cluster: Cluster) -> Seen:
    """min.insync.replicas=2 while two brokers leave; then the last one dies, and 102 returns."""
    cluster.create_topic("orders", assignment={0: ALL}, config={"min.insync.replicas": 2})
    seen: dict[str, Any] = {"ISR of 3": {"acks=all": _once(cluster, "all", "A")}}
    cluster.stop(103)
    cluster.wait_until(in_sync("orders", 101, 102), PATIENCE_S, "103 to leave the ISR")
    seen["ISR of 2"] = {"acks=all": _once(cluster, "all", "B")}
    cluster.stop(102)
    cluster.wait_until(in_sync("orders", 101), PATIENCE_S, "102 to leave the ISR")
    seen["ISR of 1"] = {
        "acks=all": _once(cluster, "all", "C"),
        "acks=1": _once(cluster, "1", "D"),
    }
    cluster.kill(101)
    cluster.start(102, 103)
    cluster.wait_until(_is_led_by(102, 103), PATIENCE_S, "a new leader")
    cluster.wait_until(committed("orders"), PATIENCE_S, "the log to be committed")
    seen["101 dies, 102 and 103 return"] = {"the log": " ".join(values(cluster, "orders"))}
    return seen


def _once(cluster: Cluster, acks: str, value: str) -> str:
    """One record with retries=0: what the application hears."""
    with Shop(cluster, "orders", {**PLAIN, "acks": acks, "retries": 0}) as shop:
        shop.send(value)
        shop.wait()
        return shop.errors[-1] or shop.verdicts[-1]


def _is_led_by(*brokers: int) -> Any:
    return lambda cluster: partition(cluster, "orders")["leader"] in brokers


def retries(cluster: Cluster) -> Seen:
    """Three troubles that pass, with retries=0 and with the default; in the last also acks=0."""
    cluster.create_topic("strict", assignment={0: ALL}, config={"min.insync.replicas": 3})
    cluster.create_topic("orders", assignment={0: ALL})
    cluster.create_topic("moved", assignment={0: (103, 101, 102)})
    seen: dict[str, Any] = {}
    with _pair(cluster, "strict") as (never, default):
        cluster.stop(103)
        cluster.wait_until(in_sync("strict", 101, 102), PATIENCE_S, "103 to leave the ISR")
        never.send("retries=0")
        never.wait()
        default.send("default")
        default.wait(for_s=1)
        refused = default.lines("retry")
        cluster.start(103)
        default.wait()
        seen["the ISR is too small, and recovers"] = {
            "retries=0": never.errors[-1],
            "the default": default.verdicts[-1],
            "after attempt 1 the client logs": f"{refused[0]['left']} attempts left",
            "attempts that were refused": measured(len(refused), "attempts"),
            "the log": " ".join(default.log()),
        }
    for topic in ("moved", "orders"):
        cluster.wait_until(in_sync(topic, *ALL), PATIENCE_S, "the ISR to be whole again")
    with _pair(cluster, "moved") as (never, default):
        _lead(cluster, "moved", 103)
        for each in (never, default):
            each.send("A")
            each.wait()
        answers = [f"{each['broker']} {outcome(each['error'])}" for each in
                   default.lines("answered") if each["batch"] == 2]  # fmt: skip
        seen["the leader has moved from 101 to 103"] = {
            "retries=0": never.errors[-1],
            "the default hears first": answers[0],
            "and in the end": answers[-1],
        }
    with _pair(cluster, "orders") as (never, default), Shop(cluster, "orders", BLIND) as blind:
        blind.send("first")
        blind.wait()
        cluster.wait_until(lambda c: len(values(c, "orders")) == 3, PATIENCE_S, "the first three")
        cluster.stop(101)
        for each, value in ((never, "retries=0"), (default, "default"), (blind, "acks=0")):
            each.send(value)
            each.wait()
        seen["the leader is stopped"] = {
            "retries=0 succeeds": never.verdicts[-1] == "acknowledged",
            "the default succeeds": default.verdicts[-1] == "acknowledged",
            "acks=0 hears": f"{blind.verdicts[-1]}, offset {blind.producer.sends[-1].offset}",
            "the log": " ".join(default.log()),
        }
    return seen


def _lead(cluster: Cluster, topic: str, preferred: int) -> None:
    """Partition 0's preferred leader leads it again."""
    elect(cluster, topic, ElectionType.PREFERRED)
    cluster.wait_until(lambda c: c.leader(topic) == preferred, PATIENCE_S, f"{preferred} to lead")


@contextmanager
def _pair(cluster: Cluster, topic: str) -> Iterator[tuple[Shop, Shop]]:
    """A producer with retries=0 and one with the default; both know all brokers."""
    with Shop(cluster, topic, {**PLAIN, "retries": 0}) as never, Shop(cluster, topic) as default:
        for each in (never, default):
            each.send("first")
            each.wait()
        yield never, default


def hears_and_reads(cluster: Cluster) -> Seen:
    """When the producer hears and when a consumer reads, by acks; followers 5 ms away."""
    cluster.create_topic("timed", assignment={0: ALL})
    _far_followers(cluster)
    seen: dict[str, Any] = {}
    for acks in ("0", "1", "all"):
        heard, read = measure.times(cluster, "timed", COUNT // 2, acks)
        seen[f"acks={acks}"] = {
            "the producer hears": measured(heard, "ms"),
            "a consumer reads": measured(read, "ms"),
        }
    return seen


def _far_followers(cluster: Cluster) -> None:
    """One machine's own noise hides round trips between brokers, so links are made longer."""
    if cluster.offers("slow"):
        for follower in ALL[1:]:
            cluster.slow(ALL[0], follower, SLOW_MS)


# -- the application


def styles(cluster: Cluster) -> Seen:
    """Three requests are lost with their connection; then the rates of three ways to send."""
    seen: dict[str, Any] = {}
    for acks in ("0", "all"):
        cluster.create_topic("orders", assignment={0: ALL})
        with Shop(cluster, "orders", {"acks": acks, "request.timeout.ms": 1_000}) as shop:
            shop.send("A")
            shop.wait()
            shop.lose_requests(3)
            shop.send("B", "C", "D")
            shop.wait()
            seen[f"acks={acks}"] = {
                "reported as success": len(shop.having("acknowledged")),
                "offset of D, as reported": shop.producer.sends[-1].offset,
                "requests, answers": f"{len(shop.lines('sent'))}, {_answers(shop)}",
                "the log": " ".join(shop.log()),
            }
        seen[f"acks={acks}, retries=0, B is lost"] = {
            "waits after each: hears of it": _hears(cluster, acks, waits=True),
            "sends on: hears of it": _hears(cluster, acks, waits=False),
        }
    for label, acks, waits in (("waits for each answer", "all", True), ("sends on", "all", False),
                               ("sends on, acks=0", "0", False)):  # fmt: skip
        batches = {"acks": acks, "batch.num.messages": 1_000}
        rate = measure.send_all(cluster, "orders", COUNT, batches, waits=waits).rate
        seen[label] = {"rate": measured(rate, "records/s")}
    return seen


def _answers(shop: Shop) -> int:
    """Answers that came from a broker: a lost connection is none."""
    return sum(line["error"] != "NETWORK_EXCEPTION" for line in shop.lines("answered"))


def _hears(cluster: Cluster, acks: str, waits: bool) -> str:
    """When the application hears of B, which is lost with its connection and not sent again."""
    with Shop(cluster, "orders", {**PLAIN, "acks": acks, "retries": 0}) as shop:
        shop.send("A")
        shop.wait()
        shop.lose_requests(1)
        for value in "BCD":
            shop.send(value)
            if waits:
                shop.wait()
            if shop.errors[1]:
                return f"after {value}"
        shop.wait()
        return "after D" if shop.errors[1] else "never"


def dead_letters(cluster: Cluster) -> Seen:
    """Twelve records, an outage longer than delivery.timeout.ms, a handler that keeps failures."""
    cluster.create_topic("orders", assignment={0: ALL})
    kept: list[str] = []
    with Shop(cluster, "orders", QUICK) as shop:
        for n in range(12):
            shop.lose_requests(1_000 if n in (4, 5) else 0)
            shop.lose_answers(1_000 if n == 6 else 0)
            shop.send(f"order-{n}")
            shop.wait()
            if shop.verdicts[-1] != "acknowledged":
                kept.append(shop.producer.sends[-1].text)
        stored = shop.log()
    return {
        "handed over": 12,
        "stored": len(stored),
        "kept by the handler": len(kept),
        "in neither place": 12 - len({*stored, *kept}),
        "in both: unknown, and stored": len({*stored} & {*kept}),
    }


# -- the fault tape


def without_a_fault(cluster: Cluster) -> Seen:
    """What the recipes for a minimum of two cost while all is well."""
    cluster.create_topic("calm", assignment={0: ALL}, config={"min.insync.replicas": 2})
    measure.send_all(cluster, "calm", COUNT // 2, {"acks": "1"})  # a Java broker is slow at first
    _far_followers(cluster)
    seen: dict[str, Any] = {}
    for name, recipe in fault_tape.RECIPES.items():
        if recipe.minimum == 2:
            sending = measure.send_all(cluster, "calm", COUNT // 2, {**DEFAULTS, **recipe.settings})
            seen[name] = {
                "rate": measured(sending.rate, "records/s"),
                "p99": measured(sending.p99_ms, "ms"),
            }
    return seen


def one_fault_tape(cluster: Cluster) -> Seen:
    """Five recipes under the same faults, judged by the history checker; then consumers of safe."""
    _find_coordinator(cluster)  # before 101 dies
    for attempt in range(REPEATS):
        stage = Live(cluster)
        try:
            seen = fault_tape.observed(fault_tape.play(stage))
            return seen | {"a consumer of safe dies at E": _deaths_at(cluster, "safe", "E")}
        except fault_tape.Disturbed:
            if attempt + 1 == REPEATS:
                raise
            cluster.heal()
            cluster.wait_until(in_sync("safe", *ALL), PATIENCE_S, "the ISR to be whole again")
        finally:
            stage.close()
    raise AssertionError("not reached")


# -- a consumer's commit


def _deaths_at(cluster: Cluster, topic: str, value: str) -> dict[str, list[str]]:
    """What a group processes never, or twice, if a consumer dies between commit and work."""
    log = values(cluster, topic)
    processed = {}
    for commits_first in (True, False):
        first = _processed(cluster, topic, 0, commits_first, dies_at=value)
        second = _processed(cluster, topic, OFFSET_STORED, commits_first)
        processed[commits_first] = [*first, *second]
    return {
        "it commits before its work: never processed": sorted({*log} - {*processed[True]}),
        "it commits after its work: processed twice": [
            each for each in log if processed[False].count(each) > 1
        ],
    }


def _processed(
    cluster: Cluster, topic: str, offset: int, commits_first: bool, dies_at: str = ""
) -> list[str]:
    """The values that one consumer processes from an offset on, until it dies or is at the end."""
    done: list[str] = []
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **READER})

    def work(message: Message) -> None:
        done.append((message.value() or b"").decode())

    def commit(message: Message) -> None:
        consumer.commit(message=message, asynchronous=False)

    first, second = (commit, work) if commits_first else (work, commit)
    consumer.assign([TopicPartition(topic, 0, offset)])
    try:
        for message in measure.to_end(consumer):
            first(message)
            if (message.value() or b"").decode() == dies_at:
                break
            second(message)
    finally:
        consumer.close()
    return done


def _find_coordinator(cluster: Cluster) -> None:
    """Waits until the group of these consumers has a coordinator."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **READER})
    try:
        consumer.committed([TopicPartition("safe", 0)], PATIENCE_S)
    finally:
        consumer.close()
