"""The experiments of notebook 08 show what its prose says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.sim.world.world import World
from lessons.nb08_producers import application_runs, delivery_runs, fault_tape, idempotence_runs
from lessons.nb08_producers.be_the_broker import meets
from lessons.nb08_producers.delivery_timeline import DeliveryTimeline
from lessons.nb08_producers.fault_stages import Simulated


def test_a_timeline_begins_with_the_linger_and_ends_with_the_verdict() -> None:
    late = DeliveryTimeline.of(delivery_runs.late_answer(), "shop")
    assert [span.kind for span in late.spans] == ["linger", "try", "rest", "try"]
    assert late.spans[1].end_ms - late.spans[1].begin_ms == late.request_ms
    assert late.verdict.startswith("acknowledged")
    assert "REQUEST_TIMED_OUT" in late.svg()


def test_a_timeline_of_refusals_ends_at_the_delivery_timeout() -> None:
    over = DeliveryTimeline.of(delivery_runs.too_few_replicas(), "shop")
    assert over.verdict == "refused after 3000.0 ms: delivery.timeout.ms"
    assert over.spans[-1].end_ms == over.allowed_ms
    rests = [span.end_ms - span.begin_ms for span in over.spans if span.kind == "rest"][:-1]
    assert all(1.3 < later / earlier < 3 for earlier, later in pairwise(rests[:4]))


def test_try_17_has_2147483630_attempts_left() -> None:
    assert delivery_runs.attempts_left().rows[-1][:2] == ["17", "2147483630 attempts left"]


def test_a_lost_answer_makes_two_only_without_idempotence() -> None:
    assert [row[-1] for row in delivery_runs.lost_answer().rows] == ["A A", "A"]


def test_five_in_flight_reverse_without_idempotence_and_one_is_slow() -> None:
    rows = delivery_runs.order_in_flight().rows
    assert [row[1] for row in rows] == ["D C B A", "A B C D", "A B C D"]
    rates = [float(row[2].split()[0]) for row in rows]
    assert rates[2] > 3 * rates[1]


def test_five_in_flight_save_the_way_to_the_leader_and_not_the_wait_for_its_followers() -> None:
    rows = delivery_runs.order_in_flight().rows
    rates = [float(row[3].split()[0]) for row in rows]
    assert rates[1] < rates[2] < 1.3 * rates[1]


def test_only_acks_all_loses_nothing_that_was_acknowledged() -> None:
    lost = [int(row[2]) for row in delivery_runs.acks_and_a_dying_leader().rows]
    assert lost[0] > 0
    assert lost[1] > 0
    assert lost[2] == 0


def test_the_minimum_speaks_up_for_acks_all_alone() -> None:
    ends = [row[4:] for row in delivery_runs.matrix().rows]
    assert ends == [
        ["written", "A is lost"],
        ["written", "A is lost"],
        ["written", "A is lost"],
        ["NOT_ENOUGH_REPLICAS", "nothing was promised"],
    ]


def test_the_default_rides_out_what_retries_0_does_not() -> None:
    for row in delivery_runs.retries_zero_or_default().rows:
        assert row[2] == "100 acknowledged"
        assert row[1] != row[2]


def test_a_low_request_timeout_doubles_the_requests() -> None:
    patient, brisk = delivery_runs.request_timeout_too_low().rows
    assert int(brisk[2]) >= 2 * int(patient[2])
    assert brisk[1] == "0 of 8"


def test_the_clock_that_ends_a_wait_depends_on_where_the_record_is() -> None:
    ends = [row[1:3] for row in delivery_runs.where_records_wait().rows]
    assert ends == [
        ["refused", "max.block.ms"],
        ["unknown", "delivery.timeout.ms"],
        ["refused", "max.block.ms"],
    ]


def test_the_window_holds_five_and_six_in_flight_are_too_many() -> None:
    answers = [row[1] for row in idempotence_runs.window().rows]
    assert answers[1:5] == ["offset 6", "offset 2", *["OUT_OF_ORDER_SEQUENCE_NUMBER"] * 2]
    five, six = idempotence_runs.in_flight_and_window().rows
    assert five[3] == "A B C D E"
    assert six[3] == "A B C D E F A B C D E F"


def test_a_gap_cost_a_record_and_the_id_before_kip_360() -> None:
    old, new = idempotence_runs.gap_after_an_unclean_election().rows
    assert old[1] == new[1]
    assert old[2:] == ["1000, 0", "1 unknown, 2 acknowledged", "A B C G H"]
    assert new[2:] == ["0, 1", "3 acknowledged", "A B C F G H"]


def test_what_was_handed_over_is_stored_or_kept() -> None:
    rows = dict(application_runs.dead_letters().rows[:5])
    assert rows["in neither place"] == "0"
    kept = int(rows["stored"]) + int(rows["kept by the handler"])
    assert kept - int(rows["in both (unknown, and stored after all)"]) == 200


def test_the_applications_own_retry_is_a_second_record() -> None:
    assert application_runs.application_repeats().rows[-1][1] == "pay 10 pay 10"


def test_a_new_leader_knows_the_batch_that_the_old_one_did_not_answer() -> None:
    rows = application_runs.failover_between_append_and_answer().rows
    assert rows[-1][1] == "the log of 102 is X Y A"
    assert len({row[1].partition("remembers")[2] for row in rows[:3]}) == 1


def test_the_fault_tape_harms_fast_most_and_safe_not_at_all() -> None:
    judged = fault_tape.play(Simulated(World(seed=8)))
    harms = {name: [each.named(kind) for kind in fault_tape.KINDS] for name, each in judged.items()}
    assert harms == {
        "fast": ["G H", "D", "E"],
        "default": ["G H", "–", "–"],
        "safe": ["–", "–", "–"],
    }


@pytest.mark.parametrize("step", [["okay"], ["NONE"]])
def test_a_word_that_is_no_answer_is_refused_in_a_sentence(step: list[str]) -> None:
    with pytest.raises(ValueError, match="is no answer; take ok, again"):
        meets("A", step)


def test_a_client_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="There is no client 'java' here"):
        meets("A", ["ok"], client="java")


def test_silence_ends_with_another_try() -> None:
    assert meets("A", ["silence"], ["again"]).closing == "told: A acknowledged; the log: A"


def test_a_learner_can_play_the_broker() -> None:
    table = meets("A B C", ["NOT_ENOUGH_REPLICAS", "ok", "ok"], enable_idempotence=False)
    assert table.closing.endswith("the log: B C A")
