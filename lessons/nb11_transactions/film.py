"""The transfer of Alice and Bob in virtual time, for the Transaction panel.

The group's offsets are in partition 7 of 8, so the markers go to the partitions 0, 1 and 7.
"""

from __future__ import annotations

from engine.sim.world.world import World
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
