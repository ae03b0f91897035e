"""The trace beside the picture: what the coordinator and the leaders did, and what producers asked.

`concerns` also decides what is worth a frame: a step of the coordinator, an append or a high
watermark at a leader, a producer's request or call, a process that dies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kit.film.source import Frame, Line

LINES_MOST = 40
NODES = frozenset(
    ("started", "stopping", "stopped", "killed", "paused", "resumed", "power-lost", "defect",
     "cut", "healed", "slow")
)  # fmt: skip
COORDINATOR = frozenset(
    ("transaction", "transactions-loaded", "markers-stopped", "marker-refused", "marker-dropped")
)
LEADER = frozenset(("append", "high_watermark"))
AT_THE_LEADER = (".append_as_leader", ".advance_high_watermark")
CLIENT = frozenset(
    ("called", "returned", "transition", "joined", "call refused", "refused", "expired", "record",
     "epoch_bump", "left", *NODES)
)  # fmt: skip
REQUESTS = frozenset(
    ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
)


def concerns(line: Line, partitions: Collection[str], is_ours: bool) -> bool:
    """Whether a line tells of a transaction; `is_ours` for a line of a transactional producer."""
    if is_ours:
        if line.kind in ("request", "response"):
            told = line.kind == "request" or line["error"] not in (None, "NONE")
            return told and line["api"] in REQUESTS
        return line.kind in CLIENT
    if line.kind in LEADER:
        return line.partition in partitions and line.rule.endswith(AT_THE_LEADER)
    return line.kind in COORDINATOR or (line.kind in NODES and not line.partition)


def listing(frames: Sequence[Frame], number: int) -> list[tuple[Line, str, bool]]:
    """The newest lines up to a frame: the line, its words, and whether it is of that frame."""
    listed: list[tuple[Line, str, bool]] = []
    for frame in reversed(frames[: number - frames[0].number + 1]):
        for line in reversed(frame.lines):
            if len(listed) < LINES_MOST:
                listed.append((line, say(line), frame.number == number))
    return listed[::-1]


def say(line: Line) -> str:
    """A line in a few words, without its time and place."""
    if line["client"] is not None:
        return f"{line['client']} {_client(line)}".strip()
    match line.kind:
        case "transaction":
            epoch = "" if line["epoch"] is None else f" (epoch {line['epoch']})"
            return f"{line['id']}: {line['before']} → {line['state']}{epoch}"
        case "append":
            return f"append {line.partition} at {line['base']}"
        case "high_watermark":
            return f"HW of {line.partition} → {line['to']}"
        case "transactions-loaded":
            return f"loads {line.partition}"
    more = " ".join(f"{name}={value}" for name, value in (line.fields or {}).items())
    return f"{line.kind} {line.partition} {more}".replace("  ", " ").strip()


def _client(line: Line) -> str:
    match line.kind:
        case "called":
            return f"calls {line['operation']}"
        case "returned":
            return f"{line['operation']} returns"
        case "request":
            return f"→ {line['broker']} {line['api']}"
        case "response":
            return f"← {line['api']} {line['error']}"
        case "transition":
            return f"is {line['now']}"
        case "joined":
            return f"adds {line.partition}"
        case "record":
            return f"sends to {line.partition}"
    return line.kind
