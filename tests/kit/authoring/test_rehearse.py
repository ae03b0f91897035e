"""A rehearsal notes what fails in each run, and goes on where it was stopped."""

from __future__ import annotations

import json

from kit.authoring import rehearse

SOURCE = "lessons/nb99_sample/source/99_sample.py"


def test_each_run_is_a_line_and_is_not_run_again(course, tmp_path, capsys) -> None:
    file, source = tmp_path / "runs.jsonl", str(course / SOURCE)
    assert rehearse.main(["--into", str(file), "--busy", "1", source]) == 0
    assert "99, run 1: clean" in capsys.readouterr().out
    with file.open("a") as cut_off:
        cut_off.write('{"notebook": "99", "rea')
    assert rehearse.main(["--into", str(file), "--busy", "1", source]) == 0
    reported = capsys.readouterr().out
    assert "run 1" not in reported
    assert "1 runs: no cell failed" in reported
    (run,) = rehearse.runs(file)
    assert run.seconds["check-99-2"] > 0
    assert json.loads(file.read_text().splitlines()[0])["busy"] == 1


def test_what_fails_is_named_and_the_other_cells_run(course, tmp_path, capsys) -> None:
    source = course / SOURCE
    broken = source.read_text().replace("return min(", "return max(")
    assert broken != source.read_text()
    source.write_text(broken)
    assert rehearse.main(["--into", str(tmp_path / "runs.jsonl"), str(source)]) == 1
    reported = capsys.readouterr().out
    row = next(line for line in reported.splitlines() if "check-99-2" in line and "99  " in line)
    assert row.split()[:6] == ["99", "off", "0", "check-99-2", "1", "1"]
    assert "the solution fails" in row
