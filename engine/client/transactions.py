"""What a transactional producer knows: its state, its partitions, its requests (KIP-98, KIP-890).

    init_transactions     Ready           an id, an epoch; older producers of this name are fenced
    begin_transaction     InTransaction   only the client knows of it
    send                                  the partition joins the transaction
    send_offsets_to_…                     the group's offsets join it
    commit_transaction    Committing…     waits for all batches, then EndTxn(true)
    abort_transaction     Aborting…       drops what was not sent yet, then EndTxn(false)

Transaction protocol 1: a partition is added by AddPartitionsToTxn, and its batches wait until that
is answered.  Protocol 2: the broker adds it with the first batch, and the answer to EndTxn brings
the next epoch, so that a late batch of this transaction is never part of the next one.  The
finalised feature transaction.version, in any broker's ApiVersions answer, says which one holds.
The client looks at it when it begins and at the end of each transaction; after an upgrade it also
asks for a new epoch.

A transaction to which nothing was added has no EndTxn: no broker knows of it.

Simplified: `send` in a wrong state leaves nothing behind, where the Java client has put the record
into a batch already.

Left out: the abort of an open transaction when the producer is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.client import transaction_requests as requests
from engine.client.connections import Connections
from engine.client.idempotence import Idempotence
from engine.client.metadata import Place
from engine.client.transaction_lifecycle import Failure, Lifecycle
from engine.client.transaction_outcomes import FATAL_FOR_RECORDS
from engine.client.transaction_requests import GroupMetadata, Offset, Result, Wanted
from engine.client.transaction_states import COMPLETING, ERRORS, State
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.transactions.Transactions"
FEATURE = "transaction.version"
BUMPS_EPOCHS = 3
"""The first version of InitProducerId that takes an epoch to bump (KIP-360)."""
ABORTED = "the transaction was aborted"


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that changes the state, until it has returned; `leads_to` is its state meanwhile."""

    operation: str
    leads_to: State
    result: Result


class Transactions:
    """`added` are the partitions in the transaction, `new` and `pending` those on their way."""

    def __init__(self, outbox: Outbox, name: str, timeout_ms: int, connections: Connections,
                 identity: Idempotence) -> None:  # fmt: skip
        self.outbox = outbox
        self.name = name
        self.timeout_ms = timeout_ms
        self.connections = connections
        self.identity = identity
        self.lifecycle = Lifecycle(outbox, name, identity)
        self.queue: list[Wanted] = []
        self.new: dict[Place, None] = {}
        self.pending: dict[Place, None] = {}
        self.added: dict[Place, None] = {}
        self.uncommitted: dict[Place, Offset] = {}
        self.coordinators: dict[int, int | None] = {}
        self.is_started = False
        self.is_v2 = False
        self.needs_epoch = False
        self.bumps_epochs = False
        self.features_epoch = -1
        self.call: Pending | None = None

    # -- the application's calls

    def init_transactions(self) -> Result:
        return self._called("init_transactions", State.INITIALIZING) or self._init()

    def _init(self) -> Result:
        self.lifecycle.check_healthy()
        self.lifecycle.enter(State.INITIALIZING, "init_transactions")
        return self._pending("init_transactions", State.INITIALIZING, self._ask_for_id(None))

    def begin_transaction(self) -> None:
        self._check_nothing_pending("begin_transaction")
        self.lifecycle.check_healthy()
        self.lifecycle.enter(State.IN_TRANSACTION, "begin_transaction")

    def commit_transaction(self) -> Result:
        leads_to = State.COMMITTING_TRANSACTION
        if again := self._called("commit_transaction", leads_to):
            return again
        self.lifecycle.check_healthy()
        self.lifecycle.enter(leads_to, "commit_transaction")
        return self._pending("commit_transaction", leads_to, self._complete(commits=True))

    def abort_transaction(self) -> Result:
        leads_to = State.ABORTING_TRANSACTION
        if again := self._called("abort_transaction", leads_to):
            return again
        if self.lifecycle.state != State.ABORTABLE_ERROR:
            self.lifecycle.check_healthy()
        self.lifecycle.enter(leads_to, "abort_transaction")
        self.new = {}
        return self._pending("abort_transaction", leads_to, self._complete(commits=False))

    def send_offsets(self, offsets: Mapping[Place, Offset], group: GroupMetadata) -> Result:
        self._check_nothing_pending("send_offsets_to_transaction")
        self.lifecycle.check_healthy()
        self.lifecycle.check_open("send offsets")
        if not self.is_v2:
            wanted = requests.add_offsets(self.name, self.identity.identity, offsets, group)
            self.enqueue(wanted)
            return wanted.result
        self.is_started = True
        return self.commit_offsets(offsets, group, Result("TxnOffsetCommit"))

    def check_send(self) -> None:
        """Whether a record may be handed over now."""
        self.lifecycle.check_healthy()
        self._check_nothing_pending("send")
        self.lifecycle.check_open("send")
        if not self.identity.is_known:
            raise RuntimeError(f"{self.name} has no producer id: its init_transactions failed.")

    def add(self, place: Place) -> None:
        """A record is in a batch of this partition: it must be in the transaction."""
        if self.lifecycle.state != State.IN_TRANSACTION or place in self.added:
            return
        if self.is_v2:
            self.joined([place], "its first batch adds it")
        elif place not in self.new and place not in self.pending:
            self.new[place] = None

    def joined(self, places: Iterable[Place], why: str) -> None:
        """Partitions are in the transaction: their batches may leave."""
        for place in places:
            self.added[place] = None
            self.outbox.trace(f"{_HERE}.joined", "joined", f"{place[0]}-{place[1]}", why)
        self.is_started = True

    def _complete(self, commits: bool) -> Result:
        if self.new:
            self._add_new()
        end = requests.end_txn(self.name, self.identity.identity, commits, self.is_v2)
        self.look_at_feature(at_start=False)
        self.enqueue(end)
        if not self.needs_epoch:
            return end.result
        return self._ask_for_id(self.identity.identity)

    def _ask_for_id(self, bumps: requests.Identity | None) -> Result:
        wanted = requests.init_producer_id(self.name, self.timeout_ms, bumps)
        self.enqueue(wanted)
        return wanted.result

    # -- whether a call may be made

    def _called(self, operation: str, leads_to: State) -> Result | None:
        """The result of the same call, if that timed out: the application may wait once more."""
        if self.call is None or self.call.leads_to != leads_to:
            self._check_nothing_pending(operation)
            return None
        return self.call.result

    def _pending(self, operation: str, leads_to: State, result: Result) -> Result:
        self.call = Pending(operation, leads_to, result)
        return result

    def returned(self, result: Result) -> None:
        """The application has its result; it may make the next call."""
        if self.call is not None and self.call.result is result:
            self.call = None

    def _check_nothing_pending(self, operation: str) -> None:
        if self.call is not None:
            raise RuntimeError(
                f"{operation} must wait: {self.call.operation} has not returned yet. If it timed "
                f"out, call {self.call.operation} again."
            )

    # -- transitions

    def abortable(self, failure: Failure) -> None:
        """This transaction is lost; the application must abort it, unless it does so already."""
        if self.lifecycle.state != State.ABORTING_TRANSACTION:
            self.lifecycle.become(State.ABORTABLE_ERROR, failure.text, failure)

    def fatal(self, failure: Failure) -> None:
        self.lifecycle.become(State.FATAL_ERROR, failure.text, failure)
        if self.call is not None:
            self.call.result.close(failure.error.name)

    def new_epoch(self, failure: Failure) -> None:
        """As `abortable`, but the producer cannot go on under its epoch (KIP-360)."""
        if not (self.bumps_epochs or self.is_v2):
            self.fatal(failure)
            return
        self._want_epoch()
        self.abortable(failure)

    def _want_epoch(self) -> None:
        """In protocol 2 the epoch changes with the abort anyway."""
        if self.bumps_epochs and not self.is_v2:
            self.needs_epoch = True

    def records_failed(self, error: Errors) -> None:
        """A batch was given up, or a record refused."""
        if self.lifecycle.is_fatal:
            return
        if error in FATAL_FOR_RECORDS:
            self.fatal(Failure(error, f"{error.name} ends the producer."))
            return
        if error.retriable or error == Errors.INVALID_TXN_STATE:
            why = f"{error.name}, and no attempt is left."
            failure = Failure(Errors.TRANSACTION_ABORTABLE, why)
        else:
            failure = Failure(error, f"A record failed with {error.name}.")
        if self.lifecycle.state not in COMPLETING:
            self._want_epoch()
        self.abortable(failure)

    def numbers_in_doubt(self) -> None:
        """A sent batch was given up, and whether it is stored cannot be found out."""
        if self.lifecycle.is_fatal:
            return
        why = "It is not known whether a batch that was given up is stored."
        self.new_epoch(Failure(Errors.UNKNOWN_SERVER_ERROR, why))

    def reinitialize(self) -> None:
        """Access was refused: the next init_transactions may succeed."""
        failure = self.lifecycle.failure or Failure(Errors.UNKNOWN_SERVER_ERROR, "")
        for wanted in self.queue:
            wanted.result.close(failure.error.name)
        self.lifecycle.become(State.UNINITIALIZED, failure.text)
        if self.call is not None:
            self.call.result.close(failure.error.name)

    def over(self, why: str) -> None:
        """The transaction has ended; with `needs_epoch` the new epoch is still to come.

        A batch that is given up while an abort is under way wants an epoch, too, but the abort has
        asked for none.  Then this producer stays in Initializing, as Kafka's own does
        (docs/findings.md): the application has to close it.
        """
        self.lifecycle.become(State.INITIALIZING if self.needs_epoch else State.READY, why)
        self.needs_epoch = self.is_started = False
        self.new, self.pending, self.added = {}, {}, {}

    def ready(self) -> None:
        self.lifecycle.become(State.READY, "the coordinator has given an epoch")

    # -- what the sender may do

    def may_send_to(self, place: Place) -> bool:
        return place in self.added and not self.lifecycle.is_fatal

    # -- requests

    def enqueue(self, wanted: Wanted) -> None:
        """Behind those of its priority."""
        self.queue.append(wanted)
        self.queue.sort(key=lambda each: each.priority)

    def again(self, wanted: Wanted) -> None:
        wanted.is_retry = True
        self.enqueue(wanted)

    def find(self, kind: int, key: str, why: str) -> None:
        """The coordinator is not known (any more)."""
        self.coordinators[kind] = None
        self.outbox.trace(f"{_HERE}.find", "coordinator unknown", why=why, key=key)
        self.enqueue(requests.find_coordinator(kind, key))

    def key_of(self, wanted: Wanted) -> str:
        """By which FindCoordinator finds the coordinator of a request."""
        return wanted.group.group_id if wanted.group and not wanted.coordinator else self.name

    def _add_new(self) -> None:
        self.pending |= self.new
        self.new = {}
        self.enqueue(requests.add_partitions(self.name, self.identity.identity, self.pending))

    def commit_offsets(
        self, offsets: Mapping[Place, Offset], group: GroupMetadata, result: Result
    ) -> Result:
        """The group's coordinator gets the offsets; they count when the transaction commits."""
        self.uncommitted |= offsets
        identity = self.identity.identity
        self.enqueue(
            requests.offset_commit(self.name, identity, self.uncommitted, group, result, self.is_v2)
        )
        return result

    def next_request(self, has_batches: bool) -> Wanted | None:
        """The most urgent request.  EndTxn waits until every batch is done."""
        if self.new:
            self._add_new()
        if not self.queue or (self.queue[0].is_end and has_batches):
            return None
        wanted = self.queue.pop(0)
        if self.lifecycle.failure is not None and self.lifecycle.state in ERRORS:
            finds = isinstance(wanted.body, m.FindCoordinatorRequest)
            if not (finds and self.lifecycle.state == State.ABORTABLE_ERROR):
                wanted.result.close(self.lifecycle.failure.error.name)
                return None
        if wanted.is_end and not self.is_started:
            wanted.result.close()
            self.over("nothing was added to the transaction, so no broker knows of it")
            return self.queue.pop(0) if self.queue else None
        return wanted

    # -- what the brokers can do

    def coordinator_ready(self, node: int) -> None:
        """Its ApiVersions answer is here."""
        offered = self.connections.offered.get(node, {})
        self.bumps_epochs = offered.get(m.InitProducerIdRequest.API_KEY, -1) >= BUMPS_EPOCHS

    def look_at_feature(self, at_start: bool) -> None:
        """Which protocol the next transaction has."""
        if self.features_epoch >= self.connections.features_epoch:
            return
        self.features_epoch = self.connections.features_epoch
        was_v2 = self.is_v2
        self.is_v2 = self.connections.features.get(FEATURE, 0) >= 2
        if self.is_v2 and not was_v2 and not at_start:
            self.needs_epoch = True
