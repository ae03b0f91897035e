"""What must hold after every event.

Start with `invariants.py`; add one there, and a mutant that it catches in campaign/mutants.py.
`successors.py` is about topics that are made again, `groups.py` about consumer groups, `stable.py`
and `transactions.py` about transactions, `quorum.py` and `majority.py` about controllers,
`zookeeper.py` about the historic control plane.
May import: broker, client, client.consumer, cluster, control, coordinators, coordinators.classic,
coordinators.consumer, coordinators.runtime, coordinators.transactions, events, metadata, plain,
quorum, records, replication, storage, wire, zookeeper.
"""
