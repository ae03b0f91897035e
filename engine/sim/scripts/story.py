"""Tells what happened to each replica, in a form that two drivers agree on.

The trace of a cluster is one line after another as time went; what different replicas do
at the same time may come in any order.  The story takes the lines of one partition on one
broker, in their order, and drops only what may differ from run to run:

* when, and what other replicas did meanwhile
* how records were grouped into fetches: appends that follow each other in one epoch are one
* how often a high watermark was reported on its way up: of several, the last
* whether an epoch's start follows the append that brought it (a follower) or precedes it

So `append 0, high watermark 1, append 1, high watermark 2` and `append 0, append 1, high
watermark 2` are the same story: "append 0..1, high watermark 2".  Everything else stays:
roles, epochs, ISR, truncations, and the life of the broker's process, in order.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.cluster.items import NodeId
from engine.events import Trace
from engine.plain import Plain

REPLICA_KINDS = (
    "append",
    "truncate",
    "high_watermark",
    "leader_epoch",
    "isr",
    "leader",
    "recovered",
)
CONTROLLER_KINDS = ("elected", "eligible")
PROCESS_KINDS = ("started", "stopped", "killed", "power-lost")
Place = tuple[str, NodeId]


def stories(
    trace: Iterable[tuple[int, NodeId, Trace]], internal: str = "__"
) -> dict[Place, list[str]]:
    """The story of each (partition, node), sorted; internal topics are left out."""
    by_place: dict[Place, list[Trace]] = {}
    for _, node, line in trace:
        if line.kind in REPLICA_KINDS or line.kind in CONTROLLER_KINDS:
            if line.partition and not line.partition.startswith(internal):
                by_place.setdefault((line.partition, node), []).append(line)
        elif line.kind in PROCESS_KINDS:
            for place, lines in by_place.items():
                if place[1] == node:
                    lines.append(line)
    return {
        place: _shorten(by_place[place])
        for place in sorted(by_place, key=lambda p: (p[0], str(p[1])))
    }


def _shorten(lines: list[Trace]) -> list[str]:
    out: list[str] = []
    appended: list[list[int]] = []
    high_watermark: int | None = None

    def flush() -> None:
        nonlocal high_watermark
        for base, last, epoch in appended:
            offsets = str(base) if base == last else f"{base}..{last}"
            out.append(f"append {offsets} in epoch {epoch}")
        if high_watermark is not None:
            out.append(f"high watermark {high_watermark}")
        appended.clear()
        high_watermark = None

    for line in lines:
        fields = dict(line.fields)
        if line.kind == "append":
            base, last, epoch = fields["base"], fields["last"], fields["epoch"]
            if appended and appended[-1][2] == epoch and appended[-1][1] + 1 == base:
                appended[-1][1] = last
            else:
                appended.append([base, last, epoch])
        elif line.kind == "high_watermark":
            high_watermark = fields["to"]
        elif line.kind == "leader_epoch" and appended and appended[-1][2] == fields["epoch"]:
            last_run = appended.pop()
            flush()
            out.append(_sentence(line.kind, fields))
            appended.append(last_run)
        else:
            flush()
            out.append(_sentence(line.kind, fields))
    flush()
    return out


def _sentence(kind: str, fields: Plain) -> str:
    match kind:
        case "truncate":
            return f"truncate from {fields['was']} to {fields['to']}"
        case "leader_epoch":
            return f"epoch {fields['epoch']} starts at {fields['start']}"
        case "isr":
            return f"isr {_list(fields['isr'])}"
        case "leader":
            return f"leader {fields['leader']} in epoch {fields['epoch']}"
        case "recovered":
            return f"recovered up to {fields['end']}"
        case "elected":
            return (f"elected {fields['leader']} in epoch {fields['epoch']}, "
                    f"isr {_list(fields['isr'])}: {fields['reason']}")  # fmt: skip
        case "eligible":
            return f"isr {_list(fields['isr'])}, eligible {_list(fields['elr'])}"
        case _:
            return f"-- {kind} --"


def _list(brokers: Iterable[int]) -> str:
    return " ".join(str(broker) for broker in sorted(brokers)) or "none"


def as_text(by_place: dict[Place, list[str]]) -> str:
    """The stories one below the other."""
    return "\n".join(
        "\n".join([f"{partition} on {node}", *(f"  {line}" for line in lines)])
        for (partition, node), lines in by_place.items()
    )
