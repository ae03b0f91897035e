"""07-4 asks what its text says, and answers as the engine's own checkpoint does."""

from __future__ import annotations

from engine.storage.leader_epochs import LeaderEpochs
from engine.storage.memory_disk import MemoryDisk
from kit.exercises.cluster_log import Context
from lessons.nb07_reconciliation.exercises import end_of_epoch


def engines(epochs: list, log_end: int, asked: int) -> list:
    checkpoint = LeaderEpochs(MemoryDisk(), "orders-0")
    for epoch, start in epochs:
        checkpoint.assign(epoch, start)
    return list(checkpoint.end_offset_for(asked, log_end))


def test_the_right_answers_are_those_of_the_engines_leader() -> None:
    for case in end_of_epoch.ASKED:
        assert end_of_epoch.end_of_epoch(*case) == engines(*case), case


def test_no_case_asks_for_an_epoch_older_than_all_and_the_verdict_says_so() -> None:
    assert all(asked >= epochs[0][0] for epochs, _, asked in end_of_epoch.ASKED)
    results = [end_of_epoch.end_of_epoch(*case) for case in end_of_epoch.ASKED]
    verdict = end_of_epoch.judge(results, Context(inputs=end_of_epoch.ASKED))
    assert verdict.passed
    assert "[asked, the first entry's start]" in verdict.message
    assert engines([[3, 17]], 40, 1) == [1, 17], "what the verdict says of Kafka"
    assert not end_of_epoch.judge(
        [[0, 0]] * len(results), Context(inputs=end_of_epoch.ASKED)
    ).passed
