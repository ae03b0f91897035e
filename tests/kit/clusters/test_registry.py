"""What the kit started can be found and ended; nothing else is touched."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kit import places
from kit.clusters import registry
from kit.clusters.interface import ClusterError, LeaseTaken
from kit.clusters.local import LocalProvider
from kit.clusters.local_plan import Plan, free_ports
from kit.clusters.reaper import Reaper

SLEEPER = [sys.executable, "-S", "-I", "-c", "import time; time.sleep(600)"]


@pytest.fixture(autouse=True)
def own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(places.tempfile, "tempdir", str(tmp_path))


def register(label: str, shared: bool) -> registry.Registration:
    directory = registry.labelled_directory(label)
    registration = registry.Registration(label, "local", str(directory), shared, "", os.getpid())
    registration.save()
    return registration


def test_down_of_everything_ends_shared_private_and_orphaned_clusters_and_nothing_else(
    tmp_path: Path,
) -> None:
    log = str(tmp_path / "log")
    shared = register("shared-1", True)
    served = Reaper.start_shared(shared.reaper_socket)
    served.own(shared.directory)
    served.own(str(shared.file))
    in_shared = served.spawn(SLEEPER, name="n", label="shared-1", log_path=log)

    orphan = register("orphan-1", False)
    lost = Reaper.start()
    in_orphan = lost.spawn(SLEEPER, name="n", label="orphan-1", log_path=log)
    parent = psutil.Process(in_orphan.pid).parent()
    assert parent is not None
    os.kill(parent.pid, signal.SIGKILL)  # the reaper itself

    bystander = Reaper.start()
    other = bystander.spawn(SLEEPER, name="n", label="other-1", log_path=log)
    stranger = places.temporary_area() / "not-ours"
    stranger.mkdir()

    removed = registry.down(everything=True)
    assert "cluster shared-1" in removed
    assert f"process {in_orphan.pid}" in removed
    owner = f"the open notebook or program {os.getpid()}"
    assert f"cluster orphan-1, which belongs to {owner}" in removed
    assert f"directory {orphan.directory}" in removed
    for pid in (in_shared.pid, in_orphan.pid):
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie"
    assert not Path(shared.directory).exists()
    assert not Path(orphan.directory).exists()
    assert registry.registrations() == []
    assert other.state() == "running"
    assert stranger.exists()
    bystander.end()
    assert registry.down() == []


def test_down_leaves_the_clusters_of_open_programs_alone(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    mine = register("mine-1", False)
    held = Reaper.start()
    node = held.spawn(SLEEPER, name="n", label="mine-1", log_path=log)
    shared = register("shared-1", True)
    served = Reaper.start_shared(shared.reaper_socket)
    served.own(shared.directory)
    served.own(str(shared.file))
    with subprocess.Popen(SLEEPER) as gone:
        gone.kill()
    left = replace(register("left-1", False), owner_pid=gone.pid)
    left.save()
    starting = registry.labelled_directory("starting-1")

    removed = registry.down()
    assert "cluster shared-1" in removed
    assert f"directory {left.directory}" in removed
    assert not any("mine-1" in line or "starting-1" in line for line in removed)
    assert node.state() == "running"
    assert Path(mine.directory).exists()
    assert starting.exists(), "a cluster that is starting is not registered yet"
    assert registry.registrations() == [mine] == registry.of_open_programs()
    held.end()


def test_a_shared_cluster_is_found_only_while_its_reaper_answers() -> None:
    registration = register("local-1", True)
    register("local-2", False)
    assert registry.shared("local") is None
    assert [registry.is_up(each) for each in registry.registrations()] == [False, True]
    reaper = Reaper.start_shared(registration.reaper_socket)
    assert registry.shared("local") == registration
    assert registry.shared("engine") is None
    reaper.end()
    assert registry.shared("local") is None


def test_a_lease_has_one_holder_until_it_is_released() -> None:
    first, second = registry.Lease("x"), registry.Lease("x")
    first.take()
    first.take()
    with pytest.raises(LeaseTaken, match="Another notebook"):
        second.take()
    first.release()
    second.take()
    second.release()


def test_a_garbled_registration_is_passed_over() -> None:
    registration = register("local-1", True)
    registration.file.with_name("garbled.json").write_text("{")
    assert registry.registrations() == [registration]


def test_a_cluster_that_has_ended_says_so(tmp_path: Path) -> None:
    registration = register("local-1", False)
    ports = dict.fromkeys((100, 101, 102, 103), 1)
    reaper = Reaper.start()
    provider = LocalProvider(registration, reaper, Plan("id", ports, ports, ports))
    assert provider.nodes()[101].state == "stopped"
    reaper.end()
    with pytest.raises(ClusterError, match="start another"):
        provider.nodes()


def test_free_ports_are_distinct_and_below_the_ephemeral_ones() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert max(ports) < 32_768


def test_a_temporary_folder_with_too_long_a_name_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    longest = tmp_path / ("x" * 100)
    longest.mkdir()
    monkeypatch.setattr(places.tempfile, "tempdir", str(longest))
    with pytest.raises(places.PathTooLong, match="set TMPDIR to a shorter one"):
        registry.labelled_directory("local-1")
    assert list(longest.glob("*/local-1")) == []


def test_a_directory_that_cannot_be_written_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(places.Unwritable, match=r"Cannot write to .*: set XDG_STATE_HOME"):
        places.state_dir()
