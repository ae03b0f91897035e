"""Finds the definition that belongs to an exercise id.  Judge side only.

An id is the notebook's number or the lab's name, a dash, and a running number: "06-2",
"L1-3".  The definitions of one notebook or lab are in its own folder's `exercises`.  No
module imports them; this one loads them by the name of the folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from kit.course import group_of, slice_of, source_files, source_of
from kit.exercises.exercise import Definition


class NoSuchExercise(Exception):
    """The id names no exercise; the text says which ids there are."""


def groups() -> list[str]:
    """Notebooks and labs that have exercises, notebooks first: ["00", "06", "L1"]."""
    return [group_of(source) for source in source_files() if _exercises(source).exists()]


def of_group(group: str) -> tuple[Definition, ...]:
    """The definitions of one notebook or lab; empty where it has none."""
    source = source_of(group)
    return _exercises_in(_exercises(source)) if source else ()


def _exercises(source: Path) -> Path:
    return slice_of(source) / "exercises" / "__init__.py"


@cache
def _exercises_in(file: Path) -> tuple[Definition, ...]:
    folder = file.parent
    name = ".".join(folder.parts[-3:])  # lessons.nb06_replication.exercises
    spec = spec_from_file_location(name, file, submodule_search_locations=[str(folder)])
    if not file.exists() or spec is None or spec.loader is None:
        return ()
    module = module_from_spec(spec)
    sys.modules[name] = module  # under its name, so that its own modules are found
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
