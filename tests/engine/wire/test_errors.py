"""Error codes and the exceptions that carry them."""

from __future__ import annotations

import pickle

from engine.wire.errors import CorruptBatch, Errors, KafkaError


def test_an_error_speaks_and_pickles() -> None:
    error = KafkaError(Errors.INVALID_CONFIG, "min.insync.replicas must be at least 1")
    assert str(error) == "INVALID_CONFIG: min.insync.replicas must be at least 1"
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.message) == (error.code, error.message)


def test_an_error_without_a_sentence_takes_its_name() -> None:
    assert KafkaError(Errors.NOT_COORDINATOR).message == "not coordinator"


def test_a_corrupt_batch_is_kafkas_corrupt_message() -> None:
    error = pickle.loads(pickle.dumps(CorruptBatch("cut off")))
    assert (error.code, error.message) == (Errors.CORRUPT_MESSAGE, "cut off")


def test_what_a_producer_repeats_by_itself() -> None:
    assert Errors.NOT_LEADER_OR_FOLLOWER.retriable
    assert Errors.NOT_ENOUGH_REPLICAS.retriable
    assert not Errors.MESSAGE_TOO_LARGE.retriable
    assert not Errors.NONE.retriable
