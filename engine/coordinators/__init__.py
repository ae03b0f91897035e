"""Coordinators: brokers that keep the state of groups, and later of transactions, in a log.

`group_coordinator` is the door; a partition's groups are in `group_shard`, their offsets in
`offsets`.  One room per group protocol: `classic/`, and `consumer/` (KIP-848).
May import: coordinators.classic, coordinators.consumer, coordinators.runtime, events,
metadata, records, settings, wire.
"""
