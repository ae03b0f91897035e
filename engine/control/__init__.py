"""The controller: registration, elections, placement, configs, and the log it writes them to.

Start with `controller.py`; the rules are functions from `state.py` to a Decision.
May import: events, metadata, plain, quorum, quotas, settings, storage, wire.
"""
