"""Kafka's jars: found, checked, and missed with a sentence."""

from pathlib import Path

import pytest

from kit import jars


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No Java, no Maven, an empty cache."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("KAFKA_JARS", "KAFKA_STREAMS_JARS", "KAFKA_TIERED_JARS", "SPARK_JARS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "bin").mkdir()
    return tmp_path


def command(machine: Path, name: str, script: str) -> None:
    program = machine / "bin" / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_missing_java_maven_and_jars_get_different_messages(
    empty_machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(jars.JarsMissing, match=r"Java is missing: .* run: make setup"):
        jars.ensure()
    with pytest.raises(jars.JarsMissing, match="not here yet: run: make setup"):
        jars.classpath()
    command(empty_machine, "java", "exit 0")
    assert jars.main([]) == 1
    assert capsys.readouterr().err.startswith("Maven is missing: ")


def test_one_jar_is_missing_and_several_are(empty_machine: Path) -> None:
    for jar_set, words in (
        (jars.STREAMS, "the jar of Kafka Streams is not here yet"),
        (jars.TIERED, "the jar of Kafka's LocalTieredStorage is not here yet"),
        (jars.SPARK, "the jars of Spark's Kafka connector are not here yet"),
    ):
        with pytest.raises(jars.JarsMissing, match=words):
            jar_set.require()


def test_maven_without_a_network_says_why(empty_machine: Path) -> None:
    command(empty_machine, "java", "exit 0")
    command(empty_machine, "mvn", "echo '[ERROR] Unknown host'; exit 1")
    with pytest.raises(jars.JarsMissing, match=r"Unknown host.*check the network"):
        jars.ensure()
    assert not jars.installed()


def test_a_jar_with_other_bytes_is_refused_and_nothing_is_installed(empty_machine: Path) -> None:
    command(empty_machine, "java", "exit 0")
    fetch = 'for each; do case $each in -DoutputDirectory=*) d="${each#*=}";; esac; done'
    command(
        empty_machine,
        "mvn",
        f'{fetch}; /bin/mkdir -p "$d"; echo forged > "$d/kafka-clients-4.3.1.jar"',
    )
    with pytest.raises(jars.JarsMissing, match="are not the recorded ones"):
        jars.ensure()
    assert not jars.installed()


def test_named_jars_are_used_as_they_are(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_JARS", str(empty_machine))
    with pytest.raises(jars.JarsMissing, match="KAFKA_JARS names"):
        jars.classpath()
    (empty_machine / "kafka-clients-4.3.1.jar").touch()
    command(empty_machine, "java", "exit 0")
    assert jars.ensure() == empty_machine
    assert jars.classpath() == f"{empty_machine}/*"


def test_the_recorded_list_is_names_and_digests_only() -> None:
    for name, digest in jars.recorded().items():
        assert name.endswith(".jar")
        assert "/" not in name
        assert len(digest) == 64
    assert {"kafka_2.13-4.3.1.jar", "kafka-clients-4.3.1.jar"} <= jars.recorded().keys()


def test_a_changed_pom_means_another_directory(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = jars.directory()
    changed = empty_machine / "pom.xml"
    changed.write_text(jars.POM.read_text() + "<!-- changed -->")
    monkeypatch.setattr(jars, "POM", changed)
    assert jars.directory() != before


@pytest.mark.real
def test_the_installed_jars_are_the_recorded_ones() -> None:
    jars.verify(jars.ensure(), jars.recorded())
