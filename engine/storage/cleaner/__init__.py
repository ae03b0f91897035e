"""Compaction: of each key the latest record stays, and what it replaced goes.

Start with `cleaning.py`, one pass over one log; `log_to_clean.py` says which log is due,
`record_filter.py` which records stay, `offset_map.py` how the pass knows.  The cleaned segment
takes its place in the log through `engine.storage.swap`.
May import: records, storage.
"""
