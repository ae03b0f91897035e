# %% [markdown]
# # 02 · Topics, partitions and the log
#
# A topic is a name. Its records are stored in partitions, and a partition is a folder on a broker's
# disk, with files that you can open. This lesson opens them. Most of what Kafka is good at shows in
# these files, and so does most of what surprises people.
#
# **What you will be able to do**
#
# * say what is ordered in Kafka, and what is not
# * read a batch byte by byte, and say which of its bytes a broker writes
# * follow an offset or a timestamp through the indexes to a place in a file
# * say when a segment ends, what its name means, and when it is deleted
# * tell a batch from a record, and say which of the two is compressed, sent and checked
#
# **Time:** {minutes}. Python alone is enough; with real Kafka, most runs happen on both sides.
#
# A question precedes each run. Answer it first; the run shows whether you were right. Then change
# the values at the top of the cell and run it again.
#
# ## Write, read, and look at the file
#
# `lab.both` runs a function on the engine and on real Kafka, and compares the results. This
# function writes records, reads them twice, and inspects the broker's file before and after.

# %% doorway tags=["setup"]
from confluent_kafka import Producer, TopicPartition

from kit import lab
from kit.drawings.chart import Chart
from kit.drawings.spans import Spans
from kit.probes import clients, requests, virtual
from lessons.nb02_log import machine, on_disk, segment_scenes, speed_scenes, topic_scenes, writing

# %% 02-1 tags=["stub", "predict"]
lab.predict("02-1")

# %% 02-1 tags=["solution", "predict"]
lab.predict("02-1", "c")

# %% write-and-read tags=["both"]
count, value = 5, "one more"  # also "", or "x" * 1_000


def write_and_read(cluster):
    cluster.create_topic("events")
    for number in range(count):
        clients.send(cluster, "events", f"event {number}")
    written = on_disk.log_bytes(cluster, "events")
    first = clients.values(cluster, "events")  # from the beginning to the end
    again = clients.values(cluster, "events")
    read = on_disk.log_bytes(cluster, "events")
    clients.send(cluster, "events", value)
    grown = on_disk.log_bytes(cluster, "events")
    return {
        "records that the first reader gets": first,
        "records that the second reader gets": len(again),
        "bytes before reading": len(written),
        "bytes after reading": len(read),
        "the bytes are the same": read == written,
        "bytes of one more value": len(value),
        "bytes that the file grows by": len(grown) - len(read),
        "the bytes before them are the same": grown.startswith(written),
    }


outcome = lab.both(write_and_read)
display(outcome)
lab.verdict("02-1", outcome)

# %% [markdown]
# Each record came in its own batch, and a batch has a 61-byte header. The record itself adds seven
# bytes to a short value: its length, its time, its offset, and so on. Send ten records in one
# batch, and they share one header. That is one reason to batch.
#
# A log is written only at its end. Reading changes no byte: each consumer keeps its own position,
# so any number of consumers can read. No request changes a record or removes one from the middle.
# Records are removed only from the old end: by age or size (*When a segment ends*), or on request
# (*Delete records*).
#
# Now open the file. Kafka's own tool comes first; it reads the engine's files just as it reads
# Kafka's. Below its output are the last two lines of the broker's own trace. The panel shows the
# same folder: its segments, their batches, and every byte of one batch. Choose a batch, then a
# field.

# %% open-the-file tags=["live"]
cluster = lab.engine(settings=lab.BRISK)
write_and_read(cluster)
leader = cluster.leader("events")
display(lab.tool(cluster, "kafka-dump-log", "--print-data-log", broker=leader, topic="events"))
display(lab.broker_log(cluster, leader, "append events-0", last=2))
lab.segments(cluster, "events")

# %% [markdown]
# A producer sends batches, and a broker stores them. Most numbers in a record take a single byte,
# because they are small: the record's offset and time, for example, are counted from those in the
# header. *Deeper: A batch, field by field* explains them all.
#
# ## Which order?
#
# A topic may have many partitions, and each is a log of its own. The next run writes the numbers 0
# to 99 to three partitions in turn: number 0 goes to partition 0, number 1 to partition 1, number 2
# to partition 2, and number 3 to partition 0 again. Then one consumer reads the whole topic.

# %% 02-2 tags=["stub", "predict"]
lab.predict("02-2")

# %% 02-2 tags=["solution", "predict"]
lab.predict("02-2", "d")

# %% which-order tags=["both"]
partitions = 3  # also 1
count = 100
curves = {}


def which_order(cluster):
    cluster.create_topic("numbers", partitions=partitions)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        producer.produce("numbers", str(number), partition=number % partitions)
    producer.flush()
    got = writing.messages(cluster, "numbers", range(partitions))
    read = [int(each.value()) for each in got]
    curves[cluster.name] = list(enumerate(read))
    inside = [[int(m.value()) for m in got if m.partition() == p] for p in range(partitions)]
    return {
        "numbers read": len(read),
        "the whole read ascends": read == sorted(read),
        "each partition ascends": all(part == sorted(part) for part in inside),
        "numbers in each partition": [len(part) for part in inside],
    }


outcome = lab.both(which_order)
title = "Numbers in the order in which one consumer got them"
display(outcome, Chart(title, curves, "place in the read", "number"))
lab.verdict("02-2", outcome)

# %% [markdown]
# Within each partition, the numbers rise; across the topic, they do not. The consumer got one
# partition's records, then another's, in no fixed order. Offsets do not help: every partition
# starts at 0, so offsets cannot show which of two records in different partitions came first.
# Records that must stay in order belong in one partition (lesson 03 shows how a key ensures that).
# If all of a topic's records must be in one order, the topic needs a single partition.
#
# ## What the broker writes
#
# A producer builds the whole batch: the records, compressed or not, a header, and a checksum in the
# header. The next run sends a batch to a partition that already has one record, and compares the
# bytes that it sent with those in the broker's file. Then it sends the batch again, with one bit
# changed on the way.

# %% 02-3 tags=["stub", "predict"]
lab.predict("02-3")

# %% 02-3 tags=["solution", "predict"]
lab.predict("02-3", "a")

# %% what-the-broker-writes tags=["both"]
values = [b"prepared", b"packed", b"shipped"]
at_ms = requests.now_ms() - 60_000  # the same for both sides
timestamp_type = "CreateTime"  # then "LogAppendTime"


def what_the_broker_writes(cluster):
    cluster.create_topic("orders", config={"message.timestamp.type": timestamp_type})
    clients.send(cluster, "orders", "an earlier record")
    sent = writing.made(values, at_ms)
    writing.as_one_batch(cluster, "orders", sent)
    stored = on_disk.log_bytes(cluster, "orders")[-len(sent) :]
    changed = sent[:-2] + bytes([sent[-2] ^ 1]) + sent[-1:]
    return {
        "bytes sent": len(sent),
        "bytes that differ in the file": lab.measured(
            sum(a != b for a, b in zip(sent, stored, strict=True)), "bytes"
        ),
        "fields that differ": on_disk.changed_fields(sent, stored),
        "base offset, sent and stored": [int.from_bytes(each[:8]) for each in (sent, stored)],
        "the checksum is the producer's": stored[17:21] == sent[17:21],
        "it is right": on_disk.checksum_is_right(stored),
        "one bit changed on the way": writing.as_one_batch(cluster, "orders", changed)[0],
    }


outcome = lab.both(what_the_broker_writes)
display(outcome)
lab.verdict("02-3", outcome)

# %% [markdown]
# The leader writes two fields: the base offset, and the leader epoch (the number of its term as
# leader). The checksum does not cover them, so the producer's checksum stays valid. Everything else
# goes to disk as it arrived, and from there to followers and consumers. Kafka's leader reads each
# produced batch to check its records, but does not repack it. So the engine and Kafka store the
# same bytes. With `LogAppendTime`, the broker also writes its own time into the header and has to
# compute a new checksum.
#
# The producer computes the checksum. The leader verifies it and rejects a batch that does not
# match, and each follower verifies what it copies. When a broker sends records to a consumer, it
# does not check them again. The consumer can: Java's does so by default, and librdkafka (this
# notebook's client) does so with `check.crcs=true`.
#
# ## Two indexes
#
# An offset is a record's number; a position in a file is counted in bytes. So each `.log` file has
# two indexes: the `.index` maps offsets to positions, and the `.timeindex` maps timestamps to
# offsets. The next run sends 300 records, each in its own batch and with a later timestamp than the
# one before. The setting `index.interval.bytes` is 4,096.

# %% 02-4 tags=["stub", "predict"]
lab.predict("02-4")

# %% 02-4 tags=["solution", "predict"]
lab.predict("02-4", "c")

# %% sparse tags=["both"]
count = 300
index_interval = 4096  # also 2048
wanted = 217  # an offset from 0 to 299
start_ms = requests.now_ms() - 600_000


def sparse(cluster):
    cluster.create_topic("positions", config={"index.interval.bytes": index_interval})
    times = [start_ms + 1_000 * number for number in range(count)]
    writing.one_by_one(cluster, "positions", ["x" * 1_000] * count, times, acks="1")
    offsets, timestamps = on_disk.entries(cluster, "positions")
    files = sorted(on_disk.folder(cluster, "positions").glob("0*"))
    return {
        "files": [file.name for file in files],
        "batches": len(on_disk.headers(cluster, "positions")),
        "bytes of the log": len(on_disk.log_bytes(cluster, "positions")),
        "entries of the offset index": offsets,
        "entries of the time index": timestamps,
        f"the .index, asked for {wanted}": on_disk.looked_up(cluster, "positions", wanted),
    }


outcome = lab.both(sparse)
display(outcome)
lab.verdict("02-4", outcome)


# %% find tags=["read"]
# What does a larger interval save, and what does it cost?
def find(offset=217, index_interval=4_096):
    world = lab.world(seed=2, brokers=1, checked=False)
    config = {"index.interval.bytes": index_interval}
    world.create_topic("positions", assignment={0: [101]}, config=config)
    for _ in range(300):
        virtual.send(world, "positions", "x" * 1_000)
    (segment,) = world.replica(101, "positions", 0).log.segments
    start, (found, header) = segment.offset_index.lookup(offset)[1], segment.find(offset)
    places = sorted({segment.offset_index.lookup(each)[1] for each in range(300)})
    headers = [at for _, at in segment.headers(start) if at <= found]
    rows = {
        "the index points here": [(at / 1000, at / 1000) for at in places],
        "headers are read": [(start / 1000, found / 1000)],
        f"offset {offset}": [(found / 1000, (found + header.size_in_bytes) / 1000)],
    }
    entries = segment.offset_index.entries
    title = f"Entries of the index: {entries}. Headers read to find {offset}: {len(headers)}."
    return Spans(title, rows, "position in the .log, kilobytes", until=segment.size / 1000)


intervals = (1, 4_096, 16_384, 65_536, 131_072)
lab.slider(find, offset=range(7, 300, 10), index_interval=intervals)

# %% look-up tags=["live"]
wanted = 35  # an offset from 0 to 49
cluster = lab.engine(settings=lab.BRISK)  # also lab.local(), a real Kafka's files
cluster.create_topic("positions", config={"index.interval.bytes": 1024})
times = [start_ms + 1_000 * number for number in range(50)]
writing.one_by_one(cluster, "positions", ["x" * 400] * 50, times)
panel = lab.segments(cluster, "positions")
panel.look_up(offset=wanted)
panel

# %% [markdown]
# There is one index entry for about every 4 kB of log, not one for every record. An offset-index
# entry takes eight bytes, so the index for a terabyte of log takes 2 GB and fits in memory. An
# entry points to a place at or before the record; from there, the broker examines batch headers
# until it finds the batch. It opens no batch to do so. Fewer entries mean more headers to read.
#
# The panel shows a smaller log and one lookup. Step through the search, then look up another
# offset, or a time.
#
# A lookup by timestamp takes one more step. The time index yields an offset, the offset index a
# position, and there the broker has to decode a batch to find the record. On real Kafka, the newest
# segment's indexes are 10 MB each: Kafka reserves the space and trims what is unused when the
# segment ends.
#
# ## When a segment ends
#
# A partition's log is a series of segments, and only the newest one, the active segment, is written
# to. A segment ends when the next batch would make it larger than `segment.bytes` (1 GiB by
# default), when it is older than `segment.ms` (a week), or when an index is full. Then the next
# segment begins. Here `segment.ms` is an hour, and four records are sent within a second. According
# to their timestamps, though, they were created 0, 30, 90 and 120 minutes after the first.

# %% 02-5 tags=["stub", "predict"]
lab.predict("02-5")

# %% 02-5 tags=["solution", "predict"]
lab.predict("02-5", 2)

# %% segments tags=["both"]
minutes = [0, 30, 90, 120]  # also [0, 90, 120, 180], and [0, 90, 30, 170]
segment_ms = 3_600_000
now = requests.now_ms()


def segments(cluster):
    cluster.create_topic("orders", config={"segment.ms": segment_ms})
    times = [now - 4 * 3_600_000 + 60_000 * minute for minute in minutes]
    offsets = writing.one_by_one(cluster, "orders", [f"minute {m}" for m in minutes], times)
    files = sorted(each.name for each in on_disk.folder(cluster, "orders").glob("*.log"))
    return {
        "offsets": offsets,
        "the .log files": files,
        "base offset of the last": on_disk.segments(cluster, "orders")[-1],
    }


outcome = lab.both(segments)
display(outcome)
lab.verdict("02-5", outcome)

# %% [markdown]
# A segment's age is the time between two timestamps: its first record's and the incoming record's.
# With timestamped records, the broker's clock does not count. The record for minute 90 is dated 90
# minutes after the first one. That is more than an hour, so it began a new segment. A segment is
# named after its first offset, so the names show which file holds an offset. As long as nothing is
# written, `segment.ms` ends no segment. Two other settings can end one: retention (below) and
# `max.compaction.lag.ms` in a compacted topic.
#
# When is an old record deleted? Retention deletes whole segments. A segment is deleted when its
# newest record is older than `retention.ms` (a week by default). The active segment is deleted,
# too, once all its records are too old. A broker checks every five minutes. So an old record stays
# as long as its segment has a record that is young enough. A limit by size, `retention.bytes`, also
# takes whole segments, the oldest first (lesson 12 runs both).
#
# ## From the middle of a batch
#
# One batch holds 400 lines of text, compressed with gzip. A consumer wants to start at offset 250.
# The run sends the consumer's Fetch request itself and examines the broker's answer.

# %% 02-6 tags=["stub", "predict"]
lab.predict("02-6")

# %% 02-6 tags=["solution", "predict"]
lab.predict("02-6", 0)

# %% from-the-middle tags=["both"]
codec = "gzip"  # also "none"
wanted = 250  # from 0 to 399
lines = [line.encode() for line in writing.lines_of_text(400)]
at_ms = requests.now_ms()  # the same for both sides


def from_the_middle(cluster):
    cluster.create_topic("text")
    sent = writing.made(lines, at_ms, codec=codec)
    writing.as_one_batch(cluster, "text", sent)
    fetch = requests.fetching(clients.topic_id(cluster, "text"), wanted)
    answer = requests.first_partition(clients.ask(cluster, cluster.leader("text"), fetch))
    client = writing.messages(cluster, "text", start=wanted)
    return {
        "asked for": wanted,
        "first offset in the answer": int.from_bytes(answer.records[:8]),
        "bytes in the answer": len(answer.records),
        "bytes in the log": len(on_disk.log_bytes(cluster, "text")),
        "first offset that a client hands out": client[0].offset(),
    }


outcome = lab.both(from_the_middle)
display(outcome)
lab.verdict("02-6", outcome)

# %% [markdown]
# A batch is compressed, checked, indexed and sent as a whole. For a fetch, the broker does not take
# the batch apart, compressed or not: it sends all 400 records, and the client drops the 250 that it
# did not ask for.
#
# ## Delete records
#
# An admin client can delete the old end of a log. Here, a partition has ten records, offsets 0 to
# 9, and a DeleteRecords request deletes those below 4. Then the cell sends one more record.

# %% 02-7 tags=["stub", "predict"]
lab.predict("02-7")

# %% 02-7 tags=["solution", "predict"]
lab.predict("02-7", "b")

# %% delete-records tags=["both"]
count = 10
below = 4  # also 10


def delete_records(cluster):
    cluster.create_topic("orders")
    writing.one_by_one(cluster, "orders", [f"order {number}" for number in range(count)])
    before = len(on_disk.log_bytes(cluster, "orders"))
    admin = clients.admin(cluster)
    cut = TopicPartition("orders", 0, below)
    admin.delete_records([cut])[cut].result(20)
    left = writing.messages(cluster, "orders")
    after = len(on_disk.log_bytes(cluster, "orders"))
    (new,) = writing.one_by_one(cluster, "orders", ["one more"])
    return {
        "offsets that are left": [each.offset() for each in left],
        "the value of the first": left[0].value().decode() if left else "none",
        "bytes of the file, before and after": [before, after],
        "offset of the next record": new,
    }


outcome = lab.both(delete_records)
display(outcome)
lab.verdict("02-7", outcome)

# %% [markdown]
# The request only moved the log's start to 4. The bytes below that offset stay in the file until
# the whole segment can be deleted: on disk, deleted does not yet mean erased. A record keeps its
# offset when others are deleted. So a partition is like an array whose start moves and whose
# numbers may have gaps: compaction leaves such gaps, and so does the end of a transaction (*Deeper:
# Gaps*).
#
# ## Read the code that did it
#
# Here are the binary search in an index, the search in a segment, and the rule that ends a segment.

# %% code tags=["read"]
from engine.storage.offset_index import OffsetIndex
from engine.storage.segment import Segment

lab.show(OffsetIndex.lookup, Segment.find, Segment.should_roll)

# %% [markdown]
# ## Break it
#
# A disk goes bad: one bit flips in the leader's file. Then two consumers read the partition, one
# without `check.crcs` and one with it. Before you run the cell, predict what each of them gets.
# `position` is the byte's place in the file. Try:
#
# * 70, in a record's value
# * 15, in the leader epoch, which the checksum does not cover
# * 3, in the base offset: which offset does the record have now?
# * 42, in the largest timestamp
# * 16, the format number (*magic*)
#
# Some damage leaves a client without an answer. In that case, the cell says so after five seconds;
# set `position` to another byte and run it again.

# %% break-it tags=["live"]
position = 70

cluster = lab.engine(settings=lab.BRISK)
cluster.create_topic("damaged", assignment={0: [101]})
for value in (b"prepared", b"shipped"):
    batch = writing.made([value], requests.now_ms(), bare=True)
    writing.as_one_batch(cluster, "damaged", batch)
print("a bit flipped in:", on_disk.flip(cluster, "damaged", position))
for checks in (False, True):
    found = writing.read_or_refused(cluster, "damaged", {"check.crcs": checks})
    print(f"check.crcs={checks}: {found}")
panel = lab.segments(cluster, "damaged", broker=101)
panel.open_batch(0, 0)
panel

# %% [markdown]
# The checksum does not cover the base offset or the leader epoch: if they are damaged, no client
# notices. Other damage is found by a client that checks, or by a follower that has yet to copy the
# batch. The leader checked the batch on arrival, but it does not check the batch again before
# sending it.
#
# ## Your turn
#
# Replace the stub with your answer, run it, then run the check. `lab.hint("02-8")` offers three
# hints, one at a time, and then a solution.
#
# **02-8, a number in a record.** Lengths and distances inside a record are written as *zigzag
# varints*. Each byte carries seven bits of a number, the lowest seven first; its top bit is 1 if
# another byte follows. Together, these groups of seven bits form a number: 0, 1, 2, 3, 4, and so
# on. Zigzag maps it to 0, -1, 1, -2, 2, and so on. Return two things: the decoded number at the
# start of `data`, and how many bytes it takes. The byte 03 yields (-2, 1).
#
# **02-9, where the scan begins.** `entries` are the pairs (offset, position) of an `.index` file,
# in ascending order. At which position does a broker start scanning the `.log` for `offset`? Return
# that position.
#
# **02-10, the file that holds an offset.** `bases` are the base offsets of a partition's segments,
# in any order. `log_start` is the first offset that the partition still has; `log_end` is the
# offset that the next record will get. Return the name of the `.log` file that holds the record
# `offset`, such as 00000000000000000250.log, or None if there is no such record.


# %% 02-8 tags=["stub"]
def varint(data):
    """The number at the start of the bytes, and how many bytes it takes."""


# %% 02-8 tags=["solution"]
def varint(data):
    """The number at the start of the bytes, and how many bytes it takes."""
    number = 0
    for place, byte in enumerate(data):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), place + 1
    raise ValueError("the number goes on")


# %% 02-8 tags=["check"]
lab.check("02-8", varint)


# %% 02-9 tags=["stub"]
def scan_from(entries, offset):
    """The position in the .log at which the scan for an offset begins."""


# %% 02-9 tags=["solution"]
def scan_from(entries, offset):
    """The position in the .log at which the scan for an offset begins."""
    return max((place for known, place in entries if known <= offset), default=0)


# %% 02-9 tags=["check"]
lab.check("02-9", scan_from)


# %% 02-10 tags=["stub"]
def file_of(bases, log_start, log_end, offset):
    """The name of the .log file that holds an offset, or None."""


# %% 02-10 tags=["solution"]
def file_of(bases, log_start, log_end, offset):
    """The name of the .log file that holds an offset, or None."""
    if log_start <= offset < log_end:
        return f"{max(base for base in bases if base <= offset):020d}.log"
    return None


# %% 02-10 tags=["check"]
lab.check("02-10", file_of)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. Which order does Kafka guarantee?</b></summary>
# Order within a partition: records are stored as the leader appended them, and consumers read them
# in that order. Across partitions, there is no order. One producer's records are appended in the
# order in which it sent them if it is idempotent (the default in Java since 3.0), or has only one
# request in flight.
# <i>Follow-up:</i> what if you need one order for all records? <b>Weak:</b> "Kafka keeps order." <b>Good:</b> per partition. <b>Strong:</b> knows what retries do, and the two ways to a total order (one partition, or the application's own sequence number) and their price. Evidence: <a href="#Which-order?">Which order?</a>
# </details>
# <details><summary><b>2. How does a broker find offset 1,234,567?</b></summary>
# The segments' names show which one to open. A binary search in that segment's sparse index leads
# to a place at or before the record, and from there the broker reads batch headers until it finds
# the batch.
# <i>Follow-up:</i> and a timestamp? <b>Weak:</b> "an offset is a position in the file." <b>Good:</b> index, then scan. <b>Strong:</b> names index.interval.bytes, knows that the batch is sent whole, and that a timestamp leads to an offset first. Evidence: <a href="#Two-indexes">Two indexes</a>.
# </details>
# <details><summary><b>3. Why is Kafka fast even though everything goes to disk?</b></summary>
# It appends and reads in order, and in batches. Records keep the same format from producer to
# consumer, so the broker passes them on as they are. The page cache keeps recent data in memory,
# and sendfile sends it without copying it into the broker.
# <i>Follow-up:</i> what does TLS change? <b>Weak:</b> "it keeps data in memory." <b>Good:</b> names three of these. <b>Strong:</b> knows that an acknowledged record may not be flushed, that replicas make it safe, and what makes a broker rewrite a batch. Evidence: <a href="#Deeper:-The-disk-and-the-page-cache">The disk and the page cache</a>.
# </details>
# <details><summary><b>4. Describe a record and a batch.</b></summary>
# A record has a key and a value (both may be null), headers, and its offset and time as distances.
# A batch has the base offset and base time from which the distances are counted, the leader epoch,
# a checksum, the codec, the producer's id and sequence number, and its record count.
# <i>Follow-up:</i> what does the broker change? <b>Weak:</b> "the broker adds an offset to each record." <b>Good:</b> the fields. <b>Strong:</b> what the checksum leaves out, and why. Evidence: <a href="#What-the-broker-writes">What the broker writes</a>.
# </details>
# <details><summary><b>5. retention.ms is a day, and records from last week are still there. Why?</b></summary>
# Retention deletes whole segments, based on the largest timestamp in each. One new record in the
# active segment keeps all the old records in that segment.
# <i>Follow-up:</i> what would you set? <b>Weak:</b> "the cleaner is slow." <b>Good:</b> segments. <b>Strong:</b> names segment.ms, the single timestamp in the future that keeps a segment from being deleted, and what tiny segments cost. Evidence: <a href="#When-a-segment-ends">When a segment ends</a>.
# </details>
# <details><summary><b>6. A reader stops at offset 40 with a corrupt record. What happened?</b></summary>
# <pre>Dumping orders-0/00000000000000000000.log
# baseOffset: 38 lastOffset: 39 count: 2 … position: 3112 … magic: 2 … crc: 2817651 isvalid: true
# baseOffset: 40 lastOffset: 44 count: 5 … position: 3268 … magic: 2 … crc: 9140277 isvalid: false
# baseOffset: 45 lastOffset: 45 count: 1 … position: 3611 … magic: 2 … crc: 5120038 isvalid: true</pre>
# One batch no longer has the bytes that the producer sent, but the batches around it are intact. So
# a disk or memory is faulty; no append was lost. A client that checks can read none of the five
# records. Check the other replicas: each has its own files. If one of them is intact and becomes
# the leader, readers can continue.
# Evidence: <a href="#Break-it">Break it</a>.
# </details>
#
# ## Quiz
#
# Several letters are right.

# %% 02-11 tags=["stub", "predict", "quiz"]
lab.quiz("02-11")

# %% 02-11 tags=["solution", "predict", "quiz"]
lab.quiz("02-11", "b", "c")

# %% 02-12 tags=["stub", "predict", "quiz"]
lab.quiz("02-12")

# %% 02-12 tags=["solution", "predict", "quiz"]
lab.quiz("02-12", "a", "d")

# %% [markdown]
# ## Deeper: Topics, folders, names
#
# Here are six partitions with two replicas each, on three brokers, and a second topic beside them.

# %% places tags=["both"]
lab.both(topic_scenes.places)

# %% [markdown]
# A topic has no folder of its own. Each replica of a partition has one, under `log.dirs` (by
# default `/tmp/kafka-logs`, which a reboot may empty). Each broker leads two of the six partitions
# and so a third of the bytes; a topic can be larger than any one machine. Topic, partition and
# offset together identify a record.

# %% names tags=["both"]
lab.both(topic_scenes.names)

# %% [markdown]
# Since 2.8 (KIP-516), a topic has also had an id. A topic that is deleted and re-created gets a new
# id, so a broker does not mistake the old topic's files for the new one's.

# %% [markdown]
# ## Deeper: Any bytes
#
# The run sends records with JSON, Avro, random bytes, no key, an empty key, and no value.

# %% opaque tags=["both"]
lab.both(topic_scenes.opaque)

# %% [markdown]
# Keys and values are bytes, and the broker looks at neither. No value (a *tombstone*) and an empty
# value are different, and so are no key and an empty key. The number 2 as text and the number 2 as
# four bytes are different keys, and here they are in two partitions. So agree on a format for keys
# as well as for values.

# %% [markdown]
# ## Deeper: A table?
#
# The run uses a topic as a table of prices. It inserts 50 rows with ten keys, attempts to update
# the row at offset 7, inserts one more row with the same key, and looks that key up.

# %% as-a-table tags=["both"]
lab.both(topic_scenes.as_a_table)

# %% [markdown]
# Inserts work; updates do not. A batch may not choose its own offsets. Of all the requests that the
# engine and Kafka have in common, only Produce carries records, and a broker appends those. So a
# topic is less like a table than like a table's change log: the new price is one more row, and the
# old row stays until retention, compaction or DeleteRecords removes it. There is no index on keys,
# either. The two indexes find an offset and a timestamp; to find a key, a consumer has to read
# everything (or keep a table of its own).

# %% [markdown]
# ## Deeper: A batch, field by field
#
# First come ten records that follow three others, and a batch from an idempotent producer; then
# comes a batch for each codec.

# %% batch-fields tags=["both"]
lab.both(segment_scenes.batch_fields)

# %% [markdown]
# Format 2 has been the only one since 4.0 (KIP-724). The producer sent base offset 0; the broker
# wrote 3, because three records were already there. In each record, offset and time together take
# two bytes; in full, they would take sixteen. The checksum covers everything after it, but the
# epoch comes before it.

# %% codec-bits tags=["both"]
lab.both(segment_scenes.codec_bits)

# %% [markdown]
# Bits 0 to 2 of the attributes name the codec, and each codec's output begins with its own
# characteristic bytes. Bit 3 says whose clock set the time, bit 4 that the batch is part of a
# transaction, bit 5 that it is a control batch, and bit 6 that its base timestamp is a delete
# horizon (KIP-534). Seven bits make five fields.

# %% codecs tags=["both"]
names = ("none", "gzip", "snappy", "lz4", "zstd")
lines = [line.encode() for line in writing.lines_of_text(400)]
at_ms = requests.now_ms()


def codecs_on_text(cluster):
    cluster.create_topic("text", partitions=len(names))
    for index, codec in enumerate(names):
        batch = writing.made(lines, at_ms, codec=codec, bare=True)
        writing.as_one_batch(cluster, "text", batch, index)
    return {
        f"bytes, {codec}": len(on_disk.log_bytes(cluster, "text", index))
        for index, codec in enumerate(names)
    }


outcome = lab.both(codecs_on_text)
bars = {"bytes": list(enumerate(outcome.engine.values()))}
codes = ", ".join(f"{index} {codec}" for index, codec in enumerate(names))
display(outcome, Chart("400 lines of source code in one batch", bars, codes, "bytes", kind="bars"))

# %% [markdown]
# The same batches take the same space on both sides. A codec compresses all of a batch's records
# together; the 61-byte header stays readable. How much a codec saves depends on the text and on the
# batch (lesson 03 measures small batches, and the time that a codec takes).

# %% bad-disk tags=["both"]
lab.both(segment_scenes.bad_disk)

# %% [markdown]
# A broker sends what its file holds, and does not verify the checksum for a consumer. It verifies
# every batch that a producer sends; a follower verifies what it fetches. Java's consumer checks by
# default, but librdkafka checks only with `check.crcs=true`.

# %% [markdown]
# ## Deeper: Whose clock?
#
# The run sends a record dated yesterday to two topics, and then one that is two hours ahead.
# Finally, it looks up a time in a log whose timestamps do not rise.

# %% whose-clock tags=["both"]
lab.both(topic_scenes.whose_clock)

# %% [markdown]
# The default is CreateTime: the time that the producer set, however old it is. A time more than an
# hour ahead is refused (`message.timestamp.after.max.ms`, KIP-937). A lookup by time returns the
# first offset with that time or a later one; records after that offset may have earlier times.

# %% [markdown]
# ## Deeper: Settings of a segment
#
# The run shows how often an index gets an entry, how large a segment may be, and which settings a
# broker accepts or refuses.

# %% segment-settings tags=["both"]
lab.both(segment_scenes.segment_settings)

# %% [markdown]
# Half the interval gives an index about twice as many entries. A 60-byte index is full after a few
# entries, and then the segment ends. `preallocate` reserves the whole file, but only on Kafka. A
# topic with its own codec makes the broker recompress each batch, and then the bytes are no longer
# the producer's. The engine, however, leaves them as they are.
#
# Four of these settings have been refused since 4.0: a segment smaller than 1 MiB (KIP-1030), two
# settings for the old formats (KIP-724), and `message.timestamp.difference.max.ms`
# (`.before.max.ms` and `.after.max.ms` took its place). `segment.jitter.ms` is accepted. On Kafka,
# it staggers the ends of segments that began together, but on the engine it has no effect. The run
# writes the same records to ten logs and counts the different offsets at which their second
# segments begin.

# %% [markdown]
# ## Deeper: What survives
#
# Two logs have no second replica. One log's broker is killed, the other's is stopped cleanly, and
# both are restarted. On Kafka, that takes a few seconds.

# %% kept tags=["both"]
lab.both(segment_scenes.kept)

# %% [markdown]
# A process that dies takes no bytes with it: they are in the operating system's page cache, and the
# system writes them to disk. A power failure is another matter: what was not flushed is lost on
# that machine (lesson 06). Kafka flushes a segment when it ends, and all segments at a clean stop,
# and it notes in `recovery-point-offset-checkpoint` how far it got. `flush.messages` and `flush.ms`
# can also trigger a flush, but their defaults are so large that they never do: replicas make an
# acknowledged record safe. (The engine accepts these two, but they have no effect.)

# %% [markdown]
# ## Deeper: The disk and the page cache
#
# How much longer does one way of writing, reading or sending take than another? Each number below
# is such a ratio: the median of three measurements on this machine. The table below them tracks the
# pages of one file. A page is *dirty* until the disk has it.

# %% the-disk tags=["live"]
found = machine.ratios(16 << 20)
bars = {"this machine": list(enumerate(found.values()))}
title = "Time of the first way, divided by that of the second"
display(Chart(title, bars, "the lines below", "times", kind="bars", log_y=True))
for number, (name, ratio) in enumerate(found.items()):
    print(f"{number}  {name:<32}{ratio:8.1f}")
print(machine.pages(32 << 20))

# %% [markdown]
# *Sequential access is thousands of times faster* was measured on spinning disks. Writes go to the
# page cache first, where their order hardly matters: the table shows dirty pages, and fsync waits
# until the disk has them. Data that was just written is read from memory. A read that the page
# cache cannot serve waits for the disk; if reads come in order, the kernel reads ahead. By far the
# slowest way is to wait for the disk after each block, so Kafka does not wait. It keeps no cache in
# its own memory, either: the page cache is as large as the free memory, and it survives a broker
# restart. The kernel writes pages to disk when they are 30 s old or take up too much memory, not
# only when memory is full.

# %% zero-copy tags=["live"]
kafka = lab.real()
before = machine.dirty_kb()
if kafka is not None:
    kafka.create_topic("positions")
    writing.one_by_one(kafka, "positions", ["x" * 50_000] * 300)
print(f"dirty pages: {before:,} kB before, {machine.dirty_kb():,} kB after")
print(machine.kernel_rules())
print(machine.system_calls(kafka, "positions") if kafka else lab.real_absence())

# %% [markdown]
# With real Kafka and strace, you can see three things here. First, the new pages are dirty:
# acknowledged, but not yet on disk. Second, `sendfile` tells the kernel to send part of a file, so
# the records never enter the broker's memory; with `pread64`, the broker reads only some headers.
# `sendfile` works because the file holds what a consumer wants, byte for byte. With TLS, the bytes
# must be encrypted first, so the broker has to read them after all. The engine always reads the
# bytes and then sends them.
#
# Third, five logs get 25 records of 100 kB each. By default, an append flushes nothing, but the end
# of a segment triggers a flush. `flush.messages=1` flushes after every record, and
# `flush.messages=10` after ten. The last column counts the records that were written but not yet
# flushed, at the worst moment: a power failure right then would take them from this machine.
# `flush.messages` limits that number. `flush.ms` alone changes nothing: the broker checks it only
# every `log.flush.scheduler.interval.ms`, which by default means never.

# %% [markdown]
# ## Deeper: Order and its price
#
# The numbers 0 to 99 go to one partition, and then to two partitions whose producers' clocks are 40
# ms apart. Then 30 records for three partitions are sent at once.

# %% ordered tags=["both"]
lab.both(topic_scenes.ordered)

# %% [markdown]
# One partition keeps the whole order, but it has only one leader, and one reader in each group. To
# merge two partitions' records into one order, an application needs its own number in each record:
# timestamps come from clocks that differ. A request may carry a batch for each of many partitions.

# %% speed tags=["both"]
for scenario in (speed_scenes.speed, speed_scenes.stored, speed_scenes.readers):
    display(lab.both(scenario))

# %% [markdown]
# On one small machine, one partition beats three or six: all the brokers share its two cores. On
# three machines, they could. A one-record batch is one-third header here, and each such batch needs
# its own request. Nothing here comes near the loopback rate: a Python client and brokers on the
# same two cores take most of the time for themselves.
#
# The second run asks two logs in turn, one with 10 MB and one with 200 MB. The amount of stored
# data does not matter to an append or to a read of the newest records. It does matter to reads of
# old records, to recovery and to moving a replica.
#
# In the third run, a consumer works for 2 ms on each record. Three consumers share the partitions
# and work at the same time, so they are almost three times as fast. Whether one broker leads all
# the partitions or three brokers lead one each changes little here. More brokers add disks, memory
# and network only if each has a machine of its own.

# %% [markdown]
# ## Deeper: Gaps
#
# The run commits two transactions of three records each.

# %% gaps tags=["both"]
lab.both(segment_scenes.gaps)

# %% [markdown]
# Offset 3 is the marker that ends the first transaction: a control batch (bits 4 and 5), whose
# record no application gets. So offsets rise, but some are missing. Compaction leaves gaps, too,
# but the batch still says which offset was its first and which its last (lesson 12).

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what is true | where |
# |---|---|---|
# | Kafka guarantees the order of messages | within a partition; with retries, only if the producer is idempotent or has one request in flight | [Which order?](#Which-order?) |
# | offsets need not rise | each is larger than the one before; some are missing | [Gaps](#Deeper:-Gaps) |
# | a partition is one log file | a folder with a series of segments, three files each | [Topics, folders, names](#Deeper:-Topics,-folders,-names) |
# | records are never changed or deleted | never changed, but retention, compaction and DeleteRecords remove them | [A table?](#Deeper:-A-table?), [Delete records](#Delete-records) |
# | a topic is a table | it is a table's change log | [A table?](#Deeper:-A-table?) |
# | the value is mandatory | it may be null | [Any bytes](#Deeper:-Any-bytes) |
# | the timestamp is the time of arrival | the producer's time, unless `message.timestamp.type=LogAppendTime` | [Whose clock?](#Deeper:-Whose-clock?) |
# | everything is on disk, nothing in memory | in the page cache first, and the kernel decides when it is written | [The disk](#Deeper:-The-disk-and-the-page-cache) |
# | sequential access is thousands of times faster | on spinning disks; see this machine's ratios | [The disk](#Deeper:-The-disk-and-the-page-cache) |
# | the bytes are never modified, so zero copy | only with `compression.type=producer` and without TLS | [Settings](#Deeper:-Settings-of-a-segment) |
# | the page cache is written when it is full | by age and by share, too | [The disk](#Deeper:-The-disk-and-the-page-cache) |
# | `log.segment.bytes=1000` to try rolling | refused: the minimum has been 1 MiB since 4.0 | [Settings](#Deeper:-Settings-of-a-segment) |
# | `message.format.version`, `message.downconversion.enable` | gone in 4.0 | [Settings](#Deeper:-Settings-of-a-segment) |
# | `message.timestamp.difference.max.ms` | gone in 4.0; two settings took its place | [Whose clock?](#Deeper:-Whose-clock?) |
# | a batch has five attribute bits | seven bits in five fields: codec (three bits), clock, transaction, control, delete horizon | [A batch](#Deeper:-A-batch,-field-by-field) |
#
# **What real Kafka does beyond this.** It maps indexes into memory and reserves their space; it
# recompresses batches when a topic names a codec; it preallocates files; and it sends with
# `sendfile`.
