"""The predictions of notebook 02: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def one_record_more(seen: Observed) -> str:
    grown = seen["bytes that the file grows by"]
    if grown == 4_096:
        return "d"
    near = {"a": 8, "b": 20, "c": 75}
    return next((letter for letter, size in near.items() if abs(grown - size) <= 5), "")


def order_read(seen: Observed) -> str:
    parts, read = seen["numbers in each partition"], seen["numbers read"]
    if read < 2:
        return ""
    if len(parts) > 1 and all(part == read for part in parts):
        return "c"
    if seen["the whole read ascends"]:
        return "a"
    return "d" if seen["each partition ascends"] else "b"


def what_is_written(seen: Observed) -> str:
    fields = set(seen["fields that differ"])
    if not fields:
        return "d"
    if "records" in fields:
        return "c"
    if "attributes" in fields:
        return ""  # the broker's own time, which no choice has
    if "checksum" in fields:
        return "b"
    return "a" if fields == {"base offset", "leader epoch"} else ""


FEW = 20


def how_sparse(seen: Observed) -> str:
    batches, offsets, times = (
        seen[name]
        for name in ("batches", "entries of the offset index", "entries of the time index")
    )
    if offsets == 1 and batches > FEW:
        return "d"
    if offsets > 0.9 * batches:
        return "a"
    if not 0.2 < offsets / batches < 0.3:
        return ""
    return "b" if times > 0.9 * batches else "c"


def last_segment(answer: str, seen: Observed) -> str:
    files = ", ".join(seen["the .log files"])
    if answer == "0":
        return (
            f"The files are {files}. The clock that counts is that of the records: their "
            "timestamps are more than an hour apart, however fast they were sent."
        )
    if answer == str(seen["offsets"][-1]):
        return (
            f"The files are {files}. A new segment begins with a clock of its own: its age counts "
            "from its own first record."
        )
    return f"The files are {files}: a segment has the offset of its first record as its name."


def first_sent(answer: str, seen: Observed) -> str:
    if answer == str(seen["asked for"]):
        return (
            f"The answer begins with offset {seen['first offset in the answer']}. No record of a "
            "batch can be reached without the others: the client drops those below "
            f"{seen['first offset that a client hands out']}."
        )
    return (
        f"The answer begins with offset {seen['first offset in the answer']}: the batch comes "
        f"whole, {seen['bytes in the answer']} bytes of {seen['bytes in the log']} in the log."
    )


def file_after_deletion(seen: Observed) -> str:
    before, after = seen["bytes of the file, before and after"]
    if after == before:
        return "b"
    return "d" if after > before else "a" if after else "c"


PREDICTIONS = (
    Prediction(
        "02-1",
        "Five records without a key are sent, one after the other, and read. Then comes a sixth, "
        "with a value of 8 bytes. By how many bytes does the broker's file grow?",
        ("8: the value",
         "about 20: the value, its length, an offset and a time",
         "about 75",
         "4,096: a page of the disk"),
        tempting="b",
        settle=one_record_more,
        because={
            "": "It grew by {bytes that the file grows by} bytes for {bytes of one more value} "
            "bytes of value: with this value none of the choices is near.",
            "a": "It grew by {bytes that the file grows by}. A file of values alone would not say "
            "where one ends and the next begins.",
            "b": "It grew by {bytes that the file grows by}. Such a record has about 15 bytes, and "
            "it did not come alone: what is sent and stored is a batch.",
            "c": "It grew by {bytes that the file grows by}.",
            "d": "It grew by {bytes that the file grows by}. Disks have pages; in the file, the "
            "next batch begins right after it.",
        },
    ),
    Prediction(
        "02-2",
        "The numbers 0 to 99 were written to three partitions in turn, by one producer. One "
        "consumer now reads the whole topic from its beginning. Which numbers does it get, in "
        "which order?",
        ("0 to 99 in the order in which they were sent",
         "all of them, in no order that one could rely on",
         "0 to 99, three times: each partition has all of them",
         "all of them; those of one partition ascend, the whole does not"),
        tempting="a",
        settle=order_read,
        because={
            "a": "The whole read ascends: {the whole read ascends}. Offsets of "
            "different partitions cannot be compared.",
            "b": "Each partition ascends: {each partition ascends}. That one may rely on.",
            "c": "The partitions have {numbers in each partition} numbers: a topic is shared out "
            "among its partitions. Copies are replicas, and another matter.",
            "d": "Each partition ascends: {each partition ascends}; the whole: "
            "{the whole read ascends}.",
        },
    ),
    Prediction(
        "02-3",
        "A producer sends a batch of three records to a partition that has one record already. "
        "What does the broker change in the batch before it writes it to the file?",
        ("two fields of the header: the base offset and the leader epoch",
         "the base offset, the leader epoch, and so the checksum",
         "it takes the batch apart and writes each record with its offset",
         "nothing at all"),
        tempting="b",
        settle=what_is_written,
        because={
            "": "What differs: {fields that differ}. With LogAppendTime the broker puts its own "
            "time into the batch, and that is what makes it compute a new checksum.",
            "a": "What differs: {fields that differ}.",
            "b": "What differs: {fields that differ}. The checksum begins behind the two fields, "
            "so it need not be computed again.",
            "c": "What differs: {fields that differ}, {bytes that differ in the file} of "
            "{bytes sent} bytes. A record only holds its distance to the batch's base offset.",
            "d": "What differs: {fields that differ}. The producer could not know the offset.",
        },
    ),
    Prediction(
        "02-4",
        "300 records of 1,000 bytes, each in a batch of its own, with rising timestamps. "
        "index.interval.bytes is 4,096. How many entries do the two indexes have?",
        ("300 each: one for every record",
         "about 75 in .index, and 300 in .timeindex",
         "about 75 each",
         "one: where the segment begins"),
        tempting="a",
        settle=how_sparse,
        because={
            "": "{entries of the offset index} and {entries of the time index} entries for "
            "{batches} batches: with these values none of the choices is near.",
            "a": "{entries of the offset index} and {entries of the time index} entries, for "
            "{batches} batches. A broker finds a place without an entry for each record.",
            "b": "{entries of the offset index} and {entries of the time index} entries. The time "
            "index gets an entry when the offset index does.",
            "c": "{entries of the offset index} and {entries of the time index} entries, for "
            "{bytes of the log} bytes.",
            "d": "{entries of the offset index} and {entries of the time index} entries, for "
            "{bytes of the log} bytes.",
        },
    ),
    Prediction(
        "02-5",
        "segment.ms is one hour. Four records, offsets 0 to 3, are sent within a second; their "
        "timestamps are 0, 30, 90 and 120 minutes after the first. Which offset is the name of "
        "the last .log file?",
        form="an offset",
        tempting="3",
        settle=lambda seen: seen["base offset of the last"],
        explain=last_segment,
    ),
    Prediction(
        "02-6",
        "A partition has one batch with the records 0 to 399, compressed with gzip. A consumer's "
        "Fetch asks for offset 250. Which offset has the first record in the broker's answer?",
        form="an offset",
        tempting="250",
        settle=lambda seen: seen["first offset in the answer"],
        explain=first_sent,
    ),
    Prediction(
        "02-7",
        "A partition has ten records in one segment, offsets 0 to 9. A DeleteRecords request "
        "deletes those below offset 4. What happens to the .log file?",
        ("it loses its first four records",
         "nothing",
         "it is removed, and a new one begins with offset 4",
         "it grows: four tombstones are appended"),
        tempting="a",
        settle=file_after_deletion,
        because={
            "a": "Bytes before and after: {bytes of the file, before and after}. A file is cut "
            "at its end or removed; no broker takes bytes out of its front.",
            "b": "Bytes before and after: {bytes of the file, before and after}.",
            "c": "Bytes before and after: {bytes of the file, before and after}. A segment "
            "goes when all of its records may go.",
            "d": "Bytes before and after: {bytes of the file, before and after}. Tombstones "
            "belong to keys and to compaction.",
        },
    ),
)  # fmt: skip
