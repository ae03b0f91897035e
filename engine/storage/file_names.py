"""Names of the files of one log, as Kafka names them.

    orders-0/00000000000000000042.log         batches from offset 42 on
    orders-0/00000000000000000042.index       offset -> position in the .log
    orders-0/00000000000000000042.timeindex   timestamp -> offset
    orders-0/00000000000000000042.snapshot    what was known of each producer at offset 42
    orders-0/leader-epoch-checkpoint          epoch -> first offset

A cleaned segment goes through three more endings while it takes the place of old ones:

    ….log.cleaned    being written         ….log.swap    complete, about to replace
    ….log.deleted    replaced, kept for those that are still reading it

Twenty digits hold any 64-bit offset, so the order of names is the order of offsets.
"""

from __future__ import annotations

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
PRODUCER_SNAPSHOT = ".snapshot"
CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"
OF_A_SEGMENT = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

_DIGITS = 20


def of_offset(directory: str, offset: int, suffix: str) -> str:
    return f"{directory}/{offset:0{_DIGITS}d}{suffix}"


def offsets(names: list[str], suffix: str) -> list[int]:
    """The offsets of the files among `names` with this suffix, ascending."""
    found = []
    for name in names:
        stem = name[: -len(suffix)]
        if name.endswith(suffix) and len(stem) == _DIGITS and stem.isdigit():
            found.append(int(stem))
    return sorted(found)
