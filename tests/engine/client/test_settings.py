"""Kafka's names, Kafka's defaults, and the rules that hang together (KIP-679)."""

from __future__ import annotations

import pytest

from engine.client.settings import ProducerSettings
from engine.wire.errors import KafkaError

of = ProducerSettings.of


def test_idempotence_is_on_by_default_and_turned_off_silently_by_what_it_cannot_live_with() -> None:
    assert of().enable_idempotence
    assert of().acks == "all"
    assert not of({"acks": "1"}).enable_idempotence
    assert not of({"retries": 0}).enable_idempotence
    assert of({"acks": "-1"}).enable_idempotence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"enable.idempotence": True, "acks": "1"}, "acks to be all"),
        ({"enable.idempotence": True, "retries": 0}, "retries to be above 0"),
        ({"max.in.flight.requests.per.connection": 6}, "remembers five"),
        ({"delivery.timeout.ms": 1000}, r"linger.ms \+ request.timeout.ms \(30005\)"),
        ({"linger_ms": 5}, "no setting 'linger_ms'"),
        ({"acks": "2"}, "one of all"),
        ({"linger.ms": -1}, "must be 0 to"),
        ({"enable.idempotence": "yes"}, "true or false"),
        ({"retries": "many"}, "is a number"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(given: dict, sentence: str) -> None:
    with pytest.raises(KafkaError, match=sentence):
        of(given)


def test_six_in_flight_needs_idempotence_off_or_a_lesson_that_insists() -> None:
    six = {"max.in.flight.requests.per.connection": 6}
    assert not of({**six, "enable.idempotence": False}).enable_idempotence
    assert of(six, checked=False).enable_idempotence


def test_a_long_linger_stretches_the_default_delivery_timeout() -> None:
    assert of({"linger.ms": 100_000}).delivery_timeout_ms == 130_000
