"""A missing part is a named skip on a learner's machine and a failure on a build machine."""

import pytest

from tests import real_clusters


def test_a_missing_part_is_skipped_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Maven is missing: run: make setup"):
        real_clusters.missing("Maven", "run: make setup")


def test_on_a_build_machine_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="Maven is missing: run: make setup"):
        real_clusters.missing("Maven", "run: make setup")


def test_no_java_means_no_local_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(pytest.skip.Exception, match="A local Kafka is missing: Java is missing"):
        real_clusters.require_local_kafka()
