"""Simulated clients: small producers, consumers and a trimmer that record what the checks need.

Start with `clients.py`; `histories.py` turns that into a history.
May import: api, events, records, sim.history, sim.invariants, wire.
"""
