"""The judge's side of notebook 04: inside the broker.

The predictions and the quiz are here.  Each exercise has its own module, with its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction, Question
from lessons.nb04_broker.exercises import (
    left_purgatory,
    patient_reader,
    slow_stage,
    throttle_time,
)


def when_acknowledged(seen: Observed) -> str:
    """By how many trips over the slow link the answer took; the choices are for 40 ms."""
    if seen["answered after"] is None or seen["delay"] != 40:
        return ""
    trips = seen["answered after"] / max(seen["delay"], 5)
    return "a" if trips < 0.7 else "b" if trips < 1.5 else "c" if trips < 5 else "d"


def what_ends_the_wait(seen: Observed) -> str:
    if seen["the fetches with a replica id"] != "NONE":
        return "c"
    if seen["then the write is acknowledged"] and seen["and a consumer sees the record"]:
        return "d"
    return "" if seen["then the write is acknowledged"] else "a"


READERS = ("without writes", "from a stream", "with fetch-min-bytes")


ENOUGH = 45
"""Records of 1 kB, with their headers, are 50,000 bytes."""


def how_often(seen: Observed) -> str:
    """Which of the choices the three rates fit.

    A busy machine lowers every rate, so what the third reader got shows what ended its wait.
    """
    quiet, stream, patient = (seen[f"fetches {reader}"] for reader in READERS)
    if quiet > 100:
        return "d"
    if quiet < 0.3:
        return "a"
    if quiet > 2.8 or patient > 2.8 or stream < 3 * patient:
        return ""
    return "b" if seen["one with fetch-min-bytes brings"] >= ENOUGH else "c"


def how_long_in_the_queue(seen: Observed) -> str:
    wait = seen["wait"]
    return "a" if wait < 0.3 else "b" if wait < 1.5 else "c" if wait < 20 else "d"


STAGES = {"ResponseSendTimeMs": "a", "RequestQueueTimeMs": "b", "RemoteTimeMs": "c",
          "LocalTimeMs": "d"}  # fmt: skip


def what_a_quota_does(seen: Observed) -> str:
    if seen["its error"] != "NONE":
        return "a"
    if seen["answered before half of that time"]:
        return "b" if seen["the next request lies unread then"] else "d"
    return "c"


EXERCISES = (
    Prediction(
        "04-1",
        "102 is near 101, 103 is 40 ms away in each direction, all three are in the ISR, and "
        "min.insync.replicas is 2. A producer beside 101 writes one record with acks=all. After "
        "how long does it have its answer?",
        ("after about 2 ms: 101 and 102 have the record, and two are enough",
         "after about 40 ms: then 103 has the record",
         "after about 80 ms: then 101 knows that 103 has the record",
         "after about 500 ms: 103 must first ask for new records, and it asks twice a second"),
        tempting="a",
        settle=when_acknowledged,
        because={
            "": "The choices are for 40 ms. With {delay} ms the answer came after "
            "{answered after:.0f} ms.",
            "a": "102 had the record after {102 has it after:.1f} ms, the answer came after "
            "{answered after:.1f} ms. acks=all waits for every member of the ISR; "
            "min.insync.replicas only says how small the ISR may be.",
            "b": "103 had the record after {103 has it after:.1f} ms, the answer came after "
            "{answered after:.1f} ms. The leader learns of the copy from the follower's next "
            "fetch, and that has to travel back.",
            "c": "The answer came after {answered after:.1f} ms. Two trips over the slow link "
            "count only if the slow broker is in the ISR, and only with acks=all.",
            "d": "The answer came after {answered after:.1f} ms. A follower's fetch waits at the "
            "leader, so the record leaves with the append; no record waits for a next round.",
        },
    ),
    Prediction(
        "04-12",
        "Neither follower has the record at offset 1, and neither can fetch it now. A client that "
        "is no broker sends 101 two fetches from offset 2, one with replica id 102, one with 103. "
        "What happens to the write that waits?",
        ("it keeps waiting: no follower has copied the record",
         "it is answered with NOT_ENOUGH_REPLICAS, because both followers are away",
         "it keeps waiting: 101 refuses fetches that do not come from a broker's connection",
         "it is acknowledged, and a consumer can read the record: 101 knows only what fetches say"),
        tempting="a",
        settle=what_ends_the_wait,
        because={
            "a": "Acknowledged: {then the write is acknowledged}. The leader does not see the "
            "followers' logs. A fetch from offset 2 is all that it knows of them.",
            "b": "Acknowledged: {then the write is acknowledged}. Both followers are still in the "
            "ISR; they leave it only after replica.lag.time.max.ms, or when they are fenced.",
            "c": "The fetches were answered with {the fetches with a replica id}. Without an "
            "authorizer the broker takes the replica id as it is.",
            "d": "Acknowledged: {then the write is acknowledged}. The high watermark needs every "
            "member of the ISR: each must have asked from behind the record.",
        },
    ),
    Prediction(
        "04-14",
        "On one connection: (1) a write with acks=all that has to wait for a paused follower, "
        "(2) a metadata request, (3) a write with acks=1. In which order do the answers come? "
        "Give the three numbers.",
        form="three numbers, such as 3 2 1",
        tempting="2 3 1",
        settle=lambda seen: seen["order of the answers"],
        explain=lambda answer, seen: (
            "The answers came in the order "
            f"{' '.join(map(str, seen['order of the answers']))}, and "
            f"{seen['answers while 102 is paused']} of them while 102 was paused. The broker does "
            "not take up a connection's next request before it has answered the one before."
        ),
    ),
    Prediction(
        "04-3",
        "How many fetches a second does each reader send: the one without writes, the one "
        "with a record of 1 kB every 20 ms, and the one that reads the same with "
        "fetch.min.bytes=50000? For all, fetch.max.wait.ms is 500.",
        ("0, 50 and 1: the broker sends when there is something",
         "2, 50 and 1: 50,000 bytes take a second to come",
         "2, 50 and 2: the time is up before 50,000 bytes are there",
         "thousands, 50 and 2: without data the answer comes at once, and the reader asks again"),
        tempting="b",
        settle=how_often,
        because={
            "": "The three sent {fetches without writes:.1f}, {fetches from a stream:.1f} and "
            "{fetches with fetch-min-bytes:.1f} a second; each fetch of the third brought "
            "{one with fetch-min-bytes brings:.0f} records.",
            "a": "The reader without data sent {fetches without writes:.1f} a second, and to a "
            "connection that never asks nothing was sent. A broker only answers.",
            "b": "The reader with fetch.min.bytes sent {fetches with fetch-min-bytes:.1f} a second "
            "and got {one with fetch-min-bytes brings:.0f} records each time: the time was up "
            "before the bytes were there. Either condition ends the wait.",
            "c": "The three sent {fetches without writes:.1f}, {fetches from a stream:.1f} and "
            "{fetches with fetch-min-bytes:.1f} a second. Which condition came first, enough bytes "
            "or enough time?",
            "d": "The reader without data sent {fetches without writes:.1f} a second, and a "
            "fetch took {such a fetch takes:.0f} ms: it waited at the broker.",
        },
    ),
    Prediction(
        "04-15",
        "Eight handlers, idle half of the time. 99 of 100 requests need 0.5 ms, one needs 300 ms. "
        "How long does a quick request wait for a handler in the worst case of a hundred (99th "
        "percentile)?",
        ("not at all: four handlers are free on average",
         "about 0.5 ms, as long as one quick request",
         "about 4 ms, as long as the mean request",
         "more than 20 ms: now and then slow requests hold all eight"),
        tempting="a",
        settle=how_long_in_the_queue,
        because={
            "a": "It waits {wait:.1f} ms. The handlers are {idle} % idle on average, but now and "
            "then slow requests hold all of them at the same moment.",
            "b": "It waits {wait:.1f} ms. It would wait {alone:.2f} ms if all requests were quick.",
            "c": "It waits {wait:.1f} ms. The mean says little: a handler that is held is held for "
            "{slow} ms.",
            "d": "It waits {wait:.1f} ms. With these values slow requests seldom hold all handlers "
            "at once.",
        },
    ),
    Prediction(
        "04-16",
        "A consumer fetches megabytes and does not read its socket for 0.4 s. In which of the "
        "leader's timers for this fetch is the time?",
        ("in ResponseSendTimeMs, which runs until the last byte is in the socket",
         "in none worth mentioning: the broker is done when the answer is made",
         "in RemoteTimeMs, where a request waits for others",
         "in LocalTimeMs, since megabytes have to be read"),
        tempting="b",
        settle=lambda seen: STAGES.get(seen["longest, slow reader"], ""),
        because={
            "a": "The longest stage was {longest, slow reader}. Sending takes long only "
            "if the socket is full before the answer is out.",
            "b": "The longest stage was {longest, slow reader}. The timers run until "
            "the last byte of the answer is in the socket.",
            "c": "The longest stage was {longest, slow reader}. Remote time is "
            "purgatory: there was data, so this fetch did not wait there.",
            "d": "The longest stage was {longest, slow reader}. A fetch hands out a "
            "piece of a file, and the file was still in memory.",
        },
    ),
    left_purgatory.EXERCISE,
    slow_stage.EXERCISE,
    patient_reader.EXERCISE,
    Question(
        "04-8",
        "Which of these does a broker do with a batch of an ordinary producer?",
        ("it picks the partition by the records' keys",
         "it checks the CRC",
         "it flushes it to the disk before it answers",
         "it writes the base offset and the leader epoch into it"),
        right=frozenset("bd"),
        explanation="Clients partition, batch and compress; the broker checks, numbers and stores "
        "bytes. It opens a compressed batch to check the records, and compresses it again only "
        "if the topic's compression.type asks for another codec.",
        because={
            "a": "The producer has chosen the partition before it sends.",
            "c": "Replication stands in for the flush.",
        },
    ),
    Question(
        "04-9",
        "RequestQueueTimeMs has gone up for all kinds of requests, LocalTimeMs of Produce as "
        "well; RemoteTimeMs is unchanged, and handlers are 8 % idle. What fits?",
        ("the disk is slow, or the handlers have too much to do",
         "one follower is slow",
         "a client is over its quota",
         "producers have turned to acks=all"),
        right=frozenset("a"),
        explanation="A request in the queue waits for a handler, and a handler that waits for a "
        "disk takes nothing else. The others show in RemoteTimeMs and ThrottleTimeMs.",
        because={
            "b": "Only RemoteTimeMs of Produce with acks=all would go up.",
            "c": "That shows in ThrottleTimeMs, and for one client.",
            "d": "That shows in RemoteTimeMs, and it occupies no handler.",
        },
    ),
    Prediction(
        "04-2",
        "The limit is 50,000 bytes a second for one client id. A first connection has sent 400,000 "
        "bytes at once; a second one of the same client id sends 200,000 more. What does the "
        "broker do with that request?",
        ("it refuses it with an error",
         "it appends it and answers at once with a throttle time; it reads nothing more from that "
         "connection until the time is over",
         "it appends it and holds the answer back until the rate is right again",
         "it appends it and answers at once with a throttle time, which the client may ignore"),
        tempting="c",
        settle=what_a_quota_does,
        because={
            "a": "The error was {its error}. There is none for bytes; only the limit on topics and "
            "partitions has one.",
            "b": "The error was {its error}, the throttle time {its throttle time:.1f} s. Below "
            "the limit nothing is throttled.",
            "c": "The answer came before half of the throttle time of {its throttle time:.1f} "
            "s. Answers were held back until Kafka 2.0; clients timed out and sent again.",
            "d": "The next request lay unread and was answered after {it is answered after:.1f} s: "
            "the broker enforces the time by itself.",
        },
    ),
    throttle_time.EXERCISE,
    Question(
        "04-10",
        "producer_byte_rate=10000000 for the default client-id. Which are true?",
        ("two producers with the same client.id share it on each broker",
         "a cluster of three brokers takes at most 10 MB/s from one client.id",
         "the first seconds may bring much more than 10 MB/s",
         "it takes effect when the brokers are restarted"),
        right=frozenset("ac"),
        explanation="Every broker counts for itself, over ten full windows of a second and the "
        "current one, and takes up a changed limit at once.",
        because={
            "b": "Three brokers, three times the rate: the run with three leaders shows it.",
            "d": "Quotas are dynamic; 3.0 removed the static ones of the configuration file.",
        },
    ),
)  # fmt: skip
