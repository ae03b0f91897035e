"""Transactions (KIP-98): one coordinator decides, all partitions follow.

`states` are the tables, `metadata` one transactional id and how it changes, `transaction_records`
what is written down.  `transaction_coordinator` is the door; `transaction_shard` keeps one
partition of `__transaction_state`, `requests` change it, `markers` carry a decision to the leaders,
`timeouts` is what the clock does.
May import: coordinators, coordinators.runtime, events, metadata, records, settings, wire.
"""
