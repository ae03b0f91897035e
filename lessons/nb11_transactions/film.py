"""The transfer of Alice and Bob in virtual time, for the Transaction panel.

The group's offsets are in partition 7 of 8, so the markers go to the partitions 0, 1 and 7.
"""

from __future__ import annotations

from engine.sim.world.world import World
from kit.tables import Table
from kit.transaction_panel import producers

SETTINGS = {"offsets.topic.num.partitions": 8, "transaction.state.log.num.partitions": 1}
GROUP = "ledger"


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


def coordinator_dies(amount: int = 10) -> Table:
    """The coordinator is killed as soon as it has decided; what its successor does."""
    world = bank()
    producers.start(world, "app", "transfer")
    producers.wait(world, "app")
    producers.act(world, "begin", "app")
    for partition, value in ((0, f"Alice -{amount}"), (1, f"Bob +{amount}")):
        producers.send(world, "app", "accounts", value, partition)
        world.run(for_s=0.2)
    producers.act(world, "commit", "app")
    world.run(lambda now: "PrepareCommit" in str(_steps(now)), for_s=30)
    coordinator = world.leader("__transaction_state", 0)
    decided = len(_steps(world))
    world.kill(coordinator)
    world.run(lambda now: "CompleteCommit" in str(_steps(now)), for_s=10)
    killed = ("", str(coordinator), "is killed", "")
    steps = _steps(world)
    rows = [*steps[:decided], killed, *steps[decided:]]
    return Table(
        "What the coordinators wrote down",
        ("seconds", "broker", "state of the transaction", "partitions"),
        rows,
    )


def _steps(world: World) -> list[tuple[str, ...]]:
    """The transaction's states as coordinators have them once a record is replicated."""
    found: list[tuple[str, ...]] = []
    began = 0
    for at, node, line in world.cluster.trace:
        if line.kind == "transaction":
            said = dict(line.fields)
            places = " ".join(said["partitions"])
            began = began or at
            found.append((f"{(at - began) / 1e6:.3f}", str(node), str(said["state"]), places))
    return found
