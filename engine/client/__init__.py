"""A producer and a consumer as state machines, with the Java client's settings and behavior.

Start with `producer.py`, or with `consumer/consumer.py`; both share `connections.py`, `metadata.py`
and `backoff.py`.  `sockets.py` drives them against real brokers.  A producer with a
transactional.id also has `transactions.py`, what it knows of its transactions, and:

    transaction_states    which may follow which       transaction_lifecycle  of one producer
    transaction_requests  what coordinators are asked  transaction_answers    what they change
    transaction_outcomes  what an error does, by API   transaction_calls      those that wait
    transactional_sender  one request at a time, the most urgent first

May import: events, records, wire.
"""
