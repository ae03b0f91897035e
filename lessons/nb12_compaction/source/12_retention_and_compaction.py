# %% [markdown]
# # 12 · Retention and compaction
#
# A log that only grows fills the disk. Kafka has two ways to forget: *retention* deletes old
# segments as a whole, and *compaction* rewrites segments and keeps the last value of each key.
# Neither checks whether anyone has read the records.
#
# **What you will be able to do**
#
# * say which records a size limit and a time limit remove, and which stay longer
# * say what a consumer gets when retention has overtaken it
# * read a compacted log: its gaps, its tombstones, and the part that is still dirty
# * say when the cleaner begins, and follow a pass step by step
# * rebuild a table from a compacted topic
# * say what a deletion promises after a crash, and what it does not
#
# **Time:** {minutes}. Python alone is enough; if real Kafka is available, most runs happen on both
# the engine and Kafka.
#
# ## A size limit
#
# A partition is a series of *segments*, files of records; only the last one, the *active* segment,
# is written to (lesson 02). `retention.bytes` limits a partition's bytes; by default there is no
# limit. The next run writes 20 records of 170 bytes each. A segment holds four of them, so segments
# begin at 0, 4, 8, 12 and 16. Then the limit is set to 1,500 bytes.

# %% doorway tags=["setup"]
import time
from contextlib import closing

from confluent_kafka import TopicPartition

from kit import lab
from kit.drawings.watched import Watched
from kit.probes import clients
from lessons.nb12_compaction import passes, records, scenes, virtual_runs

# %% 12-1 tags=["stub", "predict"]
lab.predict("12-1")

# %% 12-1 tags=["solution", "predict"]
lab.predict("12-1", 8)

# %% by-size tags=["both"]
limit = 1_500  # also 1_300 and 3_000
segment_bytes = 700  # four records; also 350


def by_size(cluster):
    config = {"internal.segment.bytes": segment_bytes, "retention.ms": -1}
    cluster.create_topic("orders", replicas=1, config=config)
    records.write(cluster, "orders", [(None, "x" * 100)] * 20)
    before = passes.segments(cluster, "orders")
    default = scenes.config_of(cluster, "orders", "retention.bytes")
    passes.alter(cluster, "orders", retention_bytes=limit)
    passes.wait_for_retention(cluster, "orders")
    return {
        "retention.bytes by default": default,
        "segments before": before,
        "segments after": passes.segments(cluster, "orders"),
        "first offset that a consumer gets": passes.first_offset(cluster, "orders"),
        "bytes left": passes.size(cluster, "orders"),
        "limit": limit,
        "a fetch of offset 13 brings": [b.offset for b in records.batches(cluster, "orders", 13)],
    }


outcome = lab.both(by_size)
display(outcome)
lab.verdict("12-1", outcome)

# %% [markdown]
# Retention deletes whole segments, the oldest first, and only while the others still add up to at
# least the limit. So a partition keeps up to one segment more than `retention.bytes`; it also keeps
# what arrives before the next check. By default, the broker checks every five minutes (here, four
# times a second). The limit applies to each partition: 8 partitions of 1 GB with three replicas
# take 24 GB, plus up to 24 segments. A record in the middle of the log is found at once, because
# the file names show which segment has it. A fetch stops at the end of that segment.
#
# `internal.segment.bytes` makes segments small enough for a lesson. The official `segment.bytes` is
# 1 GiB by default, and cannot be less than 1 MiB. Here is an operator's view: the topic, a line
# from the broker's log (on the engine, from its trace), and the files that remain. Choose a segment
# in the panel, then a batch.

# %% watch-files tags=["live"]
cluster = lab.engine(settings=lab.BRISK)
by_size(cluster)
leader = cluster.leader("orders")
display(lab.tool(cluster, "kafka-topics", "--describe", "--topic", "orders"))
display(lab.broker_log(cluster, leader, "deleted orders-0", last=2))
lab.segments(cluster, "orders")

# %% [markdown]
# ## A time limit
#
# `retention.ms` is a week by default. In the next run it is an hour. A segment holds two records.
# In log order, the records' ages in minutes are 300 and 290, then 280 and 5, then 200 and 190, then
# 180 and 170, and 160 in the active segment.

# %% 12-2 tags=["stub", "predict"]
lab.predict("12-2")

# %% 12-2 tags=["solution", "predict"]
lab.predict("12-2", 2)

# %% by-time tags=["both"]
ages = [300, 290, 280, 5, 200, 190, 180, 170, 160]  # also 270 in place of 5, and -50
retention_ms = 3_600_000


def by_time(cluster):
    cluster.create_topic("orders", replicas=1, config={"internal.segment.bytes": 200})
    records.write(cluster, "orders", [(None, f"{age} minutes") for age in ages], ages)
    before = passes.segments(cluster, "orders")
    default = scenes.config_of(cluster, "orders", "retention.ms")
    passes.alter(cluster, "orders", retention_ms=retention_ms)
    passes.wait_for_retention(cluster, "orders")
    left = records.read(cluster, "orders")
    return {
        "retention.ms by default": default,
        "segments before": before,
        "segments after": passes.segments(cluster, "orders"),
        "first offset": passes.first_offset(cluster, "orders"),
        "records left": [each.value for each in left],
        "older than an hour": sum(age > 60 for age in ages[len(ages) - len(left) :]),
        "end of the log": len(ages),
    }


outcome = lab.both(by_time)
display(outcome)
lab.verdict("12-2", outcome)

# %% [markdown]
# A segment is as old as the *newest* timestamp in it, so the record from five minutes ago keeps the
# one beside it. Deletion stops at the first segment that stays, so everything after it stays too.
# With 270 in place of 5, every segment is old. Then all of them go, even the active one: the broker
# starts a new segment first. A timestamp in the future (try -50) keeps its segment until that time
# has come and `retention.ms` has passed after it.
#
# So a record is kept for `retention.ms` or longer only if its timestamp is true: one that is
# already old when it is written can go within minutes. A quiet topic's active segment ends only
# after `segment.ms` (also a week by default), so a record can stay for almost two weeks.
#
# ## The last value of each key
#
# With `cleanup.policy=compact` the broker's *cleaner* may remove a record once a later one has the
# same key. Here each segment holds two records. Nine records are written, at offsets 0 to 8:
#
# | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
# |---|---|---|---|---|---|---|---|---|
# | a=1 | b=1 | a=2 | c=1 | b=2 | a=3 | d=1 | d=2 | c=2 |
#
# At first the cleaner is kept away. Then it cleans everything that it may touch.

# %% 12-3 tags=["stub", "predict"]
lab.predict("12-3")

# %% 12-3 tags=["solution", "predict"]
lab.predict("12-3", "3 4 5 7 8")

# %% last-values tags=["both"]
history = "a1 b1 a2 c1 b2 a3 d1 d2 c2"  # add d3 at its end, then e1
policy = "compact"  # also "compact,delete"


def last_values(cluster):
    config = {"cleanup.policy": policy, "internal.segment.bytes": 150}
    config |= {"min.cleanable.dirty.ratio": 1}
    cluster.create_topic("balances", replicas=1, config=config)
    records.write(cluster, "balances", [(each[0], each[1]) for each in history.split()])
    before = records.read(cluster, "balances")
    active = passes.segments(cluster, "balances")[-1]
    passes.clean(cluster, "balances")  # sets min.cleanable.dirty.ratio to 0
    left = records.read(cluster, "balances")
    return {
        "records before": len(before),
        "active segment from": active,
        "offsets left": [each.offset for each in left],
        "records left": [f"{each.key}={each.value}" for each in left],
        "table before": str(records.table(before)),
        "table after": str(records.table(left)),
    }


outcome = lab.both(last_values)
display(outcome)
lab.verdict("12-3", outcome)

# %% [markdown]
# Compaction drops individual records, and the others keep their offsets: a consumer that reaches a
# gap continues after it. Two records with key `c` are left. The pass never looks into the active
# segment, so it did not see the later one. Compaction promises this much: *at least* the last value
# of each key stays. A reader builds the same table before and after, but it cannot count on seeing
# every value.
#
# ## When a pass begins
#
# A *pass* of the cleaner rewrites the log from its beginning, which is costly. The part that was
# cleaned before is *clean*; the closed segments after it are *dirty*. The cleaner compares the
# share of dirty bytes, the *dirty ratio*, with `min.cleanable.dirty.ratio` (0.5).
#
# The next run is a simulation. Seventeen users are written: four segments of four records, and one
# record in the active segment. The four are cleaned, but nothing is removed, since each key occurs
# once. Then the first four users are written again and again. Each round fills one more segment,
# and the cleaner has three seconds to begin.

# %% 12-4 tags=["stub", "predict"]
lab.predict("12-4")

# %% 12-4 tags=["solution", "predict"]
lab.predict("12-4", 5)

# %% dirty-ratio tags=["sim"]
ratio, users = 0.5, 16  # also 0.2; and 8 users

world = lab.world(seed=12, settings={"log.cleaner.backoff.ms": 500})
config = {"internal.segment.bytes": 300, "min.cleanable.dirty.ratio": ratio}
world.create_topic("users", assignment={0: [101]}, config={"cleanup.policy": "compact", **config})
virtual_runs.put(world, "users", [(f"u{user:02}", "1") for user in range(users + 1)])
world.run(until=lambda w: len(virtual_runs.passes(w, "users")) == 1, for_s=30)
dirty = 0
while len(virtual_runs.passes(world, "users")) == 1 and dirty < 20:
    dirty += 1
    virtual_runs.put(world, "users", [(f"u{user:02}", str(dirty)) for user in range(4)])
    world.run(for_s=3)
begun = virtual_runs.passes(world, "users")
for each in begun:
    print(f"offsets {each['begin']} to {each['end'] - 1}: {each['why']};", end=" ")
    print(f"{each['records_before']} records before, {each['records_after']} after")
seen = {"dirty segments": dirty, "clean": users // 4, "ratio": ratio, "passes": len(begun)}
lab.verdict("12-4", seen)

# %% watch-pass tags=["read"]
panel = lab.segments(world, "users")
panel.goto(0)
panel.jump("101 has cleaned")  # the first pass
panel.jump("101 cleans")  # the second
panel

# %% [markdown]
# Four of eight segments make a ratio of 0.5, which is not *above* 0.5. So up to half of a log may
# be overwritten values, not counting the active segment. Two more settings change when a pass
# begins: `min.compaction.lag.ms` protects young records, and `max.compaction.lag.ms` forces a pass,
# however little is dirty (*Deeper: Lags*).
#
# The panel shows the same world. Step through it with the timeline's arrows. The pass first reads
# the dirty part and notes each key's last offset in its *offset map*. Then, from offset 0, it
# copies what stays into new files and swaps them in.
#
# ## Tombstones
#
# A record without a value is a *tombstone*: it deletes its key. `delete.retention.ms` (a day by
# default) sets how long a tombstone is kept once a pass has reached it. Here that time is 0. The
# log has `anna=Rome`, `bert=Oslo`, `bert` without a value, `anna=Bern`, and `carl=Bonn` in the
# active segment. The cleaner makes one pass.

# %% 12-5 tags=["stub", "predict"]
lab.predict("12-5")

# %% 12-5 tags=["solution", "predict"]
lab.predict("12-5", "b")

# %% tombstones tags=["both"]
delete_retention_ms = 0  # also 86_400_000, the default


def tombstones(cluster):
    config = {"cleanup.policy": "compact", "internal.segment.bytes": 200}
    more = {"min.cleanable.dirty.ratio": 1, "delete.retention.ms": delete_retention_ms}
    cluster.create_topic("cities", replicas=1, config={**config, **more})
    moves = [("anna", "Rome"), ("bert", "Oslo"), ("bert", None), ("anna", "Bern")]
    records.write(cluster, "cities", [*moves, ("carl", "Bonn")])
    before, at_first = records.read(cluster, "cities"), records.batches(cluster, "cities", 2)[0]
    passes.clean(cluster, "cities")
    once, then = records.read(cluster, "cities"), records.batches(cluster, "cities", 2)[0]
    records.write(cluster, "cities", [("carl", "Lima"), ("carl", "Nice")])  # a new active segment
    passes.wait_until_clean(cluster, "cities")
    twice = records.read(cluster, "cities")
    return {
        "before": [str(each) for each in before],
        "after one pass": [str(each) for each in once],
        "after another": [str(each) for each in twice],
        "of bert, after one pass": [e.value or "a tombstone" for e in once if e.key == "bert"],
        "of bert, after another": [e.value or "a tombstone" for e in twice if e.key == "bert"],
        "the tombstone's batch, before and after": [at_first.attributes, then.attributes],
        "table": str(records.table(twice)),
    }


outcome = lab.both(tombstones)
display(outcome)
lab.verdict("12-5", outcome)


# %% slow-reader tags=["read"]
# A reader pauses after bert=Oslo. How long a pause is safe?
def slow_reader(delete_retention_s=20, pause_s=30):
    world = lab.world(12, brokers=1, checked=False, settings={"log.cleaner.backoff.ms": 1_000})
    small = {"internal.segment.bytes": 200, "min.cleanable.dirty.ratio": 0.01}
    keeps = {"cleanup.policy": "compact", "delete.retention.ms": delete_retention_s * 1000}
    world.create_topic("cities", assignment={0: [101]}, config={**small, **keeps})
    virtual_runs.put(world, "cities", [("anna", "Rome"), ("bert", "Oslo")])
    reader = virtual_runs.Reader(world, "cities")
    reader.read()  # and now it is busy with something else
    watched = Watched(world, {
        "bert=Oslo is in the log": lambda w: ("bert", "Oslo") in virtual_runs.pairs(w, "cities"),
        "the tombstone is in the log": lambda w: ("bert", None) in virtual_runs.pairs(w, "cities"),
        "the reader has bert=Oslo": lambda w: "bert" in reader.table,
    })  # fmt: skip
    virtual_runs.put(world, "cities", [("bert", None), ("anna", "Bern")])
    for second in range(60):
        if second == pause_s:
            watched.mark("the reader goes on")
            reader.read()
        virtual_runs.put(world, "cities", [("carl", f"{second}")])
        world.run(for_s=1)
        watched.look()
    forever = "bert" in reader.table
    title = f"The reader {'never learns' if forever else 'learns'} that bert is gone"
    return watched.spans(title, bad=["the reader has bert=Oslo"] if forever else [])


lab.slider(slow_reader, delete_retention_s=(0, 10, 20, 40), pause_s=range(0, 56, 5))

# %% [markdown]
# The first pass removes the value and keeps the tombstone. It writes a *delete horizon* (now plus
# `delete.retention.ms`) into the batch, and sets the leftmost bit of the attributes above. The
# first pass after that time drops the tombstone, but a pass begins only if there is something
# dirty. The delay protects readers: one that has seen `Oslo` and takes longer than the delay to
# reach the tombstone might never learn that bert is gone. So `delete.retention.ms` is how long a
# reader can safely take to get from the beginning of the log to its end. Above, carl moves every
# second, so each pass has something dirty to clean.
#
# ## A table from a topic
#
# A service keeps the last amount of each of five users in memory, and writes each change to a
# compacted topic. There are 300 changes, and the users take turns. A segment holds 20 records.
# After every 100 changes, the cleaner cleans everything that it may touch. In the end the service
# crashes, and a new one reads the topic from its beginning.

# %% 12-6 tags=["stub", "predict"]
lab.predict("12-6")

# %% 12-6 tags=["solution", "predict"]
lab.predict("12-6", 25)

# %% rebuild tags=["both"]
users, changes, segment_bytes = 5, 300, 1_600  # 20 records; also 301 changes, or 8_000 bytes


def rebuild(cluster):
    config = {"cleanup.policy": "compact", "internal.segment.bytes": segment_bytes}
    cluster.create_topic("amounts", replicas=1, config=config)
    made = [(f"user-{number % users}", f"{number:03}") for number in range(changes)]
    memory, sizes = dict(made), []  # the first is what the service holds when it crashes
    for first in range(0, changes, 100):
        records.write(cluster, "amounts", made[first : first + 100])
        passes.clean(cluster, "amounts")
        sizes.append(passes.size(cluster, "amounts"))
    read, active = records.read(cluster, "amounts"), passes.segments(cluster, "amounts")[-1]
    end = read[-1].offset + 1
    records.write(cluster, "amounts", [("user-0", "999")])  # and the new service reads on
    went_on = read + records.read(cluster, "amounts", offset=end)
    return {
        "records written": end,
        "bytes after each 100 of them": sizes,
        "records that the new service reads": len(read),
        "of them in the active segment": end - active,
        "users": len(memory),
        "its table is the old one": records.table(read) == memory,
        "and with one more change": records.table(went_on) == {**memory, "user-0": "999"},
    }


outcome = lab.both(rebuild)
display(outcome)
lab.verdict("12-6", outcome)

# %% [markdown]
# The new service reads one record for each user, and the whole active segment. The topic is the
# table's *changelog*. Kafka Streams backs up its state in such topics, and consumer groups keep
# their offsets in one. The cost of a restore depends on the number of keys and on the dirty and
# active segments, not on the history: the bytes do not grow with the changes. So large segments
# make a restart slow, which is why Streams' changelogs have smaller ones. One code path serves both
# the restore and the updates: read from the beginning, then continue with new records.
#
# ## A deletion, and three crashes
#
# DeleteRecords moves the start of a log on request, however young its records are. The next run
# uses three replicas and three crashes; in the end, a broker that was cut off returns.
#
# 1. A to F are on 101, 102 and 103, at offsets 0 to 5. Broker 101 leads.
# 2. 101 is cut off and accepts x, y and z with acks=1, at offsets 6 to 8. It is killed. Another
#    broker leads.
# 3. G to L are written to the new leader, at offsets 6 to 11, with acks=all.
# 4. The other follower is killed and leaves the ISR. DeleteRecords below offset 10 is acknowledged,
#    so the log starts at 10.
# 5. The leader is killed at once. It starts again, leads again, and then 101 returns.

# %% 12-7 tags=["stub", "predict"]
lab.predict("12-7")

# %% 12-7 tags=["solution", "predict"]
lab.predict("12-7", "c")

# %% forgotten tags=["both"]
below = 10  # also 0: then nothing is deleted


def forgotten(cluster):
    cluster.create_topic("events", assignment={0: [101, 102, 103]})
    records.append(cluster, 101, "events", "ABCDEF", acks="all")
    cluster.isolate(101)
    records.append(cluster, 101, "events", "xyz", acks="1")
    cluster.kill(101)
    cluster.wait_until(lambda c: c.leader("events") in (102, 103))
    cluster.heal()
    leader = cluster.leader("events")
    records.append(cluster, leader, "events", "GHIJKL", acks="all")
    cluster.kill(205 - leader)  # the other follower
    cluster.wait_until(clients.in_sync("events", leader))
    answer = passes.delete_before(cluster, "events", below)
    cluster.kill(leader)
    cluster.start(leader)  # it leads again: the ISR has no other broker
    cluster.start(101)
    cluster.wait_until(clients.in_sync("events", 101, leader))
    return {
        "DeleteRecords answers": answer,
        "the leader holds": records.held(cluster, leader, "events"),
        "101 holds": records.held(cluster, 101, "events"),
    }


outcome = lab.both(forgotten)
display(outcome)
lab.verdict("12-7", outcome)

# %% [markdown]
# Two healthy brokers are in the ISR and hold different records at offsets 6, 7 and 8. Which of them
# a consumer reads depends on the leader. DeleteRecords moves the log start in memory only; that
# number is written to disk once a minute. But it trims the *leader epochs* (the list of which term
# wrote which offsets; lesson 07) on disk at once. The killed leader's disk had the trimmed list but
# not the new log start, so the records came back without the epochs that would have shown 101 where
# its history diverged.
#
# Only deleted records are affected. But a deletion that was acknowledged can be undone by a crash
# of all the in-sync replicas, and no log reports it. The tests of this project found this, and
# Kafka 4.3.1 behaves the same way; `docs/findings.md` has the analysis. If the law requires a
# deletion, trust it only after `log.flush.start.offset.checkpoint.interval.ms`, and keep more than
# one replica.
#
# ## Read the code that did it
#
# The code decides which segments may go, which log the cleaner takes next, and which of a batch's
# records stay.

# %% code tags=["read"]
from engine.storage import retention
from engine.storage.cleaner.log_to_clean import LogToClean, filthiest
from engine.storage.cleaner.record_filter import RecordFilter

lab.show(retention.deletable, LogToClean, filthiest, RecordFilter._kept)

# %% [markdown]
# ## Break it
#
# The broker is killed in the middle of a pass. First say what the disk holds at that moment, and
# whether the table survives. Then choose another moment.

# %% break-it tags=["sim"]
moment = "copied"  # also "mapped" and "swapped"

world = lab.world(seed=3, settings={"log.cleaner.backoff.ms": 500})
config = {"cleanup.policy": "compact", "internal.segment.bytes": 300}
world.create_topic("users", assignment={0: [101]}, config=config)
virtual_runs.put(world, "users", [(f"u{n % 3:02}", str(n % 10)) for n in range(17)])
world.run(until=lambda w: virtual_runs.reached(w, moment) > 0, for_s=30)
world.kill(101)  # also lose_power: what was not flushed is gone
print("on the disk:", ", ".join(virtual_runs.files(world, 101, "users")))
world.run(for_s=1)
world.start(101)
world.run(until=lambda w: len(virtual_runs.passes(w, "users")) > 0, for_s=30)
print("later:      ", ", ".join(virtual_runs.files(world, 101, "users")))
print("the table:  ", virtual_runs.table(world, "users"))
world.run(for_s=61)
print("a minute on:", ", ".join(virtual_runs.files(world, 101, "users")))

# %% [markdown]
# A new segment is written as a `.cleaned` file, which a starting broker throws away. When the file
# is complete and flushed, it becomes a `.swap` file, and a starting broker finishes the swap. At
# every moment at least one of the two is complete: the old segments or the new one. The old ones
# stay for a minute as `.deleted` files (`file.delete.delay.ms`).
#
# ## Your turn
#
# Replace the stub with your answer, run it, then run the check. `lab.hint("12-8")` gives three
# hints and then a solution.
#
# **12-8, how many segments go.** `segments` lists a log's closed segments and its active one,
# oldest first, each as [bytes, minutes since its newest record]. A limit of -1 means no limit, and
# a segment exactly at the time limit stays. How many segments, starting with the oldest, does
# retention delete? The active one may go as well if it holds records, and here it always does.
#
# **12-9, what is left.** `history` is a list of [offset, key, value]; a value of None is a
# tombstone. The active segment begins at offset `active`. Nothing has been cleaned before. Return
# the offsets that are left after the first pass.
#
# **12-10, which log is next.** `logs` is a dictionary that maps each name to [clean bytes, dirty
# bytes]. Return the name of the log that the cleaner takes next, or None. One minimum ratio applies
# to all the logs. No two logs here have the same dirty ratio.


# %% 12-8 tags=["stub"]
def deleted(segments, limit_bytes, limit_minutes):
    """How many of the oldest segments retention deletes."""


# %% 12-8 tags=["solution"]
def deleted(segments, limit_bytes, limit_minutes):
    """How many of the oldest segments retention deletes."""
    left = sum(size for size, _ in segments)
    for number, (size, minutes) in enumerate(segments):
        too_much = limit_bytes >= 0 and left - size >= limit_bytes
        too_old = limit_minutes >= 0 and minutes > limit_minutes
        if not (too_much or too_old):
            return number
        left -= size
    return len(segments)


# %% 12-8 tags=["check"]
lab.check("12-8", deleted)


# %% 12-9 tags=["stub"]
def left_by_a_pass(history, active):
    """The offsets that are left after the first pass."""


# %% 12-9 tags=["solution"]
def left_by_a_pass(history, active):
    """The offsets that are left after the first pass."""
    latest = {key: offset for offset, key, _ in history if offset < active}
    return [offset for offset, key, _ in history if offset >= active or latest[key] == offset]


# %% 12-9 tags=["check"]
lab.check("12-9", left_by_a_pass)


# %% 12-10 tags=["stub"]
def next_to_clean(logs, minimum):
    """The name of the log that the cleaner takes next, or None."""


# %% 12-10 tags=["solution"]
def next_to_clean(logs, minimum):
    """The name of the log that the cleaner takes next, or None."""
    ratios = {name: dirty / (clean + dirty) for name, (clean, dirty) in logs.items()}
    due = [name for name, ratio in ratios.items() if ratio > minimum]
    return max(due, key=ratios.get, default=None)


# %% 12-10 tags=["check"]
lab.check("12-10", next_to_clean)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. How long does Kafka keep a record?</b></summary>
# Until retention removes its segment: by time (a week by default), by size (no limit by default),
# by both or by neither; or, with compaction, until a later record with the same key has been
# cleaned. Reading changes nothing. <i>Follow-up:</i> retention.ms is a day, and there are records
# from last month. Why? <b>Weak:</b> "until it was read" or "seven days". <b>Good:</b> time, size,
# compaction, whole segments. <b>Strong:</b> the newest timestamp of a segment, the active segment,
# future timestamps, segment.ms. Evidence: <a href="#A-time-limit">A time limit</a>.
# </details>
# <details><summary><b>2. How large can a topic become with retention.bytes?</b></summary>
# Partitions × replicas × (retention.bytes + a segment), plus what arrives between two checks.
# <i>Follow-up:</i> what happens when the disk is full? <b>Weak:</b> "retention.bytes." <b>Good:</b>
# per partition. <b>Strong:</b> the extra segment, the check interval, and that a full disk takes
# the log directory offline and deletes nothing. Evidence: <a href="#A-size-limit">A size limit</a>.
# </details>
# <details><summary><b>3. What does compaction guarantee?</b></summary>
# Order and offsets stay; at least the last value of each key stays; a reader that reads from the
# beginning to the end within delete.retention.ms also sees every deletion. <i>Follow-up:</i> why
# are there still two records of one key? <b>Weak:</b> "one record per key." <b>Good:</b> the last
# value stays. <b>Strong:</b> dirty part, active segment, tombstones, no promise to see each value.
# Evidence: <a href="#The-last-value-of-each-key">The last value of each key</a>.
# </details>
# <details><summary><b>4. How do you delete one user's data from a compacted topic?</b></summary>
# With a tombstone for the key. Once its segment has ended, one pass removes the values, and
# another, after delete.retention.ms, the tombstone. max.compaction.lag.ms bounds the first pass.
# <i>Follow-up:</i> and on the followers, in mirrors, in backups? <b>Weak:</b> "send null."
# <b>Good:</b> tombstone and cleaner.
# <b>Strong:</b> the time until the bytes are gone, file.delete.delay.ms, and the readers' copies.
# Evidence: <a href="#Tombstones">Tombstones</a>.
# </details>
# <details><summary><b>5. A service restarts, and its state takes an hour to load. What do you look at?</b></summary>
# How many records it reads for each key that it keeps: the changelog's dirty ratio, segment.bytes,
# lags, and whether the cleaner is alive at all. <i>Follow-up:</i> what would you change first?
# <b>Weak:</b> "more partitions." <b>Good:</b> dirty ratio and segments. <b>Strong:</b> a standby, a
# local checkpoint, and the cleaner's uncleanable partitions. Evidence:
# <a href="#A-table-from-a-topic">A table from a topic</a>.
# </details>
# <details><summary><b>6. The disk is full, and this topic has retention.ms of an hour. Why?</b></summary>
# <pre>Topic: clicks  PartitionCount: 1  ReplicationFactor: 3
#   Configs: cleanup.policy=compact,retention.ms=3600000,min.cleanable.dirty.ratio=0.5,segment.bytes=1073741824
#   Topic: clicks  Partition: 0  Leader: 101  Replicas: 101,102,103  Isr: 101,102,103</pre>
# cleanup.policy is compact, so retention.ms does nothing. Each click has a new key, so compaction
# removes nothing either. Use delete, or compact,delete. Evidence:
# <a href="#Deeper:-Both-policies">Both policies</a>.
# </details>
#
# ## Quiz
#
# Several letters are right.

# %% 12-11 tags=["stub", "predict", "quiz"]
lab.quiz("12-11")

# %% 12-11 tags=["solution", "predict", "quiz"]
lab.quiz("12-11", "a", "c")

# %% 12-12 tags=["stub", "predict", "quiz"]
lab.quiz("12-12")

# %% 12-12 tags=["solution", "predict", "quiz"]
lab.quiz("12-12", "b", "d")

# %% [markdown]
# ## Deeper: A table in Python
#
# A service keeps the users' cities in a dictionary. Four records are in its topic: anna is in Rome,
# bert in Oslo, carl has an empty value, and the last one is bert's tombstone. The service's loop is
# in the cell below the question.

# %% 12-13 tags=["stub", "predict"]
lab.predict("12-13")

# %% 12-13 tags=["solution", "predict"]
lab.predict("12-13", "c")

# %% python-table tags=["both"]
history = [("anna", "Rome"), ("bert", "Oslo"), ("carl", ""), ("bert", None)]


def python_table(cluster):
    cluster.create_topic("users", replicas=1, config={"cleanup.policy": "compact"})
    records.write(cluster, "users", history)
    cities, until = {}, time.monotonic() + 20
    with closing(records.reader(cluster)) as consumer:
        place = [TopicPartition("users", 0, 0)]
        consumer.assign(place)
        while consumer.position(place)[0].offset < len(history) and time.monotonic() < until:
            message = consumer.poll(1.0)
            if not message:
                continue
            key, value = message.key().decode(), message.value()
            if value is None:
                cities.pop(key, None)
            else:
                cities[key] = value.decode()
    return {
        "records in the topic": len(records.read(cluster, "users")),
        "the table by the loop": [f"{key}={value}" for key, value in cities.items()],
        "the table": [f"{k}={v}" for k, v in records.table(records.read(cluster, "users")).items()],
    }


outcome = lab.both(python_table)
display(outcome)
lab.verdict("12-13", outcome)

# %% [markdown]
# In confluent-kafka, `len(message)` is the length of the value, and Python treats an object of
# length 0 as false. So a message without a value, and one with an empty value, both look like
# *nothing has arrived*. bert stays in the table for good, carl never gets in, and there is no
# error. Write `if message is None` instead, and run the cell again.

# %% [markdown]
# ## Deeper: Retention does not wait
#
# In the first run, a consumer pauses while a burst of 40 records arrives, and then goes on. In the
# second one, a group has committed offset 3, and its consumer is offline. A size limit then removes
# offsets 0 to 7; the log ends at 20. The consumer starts again. Its `auto.offset.reset` is
# `latest`, the default.

# %% overtaken tags=["both"]
reset = "latest"  # also "earliest" and "error", which Java's client calls "none"


def overtaken(cluster):
    config = {"internal.segment.bytes": 700, "retention.ms": -1}
    cluster.create_topic("orders", replicas=1, config=config)
    records.write(cluster, "orders", [(None, "x" * 100)] * 20)
    records.commit(cluster, "orders", "billing", 3)
    waiting = len(records.read(cluster, "orders", offset=3))
    passes.alter(cluster, "orders", retention_bytes=1_500)
    passes.wait_for_retention(cluster, "orders")
    goes_on, error = records.go_on(cluster, "orders", "billing", reset)
    first = passes.first_offset(cluster, "orders")
    return {
        "committed offset": 3,
        "records from there on, before the limit": waiting,
        "first offset in the log": first,
        "end of the log": 20,
        "the consumer goes on at": goes_on,
        "error that it reports": error,
        "gone before they were read": first - 3,
        "still there, and skipped": max(goes_on - first, 0),
    }


display(lab.both(scenes.burst), lab.both(overtaken))

# %% [markdown]
# A broker keeps nothing for a reader: a queue deletes what has been read, but a log deletes what is
# old. A consumer that comes back before retention has overtaken it gets everything: in the first
# run, the lag rises to the size of the burst and falls to 0. In the second one, the committed offset
# has left the log, so the fetch is answered with OFFSET_OUT_OF_RANGE, and the client's policy
# decides. `earliest` reads what is left, and `error` (`none` in Java) stops with an error. With
# `latest`, records that could still be read are skipped, and the lag is 0. Compare the lag with the
# retention, and make the retention longer than your longest outage.

# %% [markdown]
# ## Deeper: Both policies
#
# Of seven records, the first four are 90 minutes old and the others are five minutes old:
# `a1 b1 a2 c1 a3 d1 d2`. retention.ms is an hour. The second run writes a record without a key, one
# with an empty key, and one with a key.

# %% both-policies tags=["both"]
display(lab.both(scenes.both_policies), lab.both(scenes.keyless))

# %% [markdown]
# With `compact,delete` the last values of b and c are gone: retention removes a segment without
# checking keys. That suits tables whose entries matter only for a time, such as sessions or
# windows. With `compact` alone, retention.ms does nothing.
#
# No later record could replace one without a key, so a compacted topic refuses such a record with
# INVALID_RECORD, but an empty key is a key. A batch with one such record is refused as a whole.

# %% [markdown]
# ## Deeper: Whose clock, and how long?
#
# Five records are written, two to a segment; retention.ms is an hour. Most rows differ in their
# timestamps, and the others in one setting.

# %% clocks tags=["both"]
lab.both(scenes.clocks)

# %% [markdown]
# *Only closed segments can expire* is nearly right, but an active segment in which every record is
# too old is closed and deleted, too. One young record keeps all the others in its segment, and one
# from tomorrow keeps them until an hour after its time. So Kafka refuses timestamps more than an
# hour ahead (`message.timestamp.after.max.ms`). With `LogAppendTime` the broker's clock counts.
#
# A topic gets one record of 1,000 bytes a day. retention.ms and segment.ms are a week, which is the
# default. Two more topics differ in segment.ms.

# %% quiet tags=["sim"]
from kit.drawings.chart import Chart

runs = {
    "segment.ms of a week": virtual_runs.quiet(roll_days=7),
    "segment.ms of a day": virtual_runs.quiet(roll_days=1),
    "segment.ms of 30 days": virtual_runs.quiet(days=80, roll_days=30),
}
ages = {name: run.ages for name, run in runs.items()}
display(Chart("The oldest record that is left", ages, "day", "age in days"))
sizes = {name: run.sizes for name, run in runs.items()}
display(Chart("The log on the disk", sizes, "day", "bytes"))
for name, run in runs.items():
    age, size = max(age for _, age in run.ages), max(size for _, size in run.sizes)
    print(f"{name}: at most {age:.0f} days, and {size:,.0f} bytes on the disk")

# %% [markdown]
# By default segments end by time as well: `log.roll.ms` is unset, but `log.roll.hours` is 168. So a
# slow topic keeps records for up to two weeks (the chart looks once a day). An example in print, in
# which a 1 GB segment fills in ten days and retention of seven days keeps records for 17 days,
# needs a longer `segment.ms`. The shorter the segments, the earlier retention can delete one, and
# the less is on the disk.

# %% [markdown]
# ## Deeper: Limits and defaults
#
# The tables show the settings of a new topic and of a broker.

# %% topic-settings tags=["both"]
display(lab.both(scenes.topic_settings), lab.both(scenes.broker_settings))
display(lab.both(scenes.cleaner_threads))

# %% [markdown]
# *By default Kafka keeps records until the disk is full* is wrong: it keeps them for a week,
# without a size limit. `log.retention.ms` wins over `.minutes`, and `.minutes` over `.hours`, the
# only one that has a value by default. `log.cleaner.enable` is on, and will be removed in 5.0;
# after that, the cleaner will always run. The number of its threads can be changed while the broker
# runs: Kafka ends the old ones and starts new ones, each with its share of
# `log.cleaner.dedupe.buffer.size`. If the memory is too small for them, the broker carries on
# without a cleaner, and only its log reports it.

# %% per-partition tags=["both"]
topics = [  # partitions, retention.bytes, segment.bytes, replicas; also those of your topic
    (3, 150, 150, 3),
    (8, 1_000_000_000, 1_073_741_824, 1),
    (8, 1_000_000_000, 1_073_741_824, 3),
    (8, 1_000_000_000, 100_000_000, 3),
]
display(lab.both(scenes.per_partition), scenes.calculator(topics))

# %% [markdown]
# `retention.bytes` applies to each partition: the full one lost its oldest segments, and its
# siblings kept everything. The whole topic takes up to partitions × (retention.bytes + one segment)
# × replicas, plus what arrives until the next check. The calculator begins with the topic of the
# run. With a limit of 1 GB, a segment of the default size can double what a topic takes.

# %% read-or-not tags=["both"]
lab.both(scenes.read_or_not)

# %% [markdown]
# Reading and committing change nothing: another group reads from 0. Each topic has its own
# retention; -1 keeps records forever. A fetch of an offset below the log's start is answered with
# OFFSET_OUT_OF_RANGE.

# %% a-file tags=["both"]
lab.both(scenes.a_file)

# %% [markdown]
# *A file of 5 GB is put into Kafka and dropped after its time* does not work: one record may hold
# only about 1 MB (`max.request.size` in the client, `max.message.bytes` in the topic). Cut the file
# into pieces, or store it elsewhere and send its address.

# %% [markdown]
# ## Deeper: Segments, long and short
#
# The first run has four records, made 0, 30, 90 and 120 minutes after the first. The second has 100
# records first in one segment, then in fifty.

# %% rolls tags=["both"]
display(lab.both(scenes.rolls), lab.both(scenes.small_segments))

# %% [markdown]
# A short `segment.ms` makes retention and compaction act sooner, and saves disk space. The price is
# more files, three for each segment.
#
# A fetch returns records from one segment at most, so tiny segments cost round trips. For each
# segment, Kafka also holds a file open and maps up to two indexes into memory. With many
# partitions, a broker dies with *Too many open files* or *Map failed*. (The engine opens at most
# 128 files, and maps none.) The course's tests take file handles away from a running Kafka broker,
# and it dies at the next segment.

# %% [markdown]
# ## Deeper: Lags
#
# `min.compaction.lag.ms` protects records that are younger than the lag; `max.compaction.lag.ms`
# forces a pass and also ends the active segment. In virtual time, each topic gets 17 values of one
# key, and one more at the end.

# %% lags tags=["sim"]
display(virtual_runs.lags(), virtual_runs.ratios())

# %% [markdown]
# With a ratio of 1, no log is ever dirty enough, and only the maximum lag triggers the cleaner. If
# a law gives you 30 days, set `max.compaction.lag.ms`: a ratio promises nothing about time. The
# default of `min.compaction.lag.ms` is 0, so lowering it cannot make a restart faster; a lower
# ratio, a maximum lag and smaller segments can.
#
# A low ratio makes the cleaner run often and read a lot; a high one leaves more replaced records.
# Large segments leave a long tail that no pass may touch.

# %% [markdown]
# ## Deeper: Inside a pass
#
# First comes the map of one pass over five records, and what the pass did with each. Then come four
# partitions with different shares of dirty bytes, and a topic with a `min.compaction.lag.ms` of an
# hour, while the cleaner is off.

# %% offset-map tags=["sim"]
history = [("anna", "1"), ("bert", "1"), ("anna", "2"), ("carl", "1"), ("bert", "2")]
display(*virtual_runs.inside(history), virtual_runs.order())

# %% [markdown]
# The map takes 24 bytes for each key, however long the key is. When the map is full, the pass ends
# there, and the next one continues from that point. The cleaner has `log.cleaner.threads` threads
# (1 by default), and takes the filthiest log first; a log below the ratio waits, and so do records
# that are too young.

# %% files tags=["both"]
display(lab.both(scenes.files_of_a_pass))
cluster = lab.engine(settings=lab.BRISK)
scenes.files_of_a_pass(cluster)
leader = cluster.leader("users")
lab.tool(cluster, "kafka-dump-log", "--print-data-log", broker=leader, topic="users")

# %% [markdown]
# Kafka's own tool reads the segment files, and in its output the offsets jump. The new segments
# keep the old names. The files that they replaced stay for another minute.
# `cleaner-offset-checkpoint` says how far the log is clean. A batch keeps its first and last offset
# when it loses records. Leader and followers clean on their own, so their files differ, but their
# tables do not.

# %% [markdown]
# ## Deeper: Transactions in a compacted topic
#
# `a=1` is committed, `a=2` is aborted, and `b=1` is committed; then the cleaner makes two passes.

# %% transactions tags=["both"]
lab.both(scenes.transactions)

# %% [markdown]
# An aborted record replaces nothing: `a=1` stays and `a=2` goes, so not even `read_uncommitted`
# sees `a=2`. A transaction's marker stays as long as any of its records. The first pass that finds
# none of them writes the delete horizon into the marker's batch (the leftmost bit again), and the
# marker goes `delete.retention.ms` later, like a tombstone. The cleaner goes only up to the last
# stable offset, so it touches nothing in an open transaction.

# %% [markdown]
# ## Deeper: Delete records
#
# The log has five records in segments of two.

# %% delete-records tags=["both"]
lab.both(scenes.delete_records)

# %% [markdown]
# The start moves at once, and a segment below it goes at the next check. An offset of -1 means the
# high watermark. A topic that is only compacted refuses the request; use a tombstone there.

# %% [markdown]
# ## Deeper: Tiered storage
#
# With tiered storage (KIP-405) a broker copies each finished segment to a store that all the
# brokers can reach. Then there are two limits: `local.retention.bytes` (or `.ms`) for the broker's
# own disk, and `retention.bytes` for the whole log. Here are the first run's 20 records, four to a
# segment; 1,500 bytes may stay on disk, and the whole log has no limit. A new consumer starts at
# offset 0. First say what it gets from there on. Then the whole log gets a limit, too.

# %% tiered tags=["sim"]
local_limit, limit = 1_500, 2_200  # bytes; also 700 and 3_000

world = lab.world(seed=12, settings=virtual_runs.TIERED)
config = {"remote.storage.enable": "true", "local.retention.bytes": local_limit}
config |= {"internal.segment.bytes": 700, "retention.ms": -1}
world.create_topic("orders", config=config)
virtual_runs.put(world, "orders", [(None, "x" * 100)] * 20)
world.run(for_s=10)
before = virtual_runs.tiers(world, "orders")
virtual_runs.alter(world, "orders", retention_bytes=limit)
world.run(for_s=10)
after = virtual_runs.tiers(world, "orders")
virtual_runs.side_by_side({"no limit": before, f"retention.bytes={limit}": after})

# %% [markdown]
# Only the start of the *local* log has moved. The leader reads what is below it from the store,
# which takes longer, but readers at the end of the log notice nothing. The active segment is never
# in the store. `retention.bytes` counts the whole log: what it removes leaves the store, and is
# gone.
#
# So a long history needs no large disks, and a new replica copies little. Kafka provides the
# interface; the store is a plugin. A compacted topic is refused. This run uses the engine alone,
# because Kafka needs such a plugin. With the plugin from Kafka's own tests, `tests/conformance`
# gives Kafka 4.3.1 and the engine the same bytes (`pytest tests/conformance -k tiered`). Both then
# have the same files in the store, byte for byte, and the same offsets, and they give a consumer
# the same answers.
