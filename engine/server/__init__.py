"""Drives a cluster in real time: sockets for clients, a control socket for the kit.

Start with `server.py`; a connection is in `connection.py`, a broker's door in `listener.py`.
May import: api, broker, cluster, control, events, plain, quotas, settings, storage, wire.
"""
