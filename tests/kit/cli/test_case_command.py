"""`kafkalab case`: the list, a case, a name that there is not."""

from __future__ import annotations

import pytest

from engine.sim.cases import CASES
from kit.cli import main


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["case"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CASES)


def test_a_case_shows_both_sides_and_a_sentence_on_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["case", "kip-279", "--trace"]) == 0
    out = capsys.readouterr().out
    table, _, trace = out.partition("\nOLD: ")[2].partition("\nOLD: ")
    assert "truncate from 3 to 1" in table
    assert all(len(line) <= 100 for line in table.splitlines())
    assert "old: At offset 1, 101 holds 'B' of epoch 0 and 102 holds 'X'" in out
    assert "new: 101 and 102 hold the same: A B C." in out
    assert "NEW: KIP-279" in trace


def test_a_name_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["case", "kip-1"]) == 1
    assert "kafkalab case: There is no case 'kip-1'; there are" in capsys.readouterr().err
