"""A follower's fetcher: what it asks, and what it makes of every kind of answer."""

from __future__ import annotations

from typing import Any

import pytest

from engine.events import Send, SetTimer
from engine.replication.fetcher import Fetcher
from engine.replication.partition import Partition
from engine.replication.questions import FetcherTimer, FetchRound
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.replication.parts import (
    LEADER,
    NOW,
    OTHER,
    TOPIC_ID,
    fetcher,
    image,
    partition,
    written,
)


class Following:
    """Broker 102 follows orders-0 on 101; requests and answers by hand."""

    def __init__(self, epochs: tuple[int, ...] = (), rule: str = "fetch-divergence") -> None:
        self.partition: Partition = partition(OTHER, epochs)
        self.partition.update(NOW, image(leader_epoch=max(epochs, default=0)))
        self.outbox = self.partition.outbox
        self.fetcher: Fetcher = fetcher(self.outbox, rule)
        self.partition.readers.fetcher = self.fetcher
        self.fetcher.follow(self.partition)
        self.fetcher.poll(NOW)
        self.token: Any = None

    def sent(self) -> Any:
        """The request sent last; None if there is none."""
        sends = [effect for effect in self.outbox.drain() if isinstance(effect, Send)]
        if not sends:
            return None
        assert len(sends) == 1
        self.token = sends[0].token
        return sends[0].body

    def asked(self) -> Any:
        """The only partition that the last request names."""
        return self.sent().topics[0].partitions[0]

    def answer(self, body: Any, now: int = NOW) -> list[Partition]:
        return self.fetcher.answered(now, self.token, body)

    def records(self, now: int = NOW, session_id: int = 9, **fields: Any) -> list[Partition]:
        data = m.FetchResponse.PartitionData(
            partition_index=0,
            **{"high_watermark": 0, "log_start_offset": 0, "records": b"", **fields},
        )
        topic = m.FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
        return self.answer(m.FetchResponse(session_id=session_id, responses=[topic]), now)

    def offset(self, offset: int, error: Errors = Errors.NONE, now: int = NOW) -> list[Partition]:
        response = m.ListOffsetsResponse
        part = response.ListOffsetsPartitionResponse(offset=offset, error_code=error)
        topic = response.ListOffsetsTopicResponse(name="orders", partitions=[part])
        return self.answer(response(topics=[topic]), now)


def test_it_asks_from_its_log_end_and_names_its_last_epoch() -> None:
    following = Following(epochs=(0, 0, 2))
    asked = following.asked()
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (3, 2, 2)


def test_records_are_appended_and_the_next_fetch_acknowledges_them() -> None:
    following = Following()
    following.sent()
    assert following.records(records=written(0, 0, "a", "b"), high_watermark=1)
    assert following.partition.high_watermark == 1
    request = following.sent()
    assert (request.session_id, request.session_epoch) == (9, 1)
    assert request.topics[0].partitions[0].fetch_offset == 2


def test_what_did_not_change_is_not_named_again() -> None:
    following = Following()
    following.sent()
    following.records()
    request = following.sent()
    assert request.topics == []
    following.records()
    assert following.sent().session_epoch == 2


def test_a_diverging_epoch_cuts_the_log() -> None:
    following = Following(epochs=(0, 0, 0))
    following.sent()
    reported = m.FetchResponse.EpochEndOffset(epoch=0, end_offset=1)
    assert following.records(diverging_epoch=reported) == [following.partition]
    assert following.partition.log.log_end_offset == 1
    assert following.asked().fetch_offset == 1


def test_an_answer_of_an_older_epoch_is_not_heard() -> None:
    following = Following()
    following.sent()
    following.partition.update(NOW, image(leader_epoch=1, partition_epoch=1))
    assert following.records(records=written(0, 0, "a")) == []
    assert following.partition.log.log_end_offset == 0


def test_an_answer_from_before_a_truncation_is_not_heard() -> None:
    following = Following(epochs=(0, 0))
    following.sent()
    following.partition.truncate(1, "a test")
    assert following.records(records=written(2, 0, "a")) == []
    assert following.partition.log.log_end_offset == 1


def test_an_answer_to_a_fetcher_of_before_is_not_heard() -> None:
    following = Following()
    following.sent()
    following.token = FetchRound(LEADER, generation=0)
    assert following.records(records=written(0, 0, "a")) == []
    assert following.partition.log.log_end_offset == 0


def test_a_lost_answer_begins_a_new_session_after_a_while() -> None:
    following = Following()
    following.sent()
    following.records()
    following.sent()
    following.answer(None)
    effects = following.outbox.drain()
    wake = [effect for effect in effects if isinstance(effect, SetTimer)]
    assert [(each.token, each.at) for each in wake] == [
        (FetcherTimer(LEADER), NOW + following.fetcher.backoff_us)
    ]
    following.fetcher.poll(wake[0].at)
    request = following.sent()
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert len(request.topics) == 1


@pytest.mark.parametrize(
    "error", [Errors.FETCH_SESSION_ID_NOT_FOUND, Errors.INVALID_FETCH_SESSION_EPOCH]
)
def test_a_forgotten_session_is_begun_again_at_once(error: Errors) -> None:
    following = Following()
    following.sent()
    following.records()
    following.sent()
    following.answer(m.FetchResponse(error_code=error))
    request = following.sent()
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert len(request.topics) == 1


def test_a_refusal_concerns_one_partition_for_a_while() -> None:
    following = Following()
    following.sent()
    following.records(error_code=Errors.NOT_LEADER_OR_FOLLOWER)
    assert following.sent() is None
    following.fetcher.poll(NOW + following.fetcher.backoff_us)
    assert following.sent() is not None


def test_records_that_do_not_fit_are_refused_and_asked_for_again_later() -> None:
    following = Following(epochs=(0, 0))
    following.sent()
    assert following.records(records=written(0, 0, "a")) == []
    assert following.partition.log.log_end_offset == 2
    assert following.sent() is None


def test_unfollowed_partitions_are_forgotten_by_the_session() -> None:
    following = Following()
    other = partition(OTHER)
    other.topic_id, other.index = bytes(16), 5
    following.sent()
    following.records()
    following.sent()
    other.update(NOW, image())
    following.fetcher.follow(other)
    following.records()
    following.sent()
    following.fetcher.unfollow(other)
    following.records()
    forgotten = following.sent().forgotten_topics_data
    assert [(topic.topic_id, topic.partitions) for topic in forgotten] == [(bytes(16), [5])]


# -- out of range: the leader's log lies elsewhere


def out_of_range(epochs: tuple[int, ...]) -> Following:
    following = Following(epochs)
    following.sent()
    following.records(error_code=Errors.OFFSET_OUT_OF_RANGE)
    return following


def test_out_of_range_asks_where_the_leaders_log_ends() -> None:
    following = out_of_range((0, 0, 0))
    request = following.sent()
    assert type(request).__name__ == "ListOffsetsRequest"
    assert request.replica_id == OTHER
    assert request.topics[0].partitions[0].timestamp == -1


def test_a_leader_that_ends_before_us_cuts_us() -> None:
    following = out_of_range((0, 0, 0))
    following.sent()
    assert following.offset(1) == [following.partition]
    assert following.partition.log.log_end_offset == 1
    assert following.asked().fetch_offset == 1


def test_a_leader_that_starts_after_our_end_makes_us_begin_there() -> None:
    following = out_of_range((0, 0, 0))
    following.sent()
    following.offset(9)
    assert following.asked().timestamp == -2
    assert following.offset(7) == [following.partition]
    log = following.partition.log
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    assert following.partition.high_watermark == 7
    assert following.asked().fetch_offset == 7


def test_a_refused_or_lost_look_up_is_tried_again_later() -> None:
    for lost in (True, False):
        following = out_of_range((0, 0, 0))
        following.sent()
        if lost:
            following.answer(None)
        else:
            following.offset(-1, Errors.NOT_LEADER_OR_FOLLOWER)
        assert following.partition.log.log_end_offset == 3
        assert following.sent() is None
        following.fetcher.poll(NOW + following.fetcher.backoff_us)
        again = following.sent()
        assert (type(again).__name__, again.session_epoch) == ("FetchRequest", 1)


# -- the rules of the past


def test_kip_101_asks_for_the_end_of_its_last_epoch_first() -> None:
    following = Following(epochs=(0, 0, 1), rule="kip-101")
    request = following.sent()
    assert type(request).__name__ == "OffsetForLeaderEpochRequest"
    assert request.topics[0].partitions[0].leader_epoch == 1
    response = m.OffsetForLeaderEpochResponse
    end = response.EpochEndOffset(partition=0, leader_epoch=0, end_offset=2)
    topic = response.OffsetForLeaderTopicResult(topic="orders", partitions=[end])
    following.answer(response(topics=[topic]))
    assert following.partition.log.log_end_offset == 2
    assert following.asked().fetch_offset == 2


def test_to_high_watermark_cuts_without_asking() -> None:
    following = Following(epochs=(0, 0, 0), rule="to-high-watermark")
    assert following.partition.log.log_end_offset == 0
    assert following.asked().fetch_offset == 0
