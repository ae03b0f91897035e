"""The panel in words: for readers without a picture, and for a notebook's `text/plain`.

transfer: PrepareCommit · producer 0, epoch 0 · coordinator 102
  marker in accounts-0, missing in accounts-1
app: CommittingTransaction, in commit_transaction
accounts-0 (HW 2, LSO 0): 0 Alice -10 (open) · 1 COMMIT
read_uncommitted: 1 record; accounts-0: Alice -10
read_committed: 0 records, 1 held back at the LSO
__transaction_state: 3 Ongoing · 4 PrepareCommit
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.film.steps import plain
from kit.film.words import join, plural
from kit.transaction_panel.scene import Cell, Client, Id, Reader, Row, Scene
from kit.transaction_panel.view import NO_LEADER

LISTED_MOST = 12


def render(scene: Scene, caption: str) -> str:
    """The scene as lines of text, its caption last."""
    lines = [line for each in scene.ids for line in _id(each)]
    lines += [client(each) for each in scene.clients]
    lines += [row(each) for each in scene.rows]
    lines += [f"and {plural(len(scene.more), 'more partition')}"] if scene.more else []
    lines += [reader(each) for each in scene.readers]
    if scene.records:
        lines.append(
            f"__transaction_state: {' · '.join(map(_record, scene.records[-LISTED_MOST:]))}"
        )
    return "\n".join([*lines, plain(caption)]).rstrip()


def _id(each: Id) -> Iterator[str]:
    pending = f" (on its way: {each.pending})" if each.pending else ""
    where = f" · coordinator {each.coordinator}" if each.coordinator >= 0 else ""
    if each.coordinator_state != "running":
        where += f" {each.coordinator_state}"
    left = "" if each.left_ms is None else f" · aborts in {each.left_ms / 1000:.1f} s"
    by = f"producer {each.producer_id}, epoch {each.epoch}"
    yield f"{each.id}: {each.state}{pending} · {by}{where}{left}"
    if each.parts:
        yield f"  {markers(each)}"


def markers(each: Id) -> str:
    """Where the transaction is, and where its marker is missing."""
    written = [part.name for part in each.parts if part.marker == "written"]
    missing = [part.name for part in each.parts if part.marker == "missing"]
    if not written and not missing:
        return f"in {join([part.name for part in each.parts])}"
    said = [f"marker in {join(written)}"] if written else []
    return ", ".join([*said, f"missing in {join(missing)}"] if missing else said)


def client(each: Client) -> str:
    """One producer in a line, as a screen reader tells it too."""
    words = [each.state if each.process == "running" else each.process]
    words += [f"in {each.call}"] if each.call else []
    words += [each.error] if each.error else []
    words += ["fenced: another producer has its id"] if each.is_fenced else []
    epoch = "" if each.epoch < 0 else f" (producer {each.producer_id}, epoch {each.epoch})"
    return f"{each.name}{epoch}: {', '.join(words)}"


def row(each: Row) -> str:
    """One partition's log in a line."""
    hidden = f"{each.hidden} older · " if each.hidden else ""
    cells = " · ".join(map(_cell, each.cells[-LISTED_MOST:]))
    hidden = hidden if len(each.cells) <= LISTED_MOST else "… · "
    leader = ", no leader" if each.leader == NO_LEADER else ""
    ends = f"HW {each.high_watermark}, LSO {each.last_stable_offset}{leader}"
    return f"{each.name} ({ends}): {hidden}{cells}"


def _cell(each: Cell) -> str:
    if each.kind != "data":
        return f"{each.offset} {each.kind.upper()}"
    return f"{each.offset} {each.value}" + (f" ({each.fate})" if each.fate else "")


def reader(each: Reader) -> str:
    """One reader in a line."""
    said = f"{each.level}: {plural(each.given, 'record')}"
    said += f", {each.held} held back at the LSO" if each.held else ""
    said += f", {each.skipped} skipped as aborted" if each.skipped else ""
    values = [f"{name}: {', '.join(given[-LISTED_MOST:])}" for name, given in each.values if given]
    return "; ".join([said, *values])


def _record(each: object) -> str:
    assert isinstance(each, dict)
    lost = "" if each.get("is_replicated", True) else " (not replicated yet)"
    return f"{each['offset']} {each['id']} {each['state']}{lost}"
