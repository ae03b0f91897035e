# %% [markdown]
# # L2 · Exactly once, and a crash
#
# A streaming query takes payments from a topic to a sink. You kill its driver with SIGKILL, at a step
# of a micro-batch that you choose. Then the query goes on, and you count: which payments are lost,
# and which are there twice?
#
# **You will be able to**
# * read a checkpoint, and say which micro-batch runs again after a crash;
# * say what each of Spark's sinks does with a micro-batch that comes twice, and prove it;
# * write a `foreachBatch` that may run twice: a named append, a MERGE, a Kafka transaction;
# * start a query so that it can be killed at any time;
# * clean a topic that has repeats, with state that stays small.
#
# **Time:** {minutes}. It builds on lab L1, and needs Java 17 and PySpark. A crash takes some seconds: a driver of its own
# starts for it, and dies.

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
# 120 payments lie in four partitions, and a query reads 40 of them in each micro-batch: batches 0, 1
# and 2. The generator knows every event id. So the truth does not depend on a reader. Keep the panel in
# view while the payments are written.

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
# `Trial(…).crash()` starts a driver in a process of its own, with one query for each sink, and a
# debugger that stands by. A query's thread stops at the first line of a method of Spark that you choose:
# everything before that line is done, nothing after it. When all queries stand, SIGKILL ends the
# process and its JVM. Spark is not changed, and the queries know nothing of it.
#
# The steps of a micro-batch, and where you can kill:
#
# | point | what is done | method where the query stands |
# |---|---|---|
# | `before-offsets` | offsets are chosen | `markMicroBatchStart` |
# | `after-offsets` | `offsets/1` is written | `runBatch` |
# | `in-sink` | two of four tasks have written their rows | `executeTask`, `run` |
# | `after-sink` | the sink has everything | `markMicroBatchEnd` |
# | `after-commits` | `commits/1` is written | `constructNextBatch` |
#
# ## A crash after the sink
#
# Four queries are killed in micro-batch 1, when their sinks have the rows.

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
# A number that is in `offsets` and not in `commits` is a micro-batch that was begun. Spark cannot know
# how far the sink came. After a start it runs this micro-batch again, with the offsets from the note and not
# with what is new in the topic. Open the files:

# %% the-checkpoint tags=["read"]
notes.checkpoint(checkpoint)

# %% [markdown]
# `offsets/1` has three lines: a version; the watermark and the settings that must not change; and
# per partition the offset where micro-batch 1 ends. `commits` holds no rows and no offsets, only the next
# watermark: that a number is there is the message. A query that aggregates or drops duplicates also has `state/`, with a version per
# micro-batch, so that it can go back to the state before micro-batch 1.
#
# ## The same micro-batch, a second time
#
# Now the queries start again with their checkpoints, in this notebook's own Spark.

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
# All four queries ran micro-batch 1 twice. The result is the sink's own doing. The second table has
# two options more than the first: its commits carry an application's name and the micro-batch's number, and Delta
# skips a commit whose number is not higher than the last one of this application.
#
# ## Break it: a crash in the middle of the sink, on both sides
#
# Two of four tasks have written, or half of a transaction is sent. One of these four sinks is home-made:
# its `foreachBatch` notes the number of the micro-batch in a file, and then writes; it skips a number that
# it has noted. The *transactional producer* puts a micro-batch's records and its number into one
# Kafka transaction; the number is the offset of a consumer group.

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
# The note said that the rows are there before they were: 40 payments are lost. Write the note
# after the rows, and the crash a moment later repeats them. Only a note that appears *with* the rows, in one
# step, does neither: Delta's commit, the file sink's log, Kafka's transaction.
#
# A folder is not a table. Two tasks had written their files when the driver died; `_spark_metadata`
# names other files, and a tool that lists the folder counts 20 payments twice. And a topic keeps what it
# has: the Kafka sink's first attempt stays, for each reader. The aborted transaction stays as well, and
# only `read_committed` skips it.
#
# What an engineer sees of it: the group of the transactional producer, whose offset is the number of the
# next micro-batch; its transactional.id; and the log of the broker that coordinates it.

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
# One command kills six drivers, one for each point, with every sink in each. It has written the table
# below: `python -m labs.crash.table`. For the last column one executor is killed, when its tasks have
# written everything and have not reported it. The driver lives on and runs the tasks again.

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
# Read a row from left to right. Before the sink begins, and after `commits` has the number, every sink
# is exact: the crash costs time. Between them stands what the sink can do. An executor's
# death needs no restart at all, and repeats records in the topic all the same: a task is retried within
# its micro-batch, and no file of the checkpoint tells.
#
# ## Read the code that did it
#
# Spark's own order stands in `MicroBatchExecution`, in short:
#
# ```
# constructNextBatch:  choose the offsets
#                      markMicroBatchStart  → offsetLog.add(batchId, offsets)
#                      cleanUpLastExecutedMicroBatch → tell the sources that the batch before is done
# runBatch:            read, plan, sink.addBatch(batchId, rows)
#                      markMicroBatchEnd    → commitLog.add(batchId)
# ```
#
# Write the intention, act, write that it is done: a *write-ahead log*. A crash between the first and the last
# note leaves one question, and the answer is always “run it again, with the same offsets”. So Spark promises
# *at least once* and a fixed input per batch number; the sink makes *exactly once* of it. Below: the logs of the
# two Delta tables, one of which has 40 rows twice and no trace of it; and the code of three sinks.

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
# Four pieces of a pipeline that may be killed. The judge runs them in Spark, with rows that you
# have not seen, and gives micro-batches twice.
#
# **An append that may come twice.** A `foreachBatch` of two queries writes to one table; `query` is the
# id of the query, `number` the micro-batch. A micro-batch that the table has must change nothing.
# Two payments may be equal, text for text: both count.


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
# **A MERGE that may come twice, and late.** The table at the path `table` keeps the newest state of each order:
# columns `order_id`, `revision`, `status`; the highest revision is the newest. A micro-batch may have several
# states of one order, and an old micro-batch may come again after a newer one.


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
# **A query that can be killed.** Start a query that appends the stream `payments` to the Delta table
# `folder/table`. It takes what is there and ends by itself; started again later, also after a
# crash, it goes on where it was. Everything that it needs lies in `folder`. Return the query.


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
# **A reader's fix.** You read a topic that a Kafka sink has filled, so records come twice, with other offsets.
# A repeat comes less than ten minutes of event time after the original, and a late record less than ten minutes
# behind the newest event. Let each
# `event_id` through once, and do not keep ids forever. `records` is a stream with `event_id`, `offset`
# and `event_time`, a timestamp.


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
# It runs it again, with the same number and the same offsets: `offsets` has the number and `commits` has not.
# *Follow-up:* the micro-batch was complete in the sink; how does Spark find out? (It does not. The sink has to.)
#
# * **weak:** "it goes on where it was" · **good:** offsets before, commits after · **strong:** names the order and
#   says that the input of a number is fixed
# * **evidence:** [A crash after the sink](#A-crash-after-the-sink)
# </details>
#
# <details><summary><b>2. Is Structured Streaming exactly-once?</b></summary>
#
# With a source that can be read again and a sink that recognizes or does not mind a repeat. `foreachBatch` and the
# Kafka sink promise at-least-once.
# *Follow-up:* which two ways does a sink have? (Know the batch: a number, kept with the rows in one commit. Or do not
# mind it: an upsert by key.)
#
# * **weak:** "yes, with a checkpoint" · **good:** depends on the sink · **strong:** names sinks of both kinds, and the
#   step at which the others fail
# * **evidence:** [The complete table](#The-complete-table)
# </details>
#
# <details><summary><b>3. Your foreachBatch keeps its own list of batches done. What can go wrong?</b></summary>
#
# List first, then rows: a crash in between loses the micro-batch. Rows first, then list: it repeats it. Both have
# to be one commit.
# *Follow-up:* and a list in the same database? (Right, if rows and list are in one transaction.)
#
# * **weak:** "nothing" · **good:** sees one order's fault · **strong:** both orders, and the one commit
# * **evidence:** [In the middle](#Break-it:-a-crash-in-the-middle-of-the-sink,-on-both-sides)
# </details>
#
# <details><summary><b>4. A colleague deleted a checkpoint. What do you check?</b></summary>
#
# Where the query begins now (`startingOffsets`), and what the sink knew the query by: a new checkpoint
# counts its micro-batches from 0.
# *Follow-up:* and with the query's id? (Then the micro-batches are new ones: what is read again is there twice.)
#
# * **weak:** "it starts again" · **good:** repeats or gaps by startingOffsets · **strong:** the batch number begins at
#   0, and what that means for the sink
# * **evidence:** [A name that outlives the checkpoint](#Deeper:-A-name-that-outlives-the-checkpoint)
# </details>
#
# <details><summary><b>5. Downstream sees events twice in a topic that Spark writes. What do you do?</b></summary>
#
# Nothing is broken: the Kafka sink repeats after a crash or a retried task. Readers drop repeats by event id, within a
# watermark that bounds the state; or one transactional producer writes, if the rate allows it.
# *Follow-up:* why does read_committed not help? (The sink uses no transactions.)
#
# * **weak:** "enable idempotence" · **good:** dedup by id · **strong:** why idempotence ends at a restart, and the price of
#   each remedy
# * **evidence:** [In the middle](#Break-it:-a-crash-in-the-middle-of-the-sink,-on-both-sides)
# </details>
#
# **Read this output: what happened?**
# ```
# checkpoint/offsets:  0  1  2  …  417  418
# checkpoint/commits:  0  1  2  …  417
# ```
# <details><summary><b>An answer</b></summary>
#
# Micro-batch 418 was begun and is not done. Either the query works on it now, or it was killed; the next
# start runs 418 again. If the query was restarted five times and these are still the numbers, 418 fails each
# time: look for the record or the sink that ends it.
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
# Delta skips a commit whose number is not higher than the application's last. The application's name is
# yours to choose. Here it is a fixed text, and the checkpoint is deleted between morning and evening, as
# people do when a query does not start. In the evening 120 other payments arrive.

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
# A new checkpoint counts its micro-batches from 0. Delta has 0, 1 and 2 from this application and
# skips all three, without an error. The number alone says nothing: it counts the batches of one
# checkpoint. So name the application after the checkpoint. Spark keeps the query's id there:
# `checkpoint/metadata`.

# %% [markdown]
# ## Deeper: Another query, the old checkpoint
#
# A query runs for a year, and its code does not stay as it was. This one drops copies by `event_id`, and
# its checkpoint keeps the ids of 120 payments. Then the same 120 payments come again. Four changed queries
# start, each on a copy of the checkpoint. All of them should give no row.

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
# Spark compares the number and the types of the state's columns, and the operators. It does not compare
# names. An `order_id` is text, as an `event_id` is: so Spark looks for order ids among 120 event ids and
# finds none. No error is raised, and 120 payments pass a second time.
#
# Filters, columns that the state does not hold, `maxOffsetsPerTrigger` and the trigger may change. A change of
# the state is a new query. It needs a checkpoint of its own, a beginning that you choose (`startingOffsets`),
# and a sink that does not mind what comes twice. Settings that decide the state's layout, such as
# `spark.sql.shuffle.partitions`, are taken from `offsets` and not from the session.

# %% [markdown]
# ## Deeper: Your own crash
#
# Choose a sink, a point and a micro-batch. Predict from the complete table for the values that stand in
# the cell, then change them.

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
# The MERGE does not know that the micro-batch comes again. It asks the table for each event id, finds
# all of them, and inserts nothing. That costs a search of the table in each micro-batch, and it needs a key.

# %% [markdown]
# ## Deeper: Why the Kafka sink uses no transactions
#
# A micro-batch is written by many tasks, on several executors, and each has a producer of its own. A Kafka
# transaction belongs to one producer: one `transactional.id`, one epoch. There is no commit over many
# of them that a driver could give or repeat after its own death. Kafka has no second phase in
# which a prepared transaction waits for an outside decision (KIP-939 proposes one). Flink comes close: its sinks
# flush, remember their open transactions in the checkpoint, and commit them after a restart; readers then
# wait for each checkpoint, and a transaction that times out is lost. Spark leaves it to the readers.
# The transactional sink of this lab takes the other way: one producer for all rows. Its limit is what one process
# can write.
