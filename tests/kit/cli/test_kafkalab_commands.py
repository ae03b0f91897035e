"""The command line: every command is there, and what goes wrong is one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit import cli, doctor
from kit.cli.part import PartMissing, part

SAMPLE = Path(__file__).parents[1] / "sample_course"
PROMISED = {"doctor", "up", "down", "status", "lab", "progress", "hint", "reset", "coverage"}
PROMISED |= {"report", "update", "release", "bundle", "workshop", "join", "present"}
PROMISED |= {"fidelity", "bench", "grade", "pipeline", "explore", "case", "campaign", "guide"}


@pytest.fixture(autouse=True)
def sample_course(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))


def test_every_command_has_help_and_the_promised_ones_are_there(capsys) -> None:
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        assert ended.value.code == 0
    capsys.readouterr()
    assert set(cli.COMMANDS) == PROMISED


def test_hint_progress_and_reset_share_the_notebooks_state(capsys) -> None:
    assert cli.main(["hint", "99-2"]) == 0
    assert "Who must have a record?" in capsys.readouterr().out
    assert cli.main(["progress"]) == 0
    assert "99-2" in capsys.readouterr().out
    assert cli.main(["progress", "--html"]) == 0
    assert "<table>" in capsys.readouterr().out
    assert cli.main(["reset", "99"]) == 0
    assert "Forgot 1 exercise." in capsys.readouterr().out
    assert cli.main(["hint", "nonsense"]) == 1


def test_forgetting_everything_asks_first(capsys, monkeypatch) -> None:
    cli.main(["hint", "99-2"])
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert cli.main(["reset"]) == 1
    assert "Nothing was forgotten." in capsys.readouterr().out
    assert cli.main(["reset", "--yes"]) == 0
    assert "Forgot 1 exercise." in capsys.readouterr().out


def test_a_part_that_is_not_there_is_named_with_a_remedy() -> None:
    with pytest.raises(
        PartMissing, match=r"kit.no_such_part is not part of this copy.*kafkalab update"
    ):
        part("kit.no_such_part", "main")
    with pytest.raises(PartMissing, match="has no nothing"):
        part("kit.doctor", "nothing")


def test_a_failure_is_one_sentence_and_a_status(capsys, monkeypatch) -> None:
    monkeypatch.setattr("kit.grading.sandbox.shutil.which", lambda name: None)
    assert cli.main(["grade", "some.ipynb"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("kafkalab grade: Submissions run in a sandbox")
    assert error.count("\n") == 1


def test_a_reader_that_goes_away_is_no_crash() -> None:
    command = f"{sys.executable} -m kit.cli doctor | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=os.environ)
    assert "What is installed" in done.stdout
    assert done.stderr == ""


def test_a_reader_that_went_away_before_a_word_was_said_is_no_crash() -> None:
    command = f"{sys.executable} -m kit.cli doctor | true"
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=buffered)
    assert done.stderr == ""


def test_doctor_tells_what_is_missing_what_it_costs_and_the_command_that_mends_it(
    monkeypatch, tmp_path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    doctor._java_release.cache_clear()
    findings = {finding.part: finding for finding in doctor.examine()}
    doctor._java_release.cache_clear()
    for name in ("Java 17", "Maven", "Kafka's jars", "Docker", "Compose", "Chromium"):
        assert not findings[name].well, name
        assert findings[name].mend, name
    assert findings["packages"].well
    text = repr(doctor.table(list(findings.values())))
    assert "no real Kafka as processes" in text
    html = doctor.table(list(findings.values()))._repr_html_()
    assert html.count("<tr>") == len(findings) + 1


def test_doctor_sees_a_folder_that_cannot_be_written(monkeypatch) -> None:
    monkeypatch.setattr("kit.doctor.os.access", lambda path, mode: False)
    finding = doctor._folders()
    assert "read-only" in finding.found
    assert "XDG_DATA_HOME" in finding.mend


def test_doctor_sees_a_taken_port(tmp_path, monkeypatch) -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        (tmp_path / "docker-compose.yml").write_text(f'ports: ["127.0.0.1:{port}:9092"]\n')
        monkeypatch.setattr("kit.doctor.PROJECT", tmp_path)
        assert f"{port} taken" in doctor._ports().found
    assert doctor._ports().well
