"""What a reader with read_committed drops: the batches of aborted transactions.

A Fetch answer names the aborted transactions that touch it, each with its producer and its first
offset.  A batch of that producer from there on is dropped, up to the marker that ends it.
"""

from __future__ import annotations

from engine.records import batch

Aborted = list[tuple[int, int]]
"""First offset and producer id of each."""


def is_aborted(header: batch.BatchHeader, aborted: Aborted) -> bool:
    """Whether a batch belongs to a transaction that was aborted."""
    return header.is_transactional and any(
        producer_id == header.producer_id and first_offset <= header.base_offset
        for first_offset, producer_id in aborted
    )


def after_marker(header: batch.BatchHeader, aborted: Aborted) -> Aborted:
    """Those that go on behind this marker, or begin there."""
    return [
        (first_offset, producer_id)
        for first_offset, producer_id in aborted
        if producer_id != header.producer_id or first_offset > header.base_offset
    ]
