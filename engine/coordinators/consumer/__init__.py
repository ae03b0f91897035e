"""The consumer protocol (KIP-848): members send one heartbeat, and the coordinator assigns.

`states` are the tables, `group` the data, `stored_group` what is written down, `groups` all of one
shard.  A heartbeat goes through `heartbeat`, then `advance`: group epoch, `target`,
`reconciliation`.
`migration`, `classic_join` and `classic_members` are the way from and to the classic protocol.
May import: coordinators.classic, coordinators.consumer.assignors, coordinators.runtime, events,
metadata, records, settings, wire.
"""
