"""Seeded fault schedules, played with every invariant on; shrinking; mutants.

Start with `schedules.py` and `play.py`.  `crew.py` decides what may break, `ending.py` judges the
end.
May import: api, broker, client, client.consumer, cluster, control, coordinators,
coordinators.classic, coordinators.consumer, coordinators.runtime, events, metadata, past, plain,
records, replication, sim.clients, sim.history, sim.invariants, sim.scripts, sim.world, storage,
wire.
"""
