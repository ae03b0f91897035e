"""Over a limit: what the answer says, for how long the client is muted, and who is exempt."""

from __future__ import annotations

import pickle

import pytest

from engine.events import Request
from engine.wire import messages as m
from tests.engine.quotas.quota_cluster import TOPIC, QuotaCluster, fetching, producing

CLIENT = {"client-id": "report"}


@pytest.fixture
def cluster() -> QuotaCluster:
    return QuotaCluster()


def test_a_producer_over_its_rate_is_answered_at_once_and_muted(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, producer_byte_rate=1_000)
    assert cluster.send("report", producing(), size=10_000).mute_ms == 0
    sent_at = cluster.cluster.now
    reply = cluster.send("report", producing(), size=5_000)
    assert cluster.cluster.now == sent_at
    assert reply.body.responses[0].partition_responses[0].error_code == 0
    # 15,000 bytes over ten windows are 1,500/s: half as much again, so half of ten seconds.
    assert reply.body.throttle_time_ms == reply.mute_ms == 5_000


def test_every_client_id_has_its_own_share_of_the_default(cluster: QuotaCluster) -> None:
    cluster.limit({"client-id": None}, producer_byte_rate=1_000)
    assert cluster.send("a", producing(), size=15_000).mute_ms == 5_000
    assert cluster.send("b", producing(), size=9_000).mute_ms == 0


def test_clients_of_one_user_share_the_users_rate(cluster: QuotaCluster) -> None:
    cluster.limit({"user": "ANONYMOUS"}, producer_byte_rate=1_000)
    assert cluster.send("a", producing(), size=9_000).mute_ms == 0
    assert cluster.send("b", producing(), size=6_000).mute_ms == 5_000


def test_without_acks_there_is_no_answer_and_yet_a_mute(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, producer_byte_rate=1_000, request_percentage=0.001)
    reply = cluster.send("report", producing(acks=0), size=15_000, thread_time_us=900_000)
    assert reply.body is None
    assert reply.mute_ms == 5_000


def test_a_throttled_fetch_is_empty_and_its_records_come_later(cluster: QuotaCluster) -> None:
    for _ in range(4):
        cluster.send("writer", producing(acks=-1, value_bytes=600))
    cluster.limit(CLIENT, consumer_byte_rate=100)
    # 1,000 bytes is all that one answer may hold; a batch has some 670.
    first = cluster.send("report", fetching())
    assert 0 < len(first.body.responses[0].partitions[0].records) <= 1_000
    assert first.mute_ms == 0
    second = cluster.send("report", fetching())
    assert second.body.responses == []
    assert second.body.throttle_time_ms == second.mute_ms > 0
    cluster.pass_ms(12_000)
    assert cluster.send("report", fetching()).body.responses[0].partitions[0].records


def test_what_was_not_counted_needs_no_payment(cluster: QuotaCluster) -> None:
    for _ in range(2):
        cluster.send("writer", producing(acks=-1, value_bytes=400))
    cluster.limit(CLIENT, consumer_byte_rate=100)
    cluster.send("report", fetching())
    waits = [cluster.send("report", fetching()).mute_ms for _ in range(3)]
    assert waits[0] == waits[1] == waits[2] > 0


def test_a_session_tells_again_what_a_throttled_answer_did_not(cluster: QuotaCluster) -> None:
    opened = cluster.send("report", fetching(session_epoch=0)).body
    cluster.send("writer", producing(acks=-1, value_bytes=400))
    cluster.limit(CLIENT, consumer_byte_rate=1)
    session = {"session_id": opened.session_id, "offset": 1}
    muted = cluster.send("report", fetching(session_epoch=1, **session))
    assert muted.mute_ms > 0
    assert muted.body.session_id == opened.session_id
    assert muted.body.responses == []
    cluster.limit(CLIENT, consumer_byte_rate=None)
    reported = cluster.send("report", fetching(session_epoch=2, **session)).body
    assert reported.responses[0].partitions[0].high_watermark == 1


def test_a_throttled_full_fetch_opens_no_session(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, consumer_byte_rate=1)
    sessions = cluster.cluster.nodes[101].replicas.sessions.sessions
    before = len(sessions)
    answer = cluster.send("report", fetching(session_epoch=0)).body
    assert answer.throttle_time_ms > 0
    assert answer.session_id == 0
    assert len(sessions) == before


def test_the_share_of_a_thread_is_charged_with_the_next_request(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, request_percentage=1)
    ask = m.ListOffsetsRequest(replica_id=-1)
    assert cluster.send("report", ask, 9).mute_ms == 0
    # 0.15 s in ten seconds are 1.5 %: five seconds to wait, of which one window is the most.
    reply = cluster.send("report", ask, 9, thread_time_us=150_000)
    assert reply.body.throttle_time_ms == reply.mute_ms == 1_000
    assert cluster.send("other", ask, 9, thread_time_us=150_000).mute_ms == 0


def test_followers_are_exempt(cluster: QuotaCluster) -> None:
    cluster.limit({"client-id": None}, consumer_byte_rate=1, request_percentage=0.001)
    for _ in range(3):
        cluster.send("writer", producing(acks=-1), size=1, thread_time_us=0)
    replicas = [cluster.cluster.nodes[b].replicas.partitions[TOPIC, 0] for b in (101, 102, 103)]
    assert {each.log.log_end_offset for each in replicas} == {3}


def test_a_limit_reaches_connections_that_are_open(cluster: QuotaCluster) -> None:
    cluster.limit({"client-id": "someone else"}, producer_byte_rate=1)
    assert cluster.send("report", producing(), size=15_000).mute_ms == 0
    cluster.limit(CLIENT, producer_byte_rate=1_000)
    assert cluster.send("report", producing(), size=1).mute_ms > 0


def test_the_story_says_who_was_throttled(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, producer_byte_rate=1_000)
    cluster.send("report", producing(), size=15_000)
    line = next(each for _, _, each in cluster.cluster.trace if each.kind == "throttled")
    assert dict(line.fields) == {"client_id": "report", "api": "Produce", "throttle_time_ms": 5_000}
    assert line.why == "over producer_byte_rate"


def test_accounts_pickle_with_their_broker(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, producer_byte_rate=1_000)
    cluster.send("report", producing(), size=9_000)
    copy = pickle.loads(pickle.dumps(cluster))
    assert copy.send("report", producing(), size=6_000).mute_ms == 5_000
    assert cluster.send("report", producing(), size=1_000).mute_ms == 0


def test_a_request_of_a_node_has_the_size_that_it_would_have(cluster: QuotaCluster) -> None:
    cluster.limit(CLIENT, producer_byte_rate=1_000)
    request = Request("node", (1, 1), 12, producing(value_bytes=15_000), "report")
    assert request.size == 0
    assert cluster.send("report", request.body).mute_ms > 5_000
