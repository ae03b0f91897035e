"""A producer and a consumer as state machines, with the Java client's settings and behaviour.

Start with `producer.py`, or with `consumer/consumer.py`; both share `connections.py`, `metadata.py`
and `backoff.py`.  `sockets.py` drives them against real brokers.
May import: events, records, wire.
"""
