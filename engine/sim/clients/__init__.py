"""Simulated clients: small producers, consumers and a trimmer that keep books for the checks.

Start with `clients.py`; `histories.py` turns their books into a history.
May import: api, events, records, sim.history, sim.invariants, wire.
"""
