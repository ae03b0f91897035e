"""Produce: `produce.py` takes the request, `delayed_produce.py` waits for the in-sync replicas.

May import: replication, storage, wire, events; not another API.
"""

from engine.api.produce.produce import handle

__all__ = ["handle"]
