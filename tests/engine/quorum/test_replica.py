"""One voter by itself: what it asks of which other voter, and when."""

from __future__ import annotations

from random import Random

from engine.events import Outbox, Request, Send
from engine.quorum import raft_messages
from engine.quorum.replica import Replica
from engine.quorum.requests import RaftCall
from engine.quorum.voters import ReplicaKey
from engine.settings import Settings
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m

VOTERS = (100, 200, 300)


class NoMachine:
    """Nothing is made of the log."""

    def leads(self, now: int) -> None: ...

    def follows(self, now: int) -> None: ...

    def committed(self, now: int) -> None: ...


def asked(outbox: Outbox) -> list[tuple[int, RaftCall]]:
    """The voters that it asks for what comes next in the log, with the token of each request."""
    sent = [each for each in outbox.drain() if isinstance(each, Send)]
    assert all(isinstance(each.body, m.FetchRequest) for each in sent)
    return [(each.destination, each.token) for each in sent if isinstance(each.token, RaftCall)]


def test_a_voter_fetches_at_once_from_a_leader_that_it_had_left_alone() -> None:
    """What a peer did not answer before an election says nothing about what it does after it."""
    outbox = Outbox()
    voter = Replica(
        100, VOTERS, "cluster", Settings(), MemoryDisk(), outbox, Random(5), NoMachine()
    )
    voter.start(0)
    [(silent, call)] = asked(outbox)
    voter.answered(1, call, None)
    [(other, _)] = asked(outbox)
    assert {silent, other} == {200, 300}
    body = raft_messages.begin_epoch("cluster", ReplicaKey(100), 1, silent)
    voter.requested(2, Request(silent, "begin", 0, body))
    assert [peer for peer, _ in asked(outbox)] == [silent]
