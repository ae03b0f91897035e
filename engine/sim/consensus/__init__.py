"""A small model of electing a leader and committing a log, searched whole, rule by rule.

Start with `model.py`, then `ladder.py`: rules that were once believed, and what each one breaks.
May import: plain, sim.model.
"""
