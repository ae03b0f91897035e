"""The files of a query and of its tables, as the lab shows them."""

from __future__ import annotations

import json
from pathlib import Path

from labs.L2_exactly_once_crash import notes


def test_numbers_are_files_with_a_number_and_nothing_else(tmp_path: Path) -> None:
    for name in ("0", "10", "2", ".2.crc", "00000000000000000003.json", "3.checkpoint.parquet"):
        (tmp_path / name).touch()
    assert notes.numbers(tmp_path) == [0, 2, 3, 10]


def test_a_delta_commit_names_rows_and_the_batch_that_wrote_it(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    add = {"add": {"path": "part-0", "stats": json.dumps({"numRecords": 40})}}
    named = {"txn": {"appId": "0123456789", "version": 1}}
    (log / f"{0:020d}.json").write_text("\n".join(map(json.dumps, (add, add))))
    (log / f"{1:020d}.json").write_text("\n".join(map(json.dumps, (named, add))))
    assert notes.delta_log(tmp_path).rows == [
        ["0.json", "2", "80", ""],
        ["1.json", "1", "40", "01234567… version 1"],
    ]


def test_files_that_the_sinks_log_does_not_name_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").touch()
    (log / "0").write_text("v1\n" + json.dumps({"path": "file:///t/a.parquet"}))
    rows = notes.file_sink_log(tmp_path).rows
    assert rows == [["_spark_metadata/0", "names 1 files"],
                    ["in the folder, named by no batch", "1 files"]]  # fmt: skip
