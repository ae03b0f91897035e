"""The predictions of notebook 12: what each key run observes, and what it makes right."""

from __future__ import annotations

from collections.abc import Callable

from kit.exercises.exercise import Observed, Prediction

TOMBSTONE = "a tombstone"


def by_size(answer: str, seen: Observed) -> str:
    first, left, limit = (
        seen[name] for name in ("first offset that a consumer gets", "bytes left", "limit")
    )
    if answer.isdigit() and int(answer) > first:
        return (
            f"It is {first}, and {left} bytes are left: more than the limit of {limit}. A segment "
            "goes only if the others still hold the limit."
        )
    return (
        f"It is {first}. Whole segments go, the oldest first, while the others still hold {limit} "
        f"bytes: {left} are left."
    )


def by_time(answer: str, seen: Observed) -> str:
    first, end, old = seen["first offset"], seen["end of the log"], seen["older than an hour"]
    if first == end:
        return f"It is {first}: every segment was old, so all went, the active one too."
    if answer in (str(end), str(end - 1)):
        return (
            f"It is {first}. Deletion stops at the first segment that has a young record, and "
            "what comes after that segment stays, too."
        )
    if answer == "0" and first:
        return f"It is {first}: both records of the oldest segment are too old, so it went, whole."
    if answer == "3":
        return f"It is {first}. No single record is deleted: its segment stays, or goes, whole."
    return f"It is {first}, and {old} records that are older than the limit are still there."


def table_by_the_loop(seen: Observed) -> str:
    names = {each.partition("=")[0] for each in seen["the table by the loop"]}
    found = {"a": {"anna", "carl"}, "b": {"anna", "bert", "carl"}, "c": {"anna", "bert"}}
    return next((letter for letter, there in found.items() if there == names), "")


def offsets_left(answer: str, seen: Observed) -> str:
    left, active = seen["offsets left"], seen["active segment from"]
    given = [int(each) for each in answer.split() if each.isdigit()]
    shown = " ".join(map(str, left))
    if not given:
        return f"It is {shown}: the offsets that are left, as numbers."
    if len(given) > 1 and given == list(range(len(given))):
        return f"It is {shown}: offsets never change. A consumer goes on behind a gap."
    if sorted(given) == left:
        return f"It is {shown}: those, in the order of the log, which no pass changes."
    if any(each >= active for each in set(left) - set(given)):
        return f"It is {shown}. The active segment begins at {active}: no pass touches it."
    if set(given) < set(left):
        return (
            f"It is {shown}. The active segment begins at {active}: the pass does not look into "
            "it, and does not know that it replaces an earlier record."
        )
    return f"It is {shown}: below {active} the last record of each key, and all from there on."


def segments_that_bring_a_pass(seen: Observed) -> object:
    """How many there had to be; `none` if the second pass did not come."""
    return seen["dirty segments"] if seen["passes"] == 2 else "none"


def segments_until(answer: str, seen: Observed) -> str:
    dirty, clean, ratio = seen["dirty segments"], seen["clean"], seen["ratio"]
    if not seen["passes"]:
        return (
            "No pass came at all. Only closed segments count; and where all of them are dirty, "
            f"the ratio is 1, and it has to be above {ratio}."
        )
    if seen["passes"] == 1:
        return (
            f"The cleaner had not begun when this run ended: {dirty} of {dirty + clean} segments "
            f"are a ratio of {dirty / (dirty + clean):.2f}, and it has to be above {ratio}."
        )
    if answer == str(dirty - 1):
        return (
            f"{dirty}: {dirty - 1} dirty segments beside {clean} clean ones are a ratio of "
            f"{(dirty - 1) / (dirty - 1 + clean):.2f}, and it has to be above {ratio}."
        )
    return (
        f"{dirty}: the dirty bytes are divided by all bytes, and {dirty} of {dirty + clean} "
        f"segments were above {ratio}. The active segment does not count."
    )


def of_the_deleted_key(seen: Observed) -> str:
    found = seen["of bert, after one pass"]
    if not found:
        return "c"
    if found == [TOMBSTONE]:
        return "b"
    return "a" if found[-1] == TOMBSTONE else "d"


def got(records: list[str]) -> str:
    return ", then ".join(records) or "no record"


def kept_first(seen: Observed) -> str:
    once, twice = got(seen["of bert, after one pass"]), got(seen["of bert, after another"])
    return (
        f"After one pass it got {once}, after another {twice}. The first pass that keeps a "
        "tombstone starts its clock."
    )


def after_one_pass(why: str) -> Callable[[Observed], str]:
    return lambda seen: f"It got {got(seen['of bert, after one pass'])}{why}."


def records_read(answer: str, seen: Observed) -> str:
    read, tail, users = (
        seen[name]
        for name in (
            "records that the new service reads",
            "of them in the active segment",
            "users",
        )
    )
    if answer == str(users):
        return (
            f"{read}: one for each of {users} users, and the {tail} of the active segment, which "
            "no pass touches."
        )
    if answer == str(seen["records written"]):
        return f"{read}: the cleaner had removed what was replaced in closed segments."
    return f"{read}: of the closed segments one record for each user, and {tail} of the active one."


def after_the_crashes(seen: Observed) -> str:
    leader, other = seen["the leader holds"], seen["101 holds"]
    if leader != other:
        return "c"
    return "b" if leader.startswith("A") else "a"


PREDICTIONS = (
    Prediction(
        "12-1",
        "20 records of 170 bytes, four in a segment: 3,400 bytes. retention.bytes is set to "
        "1,500. What is the first offset that a consumer can read afterwards?",
        form="an offset",
        tempting="12",
        settle=lambda seen: seen["first offset that a consumer gets"],
        explain=by_size,
    ),
    Prediction(
        "12-2",
        "The records at offsets 0 to 8 are 300, 290 | 280, 5 | 200, 190 | 180, 170 | 160 minutes "
        "old; a bar ends a segment. retention.ms is an hour. What is the first offset of the log "
        "after the next check?",
        form="an offset",
        tempting="3",
        settle=lambda seen: seen["first offset"],
        explain=by_time,
    ),
    Prediction(
        "12-13",
        "The topic has anna=Rome, bert=Oslo, carl with an empty value, and bert's tombstone. The "
        "loop in the next cell reads all four. Who is in its table?",
        ("anna and carl",
         "anna, bert and carl",
         "anna and bert",
         "it ends with an exception at the tombstone"),
        tempting="a",
        settle=table_by_the_loop,
        because={
            "": "The loop made {the table by the loop}, and none of the choices says that.",
            "a": "The loop made {the table by the loop}. It treated two of the records as no "
            "message.",
            "b": lambda seen: (
                f"The loop made {', '.join(seen['the table by the loop'])}. "
                + ("It treated two of the records as no message."
                   if "carl=" not in seen["the table by the loop"]
                   else "It saw the tombstone, so bert is gone.")
            ),
            "c": "The loop made {the table by the loop}; the log says {the table}.",
            "d": "There was none: the loop made {the table by the loop}.",
        },
    ),
    Prediction(
        "12-3",
        "Segments of two records: a=1 b=1 | a=2 c=1 | b=2 a=3 | d=1 d=2 | c=2. The last one is "
        "active. The topic is compacted. Which offsets does a consumer get from the beginning?",
        form="a list of offsets, such as 0 2 7",
        tempting="4 5 7 8",
        settle=lambda seen: seen["offsets left"],
        explain=offsets_left,
    ),
    Prediction(
        "12-4",
        "Four clean segments, and min.cleanable.dirty.ratio is 0.5. All closed segments have the "
        "same size. How many dirty segments must there be before the cleaner begins?",
        form="a number",
        tempting="4",
        settle=segments_that_bring_a_pass,
        explain=segments_until,
    ),
    Prediction(
        "12-5",
        "delete.retention.ms is 0. The cleaner passes once over bert=Oslo and the tombstone that "
        "deletes bert. What does a consumer that reads from the beginning get for bert?",
        ("Oslo, and then the tombstone",
         "the tombstone alone",
         "nothing: the value and the tombstone are gone",
         "Oslo: a tombstone takes effect when the next pass comes"),
        tempting="c",
        settle=of_the_deleted_key,
        because={
            "a": after_one_pass(
                ": the tombstone is the last record of its key, so the value was replaced, as by "
                "any other record"
            ),
            "b": after_one_pass(""),
            "c": kept_first,
            "d": after_one_pass(": the pass removes the value at once"),
        },
    ),
    Prediction(
        "12-6",
        "Five users, 300 changes in turn, 20 records in a segment; the topic is compacted, and "
        "the cleaner has finished. How many records does the new service read?",
        form="a number",
        tempting="5",
        settle=lambda seen: seen["records that the new service reads"],
        explain=records_read,
    ),
    Prediction(
        "12-7",
        "The leader is back, 101 has joined the ISR, and both are healthy. What do they hold "
        "below offset 10?",
        ("nothing: the deletion was answered, so it is on the leader's disk",
         "the deleted records, and both the same: A to F, and G to J",
         "the deleted records, and not the same: one has x, y, z where the other has G, H, I",
         "101 has none of them, since it follows the leader's log start, and the leader has all"),
        tempting="b",
        settle=after_the_crashes,
        because={
            "a": "The leader holds {the leader holds}. The new log start was in its memory, and "
            "is written down once a minute.",
            "b": "The leader holds {the leader holds}, and 101 {101 holds}. The epochs that would "
            "make 101 cut its x, y, z were deleted from the leader's disk, and stayed deleted.",
            "c": "The leader holds {the leader holds}, and 101 {101 holds}.",
            "d": "101 holds {101 holds}: the leader's log starts at its beginning again.",
        },
    ),
)  # fmt: skip
