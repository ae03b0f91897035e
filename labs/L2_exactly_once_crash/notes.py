"""Opens what a query and its tables remember: the checkpoint, Delta's log, the file sink's log."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kit.tables import Table

_WIDTH = 110


def numbers(folder: Path | str) -> list[int]:
    """The micro-batches, or commits, that have a file in this folder."""
    stems = (file.name.removesuffix(".json") for file in Path(folder).glob("[0-9]*"))
    return sorted(int(stem) for stem in stems if stem.isdigit())


def checkpoint(folder: Path | str) -> Table:
    """Every note of a checkpoint, in the order in which Spark wrote them."""
    files = [file for file in Path(folder).rglob("*") if file.is_file() and file.name[0] != "."]
    rows = []
    for file in sorted(files, key=lambda each: each.stat().st_mtime_ns):
        for number, line in enumerate(file.read_text(errors="replace").splitlines()):
            name = str(file.relative_to(folder)) if number == 0 else ""
            rows.append([name, _short(line)])
    return Table("The checkpoint", ["file", "content"], rows)


def delta_log(table: Path | str) -> Table:
    """Each commit of a Delta table: how many files it adds, and who wrote which batch (txn)."""
    rows = []
    for number in numbers(Path(table) / "_delta_log"):
        commit = Path(table) / "_delta_log" / f"{number:020d}.json"
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        adds = [action["add"] for action in actions if "add" in action]
        records = sum(json.loads(add["stats"])["numRecords"] for add in adds)
        named = [action["txn"] for action in actions if "txn" in action]
        text = ", ".join(f"{txn['appId'][:8]}… version {txn['version']}" for txn in named)
        rows.append([f"{number}.json", str(len(adds)), str(records), text])
    return Table("_delta_log", ["commit", "files added", "rows", "txn"], rows)


def file_sink_log(table: Path | str) -> Table:
    """Each batch of the file sink's own log, and the files that are in the folder without it."""
    folder = Path(table)
    named: set[str] = set()
    rows = []
    for number in numbers(folder / "_spark_metadata"):
        lines = (folder / "_spark_metadata" / str(number)).read_text().splitlines()[1:]
        files = {Path(json.loads(line)["path"]).name for line in lines}
        named |= files
        rows.append([f"_spark_metadata/{number}", f"names {len(files)} files"])
    left = [file for file in folder.glob("*.parquet") if file.name not in named]
    rows.append(["in the folder, named by no batch", f"{len(left)} files"])
    return Table("The file sink's log", ["note", ""], rows)


def condition(refused: Exception) -> str:
    """The name of Spark's innermost error condition in a query's failure."""
    return re.findall(r"\[([A-Z][A-Z_]+)\]", str(refused))[-1]


def _short(line: str) -> str:
    return line if len(line) <= _WIDTH else line[:_WIDTH] + " …"
