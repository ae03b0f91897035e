"""Reading a replica's folder: what is there, what is damaged, and what changes meanwhile."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from engine.records import control
from engine.records.batch import encode
from engine.storage.memory_disk import MemoryDisk
from kit.segment_panel.files import Folder, Moment
from kit.segment_panel.folder import Vanished, look
from kit.segment_panel.scene import marks, pieces
from kit.segment_panel.source import Known
from tests.kit.segment_panel.toy_log import NAME, T, seen, values, written


def test_segments_and_batches_are_those_of_the_log(tmp_path: Path) -> None:
    log = written(tmp_path)
    replica = seen(tmp_path)
    assert [each.base_offset for each in replica.segments] == log.segments.base_offsets
    assert [each.is_active for each in replica.segments] == [False, False, True]
    assert (replica.size, replica.log_end) == (log.size_in_bytes, log.log_end_offset)
    assert list(replica.epochs) == log.epochs.entries
    for ours, theirs in zip(replica.segments, log.segments, strict=True):
        assert [(b.header, b.position) for b in ours.batches] == list(theirs.headers(0))
        assert (ours.tail, ours.trouble) == (0, "")
        said = {file.name.partition(".")[2]: file.says for file in ours.files}
        assert said["index"] == f"{theirs.offset_index.entries} entries"
    assert replica.notes == ()


def test_checkpoints_of_the_data_directory_give_start_and_watermark(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\nor 0 5\norders 0 50\n")
    replica = seen(tmp_path)
    assert (replica.log_start, replica.high_watermark) == (7, 50)
    by_name = {mark.name: mark for mark in marks(replica, Known(high_watermark=60))}
    assert by_name["high watermark"].offset == 60
    assert "its checkpoint still says 50" in by_name["high watermark"].says
    start = by_name["log start"]
    batch = next(b for b in replica.segments[0].batches if b.position == start.position)
    assert batch.header.base_offset <= 7 <= batch.header.last_offset


def test_an_empty_log_has_one_empty_segment(tmp_path: Path) -> None:
    written(tmp_path, batches=0)
    (segment,) = seen(tmp_path).segments
    assert (segment.size, segment.batches, segment.next_offset) == (0, (), 0)


def test_a_torn_tail_is_said_and_what_precedes_it_is_shown(tmp_path: Path) -> None:
    log = written(tmp_path)
    file = tmp_path / log.segments.active.path
    whole = seen(tmp_path).segments[-1]
    os.truncate(file, whole.size - 10)
    torn = seen(tmp_path).segments[-1]
    assert torn.batches == whole.batches[:-1]
    assert torn.tail == whole.batches[-1].size - 10
    assert f"{torn.tail} bytes of the {whole.batches[-1].size} that its header" in torn.trouble
    assert "it is torn" in torn.trouble


def test_bytes_that_are_no_batch_are_said_with_their_place(tmp_path: Path) -> None:
    log = written(tmp_path)
    segment = seen(tmp_path).segments[0]
    with open(tmp_path / log.segments[0].path, "r+b") as file:
        file.seek(segment.batches[3].position + 16)
        file.write(b"\x09")  # the magic
    damaged = seen(tmp_path).segments[0]
    assert damaged.batches == segment.batches[:3]
    assert damaged.trouble.startswith(f"no batch at position {segment.batches[3].position}")
    assert damaged.size == segment.size


def test_an_index_that_contradicts_itself_is_left_out(tmp_path: Path) -> None:
    log = written(tmp_path)
    with open(tmp_path / log.segments[0].offset_index.path, "ab") as file:
        file.write(b"\x01\x02\x03")
    replica = seen(tmp_path)
    assert any("contradicts itself" in note for note in replica.notes)
    assert replica.log[0].find(9)[1] is not None


def test_room_that_kafka_reserves_behind_an_indexs_entries_is_no_entry(tmp_path: Path) -> None:
    log = written(tmp_path)
    index = log.segments.active.offset_index
    os.truncate(tmp_path / index.path, 10 << 20)
    replica = seen(tmp_path)
    assert replica.log.active.offset_index.entries == index.entries
    said = {file.name.partition(".")[2]: file.says for file in replica.segments[-1].files}
    assert said["index"].startswith(f"{index.entries} entries, and 10,485,")


def test_aborted_transactions_and_passing_files_are_named(tmp_path: Path) -> None:
    log = written(tmp_path, batches=2)
    data = encode(values(4), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    log.append_as_leader(data, 0, T * 1000)
    marker = control.end_transaction(
        commit=False, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp=T
    )
    log.append_as_leader(marker, 0, T * 1000, "coordinator")
    (tmp_path / NAME / f"{0:020d}.log.cleaned").write_bytes(b"")
    (tmp_path / NAME / f"{9:020d}.log.deleted").write_bytes(b"")
    replica = seen(tmp_path)
    said = {file.name[20:]: file.says for file in replica.segments[0].files}
    assert said[".txnindex"] == "1 aborted transaction: offsets 4–6 of producer 7"
    assert said[".log.cleaned"] == "being written by the cleaner"
    assert {file.name[20:]: file.says for file in replica.others}[".log.deleted"] == "deleted soon"
    with open(tmp_path / NAME / f"{0:020d}.txnindex", "ab") as file:
        file.write(b"?")
    assert any("contradict" in file.says for file in seen(tmp_path).segments[0].files)


def test_a_broker_that_goes_on_writing_changes_nothing_in_the_picture(tmp_path: Path) -> None:
    log = written(tmp_path)
    replica = seen(tmp_path)
    file = replica.log.active.path
    before = replica.moment.read(file, 0, 1 << 20)
    with open(tmp_path / file, "ab") as writing:
        writing.write(b"more")
    assert replica.moment.read(file, 0, 1 << 20) == before
    assert log.segments.active.size == len(before)


def test_a_segment_that_goes_while_it_is_read_makes_the_reader_look_again(tmp_path: Path) -> None:
    log = written(tmp_path)

    class Deleting(Folder):
        """Deletes the oldest segment when it is first read."""

        def read(self, path: str, position: int, length: int) -> bytes:
            if path == log.segments[0].path and len(log.segments) == 3:
                log.advance_log_start(log.segments[1].base_offset)
            return super().read(path, position, length)

    replica = look(Deleting(tmp_path), NAME)
    assert [each.base_offset for each in replica.segments] == log.segments.base_offsets
    assert len(replica.segments) == 2


def test_a_folder_that_never_holds_still_is_given_up(tmp_path: Path) -> None:
    written(tmp_path)

    class Vanishing(Folder):
        def read(self, path: str, position: int, length: int) -> bytes:
            raise FileNotFoundError(path)

    with pytest.raises(Vanished, match="changes faster than it can be read"):
        look(Vanishing(tmp_path), NAME)


def test_nothing_is_ever_written(tmp_path: Path) -> None:
    log = written(tmp_path)
    moment = Moment(Folder(tmp_path), NAME)
    with pytest.raises(io.UnsupportedOperation):
        moment.truncate(log.segments.active.path, 0)
    with pytest.raises(io.UnsupportedOperation):
        moment.append(log.segments.active.path, b"x")


def test_a_disk_in_memory_is_read_alike(tmp_path: Path) -> None:
    written(tmp_path)
    disk = MemoryDisk()
    for file in sorted((tmp_path / NAME).iterdir()):
        disk.append(f"{NAME}/{file.name}", file.read_bytes())
    assert look(disk, NAME).segments == seen(tmp_path).segments


def test_narrow_batches_are_one_piece_and_lose_no_byte(tmp_path: Path) -> None:
    written(tmp_path)
    segment = seen(tmp_path).segments[0]
    assert len(pieces(segment)) == len(segment.batches)
    few = pieces(segment, most=6)
    assert len(few) < len(segment.batches)
    assert sum(piece.size for piece in few) == segment.size
    assert sum(piece.batches for piece in few) == len(segment.batches)
    assert few[-1].last == segment.next_offset - 1
