"""Says what happened between two frames of transactions, in one sentence for learners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kit.film.film import Told
from kit.film.source import Frame, Line, Snapshot
from kit.film.steps import MAJOR, MINOR, NOTABLE, Step, together
from kit.film.words import join, plural
from kit.transaction_panel import logs
from kit.transaction_panel.readers import GIVEN, HELD, SKIPPED, seen
from kit.transaction_panel.view import is_internal

KEEP_TELLING_US = 5_000_000
PREPARED = {
    "PrepareCommit": "will commit",
    "PrepareAbort": "will abort",
}
ASKS = {
    "InitProducerId": "{name} gives its id {id} to the coordinator, and asks for a producer id "
    "and an epoch (InitProducerId).",
    "AddPartitionsToTxn": "{name} tells the coordinator where it is about to write, before it "
    "writes (AddPartitionsToTxn).",
    "AddOffsetsToTxn": "{name} tells the coordinator that offsets of the group {about} are part of "
    "the transaction (AddOffsetsToTxn).",
    "TxnOffsetCommit": "{name} sends the offsets to the coordinator of the group {about} "
    "(TxnOffsetCommit): they count when the transaction commits.",
}
CALLS = {
    "init_transactions": "start {name}",
    "commit_transaction": "{name} commits",
    "abort_transaction": "{name} aborts",
    "send_offsets_to_transaction": "{name} sends offsets",
}


def tell(before: Frame | None, frame: Frame) -> Told:
    """What one step of a recording is about."""
    if before is None:
        return Told(f"The recording begins. {standing(frame.snapshot)}", "start")
    found = list(steps(before, frame))
    if not found:
        return Told(standing(frame.snapshot))
    named = max((step for step in found if step.label), key=lambda step: step.weight, default=None)
    if named is None:
        return Told(together(found, []))
    return Told(together(found, []), named.label, weight=named.weight)


def caption(frames: Sequence[Frame], number: int) -> str:
    """The sentence under a live frame: its weightiest step, a recent one, or the current state."""
    place = number - frames[0].number
    later: list[Step] = []
    for earlier in range(place, 0, -1):
        if frames[place].time_us - frames[earlier].time_us > KEEP_TELLING_US:
            break
        found = list(steps(frames[earlier - 1], frames[earlier]))
        if any(step.weight == MAJOR for step in found):
            return together(found, later)
        if earlier == place or any(step.weight == NOTABLE for step in found):
            later = later or [step for step in found if step.weight > MINOR]
    return together([], later) or standing(frames[place].snapshot)


def steps(before: Frame, frame: Frame) -> Iterator[Step]:
    """All that happened between two frames, causes before effects."""
    was, now = before.snapshot, frame.snapshot
    for line in frame.lines:
        if line["client"] is not None:
            yield from _client(line, now)
        elif line.kind == "append":
            yield from _append(line, now)
        else:
            yield from _broker(line, was, now)
    yield from _readers(was, now)


# -- producers


def _client(line: Line, now: Snapshot) -> Iterator[Step]:
    name = line["client"]
    word = now["clients"].get(name) or {}
    match line.kind:
        case "killed":
            said = (
                f"{name} was **killed** and says nothing more. What it left open stays open until "
            )
            said += "its time-out, or until a producer with the same id starts."
            yield Step(MAJOR, f"kill {name}", said)
        case "frozen":
            yield Step(
                MAJOR, f"freeze {name}", f"{name} is **frozen** where it is, and does not know."
            )
        case "thawed":
            yield Step(MAJOR, f"thaw {name}", f"{name} goes on, and does not know what it missed.")
        case "started":
            others = [other for other, each in now["clients"].items() if other != name
                      and each["id"] == word.get("id") and each["process"] != "killed"]  # fmt: skip
            said = f"{name} starts, with the transactional.id {word.get('id')}."
            if others:
                said = f"{name} starts with the same transactional.id as {join(others)}."
            yield Step(NOTABLE, f"add {name}", said)
        case "request":
            yield from _asks(line, name, word)
        case "response":
            said = f"{name} is answered {line['error']}"
            again = line["error"] in ("CONCURRENT_TRANSACTIONS", "COORDINATOR_LOAD_IN_PROGRESS")
            said += ": it waits and asks again." if again else "."
            yield Step(MINOR if again else NOTABLE, "", said)
        case "transition":
            yield from _transition(line, name, word)
        case "called":
            label = CALLS.get(line["operation"], "").format(name=name)
            said = f"{name} calls {line['operation']}"
            said += ": it looks for the coordinator of its id." if label == f"start {name}" else "."
            yield Step(MINOR, label, said)
        case "returned":
            if line.why:
                said = f"{line['operation']} of {name} fails: {line.why.rstrip('.')}."
                yield Step(NOTABLE, f"{name} fails", said)
            elif line["operation"] in ("commit_transaction", "abort_transaction"):
                yield Step(NOTABLE, "", _early(name, line["operation"], word, now))
            else:
                yield Step(MINOR, "", f"{line['operation']} of {name} has returned.")
        case "call refused":
            said = f"{name} may not call {line['operation']}: {line.why}"
            yield Step(NOTABLE, f"{name} refused", said)
        case "refused":
            yield Step(
                NOTABLE, f"{name} refused", f"A record of {name} is **refused**: {line.why}."
            )
        case "joined":
            yield _joined(line, name)


def _joined(line: Line, name: str) -> Step:
    """Asked for beforehand (transaction.version 0 and 1), or with the first batch (2, KIP-890)."""
    if line.why == "AddPartitionsToTxn":
        said = f"The coordinator has {line.partition} in its list: now {name} may write there."
        return Step(MINOR, "", said)
    said = f"{name} sends to {line.partition}. With this first batch its broker asks the "
    said += "coordinator to add the partition, before it stores anything."
    return Step(NOTABLE, f"+ {line.partition}", said)


def _asks(line: Line, name: str, word: Mapping[str, Any]) -> Iterator[Step]:
    again = " again" if line["retry"] else ""
    if line["api"] == "EndTxn":
        all_in = "All its records are acknowledged; " if line["about"] == "commit" else ""
        said = f"{all_in}{name} asks the coordinator{again} to "
        yield Step(NOTABLE, f"EndTxn {line['about']}", f"{said}**{line['about']}** (EndTxn).")
    elif line["api"] in ASKS:
        said = ASKS[line["api"]].format(name=name, id=word.get("id"), about=line["about"])
        yield Step(MINOR if again else NOTABLE, "" if again else line["api"], said)


def _transition(line: Line, name: str, word: Mapping[str, Any]) -> Iterator[Step]:
    match line["now"]:
        case "InTransaction":
            said = f"{name} begins a transaction. Only {name} knows of it: nothing was sent."
            yield Step(NOTABLE, f"{name} begins", said)
        case "Ready" if line["before"] == "Initializing":
            said = f"{name} may begin transactions."
            if line["epoch"] is not None:
                said = f"{name} has producer id {line['producer_id']} and epoch {line['epoch']}."
            yield Step(NOTABLE, f"{name} ready", said)
        case "AbortableError":
            said = (
                f"The transaction of {name} is lost, and it must abort it: {line.why.rstrip('.')}."
            )
            yield Step(MAJOR, f"{name} must abort", said)
        case "FatalError":
            said = f"{name} is **fenced**: {line.why.rstrip('.')}. It can only be closed."
            yield Step(MAJOR, f"{name} fenced", said)


def _early(name: str, call: str, word: Mapping[str, Any], now: Snapshot) -> str:
    known = now["transactions"].get(word.get("id"))
    said = f"{call} of {name} has returned"
    if known and known["state"].startswith("Prepare"):
        return f"{said}: the decision is safe in the log. Markers may still be on their way."
    return f"{said}."


# -- the coordinator, and the leaders


def _broker(line: Line, was: Snapshot, now: Snapshot) -> Iterator[Step]:
    node = line.node
    match line.kind:
        case "transaction":
            yield _decided(line, was)
        case "transactions-loaded":
            decided = line["decided"] or []
            if line["ids"]:
                said = f"{node} is the **coordinator** now: it has read {line.partition} and knows "
                said += plural(line["ids"], "transactional id")
                said += f", and finishes what was decided: {join(decided)}." if decided else "."
                yield Step(MAJOR, f"coordinator {node}", said)
            else:
                said = (
                    f"{node} leads {line.partition}, so it coordinates every id that belongs there."
                )
                yield Step(MINOR, "", said)
        case "high_watermark":
            yield from _replicated(line, now)
        case "markers-stopped":
            said = f"{node} sends no more markers of {line['id']}: {line.why}."
            yield Step(NOTABLE, "markers stop", said)
        case "marker-refused":
            said = f"The marker of {line['id']} is not in {line.partition} yet: {line.why}."
            yield Step(NOTABLE, "", said)
        case "killed" | "power-lost":
            ids = [
                name for name, each in was["transactions"].items() if each["coordinator"] == node
            ]
            said = f"Broker {node} was **killed**"
            said += f", and with it the coordinator of {join(ids)}." if ids else "."
            yield Step(MAJOR, f"kill {node}", said)
        case "started":
            yield Step(NOTABLE, f"start {node}", f"Broker {node} starts.")
        case "paused" | "resumed":
            yield Step(MAJOR, f"{line.kind} {node}", f"Broker {node} is {line.kind}.")


def _decided(line: Line, was: Snapshot) -> Step:
    """A record of the coordinator is replicated: from now on it holds."""
    name, state = line["id"], str(line["state"])
    parts, known = line["partitions"] or [], was["transactions"].get(name)
    match state:
        case "Empty":
            said = f"The coordinator has written down producer id {line['producer_id']} and epoch "
            said += f"**{line['epoch']}** for {name}"
            if known and line["epoch"] > 0:
                said += ": a producer with an older epoch is fenced"
            return Step(NOTABLE, f"epoch {line['epoch']}", f"{said}.")
        case "Ongoing":
            label = "Ongoing" if str(line["before"]) != "Ongoing" else ""
            new = [each for each in parts if each not in _parts(was, name)]
            label = label or f"Ongoing + {join(new)}"
            said = f"{name} is **Ongoing**, and the record says where: {join(parts)}."
            return Step(NOTABLE, label, said)
        case "PrepareCommit" | "PrepareAbort":
            said = f"**{state}** is replicated, the point of no return: a coordinator that takes "
            said += (
                f"over finishes it. {name} {PREPARED[state]}, in {join(parts) or 'no partition'}."
            )
            if line.why and "EndTxn" not in line.why:
                said = f"{said} Why: {line.why}."
            if known and line["epoch"] > known["producer_epoch"]:
                said += f" The epoch is **{line['epoch']}** from now on."
            return Step(MAJOR, state, said)
        case "CompleteCommit" | "CompleteAbort":
            said = f"**{state}**: every partition has its marker, and {name} may begin again."
            return Step(MAJOR, state, said)
    return Step(NOTABLE, state, f"{name} is {state}: {line.why}.")


def _parts(snapshot: Snapshot, name: str) -> list[str]:
    known = snapshot["transactions"].get(name)
    by_topic = known["partitions"] if known else {}
    return [f"{topic}-{index}" for topic, indexes in by_topic.items() for index in indexes]


def _append(line: Line, now: Snapshot) -> Iterator[Step]:
    topic = line.partition.rpartition("-")[0]
    if topic.startswith("__transaction"):
        found = [each for each in now["records"] if f"{topic}-{each['partition']}" == line.partition
                 and each["offset"] == line["base"]]  # fmt: skip
        for each in found:
            said = f"The coordinator writes {each['state']} of {each['id']} at offset "
            said += f"{each['offset']} of {line.partition}. It counts once it is replicated."
            yield Step(MINOR, "", said)
        return
    batches = now["partitions"].get(line.partition, {"batches": ()})["batches"]
    for stored in (each for each in batches if each["base"] == line["base"]):
        if stored["kind"] in (logs.COMMIT, logs.ABORT):
            kind = stored["kind"].upper()
            said = f"The **{kind} marker** of producer {stored['producer_id']} is in "
            said += f"{line.partition} at offset {stored['base']}. It counts once it is replicated."
            yield Step(NOTABLE, f"{kind} {line.partition}", said)
        elif stored["kind"] == logs.DATA:
            yield _records(line, stored)


def _records(line: Line, stored: logs.Stored) -> Step:
    values = join([value for _, value in stored["records"]][:3])
    said = f"{values} is in {line.partition} at offset {stored['base']}"
    if stored["is_transactional"]:
        by = f"producer {stored['producer_id']}, epoch {stored['epoch']}"
        return Step(NOTABLE, values, f"{said}, marked as {by}: its transaction is open.")
    return Step(NOTABLE, values, f"{said}, in no transaction.")


def _replicated(line: Line, now: Snapshot) -> Iterator[Step]:
    """A high watermark that no application's reader hears of."""
    partition = now["partitions"].get(line.partition)
    if partition and is_internal(partition["topic"]):
        last = partition["batches"][-1] if partition["batches"] else None
        kind = last["kind"] if last else ""
        said = f"The offsets in {line.partition} are replicated, and do not count yet."
        if kind in (logs.COMMIT, logs.ABORT):
            means = "count from now on" if kind == logs.COMMIT else "are dropped"
            said = f"The marker in {line.partition} is replicated: the group's offsets {means}."
        yield Step(MINOR, "", said)


# -- the readers


def _readers(was: Snapshot, now: Snapshot) -> Iterator[Step]:
    """What the high watermark and the LSO let through."""
    for name, partition in now["partitions"].items():
        old = was["partitions"].get(name)
        if old is None or is_internal(partition["topic"]):
            continue
        ends = ("high_watermark", "last_stable_offset")
        if all(old[end] == partition[end] for end in ends):
            continue
        before = {each.offset: each for each in seen(old)}
        got: dict[str, list[str]] = {GIVEN: [], HELD: [], SKIPPED: []}
        loose: list[str] = []
        for each in seen(partition):
            known = before.get(each.offset)
            if each.uncommitted == GIVEN and (known is None or known.uncommitted != GIVEN):
                loose.append(each.value)
            if each.committed in got and (known is None or known.committed != each.committed):
                got[each.committed].append(each.value)
        yield from _told(name, partition["last_stable_offset"], loose, got)


def _told(
    name: str, stable: int, loose: Sequence[str], got: Mapping[str, Sequence[str]]
) -> Iterator[Step]:
    """`loose` is what read_uncommitted gets, `got` what changed for read_committed, by kind."""
    if loose and got[HELD]:
        said = f"read_uncommitted gets {join(loose)} of {name}; read_committed must wait at the "
        yield Step(NOTABLE, "", f"{said}LSO, offset **{stable}**.")
    elif loose and got[GIVEN]:
        yield Step(NOTABLE, "", f"Both readers get {join(loose)} of {name}.")
    elif got[GIVEN] or got[SKIPPED]:
        parts = [f"gets {join(got[GIVEN])}"] if got[GIVEN] else []
        parts += [f"skips {join(got[SKIPPED])}"] if got[SKIPPED] else []
        said = f"The LSO of {name} moves to **{stable}**: read_committed {' and '.join(parts)}."
        yield Step(NOTABLE, f"LSO {name}", said)


def standing(snapshot: Snapshot) -> str:
    """The present state, when nothing has just happened."""
    ids = snapshot["transactions"]
    if not ids:
        return "No transactional id is known yet: init_transactions makes one."
    opened = [f"{name} is {each['state']}" for name, each in ids.items()]
    waiting = [name for name, each in snapshot["partitions"].items()
               if not is_internal(each["topic"])
               and each["last_stable_offset"] < each["high_watermark"]]  # fmt: skip
    said = f"{join(opened)}."
    if waiting:
        said += f" read_committed waits in {join(waiting)}."
    return said
