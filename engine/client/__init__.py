"""A producer as a state machine, with the Java client's settings and its behaviour.

Start with `producer.py`; `sockets.py` drives it against real brokers.
May import: events, records, wire.
"""
