"""Finds the definition that belongs to an exercise id.  Judge side only.

An id is the notebook's number or the lab's name, a dash, and a running number: "06-2",
"L1-3".  The definitions of one notebook or lab stand in one module, `nb06.py` or `l1.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from kit.course import definitions_folder
from kit.exercises.exercise import Definition


class NoSuchExercise(Exception):
    """The id names no exercise; the text says which ids there are."""


def groups() -> list[str]:
    """Notebooks and labs that have exercises, notebooks first: ["00", "06", "L1"]."""
    names = sorted(path.stem for path in definitions_folder().glob("*.py"))
    notebooks = [name.removeprefix("nb") for name in names if name.startswith("nb")]
    return notebooks + [name.upper() for name in names if not name.startswith(("nb", "_"))]


def of_group(group: str) -> tuple[Definition, ...]:
    """The definitions of one notebook or lab; empty where it has none."""
    name = f"nb{group}" if group.isdigit() else group.lower()
    return _exercises_in(definitions_folder() / f"{name}.py")


@cache
def _exercises_in(path: Path) -> tuple[Definition, ...]:
    spec = spec_from_file_location(f"kit.exercises.definitions.{path.stem}", path)
    if not path.exists() or spec is None or spec.loader is None:
        return ()
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(module.EXERCISES)


def everything() -> Iterator[Definition]:
    for group in groups():
        yield from of_group(group)


def find(exercise_id: str) -> Definition:
    """The definition with this id.  Raises NoSuchExercise, with the ids there are."""
    group = str(exercise_id).rpartition("-")[0]
    there = of_group(group) if group.isalnum() else ()
    for definition in there:
        if definition.id == exercise_id:
            return definition
    if there:
        raise NoSuchExercise(
            f"There is no exercise {exercise_id}; {group} has "
            f"{', '.join(definition.id for definition in there)}."
        )
    raise NoSuchExercise(
        f"There is no exercise {exercise_id}; exercises exist for {', '.join(groups())}."
    )
