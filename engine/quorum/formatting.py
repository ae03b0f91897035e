"""A new quorum whose voters may change: what `kafka-storage format --initial-controllers` writes.

    meta.properties                      which directory this is
    00000000000000000000-0000000000.checkpoint    kraft.version 1, and the first voters

The first leader copies these voters into the log.  A controller without that file is formatted, as
Kafka says it, with `--no-initial-controllers`: it starts as an observer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from engine.metadata import snapshot
from engine.metadata.records import METADATA_DIRECTORY
from engine.quorum.snapshots import BOOTSTRAP
from engine.quorum.voters import LISTENER, Endpoint, ReplicaKey, Voter, VoterSet
from engine.storage import checkpoints
from engine.storage.checkpoints import MetaProperties
from engine.storage.disk import Disk
from engine.wire import messages as m
from engine.wire import uuids

Address = tuple[str, int]


def address_of(node_id: int, addresses: Mapping[int, Address]) -> Address:
    """Where a controller is; one without a listener is named after its id."""
    return addresses.get(node_id, ("127.0.0.1", 9000 + node_id))


def voter(node_id: int, directory: bytes, address: Address) -> Voter:
    return Voter(ReplicaKey(node_id, directory), (Endpoint(LISTENER, *address),))


def format_new(
    disks: Mapping[int, Disk],
    controllers: Sequence[int],
    voters: Sequence[int],
    cluster_id: str,
    addresses: Mapping[int, Address],
    seed: object,
    now_ms: int,
) -> None:
    """Formats the disks of all controllers, `voters` of them for the first set.

    Does nothing if one of the voters' disks has a metadata log or a format already: a disk that
    was replaced is none of the first ones.
    """
    if any(_is_formatted(disks[each]) for each in voters):
        return
    directories = {
        each: directory_of(disks[each], cluster_id, each, Random(f"{seed}/{each}/directory"))
        for each in controllers
    }
    first = VoterSet.of(
        voter(each, directories[each], address_of(each, addresses)) for each in voters
    )
    voters_records = m.KRaftVersionRecord(0, 1), first.record()
    data = snapshot.encode(BOOTSTRAP, (), now_ms, now_ms, voters_records)
    for each in voters:
        disks[each].replace(BOOTSTRAP.path, data)


def _is_formatted(disk: Disk) -> bool:
    return disk.exists(BOOTSTRAP.path) or bool(disk.list(METADATA_DIRECTORY))


def directory_of(disk: Disk, cluster_id: str, node_id: int, ids: Random) -> bytes:
    """The directory id that a disk has; an empty disk gets one."""
    found = checkpoints.read_meta_properties(disk)
    if found is None:
        directory = uuids.to_text(uuids.new(ids))
        found = MetaProperties(cluster_id, node_id, directory)
        checkpoints.write_meta_properties(disk, found)
    return uuids.from_text(found.directory_id)
