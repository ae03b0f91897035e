"""Brokers and a controller as one object: processes, links, timers, and what is to come.

Start with `cluster.py`; the drivers are server/ (real time) and sim/world/ (virtual time).
May import: api, broker, control, events, metadata, past, plain, quorum, records, replication,
settings, storage, wire, zookeeper.
"""
