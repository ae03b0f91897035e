"""The runs of notebook 08 show what its prose says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.sim.world.world import World
from lessons.nb08_producers import fault_tape, flipped_bit, virtual_runs
from lessons.nb08_producers.be_the_broker import meets, meets_once
from lessons.nb08_producers.delivery_timeline import DeliveryTimeline
from lessons.nb08_producers.fault_stages import Simulated, log_of
from lessons.nb08_producers.shop import Shop


def test_a_timeline_begins_with_the_linger_and_ends_with_the_verdict() -> None:
    late = DeliveryTimeline.of(virtual_runs.late_answer(), "shop")
    assert [span.kind for span in late.spans] == ["linger", "attempt", "pause", "attempt"]
    assert late.spans[1].end_ms - late.spans[1].begin_ms == late.request_ms
    assert late.verdict.startswith("acknowledged")
    assert "REQUEST_TIMED_OUT" in late.svg()


def test_a_timeline_of_refusals_ends_at_the_delivery_timeout() -> None:
    over = DeliveryTimeline.of(virtual_runs.too_few_replicas(), "shop")
    assert over.verdict == "refused after 3000.0 ms: delivery.timeout.ms"
    assert over.spans[-1].end_ms == over.allowed_ms
    pauses = [span.end_ms - span.begin_ms for span in over.spans if span.kind == "pause"][:-1]
    assert all(1.3 < later / earlier < 3 for earlier, later in pairwise(pauses[:4]))


def test_a_low_request_timeout_makes_more_requests() -> None:
    runs = {ms: virtual_runs.slow_answers(ms) for ms in (30_000, 1_000)}
    patient, brisk = (list(map(int, row[1:])) for row in virtual_runs.in_the_end(runs).rows)
    (requests, acknowledged, waiting), (more_requests, none, all_waiting) = patient, brisk
    assert more_requests > 1.5 * requests
    assert none == 0 < acknowledged
    assert all_waiting == 8 > waiting


def test_a_rolling_restart_costs_records_only_without_retries() -> None:
    never = {"enable.idempotence": False, "retries": 0}
    (_, failed, lost), (_, none_failed, none_lost) = (
        row[1:] for row in virtual_runs.rolling_restart({"never": never, "default": {}}).rows
    )
    assert all(int(each) >= 1 for each in failed.split(", "))
    assert int(lost) >= 1
    assert (none_failed, none_lost) == ("0, 0, 0", "0")


def test_the_published_loop_ends_with_the_outage_and_stores_a_copy_per_call() -> None:
    rows = virtual_runs.published_loop(outages_s=(10, 60)).rows
    assert all(calls == copies for _, calls, copies in rows)
    assert virtual_runs.MAX_RETRIES < int(rows[0][1]) < int(rows[1][1])


def test_a_gap_cost_a_record_and_the_id_before_kip_360() -> None:
    old, new = virtual_runs.gap_after_an_unclean_election().rows
    assert old[1] == new[1]
    assert old[2:] == ["1000, 0", "unknown, acknowledged, acknowledged", "A B C G H"]
    assert new[2:] == ["0, 1", "acknowledged, acknowledged, acknowledged", "A B C F G H"]


def test_a_new_leader_knows_the_batch_that_the_old_one_did_not_answer() -> None:
    rows = virtual_runs.failover().rows
    assert rows[-1][1] == "acknowledged; the log of 102 is X Y A"
    remembered = [row[1].partition("sequences ")[2] for row in rows[:5]]
    assert remembered == ["0", "0 1", "0 1 2", "0 1 2", "0 1 2"]


@pytest.mark.parametrize(("lost", "log"), [("answers", ["A"]), ("requests", [])])
def test_no_answer_is_unknown_stored_or_not(lost: str, log: list[str]) -> None:
    world = virtual_runs.no_answer(lost)
    timeline = DeliveryTimeline.of(world, "shop")
    assert timeline.verdict == "unknown after 5000.0 ms: delivery.timeout.ms"
    assert log_of(world, "orders") == log


def test_the_fault_tape_harms_fast_most_and_safe_not_at_all() -> None:
    judged = fault_tape.play(Simulated(World(seed=8)))
    assert {name: each.harm for name, each in judged.items()} == {
        "blind": "lost E F G H I",
        "fast": "lost G H, duplicate D, reordered E",
        "old": "duplicate D",
        "default": "lost G H",
        "safe": "none",
    }
    assert [name for name, each in judged.items() if each.unclean] == ["default"]
    assert [name for name, each in judged.items() if not each.alone] == ["old", "safe"]


def test_idempotence_costs_no_rate_and_one_in_flight_does() -> None:
    """The producer is 2 ms away from the leader; see the table of the fault tape."""
    rates, p99_ms = zip(
        *(
            virtual_runs.without_a_fault(fault_tape.RECIPES[name].settings)
            for name in ("fast", "safe", "old")
        ),
        strict=True,
    )
    assert rates[0] > rates[1] > 3 * rates[2]
    assert p99_ms[0] < p99_ms[1] < p99_ms[2] / 3


@pytest.mark.parametrize(
    ("error", "requests", "verdict"),
    [
        ("NOT_LEADER_OR_FOLLOWER", 2, "acknowledged"),
        ("DUPLICATE_SEQUENCE_NUMBER", 1, "acknowledged"),
        ("TOPIC_AUTHORIZATION_FAILED", 1, "refused"),
    ],
)
def test_an_error_that_is_met_once(error: str, requests: int, verdict: str) -> None:
    assert meets_once(error) == (requests, verdict)


# -- one producer, and what it notes


def test_a_shop_in_a_world_tells_what_it_sent_and_what_came_back() -> None:
    shop = Shop(virtual_runs.orders(), "orders", {"enable.idempotence": False})
    shop.lose_answers(1)
    shop.send("A")
    assert shop.wait()
    assert shop.log() == ["A", "A"]
    assert shop.story.rows == [
        ["sends A to 101", "attempt 1, no number"],
        ["hears of A", "NETWORK_EXCEPTION"],
        ["sends A to 101", "attempt 2, no number"],
        ["hears of A", "success"],
    ]


@pytest.mark.parametrize(
    ("settings", "log"),
    [
        ({"enable.idempotence": False}, "D C B A"),
        ({}, "A B C D"),
    ],
)
def test_requests_that_are_lost_with_their_connection_come_back_reversed_or_in_order(
    settings: dict, log: str
) -> None:
    shop = Shop(virtual_runs.orders(), "orders", settings)
    shop.lose_requests(4)
    shop.send("A", "B", "C", "D")
    assert shop.wait()
    assert " ".join(shop.log()) == log
    assert shop.most_under_way == 4


def test_a_batch_is_damaged_only_on_sockets() -> None:
    shop = Shop(virtual_runs.orders(), "orders")
    with pytest.raises(ValueError, match="on sockets"):
        flipped_bit.in_the_next(shop, 1)


# -- the learner as the broker


@pytest.mark.parametrize("step", [["okay"], ["NONE"]])
def test_a_word_that_is_no_answer_is_refused_in_a_sentence(step: list[str]) -> None:
    with pytest.raises(ValueError, match="is no answer; take ok, again"):
        meets("A", step)


def test_a_client_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="There is no client 'java' here"):
        meets("A", ["ok"], client="java")


def test_silence_ends_with_another_attempt() -> None:
    assert meets("A", ["silence"], ["again"]).closing == "heard: A acknowledged; the log: A"


def test_a_learner_can_play_the_broker() -> None:
    table = meets("A B C", ["NOT_ENOUGH_REPLICAS", "ok", "ok"], enable_idempotence=False)
    assert table.closing.endswith("the log: B C A")
