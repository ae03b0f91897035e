# %% [markdown]
# # L1 · A telemetry pipeline
#
# Forty trucks send their positions to a topic. Some positions come late, some come twice, and some
# are broken. You take the topic through **bronze**, **silver** and **gold** tables with PySpark, and
# prove with three equations that nothing is missing and nothing counts twice.
#
# **You will be able to**
# * read a topic with Structured Streaming, crash, and go on;
# * enforce a schema, and keep what it refuses with the reason;
# * drop duplicates, and say by which clock a late position is counted;
# * say where a streaming query keeps its offsets.
#
# **Time:** {minutes}. It needs Java 17 and PySpark; the first cell takes some seconds, because Spark
# starts a JVM.

# %% doorway tags=["setup"]
import json
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import functions as F

from kit import lab
from kit.drawings.chart import Chart
from kit.spark import session, temporary
from labs.L1_telemetry_pipeline import balance, generator, tables

eng = lab.engine()
spark = session()

# %% [markdown]
# ## The fleet
#
# The generator makes the same records for the same seed. It also counts what a right pipeline has
# to find, and never reads the bytes again: the truth does not depend on a parser. The shares of
# trouble are yours to change.

# %% fleet tags=["setup"]
events, seed = 2_000, 7
late, duplicate, malformed = 0.05, 0.02, 0.01

fleet = generator.Fleet(events, seed, late=late, duplicate=duplicate, malformed=malformed)
morning = list(generator.positions(fleet))
truth = generator.truth(morning)
for kind in ("good", "duplicate", *generator.REASONS):
    print(f"{kind:14}", next((r.value.decode() for r in morning if r.kind == kind), "none"))
eng.create_topic("positions", partitions=3)
truth

# %% [markdown]
# The key of a record is its truck. So the positions of one truck are in one partition, in the order
# in which they were sent. Keep the panel in view while the next cell sends the morning. The
# chart below that cell counts positions by truck.

# %% panel tags=["live"]
lab.panel(eng, "positions")

# %% produce tags=["setup"]
assert generator.write(eng, "positions", morning) == truth.produced
by_truck = [sum(record.truck == f"truck-{n:02d}" for record in morning) for n in range(1, 41)]
Chart(
    "Positions that each truck sent",
    {"positions": list(enumerate(by_truck, 1))},
    x="truck",
    y="positions",
    kind="bars",
)

# %% [markdown]
# A few trucks send most of the positions, and their partitions are longer: such *skew* is the normal
# case, and lab L4 is about it.
#
# ## Bronze: the topic as it was
#
# Bronze judges nothing. It keeps key, value, partition, offset and timestamp, so that each later
# question can be asked again. The trigger `availableNow` reads what is there and ends; here it takes
# two *micro-batches*. Below the rows you see the query's memory: a file for each micro-batch.

# %% bronze tags=["live"]
batch_records = events // 2 + 3  # at most so many in a micro-batch

place = tables.Tables(temporary())
stream = tables.topic_stream(spark, eng.bootstrap, "positions", batch_records)
tables.start_bronze(stream, place).awaitTermination()
bronze = spark.read.parquet(place.bronze)
assert bronze.count() == truth.produced
bronze.selectExpr("partition", "offset", "string(key)", "string(value)").show(3, truncate=60)
for batch in sorted(Path(place.checkpoint("bronze"), "offsets").glob("[0-9]*")):
    print("micro-batch", batch.name, "reads up to", batch.read_text().splitlines()[-1])

# %% [markdown]
# Each micro-batch leaves three notes, in this order: its offsets in `offsets`, before anything is
# read; the names of its files in the table's own log, `bronze/_spark_metadata`, once they are
# written; and its number in `commits`. The next cell removes the last two notes of the second
# micro-batch, as if the query had crashed just before it wrote them. The files are there. Then the
# query starts again.

# %% L1-5 tags=["stub", "predict"]
lab.predict("L1-5")

# %% L1-5 tags=["solution", "predict"]
lab.predict("L1-5", 2000)

# %% crash tags=["live"]
missing = ["table's log", "commits"]  # or ["commits"] alone: a crash a moment later

notes = {
    "table's log": Path(place.bronze, "_spark_metadata"),
    "commits": Path(place.checkpoint("bronze"), "commits"),
}
before = spark.read.parquet(place.bronze).count()
for name in missing:
    newest = max(notes[name].glob("[0-9]*"), key=lambda file: int(file.name))
    for file in (newest, newest.with_name(f".{newest.name}.crc")):
        file.unlink(missing_ok=True)

again = tables.start_bronze(stream, place)
again.awaitTermination()
files = [str(file) for file in Path(place.bronze).glob("*.parquet")]
seen = {
    "rows before": before,
    "records read again": sum(batch["numInputRows"] for batch in again.recentProgress),
    "rows after": spark.read.parquet(place.bronze).count(),
    "rows in all files": spark.read.schema(tables.BRONZE).parquet(*files).count(),
}
print(seen)
lab.verdict("L1-5", seen)

# %% [markdown]
# The query read the same offsets again and wrote the rows again, into new files. A reader of the
# table takes the files that its log names, and the log names the new ones only. The old files still
# lie in the folder: a tool that reads the folder, and not the table, counts them twice.
#
# ## Silver and dead letters
#
# Silver has one row for each event, with the types of a schema:
# `event_id STRING, truck STRING, event_time BIGINT, speed_kmh INT, lat DOUBLE, lon DOUBLE`. The first
# four are required. A record that the schema refuses becomes a *dead letter* and keeps its
# partition, its offset, its bytes and the reason.

# %% L1-6 tags=["stub", "predict"]
lab.predict("L1-6")

# %% L1-6 tags=["solution", "predict"]
lab.predict("L1-6", "1 4")

# %% six-records tags=["live"]
good = {"event_id": "e", "truck": "truck-99", "event_time": generator.START_MS, "speed_kmh": 83}
changes = [
    {"speed_kmh": "83"},
    {"speed_kmh": -5},
    {"truck": 99},
    {"speed_kmh": 83.0},
    {"lat": None},
    {"driver": "Ada"},
]

eng.create_topic("six")
producer = Producer({"bootstrap.servers": eng.bootstrap, "log_level": 0})
for change in changes:
    producer.produce("six", json.dumps(good | change))
producer.flush()
six = spark.read.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
dead = tables.dead_letters(six.option("subscribe", "six").load()).orderBy("offset").collect()
seen = {
    "records": len(changes),
    "refused": [row["offset"] + 1 for row in dead],
    "reasons": sorted({row["reason"] for row in dead}),
}
print(seen)
lab.verdict("L1-6", seen)

# %% [markdown]
# A JSON schema in Spark looks at types. `INT` takes a number that is written without a fraction and
# without quotes. `STRING` takes any value, so a number can become a truck's name. A field that the
# schema does not name is dropped without a word. A speed of −5 has the right type: a range is a rule
# of your own, and exercise L1-2 is about the gap that such a rule can leave.
#
# ### Sent again
#
# The morning goes through silver. Then a hundred of its good positions arrive once more, because the
# trucks had no answer. They are read in a later micro-batch, by a query that was started again.

# %% L1-7 tags=["stub", "predict"]
lab.predict("L1-7")

# %% L1-7 tags=["solution", "predict"]
lab.predict("L1-7", 0)

# %% silver tags=["live"]
resent = 100  # good positions of the morning that arrive once more


def run_on():
    """Bronze, silver and dead letters go on where they stopped; silver's query."""
    tables.start_bronze(stream, place).awaitTermination()
    queries = tables.start_silver(spark, place), tables.start_dead_letters(spark, place)
    assert all(query.awaitTermination(60) for query in queries)
    return queries[0]


run_on()
before = spark.read.parquet(place.silver).count()
good_ones = [record for record in morning if record.kind == "good"]
generator.write(eng, "positions", good_ones[:resent])
(kept,) = run_on().lastProgress["stateOperators"]
seen = {
    "sent again": resent,
    "rows before": before,
    "new rows": spark.read.parquet(place.silver).count() - before,
    "event ids that the query keeps": kept["numRowsTotal"],
}
print(seen)
lab.verdict("L1-7", seen)

# %% [markdown]
# `dropDuplicates` in a stream compares with all event ids that the query has ever seen. They lie in
# the checkpoint, as the query's *state*, and survive a restart. The last number is the price: one id
# for each event, for as long as the query lives. A watermark bounds it (lab L3).
#
# ## Gold: by which clock?
#
# Gold has a row for each truck and minute. `event_time` in the record is the truck's clock. Kafka's
# `timestamp` of a record says when it was sent to the topic. This truck drove through a long tunnel.

# %% L1-1 tags=["stub", "predict"]
lab.predict("L1-1")

# %% L1-1 tags=["solution", "predict"]
lab.predict("L1-1", 2)

# %% late tags=["live"]
measured_at, arrived_at = 2, 16  # minutes past eight
clock = "event_time"  # or "timestamp"

minute_ms = 60_000
late_one = good | {"event_time": generator.START_MS + measured_at * minute_ms}
eng.create_topic("tunnel", config={"retention.ms": -1})  # its record is months old
producer = Producer({"bootstrap.servers": eng.bootstrap, "log_level": 0})
sent_at = generator.START_MS + arrived_at * minute_ms
producer.produce("tunnel", json.dumps(late_one), timestamp=sent_at)
producer.flush()
tunnel = spark.read.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
tunnel = tunnel.option("subscribe", "tunnel").load()
silver = tables.silver(tunnel).join(tunnel.select("offset", "timestamp"), "offset")
(row,) = tables.gold(silver.withColumn("event_time", F.col(clock))).collect()
seen = {"clock": clock, "minute": row["minute"].minute, "positions": row["count"]}
print(seen)
lab.verdict("L1-1", seen)

# %% [markdown]
# Gold groups by the event's own time and is computed again from all of silver, so no position is
# too late. Only a watermark could drop one, and this pipeline has none.
#
# ## Break it: a broker dies under the pipeline
#
# Now all of it, on the engine and on a real Kafka. Half of the positions are written, the leader of
# partition 0 is killed, and the other half follows. Spark reads while that broker is down. Three
# equations must hold: *bronze = produced*; *silver + dead letters = bronze − duplicates*;
# *gold = the generator's truth*, minute by minute.

# %% L1-8 tags=["stub", "predict"]
lab.predict("L1-8")

# %% L1-8 tags=["solution", "predict"]
lab.predict("L1-8", "d")

# %% broker-dies tags=["both"]
of_partition, after, broken = 0, 1_000, 0.02  # whose leader dies, and after how many records


def broker_dies(cluster):
    shift = list(generator.positions(generator.Fleet(2_000, seed=8, malformed=broken)))
    cluster.create_topic("shift", partitions=3)
    truth, victim = generator.truth(shift), cluster.leader("shift", of_partition)
    written = generator.write(cluster, "shift", shift, {after: lambda: cluster.kill(victim)})
    where = tables.Tables(temporary())
    read = tables.topic_stream(spark, cluster.bootstrap, "shift", 1_000)
    tables.start_bronze(read, where).awaitTermination()
    for start in (tables.start_silver, tables.start_dead_letters):
        start(spark, where).awaitTermination()
    tables.write_gold(spark, where)
    found = balance.counts(spark, where)
    return {
        "acknowledged": written,
        "leader changed": cluster.leader("shift", of_partition) != victim,
        "bronze": found.bronze,
        "silver": found.silver,
        "dead letters": sum(found.dead_letters.values()),
        "equations that hold": sum(e.holds for e in balance.equations(found, truth)),
    }


outcome = lab.both(broker_dies)
display(outcome)
lab.verdict("L1-8", outcome)

# %% [markdown]
# The producer got no answer for the records in flight and sent them again, to the new leader. They
# are there once, because the producer is idempotent: a leader knows the sequence numbers of its
# batches, and so does its successor. Spark asked for new metadata and read on. The equations show
# more than a count does: each names the step that lost or repeated something.
#
# At work you would see such a death in two places. This cell kills a leader of the morning's topic and
# shows both: the raw output of Kafka's tool, and the lines of the broker that leads next.

# %% describe tags=["live"]
partition = 0

leader = eng.leader("positions", partition)
eng.kill(leader)
eng.wait_until(lambda c: c.leader("positions", partition) not in (leader, -1))
display(lab.tool(eng, "kafka-topics", "--describe", "--topic", "positions"))
display(lab.broker_log(eng, eng.leader("positions", partition), f"positions-{partition}"))
lab.mend(eng)

# %% [markdown]
# ## Your turn
#
# Three steps of a pipeline. The judge calls the first two with rows that you have not seen, and
# for the third it reads your topic.


# %% judged-by-rows tags=["setup"]
def rows_of(frame):
    return sorted([list(row) for row in frame.collect()])


def on_speeds(split):
    """Calls `split` with events of these speeds; gives the numbers of the good and the bad."""

    def called(speeds):
        events = spark.createDataFrame(list(enumerate(speeds)), "event INT, speed_kmh INT")
        good, bad = split(events)
        return {"good": rows_of(good.select("event")), "bad": rows_of(bad.select("event"))}

    return called


def on_events(once):
    """Calls `once` with these events; gives its rows."""

    def called(events):
        frame = spark.createDataFrame(events, "event_id STRING, offset INT, speed_kmh INT")
        return rows_of(once(frame).select("event_id", "offset", "speed_kmh"))

    return called


# %% [markdown]
# **Split without a gap.** `speed_kmh` is good from 0 to 130, both included. Everything else is bad,
# an unknown speed (null) too. Each event must come out on exactly one side.


# %% L1-2 tags=["stub"]
def split(events):
    """Two DataFrames: the good events and the bad ones."""
    return events, events.limit(0)


# %% L1-2 tags=["solution"]
def split(events):
    """Two DataFrames: the good events and the bad ones."""
    good = F.coalesce(F.col("speed_kmh").between(0, 130), F.lit(False))
    return events.where(good), events.where(~good)


# %% L1-2 tags=["check"]
lab.check("L1-2", on_speeds(split))

# %% [markdown]
# **Once, and the first.** A truck may send an event again with other content, for instance after
# its software was mended. Keep one row per event id: the one with the lowest offset.


# %% L1-3 tags=["stub"]
def once(events):
    """One row per event_id, with the offset and speed_kmh of the first."""
    return events


# %% L1-3 tags=["solution"]
def once(events):
    """One row per event_id, with the offset and speed_kmh of the first."""
    return events.groupBy("event_id").agg(
        F.min("offset").alias("offset"), F.min_by("speed_kmh", "offset").alias("speed_kmh")
    )


# %% L1-3 tags=["check"]
lab.check("L1-3", on_events(once))

# %% [markdown]
# **Minutes as a topic.** Write to the topic `truck-minutes` how many positions each truck sent in
# each minute of its own clock: the key is the truck, the value is JSON with `truck`, `minute` (its
# first millisecond) and `count`. Duplicates and dead letters do not count; late positions do.
# `arrived` is the topic `positions`, read as a batch. The lab's own rules are below it.

# %% arrived tags=["setup"]
arrived = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", eng.bootstrap)
    .option("subscribe", "positions")
    .load()
)
lab.show(tables.silver, tables.gold)

# %% L1-4 tags=["stub"]
eng.create_topic("truck-minutes", partitions=3)
minutes = None

# %% L1-4 tags=["solution"]
eng.create_topic("truck-minutes", partitions=3)
minutes = tables.gold(tables.silver(arrived)).selectExpr(
    "truck AS key", "to_json(struct(truck, unix_millis(minute) AS minute, count)) AS value"
)
kafka = minutes.write.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
kafka.option("topic", "truck-minutes").save()

# %% L1-4 tags=["check"]
lab.check("L1-4", cluster=eng)

# %% [markdown]
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. Where are a streaming query's offsets?</b></summary>
#
# In its checkpoint, a file for each micro-batch, written before the micro-batch reads anything. Not in
# `__consumer_offsets`: Spark joins no consumer group.
# *Follow-up:* how do you watch its lag then? (The query's progress names the offsets that it read and
# the latest ones.)
#
# * **weak:** "in Kafka" · **good:** in the checkpoint · **strong:** says when they are written and what a
#   restart does with them
# * **evidence:** [Bronze](#Bronze:-the-topic-as-it-was)
# </details>
#
# <details><summary><b>2. A query crashes after it has written files. Are rows there twice?</b></summary>
#
# The micro-batch runs again with the same offsets. The file sink's own log decides which files belong to
# the table, so its readers see each row once. A reader of the folder sees leftover files too.
# *Follow-up:* and with a sink without such a log, Kafka for instance? (Then records can be there twice.)
#
# * **weak:** "exactly-once, always" · **good:** repeated batch, idempotent sink · **strong:** names the
#   three notes and their order
# * **evidence:** [Bronze](#Bronze:-the-topic-as-it-was)
# </details>
#
# <details><summary><b>3. Kafka delivered a record twice. What may have happened?</b></summary>
#
# The sender got no answer and sent again. An idempotent producer prevents its own repeats; when an
# application sends again after a restart, only an event id can tell.
# *Follow-up:* what does it cost to know all ids? (State that grows with each event, unless a watermark
# bounds it.)
#
# * **weak:** "a bug in Kafka" · **good:** retries, event id · **strong:** tells producer's from
#   application's repeats, and names the state
# * **evidence:** [Sent again](#Sent-again)
# </details>
#
# <details><summary><b>4. Why keep bronze when silver has it all?</b></summary>
#
# Silver has what today's schema understood. With bronze a mended parser needs no second reading of the
# source, which may have deleted the records by then.
# *Follow-up:* why are dead letters not enough for that? (The fields that the schema dropped from good
# records are only in bronze.)
#
# * **weak:** "as a backup" · **good:** read again with another schema · **strong:** retention, and what a
#   schema drops without a word
# * **evidence:** [Silver and dead letters](#Silver-and-dead-letters)
# </details>
#
# <details><summary><b>5. How do you prove that a pipeline lost nothing?</b></summary>
#
# Each record that came in must be found in exactly one place: bronze = produced, silver + dead letters =
# bronze − duplicates, and gold against a truth that was counted elsewhere.
# *Follow-up:* a count is right; what may still be wrong? (One lost and one twice; so compare keys or
# minutes, not only sums.)
#
# * **weak:** "no errors in the log" · **good:** counts at each step · **strong:** equations that name the
#   step, and an independent truth
# * **evidence:** [Break it](#Break-it:-a-broker-dies-under-the-pipeline)
# </details>
#
# **Read this output: what happened?**
# ```
# GROUP  TOPIC      PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG   CONSUMER-ID
# audit  positions  0          210             546             336   -
# audit  positions  1          1141            1142            1     -
# audit  positions  2          312             316             4     -
# ```
# <details><summary><b>An answer</b></summary>
#
# No consumer id: the group has no member now, and these are the offsets that it left. It stopped while
# partition 0 was far behind, so one consumer was stuck there, perhaps at a record that it cannot parse.
# A Spark query would not be in this list at all.
# </details>
#
# ## Quiz

# %% L1-10 tags=["stub", "predict", "quiz"]
lab.quiz("L1-10")

# %% L1-10 tags=["solution", "predict", "quiz"]
lab.quiz("L1-10", "b")

# %% [markdown]
# ## Deeper: Slow work and the poll interval
#
# A consumer that subscribes has to poll again within `max.poll.interval.ms`, or it loses its
# partitions. The sources of this course warn that this matters for frameworks such as Spark. Here
# each record takes a millisecond, the interval is one second, and a micro-batch takes longer.

# %% L1-9 tags=["stub", "predict"]
lab.predict("L1-9")

# %% L1-9 tags=["solution", "predict"]
lab.predict("L1-9", "a")

# %% slow-batches-keep-their-partitions tags=["live"]
from confluent_kafka.admin import AdminClient

interval_ms, work_ms = 1_000, 1  # max.poll.interval.ms; the time that a record takes

slow = spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
slow = slow.option("subscribe", "positions").option("startingOffsets", "earliest")
slow = slow.option("kafka.max.poll.interval.ms", interval_ms).option("groupIdPrefix", "slow").load()
slow = slow.where(f"reflect('java.lang.Thread', 'sleep', {work_ms}L) IS NOT NULL")
query = slow.writeStream.format("noop").trigger(availableNow=True)
query = query.option("checkpointLocation", str(temporary())).start()
assert query.awaitTermination(60)
ends = eng.snapshot()["topics"]["positions"]["partitions"].values()
groups = AdminClient({"bootstrap.servers": eng.bootstrap}).list_consumer_groups().result().valid
seen = {
    "interval ms": interval_ms,
    "micro-batch ms": query.lastProgress["batchDuration"],
    "records": sum(max(log["log_end_offset"] for log in p["logs"].values()) for p in ends),
    "records read": query.lastProgress["numInputRows"],
    "groups of that name": sum(group.group_id.startswith("slow") for group in groups),
}
print(seen)
lab.verdict("L1-9", seen)

# %% [markdown]
# The query read every record, once, and the cluster has never seen a group of that name. Spark
# assigns partitions to its tasks by itself and keeps the offsets in the checkpoint. There is no
# membership to lose, so the interval does not apply; it does to consumers that subscribe. The
# other side of it: `kafka-consumer-groups.sh` shows no lag for this query. Look at
# `query.lastProgress`.

# %% [markdown]
# ## Deeper: What visitors do
#
# Kafka was made for website activity. A streaming query groups clicks into visitors' sessions, which
# a pause of 30 seconds ends; then each session's pages are counted.

# %% clicks-per-session tags=["live"]
CLICKS = [(0, "/"), (5, "/cart"), (9, "/cart"), (120, "/"), (130, "/help")]
eng.create_topic("clicks", config={"retention.ms": -1})
producer = Producer({"bootstrap.servers": eng.bootstrap, "log_level": 0})
for second, page in CLICKS:
    at = generator.START_MS + second * 1000
    producer.produce("clicks", key="ada", value=page, timestamp=at)
producer.flush()
clicks = tables.topic_stream(spark, eng.bootstrap, "clicks")
visits = clicks.groupBy(
    F.expr("string(key)").alias("visitor"), F.session_window("timestamp", "30 seconds").alias("at")
).agg(F.collect_list(F.expr("string(value)")).alias("pages"))
query = visits.writeStream.format("memory").queryName("visits").outputMode("complete")
query = query.option("checkpointLocation", str(temporary()))
query.trigger(availableNow=True).start().awaitTermination()
pages = spark.table("visits").select("visitor", "at.start", F.explode("pages").alias("page"))
pages = pages.groupBy("visitor", "start", "page").count().orderBy("start", "page")
assert [row["count"] for row in pages.collect()] == [1, 2, 1, 1]
pages.show()

# %% [markdown]
# ## Deeper: What a real pipeline does beyond this
#
# It cannot keep every event id and compute all of gold again for years. A watermark bounds both, and
# then the team has to say how late is too late (L3). Its tables have transactions and upserts (L5),
# its queries run on several machines (L4), and the write to Kafka at the end may repeat records
# after a crash (L2). At full size this lab is one command:
# `kafkalab pipeline --source local --events 200000`.
