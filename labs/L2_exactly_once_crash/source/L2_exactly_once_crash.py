# %% [markdown]
# # L2 · Exactly once, and a crash
#
# A streaming query moves payments from a topic to a sink. You choose a step of a micro-batch and
# kill the driver there with SIGKILL. Then the query resumes, and you count: which payments are
# lost, and which are there twice?
#
# **You will be able to**
# * read a checkpoint, and say which micro-batch runs again after a crash;
# * say what each of Spark's sinks does with a micro-batch that arrives twice, and prove it;
# * write a `foreachBatch` that can safely run twice: a named append, a MERGE or a Kafka
#   transaction;
# * start a query so that it can be killed at any time;
# * drop repeats while reading a topic, with state that stays small.
#
# **Time:** {minutes}. The lab builds on lab L1, and needs Java 17, PySpark and Delta. A crash takes
# a few seconds, because a separate driver starts for it, and dies.

# %% doorway tags=["setup"]
import shutil
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from kit import lab
from kit.spark import session, temporary
from labs.crash import results, sinks
from labs.crash.payments import Feed
from labs.crash.points import POINTS
from labs.crash.sinks import SINKS
from labs.crash.trial import Trial
from labs.L2_exactly_once_crash import notes
from labs.pipeline.storage import query_id

eng = lab.engine()
spark = session()

# %% [markdown]
# ## The payments, and the machine that crashes
#
# The topic has 120 payments in four partitions, and a query reads 40 of them in each of the
# micro-batches 0, 1 and 2. The generator knows every event id, so the truth does not depend on a
# reader. Keep the panel in view while the payments are written.

# %% feed tags=["setup"]
feed = Feed(topic="payments", seed=7, batches=3, per_partition=10)
feed.create(eng)
print(feed.records()[0].value.decode())

# %% panel tags=["live"]
lab.panel(eng, "payments")

# %% produce tags=["setup"]
feed.produce(eng)
truth = feed.event_ids()
len(truth)

# %% [markdown]
# `Trial(…).crash()` starts a driver in its own process, with one query per sink, and a debugger.
# Each query's thread stops at the first line of a Spark method that you choose: everything before
# that line has been done, and nothing after it has. When all the queries have stopped, SIGKILL ends
# the process and its JVM. Spark is not changed, and the queries know nothing of the debugger.
#
# These are the steps of a micro-batch, and the points where you can kill the driver:
#
# | point | what is done | method where the query stops |
# |---|---|---|
# | `before-offsets` | offsets are chosen | `markMicroBatchStart` |
# | `after-offsets` | `offsets/1` is written | `runBatch` |
# | `in-sink` | two of four tasks have written their rows | `executeTask`, `run` |
# | `after-sink` | the sink has everything | `markMicroBatchEnd` |
# | `after-commits` | `commits/1` is written | `constructNextBatch` |
#
# ## A crash after the sink
#
# Four queries are killed in micro-batch 1, once their sinks have the rows.

# %% L2-1 tags=["stub", "predict"]
lab.predict("L2-1")

# %% L2-1 tags=["solution", "predict"]
lab.predict("L2-1", "b")

# %% after-the-sink tags=["live"]
point, batch = "after-sink", 1  # or "before-offsets", "after-offsets", "after-commits"
killed = ["append", "append-once", "parquet", "kafka"]

first = Trial(eng, feed, temporary("first"), POINTS[point], killed, batch)
display(first.crash())
checkpoint = Path(first.place("append").checkpoint)
seen = {name: notes.numbers(checkpoint / name) for name in ("offsets", "commits")}
print(seen)
lab.verdict("L2-1", seen)

# %% [markdown]
# A number that is in `offsets` but not in `commits` marks a micro-batch that was begun. Spark
# cannot know how far the sink got. After a restart, it runs this micro-batch again, with the
# recorded offsets, not with what is new in the topic. Open the files:

# %% the-checkpoint tags=["read"]
notes.checkpoint(checkpoint)

# %% [markdown]
# `offsets/1` has three lines: a version; the watermark and the settings that must not change; and,
# for each partition, the offset where micro-batch 1 ends. `commits` holds no rows or offsets, only
# the next watermark; the presence of a number is the message. A query that aggregates or drops
# duplicates also has `state/`, with one version per micro-batch, so that it can go back to the
# state before micro-batch 1.
#
# ## The same micro-batch, a second time
#
# Now the queries start again with their checkpoints, in this notebook's own Spark session.

# %% L2-2 tags=["stub", "predict"]
lab.predict("L2-2")

# %% L2-2 tags=["solution", "predict"]
lab.predict("L2-2", 160)

# %% go-on tags=["live"]
again = ["append", "append-once", "parquet", "kafka"]  # the queries that start again

payments = feed.stream(spark, eng.bootstrap)
for name in again:
    SINKS[name].start(payments, first.place(name)).awaitTermination()
counted = first.counts(spark)
for reader, found in counted.items():
    print(f"{reader:60} {found}")
seen = {reader: found.rows for reader, found in counted.items()}
lab.verdict("L2-2", seen)

# %% [markdown]
# All four queries ran micro-batch 1 twice. The different results come from the sinks. The second
# table's query sets two more options than the first table's query: its commits carry an
# application's name and the micro-batch's number, and Delta skips a commit whose number is not
# higher than that application's last one.
#
# ## Break it: a crash in the middle of the sink, on both sides
#
# Two of the four tasks have written their rows, or half of a transaction has been sent. One of the
# four sinks below is homemade: its `foreachBatch` notes the micro-batch's number in a file and then
# writes the rows; it skips a number that it has already noted. The *transactional producer* puts a
# micro-batch's records and its number into one Kafka transaction; the number plus one is stored as
# a consumer group's offset.

# %% L2-3 tags=["stub", "predict"]
lab.predict("L2-3")

# %% L2-3 tags=["solution", "predict"]
lab.predict("L2-3", "d")

# %% in-the-sink tags=["both"]
step, in_batch = "in-sink", 0
broken = ["noted-first", "parquet", "kafka", "transactional"]
trials = {}


def crash_in_the_sink(cluster):
    if "payments" not in cluster.snapshot()["topics"]:
        feed.create(cluster)
        feed.produce(cluster)
    trial = Trial(cluster, feed, temporary("second"), POINTS[step], broken, in_batch)
    trial.crash()
    trial.go_on(spark)
    trials[cluster.name] = trial
    return {reader: found.rows for reader, found in trial.counts(spark).items()}


outcome = lab.both(crash_in_the_sink)
display(outcome)
lab.verdict("L2-3", outcome)

# %% [markdown]
# The note claimed rows that were not yet written, so 40 payments are lost. If the note is written
# after the rows, a crash between the two repeats the rows. A note that appears *with* the rows, in
# one step, avoids both: Delta's commit, the file sink's log, or Kafka's transaction.
#
# A folder is not a table. Two tasks had written their files when the driver died. `_spark_metadata`
# names other files, so a tool that lists the folder counts 20 payments twice. A topic keeps what it
# has: every reader sees the Kafka sink's first attempt. The aborted transaction stays as well, and
# only a reader with `read_committed` skips it.
#
# Here is what an engineer sees afterward: the transactional producer's group, whose offset is the
# next micro-batch's number; the producer's transactional.id; and the log of the broker that
# coordinates its transactions.

# %% at-work tags=["live"]
cluster = trials["engine"].cluster  # beside a real Kafka: or trials["local"]
group = trials[cluster.name].place("transactional").writer  # and its transactional.id

display(lab.tool(cluster, "kafka-consumer-groups", "--describe", "--group", group))
printed = lab.tool(cluster, "kafka-transactions", "describe", "--transactional-id", group)
coordinator = int(printed.text.split("\n")[1].split()[0])
display(printed, lab.broker_log(cluster, coordinator, group))

# %% [markdown]
# ## The complete table
#
# One command wrote the table below: `python -m labs.crash.table`. It starts six drivers, one for
# each column, with every sink in each. For the last column, only an executor is killed, once its
# tasks have written everything but have not reported it. The driver lives on.

# %% L2-5 tags=["stub", "predict"]
lab.predict("L2-5")

# %% L2-5 tags=["solution", "predict"]
lab.predict("L2-5", 3)

# %% complete-table tags=["read"]
reader = "Kafka sink"  # or another row

written = results.read(results.WRITTEN)
display(written)
seen = {"reader": reader, "repeats at": written.repeats(reader), "loses at": written.losses(reader)}
print(seen)
lab.verdict("L2-5", seen)

# %% [markdown]
# Read a row from left to right. If the crash comes before the sink begins, or after `commits` has
# the number, every sink is exact: the crash costs only time. Between these points, the result
# depends on what the sink can do. An executor's death needs no restart at all, yet it repeats
# records in the topic: a task is retried within its micro-batch, and no file in the checkpoint
# shows it.
#
# ## Read the code that did it
#
# Spark's own order is in `MicroBatchExecution`. In short:
#
# ```
# constructNextBatch:  choose the offsets
#                      markMicroBatchStart  → offsetLog.add(batchId, offsets)
#                      cleanUpLastExecutedMicroBatch → tell the sources that the batch before is done
# runBatch:            read, plan, sink.addBatch(batchId, rows)
#                      markMicroBatchEnd    → commitLog.add(batchId)
# ```
#
# Write down the intention, act, and write down that the act is done: this is a *write-ahead log*. A
# crash between the first and the last note leaves one question, and the answer is always “run the
# batch again, with the same offsets.” So Spark promises *at least once* and a fixed input per batch
# number; the sink turns that into *exactly once*. Below are the logs of the two Delta tables, one
# of which has 40 rows twice and no number of a micro-batch, and the code of four sinks.

# %% the-sinks tags=["read"]
display(notes.delta_log(first.place("append").table))
display(notes.delta_log(first.place("append-once").table))
lab.show(sinks.append, sinks.append_once, sinks.merge, sinks.transactional)


# %% judged-in-spark tags=["setup"]
def frame_of(rows, columns):
    return spark.createDataFrame([tuple(row) for row in rows], columns)


def rows_in(folder, *columns):
    if not Path(folder, "_delta_log").exists():
        return []
    rows = spark.read.format("delta").load(str(folder)).select(*columns).collect()
    return sorted(list(row) for row in rows)


def on_appends(write):
    """Calls `write` with these micro-batches, one after the other; gives the table's payments."""

    def called(batches):
        folder = str(temporary("appended"))
        for query, number, payments in batches:
            write(frame_of([[p] for p in payments], "payment STRING"), number, query, folder)
        return [payment for (payment,) in rows_in(folder, "payment")]

    return called


def on_merges(merge):
    """Calls `merge` with these micro-batches of order states; gives the table's rows."""
    columns = "order_id STRING, revision INT, status STRING"

    def called(batches):
        folder = str(temporary("merged"))
        spark.sql(f"CREATE TABLE delta.`{folder}` ({columns}) USING delta")
        for states in batches:
            merge(frame_of(states, columns), folder)
        return rows_in(folder, "order_id", "revision", "status")

    return called


def on_starts(start):
    """Starts the query after each wave of payments; gives the rows that the table has then."""

    def called(waves):
        source, place = str(temporary("waves")), temporary("started")
        found = []
        for wave in waves:
            frame_of([[p] for p in wave], "payment STRING").write.format("delta").mode(
                "append"
            ).save(source)
            query = start(spark.readStream.format("delta").load(source), str(place))
            ended = ends_by_itself(query)
            found.append({"ended": ended, "rows": rows_in(place / "table", "payment")})
        return found

    return called


def ends_by_itself(query):
    """False for a query that waits for more; it is stopped then."""
    while query.isActive and "Waiting" not in query.status["message"]:
        query.awaitTermination(1)
    ended = not query.isActive
    query.stop()
    return ended


def on_records(once):
    """Runs `once` over micro-batches of records; gives the event ids, and if ids are forgotten."""

    def called(batches):
        source, target = str(temporary("records")), str(temporary("once"))
        for records in batches:
            frame_of(records, "event_id STRING, offset INT, minute INT").selectExpr(
                "event_id", "offset", "timestamp_seconds(minute * 60) AS event_time"
            ).coalesce(1).write.format("delta").mode("append").save(source)
        stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source)
        writer = once(stream).select("event_id").writeStream.format("delta")
        query = writer.option("checkpointLocation", target + "/checkpoint")
        query = query.trigger(availableNow=True).start(target)
        query.awaitTermination()
        states = query.lastProgress["stateOperators"]
        ids = {record[0] for records in batches for record in records}
        forgets = bool(states) and states[0]["numRowsTotal"] < len(ids)
        return {"ids": [i for (i,) in rows_in(target, "event_id")], "forgets": forgets}

    return called


# %% [markdown]
# ## Your turn
#
# You write four pieces of a pipeline that may be killed. The judge runs them in Spark on rows that
# you have not seen, and repeats micro-batches.
#
# **An append that may come twice.** Two queries use one `foreachBatch` and write to one table;
# `query` is the query's id, and `number` is the micro-batch's number. A micro-batch that is already
# in the table must change nothing. Two payments may have identical text, and both count.


# %% L2-7 tags=["stub"]
def write_once(batch, number, query, table):
    """Appends the micro-batch to the Delta table at this path, once."""
    batch.write.format("delta").mode("append").save(table)


# %% L2-7 tags=["solution"]
def write_once(batch, number, query, table):
    """Appends the micro-batch to the Delta table at this path, once."""
    writer = batch.write.format("delta").mode("append")
    writer.option("txnAppId", query).option("txnVersion", number).save(table)


# %% L2-7 tags=["check"]
lab.check("L2-7", on_appends(write_once))

# %% [markdown]
# **A MERGE that may come twice, and late.** The table at the path `table` keeps each order's newest
# state in the columns `order_id`, `revision` and `status`; the highest revision is the newest. A
# micro-batch may have several states of one order, and an old micro-batch may run again after a
# newer one.


# %% L2-8 tags=["stub"]
def merge_states(batch, table):
    """Brings the Delta table at this path up to date."""


# %% L2-8 tags=["solution"]
def merge_states(batch, table):
    """Brings the Delta table at this path up to date."""
    newest = batch.groupBy("order_id").agg(
        F.max("revision").alias("revision"), F.max_by("status", "revision").alias("status")
    )
    newest.createOrReplaceTempView("newest")
    batch.sparkSession.sql(
        f"MERGE INTO delta.`{table}` AS kept USING newest ON kept.order_id = newest.order_id "
        "WHEN MATCHED AND newest.revision > kept.revision THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )


# %% L2-8 tags=["check"]
lab.check("L2-8", on_merges(merge_states))

# %% [markdown]
# **A query that can be killed.** Start a query that appends the stream `payments` to the Delta
# table `folder/table`. It reads what is there and ends by itself. Started again later, even after a
# crash, it picks up where it left off. Everything that it needs is in `folder`. Return the query.


# %% L2-9 tags=["stub"]
def start(payments, folder):
    """The running query."""
    return payments.writeStream.format("noop").trigger(availableNow=True).start()


# %% L2-9 tags=["solution"]
def start(payments, folder):
    """The running query."""
    writer = payments.writeStream.format("delta").trigger(availableNow=True)
    return writer.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/table")


# %% L2-9 tags=["check"]
lab.check("L2-9", on_starts(start))

# %% [markdown]
# **A reader's fix.** You read a topic that a Kafka sink has filled, so some records appear twice,
# with different offsets. A repeat comes less than ten minutes of event time after the original, and
# a late record is less than ten minutes behind the newest event. Let each `event_id` through once,
# and do not keep ids forever. The stream `records` has `event_id`, `offset` and `event_time`, a
# timestamp.


# %% L2-10 tags=["stub"]
def once(records):
    """A stream with each event once."""
    return records


# %% L2-10 tags=["solution"]
def once(records):
    """A stream with each event once."""
    return records.withWatermark("event_time", "10 minutes").dropDuplicatesWithinWatermark(
        ["event_id"]
    )


# %% L2-10 tags=["check"]
lab.check("L2-10", on_records(once))

# %% [markdown]
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. What does Spark do with a micro-batch that was begun before a crash?</b></summary>
#
# Spark runs it again, with the same number and offsets: `offsets` has the number and `commits` does
# not.
# *Follow-up:* the sink had all of the micro-batch; how does Spark find out? (It does not. The sink
# has to.)
#
# * **weak:** "it carries on where it was" · **good:** offsets before, commits after · **strong:**
#   names the order and says that a batch number's input is fixed
# * **evidence:** [A crash after the sink](#A-crash-after-the-sink)
# </details>
#
# <details><summary><b>2. Is Structured Streaming exactly-once?</b></summary>
#
# Yes, with a source that can be read again and a sink that recognizes or tolerates a repeat.
# `foreachBatch` and the Kafka sink promise at-least-once.
# *Follow-up:* what are a sink's two options? (Recognize the batch, by a number committed with the
# rows, or tolerate the repeat, by an upsert on a key.)
#
# * **weak:** "yes, with a checkpoint" · **good:** depends on the sink · **strong:** names sinks of
#   both kinds, and the step at which the others fail
# * **evidence:** [The complete table](#The-complete-table)
# </details>
#
# <details><summary><b>3. Your foreachBatch keeps its own list of finished batches. What can go wrong?</b></summary>
#
# If the list is written first, a crash in between loses the micro-batch. If the rows are written
# first, the crash repeats them. Both have to be in one commit.
# *Follow-up:* what about a list in the same database? (It works if rows and list are in one
# transaction.)
#
# * **weak:** "nothing" · **good:** sees what is wrong with one order · **strong:** both orders, and
#   the one commit
# * **evidence:** [In the middle](#Break-it:-a-crash-in-the-middle-of-the-sink,-on-both-sides)
# </details>
#
# <details><summary><b>4. A colleague deleted a checkpoint. What do you check?</b></summary>
#
# Where the query starts now (`startingOffsets`), and how the sink recognized the query: a new
# checkpoint counts its micro-batches from 0.
# *Follow-up:* what if the sink recognized it by the query's id? (Then the sink takes the
# micro-batches for new ones, and records that are read again are there twice.)
#
# * **weak:** "it starts again" · **good:** repeats or gaps, depending on startingOffsets ·
#   **strong:** the batch number starts at 0, and what that means for the sink
# * **evidence:**
#   [A name that outlives the checkpoint](#Deeper:-A-name-that-outlives-the-checkpoint)
# </details>
#
# <details><summary><b>5. Downstream sees events twice in a topic that Spark writes. What do you do?</b></summary>
#
# Nothing is broken: the Kafka sink repeats records after a crash or a retried task. Readers drop
# repeats by event id, with a watermark that bounds the state; or one transactional producer does
# all the writing, if the rate allows it.
# *Follow-up:* why does read_committed not help? (The sink uses no transactions.)
#
# * **weak:** "enable idempotence" · **good:** dedup by id · **strong:** why idempotence ends at a
#   restart, and what each remedy costs
# * **evidence:** [In the middle](#Break-it:-a-crash-in-the-middle-of-the-sink,-on-both-sides)
# </details>
#
# **Read this output: what happened?**
# ```
# checkpoint/offsets:  …  416  417  418
# checkpoint/commits:  0  1  2  …  417
# ```
# <details><summary><b>An answer</b></summary>
#
# Micro-batch 418 was begun but is not done. Either the query is working on it now, or the query was
# killed and the next start runs 418 again. If the numbers are the same after five restarts, 418
# fails each time: look for the record or the sink that makes it fail.
# </details>
#
# ## Quiz

# %% L2-11 tags=["stub", "predict", "quiz"]
lab.quiz("L2-11")

# %% L2-11 tags=["solution", "predict", "quiz"]
lab.quiz("L2-11", "a", "c")

# %% [markdown]
# ## Deeper: A name that outlives the checkpoint
#
# Delta skips a commit whose number is not higher than the application's last. You choose the
# application's name. Here it is a fixed string, and the checkpoint is deleted between morning and
# evening, as often happens when a query does not start. In the evening, 120 other payments arrive.

# %% L2-4 tags=["stub", "predict"]
lab.predict("L2-4")

# %% L2-4 tags=["solution", "predict"]
lab.predict("L2-4", 0)

# %% fixed-name tags=["live"]
name_of_the_query = "payments"  # or None: the query's own id, which lies in the checkpoint

ledger = str(temporary("ledger"))


def write(batch, number):
    application = name_of_the_query or query_id(batch.sparkSession)
    writer = batch.write.format("delta").mode("append").option("txnAppId", application)
    writer.option("txnVersion", number).save(ledger)


for shift in (feed, Feed(topic="evening", seed=8)):
    if shift.topic != "payments":
        shift.create(eng)
        shift.produce(eng)
    checkpoint = str(temporary("checkpoint"))  # the one before is deleted
    rows = shift.stream(spark, eng.bootstrap).withColumn("shift", F.lit(shift.topic))
    query = rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()
by_shift = dict(spark.read.format("delta").load(ledger).groupBy("shift").count().collect())
seen = {"morning": by_shift.get("payments", 0), "evening": by_shift.get("evening", 0)}
print(seen)
lab.verdict("L2-4", seen)

# %% [markdown]
# A new checkpoint counts its micro-batches from 0. Delta already has the numbers 0, 1 and 2 from
# this application and skips all three, without an error. The number alone means nothing: it counts
# the batches of one checkpoint. So name the application after the checkpoint. Spark keeps the
# query's id there, in `checkpoint/metadata`.

# %% [markdown]
# ## Deeper: Another query, the old checkpoint
#
# A query runs for a year, and its code changes. This one drops copies by `event_id`, and its
# checkpoint holds the ids of 120 payments. Then the same 120 payments arrive again. Four changed
# queries start, each on a copy of the checkpoint. None of them should return a row.

# %% given tags=["setup"]
again = Feed(topic="again", seed=9)
again.create(eng)


def given(query, checkpoint):
    """How many rows the query gives, or the condition with which Spark refuses to run it."""
    counts = []
    writer = query(again.stream(spark, eng.bootstrap)).writeStream
    writer = writer.foreachBatch(lambda batch, number: counts.append(batch.count()))
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    try:
        writer.start().awaitTermination()
    except StreamingQueryException as refused:
        return notes.condition(refused)
    return sum(counts)


# %% L2-12 tags=["stub", "predict"]
lab.predict("L2-12")

# %% L2-12 tags=["solution", "predict"]
lab.predict("L2-12", "c")

# %% another-query tags=["live"]
changes = {
    "a filter": lambda rows: rows.where("cents > 500").dropDuplicates(["event_id"]),
    "one column more": lambda rows: rows.dropDuplicates(["event_id", "order_id"]),
    "another column": lambda rows: rows.dropDuplicates(["order_id"]),
    "a watermark": lambda rows: (
        rows.withColumn("at", F.timestamp_millis("event_time"))
        .withWatermark("at", "1 hour")
        .dropDuplicatesWithinWatermark(["event_id"])
    ),
}

old = temporary("old")
again.produce(eng)
print("the first time:", given(lambda rows: rows.dropDuplicates(["event_id"]), old))
again.produce(eng)
seen = {}
for change, query in changes.items():
    copied = shutil.copytree(old, temporary("copies") / "checkpoint")
    seen[change] = given(query, copied)
    print(f"{change:16} {seen[change]}")
lab.verdict("L2-12", seen)

# %% [markdown]
# Spark compares the operators, and the number and types of the state's columns, but not the
# columns' names. An `order_id` is text, just like an `event_id`, so Spark looks for order ids among
# 120 event ids and finds none. No error is raised, and 120 payments pass a second time.
#
# You may change filters, columns that the state does not hold, `maxOffsetsPerTrigger` and the
# trigger. If you change the state, you have a new query. It needs its own checkpoint, a starting
# point that you choose (`startingOffsets`), and a sink that tolerates repeats. Settings that
# determine the state's layout, such as `spark.sql.shuffle.partitions`, are taken from `offsets`,
# not from the session.

# %% [markdown]
# ## Deeper: Your own crash
#
# Choose a sink, a point and a micro-batch. From the complete table, predict the result for the
# cell's values, and then change them.

# %% L2-6 tags=["stub", "predict"]
lab.predict("L2-6")

# %% L2-6 tags=["solution", "predict"]
lab.predict("L2-6", 120)

# %% your-crash tags=["live"]
sink, at, number = "merge", "after-sink", 2

mine = Trial(eng, feed, temporary("mine"), POINTS[at], [sink], number)
display(mine.crash())
mine.go_on(spark)
(count,) = mine.counts(spark).values()
seen = {
    "sink": SINKS[sink].title,
    "rows": count.rows,
    "lost": count.lost,
    "repeated": count.repeated,
}
print(seen)
lab.verdict("L2-6", seen)

# %% [markdown]
# The MERGE does not know that the micro-batch is a repeat. It looks up each event id in the table,
# finds all of them, and inserts nothing. This costs a search of the table in each micro-batch, and
# it requires a key.

# %% [markdown]
# ## Deeper: Why the Kafka sink uses no transactions
#
# Many tasks, on several executors, write a micro-batch, each with its own producer. A Kafka
# transaction belongs to one producer: one `transactional.id`, one epoch. There is no commit across
# many producers that a driver could issue, or repeat after its own death. Kafka has no second phase
# in which a prepared transaction waits for an outside decision (KIP-939 proposes one). Flink comes
# close: its sinks flush their records, store their open transactions in the checkpoint, and commit
# them when it completes. Readers then wait for each checkpoint, and a transaction that times out is
# lost. Spark leaves the problem to the readers. This lab's transactional sink takes the other
# approach: one producer for all the rows. Its limit is what one process can write.
