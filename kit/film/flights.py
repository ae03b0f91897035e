"""Messages on their way between two nodes of a recorded world.

`Departures` listens to a world and keeps each message as a `Flight`, with the times at which it
leaves and arrives, so that a picture can show where it is at any moment of virtual time.  What a
message says, the panel reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Answer, NodeId
from engine.sim.world.world import World
from kit.probes.messages import Message

STILL_HELD = 1 << 52
REQUEST, ANSWER = "request", "answer"


@dataclass(frozen=True)
class Flight:
    """A message on its way: from, to, when it left and when it will be there.

    One that is `held` waits at a cut until `arrives_us`, when the link is healed or no node
    waits for it any more (STILL_HELD before that).  Then it leaves as another flight.
    """

    sent_us: int
    arrives_us: int
    source: NodeId
    destination: NodeId
    message: Message
    held: bool = False

    def __str__(self) -> str:
        where = "held at the cut" if self.held else "on its way"
        return f"{where}: {self.source} → {self.destination}: {self.message.brief}"


class Departures:
    """The flights of a world, oldest first; `read` gives what a message says to this panel."""

    def __init__(self, world: World, read: Callable[[Sent], list[Message]]) -> None:
        self.world = world
        self.read = read
        self.flights: list[Flight] = []
        self._left = world.cluster.calls.held(world.cluster.now)
        self._held: dict[tuple[str, int], list[int]] = {}  # places in `flights`, by kind and call
        world.listen(self._hear)

    def note(self) -> Iterator[Flight]:
        """Keeps what has left since the last look; gives what is on its way, not held at a cut."""
        calls = self.world.cluster.agenda.calls
        left, self._left = self._left, []
        for sent in left:
            number = sent.message.number
            if number not in calls:
                continue
            kind, source, destination = REQUEST, sent.call.sender, sent.call.destination
            if isinstance(sent.message, Answer):
                kind, source, destination = ANSWER, destination, source
            messages = self._let_go(kind, number) or self.read(sent)
            held = sent.arrives_us is None
            arrives_us = STILL_HELD if sent.arrives_us is None else sent.arrives_us
            for message in messages:
                flight = Flight(sent.at_us, arrives_us, source, destination, message, held)
                if held:
                    self._held.setdefault((kind, number), []).append(len(self.flights))
                self.flights.append(flight)
                if not held:
                    yield flight
        for kind, number in [key for key in self._held if key[1] not in calls]:
            self._let_go(kind, number)

    def prepend(self, past: list[Flight], until_us: int) -> None:
        """Puts another timeline's flights, up to a time, before these."""
        earlier = [flight for flight in past if flight.sent_us <= until_us]
        places = {key: [len(earlier) + at for at in held] for key, held in self._held.items()}
        self.flights, self._held = [*earlier, *self.flights], places

    def _hear(self, what: Sent | Arrived) -> None:
        if isinstance(what, Sent) and what.arrives_us != what.at_us:
            self._left.append(what)

    def _let_go(self, kind: str, number: int) -> list[Message]:
        """Ends the wait at a cut; returns what the message says."""
        places = self._held.pop((kind, number), [])
        for place in places:
            now = self.world.cluster.now
            self.flights[place] = replace(self.flights[place], arrives_us=now)
        return [self.flights[place].message for place in places]
