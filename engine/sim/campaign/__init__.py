"""Seeded fault schedules, played with every invariant on; shrinking; mutants.

Start with `schedules.py` and `play.py`.  `crew.py` decides what may break, `ending.py` judges the
end.  `members.py` has the members of consumer groups, `tills.py` transactional producers.
May import: api, broker, client, client.consumer, cluster, control, coordinators,
coordinators.classic, coordinators.consumer, coordinators.runtime, coordinators.transactions,
events, metadata, past, plain, quorum, records, replication, sim.clients, sim.history,
sim.invariants, sim.scripts, sim.world, storage, storage.cleaner, wire, zookeeper.
"""
