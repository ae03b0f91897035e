"""Replicas: leaders, followers, the ISR, and how a returning follower truncates.

Start with `partition.py`; `replica_manager.py` has all replicas of one broker.
May import: events, metadata, settings, storage, storage.cleaner, storage.remote, wire.
"""
