"""Fetch: `fetch.py` takes the request, `answers.py` answers it, `delayed_fetch.py` waits.

May import: broker, events, replication, storage, wire.
"""

from engine.api.fetch.fetch import handle

__all__ = ["handle"]
