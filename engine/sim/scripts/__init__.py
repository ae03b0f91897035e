"""Trace scripts: a fault scenario as text, and below it what every replica did.

Start with `scripts.py`; `player.py` carries a script out on a world or over sockets.
May import: cluster, events, metadata, plain, records, replication, sim.world, wire.
"""
