"""Transactions: what joins one, how it ends, its markers, and what is shown of it.

Each case has a transactional id of its own; its transaction is open, with the partition of MARKED
in it.  Markers go to that topic only, for they move its end.
"""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from engine.wire import messages as m
from tests.conformance.probe.case import Case, Here, one
from tests.conformance.probe.side import MARKED, TOPIC, TRANSACTION, Until

ADD = m.AddPartitionsToTxnRequest
WRITE = m.WriteTxnMarkersRequest
STORE = m.TxnOffsetCommitRequest
FROM_BROKERS = 4
LARGEST_EPOCH = 32767
Producer = tuple[int, int]


def add(
    here: Here,
    *topics: tuple[str, list[int]],
    producer: Producer | None = None,
    verify: bool = False,
) -> Any:
    """AddPartitionsToTxn in the form of its version."""
    rows = [ADD.AddPartitionsToTxnTopic(*each) for each in topics]
    who = here.begin() if producer is None else producer
    if here.version_of("AddPartitionsToTxn") >= FROM_BROKERS:
        return ADD([ADD.AddPartitionsToTxnTransaction(here.name, *who, verify, rows)])
    return ADD([], here.name, *who, rows)


def marker(
    here: Here,
    *partitions: int,
    epoch: int = 3,
    commit: bool = True,
    topic: str = MARKED,
    version: int = 0,
    coordinator: int = 5,
) -> Any:
    """A marker of a producer that only this case has."""
    producer_id = 1_000_000 + int("".join(re.findall(r"\d", here.name)) or 0)
    return WRITE.WritableTxnMarker(
        producer_id,
        epoch,
        commit,
        [WRITE.WritableTxnMarkerTopic(topic, list(partitions))],
        coordinator,
        version,
    )


def markers(*each: Any) -> Any:
    return WRITE(list(each))


def store(
    here: Here,
    *,
    group: str | None = None,
    producer: Producer | None = None,
    index: int = 0,
    topic: str = TOPIC,
    **more: Any,
) -> Any:
    """TxnOffsetCommit; the group's partition is in the transaction by then."""
    name = here.group if group is None else group
    if producer is None:
        producer = here.begin()
        joins = m.AddOffsetsToTxnRequest(here.name, *producer, name)
        here.side.until(Until(joins, lambda answer: not answer.error_code))
    part = STORE.TxnOffsetCommitRequestPartition(index, 3, committed_metadata="note")
    return STORE(
        here.name,
        name,
        *producer,
        topics=[STORE.TxnOffsetCommitRequestTopic(topic, [part])],
        **more,
    )


def end(here: Here, producer: Producer, commit: bool = True) -> Any:
    return m.EndTxnRequest(here.name, *producer, commit)


def shown(here: Here) -> Any:
    return m.DescribeTransactionsRequest([here.name])


def after(producer: Producer, id_by: int = 0, epoch_by: int = 0) -> Producer:
    return producer[0] + id_by, producer[1] + epoch_by


JOINING = [
    one("AddPartitionsToTxn", "two topics", lambda here: add(here, (TOPIC, [0, 1]), (MARKED, [0]))),
    one("AddPartitionsToTxn", "what is in it", lambda here: add(here, (MARKED, [0]))),
    one("AddPartitionsToTxn", "verified", lambda here: add(here, (TOPIC, [0, 1]), (MARKED, [0]), verify=True)),
    one("AddPartitionsToTxn", "an unknown partition", lambda here: add(here, (TOPIC, [0, 9]))),
    one("AddPartitionsToTxn", "an unknown topic", lambda here: add(here, ("nope", [0]), (TOPIC, [1]))),
    one("AddPartitionsToTxn", "nothing", lambda here: add(here)),
    one("AddPartitionsToTxn", "of no transaction", lambda here: ADD([]), silent=True, last_only=True),
    one("AddPartitionsToTxn", "an unknown id", lambda here: add(here, (TOPIC, [0]), producer=(5, 0))),
    one("AddPartitionsToTxn", "an older epoch", lambda here: add(here, (TOPIC, [1]), producer=after(here.begin(), epoch_by=-1))),
    one("AddPartitionsToTxn", "a later epoch", lambda here: add(here, (TOPIC, [1]), producer=after(here.begin(), epoch_by=1))),
    one("AddPartitionsToTxn", "another producer id", lambda here: add(here, (TOPIC, [1]), producer=after(here.begin(), id_by=1))),
    one("AddPartitionsToTxn", "verified, an older epoch", lambda here: add(here, (MARKED, [0]), producer=after(here.begin(), epoch_by=-1), verify=True)),
    one("AddOffsetsToTxn", "a group", lambda here: m.AddOffsetsToTxnRequest(here.name, *here.begin(), here.group)),
    one("AddOffsetsToTxn", "an unknown id", lambda here: m.AddOffsetsToTxnRequest(here.name, 5, 0, here.group)),
    one("AddOffsetsToTxn", "an older epoch", lambda here: m.AddOffsetsToTxnRequest(here.name, *after(here.begin(), epoch_by=-1), here.group)),
    one("AddOffsetsToTxn", "no group", lambda here: m.AddOffsetsToTxnRequest(here.name, *here.begin(), "")),
    one("TxnOffsetCommit", "an offset", store),
    one("TxnOffsetCommit", "of an unknown topic", lambda here: store(here, topic="nope")),
    one("TxnOffsetCommit", "of an unknown partition", lambda here: store(here, index=9)),
    one("TxnOffsetCommit", "an older epoch", lambda here: store(here, producer=after(here.begin(), epoch_by=-1))),
    one("TxnOffsetCommit", "a partition that has not joined", lambda here: store(here, producer=here.begin())),
    one("TxnOffsetCommit", "an unknown id", lambda here: store(here, producer=(5, 0))),
    one("TxnOffsetCommit", "nothing", lambda here: STORE(here.name, here.group, *here.begin())),
    one("TxnOffsetCommit", "a generation of no group", lambda here: store(here, generation_id=3) if here.version >= 3 else store(here)),
    one("TxnOffsetCommit", "a member of no group", lambda here: store(here, generation_id=0, member_id="m") if here.version >= 3 else store(here)),
]  # fmt: skip


def _ended(commit: bool, again: bool | None = None, epoch_by: int = 0) -> Any:
    def script(here: Here) -> Generator[Any, Any, None]:
        producer = after(here.begin(), epoch_by=epoch_by)
        yield end(here, producer, commit)
        if again is not None:
            done = Until(
                shown(here),
                lambda answer: answer.transaction_states[0].transaction_state.startswith(
                    "Complete"
                ),
            )
            yield done
            yield end(here, producer, again)

    return script


def _described(here: Here) -> Generator[Any, Any, None]:
    here.begin()
    yield shown(here)


ENDS = [
    Case("EndTxn", "commit", _ended(True)),
    Case("EndTxn", "abort", _ended(False)),
    Case("EndTxn", "commit twice", _ended(True, True)),
    Case("EndTxn", "abort twice", _ended(False, False)),
    Case("EndTxn", "commit, then abort", _ended(True, False)),
    Case("EndTxn", "of an older epoch", _ended(True, epoch_by=-1)),
    Case("EndTxn", "of a later epoch", _ended(True, epoch_by=1)),
    one("EndTxn", "an unknown id", lambda here: end(here, (5, 0))),
    one("EndTxn", "no name", lambda here: m.EndTxnRequest("", 5, 0, True)),
    one("WriteTxnMarkers", "a marker", lambda here: markers(marker(here, 0))),
    one("WriteTxnMarkers", "an abort", lambda here: markers(marker(here, 0, commit=False))),
    one("WriteTxnMarkers", "two of one producer", lambda here: markers(marker(here, 0), marker(here, 0, topic=TOPIC + "x"))),
    one("WriteTxnMarkers", "a partition twice", lambda here: markers(marker(here, 0, 0)), silent=True, last_only=True),
    one("WriteTxnMarkers", "an unknown partition", lambda here: markers(marker(here, 9))),
    one("WriteTxnMarkers", "an unknown topic", lambda here: markers(marker(here, 0, topic="nope"))),
    one("WriteTxnMarkers", "nothing", lambda here: markers()),
    Case("WriteTxnMarkers", "a deposed coordinator", lambda here: _both(marker(here, 0), marker(here, 0, coordinator=4))),
    Case("WriteTxnMarkers", "an older epoch", lambda here: _both(marker(here, 0), marker(here, 0, epoch=2))),
    Case("WriteTxnMarkers", "a repetition", lambda here: _both(marker(here, 0), marker(here, 0))),
    Case("WriteTxnMarkers", "a repetition of version 2", lambda here: _both(marker(here, 0, version=2), marker(here, 0, version=2)), last_only=True),
]  # fmt: skip


def _both(first: Any, second: Any) -> Generator[Any, Any, None]:
    yield markers(first)
    yield markers(second)


VIEWS = [
    Case("DescribeTransactions", "an open one", _described),
    one("DescribeTransactions", "the prepared one", lambda here: m.DescribeTransactionsRequest([TRANSACTION])),
    one("DescribeTransactions", "an unknown one", shown),
    one("DescribeTransactions", "none", lambda here: m.DescribeTransactionsRequest([])),
    one("ListTransactions", "all", lambda here: m.ListTransactionsRequest(), everything=True),
    one("ListTransactions", "the open ones", lambda here: m.ListTransactionsRequest(["Ongoing"]), everything=True),
    one("ListTransactions", "the dead ones", lambda here: m.ListTransactionsRequest(["Dead"]), everything=True),
    one("ListTransactions", "an unknown state", lambda here: m.ListTransactionsRequest(["Asleep", "ongoing"]), everything=True),
    one("ListTransactions", "of another producer", lambda here: m.ListTransactionsRequest([], [5]), everything=True),
    one("ListTransactions", "the long ones", lambda here: m.ListTransactionsRequest([], [], 3_600_000), everything=True),
    one("ListTransactions", "by a pattern", lambda here: m.ListTransactionsRequest([], [], -1, ".*transact.*"), everything=True),
    one("ListTransactions", "by a part", lambda here: m.ListTransactionsRequest([], [], -1, "transact"), everything=True),
    one("ListTransactions", "by no pattern", lambda here: m.ListTransactionsRequest([], [], -1, "["), everything=True),
]  # fmt: skip

CASES = [*JOINING, *ENDS, *VIEWS]
