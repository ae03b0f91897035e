"""What is done to a world from outside, in the order in which it was done.

Everything that happens inside a world follows from its seed.  What comes from outside (a
fault, a request, a new client) does not, so it is written down on the tape.  Each
action is an event of its own and has that event's number, so that the same seed and the same
tape are the same run:

    event   1 … 211     212               213 … 480    481
            inside      ask 101 Create…   inside       kill 101

Actions hold only data.  A client or a request is kept as it was when it was handed over,
pickled, since it changes later.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass

from engine.sim.world.faults import Fault
from engine.wire.framing import API_NAMES
from engine.wire.structures import Message, RequestMessage


@dataclass(frozen=True)
class Ask:
    """One request to a broker, from the world's own `admin` client."""

    broker: int
    request: str
    body: bytes
    version_max: int | None = None
    """For a client of former days: no later version, though both sides know one."""

    @classmethod
    def of(cls, broker: int, body: RequestMessage[Message], version_max: int | None = None) -> Ask:
        return cls(broker, API_NAMES[body.API_KEY], pickle.dumps(body), version_max)

    def __str__(self) -> str:
        return f"ask {self.broker} {self.request}"


@dataclass(frozen=True)
class Add:
    """A new node, such as a client."""

    name: str
    node: bytes

    @classmethod
    def of(cls, name: str, node: object) -> Add:
        """ValueError if it could not be copied, as going back and forking do."""
        if not hasattr(node, "__dict__"):
            kind = type(node).__name__
            raise ValueError(f"{name}: a world copies what {kind} holds; leave out __slots__.")
        try:
            return cls(name, pickle.dumps(node))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{name}: a world copies its clients by pickle, and here it says: {error}; define "
                "the class at the top of a module or cell, and hold no lambda, file or generator."
            ) from None

    def __str__(self) -> str:
        return f"add {self.name}"


@dataclass(frozen=True)
class Tell:
    """`node.method(now, *arguments)`: runs the node's own code, such as a producer's send."""

    name: str
    method: str
    arguments: bytes

    @classmethod
    def of(cls, name: str, method: str, *arguments: object) -> Tell:
        return cls(name, method, pickle.dumps(arguments))

    def __str__(self) -> str:
        return " ".join(("tell", self.name, self.method, *map(str, pickle.loads(self.arguments))))


@dataclass(frozen=True)
class UseRule:
    """From now on, another truncation rule."""

    rule: str

    def __str__(self) -> str:
        return f"rule {self.rule}"


Action = Fault | Ask | Add | Tell | UseRule


@dataclass(frozen=True)
class Done:
    """An action, the number of the event that it was, and the virtual time since the beginning.

    `after` is how many items had left the cluster's queue by then.  Some are no events, such as
    a request that finds its broker dead, and yet they have consequences.
    """

    event: int
    at_us: int
    action: Action
    after: int = 0

    def __str__(self) -> str:
        return f"{self.event:6} {self.at_us / 1e6:10.6f} {self.action}"
