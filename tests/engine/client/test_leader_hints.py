"""A broker that refuses a batch may say who leads now, and where that is (KIP-951)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.client.by_hand import ByHand

PLACE = ("orders", 0)


def refused(leader: int, epoch: int, *addresses: int) -> ByHand:
    """One record for 101, which answers that it no longer leads."""
    hand = ByHand(linger_ms=0, enable_idempotence="false")
    hand.send(b"A")
    hand.connect()
    hand.tell_leader(101, 101, 102)
    hand.later(1)
    response: Any = m.ProduceResponse
    hand.settle_produce(
        Errors.NOT_LEADER_OR_FOLLOWER,
        current_leader=response.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
        node_endpoints=[response.NodeEndpoint(node_id=n, host="new", port=n) for n in addresses],
    )
    return hand


def test_a_leader_that_is_new_to_the_client_is_connected_to_where_the_refusal_says() -> None:
    hand = refused(104, 1, 104)
    assert hand.producer.metadata.nodes[104] == ("new", 104)
    assert [each.destination for each in hand.waiting(m.ApiVersionsRequest)] == [104]


def test_without_an_address_it_is_not_believed_and_metadata_is_asked_for() -> None:
    hand = refused(104, 1)
    assert hand.producer.metadata.leader(PLACE) == 101
    hand.later(1_000)
    assert len(hand.waiting(m.MetadataRequest)) == 1
    assert not hand.waiting(m.ApiVersionsRequest)


def test_a_leader_whose_address_is_known_needs_none() -> None:
    assert refused(102, 1).producer.metadata.leader(PLACE) == 102


@pytest.mark.parametrize(("leader", "epoch"), [(104, 0), (-1, -1)])
def test_what_is_no_news_is_not_believed(leader: int, epoch: int) -> None:
    metadata = refused(leader, epoch, 104).producer.metadata
    assert metadata.leader(PLACE) == 101
    assert 104 not in metadata.nodes
