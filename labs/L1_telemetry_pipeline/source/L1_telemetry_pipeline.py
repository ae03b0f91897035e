# %% [markdown]
# # L1 · A telemetry pipeline
#
# Forty trucks send their positions to a topic. Some positions arrive late, some arrive twice, and
# some are broken. You take the topic through **bronze**, **silver** and **gold** tables with
# PySpark, kill the processes that run the pipeline, and use three equations to find what is missing
# and what counts twice.
#
# **You will be able to**
# * write a streaming query as production runs it: source options, trigger, checkpoint, name;
# * parse records by a rule, and keep each refused record with its place and the reason;
# * drop copies with state that does not grow forever, and say what a watermark loses;
# * explain what a killed driver or broker changes, and show it.
#
# **Time:** {minutes}. The lab needs Java 17 and PySpark; the first cell takes a few seconds,
# because Spark starts a JVM. The lab builds on notebooks 02 and 06; `lab.term("ISR")` explains a
# term.

# %% doorway tags=["setup"]
import json
import shutil
from pathlib import Path
from time import monotonic

from confluent_kafka import Producer
from pyspark.sql import functions as F

from kit import lab
from kit.drawings.chart import Chart
from kit.spark import session, table_format, temporary
from labs.fleet.records import MINUTE_MS, POSITIONS, REASONS, START_MS, Fleet, records
from labs.fleet.truth import Tally
from labs.fleet.writer import write
from labs.L1_telemetry_pipeline import driver, trials
from labs.L1_telemetry_pipeline.layers import clean_log, follow, plan
from labs.pipeline.balance import Equation
from labs.pipeline.tables import MINUTES, Place

eng = lab.engine()
spark = session()

# %% [markdown]
# ## The fleet
#
# The generator makes the same records for the same seed. A tally counts what a correct pipeline
# must find, and never reads the bytes again, so the truth does not depend on a parser. Halfway
# through, the trucks get new firmware: positions now have a `heading`, and some have `event_time`
# as text. You can change the share of each kind of trouble.
#
# Each record's key is its truck, so a truck's positions are all in one partition, in order of
# arrival. Keep the panel in view while the cell below it sends the morning's records.

# %% fleet tags=["setup"]
events, seed = 6_000, 7
late, duplicate, malformed = 0.05, 0.02, 0.01

tally = Tally()
fleet = Fleet(
    events, seed, orders=0, per_second=1, late=late, duplicate=duplicate, malformed=malformed
)
morning = list(tally.counting(records(fleet)))
truth = tally.truth()
eng.create_topic(POSITIONS, partitions=3)
print("good:", morning[0].value.decode())
print("time as text:", next(r.value.decode() for r in morning if r.time_as_text))
for reason in REASONS:
    print(f"{reason}:", next((r.value for r in morning if r.fault == reason), "none"))
truth.positions

# %% panel tags=["live"]
lab.panel(eng, POSITIONS)

# %% produce tags=["setup"]
assert write(eng, morning) == truth.produced
sent = truth.positions.by_key
Chart(
    "Positions that each truck sent: the first ones send most (skew)",
    {"positions": [(number, sent.get(f"truck-{number:02d}", 0)) for number in range(1, 41)]},
    x="truck",
    y="positions",
    kind="bars",
)

# %% [markdown]
# ## Bronze: the topic as it was
#
# Bronze judges nothing. It keeps key, value, partition, offset and timestamp, so that most
# questions can be asked again later. Read the cell as a reviewer would, option by option:
#
# | option | reason |
# |---|---|
# | `startingOffsets` | a new query starts here; without this option, it starts at the topic's end. A checkpoint overrides the option |
# | `failOnDataLoss` | the query fails if records were deleted before it read them; with `false`, it continues without them |
# | `maxOffsetsPerTrigger` | a query that was down for a day must not read that day in one micro-batch |
# | `minPartitions` | more tasks than the topic has partitions: useful where there are more cores |
# | `kafka.isolation.level` | Spark's default would also read records from aborted transactions |
# | `kafka.…timeout.ms` | how long Spark waits for a dead broker; the defaults are 30 and 60 seconds |
# | `checkpointLocation` | the query's memory: one folder per query, for as long as the query lives |
# | `availableNow` | the query reads what is there, in micro-batches, and then ends: a job for a scheduler |
# | `queryName` | the query's name in logs, metrics and alarms |

# %% bronze tags=["setup"]
FORMAT = table_format(spark)  # "delta"; "parquet" where Delta's jars are missing
AVAILABLE_NOW = {"availableNow": True}


def read_topic(spark, bootstrap, topic, batch_records=2_010):
    """The topic as a stream, from its beginning."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", batch_records)
        .option("minPartitions", 4)
        .option("kafka.isolation.level", "read_committed")
        .option("kafka.request.timeout.ms", 15_000)
        .option("kafka.default.api.timeout.ms", 20_000)
        .load()
        .select("topic", "partition", "offset", "timestamp", "key", "value")
    )


def start_bronze(spark, bootstrap, topic, place, trigger=AVAILABLE_NOW, name="bronze"):
    """Appends the topic to the table bronze."""
    return (
        read_topic(spark, bootstrap, topic)
        .writeStream.format(FORMAT)
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", place.checkpoint("bronze"))
        .trigger(**trigger)
        .start(place.bronze)
    )


# %% L1-5 tags=["stub", "predict"]
lab.predict("L1-5")

# %% L1-5 tags=["solution", "predict"]
lab.predict("L1-5", 6000)

# %% crash tags=["live"]
die_when, keep_checkpoint = "planned", True  # or "written": the table has micro-batch 1 by then

place = Place(temporary())
checkpoint = place.checkpoint("bronze")
written = "_delta_log/00000000000000000001.json" if FORMAT == "delta" else "_spark_metadata/1"
moments = {"planned": Path(checkpoint, "offsets/1"), "written": Path(place.bronze, written)}
job = driver.start(start_bronze, eng.bootstrap, POSITIONS, place)
job.wait_for(moments[die_when])
job.kill()  # SIGKILL to the driver: Python and its JVM
left = {
    notes: sorted(int(file.name) for file in Path(checkpoint, notes).glob("[0-9]*"))
    for notes in ("offsets", "commits")
}
print("left in the checkpoint:", left)
if not keep_checkpoint:
    shutil.rmtree(checkpoint)
again = start_bronze(spark, eng.bootstrap, POSITIONS, place)
again.awaitTermination()
bronze = spark.read.format(FORMAT).load(place.bronze)
seen = {
    "died in micro-batch": max(left["offsets"]),
    "read by the second process": sum(batch["numInputRows"] for batch in again.recentProgress),
    "rows after": bronze.count(),
    "records in bronze": bronze.select("partition", "offset").distinct().count(),
}
print(seen)
lab.verdict("L1-5", seen)

# %% [markdown]
# A micro-batch is planned first: Spark notes its offsets in `offsets` before it reads a record.
# Then the batch runs, and the table's log gets one commit with the batch's rows. Last, the batch's
# number goes to `commits`. The second process found offsets without a commit, and ran that
# micro-batch again with the same offsets. Delta keeps the query's id and the batch's number with
# each commit, so a batch that was written before the kill is not written again. To see this, kill
# the driver when the batch is `"written"`. Without the checkpoint, Spark starts a new query, which
# appends the whole topic again.
#
# ## The rule that accepts and refuses
#
# Kafka carries bytes. One function decides what they mean, or why they mean nothing. It is a chain
# of conditions, each with its reason, checked in order. The schema is written down, not inferred:
# Spark may guess one schema from today's records and a different one from tomorrow's. Times are
# checked as well. A time in nanoseconds would end the query. A time in microseconds is far in the
# future, as is text from the year 9999, and the watermark would follow such a time there. Text must
# match one pattern: without the pattern, Spark also accepts "12:30" and takes it to mean 12:30
# today. A clock that is a day ahead passes; L3 shows what follows.

# %% rule tags=["setup"]
POSITION = "event_id STRING, truck STRING, event_time STRING, speed_kmh INT, heading INT"
REQUIRED = ("event_id", "truck", "event_time", "speed_kmh")
THIS_CENTURY = (946_684_800_000, 4_102_444_799_999)  # in milliseconds; nanoseconds are far beyond
TEXT_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX"


def parse(records):
    """Adds a position's columns, and `reason`: null, or the first rule that the record breaks."""
    text = F.col("value").cast("string")
    read = records.withColumns(
        {"position": F.from_json(text, POSITION), "there": F.json_object_keys(text)}
    )
    position, there = F.col("position"), F.col("there")  # null where there is no JSON object
    required = [F.get_json_object(text, f"$.{name}") for name in REQUIRED]
    words = position["event_time"]  # a number, or text from the new firmware
    read_words = F.unix_millis(F.try_to_timestamp(words, F.lit(TEXT_TIME)))
    millis = F.coalesce(words.try_cast("BIGINT"), read_words)
    event_time = F.when(millis.between(*THIS_CENTURY), F.timestamp_millis(millis))
    reason = (
        F.when(F.col("value").isNull(), "no value")
        .when(there.isNull(), "not JSON")
        .when(F.size(F.array_except(F.array(*map(F.lit, REQUIRED)), there)) > 0, "missing field")
        .when(F.exists(F.array(*required), lambda value: value.isNull()), "null field")
        .when(event_time.isNull() | position["speed_kmh"].isNull(), "wrong type")
    )
    columns = {name: position[name] for name in ("event_id", "truck", "speed_kmh", "heading")}
    judged = read.withColumns(columns | {"event_time": event_time, "reason": reason})
    return judged.drop("position", "there")


# %% L1-6 tags=["stub", "predict"]
lab.predict("L1-6")

# %% L1-6 tags=["solution", "predict"]
lab.predict("L1-6", "1 4")

# %% six-records tags=["live"]
good = {"event_id": "e", "truck": "truck-99", "event_time": START_MS, "speed_kmh": 83}
changes = [
    {"speed_kmh": "83"},
    {"speed_kmh": -5},
    {"truck": 99},
    {"speed_kmh": 83.0},
    {"heading": None},
    {"driver": "Ada"},
]

six = spark.createDataFrame(
    [
        (number, bytearray(json.dumps(good | change).encode()))
        for number, change in enumerate(changes, 1)
    ],
    "number INT, value BINARY",
)
found = parse(six).orderBy("number").drop("value")
found.show(truncate=False)
seen = {
    "records": len(changes),
    "refused": [row["number"] for row in found.where("reason IS NOT NULL").collect()],
}
lab.verdict("L1-6", seen)

# %% [markdown]
# In Spark, a JSON schema checks types. `INT` accepts a number written without a fraction or quotes.
# `STRING` accepts any value, so a number can become a truck's name. A field that the schema does
# not name is silently dropped, but bronze still has it. A speed of −5 has the right type. A range
# check is a rule that you add yourself, and exercise L1-3 is about the gap that such a rule can
# leave.
#
# ## Each event once, and what it costs
#
# A truck that gets no answer sends its position again. To drop the copy, a query must remember the
# ids that it has seen. These ids are the query's *state*, which is kept in the checkpoint.
# `dropDuplicates` keeps every id forever. A *watermark* is the newest event time so far, minus a
# delay that you choose; `dropDuplicatesWithinWatermark` uses the watermark to forget old ids. The
# next cell runs both over the topic and draws their state. The `noop` sink accepts rows and
# discards them; it is good for a measurement and nothing else.

# %% L1-7 tags=["stub", "predict"]
lab.predict("L1-7")

# %% L1-7 tags=["solution", "predict"]
lab.predict("L1-7", "c")

# %% state tags=["live"]
delay_min, batch_records = 20, 600

topic = read_topic(spark, eng.bootstrap, POSITIONS, batch_records)
positions = parse(topic).where("reason IS NULL").select("event_id", "event_time")
timed = positions.withWatermark("event_time", f"{delay_min} minutes")
ways = {
    "dropDuplicates": positions.dropDuplicates(["event_id"]),
    "within the watermark": timed.dropDuplicatesWithinWatermark(["event_id"]),
}
queries = {}
for name, once in ways.items():
    writer = once.writeStream.format("noop").queryName(name).outputMode("append")
    writer = writer.option("checkpointLocation", str(temporary()))
    queries[name] = writer.trigger(**AVAILABLE_NOW).start()
kept = {}
for name, query in queries.items():
    query.awaitTermination()
    kept[name] = [
        (b["batchId"], b["stateOperators"][0]["numRowsTotal"]) for b in query.recentProgress
    ]
display(Chart("Event ids in the state", kept, x="micro-batch", y="ids"))
seen = {
    "events": truth.positions.events,
    "minutes of events": events // 60,
    "watermark minutes": delay_min,
    "ids kept within the watermark": kept["within the watermark"][-1][1],
    "ids kept by dropDuplicates": kept["dropDuplicates"][-1][1],
}
lab.verdict("L1-7", seen)

# %% [markdown]
# An id goes when the watermark passes its time plus the delay, however long the query lives. The
# delay is a promise about the senders: no report is late by more than the delay, and no copy
# arrives more than the delay after its original. The fleet's reports arrive up to 15 minutes late,
# and their copies arrive up to 5 minutes after that, so 20 minutes is more than either.
#
# A trap: `dropDuplicates(["event_id"])` *after* `withWatermark` also keeps every id. It uses the
# watermark only if `event_time` is one of its columns, but then a copy with a new time does not
# count as a copy.
#
# ## Silver, dead letters, gold
#
# Silver has each event once. A refused record becomes a *dead letter*: its bytes, partition, offset
# and reason. `observe` adds a count of the refused records to each micro-batch's progress, where an
# alarm can use it. Gold has one row per truck and minute, which MERGE keeps current: the minutes
# that a micro-batch from silver touches are recomputed from silver. So a repeated micro-batch
# produces the same gold, and `foreachBatch`, which may repeat a micro-batch, can do no harm. The
# oldest of these minutes limits what is read: Delta's log has the minimum and maximum of each
# file's columns, so files whose times end before that minute are not opened, even in a table that
# holds years of data.

# %% layers tags=["live"]
watermark = "20 minutes"


def append(rows, name, table):
    writer = rows.writeStream.format(FORMAT).queryName(name).outputMode("append")
    writer = writer.option("checkpointLocation", place.checkpoint(name))
    return writer.trigger(**AVAILABLE_NOW).start(table)


def judged():
    parsed = parse(follow(spark, place.bronze))
    return parsed.observe("parsed", F.count("reason").alias("refused"))


def start_silver():
    positions = judged().where("reason IS NULL")
    timed = positions.drop("key", "value", "reason").withWatermark("event_time", watermark)
    once = timed.dropDuplicatesWithinWatermark(["event_id"])
    return append(once, "silver", place.silver(POSITIONS))


def start_dead_letters():
    refused = judged().where("reason IS NOT NULL")
    columns = ("topic", "partition", "offset", "timestamp", "key", "value", "reason")
    return append(refused.select(*columns), "dead-letters", place.dead_letters)


def per_minute(positions):
    return positions.groupBy("truck", F.date_trunc("minute", "event_time").alias("minute")).agg(
        F.count("*").alias("positions"),
        F.sum("speed_kmh").alias("total_kmh"),
        F.max("speed_kmh").alias("maximum_kmh"),
    )


def refresh_minutes(batch, number):
    """Computes the minutes that the micro-batch touches again, from silver."""
    session, minute = batch.sparkSession, F.date_trunc("minute", "event_time")
    touched = batch.select("truck", minute.alias("minute")).distinct()
    (oldest_ms,) = touched.agg(F.unix_millis(F.min("minute"))).first()
    if oldest_ms is None:
        return  # no rows: a compaction of silver, which changes none, comes as such a micro-batch
    oldest = f"timestamp_millis({oldest_ms})"
    silver = session.read.format(FORMAT).load(place.silver(POSITIONS))
    recent = silver.where(f"event_time >= {oldest}").withColumn("minute", minute)
    again = recent.join(touched, ["truck", "minute"], "left_semi")
    per_minute(again).createOrReplaceTempView("found")
    session.sql(f"""
        MERGE INTO delta.`{place.gold(MINUTES)}` AS kept USING found
        ON kept.minute >= {oldest} AND kept.minute = found.minute AND kept.truck = found.truck
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *
    """)


lab.show(follow)


# %% balance tags=["live"]
def rows(table):
    return spark.read.format(FORMAT).load(table)


def run_on():
    """Each layer takes what is new; gives silver's query."""
    start_bronze(spark, eng.bootstrap, POSITIONS, place).awaitTermination()
    silver, dead_letters = start_silver(), start_dead_letters()
    for query in (silver, dead_letters):
        query.awaitTermination()
    if FORMAT == "parquet":  # it has no MERGE: gold is computed again, all of it
        per_minute(rows(place.silver(POSITIONS))).write.mode("overwrite").parquet(
            place.gold(MINUTES)
        )
        return silver
    columns = "truck STRING, minute TIMESTAMP, positions BIGINT, total_kmh BIGINT, maximum_kmh INT"
    spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{place.gold(MINUTES)}` ({columns}) USING delta")
    writer = follow(spark, place.silver(POSITIONS)).writeStream.foreachBatch(refresh_minutes)
    writer = writer.queryName("gold").option("checkpointLocation", place.checkpoint("gold"))
    writer.trigger(**AVAILABLE_NOW).start().awaitTermination()
    return silver


def equations():
    truth = tally.truth()
    gold = rows(place.gold(MINUTES)).selectExpr(
        "truck", "unix_millis(minute)", "positions", "total_kmh", "maximum_kmh"
    )
    right = {(*minute, *numbers) for minute, numbers in truth.minutes.items()}
    found = [tuple(row) for row in gold.collect()]
    repeated = len(found) - len({*found})
    bronze, silver = rows(place.bronze).count(), rows(place.silver(POSITIONS)).count()
    dead = rows(place.dead_letters).count()
    return [
        Equation("bronze = produced", bronze, truth.produced),
        Equation(
            "silver + dead letters = bronze − duplicates",
            silver + dead,
            bronze - truth.positions.duplicates,
        ),
        Equation(
            "rows that differ between gold and the truth",
            len(right.symmetric_difference(found)) + repeated,
            0,
        ),
    ]


silver = run_on()
letters = rows(place.dead_letters)
counted = [batch["observedMetrics"].get("parsed") for batch in silver.recentProgress]
print("refused, by silver's own progress:", sum(row["refused"] for row in counted if row))
letters.selectExpr("partition", "offset", "reason", "string(value)").show(5, truncate=60)
assert dict(letters.groupBy("reason").count().collect()) == truth.positions.malformed
balance = equations()
print(*balance, sep="\n")
assert all(equation.holds for equation in balance)

# %% L1-1 tags=["stub", "predict"]
lab.predict("L1-1")

# %% L1-1 tags=["solution", "predict"]
lab.predict("L1-1", "b")

# %% tunnel tags=["live"]
minutes_late = [14, 50]  # behind the newest event

newest = max(record.event_time_ms for record in morning)
a_good_one = next(record for record in morning if not (record.fault or record.time_as_text))
measured = {late: newest - late * MINUTE_MS for late in minutes_late}
for at in measured.values():
    report = good | {"event_id": f"tunnel-{tally.truth().produced}", "event_time": at}
    fresh = a_good_one._replace(report=report, value=json.dumps(report).encode())
    write(eng, tally.counting([fresh]))
silver = run_on()
gold = rows(place.gold(MINUTES)).where("truck = 'truck-99'").selectExpr("unix_millis(minute)")
minutes = {row[0] for row in gold.collect()}
balance = equations()
print(*balance, sep="\n")
seen = {
    "minutes late": minutes_late,
    "minutes late in gold": [
        late for late, at in measured.items() if at // MINUTE_MS * MINUTE_MS in minutes
    ],
    "dropped by the watermark": sum(
        batch["stateOperators"][0]["numRowsDroppedByWatermark"] for batch in silver.recentProgress
    ),
    "equations that hold": sum(equation.holds for equation in balance),
}
lab.verdict("L1-1", seen)

# %% [markdown]
# Gold counts by the truck's clock, so the first position produced a row for a minute long past. The
# second position was behind silver's watermark. It is a good record, and it is in bronze but in no
# other table. It shows up in one number in the query's progress, `numRowsDroppedByWatermark`, and
# in two of the equations. At work you watch that number and use it to choose the delay.
#
# ## Break it: a broker dies while the query runs
#
# Here bronze's query runs as a service, triggered every half second until it is stopped. It runs on
# the engine and on real Kafka while a producer writes and the leader of partition 0 is killed.

# %% L1-8 tags=["stub", "predict"]
lab.predict("L1-8")

# %% L1-8 tags=["solution", "predict"]
lab.predict("L1-8", "d")

# %% broker-dies tags=["both"]
of_partition, after, per_second = 0, 1_000, 1_000  # whose leader dies, and after how many records


def broker_dies(cluster):
    where, every = Place(temporary()), {"processingTime": "500 milliseconds"}
    shift = [record._replace(topic="shift") for record in records(Fleet(2_000, seed=8, orders=0))]
    cluster.create_topic("shift", partitions=3)
    victim = cluster.leader("shift", of_partition)
    query = start_bronze(spark, cluster.bootstrap, "shift", where, every, name=cluster.name)
    reads = {after // 2: lambda: cluster.wait_until(lambda _: query.lastProgress, 60)}
    try:
        dies = {after: lambda: cluster.kill(victim)}
        written = write(cluster, shift, per_second, at=reads | dies)
        query.processAllAvailable()
    finally:
        query.stop()
    bronze = spark.read.format(FORMAT).load(where.bronze)
    return {
        "acknowledged": written,
        "leader changed": cluster.leader("shift", of_partition) != victim,
        "bronze": bronze.count(),
        "in bronze once": bronze.select("partition", "offset").distinct().count(),
    }


outcome = lab.both(broker_dies)
display(outcome)
lab.verdict("L1-8", outcome)

# %% [markdown]
# The producer got no answer for the records in flight and sent them again, to the new leader. They
# are in the topic only once, because the producer is idempotent. A Spark task got no answer either.
# It asked for new metadata and continued reading from the offset that its micro-batch names. The
# position is recorded nowhere else, so no record can be skipped or read twice.
#
# At work, you would see such a death in two places: the raw output of Kafka's tool and the log of
# the broker that becomes the next leader.

# %% describe tags=["live"]
partition = 0

leader = eng.leader(POSITIONS, partition)
eng.kill(leader)
eng.wait_until(lambda c: c.leader(POSITIONS, partition) not in (leader, -1))
display(lab.tool(eng, "kafka-topics", "--describe", "--topic", POSITIONS))
display(lab.broker_log(eng, eng.leader(POSITIONS, partition), f"{POSITIONS}-{partition}"))
lab.mend(eng)

# %% [markdown]
# ## Your turn
#
# You write four pieces of a streaming job. The check runs each piece on records that you have not
# seen, and examines what Spark read and wrote; `lab.show(trials)` shows how.
#
# **Read a topic as production does.** Read all of it, from the beginning, with at most 20 records
# per micro-batch, and in four tasks even though the topic has only two partitions. If records were
# deleted before they were read, the query must stop.


# %% L1-2 tags=["stub"]
def source(bootstrap, topic):
    """The topic as a streaming DataFrame."""


# %% L1-2 tags=["solution"]
def source(bootstrap, topic):
    """The topic as a streaming DataFrame."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", 20)
        .option("minPartitions", 4)
        .load()
    )


# %% L1-2 tags=["check"]
lab.check("L1-2", trials.reading(source, eng))

# %% [markdown]
# **Parse, or say why not.** Each payment's `value` is `{"order_id": "o-1", "cents": 500}`. For each
# record, return `offset`, `order_id STRING`, `cents INT` and `reason`. Check for the reasons in
# this order: `no value`; `not JSON`; `no field`, if one of the two is missing or null;
# `wrong type`, if cents is not an `INT`; and `out of range`, if cents is not in the range from 1 to
# 100,000. A valid payment's reason is null; where there is a reason, `order_id` and `cents` are
# null. No record may be lost.


# %% L1-3 tags=["stub"]
def parse_payments(records):
    """A row for each record: offset, order_id, cents, reason."""


# %% L1-3 tags=["solution"]
def parse_payments(records):
    """A row for each record: offset, order_id, cents, reason."""
    text = F.col("value").cast("string")
    payment = F.from_json(text, "order_id STRING, cents INT")
    fields = [F.get_json_object(text, "$.order_id"), F.get_json_object(text, "$.cents")]
    reason = (
        F.when(F.col("value").isNull(), "no value")
        .when(F.json_object_keys(text).isNull(), "not JSON")
        .when(fields[0].isNull() | fields[1].isNull(), "no field")
        .when(payment["cents"].isNull(), "wrong type")
        .when(~payment["cents"].between(1, 100_000), "out of range")
    )
    judged = records.withColumns({"payment": payment, "reason": reason})
    good = F.col("reason").isNull()
    columns = [F.when(good, F.col("payment")[name]).alias(name) for name in ("order_id", "cents")]
    return judged.select("offset", *columns, "reason")


# %% L1-3 tags=["check"]
lab.check("L1-3", trials.parsing(parse_payments))


# %% L1-4 tags=["stub"]
def archive(rows, table, checkpoint):
    """Starts the query `archive` and returns it.

    It appends the rows to a Parquet table, takes what is there, and ends.  Started again, it
    writes only what has come since.
    """


# %% L1-4 tags=["solution"]
def archive(rows, table, checkpoint):
    """Starts the query `archive` and returns it.

    It appends the rows to a Parquet table, takes what is there, and ends.  Started again, it
    writes only what has come since.
    """
    return (
        rows.writeStream.format("parquet")
        .queryName("archive")
        .outputMode("append")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(table)
    )


# %% L1-4 tags=["check"]
lab.check("L1-4", trials.archiving(archive))

# %% [markdown]
# **Each event once, in bounded state.** Events have `event_id` and `event_time`. An event arrives
# less than 30 minutes late. Its copy has the same id and a new time, at most 10 minutes after the
# original's. Return the stream without copies, with state that does not grow over the years.


# %% L1-11 tags=["stub"]
def once(events):
    """The stream of events without copies."""


# %% L1-11 tags=["solution"]
def once(events):
    """The stream of events without copies."""
    timed = events.withWatermark("event_time", "30 minutes")
    return timed.dropDuplicatesWithinWatermark(["event_id"])


# %% L1-11 tags=["check"]
lab.check("L1-11", trials.within(once))

# %% [markdown]
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. Where are a streaming query's offsets?</b></summary>
#
# In its checkpoint, one file per micro-batch, written before the micro-batch reads anything.
# *Follow-up:* how do you watch its lag, then? (The query's progress reports the offsets that the
# query read and the latest ones in the topic.)
#
# * **weak:** "in Kafka" · **good:** in the checkpoint · **strong:** says when they are written and
#   what a restart does with them
# * **evidence:** [Bronze](#Bronze:-the-topic-as-it-was)
# </details>
#
# <details><summary><b>2. The driver is killed in the middle of a micro-batch. Are rows there twice?</b></summary>
#
# The micro-batch runs again with the same offsets. Whether its rows appear twice depends on the
# sink: Delta's commit, or a streaming file table's log, has the batch's number, so the batch is
# accepted only once. `foreachBatch` promises at-least-once, so what it does must be repeatable.
# *Follow-up:* what if the checkpoint is deleted? (The query has a new id, and appends the whole
# topic again.)
#
# * **weak:** "exactly-once, always" · **good:** repeated batch, idempotent sink · **strong:** names
#   `offsets`, the table's commit and `commits`, and their order
# * **evidence:** [Bronze](#Bronze:-the-topic-as-it-was)
# </details>
#
# <details><summary><b>3. Kafka delivered a record twice. What do you do, and what does it cost?</b></summary>
#
# The sender got no answer and sent the record again. An idempotent producer prevents its own
# repeats, but when an application resends a record after a restart, only an event id identifies the
# copy. A query that drops copies keeps ids as state for about twice the watermark's delay.
# *Follow-up:* what does it cost to make the delay too short? (Good events that arrive late are
# dropped, and only a metric shows it.)
#
# * **weak:** "a bug in Kafka" · **good:** retries, event id, state · **strong:** bounds the state,
#   says how long an id is kept, and watches what the watermark drops
# * **evidence:** [Each event once](#Each-event-once,-and-what-it-costs)
# </details>
#
# <details><summary><b>4. Why keep bronze when silver has it all?</b></summary>
#
# Silver has only what today's schema understood. With bronze, a repaired parser does not have to go
# back to the source, which may have deleted the records by then.
# *Follow-up:* why are dead letters not enough for that? (The fields that the schema dropped from
# good records are only in bronze.)
#
# * **weak:** "as a backup" · **good:** read again with another schema · **strong:** retention, and
#   what a schema silently drops
# * **evidence:** [The rule](#The-rule-that-accepts-and-refuses)
# </details>
#
# <details><summary><b>5. How do you prove that a pipeline lost nothing?</b></summary>
#
# Each incoming record must be in exactly one place: bronze = produced, and silver + dead letters =
# bronze − duplicates. Gold is compared with a truth that was counted elsewhere.
# *Follow-up:* the count is right; what can still be wrong? (One record is lost and another is there
# twice, so compare keys or minutes, not only sums.)
#
# * **weak:** "no errors in the log" · **good:** counts at each step · **strong:** equations that
#   name the step, and an independent truth
# * **evidence:** [Silver, dead letters, gold](#Silver,-dead-letters,-gold)
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
# There is no consumer id, so the group has no members now, and these are the offsets that it left
# behind. The group stopped while it was far behind in partition 0, so one consumer was stuck there,
# perhaps at a record that it could not parse.
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
# partitions. This course's sources warn that this limit matters for frameworks such as Spark. Here
# each record takes a millisecond to process, the interval is one second, and a micro-batch takes
# longer than that.

# %% L1-9 tags=["stub", "predict"]
lab.predict("L1-9")

# %% L1-9 tags=["solution", "predict"]
lab.predict("L1-9", "a")

# %% slow-batches-keep-their-partitions tags=["live"]
from confluent_kafka.admin import AdminClient

interval_ms, work_ms = 1_000, 1  # max.poll.interval.ms; the time that a record takes

slow = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", eng.bootstrap)
    .option("subscribe", POSITIONS)
    .option("startingOffsets", "earliest")
    .option("kafka.max.poll.interval.ms", interval_ms)
    .option("groupIdPrefix", "slow")
    .load()
    .where(f"reflect('java.lang.Thread', 'sleep', {work_ms}L) IS NOT NULL")
)
query = slow.writeStream.format("noop").trigger(availableNow=True)
query = query.option("checkpointLocation", str(temporary())).start()
assert query.awaitTermination(60)
ends = eng.snapshot()["topics"][POSITIONS]["partitions"].values()
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
# The query read as many records as there are, and no group of that name is listed. Spark assigns
# partitions to its tasks itself and keeps the offsets in the checkpoint. There is no membership to
# lose, so the interval, which matters to consumers that subscribe, does not apply here. The
# downside is that `kafka-consumer-groups.sh` shows no lag for this query. Check
# `query.lastProgress` instead.

# %% [markdown]
# ## Deeper: What visitors do
#
# Kafka was built to track website activity. A streaming query groups each visitor's clicks into
# sessions; a pause of 30 seconds ends a session. Then each session's pages are counted. The
# `memory` sink and the `complete` mode are for exploring: both grow without end. A service uses
# `withWatermark` and `append`.

# %% clicks-per-session tags=["live"]
CLICKS = [(0, "/"), (5, "/cart"), (9, "/cart"), (120, "/"), (130, "/help")]
eng.create_topic("clicks", config={"retention.ms": -1})
producer = Producer({"bootstrap.servers": eng.bootstrap, "log_level": 0})
for second, page in CLICKS:
    at = START_MS + second * 1000
    producer.produce("clicks", key="ada", value=page, timestamp=at)
producer.flush()
clicks = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", eng.bootstrap)
    .option("subscribe", "clicks")
    .option("startingOffsets", "earliest")
    .load()
)
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
# ## Deeper: How often a record is parsed
#
# Spark does not run a query as it is written. Its optimizer moves a filter as close to the source
# as it can, so that the later steps have fewer rows to process. The rule calls `from_json` once,
# for the column `position`. The cell parses several copies of the topic.

# %% L1-12 tags=["stub", "predict"]
lab.predict("L1-12")

# %% L1-12 tags=["solution", "predict"]
lab.predict("L1-12", "c")

# %% parsed tags=["live"]
copies = 10  # of the topic

topic = spark.read.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
topic = topic.option("subscribe", POSITIONS).load().select("value")
many = topic.crossJoin(spark.range(copies)).cache()
parsed = parse(many)
observed = parsed.observe("parsed", F.count("reason").alias("refused"))
ways = {
    "all": parsed,
    "filtered": parsed.where("reason IS NULL"),
    "observed, filtered": observed.where("reason IS NULL"),
}
seconds = {}
for way in [*ways, *ways]:  # the first time, Java compiles
    began = monotonic()
    ways[way].write.format("noop").mode("overwrite").save()
    seconds[way] = monotonic() - began
seen = {way: plan(kept).count("from_json(") for way, kept in ways.items()}
for way, times in seen.items():
    print(f"{way:20} {seconds[way]:.2f} s, from_json in the plan: {times}")
lab.verdict("L1-12", seen)

# %% [markdown]
# The filter moved below the rule. There, the column `position` does not exist yet, so each use of
# one of its fields became a `from_json` of its own: the same text is parsed again and again for
# each record. No row is wrong, and no error reports the extra work. You see it in the run time and
# in `explain()`. An observed count has to see every row, so no filter moves past it. That is why
# `judged` above calls `observe`, and why both of its readers filter afterward.

# %% [markdown]
# ## Deeper: Bronze after a month
#
# `follow` reads bronze's commits from version 0 onward. A commit is a file in the table's log, and
# Delta deletes it after 30 days (`delta.logRetentionDuration`). The files with the rows remain, and
# a checkpoint of the log lists them. `clean_log` does to a copy of bronze what Delta does after 30
# days. Then two new queries read the copy.

# %% L1-13 tags=["stub", "predict"]
lab.predict("L1-13")

# %% L1-13 tags=["solution", "predict"]
lab.predict("L1-13", "b")

# %% old-bronze tags=["live"]
version = 0  # where the first query begins

month_old = str(temporary() / "bronze")
shutil.copytree(place.bronze, month_old)
if FORMAT == "delta":
    print("the log:", ", ".join(clean_log(spark, month_old)))


def rows_read(**starting_version):
    """By a new query; or its error."""
    stream = spark.readStream.format(FORMAT).options(**starting_version)
    if FORMAT == "parquet":  # a stream of files needs the schema from you
        stream = stream.schema(spark.read.parquet(month_old).schema)
    query = stream.load(month_old).writeStream.format("noop").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(temporary()))
    try:
        query = query.start()
        query.awaitTermination(60)
    except Exception as error:
        print((str(error).partition("exception: ")[2] or str(error)).splitlines()[0][:160])
        return "an error"
    return sum(each["numInputRows"] for each in query.recentProgress)


seen = {
    "from the version": rows_read(startingVersion=version),
    "without a version": rows_read(),
    "in bronze": spark.table(f"{FORMAT}.`{month_old}`").count(),
}
lab.verdict("L1-13", seen)

# %% [markdown]
# The commits record which rows arrived when. Without them, version 0 cannot be read, and Delta
# reports an error. If you set `version = 3`, the only commit left, the query reads that commit's
# rows, and no error mentions the other rows. Without a version, Delta starts with the table as it
# is, reads its files in order of their times, and continues with each new commit. So `follow` first
# checks whether every commit is still there, and silver can be rebuilt from bronze years later.
# After OPTIMIZE and VACUUM, bronze is one large file. Silver's state then keeps every event id
# until the micro-batch that reads this file ends, and the watermark drops nothing.
#
# ## Deeper: What a real pipeline does beyond this
#
# A real pipeline runs for months, so its progress is monitored: rows, lag, state, and what the
# watermark drops. How late is too late is a question for the business (L3). The pipeline's queries
# run on several machines (L4). State that may outgrow the heap starts out in RocksDB, because a
# checkpoint stays with the state store provider that it began with. Tables are compacted, and their
# schema changes (L5). A final write to Kafka may repeat records after a crash (L2). The full-size
# lab, with orders and payments, is one command:
# `kafkalab pipeline --source local --events 200000 --kill`.
