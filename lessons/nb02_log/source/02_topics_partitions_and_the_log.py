# %% [markdown]
# # 02 · Topics, partitions and the log
#
# A topic is a name. A partition is a folder on a broker's disk, and what you write lies there as
# bytes that you can open. This lesson opens them. Nearly everything that Kafka is good at, and most
# of what surprises people, can be read off these files.
#
# **What you will be able to do**
#
# * say what is ordered in Kafka, and what is not
# * read a batch byte by byte, and say which bytes a broker writes
# * follow an offset and a timestamp through the indexes to a place in a file
# * say when a segment ends, and what its name means
# * tell a batch from a record: for codecs, fetches and checksums
#
# **Time:** {minutes}. Python alone is enough; with a real Kafka, most runs happen on both sides.
#
# Each run has a question before it. Answer first: the run gives the verdict. Then change the values
# at the top of the run's cell, and run it again.
#
# ## Write, read, and look at the file
#
# `lab.both` runs a function on the engine and on a real Kafka, and compares. The function writes
# records, reads them twice, and reads the broker's own file before and after.

# %% doorway tags=["setup"]
from confluent_kafka import Producer, TopicPartition

from kit import lab
from kit.drawings.chart import Chart
from kit.probes import clients, requests
from lessons.nb02_log import machine, merging, on_disk, segment_scenes, topic_scenes, writing

# %% 02-1 tags=["stub", "predict"]
lab.predict("02-1")

# %% 02-1 tags=["solution", "predict"]
lab.predict("02-1", "b")

# %% write-and-read tags=["both"]
count = 5  # also 50


def write_and_read(cluster):
    cluster.create_topic("events")
    for number in range(count):
        clients.send(cluster, "events", f"event {number}")
    written = on_disk.log_bytes(cluster, "events")
    first = clients.values(cluster, "events")  # from the beginning to the end
    again = clients.values(cluster, "events")
    read = on_disk.log_bytes(cluster, "events")
    clients.send(cluster, "events", "one more")
    grown = on_disk.log_bytes(cluster, "events")
    return {
        "records that the first reader gets": len(first),
        "records that the second reader gets": len(again),
        "bytes before reading": len(written),
        "bytes after reading": len(read),
        "the bytes are the same": read == written,
        "one more record: bytes at the end": len(grown) - len(read),
        "the bytes before them are the same": grown.startswith(written),
    }


outcome = lab.both(write_and_read)
display(outcome)
lab.verdict("02-1", outcome)

# %% [markdown]
# A log is written at its end, and nowhere else. Reading changes no byte: a consumer keeps its own
# position, and any number of them may read. No call updates a record, or takes one out of the middle.
# A log becomes shorter at its old end (*Delete records*, and lesson 12).
#
# Here is the file. First what you see at work: Kafka's own tool, which reads the engine's files as its
# own, and the broker's log. Then a panel over the same folder: segments, batches, and every byte of
# an opened batch. Choose a batch, then a field.

# %% open-the-file tags=["live"]
cluster = lab.engine(settings=lab.BRISK)
write_and_read(cluster)
leader = cluster.leader("events")
display(lab.tool(cluster, "kafka-dump-log", "--print-data-log", broker=leader, topic="events"))
display(lab.broker_log(cluster, leader, "append events-0", last=2))
lab.segments(cluster, "events")

# %% [markdown]
# Each record came alone, so each batch holds one. 61 bytes of a batch are its header; most fields of
# a record are numbers of a single byte, because they only say how far the record is from its batch's
# base. *Deeper: A batch, field by field* goes through them.
#
# ## Which order?
#
# A topic may have many partitions, and each is a log of its own. The next run writes the numbers 0
# to 99 to three partitions in turn. Then one consumer reads the whole topic.

# %% 02-2 tags=["stub", "predict"]
lab.predict("02-2")

# %% 02-2 tags=["solution", "predict"]
lab.predict("02-2", "d")

# %% which-order tags=["both"]
partitions, count = 3, 100  # also 1 partition
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
# Each partition ascends; the topic does not. The consumer gets whole batches, from one partition
# after the other, and no offset says which of two records in different partitions came first. Order
# is a property of a partition, and offsets begin at 0 in each of them. Two records that must keep
# their order belong in one partition (lesson 03 shows how a key does that), and a total order needs
# a topic of one partition.
#
# ## What the broker writes
#
# A producer builds the batch: header, checksum, records, compressed or not. The next run sends one as
# bytes, behind a record that is already there, and compares what it sent with what lies in the file.

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
    return {
        "bytes sent": len(sent),
        "bytes that differ in the file": sum(a != b for a, b in zip(sent, stored, strict=True)),
        "fields that differ": on_disk.changed_fields(sent, stored),
        "base offset, sent and stored": [int.from_bytes(each[:8]) for each in (sent, stored)],
        "checksum, stored": stored[17:21].hex(),
        "it is right": on_disk.checksum_is_right(stored),
    }


outcome = lab.both(what_the_broker_writes)
display(outcome)
lab.verdict("02-3", outcome)

# %% [markdown]
# The leader writes two fields: the base offset, and its epoch. Both stand before the checksum, so
# that it stays right. All else goes from the network to the disk as it came, to the followers as it
# lies there, and to consumers: one format everywhere. That is why the same records give the same
# bytes on the engine and on Kafka, but for times and ids, and why a broker can serve more than it
# could unpack. With `LogAppendTime` the broker puts its own time in, and a new checksum.
#
# ## A sparse index
#
# An offset is a number of a record, and a file has positions. Beside each `.log` lies an `.index` that
# leads from one to the other, and a `.timeindex` from a timestamp to an offset. Here 300 records lie
# in 300 batches, each with a later timestamp than the one before. `index.interval.bytes` is 4,096.

# %% 02-4 tags=["stub", "predict"]
lab.predict("02-4")

# %% 02-4 tags=["solution", "predict"]
lab.predict("02-4", "c")

# %% sparse tags=["both"]
count, index_interval = 300, 4096  # also 1024
start_ms = requests.now_ms() - 600_000


def sparse(cluster):
    cluster.create_topic("positions", config={"index.interval.bytes": index_interval})
    times = [start_ms + 1_000 * number for number in range(count)]
    writing.one_by_one(cluster, "positions", ["x" * 1_000] * count, times, acks="1")
    offsets, timestamps = on_disk.entries(cluster, "positions")
    return {
        "batches": len(on_disk.headers(cluster, "positions")),
        "bytes of .log": len(on_disk.log_bytes(cluster, "positions")),
        "entries of .index": offsets,
        "entries of .timeindex": timestamps,
    }


outcome = lab.both(sparse)
display(outcome)
lab.verdict("02-4", outcome)

# %% [markdown]
# One entry for every 4 kB of log, not for every record: an entry of eight bytes for each 4,096, so
# that the indexes of a terabyte fit in memory. An entry leads near the record, and the broker reads
# batch headers from there on. A look-up of an offset never opens a batch. The next cell writes a smaller
# log; follow the search read by read, then choose another offset, or a time.

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
# For a timestamp there is one step more: the time index gives an offset, the offset index a position,
# and then a batch is decoded. In a real broker's folder the indexes of the newest segment take 10 MB
# each: Kafka reserves their space, and cuts them when the segment ends.
#
# ## When a segment ends
#
# A partition is a series of segments, and only the last one is written to. A segment ends when it
# would grow beyond `segment.bytes` (1 GiB), when it is older than `segment.ms` (a week), or when an
# index is full. Here `segment.ms` is an hour, and four records are sent within a second. Their
# timestamps lie 0, 30, 90 and 120 minutes after the first.

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
# A segment's age is measured by its records' own timestamps, from its first to the one that comes;
# that way all replicas end it at the same place. The record of minute 90 found the first segment too
# old, and began a new one, which has its offset as its name. So the name says which file holds an
# offset. Nothing ends a segment while nothing is written: an idle topic keeps its one segment, and
# retention removes only whole segments, the active one when every record in it is too old.
#
# ## From the middle of a batch
#
# 400 lines of real text go into one batch, compressed with gzip. A consumer wants to start at offset
# 250. The run sends its Fetch by hand and looks into the answer.

# %% 02-6 tags=["stub", "predict"]
lab.predict("02-6")

# %% 02-6 tags=["solution", "predict"]
lab.predict("02-6", 0)

# %% from-the-middle tags=["both"]
codec, wanted = "gzip", 250  # also "none", and 399
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
# The batch is the unit of everything: of the codec, the checksum, the index, the fetch. A broker does
# not take one apart, compressed or not. It sends the whole batch, and the client drops the 250 records
# that it did not ask for. In a compressed batch a record has no place in the file at all.
#
# ## Delete records
#
# A request of the admin client, DeleteRecords, moves the start of a log. A partition has ten records,
# 0 to 9, and everything below offset 4 is deleted. Then one more record is sent.

# %% 02-7 tags=["stub", "predict"]
lab.predict("02-7")

# %% 02-7 tags=["solution", "predict"]
lab.predict("02-7", 10)

# %% delete-records tags=["both"]
count, below = 10, 4


def delete_records(cluster):
    cluster.create_topic("orders")
    writing.one_by_one(cluster, "orders", [f"order {number}" for number in range(count)])
    before = len(on_disk.log_bytes(cluster, "orders"))
    admin = clients.admin(cluster)
    cut = TopicPartition("orders", 0, below)
    admin.delete_records([cut])[cut].result(20)
    first = writing.messages(cluster, "orders")[0]
    after = len(on_disk.log_bytes(cluster, "orders"))
    (new,) = writing.one_by_one(cluster, "orders", ["one more"])
    return {
        "first offset that a consumer gets": first.offset(),
        "its value": first.value().decode(),
        "bytes of the file, before and after": [before, after],
        "offset of the next record": new,
    }


outcome = lab.both(delete_records)
display(outcome)
lab.verdict("02-7", outcome)

# %% [markdown]
# An offset belongs to its record, and no record moves up. The log now starts at 4, and the bytes
# below stay in the file until the whole segment can go. So a partition looks like an array, with two
# differences: its start moves, and some indices may be empty. Compaction leaves such gaps, and so does
# the end of a transaction (*Deeper: Gaps*).
#
# ## Read the code that did it
#
# The binary search in an index, the search in a segment, and the rule that ends one.

# %% code tags=["read"]
from engine.storage.offset_index import OffsetIndex
from engine.storage.segment import Segment

lab.show(OffsetIndex.lookup, Segment.find, Segment.should_roll)

# %% [markdown]
# ## Break it
#
# A disk goes bad: one bit of the leader's file flips. Say which reader will notice before you run the
# cell. `position` is a byte of the file. Try:
#
# * 70, in a record's value: `clients.values(cluster, "damaged")` checks no checksum
# * 15, the leader epoch: outside the checksum
# * 3, the base offset: is the record still found?
# * 42, the largest timestamp

# %% break-it tags=["live"]
position = 70

cluster = lab.engine(settings=lab.BRISK)
cluster.create_topic("damaged", assignment={0: [101]})
for value in (b"prepared", b"shipped"):
    batch = writing.made([value], requests.now_ms(), bare=True)
    writing.as_one_batch(cluster, "damaged", batch)
print("a bit flipped in:", on_disk.flip(cluster, "damaged", position))
panel = lab.segments(cluster, "damaged", broker=101)
panel.open_batch(0, 0)
panel

# %% [markdown]
# ## Your turn
#
# Write your answer over the stub, run it, then run the check. `lab.hint("02-8")` gives three hints and
# then a solution.
#
# **02-8, a number in a record.** Lengths and deltas inside a record are *zigzag varints*. Seven bits
# of a byte count, the lowest first, and its top bit says that another byte follows. The number that
# comes out stands for 0, -1, 1, -2, 2, … in this order. Return the number at the start of `data`, and
# how many bytes it takes.
#
# **02-9, where the scan begins.** `entries` are the pairs (offset, position) of an `.index`, in
# ascending order. From which position does a broker scan for `offset`?
#
# **02-10, the file that holds an offset.** `bases` are the base offsets of a partition's segments, in
# any order; `log_start` is its first offset, and `log_end` the one that the next record gets. Return
# the name of the `.log` file in which the record `offset` lies, or None if there is no such record.


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
# The order of appends inside a partition; a consumer reads it by rising offsets. Nothing between
# partitions. For one producer, send order is append order if it is idempotent (the default in Java
# since 3.0) or has one request in flight.
# <i>Follow-up:</i> you need one order over all records. <b>Weak:</b> "Kafka keeps order." <b>Good:</b>
# per partition. <b>Strong:</b> names retries, one partition or a sequence number of the application,
# and the price. Evidence: <a href="#Which-order?">Which order?</a>
# </details>
# <details><summary><b>2. How does a broker find offset 1,234,567?</b></summary>
# The segment by its name, a binary search in its sparse index, then header by header to the batch.
# <i>Follow-up:</i> and a timestamp? <b>Weak:</b> "an offset is a position in the file." <b>Good:</b>
# index, then scan. <b>Strong:</b> index.interval.bytes, that the batch goes out whole, and that the
# time index gives an offset first. Evidence: <a href="#A-sparse-index">A sparse index</a>.
# </details>
# <details><summary><b>3. Why is Kafka fast, although everything goes to disk?</b></summary>
# Appends and reads in order, batches, one format from producer to consumer, the page cache, sendfile.
# <i>Follow-up:</i> what does TLS change? <b>Weak:</b> "it keeps data in memory." <b>Good:</b> names
# three of these. <b>Strong:</b> acknowledged is not flushed, so safety comes from replicas, and what
# makes a broker rewrite batches. Evidence: <a href="#Deeper:-The-disk-and-the-page-cache">The disk and
# the page cache</a>.
# </details>
# <details><summary><b>4. Describe a record and a batch.</b></summary>
# A record: key, value (both may be null), timestamp, headers, and its distances to the batch. A batch:
# base offset, leader epoch, checksum, codec, times, producer id and sequence, count.
# <i>Follow-up:</i> what does the broker change? <b>Weak:</b> "the broker adds an offset to each
# record." <b>Good:</b> the fields. <b>Strong:</b> what the checksum leaves out, and why.
# Evidence: <a href="#What-the-broker-writes">What the broker writes</a>.
# </details>
# <details><summary><b>5. retention.ms is a day, and records of last week are still there. Why?</b></summary>
# Retention removes whole segments, by the largest timestamp in each: one new record in the active
# segment keeps all of them.
# <i>Follow-up:</i> what would you set? <b>Weak:</b> "the cleaner is slow." <b>Good:</b> segments.
# <b>Strong:</b> segment.ms, one future timestamp that holds a segment, and what tiny segments cost.
# Evidence: <a href="#When-a-segment-ends">When a segment ends</a>.
# </details>
# <details><summary><b>6. A reader stops at offset 41 with a corrupt record. What happened?</b></summary>
# <pre>Dumping orders-0/00000000000000000000.log
# baseOffset: 38 lastOffset: 39 count: 2 … position: 3112 … magic: 2 … crc: 2817651 isvalid: true
# baseOffset: 40 lastOffset: 44 count: 5 … position: 3268 … magic: 2 … crc: 9140277 isvalid: false
# baseOffset: 45 lastOffset: 45 count: 1 … position: 3611 … magic: 2 … crc: 5120038 isvalid: true</pre>
# The bytes of one batch are not those that the producer sent; the batches around it are whole. That is
# a disk, or memory on the way, not a lost append. All five records are unreadable for clients that
# check. Look at the other replicas: their files are their own, and moving the leader mends the reader.
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
# Six partitions with two replicas each on three brokers, and a second topic beside them.

# %% places tags=["both"]
lab.both(topic_scenes.places)

# %% [markdown]
# There is no folder for a topic, only one for each replica of a partition, under `log.dirs` (by default
# `/tmp/kafka-logs`, which a reboot may empty). Each broker leads two of the six and holds a third of
# the bytes: so a topic can outgrow a machine. A record is found by topic, partition and offset; the
# offset alone says nothing.

# %% names tags=["both"]
lab.both(topic_scenes.names)

# %% [markdown]
# Since 2.8 (KIP-516) a topic also has an id. A topic that was deleted and made again has another one,
# and a broker with files of the old one cannot take them for the new one's.

# %% [markdown]
# ## Deeper: Any bytes
#
# JSON, bytes of chance, no key, an empty key, no value.

# %% opaque tags=["both"]
lab.both(topic_scenes.opaque)

# %% [markdown]
# Keys and values are bytes, and the broker looks at neither. No value (a *tombstone*) and an empty one
# are two things, and so are no key and an empty key. The number 2 as text and as four bytes are two
# keys, with two partitions: agree on the format of keys as well as on that of values. A topic
# resembles a table's change log more than a table: you can add a row, and change none.

# %% [markdown]
# ## Deeper: A batch, field by field
#
# Ten records behind three others, one of an idempotent producer, and each codec.

# %% batch-fields tags=["both"]
lab.both(segment_scenes.batch_fields)

# %% [markdown]
# Format 2 is the only one since 4.0 (KIP-724). The base offset is 3, where the file ends with 2; the
# producer had sent 0. Ten offsets and ten times take two bytes a record instead of sixteen. The
# checksum covers all that stands behind it, and the epoch stands before.

# %% codec-bits tags=["both"]
lab.both(segment_scenes.codec_bits)

# %% [markdown]
# Bits 0 to 2 of the attributes name the codec, and each codec begins with its own magic bytes. Bit 3
# says whose clock it was, 4 that the batch is part of a transaction, 5 that it is a control batch, and
# 6 that its base timestamp is a delete horizon (KIP-534). Kafka's snappy has a frame of its own.

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
# The same records give the same bytes on both sides. A codec works on the records of a whole batch,
# and the header of 61 bytes stays readable. How much it saves depends on the text and on the batch
# (lesson 03 measures small batches, and the time that a codec takes).

# %% bad-disk tags=["both"]
lab.both(segment_scenes.bad_disk)

# %% [markdown]
# A broker sends what its file holds and does not compute the checksum for a consumer; it does so for
# every batch that a producer sends, and a follower for what it fetches. Java's consumer checks by
# default, librdkafka only with `check.crcs=true`.

# %% [markdown]
# ## Deeper: Whose clock?
#
# A record of yesterday in two topics, one of two hours ahead, and a look-up by time in a log whose
# timestamps do not ascend.

# %% whose-clock tags=["both"]
lab.both(topic_scenes.whose_clock)

# %% [markdown]
# The default is CreateTime: the time that the producer set, however old. More than an hour ahead is
# refused (`message.timestamp.after.max.ms`, KIP-937). A look-up by time gives the first offset with
# that time or a later one; records behind it may be earlier.

# %% [markdown]
# ## Deeper: Settings of a segment
#
# The indexes, the sizes, and two settings that the engine takes without effect.

# %% segment-settings tags=["both"]
lab.both(segment_scenes.segment_settings)

# %% [markdown]
# Half the interval, twice the entries. An index of 60 bytes is full after a few entries, and the
# segment ends with it. The smallest `segment.bytes` is 1 MiB since 4.0 (KIP-1030). `preallocate`
# reserves the whole file on Kafka. A topic with a codec of its own makes the broker compress again,
# and then the bytes are no longer the producer's.

# %% asked-for tags=["both"]
lab.both(segment_scenes.asked_for)

# %% [markdown]
# `message.format.version` and `message.downconversion.enable` went in 4.0 with the old formats,
# `message.timestamp.difference.max.ms` gave way to `.before.max.ms` and `.after.max.ms`.
# `segment.jitter.ms` spreads the ends of segments that began together; the engine takes it and does
# not spread.

# %% [markdown]
# ## Deeper: What survives
#
# Two logs without a second replica. One broker is killed, the other one stopped cleanly; both are
# started again. On Kafka that takes some seconds.

# %% kept tags=["both"]
lab.both(segment_scenes.kept)

# %% [markdown]
# A process that dies takes nothing along: the bytes are in the operating system's page cache, and it
# writes them. A power cut is another matter: what was not flushed is lost on that machine (lesson 06).
# Kafka flushes when a segment ends and at a clean stop, and writes down how far in
# `recovery-point-offset-checkpoint`. `flush.messages` and `flush.ms` are so large by default that they
# never act; replicas are what makes an acknowledged record safe. (The engine takes these two without
# effect.)

# %% [markdown]
# ## Deeper: The disk and the page cache
#
# Ratios on this machine, medians of three. They take a second.

# %% the-disk tags=["live"]
found = machine.ratios(16 << 20)
bars = {"this machine": list(enumerate(found.values()))}
title = "How many times the first costs of the second"
display(Chart(title, bars, "the lines below", "times", kind="bars", log_y=True))
for number, (name, ratio) in enumerate(found.items()):
    print(f"{number}  {name:<32}{ratio:8.1f}")

# %% [markdown]
# *Sequential access is thousands of times faster* was measured on spinning disks. Writes go to the page
# cache first, and there the order hardly matters. Reads that the cache cannot serve show the disk, and
# the kernel reads ahead only for those in order. By far the most expensive thing is to wait for the
# disk after each block, so Kafka does not. It also keeps no cache in its own memory: the page cache is
# one already, as large as the free memory, and it survives a restart of the broker. The kernel writes
# dirty pages by age (30 s) and by their share of memory, not only when memory is full.

# %% zero-copy tags=["live"]
kafka = lab.real()
before = machine.dirty_kb()
if kafka is not None:
    kafka.create_topic("positions")
    writing.one_by_one(kafka, "positions", ["x" * 50_000] * 300, acks="1")
print(f"dirty pages: {before:,} kB before, {machine.dirty_kb():,} kB after")
print(machine.system_calls(kafka, "positions") if kafka else lab.real_absence())

# %% [markdown]
# The new pages are *dirty*: acknowledged, and not on the disk yet. `sendfile` tells the kernel to send a
# part of a file: the bytes never enter the broker's memory. A fetch reads a header or two itself. That
# works because the file holds what the consumer wants, byte for byte. With TLS they must be encrypted
# first, and a Kafka broker reads them after all. The engine reads and sends.

# %% [markdown]
# ## Deeper: Order and its price
#
# The same numbers through one partition and two; and what shares a request.

# %% ordered tags=["both"]
lab.both(topic_scenes.ordered)

# %% [markdown]
# One partition keeps the whole order, and has one leader and one reader per group. A request may carry
# a batch for each of many partitions, and each batch belongs to one.

# %% speed tags=["both"]
lab.both(topic_scenes.speed)

# %% [markdown]
# On one small machine, more partitions bring no more: all brokers share its two cores. On three
# machines they would. What is stored does not matter to an append; old reads, a recovery and the move
# of a replica do grow with it. A batch of one record is mostly header.
#
# To put records of several partitions into one order, an application needs something better than clocks:

# %% merged tags=["sim"]
skew_ms = 40  # how far the second partition's clock is behind; also 0

events = merging.events(count=20, partitions=2, skew_ms=skew_ms)
for rule in ("timestamp", "sequence"):
    print(
        f"merged by {rule}: {merging.inversions(merging.merged(events, rule))} pairs out of order"
    )

# %% [markdown]
# ## Deeper: Gaps
#
# Two transactions of three records each.

# %% gaps tags=["both"]
lab.both(segment_scenes.gaps)

# %% [markdown]
# Offset 3 is the marker that ends the first transaction: a control batch (bits 4 and 5) with a record
# that no application gets. So offsets rise, and are not always next to each other. Compaction makes
# gaps, too, and leaves a batch's first and last offset as they were (lesson 12).

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | Kafka guarantees the order of messages | inside a partition; with retries only if the producer is idempotent or has one request in flight | [Which order?](#Which-order?) |
# | offsets are not necessarily rising | they rise strictly, and may have gaps | [Gaps](#Deeper:-Gaps) |
# | a partition is one log file | a folder with a series of segments, three files each | [Topics, folders, names](#Deeper:-Topics,-folders,-names) |
# | records are never changed or deleted | never changed; retention, compaction and DeleteRecords remove | [Delete records](#Delete-records) |
# | a topic is a table | it is a table's change log | [Any bytes](#Deeper:-Any-bytes) |
# | the value is mandatory | it may be null | [Any bytes](#Deeper:-Any-bytes) |
# | the timestamp is the time of arrival | the producer's, unless `message.timestamp.type=LogAppendTime` | [Whose clock?](#Deeper:-Whose-clock?) |
# | everything is on disk, nothing in memory | in the page cache first, and the kernel decides when it is written | [The disk](#Deeper:-The-disk-and-the-page-cache) |
# | sequential access is thousands of times faster | on spinning disks; see the ratios of this machine | [The disk](#Deeper:-The-disk-and-the-page-cache) |
# | the bytes are never modified, so zero copy | with `compression.type=producer` and without TLS | [Settings](#Deeper:-Settings-of-a-segment) |
# | the page cache is written when it is full | by age and by share, too | [The disk](#Deeper:-The-disk-and-the-page-cache) |
# | `log.segment.bytes=1000` to try rolling | refused: the smallest is 1 MiB since 4.0 | [Settings](#Deeper:-Settings-of-a-segment) |
# | `message.format.version`, `message.downconversion.enable` | gone in 4.0 | [Settings](#Deeper:-Settings-of-a-segment) |
# | `message.timestamp.difference.max.ms` | gone in 4.0; two settings took its place | [Whose clock?](#Deeper:-Whose-clock?) |
# | five attribute bits | six: bit 6 marks a delete horizon | [A batch](#Deeper:-A-batch,-field-by-field) |
#
# **What real Kafka does beyond this.** It maps indexes into memory and reserves their space; it
# compresses again when a topic names a codec; it preallocates; it sends with `sendfile`.
