"""A small model of replication, searched whole; its counter-examples replayed with brokers.

Start with `model.py`, `steps.py` and `rules.py`; `explore.py` searches, by `search.py`, and
`replay.py` replays.
May import: events, plain, records, sim.invariants, sim.world, wire.
"""
