"""Tiered storage (KIP-405): closed segments in a store that all brokers share.

Start with `segment_states.py`, the life of a remote segment; `segment_metadata.py` is what is known
of one, `remote_segments.py` what is known of all of a partition, and `local_tiered_storage.py` the
store, a folder.
May import: records, storage, wire.
"""
