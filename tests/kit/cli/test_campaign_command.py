"""`kafkalab campaign`: a campaign, one seed's story, and the tapes that catch broken rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.sim.campaign.timed_scripts import play
from engine.sim.scripts.scripts import parse
from kit.cli import main

TAPES = Path(__file__).parents[2] / "engine/sim/mutant_tapes"


def test_a_small_campaign_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    main(["campaign", "--seeds", "0:2", "--light"])
    reported = capsys.readouterr().out
    assert "2 schedules, 0 with a violation" in reported
    assert "per second of processor time" in reported
    assert "faults: " in reported


def test_a_replay_ends_with_a_script_that_plays(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "--replay", "3", "--light"]) == 0
    reported = capsys.readouterr().out
    assert "103 started" in reported
    script = reported[reported.index("# seed 3") :]
    assert play(parse(script)) == script.partition("----\n")[2].strip()


def test_a_failing_seed_is_shrunk_to_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["campaign", "--shrink", "0", "--light", "--mutant", "ignore-a-laggard"]
    assert main(arguments) == 0
    reported = capsys.readouterr().out
    assert "mutant=ignore-a-laggard" in reported
    assert play(parse(reported)).startswith("violation: strong ISR")


def test_a_kept_tape_is_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["campaign", "--mutants", "sent-is-held", "--write", str(tmp_path)]
    assert main(arguments) == 0
    assert main(["campaign", "--prove", str(tmp_path)]) == 0
    reported = capsys.readouterr().out
    assert "1-minimal" in reported
    assert "1 tapes, median" in reported
    tape = tmp_path / "sent-is-held.txt"
    tape.write_text(tape.read_text().replace("reader orders\n", "reader orders\nat 0.07 heal\n"))
    assert main(["campaign", "--prove", str(tmp_path)]) == 1
    assert "not minimal, can do without heal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--seeds", "9:3"], "names no seed"), (["--seeds", "many"], "names no seed"),
     (["--replay", "1", "--mutant", "nobody"], "there is no mutant nobody; there are skip"),
     (["--shrink", "3", "--light"], "breaks no invariant"),
     (["--prove", "."], "no tapes in that folder")],
)  # fmt: skip
def test_bad_input_is_a_sentence(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["campaign", *arguments]) == 1
    assert says in capsys.readouterr().err
