"""Every API in every version, with right, odd and wrong fields: the engine beside a live Kafka.

Both clusters are prepared alike and asked the same, in raw frames.  What differs by nature (ids,
ports, times, sentences) is taken out; every other difference is declared with its reason in
probe/declared.py, or fails.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from engine import api
from kit import fidelity
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.probe import (
    admin_cases,
    config_cases,
    group_cases,
    log_cases,
    mutations,
    transaction_cases,
    view_cases,
)
from tests.conformance.probe.answers import Difference, compare
from tests.conformance.probe.case import Case
from tests.conformance.probe.declared import DECLARED
from tests.conformance.probe.frames import frames
from tests.conformance.probe.side import CLOSED, NO_ANSWER, SILENT, Side

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

BY_HAND: list[Case] = [
    *admin_cases.CASES, *view_cases.CASES, *config_cases.CASES, *log_cases.CASES,
    *group_cases.CASES, *transaction_cases.CASES,
]  # fmt: skip
CASES: list[Case] = [*BY_HAND, *mutations.cases()]
Answers = dict[tuple[int, int], Any]


def side_of(name: str, cluster: KafkaCluster) -> Side:
    nodes = cluster.provider.nodes().values()
    return Side(name, {node.id: node.address for node in nodes if node.address})


@pytest.fixture(scope="module")
def sides(local_cluster: KafkaCluster, engine_cluster: KafkaCluster) -> Iterator[list[Side]]:
    found = [side_of("Kafka", local_cluster), side_of("the engine", engine_cluster)]
    in_parallel(found, lambda side: side.prepare())
    yield found
    in_parallel(found, lambda side: side.clean())
    for side in found:
        side.close()


@pytest.fixture(scope="module")
def answers(sides: list[Side]) -> list[Answers]:
    """What each side says to every case in every version that can carry it."""
    reported: dict[str, Answers] = {side.name: {} for side in sides}

    def run(side: Side) -> None:
        for number, case in enumerate(CASES):
            for version in case.versions:
                found = case.run(side, version, number)
                if found is not None:
                    where = f"{side.name}: {case.api} v{version}, {case.name}"
                    assert case.silent or SILENT not in found, where  # the others would hang, too
                    reported[side.name][number, version] = found

    in_parallel(sides, run)
    return [reported[side.name] for side in sides]


def in_parallel(sides: list[Side], work: Any) -> None:
    failed: list[BaseException] = []

    def carefully(side: Side) -> None:
        try:
            work(side)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=carefully, args=(side,)) for side in sides]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def differences(answers: list[Answers]) -> Iterator[tuple[Case, int, Difference]]:
    kafka, engine = answers
    assert kafka.keys() == engine.keys()
    for number, version in kafka:
        case = CASES[number]
        both = kafka[number, version], engine[number, version]
        for found in compare(*both, case.everything):
            yield case, version, found


def test_the_cases_reach_every_api_in_every_version(answers: list[Answers]) -> None:
    asked = {(CASES[number].api, version) for number, version in answers[0]}
    for name, offered in api.APIS.items():
        for version in offered.versions:
            assert (name, version) in asked or version < mutations.lowest(name)


def test_every_case_is_asked_in_some_version(answers: list[Answers]) -> None:
    asked = {number for number, _ in answers[0]}
    assert [case.name for case in BY_HAND if CASES.index(case) not in asked] == []


def test_what_differs_is_declared(answers: list[Answers]) -> None:
    undeclared = [
        f"{case.api} v{version}, {case.name}: {found}"
        for case, version, found in differences(answers)
        if not any(each.covers(case.api, case.name, found.path) for each in DECLARED)
    ]
    assert not undeclared, "\n".join(undeclared)


def test_what_is_declared_differs(answers: list[Answers]) -> None:
    rows = {(case.api, case.name, found.path) for case, _, found in differences(answers)}
    idle = [each for each in DECLARED if not any(each.covers(*row) for row in rows)]
    assert not idle, "\n".join(map(str, idle))


def test_what_stays_different_is_on_the_fidelity_page() -> None:
    page = " ".join(fidelity.page().split())
    assert [each for each in DECLARED if each.noted not in page] == []


def test_what_is_no_request_ends_the_connection(sides: list[Side]) -> None:
    ends = {name: [end_of(side.raw(frame)) for side in sides] for name, frame in frames(sides[0])}
    assert {name: both for name, both in ends.items() if both[0] != both[1]} == {}
    assert [name for name, both in ends.items() if both[0] != CLOSED] == [
        "ApiVersions above its versions"  # answered in version 0 (KIP-511)
    ]


def end_of(answer: Any) -> str:
    return answer if answer in NO_ANSWER else "an answer"
