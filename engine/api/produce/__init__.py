"""Produce: `produce.py` takes the request, `delayed_produce.py` waits for the in-sync replicas.

May import: broker, events, metadata, past, records, replication, storage, wire.
"""

from engine.api.produce.produce import handle, refuse

__all__ = ["handle", "refuse"]
