"""What must hold after every event.

Start with `invariants.py`; add one there, and a mutant that it catches in campaign/mutants.py.
May import: cluster, events, metadata, plain, records, replication, storage.
"""
