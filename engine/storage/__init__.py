"""One partition's log on one disk: segments, indexes, epochs, producer state, recovery.

Start with `log.py`; the disk is `disk.py`, with a real one and one in memory that loses power.
May import: plain, records, wire.
"""
