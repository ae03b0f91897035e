"""Tells what a teachable producer did, in a few lines: its batches, their brokers, its errors.

    sends sequence 1..6 in epoch 0 to 101
    NETWORK_EXCEPTION for sequence 1..6
    sends sequence 1..6 in epoch 0 to 102
    OUT_OF_ORDER_SEQUENCE_NUMBER for sequence 1
    epoch 1: sequences begin at 0 again

With transaction.version 2 the end of each transaction gives the producer a new epoch, and then the
story says so; with another id it says which.

Steps of one kind that follow each other are one line; moments and batch numbers are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.cluster.items import NodeId
from engine.events import Trace


def producer_story(trace: Iterable[tuple[int, NodeId, Trace]], name: str) -> list[str]:
    """The lines of one producer; answers without an error are left out."""
    out: list[tuple[str, str, list[int]]] = []
    sequences: dict[int, int] = {}
    producer_id = -1

    def tell(before: str, after: str, sequence: int) -> None:
        if out and out[-1][:2] == (before, after) and sequence == out[-1][2][-1] + 1:
            out[-1][2].append(sequence)
        else:
            out.append((before, after, [sequence]))

    for _, node, line in trace:
        fields = dict(line.fields)
        if node != name:
            continue
        if line.kind == "sent":
            sequences[fields["batch"]] = fields["sequence"]
            after = f"in epoch {fields['epoch']} to {fields['broker']}"
            tell("sends sequence", after, fields["sequence"])
        elif line.kind == "answered" and fields["error"] != "NONE":
            tell(f"{fields['error']} for sequence", "", sequences[fields["batch"]])
        elif line.kind == "epoch_bump":
            out.append((f"epoch {fields['epoch']}: sequences begin at 0 again", "", []))
        elif line.kind == "id_reset":
            out.append(("gives up its id", "", []))
        elif line.kind == "producer_id":
            if sequences:
                same = fields["id"] == producer_id
                begins = f"epoch {fields['epoch']}" if same else f"is producer {fields['id']}"
                out.append((f"{begins}: sequences begin at 0 again", "", []))
            producer_id = fields["id"]
    return [" ".join(f"{before} {_range(known)} {after}".split()) for before, after, known in out]


def _range(sequences: list[int]) -> str:
    if len(sequences) < 2:
        return "".join(map(str, sequences))
    return f"{sequences[0]}..{sequences[-1]}"
