"""The runtime: a state machine, kept in one partition of an internal topic.

`runtime` has the partitions led here, `shard` loads and settles one, `writes` are under way.
Groups use it for `__consumer_offsets`, transactions for `__transaction_state`.
May import: events, metadata, records, settings, wire.
"""
