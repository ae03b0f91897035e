"""Transactions (KIP-98): one coordinator decides, all partitions follow.

`states` are the tables, `metadata` one transactional id and how it changes, `transaction_records`
what is written down.
May import: coordinators, coordinators.runtime, events, metadata, records, settings, wire.
"""
