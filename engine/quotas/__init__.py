"""Quotas: what a client may take of a broker, and what happens when it takes more.

Start with `client_quotas.py`; `rate.py` measures.
May import: events, metadata, plain, replication, settings, wire.
"""
