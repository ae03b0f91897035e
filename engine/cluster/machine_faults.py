"""Faults of the machine under a node: its power, its clock, its disk.

A broker trusts its machine in three things:

* what was flushed stays; a power loss takes all else (engine/storage/disk.py)
* the clock is about right (clock.py in this folder)
* the disk returns what was written.  A checksum finds a changed bit, but late
  (engine/storage/damage.py).  A disk that takes no more bytes ends the broker at once: its only
  log directory has failed, so it has nothing left to serve.  A replaced disk is empty
"""

from __future__ import annotations

from random import Random
from typing import Any

from engine.cluster.clock import Clock
from engine.cluster.cluster import Cluster
from engine.storage import damage


def lose_power(cluster: Cluster, node_id: int, torn: bool = False) -> None:
    """Cuts the machine's power: the process ends, and what was not flushed is lost.

    With `torn`, some of it survives, perhaps half a batch.
    """
    cluster.kill(node_id)
    disk: Any = cluster.disks[node_id]
    lost = disk.lose_power(Random(f"{cluster.spec.seed}/{node_id}/{cluster.now}"), torn)
    why = "unflushed pages are gone"
    cluster.note("cluster.machine_faults.lose_power", node_id, "power-lost", why, lost_bytes=lost)


def write_back(cluster: Cluster, node_id: int) -> None:
    """The operating system writes its cached pages to the disk, in its own time."""
    disk = cluster.disks[node_id]
    for path in disk.list(""):
        disk.flush(path)
    why = "what was written so far survives a power loss"
    cluster.note("cluster.machine_faults.write_back", node_id, "written-back", why)


def replace_disk(cluster: Cluster, node_id: int) -> None:
    """The disk dies with the process on it; an empty one takes its place."""
    cluster.kill(node_id)
    disk = cluster.disks[node_id]
    for path in disk.list(""):
        disk.delete(path)
    disk.full = False
    cluster.note(
        "cluster.machine_faults.replace_disk", node_id, "disk-replaced", "the new disk is empty"
    )


def jump_clock(cluster: Cluster, node_id: int, ms: int) -> None:
    """Moves the node's clock ahead by `ms`, or back if negative."""
    _clock(cluster, node_id).change(cluster.now, by_us=ms * 1000)
    cluster.note("cluster.machine_faults.jump_clock", node_id, "clock", f"it jumps by {ms} ms")


def skew_clock(cluster: Cluster, node_id: int, ppm: int) -> None:
    """Makes the node's clock gain `ppm` microseconds a second, or lose them if negative."""
    _clock(cluster, node_id).change(cluster.now, ppm=ppm)
    cluster.note(
        "cluster.machine_faults.skew_clock", node_id, "clock", f"it gains {ppm} µs a second"
    )


def set_clock(cluster: Cluster, node_id: int) -> None:
    """Sets the node's clock to the true time, as a time server does."""
    cluster.clocks.pop(node_id, None)
    cluster.note(
        "cluster.machine_faults.set_clock", node_id, "clock", "it shows the true time again"
    )


def _clock(cluster: Cluster, node_id: int) -> Clock:
    return cluster.clocks.setdefault(node_id, Clock(cluster.now))


def flip_bit(cluster: Cluster, node_id: int, topic: str, partition: int, offset: int) -> None:
    """Changes a bit of the batch that holds `offset` (-1: the last batch) on the node's disk."""
    log = f"{topic}-{partition}"
    at = damage.flip_bit(cluster.disks[node_id], log, offset)
    if at is None:
        why = f"none: {log} holds no such batch"
    else:
        why = f"in {log}, in the batch that ends at {at}; its checksum will tell"
    cluster.note("cluster.machine_faults.flip_bit", node_id, "bit-flipped", why, log=log, offset=at)


def fill_disk(cluster: Cluster, node_id: int) -> None:
    """Fills the disk: nothing more can be appended."""
    cluster.disks[node_id].full = True
    cluster.note(
        "cluster.machine_faults.fill_disk", node_id, "disk-full", "no room is left on its disk"
    )


def free_disk(cluster: Cluster, node_id: int) -> None:
    cluster.disks[node_id].full = False
    cluster.note("cluster.machine_faults.free_disk", node_id, "disk-freed", "there is room again")
