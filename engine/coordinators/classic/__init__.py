"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

`states` are the tables, `group` the data, `groups` all of one shard, the others are the rules.
The next protocol (KIP-848) has a room of its own, `consumer/`.
May import: coordinators.runtime, events, metadata, records, settings, wire.
"""
