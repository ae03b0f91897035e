"""Scenarios of notebook 11 for `lab.both`: each takes a cluster and returns what it saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource

from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.records import batch
from engine.wire import messages as m
from kit import jars
from kit.clusters import tools
from kit.clusters.interface import Cluster
from kit.probes import clients
from lessons.nb11_transactions import bank, in_the_log
from lessons.nb11_transactions.by_hand import ByHand

Seen = Mapping[str, Any]
BROKER, DEFAULT = 4, 5
"""A kind of resource, and a source of a setting, as DescribeConfigs numbers them."""
BROKER_SETTINGS = (
    "transaction.max.timeout.ms", "transactional.id.expiration.ms",
    "transaction.state.log.min.isr", "transaction.state.log.replication.factor",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.partition.verification.enable",
)  # fmt: skip


# -- names, ids and epochs


def identities(cluster: Cluster) -> Seen:
    """The producer id and the epoch that each start of a transactional.id is given."""
    bank.open_bank(cluster)
    seen: dict[str, Any] = {}
    with ByHand(cluster, "teller-7") as teller, ByHand(cluster, "desk-7") as other:
        teller.start()
        first = teller.id
        seen["a new name"] = f"epoch {teller.epoch}"
        teller.start()
        seen["the same name, started again"] = _identity(teller, first)
        other.start()
        seen["another name"] = _identity(other, first)
        for protocol in (2, 1):
            teller.protocol = protocol
            teller.write(bank.ACCOUNTS, "Alice -10")
            teller.end(True)
            seen[f"after a commit under protocol {protocol}"] = _identity(teller, first)
        teller.write(bank.ACCOUNTS, "Alice -10")
        teller.start()
        seen["started again over an open transaction"] = _identity(teller, first)
    bank.wait_for_marker(cluster, 3)
    return {**seen, "the log of partition 0": bank.log_of(cluster)}


def _identity(producer: ByHand, first: int) -> str:
    return f"{'the same' if producer.id == first else 'another'} id, epoch {producer.epoch}"


def refused(cluster: Cluster) -> Seen:
    """Calls of a client in the wrong order, and settings that do not go together."""
    bank.open_bank(cluster)
    own = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "log.queue": True}
    named = {**own, "transactional.id": "till-1"}

    def before_begin() -> None:
        producer = bank.producer_of(cluster, "till-1")
        producer.produce(bank.ACCOUNTS, "Alice -10")

    def too_long() -> None:
        longer = {"transaction.timeout.ms": 15 * 60_000 + 1}
        bank.producer_of(cluster, "till-1", **longer)

    def not_idempotent() -> None:
        Producer({**named, "enable.idempotence": False})

    return {
        "begin, and no transactional.id": bank.ended(Producer(own).begin_transaction),
        "begin before init_transactions": bank.ended(Producer(named).begin_transaction),
        "produce before begin": bank.ended(before_begin),
        "transactional.id, and enable.idempotence=false": bank.ended(not_idempotent),
        "transaction.timeout.ms of 15 minutes and 1 ms": bank.ended(too_long),
    }


# -- the coordinator's log, batches and markers


def state_log(cluster: Cluster) -> Seen:
    """A whole transfer: what the coordinator wrote down, and what ends each partition."""
    name, group = "teller-9", "ledger-9"
    bank.open_bank(cluster)
    teller = bank.Teller(cluster, name, group)
    teller.take()
    teller.producer.begin_transaction()
    teller.book("Alice -10", 0)
    teller.book("Bob +10", 1)
    teller.offsets()
    teller.producer.commit_transaction(bank.PATIENCE_S)
    states = in_the_log.wait_for_state(cluster, name, "CompleteCommit")
    states = states[-1 - states[::-1].index("Empty") :]  # since this teller's start
    seen: dict[str, Any] = {f"record {n}": each for n, each in enumerate(states, start=1)}
    prepared = next(each for each in states if each.startswith("PrepareCommit"))
    for place in prepared.split()[1:]:
        topic, _, partition = place.rpartition("-")
        seen[f"the last batch of {place}"] = in_the_log.batches(cluster, topic, int(partition))[-1]
    offsets = [offset for offset, _ in bank.read(cluster)]
    states_in = in_the_log.partitions(cluster, TRANSACTIONS_TOPIC)
    default = _default(cluster, "transaction.state.log.num.partitions")
    return {
        **seen,
        "accounts-0: offsets of records, and the end": [*offsets, bank.ends(cluster)[1]],
        "cleanup.policy": _setting(cluster, TRANSACTIONS_TOPIC, "cleanup.policy"),
        "partitions of __transaction_state, and by default": [len(states_in), default],
    }


def _setting(cluster: Cluster, topic: str, name: str) -> Any:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = clients.admin(cluster)  # kept: without it the future never ends
    return admin.describe_configs([resource])[resource].result(bank.PATIENCE_S)[name].value


def _default(cluster: Cluster, name: str) -> int:
    """What a broker's setting would be if nothing set it; the broker lists it as a synonym."""
    request = m.DescribeConfigsRequest
    broker = cluster.brokers[0]
    resource = request.DescribeConfigsResource(BROKER, str(broker), [name])
    answer = clients.ask(cluster, broker, request([resource], include_synonyms=True))
    (config,) = answer.results[0].configs
    return next(int(each.value) for each in config.synonyms if each.source == DEFAULT)


def attributes(cluster: Cluster) -> Seen:
    """The attributes of a plain batch, a compressed one, a transactional one, and a marker."""
    bank.open_bank(cluster)
    bank.booked(bank.producer_of(cluster), bank.ACCOUNTS, "plain", 0)
    gzip = {"compression.type": "gzip"}
    bank.booked(bank.producer_of(cluster, **gzip), bank.ACCOUNTS, "plain " * 99, 0)
    till = bank.producer_of(cluster, "till-2")
    till.begin_transaction()
    bank.booked(till, bank.ACCOUNTS, "held", 0)
    till.abort_transaction(bank.PATIENCE_S)
    bank.wait_for_marker(cluster, 1)
    names = ("a plain batch", "a compressed one", "one of a transaction", "its marker")
    found = dict(zip(names, in_the_log.batches(cluster, bank.ACCOUNTS), strict=True))
    nameless = bank.ended(bank.producer_of(cluster).begin_transaction)
    return {**found, "begin, and no transactional.id": nameless}


# -- time-outs, and what readers get


def timeouts(cluster: Cluster) -> Seen:
    """A producer goes silent for longer than its transaction.timeout.ms, and then commits."""
    bank.open_bank(cluster)
    with ByHand(cluster, "silent", timeout_ms=3_000) as silent:
        silent.start()
        silent.write(bank.ACCOUNTS, "Alice -10", 0)
        silent.write(bank.ACCOUNTS, "Bob +10", 1)
        for partition in (0, 1):
            bank.wait_for_marker(cluster, 1, partition)
        seen: dict[str, Any] = {
            f"the log of partition {n}": bank.log_of(cluster, n) for n in (0, 1)
        }
        seen["the next record"] = silent.write(bank.ACCOUNTS, "Bob +10", 1)
        seen["the late commit"] = silent.end(True)
    return seen


def half(cluster: Cluster) -> Seen:
    """A transfer on two partitions: what readers get before the commit and after it."""
    bank.open_bank(cluster)
    teller = bank.producer_of(cluster, "teller-2")
    teller.begin_transaction()
    bank.booked(teller, bank.ACCOUNTS, "Alice -10", 0)
    bank.booked(teller, bank.ACCOUNTS, "Bob +10", 1)
    before = {
        "before the commit, the log of partition 0": bank.log_of(cluster),
        "before the commit, read_committed": bank.values(cluster),
    }
    teller.commit_transaction(bank.PATIENCE_S)
    for partition in (0, 1):
        bank.wait_for_marker(cluster, 1, partition)
    return {
        **before,
        "after it, a reader of partition 0": bank.values(cluster, 0),
        "after it, a reader of partition 1": bank.values(cluster, 1),
    }


def levels(cluster: Cluster) -> Seen:
    """One topic for readers of several clients, with their own default of isolation.level."""
    bank.open_bank(cluster)
    till = bank.producer_of(cluster, "till-3")
    for value in ("aborted", "sent twice", "sent twice"):
        till.begin_transaction()
        bank.booked(till, bank.ACCOUNTS, value, 0)
        ends = till.abort_transaction if value == "aborted" else till.commit_transaction
        ends(bank.PATIENCE_S)
    bank.wait_for_marker(cluster, 3)
    partition = ("--topic", bank.ACCOUNTS, "--partition", "0", "--from-beginning")
    seen: dict[str, Any] = {
        "read_uncommitted": bank.values(cluster, 0, "read_uncommitted"),
        "read_committed": bank.values(cluster, 0, "read_committed"),
        "confluent-kafka's default": bank.values(cluster, 0, ""),
    }
    if jars.java():
        printed = tools.run(cluster, "kafka-console-consumer", *partition, "--max-messages", "1")
        seen["kafka-console-consumer's default, its first record"] = printed.text.splitlines()[0]
    plain = [bank.values(cluster, 0, each, bank.TRANSFERS) for each in bank.LEVELS]
    return {**seen, "a topic without transactions": "the same" if plain[0] == plain[1] else plain}


def aborted(cluster: Cluster) -> Seen:
    """Three transactions in one partition, of which two are aborted; what a Fetch answer says."""
    bank.open_bank(cluster)
    tills = {name: bank.producer_of(cluster, f"till-{name}") for name in "pqr"}
    for till in tills.values():
        till.begin_transaction()
    for value in ("p0", "q1", "p2", "r3"):
        bank.booked(tills[value[0]], bank.ACCOUNTS, value, 0)
    for number, (name, till) in enumerate(tills.items(), start=1):
        (till.commit_transaction if name == "q" else till.abort_transaction)(bank.PATIENCE_S)
        bank.wait_for_marker(cluster, number)
    committed = bank.fetched(cluster, isolation="read_committed")
    plain = bank.fetched(cluster)
    names: dict[int, str] = {}
    for header, position in batch.iterate(bytes(plain.records)):
        if not header.is_control:
            (record,) = batch.decode(bytes(plain.records), position)
            names[header.producer_id] = (record.value or b"").decode()[0]
    listed = [(names[each.producer_id], each.first_offset) for each in
              committed.aborted_transactions]  # fmt: skip
    return {
        "the answer for read_uncommitted": bank.entries(plain),
        "aborted transactions in it": len(plain.aborted_transactions or ()),
        "the answer for read_committed": bank.entries(committed),
        "aborted transactions in this one": [f"{name} from {at}" for name, at in sorted(listed)],
        "what the client hands over": bank.values(cluster),
        "entries of .txnindex": [
            f"{each.first} to {each.marker} (LSO {each.stable})"
            for each in in_the_log.aborted_index(cluster)
        ],
    }


# -- settings


def settings(cluster: Cluster) -> Seen:
    """What a broker has, and what the cluster has agreed on."""
    resource = ConfigResource(ConfigResource.Type.BROKER, "101")
    admin = clients.admin(cluster)  # kept: without it the future never ends
    found = admin.describe_configs([resource])[resource].result(bank.PATIENCE_S)
    return {each: found[each].value for each in BROKER_SETTINGS}
