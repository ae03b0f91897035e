"""Simulated clients: small producers, consumers and a trimmer that record what the checks need.

Start with `clients.py`; `histories.py` turns that into a history.
`till.py` is an application that writes in transactions, `remaker.py` an administrator.
May import: api, client, events, records, sim.history, sim.invariants, wire.
"""
