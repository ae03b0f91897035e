"""One broker: its parts, its standing with the controller, and the way of events to the parts.

Start with `broker.py`.  How requests are answered is handed in: api/ is above this room.
May import: coordinators, coordinators.classic, coordinators.consumer, coordinators.runtime,
coordinators.transactions, events, metadata, plain, quorum, quotas, records, replication,
settings, storage, wire.
"""
