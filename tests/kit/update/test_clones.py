"""A git clone of the course goes to a new version under a learner's work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kit.cli import main
from kit.course import PROJECT
from kit.update import clone, folders, notebook_file, stamps
from kit.update.clone import CannotUpdate, update_clone

STUB, ANSWER = "def leader(isr):\n    ...", "def leader(isr):\n    return isr[0]"
NOTEBOOK = "notebooks/06-replication.ipynb"


def written(group: str, **texts: str) -> dict:
    cells = [
        {
            "cell_type": "code",
            "id": name.replace("_", "-"),
            "metadata": {"tags": ["exercise", name[9:].replace("_", "-")]}
            if name.startswith("exercise")
            else {},
            "source": text,
            "execution_count": None,
            "outputs": [],
        }
        for name, text in texts.items()
    ]
    metadata = {stamps.KEY: stamps.stamp(group, cells)}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Course", "-c", "user.email=course@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


class Course:
    """A repository and a learner's clone of it."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.mine = folder / "origin", folder / "mine"
        self.origin.mkdir()
        git(self.origin, "init", "-q", "-b", "main")
        self.publish(
            {NOTEBOOK: written("06", doorway="start()", exercise_06_4=STUB),
             "kit/code.py": "version = 1\n"}
        )  # fmt: skip
        git(folder, "clone", "-q", str(self.origin), "mine")

    def publish(self, files: dict[str, dict | str | None]) -> None:
        for name, content in files.items():
            path = self.origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            elif isinstance(content, dict):
                notebook_file.write(path, content)
            else:
                path.write_text(content)
        git(self.origin, "add", "-A")
        git(self.origin, "commit", "-q", "-m", "a version")

    def type(self, text: str, cell: str = "exercise-06-4", file: str = NOTEBOOK) -> None:
        notebook = notebook_file.read(self.mine / file)
        for each in notebook["cells"]:
            if each["id"] == cell:
                each["source"] = text
        notebook_file.write(self.mine / file, notebook)

    def texts(self, file: str = NOTEBOOK) -> dict[str, str]:
        cells = notebook_file.read(self.mine / file)["cells"]
        return {each["id"]: stamps.text_of(each) for each in cells}

    def is_at_the_newest(self) -> bool:
        return git(self.mine, "rev-parse", "HEAD") == git(self.origin, "rev-parse", "HEAD")


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "data" / "progress.json"))
    return Course(tmp_path)


def backups(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "data" / "backups").glob("*"))


def test_the_answer_is_in_the_new_notebook_and_git_pull_alone_refuses(course, tmp_path) -> None:
    course.type(ANSWER)
    course.publish({NOTEBOOK: written("06", doorway="start(brokers=3)", exercise_06_4=STUB)})
    with pytest.raises(subprocess.CalledProcessError):
        git(course.mine, "pull", "--ff-only")
    done = update_clone(course.mine)
    assert course.texts() == {"doorway": "start(brokers=3)", "exercise-06-4": ANSWER}
    assert course.is_at_the_newest()
    assert (done.commits, [str(line) for line in done.lines]) == (
        1, ["06-replication.ipynb: 1 answer carried over"],
    )  # fmt: skip
    assert done.backup is not None
    kept = notebook_file.read(done.backup / NOTEBOOK)
    assert ANSWER in [cell["source"] for cell in kept["cells"]]
    assert backups(tmp_path) == [done.backup]
    assert not (done.backup / clone.UNDER_WAY).exists()


def test_twice_is_once_and_without_news_nothing_happens(course, tmp_path) -> None:
    course.type(ANSWER)
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB)})
    update_clone(course.mine)
    before = (course.mine / NOTEBOOK).read_bytes()
    again = update_clone(course.mine)
    assert (again.commits, again.lines, again.backup) == (0, (), None)
    assert (course.mine / NOTEBOOK).read_bytes() == before
    assert len(backups(tmp_path)) == 1


def test_a_notebook_that_the_new_version_leaves_alone_is_not_touched(course) -> None:
    course.type(ANSWER)
    before = (course.mine / NOTEBOOK).read_bytes()
    course.publish({"kit/code.py": "version = 2\n"})
    done = update_clone(course.mine)
    assert (course.mine / NOTEBOOK).read_bytes() == before
    assert (done.commits, done.backup) == (1, None)


def test_a_notebook_that_has_another_file_name_now_keeps_the_work(course) -> None:
    course.type(ANSWER)
    new = written("06", doorway="start()", exercise_06_4=STUB)
    course.publish({NOTEBOOK: None, "notebooks/06-replication-and-the-isr.ipynb": new})
    done = update_clone(course.mine)
    assert not (course.mine / NOTEBOOK).exists()
    assert course.texts("notebooks/06-replication-and-the-isr.ipynb")["exercise-06-4"] == ANSWER
    assert "is 06-replication-and-the-isr.ipynb now" in str(done.lines[0])


def test_a_notebook_that_is_gone_is_kept_as_your_own(course) -> None:
    course.type(ANSWER)
    course.publish({NOTEBOOK: None})
    done = update_clone(course.mine)
    assert course.texts()["exercise-06-4"] == ANSWER
    assert "no such notebook here" in str(done.lines[0])


def test_a_new_notebook_meets_a_file_of_yours_with_its_name(course) -> None:
    own = course.mine / "notebooks" / "13-quorum.ipynb"
    notebook_file.write(own, written("", mine="my_notes = 1") | {"metadata": {}})
    course.publish({"notebooks/13-quorum.ipynb": written("13", doorway="start()")})
    update_clone(course.mine)
    texts = course.texts("notebooks/13-quorum.ipynb")
    assert texts["doorway"] == "start()"
    assert "my_notes = 1" in texts.values()


def test_broken_json_is_kept_and_the_new_notebook_is_whole(course) -> None:
    (course.mine / NOTEBOOK).write_text('{"cells": [')
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB)})
    done = update_clone(course.mine)
    assert course.texts() == {"doorway": "start(3)", "exercise-06-4": STUB}
    assert "its JSON is broken. It is kept as" in str(done.lines[0])
    assert done.backup is not None
    assert (done.backup / NOTEBOOK).read_text() == '{"cells": ['


def test_jupyters_checkpoint_stands_in_for_a_broken_file(course) -> None:
    course.type(ANSWER)
    whole = (course.mine / NOTEBOOK).read_bytes()
    kept = course.mine / "notebooks" / ".ipynb_checkpoints" / "06-replication-checkpoint.ipynb"
    kept.parent.mkdir()
    kept.write_bytes(whole)
    (course.mine / NOTEBOOK).write_bytes(whole[:100])
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB),
                    ".gitignore": ".ipynb_checkpoints/\n"})  # fmt: skip
    done = update_clone(course.mine)
    assert course.texts() == {"doorway": "start(3)", "exercise-06-4": ANSWER}
    assert "This is what JupyterLab had kept of it on" in str(done.lines[0])


def test_the_conflict_of_a_stash_that_you_popped_is_mended(course) -> None:
    course.type(ANSWER)
    new = written(
        "06", doorway="start(brokers=3)", exercise_06_4="def leader(isr, alive):\n    ..."
    )
    course.publish({NOTEBOOK: new})
    git(course.mine, "stash")
    git(course.mine, "pull", "-q", "--ff-only")
    with pytest.raises(subprocess.CalledProcessError):
        git(course.mine, "stash", "pop")
    assert "<<<<<<<" in (course.mine / NOTEBOOK).read_text()
    done = update_clone(course.mine)
    assert course.texts()["doorway"] == "start(brokers=3)"
    assert course.texts()["exercise-06-4"] == ANSWER
    assert "06-4 has changed" in str(done.lines[0])
    assert git(course.mine, "diff", "--name-only", "--diff-filter=U") == ""


@pytest.mark.parametrize("moment", ["_set_aside", "_git merge", "carry_folder"])
def test_an_update_that_was_broken_off_goes_on(course, monkeypatch, moment) -> None:
    """The power fails right after the backup, right before the pull, and right before the cells."""
    course.type(ANSWER)
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB)})
    real_git, real_aside = clone._git, clone._set_aside

    def power_fails(*_, **__):
        raise KeyboardInterrupt

    def git_fails(root, *arguments, **more):
        return power_fails() if arguments[0] == "merge" else real_git(root, *arguments, **more)

    def aside_fails(*arguments):
        real_aside(*arguments)
        power_fails()

    with monkeypatch.context() as patch:
        replacement = {"_set_aside": aside_fails, "_git merge": git_fails}.get(moment, power_fails)
        patch.setattr(clone, moment.split()[0], replacement)
        with pytest.raises(KeyboardInterrupt):
            update_clone(course.mine)
    update_clone(course.mine)
    assert course.texts() == {"doorway": "start(3)", "exercise-06-4": ANSWER}
    assert course.is_at_the_newest()


def test_what_git_cannot_do_leaves_everything_as_it_was(course, monkeypatch, tmp_path) -> None:
    course.type(ANSWER)
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB)})
    before = (course.mine / NOTEBOOK).read_bytes()
    real = clone._git

    def refuses(root, *arguments, **more):
        if arguments[0] == "merge":
            raise CannotUpdate("git could not go on (disk full).")
        return real(root, *arguments, **more)

    monkeypatch.setattr(clone, "_git", refuses)
    with pytest.raises(CannotUpdate, match="disk full"):
        update_clone(course.mine)
    assert (course.mine / NOTEBOOK).read_bytes() == before
    assert not list(tmp_path.glob(f"data/backups/*/{clone.UNDER_WAY}"))


def test_other_files_of_yours_that_the_new_version_changes_are_named(course) -> None:
    (course.mine / "kit" / "code.py").write_text("version = 'mine'\n")
    course.type(ANSWER)
    course.publish({"kit/code.py": "version = 2\n",
                    NOTEBOOK: written("06", doorway="x", exercise_06_4=STUB)})  # fmt: skip
    with pytest.raises(CannotUpdate, match=r"the same files: kit/code.py\. .*git stash"):
        update_clone(course.mine)
    assert course.texts()["exercise-06-4"] == ANSWER


def test_a_clone_with_commits_of_its_own_gets_the_way_round(course, tmp_path) -> None:
    course.type(ANSWER)
    git(course.mine, "commit", "-q", "-a", "-m", "my answers")
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB)})
    with pytest.raises(CannotUpdate, match=r"1 commit of its own\. Clone the new version beside"):
        update_clone(course.mine)
    git(tmp_path, "clone", "-q", str(course.origin), "second")
    lines = folders.carry_folder(course.mine, tmp_path / "second", folders.new_backup())
    assert [str(line) for line in lines] == ["06-replication.ipynb: 1 answer carried over"]
    course.mine = tmp_path / "second"
    assert course.texts() == {"doorway": "start(3)", "exercise-06-4": ANSWER}


def test_a_folder_without_git_and_one_without_notebooks_get_a_sentence(course, tmp_path) -> None:
    with pytest.raises(CannotUpdate, match=r"no git clone\. Unpack the new version beside it"):
        update_clone(tmp_path)
    with pytest.raises(folders.NothingToCarry, match="has no notebooks of the course"):
        folders.carry_folder(tmp_path / "data", course.mine, folders.new_backup())


def test_an_open_jupyterlab_is_named_and_nothing_is_touched(course, monkeypatch, capsys) -> None:
    """Its next save would write the old notebook over the new one."""
    monkeypatch.setenv("KAFKALAB_COURSE", str(course.mine))
    server = {"root_dir": str(course.mine), "url": "http://127.0.0.1:8888/"}
    monkeypatch.setattr("jupyter_server.serverapp.list_running_servers", lambda: [server])
    course.type(ANSWER)
    course.publish({NOTEBOOK: written("06", doorway="start(3)", exercise_06_4=STUB)})
    assert main(["update"]) == 1
    assert "JupyterLab is open on these notebooks (http://127.0.0.1" in capsys.readouterr().err
    assert not course.is_at_the_newest()
    assert main(["update", "--anyway"]) == 0
    assert "1 commit came." in capsys.readouterr().out
    assert course.texts() == {"doorway": "start(3)", "exercise-06-4": ANSWER}


def test_a_folder_without_work_leaves_no_empty_backup(course, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(course.mine))
    (tmp_path / "empty").mkdir()
    assert main(["update", "--anyway", str(tmp_path / "empty")]) == 1
    assert main(["update", "--anyway", str(course.mine)]) == 1
    assert backups(tmp_path) == []


def test_a_second_clone_of_this_course_takes_progress_and_answers(tmp_path, monkeypatch) -> None:
    """The real notebooks, two real clones, the real command."""
    progress = tmp_path / "data" / "progress.json"
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(progress))
    progress.parent.mkdir()
    progress.write_text(json.dumps({"version": 1, "exercises": {"00-2": {"attempts": 2}}}))
    command = ["git", "clone", "-q", "--shared", "--no-checkout", str(PROJECT), "first"]
    subprocess.run(command, cwd=tmp_path, check=True)
    first = tmp_path / "first"
    git(first, "checkout", "-q", "HEAD", "--", "notebooks")
    git(tmp_path, "clone", "-q", "--shared", "--no-checkout", str(first), "second")
    git(tmp_path / "second", "checkout", "-q", "HEAD", "--", "notebooks")
    name = "notebooks/06-replication-and-the-isr.ipynb"
    mine = notebook_file.read(first / name)
    exercise = next(c for c in mine["cells"] if c["id"] == "exercise-06-4")
    exercise["source"] = "high_watermark = min"
    notebook_file.write(first / name, mine)
    command = [sys.executable, "-m", "kit.cli", "update", str(first)]
    environment = {"KAFKALAB_COURSE": str(tmp_path / "second"), "PYTHONPATH": str(PROJECT),
                   "KAFKALAB_PROGRESS": str(progress), "HOME": str(tmp_path)}  # fmt: skip
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "06-replication-and-the-isr.ipynb: 1 answer carried over\n"
    carried = notebook_file.read(tmp_path / "second" / name)
    assert carried == mine
    assert json.loads(progress.read_text())["exercises"] == {"00-2": {"attempts": 2}}
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert again.stdout == f"Nothing in {first} is missing here.\n"
