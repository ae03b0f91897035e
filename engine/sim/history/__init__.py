"""The history checker: what clients saw, judged against what they were promised.

operations.py   what clients did, as plain data        evidence.py   sorted by partition
findings.py     anomalies, each with its proof         check.py      records against promises
simulated.py    the history of a simulated run         reading.py    one reader's way
"""

from engine.sim.history.check import check
from engine.sim.history.findings import KINDS, Finding, Findings
from engine.sim.history.operations import (
    EndTransaction,
    History,
    Operation,
    Poll,
    Reached,
    Read,
    Seek,
    Send,
)
from engine.sim.history.simulated import history_in, history_of, sends_of

__all__ = [
    "KINDS",
    "EndTransaction",
    "Finding",
    "Findings",
    "History",
    "Operation",
    "Poll",
    "Reached",
    "Read",
    "Seek",
    "Send",
    "check",
    "history_in",
    "history_of",
    "sends_of",
]
