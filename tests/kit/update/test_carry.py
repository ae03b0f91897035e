"""A learner's cells in a new version of a notebook: nothing that was typed is lost."""

from __future__ import annotations

import copy

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.update import stamps
from kit.update.carry import carry, is_pristine

STUB = "def high_watermark(ends, isr):\n    ..."
ANSWER = "def high_watermark(ends, isr):\n    return min(ends[each] for each in isr)"
BASE = {
    "c-1": "# Replication",
    "doorway": "from kit import lab",
    "acks": "acks, victim = 'all', 101\nrun(acks, victim)",
    "c-2": "Now your turn.",
    "exercise-06-4": STUB,
    "check-06-4": "lab.check('06-4', high_watermark)",
}


def cell(name: str, text: str, **more) -> dict:
    is_prose = name.startswith(("c-", "note"))
    tags = ["exercise", name.removeprefix("exercise-")] if name.startswith("exercise") else []
    found = {
        "cell_type": "markdown" if is_prose else "code",
        "id": name,
        "metadata": {"tags": tags} if tags else {},
        "source": text,
    }
    return found | ({} if is_prose else {"execution_count": None, "outputs": []}) | more


def published(texts: dict[str, str]) -> dict:
    """A notebook as the course writes it."""
    cells = [cell(name, text) for name, text in texts.items()]
    metadata = {stamps.KEY: stamps.stamp("06", cells)}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def typed(notebook: dict, **texts: str) -> dict:
    """The notebook after a learner wrote over cells; a dash in an id is an underscore here."""
    changed = copy.deepcopy(notebook)
    for each in changed["cells"]:
        each["source"] = texts.get(each["id"].replace("-", "_"), each["source"])
    return changed


def texts(notebook: dict) -> list[str]:
    return [each["source"] for each in notebook["cells"]]


def ids(notebook: dict) -> list[str]:
    return [each["id"] for each in notebook["cells"]]


def test_an_answer_stays_and_the_prose_around_it_is_new() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    new = published({"c-9": "# Replication, second edition"} | {k: BASE[k] for k in [*BASE][1:]})
    carried = carry(mine, new)
    assert ids(carried.notebook) == ids(new)
    assert texts(carried.notebook)[0] == "# Replication, second edition"
    assert texts(carried.notebook)[4] == ANSWER
    assert (carried.answers, carried.changed, carried.own, carried.remarks) == (1, 0, 0, [])


def test_a_changed_stub_stands_below_the_answer_that_was_there() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    carried = carry(mine, published(BASE | {"exercise-06-4": "def high_watermark(ends): ..."}))
    at = ids(carried.notebook).index("exercise-06-4")
    assert texts(carried.notebook)[at] == ANSWER
    below = carried.notebook["cells"][at + 1]
    assert below["cell_type"] == "markdown"
    assert "The new beginning of 06-4" in below["source"]
    assert "def high_watermark(ends): ..." in below["source"]
    assert "The exercise 06-4 has changed" in carried.remarks[0]


def test_a_changed_stub_without_an_answer_is_the_new_one() -> None:
    carried = carry(published(BASE), published(BASE | {"exercise-06-4": "def other(): ..."}))
    assert texts(carried.notebook)[4] == "def other(): ..."
    assert carried.remarks == []


def test_a_value_that_you_changed_stays_where_the_course_changed_nothing() -> None:
    mine = typed(published(BASE), acks="acks, victim = '1', 101\nrun(acks, victim)")
    carried = carry(mine, published(BASE))
    assert texts(carried.notebook) == texts(mine)
    assert carried.changed == 1


def test_where_both_changed_a_run_the_new_one_runs_and_yours_is_text() -> None:
    mine = typed(published(BASE), acks="acks, victim = '1', 103\nrun(acks, victim)")
    carried = carry(mine, published(BASE | {"acks": "run(acks='all', victim=101)"}))
    at = ids(carried.notebook).index("acks")
    assert texts(carried.notebook)[at] == "run(acks='all', victim=101)"
    assert "acks, victim = '1', 103" in texts(carried.notebook)[at + 1]
    assert carried.notebook["cells"][at + 1]["cell_type"] == "markdown"


def test_an_answer_to_an_exercise_that_is_gone_is_kept_as_text() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    new = published({name: BASE[name] for name in ("c-1", "doorway", "acks", "c-2")})
    carried = carry(mine, new)
    assert ids(carried.notebook)[:4] == ids(new)
    assert ANSWER in texts(carried.notebook)[4]
    assert "no longer has the exercise 06-4" in carried.remarks[0]


def test_an_untouched_cell_that_is_gone_goes() -> None:
    new = published({name: text for name, text in BASE.items() if name != "acks"})
    carried = carry(published(BASE), new)
    assert carried.notebook == new


def test_a_renamed_exercise_takes_its_answer_with_it() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    new = {name.replace("06-4", "06-16"): text for name, text in BASE.items()}
    carried = carry(mine, published(new))
    assert ids(carried.notebook) == [*new]
    assert texts(carried.notebook)[4] == ANSWER
    assert carried.remarks == ["06-4 is 06-16 now. Your text is there."]


def test_cells_of_your_own_stay_behind_the_cell_that_they_stood_behind() -> None:
    mine = published(BASE)
    mine["cells"].insert(3, cell("note-1", "Remember: *this one* again before the exam."))
    mine["cells"].insert(0, cell("mine-2", "import antigravity"))
    mine["cells"].append(cell("mine-3", "   "))
    new = published({"c-0": "News"} | BASE)
    carried = carry(mine, new)
    assert ids(carried.notebook) == ["mine-2", "c-0", "c-1", "doorway", "acks", "note-1",
                                     "c-2", "exercise-06-4", "check-06-4"]  # fmt: skip
    assert carried.own == 2


def test_a_second_cell_with_an_id_of_the_course_is_your_own() -> None:
    mine = typed(published(BASE), acks="run('0', 102)")
    mine["cells"].append(cell("acks", "run('1', 103)"))
    carried = carry(mine, published(BASE))
    assert "run('0', 102)" in texts(carried.notebook)
    assert "run('1', 103)" in texts(carried.notebook)
    assert len(set(ids(carried.notebook))) == len(ids(carried.notebook))


def test_what_you_deleted_is_there_again() -> None:
    mine = published(BASE)
    del mine["cells"][2:4]
    carried = carry(mine, published(BASE))
    assert ids(carried.notebook) == [*BASE]
    assert carried.remarks == ["2 cells that you had deleted are there again."]


def test_moved_cells_go_back_to_the_courses_order() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    mine["cells"].reverse()
    carried = carry(mine, published(BASE))
    assert ids(carried.notebook) == [*BASE]
    assert ANSWER in texts(carried.notebook)


def test_outputs_stay_with_a_text_that_stays() -> None:
    printed = [{"output_type": "stream", "name": "stdout", "text": "5\n"}]
    mine = published(BASE)
    for each in mine["cells"]:
        if each["cell_type"] == "code":
            each |= {"outputs": printed, "execution_count": 3}
    carried = carry(mine, published(BASE | {"acks": "run('all')"}))
    shown = {each["id"]: each.get("outputs") for each in carried.notebook["cells"]}
    assert shown["doorway"] == shown["exercise-06-4"] == printed
    assert shown["acks"] == []


def test_a_cell_emptied_is_no_answer() -> None:
    mine = typed(published(BASE), exercise_06_4="  \n")
    assert texts(carry(mine, published(BASE)).notebook)[4] == STUB


def test_a_new_folder_with_work_of_its_own_keeps_it() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    here = typed(published(BASE), exercise_06_4="high_watermark = min")
    carried = carry(mine, here)
    assert texts(carried.notebook)[4] == "high_watermark = min"
    assert ANSWER in texts(carried.notebook)[5]
    assert "06-4 has your work here, too" in carried.remarks[0]


def test_a_file_whose_editor_lost_ids_and_stamp_keeps_its_answers() -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    mine["metadata"] = {}
    for each in mine["cells"]:
        del each["id"]
        each["source"] = each["source"].splitlines(keepends=True)
    carried = carry(mine, published(BASE))
    assert ids(carried.notebook) == [*BASE]
    assert texts(carried.notebook)[4] == ANSWER


def test_fences_and_surrogates_in_a_text_do_no_harm() -> None:
    mine = typed(published(BASE), acks="'''\n````\n'''  # \ud800")
    carried = carry(mine, published(BASE | {"acks": "run()"}))
    kept = texts(carried.notebook)[3]
    assert kept.count("`````") == 2


def test_a_kept_text_is_a_valid_notebook() -> None:
    mine = typed(published(BASE), acks="run(1)", exercise_06_4=ANSWER)
    mine["cells"].append(cell("note-7", "A note"))
    carried = carry(mine, published(BASE | {"acks": "run()", "exercise-06-4": "def f(): ..."}))
    nbformat.validate(nbformat.from_dict(carried.notebook))


@pytest.mark.parametrize("broken", [{"kafkalab": 7}, {"kafkalab": {"cells": [1]}}, {}])
def test_a_stamp_of_another_shape_counts_as_none(broken) -> None:
    mine = typed(published(BASE), exercise_06_4=ANSWER)
    mine["metadata"] = broken
    assert texts(carry(mine, published(BASE)).notebook)[4] == ANSWER
    assert stamps.group_of(mine) == ""


NAMES = [*BASE, "exercise-06-5", "broker-dies"]
WORDS = st.sampled_from(["", "x = 1", "run()", STUB, ANSWER, "# one\n", "text " * 3, "``` `"])
VERSION = st.lists(st.sampled_from(NAMES), unique=True).flatmap(
    lambda names: st.fixed_dictionaries(dict.fromkeys(names, WORDS))
)
EDITS = st.lists(st.tuples(st.sampled_from(["edit", "delete", "add", "move"]),
                           st.integers(0, 9), WORDS), max_size=6)  # fmt: skip


def edited(notebook: dict, edits: list[tuple[str, int, str]], when: str) -> tuple[dict, list[str]]:
    """The notebook after a learner's edits, and what was typed and is still there."""
    notebook = copy.deepcopy(notebook)
    cells = notebook["cells"]
    for number, (what, at, text) in enumerate(edits):
        here = at % (len(cells) or 1)
        text = f"{text}  # typed {when}, {number}" if text.strip() else text
        if what == "add":
            cells.insert(here, cell(f"own-{when}-{number}", text) | {"typed": True})
        elif cells and what == "edit":
            cells[here] |= {"source": text, "typed": True}
        elif cells and what == "move":
            cells.append(cells.pop(here))
        elif cells:
            del cells[here]
    course = stamps.digests_of(notebook)
    wrote = [each for each in cells if each.pop("typed", False)]
    return notebook, [
        each["source"] for each in wrote if course.get(each["id"]) != stamps.digest(each["source"])
    ]


@given(VERSION, VERSION, EDITS, EDITS)
def test_every_new_cell_is_there_in_order_and_every_text_that_you_typed(
    then, now, edits, later
) -> None:
    mine, wrote = edited(published(then), edits, "first")
    new = published(now)
    once = carry(mine, new)
    assert [name for name in ids(once.notebook) if name in now] == [*now]
    assert len(set(ids(once.notebook))) == len(ids(once.notebook))
    whole = "\n".join(texts(once.notebook))
    assert [text for text in wrote if text.strip() not in whole] == []
    assert carry(mine, once.notebook).notebook == once.notebook, "a second time changes nothing"
    # The learner goes on, and the next version comes.
    again, wrote = edited(once.notebook, later, "later")
    twice = carry(again, published(then))
    whole = "\n".join(texts(twice.notebook))
    assert [text for text in wrote if text.strip() not in whole] == []


def test_a_published_notebook_is_pristine_and_one_with_outputs_is_not() -> None:
    assert is_pristine(published(BASE))
    assert not is_pristine(typed(published(BASE), acks="run()"))
    printed = published(BASE)
    printed["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ""}]
    assert not is_pristine(printed)
