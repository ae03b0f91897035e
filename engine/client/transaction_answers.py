"""What an answer of a coordinator changes: the state, the epoch, the partitions, the queue.

    no error             the request has done its work
    any other            the API's table (transaction_outcomes.py) says what to do

The answers to AddPartitionsToTxn and TxnOffsetCommit have an error for each partition.  The first
one that decides is taken.  Offsets that one answer accepts are done; the others are sent again.

CONCURRENT_TRANSACTIONS means that the last transaction of this producer is still being completed:
its markers are on their way.  It is retriable.  For the first AddPartitionsToTxn of a transaction
the client waits only 20 ms, because that is usually enough (KAFKA-5477).
"""

from __future__ import annotations

from engine.client.metadata import Metadata, Place
from engine.client.transaction_lifecycle import Failure
from engine.client.transaction_outcomes import TABLES, Outcome
from engine.client.transaction_requests import GROUP, TRANSACTION, Wanted
from engine.client.transactions import Transactions
from engine.events import Answered, Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.transaction_answers.Answers"
FIRST_ADD_BACKOFF_MS = 20


class Answers:
    """Takes in one answer; the queue and the state of `transactions` change."""

    def __init__(self, outbox: Outbox, transactions: Transactions, metadata: Metadata) -> None:
        self.outbox = outbox
        self.transactions = transactions
        self.metadata = metadata

    def heard(self, wanted: Wanted, body: Answered) -> None:
        match body:
            case m.FindCoordinatorResponse():
                self._coordinator(wanted, body)
            case m.InitProducerIdResponse():
                self._id(wanted, body)
            case m.AddPartitionsToTxnResponse():
                self._partitions(wanted, body)
            case m.AddOffsetsToTxnResponse():
                self._group(wanted, body)
            case m.TxnOffsetCommitResponse():
                self._offsets(wanted, body)
            case m.EndTxnResponse():
                self._ended(wanted, body)
            case _:
                self.lost(wanted)

    def lost(self, wanted: Wanted) -> None:
        """The connection has ended.  The coordinator may have moved, or may have done its work:
        to the same request again it gives the same answer."""
        if wanted.coordinator is not None:
            key = self.transactions.key_of(wanted)
            self.transactions.find(wanted.coordinator, key, "the connection is lost")
        self.transactions.again(wanted)

    # -- without an error

    def _coordinator(self, wanted: Wanted, body: m.FindCoordinatorResponse) -> None:
        found = body.coordinators[0] if body.coordinators else body
        error = Errors(found.error_code)
        self._note(wanted, error)
        if error:
            self._failed(wanted, error)
            return
        asked = wanted.body
        assert isinstance(asked, m.FindCoordinatorRequest)
        self.metadata.nodes[found.node_id] = (found.host, found.port)
        self.transactions.coordinators[asked.key_type] = found.node_id
        kind = "transaction" if asked.key_type == TRANSACTION else "group"
        self.outbox.trace(f"{_HERE}._coordinator", "coordinator", broker=found.node_id, type=kind)
        wanted.result.close()

    def _id(self, wanted: Wanted, body: m.InitProducerIdResponse) -> None:
        error = Errors(body.error_code)
        self._note(wanted, error)
        if error:
            self._failed(wanted, error)
            return
        identity = (body.producer_id, body.producer_epoch)
        self.transactions.identity.became(*identity, forgets=wanted.is_bump)
        self.transactions.ready()
        wanted.result.close()

    def _partitions(self, wanted: Wanted, body: m.AddPartitionsToTxnResponse) -> None:
        errors = {
            (topic.name, part.partition_index): Errors(part.partition_error_code)
            for topic in body.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        }
        transactions = self.transactions
        wanted.backoff_ms = None
        failed: dict[Place, Errors] = {at: error for at, error in errors.items() if error}
        self._note(wanted, next(iter(failed.values()), Errors.NONE))
        for error in failed.values():
            outcome = TABLES[wanted.api].of(error)
            if outcome == Outcome.ABORT and error != Errors.TRANSACTION_ABORTABLE:
                continue  # of one partition: see what the others say
            if error == Errors.CONCURRENT_TRANSACTIONS and not transactions.added:
                wanted.backoff_ms = FIRST_ADD_BACKOFF_MS
            self._failed(wanted, error)
            return
        transactions.pending = {at: None for at in transactions.pending if at not in errors}
        if failed:
            denied = Errors.TOPIC_AUTHORIZATION_FAILED
            error = denied if denied in failed.values() else next(iter(failed.values()))
            self._failed(wanted, error)
            return
        transactions.joined(errors, wanted.api)
        wanted.result.close()

    def _group(self, wanted: Wanted, body: m.AddOffsetsToTxnResponse) -> None:
        error = Errors(body.error_code)
        self._note(wanted, error)
        if error:
            self._failed(wanted, error)
            return
        assert wanted.group is not None
        self.transactions.commit_offsets(wanted.offsets, wanted.group, wanted.result)
        self.transactions.is_started = True

    def _offsets(self, wanted: Wanted, body: m.TxnOffsetCommitResponse) -> None:
        errors = {
            (topic.name, part.partition_index): Errors(part.error_code)
            for topic in body.topics
            for part in topic.partitions
        }
        transactions = self.transactions
        self._note(wanted, next((error for error in errors.values() if error), Errors.NONE))
        is_looking = False
        for place, error in errors.items():
            outcome = TABLES[wanted.api].of(error)
            if not error:
                transactions.uncommitted.pop(place, None)
            elif outcome == Outcome.FIND:
                if not is_looking:
                    transactions.find(GROUP, transactions.key_of(wanted), error.name)
                is_looking = True
            elif outcome != Outcome.RETRY:
                self._failed(wanted, error)
                break
        if wanted.result.is_done:
            transactions.uncommitted = {}
        elif not transactions.uncommitted:
            wanted.result.close()
        else:
            transactions.again(wanted)

    def _ended(self, wanted: Wanted, body: m.EndTxnResponse) -> None:
        error = Errors(body.error_code)
        self._note(wanted, error)
        asked = wanted.body
        assert isinstance(asked, m.EndTxnRequest)
        if error == Errors.TRANSACTION_ABORTABLE and not asked.committed:
            self._end(wanted, error, fatal=True)  # an abort cannot be mended by another one
            return
        if error:
            self._failed(wanted, error)
            return
        is_v2 = wanted.version_max is None  # in virtual time an older answer may have the field too
        if is_v2 and body.producer_id >= 0:
            self.transactions.identity.became(body.producer_id, body.producer_epoch, forgets=True)
        self.transactions.over("committed" if asked.committed else "aborted")
        wanted.result.close()

    # -- with one

    def _note(self, wanted: Wanted, error: Errors) -> None:
        self.outbox.trace(f"{_HERE}._note", "response", why=error.name if error else "",
                          api=wanted.api, error=error.name)  # fmt: skip

    def _failed(self, wanted: Wanted, error: Errors) -> None:
        transactions = self.transactions
        match TABLES[wanted.api].of(error):
            case Outcome.FIND:
                transactions.find(TRANSACTION, transactions.name, error.name)
                transactions.again(wanted)
            case Outcome.RETRY:
                transactions.again(wanted)
            case Outcome.ABORT:
                self._end(wanted, error, fatal=False)
            case Outcome.NEW_EPOCH:
                wanted.result.close(error.name)
                transactions.new_epoch(Failure(error, f"{wanted.api} failed with {error.name}."))
            case Outcome.FENCED:
                self._end(wanted, Errors.PRODUCER_FENCED, fatal=True)
            case Outcome.FATAL:
                self._end(wanted, error, fatal=True)

    def _end(self, wanted: Wanted, error: Errors, fatal: bool) -> None:
        wanted.result.close(error.name)
        if error == Errors.PRODUCER_FENCED:
            text = "A newer producer has this transactional.id."
        else:
            text = f"{wanted.api} failed with {error.name}."
        if fatal:
            self.transactions.fatal(Failure(error, text))
        else:
            self.transactions.abortable(Failure(error, text))
