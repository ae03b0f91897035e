"""One topic as a table: each partition's leader and ISR, and the ends of each log."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

_COLUMNS = ("partition", "leader", "epoch", "ISR", "ELR", "replica", "log end", "HW", "role")


@dataclass(frozen=True)
class Description:
    """`print` it, read `.text`, or let a notebook show it."""

    cluster: str
    topic: str
    data: dict[str, Any]
    """The topic's part of a snapshot."""

    def rows(self) -> list[tuple[str, ...]]:
        """A row per replica; the partition's own values are in its first row."""
        rows = []
        for index, partition in self.data["partitions"].items():
            head: tuple[str, ...] = (
                str(index),
                str(partition["leader"]) if partition["leader"] >= 0 else "none",
                str(partition["leader_epoch"]),
                _listed(partition["isr"]),
                _listed(partition["elr"]),
            )
            for broker, log in partition["logs"].items():
                ends = (log.get("log_end_offset", "?"), log.get("high_watermark", "?"))
                rows.append((*head, str(broker), *map(str, ends), log["role"]))
                head = ("",) * len(head)
        return rows

    @property
    def text(self) -> str:
        rows = [_COLUMNS, *self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        lines = [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([f"{self.topic} on {self.cluster}", *lines])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        def cells(tag: str, row: tuple[str, ...]) -> str:
            return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)

        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in self.rows())
        caption = html.escape(f"{self.topic} on {self.cluster}")
        return (
            f"<table><caption>{caption}</caption>"
            f"<thead><tr>{cells('th', _COLUMNS)}</tr></thead><tbody>{body}</tbody></table>"
        )


def _listed(brokers: list[int]) -> str:
    return " ".join(map(str, brokers)) or "–"
