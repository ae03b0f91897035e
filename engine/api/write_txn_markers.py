"""WriteTxnMarkers (key 27): the coordinator's decision arrives at a leader (KIP-98).

Each marker ends one producer's transaction in some partitions: a batch with one control record,
COMMIT or ABORT.  The answer waits until the markers are replicated.  It has one row for each
producer id, however many markers name it.  In `__consumer_offsets` the group coordinator learns of
it too, because a commit makes pending offsets count.

    v2    the transaction's version: from 2 on the marker's epoch is later than its records'
          (KIP-1228), so that a late marker cannot end the next transaction (KAFKA-17754)

An administrator's abort of a hanging transaction is this request, too (KIP-664).

Simplified: a marker that names a partition twice is written once and answered; Kafka 4.3.1 never
answers it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.broker.broker import Broker
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.events import Outbox, Request
from engine.records import control
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Marker = m.WriteTxnMarkersRequest.WritableTxnMarker
Result = m.WriteTxnMarkersResponse.WritableTxnMarkerResult
Topic = m.WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
Row = m.WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult

NONE = -1
"""No producer id, epoch or version: Kafka cannot build a marker of it."""
_FIRST_VERSION_THAT_BUMPS = 2
_NOT_LEADING = (
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
)


def handle(broker: Broker, now: int, request: Request[m.WriteTxnMarkersRequest]) -> None:
    if any(NONE in (each.producer_id, each.producer_epoch, each.transaction_version)
           for each in request.body.markers):  # fmt: skip
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    answer = Answer(broker.outbox, request)
    appends: list[tuple[Marker, str, RowWaiting]] = []
    for marker in request.body.markers:
        named = {
            (each.name, index): None for each in marker.topics for index in each.partition_indexes
        }
        for topic, index in named:
            row = answer.row(marker.producer_id, topic, index)
            appends.append((marker, topic, RowWaiting(answer, row)))
    answer.missing = len(appends) + 1
    for marker, name, waiting in appends:
        error = _append(broker, now, marker, name, waiting)
        if error is not Errors.NONE:
            waiting.stored(now, error)
    answer.one_less()


def _append(broker: Broker, now: int, marker: Marker, topic: str, row: RowWaiting) -> Errors:
    """NONE if the append is under way: `row` hears its end."""
    index = row.row.partition_index
    if (topic, index) not in broker.replicas.partitions:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    batch = control.end_transaction(
        commit=marker.transaction_result,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp=now // 1000,
    )
    bumps = marker.transaction_version >= _FIRST_VERSION_THAT_BUMPS
    if topic == OFFSETS_TOPIC:
        ends = (marker.producer_id, marker.transaction_result, bumps)
        broker.groups.end_transaction(now, index, batch, *ends, row)
        return Errors.NONE
    timeout_ms = broker.settings["request.timeout.ms"]
    return broker.replicas.append(now, topic, index, batch, row, timeout_ms, None, bumps)


@dataclass(slots=True, eq=False)
class Answer:
    """Goes out when the last of its rows is known."""

    outbox: Outbox
    request: Request[m.WriteTxnMarkersRequest]
    rows: dict[int, dict[str, dict[int, Row]]] = field(default_factory=dict)
    """By producer id, topic and partition.  Of two markers the one that ends last is answered."""
    missing: int = 0

    def row(self, producer_id: int, topic: str, index: int) -> Row:
        topics = self.rows.setdefault(producer_id, {})
        return topics.setdefault(topic, {}).setdefault(index, Row(index))

    def one_less(self) -> None:
        self.missing -= 1
        if not self.missing:
            markers = [
                Result(
                    producer_id, [Topic(name, list(rows.values())) for name, rows in each.items()]
                )
                for producer_id, each in self.rows.items()
            ]
            self.outbox.reply(self.request, m.WriteTxnMarkersResponse(markers=markers))


@dataclass(slots=True, eq=False)
class RowWaiting:
    """One marker in one partition."""

    answer: Answer
    row: Row

    def stored(self, now: int, error: Errors) -> None:
        """What a group coordinator says is put in a leader's words."""
        self.row.error_code = Errors.NOT_LEADER_OR_FOLLOWER if error in _NOT_LEADING else error
        self.answer.one_less()


def refuse(
    request: Request[m.WriteTxnMarkersRequest], code: Errors, message: str | None
) -> m.WriteTxnMarkersResponse:
    return m.WriteTxnMarkersResponse(
        markers=[
            Result(
                marker.producer_id,
                [
                    Topic(topic.name, [Row(index, code) for index in topic.partition_indexes])
                    for topic in marker.topics
                ],
            )
            for marker in request.body.markers
        ]
    )
