"""The connector's jars: a set of their own, wanted only where PySpark is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import jars


def test_the_two_sets_lie_apart_and_each_has_its_variable(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KAFKA_JARS", raising=False)
    monkeypatch.delenv("SPARK_JARS", raising=False)
    assert jars.SPARK.directory() != jars.directory()
    monkeypatch.setenv("SPARK_JARS", str(tmp_path / "mine"))
    assert jars.SPARK.directory() == tmp_path / "mine"
    with pytest.raises(jars.JarsMissing, match=r"SPARK_JARS names .* no spark-sql-kafka jar"):
        jars.SPARK.require()


def test_the_recorded_connector_is_the_one_of_the_pom() -> None:
    pom = jars.SPARK.pom.read_text()
    for name in jars.SPARK.recorded():
        artifact, version = name.removesuffix(".jar").rsplit("-", 1)
        assert f"<artifactId>{artifact}</artifactId>" in pom
        assert f"<version>{version}</version>" in pom


def test_setup_fetches_the_connector_only_beside_pyspark(monkeypatch, capsys) -> None:
    fetched: list[str] = []

    def ensure(jar_set: jars.JarSet) -> Path:
        fetched.append(jar_set.variable)
        return Path("somewhere")

    monkeypatch.setattr(jars.JarSet, "ensure", ensure)
    monkeypatch.setattr(jars, "find_spec", lambda name: None)
    assert jars.main([]) == 0
    assert fetched == ["KAFKA_JARS", "KAFKA_TIERED_JARS", "KAFKA_STREAMS_JARS"]
    fetched.clear()
    monkeypatch.setattr(jars, "find_spec", lambda name: object())
    assert jars.main([]) == 0
    others = ["KAFKA_JARS", "KAFKA_TIERED_JARS", "KAFKA_STREAMS_JARS"]
    assert fetched == [*others, "SPARK_JARS"]


@pytest.mark.spark
@pytest.mark.real
def test_the_installed_connector_is_the_recorded_one() -> None:
    jars.SPARK.verify(jars.SPARK.ensure(), jars.SPARK.recorded())
