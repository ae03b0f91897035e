"""A cluster in virtual time: step, go back, fork; faults and clients at will.

Start with `world.py`, what a user calls, then `run.py`, what happens inside.
May import: cluster, events, metadata, past, plain, quorum, records, replication, sim.clients,
sim.invariants, storage, wire, zookeeper.
"""
