"""The predictions of notebook 03: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def batches_left(seen: Observed) -> str:
    return "1 batch left" if seen["batches"] == 1 else f"{seen['batches']} batches left"


def many_batches(answer: str, seen: Observed) -> str:
    records, partitions = seen["records"], seen["partitions"]
    if answer == str(partitions):
        return (
            f"{batches_left(seen)}. Without a key the producer stays with one partition until "
            f"batch.size bytes have gone there; it does not deal them out to all {partitions}."
        )
    if answer == str(records):
        return "Records that are handed over at once travel together in a batch."
    return (
        f"{batches_left(seen)}, with {seen['records']} records for "
        f"{seen['partitions used']} of {partitions} partitions."
    )


def together(seen: Observed) -> str:
    orders, both = seen["orders"], seen["orders with both events in one partition"]
    share = both / orders
    if share > 0.95:
        return "a"
    if 0.35 < share < 0.65:
        return "b"
    return "c" if 0 < share <= 0.35 else "d" if share == 0 else ""


def key_share(seen: Observed) -> str:
    share = seen["keys that moved"] / seen["keys"]
    if not share:
        return "d"
    if share > 0.83:
        return "a"
    if not 0.35 < share < 0.65:
        return ""
    return "c" if seen["keys that moved to an old partition"] else "b"


def room(answer: str, seen: Observed) -> str:
    taken = seen["records taken"]
    wanted = seen["records that would fit by their bytes"]
    if answer == str(seen["partitions"]):
        return (
            f"send() took {taken}. There are {seen['partitions']} partitions, but no memory for "
            "a batch in each of them."
        )
    if answer.isdigit() and int(answer) > 2 * taken:
        return (
            f"send() took {taken}. Their bytes would fit {wanted} times, but each began a batch "
            f"of its own, and a batch takes {seen['batch.size']:,} bytes at once."
        )
    return (
        f"send() took {taken}: {seen['buffer.memory']:,} bytes are {taken} batches of "
        f"{seen['batch.size']:,}."
    )


def lingering(seen: Observed) -> str:
    rate, wait = seen["rate, long against short"], seen["wait, long against short"]
    if rate < 1 / 3:
        return "a"
    if rate > 3:
        return "b"
    return "d" if wait > 2 else "c"


def single_record(seen: Observed) -> str:
    share = seen["bytes of one record"] / seen["bytes of one record, none"]
    if share < 0.35:
        return "c"
    if share < 0.7:
        return "a"
    return "d" if share < 0.93 else "b"


def which_limit(seen: Observed) -> str:
    refusal = seen["refused by"]
    return {"max.request.size": "a", "nothing": "b", "max.message.bytes": "c"}.get(refusal, "")


PREDICTIONS = (
    Prediction(
        "03-1",
        "A producer with the Java client's defaults gets 60 records without a key at once, "
        "9 kB in all. batch.size is 16,384 bytes, linger.ms is 5. The topic has six partitions. "
        "How many batches leave the producer?",
        form="a number",
        tempting="6",
        settle=lambda seen: seen["batches"],
        explain=many_batches,
    ),
    Prediction(
        "03-2",
        "300 orders, and the order id is the key of every event. A Java service writes `prepared`, "
        "a Python service writes `shipped`, each with its client's default partitioner. The topic "
        "has six partitions. Of how many orders are both events in one partition?",
        ("of all 300: the same key has the same partition",
         "of about 150",
         "of about 50",
         "of none"),
        tempting="a",
        settle=together,
        because={
            "a": "{orders with both events in one partition} of {orders}. The client hashes the "
            "key, and the two clients do not use the same hash.",
            "b": "{orders with both events in one partition} of {orders}. Two independent hashes "
            "meet in one of {partitions} partitions.",
            "c": "{orders with both events in one partition} of {orders}, with {partitions} "
            "partitions.",
            "d": "{orders with both events in one partition} of {orders}: two hashes that have "
            "nothing to do with each other still meet by chance.",
        },
    ),
    Prediction(
        "03-3",
        "A topic has four partitions, and 400 keys have written to it. You double it to eight, "
        "and the same 400 keys write again, through a new producer. How many of them write to "
        "another partition than before?",
        ("about 350: with eight partitions, seven of eight keys get another one",
         "about 200, all of them to new partitions",
         "about 200, some to new and some to old partitions",
         "none: a key keeps its partition, new keys use the new ones"),
        tempting="a",
        settle=key_share,
        because={
            "": "{keys that moved} of {keys} moved; {keys that moved to an old partition} of them "
            "to an old partition. With these counts none of the choices is near.",
            "a": "{keys that moved} of {keys} moved. A remainder by eight is the remainder by "
            "four, or four more.",
            "b": "{keys that moved} of {keys} moved.",
            "c": "{keys that moved to an old partition} of {keys that moved} keys that moved went "
            "to an old partition.",
            "d": "{keys that moved} of {keys} moved. No client remembers where a key went; it "
            "computes the partition from the key and the number of partitions.",
        },
    ),
    Prediction(
        "03-4",
        "buffer.memory is 65,536 bytes, batch.size is 16,384. The brokers do not answer. The "
        "application hands over records of 100 bytes, each for another of twelve partitions. How "
        "many does send() take before it blocks?",
        form="a number",
        tempting="12",
        settle=lambda seen: seen["records taken"],
        explain=room,
    ),
    Prediction(
        "03-5",
        "Two loads on one partition: a producer that sends 100-byte records as fast as it can, "
        "and a lone record now and then. batch.size is 16,000 bytes. You raise linger.ms from 5 to "
        "100. What happens?",
        ("the rate falls to a tenth, and a lone record waits 100 ms",
         "the rate rises several times, and a lone record waits 100 ms",
         "nothing changes for either: batch.size decides",
         "the rate stays about the same, and a lone record waits 100 ms"),
        tempting="b",
        settle=lingering,
        because={
            "a": "The rate is {rate, long against short:.2f} times what it was, and the wait of a "
            "lone record {wait, long against short:.0f} times. A full batch does not wait for "
            "linger.ms.",
            "b": "The rate is {rate, long against short:.2f} times what it was, and the wait of a "
            "lone record {wait, long against short:.0f} times. Flat out, batches were full before.",
            "c": "The rate is {rate, long against short:.2f} times what it was, but the wait of a "
            "lone record {wait, long against short:.0f} times: its batch is never full.",
            "d": "The rate is {rate, long against short:.2f} times what it was, and the wait of a "
            "lone record {wait, long against short:.1f} times.",
        },
    ),
    Prediction(
        "03-6",
        "A truck's position is a JSON record of about 140 bytes. A thousand of them in one batch "
        "shrink to a sixth with gzip. How many bytes does a batch with one such record take in "
        "the log with gzip, compared with the same batch without a codec?",
        ("about half",
         "about as many, or more",
         "about a sixth, too",
         "about three quarters"),
        tempting="c",
        settle=single_record,
        because={
            "a": "{bytes of one record} bytes, against {bytes of one record, none} without a "
            "codec.",
            "b": "{bytes of one record} bytes, against {bytes of one record, none} without a "
            "codec.",
            "c": "{bytes of one record} bytes, against {bytes of one record, none} without a "
            "codec. What repeats are the field names, and one record has each of them once.",
            "d": "{bytes of one record} bytes, against {bytes of one record, none} without a "
            "codec. The header of 61 bytes is never compressed, and gzip adds 18 of its own.",
        },
    ),
    Prediction(
        "03-7",
        "A record of 1.5 MB of text; gzip makes about 360 kB of it. The producer has "
        "compression.type=gzip and, as by default, max.request.size=1,048,576. The topic has "
        "max.message.bytes=1,048,588. What happens to the record?",
        ("the producer refuses it: max.request.size",
         "it is stored: the batch is far below both limits",
         "the broker refuses it: max.message.bytes",
         "it is stored, and no consumer can read it: max.partition.fetch.bytes is 1,048,576"),
        tempting="b",
        settle=which_limit,
        because={
            "a": "It was refused by: {refused by}. The batch had {bytes in the log} bytes in the "
            "log.",
            "b": "It was refused by: {refused by}. The client compares the size before "
            "compression: it does not know yet how small the batch will be.",
            "c": "It was refused by: {refused by}. The topic's limit counts the batch after "
            "compression.",
            "d": "It was refused by: {refused by}. A consumer's limits are no limits for one "
            "record: the first batch of an answer comes whole (KIP-74).",
        },
    ),
)  # fmt: skip
