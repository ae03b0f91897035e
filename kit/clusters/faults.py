"""What can be done to a cluster: one table for every provider, their refusals, and the panels.

A new fault is a row here and a method in `interface.Cluster` and `KafkaCluster`.  Each provider
that offers it has a way to do it (`Provider.ways`).  Every other one has a sentence that refuses
it (`Provider.refusals`); a remote cluster makes it from the row's `verb` and
`offered_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Ways = Mapping[str, Callable[..., None]]
"""How a provider does each fault that it offers; called with the fault's arguments."""
UP = ("running", "paused")


@dataclass(frozen=True)
class Fault:
    """One row."""

    step: str
    """What the cluster does, for those who wait; {0} and {1} are its nodes."""
    verb: str
    """The same as an infinitive, of any node."""
    states: tuple[str, ...] = ()
    """Those in which its node must be; any if empty."""
    nodes: int = 1
    offered_by: str = "the engine or the local cluster"
    """What a cluster of others proposes instead of itself."""
    button: str = ""
    """What a panel's button says about a {node}, or its menu; empty if no panel has one."""


FAULTS: Mapping[str, Fault] = {
    "kill": Fault(
        "kills {0}", "kill a broker", UP,
        button="End {node} at once (SIGKILL): nothing is handed over, nothing is flushed.",
    ),
    "stop": Fault(
        "stops {0}", "stop a broker", ("running",),
        button="Stop {node} cleanly: it hands its leaderships over first.",
    ),
    "start": Fault(
        "starts {0}", "start a broker",
        button="Start {node} with the files on its disk.",
    ),
    "pause": Fault(
        "pauses {0}", "pause a broker", ("running",),
        button="Pause {node}: its process stays, but does not answer.",
    ),
    "resume": Fault(
        "resumes {0}", "resume a broker", UP,
        button="Resume {node} where it was paused.",
    ),
    "lose_power": Fault(
        "takes the power from {0}", "cut a broker's power",
        offered_by="the engine",
    ),
    "cut": Fault(
        "cuts {0} from {1}", "cut a link", nodes=2,
        button="Cut links of {node}.",
    ),
    "isolate": Fault(
        "isolates {0}", "isolate a broker",
        button="from everybody",
    ),
    "slow": Fault("slows the link {0}-{1}", "slow a link", nodes=2),
    "heal": Fault(
        "heals the links", "heal a link", nodes=0,
        button="heal all links",
    ),
}  # fmt: skip
"""By the name of the method."""
BUTTONS = tuple(name for name, fault in FAULTS.items() if fault.button)
