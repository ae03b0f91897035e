"""A small model of electing a leader and committing a log, searched whole, rule by rule.

Start with `model.py`, then `ladder.py`: rules that were once believed, and what each one breaks.
`replay.py` replays that with controllers.
May import: events, plain, quorum, sim.campaign, sim.invariants, sim.model, sim.world, wire.
"""
