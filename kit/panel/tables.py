"""A topic as a table: each partition's leader and ISR, and where each log ends.

    describe(cluster.snapshot(), "orders")

shows in a notebook as a table in the page's own light or dark colours, and elsewhere as
plain text.  Loads nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from kit.panel.scene import end_of
from kit.panel.source import Snapshot
from kit.panel.words import join

COLUMNS = ("partition", "leader", "epoch", "ISR", "ELR", "LEO", "HW")
NUMBERS = frozenset({"partition", "leader", "epoch"})

STYLE = """
.kio-table{--ink:var(--jp-ui-font-color0,var(--vscode-editor-foreground,inherit));
--line:color-mix(in srgb,currentcolor 18%,transparent);border-collapse:collapse;color:var(--ink);
font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);margin:2px 0 8px}
.kio-table caption{caption-side:top;text-align:left;font-size:14px;font-weight:700;color:inherit;
padding:2px 0 6px}
.kio-table caption span{font-weight:400;opacity:.75}
.kio-table th,.kio-table td{padding:4px 14px;text-align:left;border-bottom:1px solid var(--line);
font-variant-numeric:tabular-nums;white-space:nowrap;background:none}
.kio-table thead th{font-weight:600;opacity:.8;border-bottom-width:2px}
.kio-table .n{text-align:right}
.kio-table .lead{font-weight:700}
.kio-trouble{font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)}
.kio-table .bad{font-weight:600;text-decoration:underline wavy 1px #d55e00;
text-underline-offset:3px}
"""


@dataclass(frozen=True)
class TopicTable:
    """A topic's partitions, one row each, as text and as HTML."""

    topic: str
    facts: str
    rows: tuple[Mapping[str, str], ...]
    troubles: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have something to say."""
        return tuple(c for c in COLUMNS if c != "ELR" or any(row["ELR"] for row in self.rows))

    @property
    def text(self) -> str:
        """The table in plain words."""
        widths = {c: max(len(c), *(len(row[c]) for row in self.rows)) for c in self.columns}
        lines = [f"{self.topic}  {self.facts}".rstrip()]
        for row in ({c: c for c in self.columns}, *self.rows):
            told = (
                row[c].rjust(widths[c]) if c in NUMBERS else row[c].ljust(widths[c])
                for c in self.columns
            )
            lines.append("  ".join(told).rstrip())
        return "\n".join([*lines, *self.troubles])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        heads = "".join(
            f'<th scope="col" class="{"n" if c in NUMBERS else ""}">{escape(c)}</th>'
            for c in self.columns
        )
        rows = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        troubles = "".join(
            f'<div class="kio-trouble">⚠ {escape(trouble)}</div>' for trouble in self.troubles
        )
        return (
            f'<style>{STYLE}</style><table class="kio-table">'
            f"<caption>{escape(self.topic)} <span>{escape(self.facts)}</span></caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{troubles}"
        )

    def _cells(self, row: Mapping[str, str]) -> str:
        cells = []
        for column in self.columns:
            value = escape(row[column])
            if column == "partition":
                cells.append(f'<th scope="row" class="n">{value}</th>')
                continue
            bad = (column == "leader" and value == "none") or (column == "ISR" and row["short"])
            kinds = [
                *(["n"] if column in NUMBERS else []),
                *(["lead"] if column == "leader" else []),
                *(["bad"] if bad else []),
            ]
            cells.append(f'<td class="{" ".join(kinds)}">{value}</td>')
        return "".join(cells)


def describe(snapshot: Snapshot, topic: str) -> TopicTable:
    """The table of one topic of a snapshot; LookupError names the topics there are."""
    topics = snapshot.get("topics", {})
    if topic not in topics:
        known = ", ".join(sorted(topics)) or "none yet"
        raise LookupError(f"There is no topic {topic!r}; there are: {known}.")
    partitions = topics[topic]["partitions"]
    config = topics[topic].get("config") or {}
    told = [f"{len(partitions)} partition{'s' if len(partitions) != 1 else ''}"]
    least = config.get("min.insync.replicas")
    if least is not None:
        told.append(f"min.insync.replicas {least}")
    rows = tuple(_row(index, partitions[index]) for index in sorted(partitions))
    return TopicTable(topic, " · ".join(told), rows, _troubles(partitions, int(least or 1)))


def _row(index: int, state: Mapping[str, Any]) -> dict[str, str]:
    logs = state.get("logs", {})
    isr = state.get("isr") or []
    return {
        "partition": str(index),
        "leader": str(state["leader"]) if state["leader"] >= 0 else "none",
        "epoch": str(state.get("leader_epoch", "?")),
        "ISR": _ids(isr),
        "ELR": " ".join(map(str, state.get("elr") or ())),
        "LEO": _per_replica(state["replicas"], {r: end_of(log) for r, log in logs.items()}),
        "HW": _per_replica(
            state["replicas"], {r: log.get("high_watermark") for r, log in logs.items()}
        ),
        "short": "short" if len(isr) < len(state["replicas"]) else "",
    }


def _ids(brokers: Sequence[int]) -> str:
    return " ".join(map(str, brokers)) or "nobody"


def _per_replica(replicas: Sequence[int], ends: Mapping[int, int | None]) -> str:
    """One number if all replicas agree, else each replica's own."""
    known = [ends.get(replica) for replica in replicas]
    if len(set(known)) == 1 and known[0] is not None:
        return str(known[0])
    return "  ".join(
        f"{replica}:{'?' if end is None else end}"
        for replica, end in zip(replicas, known, strict=True)
    )


def _troubles(partitions: Mapping[int, Mapping[str, Any]], least: int) -> tuple[str, ...]:
    """What is wrong, with one sentence for all partitions that share a problem."""
    found: dict[str, list[int]] = {}
    for index in sorted(partitions):
        isr = partitions[index].get("isr") or []
        if partitions[index]["leader"] < 0:
            found.setdefault("no leader: no reads and no writes.", []).append(index)
        elif len(isr) < least:
            short = f"{len(isr)} of the {least} replicas that min.insync.replicas asks for"
            found.setdefault(f"acks=all is refused, the ISR has {short}.", []).append(index)
    return tuple(
        f"{'Partition' if len(where) == 1 else 'Partitions'} {join(where)}: {trouble}"
        for trouble, where in found.items()
    )
