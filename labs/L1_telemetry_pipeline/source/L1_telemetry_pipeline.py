# %% [markdown]
# # L1 · A telemetry pipeline
#
# Forty trucks send their positions to a topic. Some positions come late, some come twice, and
# some are broken. You take the topic through **bronze**, **silver** and **gold** tables with
# PySpark, and prove with three equations that nothing is missing and nothing counts twice.
#
# **You will be able to**
# * read a topic with Structured Streaming, stop, and go on without losing a record;
# * enforce a schema and keep what it refuses, with the reason;
# * drop duplicates, and count late positions where they belong;
# * say what a streaming query does in a consumer group, and where its offsets are.

# %% doorway tags=["setup"]
from pyspark.sql import functions as F

from kit import lab
from kit.spark import session, temporary
from labs.L1_telemetry_pipeline import balance, generator, pipeline, tables

eng = lab.engine()
spark = session()

# %% [markdown]
# ## Predict
#
# A truck drives through a long tunnel at 8:02 and is heard again at 8:16.

# %% L1-1 tags=["stub", "predict", "quiz"]
lab.quiz("L1-1")

# %% L1-1 tags=["solution", "predict", "quiz"]
lab.quiz("L1-1", "b")

# %% [markdown]
# ## The fleet
#
# The generator makes the same records for the same seed, and counts what a right pipeline has
# to find. It never reads the bytes again: the truth does not depend on a parser.

# %% fleet tags=["setup"]
records = list(generator.positions(generator.Fleet(events=4_000, seed=7)))
morning, rest = records[:2_000], records[2_000:]
truth = generator.truth(morning)
truth

# %% what-arrives tags=["read"]
for kind in ("good", "duplicate", *generator.REASONS):
    print(f"{kind:14}", next(record.value.decode() for record in records if record.kind == kind))

# %% [markdown]
# The key is the truck. So a truck's positions are in one partition, in the order in which they
# were sent; and a truck that sends a lot makes its partition longer than the others.

# %% produce tags=["setup"]
eng.create_topic("positions", partitions=3)
assert generator.write(eng, "positions", morning) == truth.produced

# %% partitions tags=["live"]
eng.describe("positions")

# %% [markdown]
# ## Bronze: the topic as it was
#
# Bronze judges nothing. It keeps key, value, partition, offset and timestamp, so that each later
# question can be asked again. The trigger `availableNow` reads what is there, and ends.

# %% bronze tags=["live"]
place = tables.Tables(temporary())
stream = tables.topic_stream(spark, eng.bootstrap, "positions", batch_records=1_000)
tables.start_bronze(stream, place).awaitTermination()
bronze = spark.read.parquet(place.bronze)
assert bronze.count() == truth.produced
bronze.selectExpr("partition", "offset", "string(key)", "string(value)").show(3, truncate=60)

# %% offsets-in-the-checkpoint tags=["live"]
from pathlib import Path

for batch in sorted(Path(place.checkpoint("bronze"), "offsets").glob("[0-9]*")):
    print("micro-batch", batch.name, "reads up to", batch.read_text().splitlines()[-1])

# %% [markdown]
# These files are the query's memory. Before a micro-batch reads anything, its offsets are written
# here; after its files are in the table, a file of the same number in `commits` says so. A query
# that was ended between the two does that very micro-batch again, and the table's own log
# (`bronze/_spark_metadata`) counts it once.

# %% [markdown]
# ## Silver and dead letters
#
# One query keeps the events, each event id once. The other keeps what the schema refused.

# %% read-the-rule tags=["read"]
lab.show(tables.silver)

# %% silver tags=["live"]
queries = tables.start_silver(spark, place), tables.start_dead_letters(spark, place)
assert all(query.awaitTermination(60) for query in queries)
dead = spark.read.parquet(place.dead_letters)
dead.selectExpr("reason", "partition", "offset", "string(value)").show(4, truncate=70)

# %% [markdown]
# A dead letter still has its partition, its offset and its bytes. Whoever mends the sender can
# find it in the topic, and whoever mends the parser can read it again.
#
# ## Gold, and the balance
#
# Gold is computed anew from all of silver, by the trucks' own clocks. A late position so counts
# in its own minute, however late it is.


# %% balance tags=["live"]
def balanced(truth):
    tables.write_gold(spark, place)
    equations = balance.equations(balance.counts(spark, place), truth)
    for equation in equations:
        print("✓" if equation.holds else "✗", equation.name, equation.left, equation.right)
    return all(equation.holds for equation in equations)


assert balanced(truth)

# %% [markdown]
# ## Break it
#
# The rest of the day is produced, and the leader of partition 0 is killed in the middle of it.
# The pipeline goes on from its checkpoints while that broker is down.

# %% leader-killed tags=["live"]
leader = eng.leader("positions", 0)
written = generator.write(
    eng, "positions", rest, after=lambda n: eng.kill(leader) if n == 1_000 else None
)
assert written == len(rest)
print(f"broker {leader} was killed, {eng.leader('positions', 0)} leads now")

# %% goes-on tags=["live"]
tables.start_bronze(stream, place).awaitTermination()
queries = tables.start_silver(spark, place), tables.start_dead_letters(spark, place)
assert all(query.awaitTermination(60) for query in queries)
assert balanced(generator.truth(records))

# %% mended tags=["live"]
eng.start(leader)
eng.wait_until(
    lambda c: all(
        leader in partition["isr"]
        for partition in c.snapshot()["topics"]["positions"]["partitions"].values()
    )
)
eng.describe("positions")


# %% [markdown]
# ## The same on real Kafka
#
# One function, both clusters. `kafkalab pipeline --source local --events 200000` is this run at
# full size.


# %% both-sides tags=["both"]
def telemetry(cluster):
    report = pipeline.run(cluster, events=2_000, seed=7)
    assert report.balances
    return {
        "silver": report.counts.silver,
        "dead letters": dict(report.counts.dead_letters),
        "gold rows": len(report.counts.gold),
        "into bronze": lab.measured(report.read_per_second, "records/s"),
    }


lab.both(telemetry)

# %% [markdown]
# ## Source check: slow work and the poll interval
#
# A consumer that subscribes has to poll again within `max.poll.interval.ms`, or it loses its
# partitions. The sources warn that this matters for frameworks such as Spark. Here each record
# takes a millisecond, the interval is one second, and a micro-batch takes longer than that.

# %% slow-batches-keep-their-partitions tags=["live"]
from confluent_kafka.admin import AdminClient

slow = spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
slow = slow.option("subscribe", "positions").option("startingOffsets", "earliest")
slow = slow.option("kafka.max.poll.interval.ms", 1_000).option("groupIdPrefix", "slow").load()
slow = slow.where("reflect('java.lang.Thread', 'sleep', 1L) IS NOT NULL")
query = slow.writeStream.format("noop").trigger(availableNow=True)
query = query.option("checkpointLocation", str(temporary())).start()
assert query.awaitTermination(60)
progress = query.lastProgress
admin = AdminClient({"bootstrap.servers": eng.bootstrap})
groups = admin.list_consumer_groups().result().valid
assert progress["batchDuration"] > 1_000
assert progress["numInputRows"] == len(records)
assert not [group for group in groups if group.group_id.startswith("slow")]
print(f"one micro-batch of {progress['numInputRows']} records: {progress['batchDuration']} ms")

# %% [markdown]
# The query read every record, once, and the cluster has never seen a group of that name. Spark
# assigns partitions to its tasks by itself and keeps the offsets in the checkpoint. There is no
# membership that could be lost, so the interval does not apply; it does to consumers that
# subscribe. The other side of it: `kafka-consumer-groups.sh` shows no lag for this query. Look at
# `query.lastProgress`.
#
# ## Another use: what visitors do
#
# Website activity is what Kafka was made for. A streaming query groups clicks into visitors'
# sessions, which a pause of 30 seconds ends; then each session's pages are counted.

# %% clicks-per-session tags=["live"]
from confluent_kafka import Producer

CLICKS = [(0, "/"), (5, "/cart"), (9, "/cart"), (120, "/"), (130, "/help")]
eng.create_topic("clicks")
producer = Producer({"bootstrap.servers": eng.bootstrap})
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
# `arrived` is the topic `positions`, read as a batch.

# %% arrived tags=["setup"]
arrived = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", eng.bootstrap)
    .option("subscribe", "positions")
    .load()
)

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
# * *Where are a streaming query's offsets?* In its checkpoint, one file per micro-batch, written
#   before the micro-batch runs. Not in `__consumer_offsets`.
# * *Kafka delivered a record twice. Whose mistake is it?* Often nobody's: the sender did not get
#   an answer and sent again. An idempotent producer prevents its own repeats within a session; an
#   application that sends anew after a crash is caught by an event id only.
# * *Why keep bronze when silver has it all?* Silver has what today's schema understood. With bronze
#   a second question, or a mended parser, needs no second reading of the source.
#
# ## What a real pipeline does beyond this
#
# It cannot keep every event id and recompute all of gold for ever. A watermark bounds both, and
# then somebody has to say how late is too late (L3). Its tables have transactions and upserts (L5),
# its queries run on several machines (L4), and the write to Kafka at the end may repeat records
# after a crash (L2).
