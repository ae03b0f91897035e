"""What is drawn of a moment: rows and cells from a world's own state, NoOps folded, text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.events import Outbox
from engine.metadata.records import METADATA_DIRECTORY, encode_batch
from engine.quorum.raft_log import RaftLog
from engine.settings import Settings
from engine.sim.world.world import World
from engine.storage.real_disk import RealDisk
from engine.wire import messages as m
from kit.film.source import Frame
from kit.probes.metadata_words import MetadataWords
from kit.quorum_panel import text, view
from kit.quorum_panel.logs import LogFiles
from kit.quorum_panel.recording import QuorumRecording, record
from kit.quorum_panel.scene import NO_FILES, Scene, build
from tests.kit.quorum_panel.quorums import FORMER, NEXT, parted


@pytest.fixture(scope="module")
def recording() -> QuorumRecording:
    """Do not change it."""
    return record(parted())


def scene_at(recording: QuorumRecording, kind: str, node: int, last: bool = True) -> Scene:
    """At the moment to which a controller's line of the trace belongs."""
    found = [frame for frame in recording.frames
             if any((line.kind, line.node) == (kind, node) for line in frame.lines)]  # fmt: skip
    return build(found[-1 if last else 0].snapshot)


def test_a_moment_has_what_the_controllers_themselves_say(recording: QuorumRecording) -> None:
    world = recording.world
    scene = build(recording.frames[-1].snapshot)
    assert [row.id for row in scene.rows] == [100, 200, 300]
    for row in scene.rows:
        node: Any = world.cluster.nodes[row.id]
        voter = node.replica.state
        assert (row.role, row.epoch, row.leader) == (voter.role, voter.epoch, voter.leader)
        assert (row.log_end_offset, row.high_watermark) == (
            node.log.end_offset, node.log.high_watermark)  # fmt: skip
        assert row.is_active is node.is_active
        words = MetadataWords()
        said = [words.say(each).full for _, each in node.log.records(0, node.log.end_offset)]
        assert [cell.says for cell in row.cells] == said
    assert dict(scene.facts)["active"] == str(NEXT)


def test_an_election_shows_who_asks_and_who_votes(recording: QuorumRecording) -> None:
    stands = scene_at(recording, "candidate", NEXT)
    row = stands.row(NEXT)
    assert (row.role, row.epoch, row.voted, row.granted) == ("candidate", 2, NEXT, (NEXT,))
    assert text.voted(row) == f"voted for it: {NEXT}"
    votes = scene_at(recording, "voted", 100).row(100)
    assert (votes.role, votes.epoch, votes.voted) == ("unattached", 2, NEXT)
    assert text.standing(votes) == "100 unattached, epoch 2, voted for 300, cut from 200"


def test_an_isolated_leader_has_what_the_next_one_has_not(recording: QuorumRecording) -> None:
    scene = scene_at(recording, "resigned", FORMER)
    row = scene.row(FORMER)
    apart = [cell for cell in row.cells if cell.parted]
    assert scene.parts_at == apart[0].offset == row.high_watermark
    assert apart[0].says == "topic lost created"
    assert not any(cell.committed for cell in apart)
    assert row.cut_from == (100, 300)
    # the columns hold both sides of the offset at which the logs part
    assert scene.columns[0].first < scene.parts_at < scene.columns[-1].last
    here = [(each.epoch, each.held_by, each.known_by, each.parted)
            for each in scene.entries if each.offset == scene.parts_at]  # fmt: skip
    assert here == [(1, (FORMER,), (), True), (2, (100, NEXT), (100, NEXT), False)]


def test_records_of_one_batch_belong_together(recording: QuorumRecording) -> None:
    cells = {cell.says: cell for cell in build(recording.frames[-1].snapshot).rows[0].cells}
    assert not cells["topic orders created"].joined
    assert cells["partition orders-0: leader 102, ISR 102 103 101"].joined


def test_a_controller_without_a_vote_observes() -> None:
    world = World(seed=3, controllers=4, voters=3, rewindable=False)
    world.run(for_s=1)

    def scene() -> Scene:
        return build(view.of_quorum(world.snapshot(), {}))

    before = scene()
    assert text.standing(before.row(400)) == "400 observer, epoch 1"
    facts = dict(before.facts)
    assert (facts["majority"], facts["voters"], facts["running"]) == ("2 of 3", "100 200 300", "4")
    directories = {seen["directory"] for seen in world.snapshot()["controllers"].values()}
    assert len(directories - {""}) == 4
    world.add_voter(400)
    world.run(for_s=1)
    assert scene().row(400).role == "follower"
    facts = dict(scene().facts)
    assert (facts["majority"], facts.get("voters")) == ("3 of 4", None)


def test_a_controller_that_is_down_keeps_its_log(recording: QuorumRecording) -> None:
    before = recording.frames[-1].snapshot
    gone = {**before["voters"], FORMER: {"state": "killed"}}
    scene = build(view.of_quorum({"controllers": gone}, {}, before))
    row = scene.row(FORMER)
    assert (row.state, row.role, row.is_active) == ("killed", "", False)
    assert row.cells == build(before).row(FORMER).cells


def voter(end: int, *batches: tuple[int, int, str], **more: Any) -> dict[str, Any]:
    listed = [
        {"base_offset": base, "last_offset": last, "epoch": 1, "kinds": [kind], "briefs": [kind],
         "values": [kind]}
        for base, last, kind in batches
    ]  # fmt: skip
    return {"state": "running", "log_end_offset": end, "batches": listed, "epochs": [[1, 0]],
            **more}  # fmt: skip


def test_runs_of_noops_are_one_column_also_where_they_end_at_other_offsets() -> None:
    quorum = {
        100: voter(41, (0, 0, "leader"), (1, 38, "quiet"), (39, 39, "topic"), (40, 40, "quiet"),
                   role="leader", high_watermark=40),
        200: voter(30, (0, 0, "leader"), (1, 29, "quiet"), role="follower"),
    }  # fmt: skip
    scene = build({"voters": quorum, "links": []})
    assert [(each.first, each.last, each.quiet) for each in scene.columns] == [
        (0, 0, False), (1, 38, True), (39, 39, False), (40, 40, True),
    ]  # fmt: skip
    assert [each.offset for each in scene.entries] == [0, 39]
    # of 200 only the leader's high watermark is known
    assert [cell.committed for cell in scene.row(200).cells] == [True, True]
    assert "1: 29 NoOps" in text.row(scene.row(200), scene.columns)


def test_where_a_high_watermark_is_not_known_what_is_parted_is_not_committed() -> None:
    quorum = {
        100: voter(9, (0, 8, "topic"), role="leader", high_watermark=9, epochs=[[1, 0], [2, 5]]),
        200: voter(7, *((at, at, "topic") for at in range(7)), role="follower"),
    }
    quorum[100]["batches"] = quorum[200]["batches"][:5]
    row = build({"voters": quorum, "links": []}).row(200)
    assert [cell.parted for cell in row.cells] == [False] * 5 + [True] * 2
    assert [cell.committed for cell in row.cells] == [True] * 5 + [False] * 2


def test_without_files_the_rows_say_what_the_leader_knows() -> None:
    known = {
        100: {"state": "unknown", "is_active": True, "role": "leader", "epoch": 3, "leader": 100,
              "log_end_offset": 9, "high_watermark": 9},
        200: {"state": "unknown", "is_active": False, "log_end_offset": 7},
    }  # fmt: skip
    scene = build(view.of_quorum({"controllers": known}, {}))
    assert scene.lacks == NO_FILES
    said = text.render(scene, "")
    assert "100 leader, active, epoch 3, voted for itself. HW 9  LEO 9" in said
    assert "200 unknown. HW ?  LEO 7" in said
    assert said.endswith(NO_FILES)


def test_the_file_of_a_controller_says_what_it_remembers(tmp_path: Path) -> None:
    folder = tmp_path / METADATA_DIRECTORY
    folder.mkdir()
    for leader, voted, role in ((200, -1, "leader"), (100, 100, "follower"),
                                (-1, 200, "candidate"), (-1, 100, "unattached")):  # fmt: skip
        content = {"leaderId": leader, "leaderEpoch": 4, "votedId": voted, "data_version": 1}
        (folder / "quorum-state").write_text(json.dumps(content))
        found = view.remembered(tmp_path, 200)
        assert found == {"role": role, "epoch": 4, "leader": leader, "voted": voted}
    (folder / "quorum-state").write_text("")
    assert view.remembered(tmp_path, 200) == {}


def test_a_log_on_disk_is_read_on_and_again_after_a_cut(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    log = RaftLog(disk, Settings(), Outbox(), 0)
    files = LogFiles(tmp_path, MetadataWords())

    def write(epoch: int, *names: str) -> None:
        for name in names:
            record = m.TopicRecord(name, name.encode().ljust(16)) if name else m.NoOpRecord()
            log.append(encode_batch([record], 1), epoch, 0)

    def read() -> list[Any]:
        return [(each["base_offset"], each["last_offset"], each["epoch"], each["values"][0])
                for each in files.read()]  # fmt: skip

    assert read() == []
    write(1, "a", "", "", "b")
    quiet = (1, 2, 1, "nothing new (NoOp)")
    assert read() == [(0, 0, 1, "topic a created"), quiet, (3, 3, 1, "topic b created")]
    write(1, "c")
    assert read()[-1] == (4, 4, 1, "topic c created")
    log.truncate(1, 3)
    write(2, "x", "y")  # as many as were cut
    assert read()[1:] == [quiet, (3, 3, 2, "topic x created"), (4, 4, 2, "topic y created")]
    log.truncate(2, 3)
    assert read()[-1] == quiet
    log.close()


def test_the_words_of_the_text_are_those_of_the_picture(recording: QuorumRecording) -> None:
    frame: Frame = recording.frames[-1]
    scene = build(frame.snapshot)
    said = text.render(scene, "A **caption**.")
    assert said.startswith("quorum: active 300 · epoch 2 · committed below 17 · majority 2 of 3")
    assert "\n300 leader, active, epoch 2, voted for itself. HW 17  LEO 17\n" in said
    assert "\n  14 epoch 2  leader change: 300, epoch 2  (100 200 300)\n" in said
    assert said.endswith("A caption.")
    resigned = text.render(scene_at(recording, "resigned", FORMER), "")
    assert " [14 epoch 1  topic lost created]  (200)" in resigned
    assert "Logs diverge at offset 14." in resigned
