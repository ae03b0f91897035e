"""The broker's small files, byte for byte as Kafka writes them."""

from __future__ import annotations

import pytest

from engine.storage import checkpoints
from engine.storage.checkpoints import HIGH_WATERMARKS, MetaProperties
from engine.storage.disk import Disk
from engine.wire.errors import Errors, KafkaError

TOPIC_ID = bytes(range(16))


def test_offsets_per_partition(disk: Disk) -> None:
    offsets = {("payments", 3): 77, ("orders", 0): 1234}
    checkpoints.write_offsets(disk, HIGH_WATERMARKS, offsets)
    assert disk.read(HIGH_WATERMARKS, 0, 99) == b"0\n2\norders 0 1234\npayments 3 77\n"
    assert checkpoints.read_offsets(disk, HIGH_WATERMARKS) == offsets


def test_what_is_not_there_is_empty(disk: Disk) -> None:
    assert checkpoints.read_offsets(disk, HIGH_WATERMARKS) == {}
    assert checkpoints.read_epochs(disk, "orders-0/leader-epoch-checkpoint") == []
    assert checkpoints.read_topic_id(disk, "orders-0") is None
    assert checkpoints.read_meta_properties(disk) is None
    assert checkpoints.take_clean_shutdown(disk) is None


@pytest.mark.parametrize(
    "text",
    ["1\n0\n", "0\n", "0\n2\norders 0 7\n", "0\n1\norders seven 7\n", "0\n1\norders 7\n", "\xff"],
)
def test_a_malformed_checkpoint_is_named_with_a_remedy(disk: Disk, text: str) -> None:
    disk.replace(HIGH_WATERMARKS, text.encode("latin-1"))
    with pytest.raises(KafkaError, match=f"{HIGH_WATERMARKS}.*delete it") as refused:
        checkpoints.read_offsets(disk, HIGH_WATERMARKS)
    assert refused.value.code == Errors.KAFKA_STORAGE_ERROR


def test_an_empty_checkpoint_is_an_empty_one(disk: Disk) -> None:
    disk.replace(HIGH_WATERMARKS, b"")
    assert checkpoints.read_offsets(disk, HIGH_WATERMARKS) == {}


def test_the_topic_a_log_belongs_to(disk: Disk) -> None:
    checkpoints.write_topic_id(disk, "orders-0", TOPIC_ID)
    contents = disk.read("orders-0/partition.metadata", 0, 99)
    assert contents == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert checkpoints.read_topic_id(disk, "orders-0") == TOPIC_ID


def test_the_cluster_a_disk_belongs_to(disk: Disk) -> None:
    mine = MetaProperties("4L6g3nShT-eMCtK--X86sw", 101, "AAECAwQFBgcICQoLDA0ODw")
    checkpoints.write_meta_properties(disk, mine)
    assert checkpoints.read_meta_properties(disk) == mine
    disk.replace(
        "meta.properties",
        b"#\n#Mon Jan 01 00:00:00 UTC 2026\nnode.id=7\ndirectory.id=x\\=y\n"
        b"version=1\ncluster.id=c\n",
    )
    assert checkpoints.read_meta_properties(disk) == MetaProperties("c", 7, "x=y")
    disk.replace("meta.properties", b"node.id=7\n")
    with pytest.raises(KafkaError, match=r"meta\.properties"):
        checkpoints.read_meta_properties(disk)


def test_a_clean_shutdown_counts_once(disk: Disk) -> None:
    checkpoints.write_clean_shutdown(disk, 42)
    assert disk.read(".kafka_cleanshutdown", 0, 99) == b'{"version":0,"brokerEpoch":42}'
    assert checkpoints.take_clean_shutdown(disk) == 42
    assert checkpoints.take_clean_shutdown(disk) is None


def test_a_clean_shutdown_file_of_old_names_no_epoch(disk: Disk) -> None:
    disk.replace(".kafka_cleanshutdown", b"")
    assert checkpoints.take_clean_shutdown(disk) == -1
