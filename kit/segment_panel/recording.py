"""A simulated world's files over time: the folders of a partition's replicas, step by step.

The recorder works on a copy of the world, as those of the other panels do; yours stays where it is.
At each step of the Cluster panel's recording it also keeps the files of every replica, whole.  A
file that has not changed is kept once.  Simulated disks are in memory, so these are the bytes that
the brokers wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from engine.sim.world.world import World
from kit.clusters.interface import ClusterError
from kit.film import replay
from kit.film.source import Frame, Line
from kit.panel import story
from kit.panel.recording import Recording
from kit.segment_panel.files import Readable
from kit.segment_panel.folder import CHECKPOINTS, Replica, look
from kit.segment_panel.source import Known

NEWEST = -1
Files = Mapping[str, bytes]


class Kept:
    """Files as they were, by path; `Readable` like a disk."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def list(self, directory: str) -> list[str]:
        start = len(directory) + 1
        return sorted(path[start:] for path in self._files if path.startswith(f"{directory}/"))

    def size(self, path: str) -> int:
        return len(self._file(path))

    def read(self, path: str, position: int, length: int) -> bytes:
        return self._file(path)[position : position + length]

    def _file(self, path: str) -> bytes:
        if path not in self._files:
            raise FileNotFoundError(path)
        return self._files[path]


def files_of(disk: Readable, directory: str, before: Files) -> Files:
    """The files of a directory and the checkpoints; those that `before` has alike are shared."""
    files = {}
    for path in (*CHECKPOINTS, *(f"{directory}/{name}" for name in disk.list(directory))):
        try:
            data = disk.read(path, 0, disk.size(path))
        except FileNotFoundError:
            continue
        old = before.get(path)
        files[path] = old if old == data else data
    return files


@dataclass
class FileRecording(Recording):
    """A recording of the Cluster panel, and the files at each of its frames by broker."""

    directory: str = ""
    files: list[dict[int, Files]] = field(default_factory=list)

    def keep(self, lines: tuple[Line, ...]) -> None:
        """A frame of this moment, and the files with it."""
        super().keep(lines)
        if len(self.frames) > len(self.files):
            before = self.files[-1] if self.files else {}
            self.files.append(
                {
                    broker: files_of(disk, self.directory, before.get(broker, {}))
                    for broker, disk in self.world.cluster.disks.items()
                    if disk.list(self.directory)
                }
            )


class WorldSource:
    """One partition of a recorded world; `place` is the moment that is shown."""

    def __init__(self, world: World, topic: str, partition: int, broker: int | None) -> None:
        self.topic, self.partition = topic, partition
        self.directory = f"{topic}-{partition}"
        past = replay.from_the_beginning(world)
        recording = FileRecording(past, topic, directory=self.directory)
        replay.run_to_event(recording, world.events)
        self.frames: Sequence[Frame] = recording.frames
        self._files = recording.files
        self.brokers = sorted({each for files in self._files for each in files})
        if not self.brokers:
            raise ClusterError(f"No broker of this world has ever had {self.directory}.")
        self.broker = self._leader() if broker is None else broker
        if self.broker not in self.brokers:
            held = ", ".join(map(str, self.brokers))
            raise ClusterError(
                f"Broker {self.broker} holds no replica of {self.directory}: name one of {held}."
            )
        self.place = len(self.frames) - 1
        self.known = Known()
        self.replica: Replica | None = None
        self.marks = self._marks()

    def _leader(self) -> int:
        leader = self._state(self.frames[-1]).get("leader", -1)
        return int(leader) if leader in self.brokers else self.brokers[0]

    def _state(self, frame: Frame) -> Mapping[str, Any]:
        topic = frame.snapshot["topics"].get(self.topic) or {"partitions": {}}
        found: Mapping[str, Any] = topic["partitions"].get(self.partition, {})
        return found

    def poll(self) -> bool:
        """Reads the files of the moment in view."""
        log = self._state(self.frames[self.place]).get("logs", {}).get(self.broker, {})
        live = log.get("role") != "offline"
        self.known = Known(
            str(log.get("role") or ""),
            log.get("log_start_offset") if live else None,
            log.get("high_watermark") if live else None,
            log.get("log_end_offset") if live else None,
        )
        files = self._files[self.place].get(self.broker, {})
        self.replica = look(Kept(files), self.directory)
        return True

    # -- the timeline

    @property
    def seconds(self) -> float:
        return (self.frames[self.place].time_us - self.frames[0].time_us) / 1e6

    @property
    def sentence(self) -> str:
        """What happened at this moment."""
        return story.caption(self.frames, self.place, self.topic, self.partition)

    def next_with(self, words: str) -> int | None:
        """The next moment whose name has these words, such as "kill 101"."""
        later = (place for place, label in self.marks if place > self.place and words in label)
        return next(later, None)

    def _marks(self) -> list[tuple[int, str]]:
        found = []
        for before, frame in pairwise(self.frames):
            label = story.label(before, frame, self.topic, self.partition)
            if label:
                found.append((frame.number, label))
        return found
