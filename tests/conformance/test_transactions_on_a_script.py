"""Two transactional producers on the same script of answers: the engine's own, and Java's.

Scripted brokers answer as the script says, and note each request as it arrives: its version, epoch,
partitions, numbers.  The engine's producer must show exactly what Kafka's own shows: the same
requests in the same order, the same end of each call, the same verdict on each record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.probes.java_client import JavaProgram
from tests.conformance.scripted_coordinators import ScriptedCoordinators
from tests.conformance.transaction_scripts import SCRIPTS, Outcome, play, run_ours, settings_of
from tests.real_clusters import require_local_kafka


@pytest.fixture(scope="module")
def java() -> Iterator[Callable[[str], Outcome]]:
    """Kafka's own producer, in one JVM for all scripts."""
    require_local_kafka()
    with JavaProgram(Path(__file__).with_name("ScriptTransactions.java")) as program:

        def run(name: str) -> Outcome:
            script = SCRIPTS[name]
            brokers = ScriptedCoordinators(script.answers, script.version)
            addresses = ",".join(f"{host}:{port}" for host, port in brokers.addresses.values())
            settings = {"bootstrap.servers": addresses, **settings_of(script)}
            try:
                program.ask("open", *(f"{key}={value}" for key, value in settings.items()))
                return play(
                    script, brokers, lambda *words: program.ask(*words)[0], brokers.wait_for
                )
            finally:
                program.ask("close")
                brokers.close()

        yield run


@pytest.mark.real
@pytest.mark.parametrize("name", SCRIPTS)
def test_ours_does_what_kafkas_own_producer_does(name: str, java: Callable[[str], Outcome]) -> None:
    assert run_ours(SCRIPTS[name]) == java(name)
