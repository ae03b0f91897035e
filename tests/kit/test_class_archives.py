"""Class archives: JVMs load from them, do without them, and differ in time alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kit import archive_runs, class_archives, jars, places
from kit.class_archives import BROKER, SPARK, TOOL, ClassArchive
from kit.clusters import tools
from tests.real_clusters import missing


def present(of: ClassArchive) -> None:
    if not of.file().exists():
        missing(f"The class archive {of.name}", "run: make setup")


def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive("sample", lambda: "a class path", lambda: tmp_path / "archives")


@pytest.mark.parametrize(
    ("of", "program"), [(BROKER, "kafka.Kafka"), (TOOL, tools.CLASSES["kafka-topics"])]
)
def test_kafkas_jvms_take_their_classes_from_the_archive(of, program) -> None:
    present(of)
    command = [jars.java(), *of.flags(), "-XX:+UseSerialGC", "-Xlog:class+load:stdout"]
    command += ["-cp", jars.classpath(), program, "--version"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    found = [line for line in lines if "shared objects file (top)" in line]
    assert len(found) > 20, lines[-3:]


def test_a_broken_archive_costs_nothing_but_time(tmp_path) -> None:
    of = ClassArchive("sample", jars.classpath, lambda: tmp_path)
    of.file().write_bytes(b"no archive")
    command = [jars.java(), *of.flags(), "-cp", jars.classpath(), tools.CLASSES["kafka-topics"]]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_without_a_file_there_is_no_flag(tmp_path) -> None:
    assert archive(tmp_path).flags() == []


def test_an_archive_is_made_once_and_then_named(tmp_path) -> None:
    runs: list[str] = []

    def run() -> None:
        (flag, *_) = archive(tmp_path).flags()
        runs.append(flag)
        Path(flag.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"classes")

    for _ in range(2):
        archive(tmp_path).make(run)
    file = archive(tmp_path).file()
    assert len(runs) == 1
    assert archive(tmp_path).flags()[0] == f"-XX:SharedArchiveFile={file}"
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_run_that_fails_leaves_no_half_archive_and_ends_no_set_up(
    tmp_path, monkeypatch, capsys
) -> None:
    def run() -> None:
        (flag, *_) = archive(tmp_path).flags()
        Path(flag.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"half")
        raise RuntimeError("the JVM has ended")

    monkeypatch.setattr(archive_runs, "RUNS", ((archive(tmp_path), run),))
    assert archive_runs.main() == 0
    assert list((tmp_path / "archives").iterdir()) == []
    said = capsys.readouterr().out
    assert "The class archive sample was not made" in said
    assert "the JVM has ended" in said


def test_another_java_and_other_jars_have_another_archive(tmp_path, monkeypatch) -> None:
    java = tmp_path / "java"
    java.write_text("one")
    monkeypatch.setattr(jars, "java", lambda: str(java))
    first = archive(tmp_path).file()
    java.write_text("another")
    second = archive(tmp_path).file()
    third = ClassArchive("sample", lambda: "other jars", lambda: tmp_path / "archives").file()
    assert len({first, second, third}) == 3


def test_kafkas_archives_lie_in_the_cache_and_sparks_goes_with_its_environment() -> None:
    assert BROKER.file().is_relative_to(places.cache_dir())
    assert class_archives._with_the_environment() in SPARK.file().parents


def test_without_java_there_is_no_flag_and_no_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert TOOL.flags() == []
