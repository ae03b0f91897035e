"""Which cluster a judge looks at: one that the notebook itself has started.  Judge side only.

A cluster that a learner made for the check alone would prove nothing.  In class the kit's
registry says which clusters the kernel started, and the judge asks the one behind the address
for its cluster id.  While marking, it is the first cluster that the notebook started: set-up
cells run before any answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kit.clusters.registry import registrations
from kit.exercises.cluster_log import Context, NoCluster


class Known(Protocol):
    """The clusters that a judge may look at."""

    def must_know(self, bootstrap: str) -> None:
        """Raises NoCluster for any other cluster, with a sentence."""
        ...


@dataclass(frozen=True, slots=True)
class OfKernel:
    """The registered clusters of one kernel, and those that `kafkalab up` shares."""

    process_id: int

    def must_know(self, bootstrap: str) -> None:
        for each in registrations():
            mine = each.shared or each.owner_pid == self.process_id
            if mine and each.bootstrap == bootstrap:
                return _same(bootstrap, each.cluster_id)
        raise _stranger(bootstrap)


class FirstStarted:
    """The first cluster that a submission started, as it announced it."""

    def __init__(self) -> None:
        self._bootstrap = ""
        self._cluster_id = ""

    def announced(self, bootstrap: str) -> None:
        """Remembers the first cluster; later ones are an answer's own."""
        if not self._bootstrap:
            self._bootstrap, self._cluster_id = bootstrap, Context(bootstrap).cluster_id()

    def must_know(self, bootstrap: str) -> None:
        if bootstrap != self._bootstrap:
            raise _stranger(bootstrap)
        _same(bootstrap, self._cluster_id)


def _same(bootstrap: str, cluster_id: str) -> None:
    found = Context(bootstrap).cluster_id()
    if cluster_id and found != cluster_id:
        raise NoCluster(
            f"At {bootstrap} there is another cluster now ({found}, not {cluster_id}): restart "
            "the kernel, run the set-up cells, and answer again."
        )


def _stranger(bootstrap: str) -> NoCluster:
    return NoCluster(
        f"The cluster at {bootstrap} is not the one of this notebook's set-up cells: do the "
        "exercise on that one, and pass it to the check."
    )
