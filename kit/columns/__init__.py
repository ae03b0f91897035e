"""One fault in four columns: the engine's KRaft and ZooKeeper, a real KRaft, a real ZooKeeper.

    columns.py    runs a scenario in one column after another
    side.py       what a scenario is given: the words that all columns understand
    stage.py      what differs between columns; virtual.py: a world, live.py: Java processes
    outcome.py    the same rows for all, as a table and as data
    scenarios.py  faults of the control plane, and the differences that are known

May import: both, clusters, jars, probes and tables of the kit; the engine.
"""
