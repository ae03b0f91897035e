"""A teachable Kafka: brokers and a controller as state machines, under two drivers.

Rooms, lowest first: wire, records, settings, storage, metadata; replication, quotas,
coordinators; broker, api; control; cluster; server and sim.  client is beside them.
Each room says in its prologue what is in it and what it may import; a test holds that.
"""
