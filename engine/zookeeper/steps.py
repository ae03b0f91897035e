"""The controller's one thread: events in order, each a sequence of steps between round trips.

Kafka's controller handles one event after the other, and blocks while ZooKeeper answers.  A node
here may not block, so an event is a list of *steps*.  A step does something and may return
operations for ZooKeeper; the next step gets their results.  A step may put further steps in front
of the next one:

    broker_change   --> reads /brokers/ids
      brokers_read  --> reads each broker's znode
        decide          puts: elect leaders, take from ISRs, send the requests

Other events wait until the last step of this one is done.

A write of the controller is fenced: it happens only while `/controller_epoch` has the version that
it had when this controller was elected.  If one fails for that, another controller has been
elected. The event ends there, and `moved` is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from engine.zookeeper import znodes
from engine.zookeeper.client import Client
from engine.zookeeper.tree import Check, Code, Multi, Operation, Result, Write

Results = Sequence[Result]
Step = Callable[[int, Results], "Sequence[Operation] | None"]
"""Gets the time and the results of the step before; picklable, like all state."""


def fenced(write: Write, epoch_version: int) -> Multi:
    """The write, if the controller's epoch is still the last one."""
    return Multi((Check(znodes.CONTROLLER_EPOCH, epoch_version), write))


class Steps:
    """`moved` is the event that follows when a fenced write fails for the epoch."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events: deque[tuple[Step, ...]] = deque()
        self.steps: deque[Step] = deque()
        self.is_waiting = False
        self.asked: list[Operation] = []
        self.moved: Step | None = None

    def put(self, now: int, *steps: Step) -> None:
        """An event: it is handled when those before it are done."""
        self.events.append(steps)
        self._go_on(now, ())

    def then(self, *steps: Step) -> None:
        """For a step: these come next, in this order."""
        self.steps.extendleft(reversed(steps))

    def drop(self) -> None:
        """The session is over: what was under way or waited is void."""
        self.events.clear()
        self.steps.clear()
        self.is_waiting = False

    def _go_on(self, now: int, results: Results) -> None:
        while not self.is_waiting:
            if not self.steps:
                if not self.events:
                    return
                self.steps.extend(self.events.popleft())
                results = ()
            operations = self.steps.popleft()(now, results)
            results = ()
            if operations:
                self.is_waiting = True
                self.asked = list(operations)
                self.client.ask(operations, self.answered)

    def answered(self, now: int, results: Results) -> None:
        """ZooKeeper's answer to the last step."""
        self.is_waiting = False
        found: list[Result] = []
        for operation, result in zip(self.asked, results, strict=True):
            if isinstance(operation, Multi) and isinstance(operation.parts[0], Check):
                if result.parts and result.parts[0].code is Code.BAD_VERSION:
                    self.steps.clear()
                    if self.moved is not None:
                        self.steps.append(self.moved)
                    found = []
                    break
                found.append(result.parts[1] if result.parts else result)
            else:
                found.append(result)
        self._go_on(now, found)
