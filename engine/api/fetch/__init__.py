"""Fetch: `fetch.py` takes the request, `answers.py` answers it, `delayed_fetch.py` waits.

May import: replication, storage, wire, events; not another API.
"""

from engine.api.fetch.fetch import handle

__all__ = ["handle"]
