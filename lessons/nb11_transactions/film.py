"""The transfer of Alice and Bob in virtual time, for the Transaction panel.

The group's offsets are in partition 7 of 8, so the markers go to the partitions 0, 1 and 7.
"""

from __future__ import annotations

from engine.records import batch
from engine.sim.world.world import World
from kit.probes import requests, virtual
from kit.tables import Table
from kit.transaction_panel import logs, producers

SETTINGS = {"offsets.topic.num.partitions": 8, "transaction.state.log.num.partitions": 1}
GROUP = "ledger"
READ_COMMITTED = 1
"""The isolation level, as a Fetch request carries it."""


def bank(seed: int = 7) -> World:
    """A world with the two topics."""
    world = World(seed=seed, checked=False, settings=SETTINGS)
    world.create_topic("transfers")
    world.create_topic("accounts", partitions=8)
    return world


def transfer(world: World, name: str, amount: int, crash_after: str = "") -> bool:
    """Debit, credit, offset, commit; False if the producer dies on its way."""
    producers.act(world, "begin", name)
    for step, partition, value in (
        ("debit", 0, f"Alice -{amount}"),
        ("credit", 1, f"Bob +{amount}"),
    ):
        producers.send(world, name, "accounts", value, partition)
        world.run(for_s=0.2)
        if crash_after == step:
            producers.act(world, "kill", name)
            world.run(for_s=0.5)
            return False
    producers.send_offsets(world, name, {("transfers", 0): 1}, GROUP)
    producers.wait(world, name)
    producers.act(world, "commit", name)
    producers.wait(world, name)
    world.run(for_s=1)
    return True


STATES = {
    "Empty": "1 id and epoch",
    "Ongoing": "3 a partition joins",
    "PrepareCommit": "7 the decision",
    "CompleteCommit": "8 the end",
}
WRITES = {
    "accounts-0": "4 the debit",
    "accounts-1": "5 the credit",
    "__consumer_offsets-7": "6 the group's offset",
}
"""Steps of a transfer, by the coordinator's state and by the partition that is written to."""


def committed(amount: int = 10) -> Table:
    """A transfer without a fault, from the id to the reader downstream, in order."""
    world = bank()
    producers.start(world, "app", "transfer")
    producers.wait(world, "app")
    virtual.send(world, "transfers", str(amount))
    taken = _read(world, "2 the transfer is read", "transfers-0")
    transfer(world, "app", amount)
    downstream = [_read(world, "9 read_committed", f"accounts-{each}") for each in (0, 1)]
    return Table(
        "A transfer that is committed",
        ("step", "seconds", "broker", "what is there", "where"),
        sorted([taken, *_traced(world), *downstream], key=lambda row: float(row[1])),
    )


def _read(world: World, step: str, place: str) -> tuple[str, ...]:
    """What a reader with read_committed gets from a partition now."""
    topic, _, partition = place.rpartition("-")
    leader = world.leader(topic, int(partition))
    wanted = requests.fetching(virtual.topic_id(world, topic), partitions=[int(partition)])
    wanted.isolation_level = READ_COMMITTED
    answer = requests.first_partition(world.ask(wanted, leader))
    found = [
        (record.value or b"").decode()
        for header, position in batch.iterate(answer.records or b"")
        for record in batch.decode(answer.records, position)
        if not header.is_control
    ]
    return step, _seconds(world), str(leader), f"a reader gets {', '.join(found)}", place


def _traced(world: World) -> list[tuple[str, ...]]:
    """The coordinator's states, and what the leaders of the partitions append, by the trace."""
    rows: list[tuple[str, ...]] = []
    for at, node, line in world.cluster.trace:
        said, place = dict(line.fields), line.partition
        seconds = f"{(at - _began(world)) / 1e6:.3f}"
        if line.kind == "transaction":
            state, where = str(said["state"]), " ".join(said["partitions"])
            text = f"{state}, producer {said['producer_id']}, epoch {said['epoch']}"
            rows.append((STATES[state], seconds, str(node), text, where))
        elif line.kind == "append" and place in WRITES:
            topic, _, partition = place.rpartition("-")
            if node != world.leader(topic, int(partition)):
                continue  # a follower
            log = world.replica(node, topic, int(partition)).log
            entry = logs.read(log, topic, said["base"], said["base"] + 1)[0]
            is_data = entry["kind"] == logs.DATA
            text = entry["records"][0][1] if is_data else f"{entry['kind'].upper()} marker"
            step = WRITES[place] if is_data else "8 a marker"
            rows.append((step, seconds, str(node), text, place))
    return rows


def coordinator_dies(amount: int = 10) -> Table:
    """The coordinator is killed as soon as it has decided; what its successor does."""
    world = bank()
    producers.start(world, "app", "transfer")
    producers.wait(world, "app")
    producers.act(world, "begin", "app")
    between: list[tuple[int, tuple[str, ...]]] = []
    for partition, value in ((0, f"Alice -{amount}"), (1, f"Bob +{amount}")):
        between.append(_written(world, value, partition))
    producers.act(world, "commit", "app")
    world.run(lambda now: "PrepareCommit" in str(_steps(now)), for_s=30)
    coordinator = world.leader("__transaction_state", 0)
    between.append((len(_steps(world)), (_seconds(world), str(coordinator), "is killed", "")))
    world.kill(coordinator)
    if world.run(lambda now: "CompleteCommit" in str(_steps(now)), for_s=10):
        producers.wait(world, "app")
        producers.act(world, "begin", "app")
        between.append(_written(world, "the next record", 0))
    rows = _steps(world)
    for place, row in reversed(between):
        rows.insert(place, row)
    return Table(
        "What the coordinators wrote down, and when the records were in the log",
        ("seconds", "broker", "state of the transaction", "partitions"),
        rows,
    )


def _written(world: World, value: str, partition: int) -> tuple[int, tuple[str, ...]]:
    """A record is sent and gets into its leader's log: how many states came first, and a row."""
    leader = world.leader("accounts", partition)
    log = world.replica(leader, "accounts", partition).log
    end = log.log_end_offset
    producers.send(world, "app", "accounts", value, partition)
    there = world.run(lambda _: log.log_end_offset > end, for_s=10)
    says = f"{value} is {'in' if there else 'not in'} the log"
    row = (_seconds(world), str(leader), says, f"accounts-{partition}")
    return len(_steps(world)), row


def _seconds(world: World) -> str:
    """Since a coordinator first wrote something down."""
    return f"{(world.cluster.now - _began(world)) / 1e6:.3f}"


def _began(world: World) -> int:
    return next(at for at, _, line in world.cluster.trace if line.kind == "transaction")


def _steps(world: World) -> list[tuple[str, ...]]:
    """The transaction's states as coordinators have them once a record is replicated."""
    found: list[tuple[str, ...]] = []
    for at, node, line in world.cluster.trace:
        if line.kind == "transaction":
            said = dict(line.fields)
            places = " ".join(said["partitions"])
            found.append(
                (f"{(at - _began(world)) / 1e6:.3f}", str(node), str(said["state"]), places)
            )
    return found
