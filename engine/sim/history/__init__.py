"""The history checker: compares what clients saw with what they were promised.

operations.py   what clients did, as plain data        evidence.py   sorted by partition
findings.py     anomalies, each with its proof         check.py      records against promises
reading.py      one reader's way                 processing.py  what applications did of it

The history of a simulated run is read in engine/sim/clients/histories.py.
May import: nothing.
"""

from engine.sim.history.check import check
from engine.sim.history.findings import KINDS, Finding, Findings
from engine.sim.history.operations import (
    Commit,
    EndTransaction,
    History,
    Operation,
    Poll,
    Process,
    Reached,
    Read,
    Seek,
    Send,
)

__all__ = [
    "KINDS",
    "Commit",
    "EndTransaction",
    "Finding",
    "Findings",
    "History",
    "Operation",
    "Poll",
    "Process",
    "Reached",
    "Read",
    "Seek",
    "Send",
    "check",
]
