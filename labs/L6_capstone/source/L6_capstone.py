# %% [markdown]
# # L6 · Capstone: a pipeline that keeps its promise
#
# You begin with an empty folder and a contract. You end with a pipeline that moves a fleet's
# positions from Kafka into two tables, and keeps the contract even as its driver and its brokers
# die at moments that you cannot predict. Along the way, you state the service's promise in numbers,
# measure it, and decide when an alert may go off at night.
#
# **You will be able to**
# * read a contract for a pipeline, and a test that judges tables, not code;
# * make every write in a micro-batch repeatable, and show that it is;
# * predict how long a backlog will last;
# * turn samples into an error budget and an alert.
#
# **Time:** {minutes}. The lab needs Java 17, PySpark and Delta Lake's jars (`make setup`).

# %% doorway tags=["setup"]
from confluent_kafka import TopicPartition
from pyspark.sql import functions as F

from kit import lab
from kit.drawings.chart import Chart
from kit.probes import clients
from kit.spark import session, temporary
from labs.fleet.records import Fleet
from labs.L6_capstone import contract, service
from labs.L6_capstone.service import AFTER, BEFORE, error_of
from labs.L6_capstone.trial import under_faults

eng = lab.engine()
spark = session()

# %% [markdown]
# ## The contract
#
# Trucks send positions to `fleet.positions`. The fleet's operator wants two Delta tables in one
# folder:
#
# | table | columns | promise |
# |---|---|---|
# | `minutes` | `truck`, `minute`, `positions`, `maximum_kmh` | a row for each truck and minute (on the truck's own clock) that has positions; each position counts once, however often it was sent or processed |
# | `dead-letters` | `partition`, `offset`, `reason` | a row for each record that cannot be read; nothing disappears |
#
# A position is readable if it has `event_id`, `truck`, `speed_kmh` (a whole number) and a time in
# `event_time`. The time is milliseconds since 1970 or, with the new firmware, text such as
# `2026-03-02T08:00:00.123Z`. A value outside the years 2000 to 2099 is not a time: some clocks
# count nanoseconds, or show the year 9999. `12:30` is not a time, either. There is also a service
# level. After each wave of records, a sample is taken. A sample is good if at least 99 % of the
# readable positions are in the table, and none is there twice. In all, 80 % of the samples must be
# good.
#
# Nothing in the contract mentions Spark. `breach` is the contract's part about tables, as code.

# %% judge tags=["read"]
lab.show(contract.breach)

# %% morning tags=["setup"]
records, waves = 1_200, 4
late, malformed = 0.05, 0.01

fleet = Fleet(records, seed=7, orders=0, late=late, duplicate=0, malformed=malformed)
morning = service.waves(fleet, waves)
readable = [contract.promised(wave).positions for wave in morning]
print("readable positions in each wave:", readable)
eng.create_topic("fleet.positions", partitions=3)

# %% panel tags=["live"]
lab.panel(eng, "fleet.positions")

# %% [markdown]
# ## A first version
#
# This pipeline looks right, and many like it are in use. It reads the topic with a checkpoint,
# appends the good positions to a table, and computes the minutes from that table. On a quiet
# morning it keeps the first promise. It leaves out the dead letters, but they are not the point
# here.


# %% first-version tags=["setup"]
EVENT = "event_id STRING, truck STRING, event_time STRING, speed_kmh INT"


def first_version(spark, bootstrap, folder):
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("subscribe", "fleet.positions").option("startingOffsets", "earliest")
    event = F.from_json(F.col("value").cast("string"), EVENT)
    rows = source.load().select(event.alias("event")).select("event.*")
    number = "timestamp_millis(try_cast(event_time AS BIGINT))"
    rows = rows.withColumn("at", F.expr(f"coalesce({number}, try_to_timestamp(event_time))"))

    def write(batch, number):
        good = batch.select("event_id", "truck", "at", "speed_kmh").dropna()
        good.write.format("delta").mode("append").save(f"{folder}/events")
        kept = spark.read.format("delta").load(f"{folder}/events")
        minutes = kept.groupBy("truck", F.date_trunc("minute", "at").alias("minute")).agg(
            F.count("*").alias("positions"), F.max("speed_kmh").alias("maximum_kmh")
        )
        minutes.write.format("delta").mode("overwrite").save(f"{folder}/minutes")

    query = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
    query.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()


# %% [markdown]
# The next cell runs this pipeline as a service, in a separate process that is called after each
# wave. In wave 2, that process and its JVM receive SIGKILL. By then, the table has the wave's rows,
# but Spark has not yet recorded that the micro-batch is done.

# %% L6-1 tags=["stub", "predict"]
lab.predict("L6-1")

# %% L6-1 tags=["solution", "predict"]
lab.predict("L6-1", 296)

# %% driver-dies tags=["live"]
killed_in = 2
moment = AFTER  # or BEFORE: the sink has not begun

eng.create_topic("fleet.positions", partitions=3)
day = service.Day(freshness=0.99, objective=0.8)
with service.Driver(first_version, eng) as driver:
    for number, wave in enumerate(morning, 1):
        service.write(eng, wave)
        lived = driver.run(kill=moment if number == killed_in else "")
        day.sample(wave, driver.tables, "" if lived else "driver killed")
seen = {
    "readable": day.samples[-1].readable,
    "counted": day.samples[-1].counted,
    "killed in wave": killed_in,
    "readable in that wave": readable[killed_in - 1],
}
print(seen)
display(day.chart())
lab.verdict("L6-1", seen)

# %% [markdown]
# The checkpoint did its job: it showed that wave 2 was not done, so Spark passed the wave to the
# sink again. That is *at least once*. The sink made it *twice*. No setting of the source or the
# checkpoint fixes that. The write itself must change nothing when it is repeated. Run the cell with
# `BEFORE` and compare.
#
# The samples stay bad. A late pipeline catches up, but one that has counted twice stays wrong until
# the table is recomputed.
#
# ## The weekend
#
# A broker deletes records by age and size. Here the pipeline is down while retention continues;
# `delete_records` takes the place of the clock. The checkpoint then points to offsets that are
# gone.

# %% L6-2 tags=["stub", "predict"]
lab.predict("L6-2")

# %% L6-2 tags=["solution", "predict"]
lab.predict("L6-2", "a")

# %% weekend tags=["both"]
fail_on_data_loss = "true"  # Spark's default; or "false"
first_kept = 160


def weekend(cluster):
    cluster.create_topic("friday")
    place = temporary("weekend")
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap)
    source = source.option("subscribe", "friday").option("startingOffsets", "earliest")
    source = source.option("failOnDataLoss", fail_on_data_loss)
    writer = source.load().writeStream.format("delta").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{place}/checkpoint")

    service.send(cluster, "friday", range(100))
    writer.start(f"{place}/table").awaitTermination()  # Friday evening
    service.send(cluster, "friday", range(100, 200))
    gone, admin = TopicPartition("friday", 0, first_kept), clients.admin(cluster)
    admin.delete_records([gone])[gone].result(20)
    query = writer.start(f"{place}/table")  # Monday morning
    error = error_of(query)
    counted = spark.read.format("delta").load(f"{place}/table").count()
    return {"sent": 200, "deleted unread": first_kept - 100, "counted": counted, "error": error}


outcome = lab.both(weekend)
display(outcome)
lab.verdict("L6-2", outcome)

# %% [markdown]
# The query refuses to continue, and rightly so: 60 records are missing, and only a person can
# decide whether the table may be wrong. With `failOnDataLoss=false`, it continues and leaves a
# warning in a log that few people read. So freshness has a second limit, one that no budget covers:
# the pipeline must never be down for longer than the topic's retention time. Put that limit on the
# dashboard.
#
# ## How long a backlog lasts
#
# Back to freshness. The driver is down for two waves, then comes back. Each micro-batch has a limit
# (`maxOffsetsPerTrigger`): without a limit, a micro-batch takes the whole backlog at once and may
# need more memory than there is. Each wave gets one micro-batch.

# %% L6-3 tags=["stub", "predict"]
lab.predict("L6-3")

# %% L6-3 tags=["solution", "predict"]
lab.predict("L6-3", 5)

# %% backlog tags=["live"]
arriving, capacity = 300, 450  # records in a wave, and at most in a micro-batch
without_driver = {3, 4}

eng.create_topic("backlog")
reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
reader = reader.option("subscribe", "backlog").option("startingOffsets", "earliest")
reader = reader.option("maxOffsetsPerTrigger", capacity).load().writeStream.format("noop")
reader = reader.option("checkpointLocation", str(temporary())).trigger(processingTime="1 hour")
sent, done, curve = 0, 0, []
for wave in range(1, 11):
    service.send(eng, "backlog", range(arriving))
    sent += arriving
    if wave not in without_driver:
        done += service.one_micro_batch(reader)
    curve.append((wave, sent, done))
waiting = {wave: sent - done for wave, sent, done in curve}
seen = {
    "records in a wave": arriving,
    "records in a micro-batch": capacity,
    "waves without a driver": len(without_driver),
    "backlog when it is back": waiting[max(without_driver)] + arriving,
    "bad": sum(lag > 0 for lag in waiting.values()),
}
lines = {"sent": [(w, s) for w, s, _ in curve], "read": [(w, d) for w, _, d in curve]}
display(Chart("Records after each wave", lines, x="wave", y="records"))
print(seen)
lab.verdict("L6-3", seen)

# %% [markdown]
# The two lines meet again when the spare capacity has drained the backlog. That takes *backlog ÷
# (capacity − arrival)* micro-batches, here 600 ÷ 150 = 4, and the last of these four leaves nothing
# unread. So a pipeline that easily keeps up may still need hours to recover from an hour without a
# driver. With a capacity of 310, this recovery would take sixty waves. Try it with fewer waves
# without a driver, or with more capacity. Spare capacity is the price of a short recovery.
#
# At work, you would see a streaming query's lag in its progress, never in the consumer group tool:
# Spark joins no consumer group. Next, a leader dies. The cell shows what the cluster itself knows.

# %% at-work tags=["live"]
partition = 0

leader = eng.leader("fleet.positions", partition)
eng.kill(leader)
eng.wait_until(lambda c: c.leader("fleet.positions", partition) not in (leader, -1))
display(lab.tool(eng, "kafka-topics", "--describe", "--topic", "fleet.positions"))
follower = eng.leader("fleet.positions", partition)
display(lab.broker_log(eng, follower, f"fleet.positions-{partition}"))
lab.mend(eng)

# %% [markdown]
# ## Your turn
#
# Write two small functions for the service level, then the pipeline.
#
# **What is left of the error budget.** `good` has True or False for each sample so far, `objective`
# is a percentage, and the window will have `planned` samples in all. Return the share of the budget
# that is left, rounded to three decimal places. The share is 1 if no sample is bad, 0 if exactly
# the allowed number of samples is bad, and negative beyond that.


# %% L6-4 tags=["stub"]
def budget_left(good, objective, planned):
    """The share of the error budget that is left."""


# %% L6-4 tags=["solution"]
def budget_left(good, objective, planned):
    """The share of the error budget that is left."""
    allowed = planned * (100 - objective) / 100
    return round(1 - good.count(False) / allowed, 3)


# %% L6-4 tags=["check"]
lab.check("L6-4", budget_left)

# %% [markdown]
# **When the alert rings at night.** A *burn rate* is the share of samples that are bad, divided by
# the share that may be bad. At a burn rate of 1, the budget lasts exactly as long as the window.
# Return True if the burn rate reaches `rate` both in the last 12 samples and in the last 3. A
# window that is not full yet consists of the samples so far; there is at least one.


# %% L6-5 tags=["stub"]
def page(good, objective, rate):
    """Whether the alert rings."""


# %% L6-5 tags=["solution"]
def page(good, objective, rate):
    """Whether the alert rings."""

    def burn_rate(window):
        taken = good[-window:]
        return taken.count(False) * 100 / len(taken) / (100 - objective)

    return burn_rate(12) >= rate and burn_rate(3) >= rate


# %% L6-5 tags=["check"]
lab.check("L6-5", page)

# %% [markdown]
# **The pipeline.** Start with an empty folder and fulfill the contract. The judge sends two waves
# that you have not seen, with positions that come late, come twice, cannot be read, or have their
# time as text. It breaks something after each wave, and compares your tables with the correct ones.


# %% L6-6 tags=["stub"]
def pipeline(spark, bootstrap, folder):
    """Takes what is new in fleet.positions to the tables minutes and dead-letters in `folder`."""


# %% L6-6 tags=["solution"]
EVENT = "event_id STRING, truck STRING, event_time STRING, speed_kmh INT"
CENTURY_MS = "946684800000 AND 4102444799999"
TEXT_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX"


def pipeline(spark, bootstrap, folder):
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("subscribe", "fleet.positions").option("startingOffsets", "earliest")
    # A broker that died is asked for this long; Kafka's default is a minute.
    source = source.option("kafka.request.timeout.ms", 8_000)
    source = source.option("kafka.default.api.timeout.ms", 10_000)
    text = F.col("value").cast("string")
    records = source.load().withColumn("event", F.from_json(text, EVENT))
    words = f'unix_millis(try_to_timestamp(event.event_time, "{TEXT_TIME}"))'
    millis = f"coalesce(try_cast(event.event_time AS BIGINT), {words})"
    at = f"CASE WHEN {millis} BETWEEN {CENTURY_MS} THEN timestamp_millis({millis}) END"
    fields = "event.event_id", "event.truck", "event.speed_kmh"
    records = records.selectExpr("partition", "offset", *fields, f"{at} AS at")
    good = "event_id IS NOT NULL AND truck IS NOT NULL AND speed_kmh IS NOT NULL AND at IS NOT NULL"

    def merge(rows, path, *keys):
        rows.limit(0).write.format("delta").mode("ignore").save(path)
        rows.createOrReplaceTempView("found")
        same = " AND ".join(f"kept.{key} = found.{key}" for key in keys)
        rows.sparkSession.sql(
            f"MERGE INTO delta.`{path}` AS kept USING found ON {same} "
            "WHEN NOT MATCHED THEN INSERT *"
        )

    def write(batch, number):
        batch = batch.persist()
        events = batch.where(good).select("event_id", "truck", "at", "speed_kmh")
        merge(events.dropDuplicates(["event_id"]), f"{folder}/events", "event_id")
        letters = batch.where(f"NOT ({good})")
        letters = letters.selectExpr("partition", "offset", "'unreadable' AS reason")
        merge(letters, f"{folder}/dead-letters", "partition", "offset")
        batch.unpersist()
        kept = batch.sparkSession.read.format("delta").load(f"{folder}/events")
        minute = F.date_trunc("minute", "at").alias("minute")
        fastest = F.max("speed_kmh").alias("maximum_kmh")
        minutes = kept.groupBy("truck", minute).agg(F.count("*").alias("positions"), fastest)
        minutes.write.format("delta").mode("overwrite").save(f"{folder}/minutes")

    query = records.writeStream.foreachBatch(write)
    query = query.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    query.start().awaitTermination()


# %% L6-6 tags=["check"]
lab.check("L6-6", under_faults(pipeline, spark, eng))

# %% [markdown]
# ## Break it: a day of faults
#
# Now your pipeline runs as a service for a day of five waves. The seed chooses the wave in which
# the driver receives SIGKILL, the moment of the kill, and the wave that is being written when a
# broker dies. Change the seed and the share of trouble. The chart is your dashboard: the gap
# between the lines is what users are missing.

# %% day tags=["live"]
from random import Random

seed, trouble = 3, 0.05

dice = Random(seed)
kills = {dice.randint(2, 4): dice.choice((BEFORE, AFTER))}
broker_dies = dice.randint(2, 5)
fleet = Fleet(750, seed, trucks=8, orders=0, late=trouble, duplicate=trouble, malformed=trouble)
eng.create_topic("fleet.positions", partitions=3)
day, victim = service.Day(freshness=0.99, objective=0.8), eng.leader("fleet.positions", 0)
with service.Driver(pipeline, eng) as driver:
    for number, wave in enumerate(service.waves(fleet, 5), 1):
        dies = number == broker_dies
        service.write(eng, wave, halfway=(lambda: eng.kill(victim)) if dies else None)
        lived = driver.tried(kill=kills.get(number, ""))
        notes = [f"broker {victim}"] * dies + ["driver"] * (not lived)
        day.sample(wave, driver.tables, ", ".join(notes) + " dies" if notes else "")
eng.start(victim)
display(day.chart())
print(day)
print(day.breach(driver.tables) or "The contract holds at the end of the day.")

# %% [markdown]
# If your pipeline is right, a dead driver costs one sample at most, because the restart catches up.
# Is the objective met? A budget belongs to a window that is long enough for the faults that you
# expect. In five waves at 80 %, one sample may be bad. Work out how many waves the day needs if the
# driver dies twice, and then try it.
#
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. A streaming query has a checkpoint. Why may its table still count twice?</b></summary>
#
# The checkpoint marks a micro-batch as done only after the sink has written. After a crash between
# the two, the sink gets the same micro-batch again, so the sink must make the repeat harmless: by
# keys (MERGE), by the batch's number (`txnAppId`, `txnVersion`), or by recomputing the whole table.
# *Follow-up:* which of the three also survive a deleted checkpoint? (Keys, and recomputing the
# table.)
#
# * **weak:** "exactly-once is on" · **good:** the order of sink and commit · **strong:** all three
#   ways, and what each assumes
# * **evidence:** [A first version](#A-first-version)
# </details>
#
# <details><summary><b>2. The pipeline was down for an hour. When is it fresh again?</b></summary>
#
# After backlog ÷ (capacity − arrival). If capacity is 1.2 times arrival, that is after five hours.
# *Follow-up:* what can you switch off in the meantime? (File compaction, and other readers of the
# same source. You can also raise the micro-batch limit, if memory allows.)
#
# * **weak:** "after an hour" · **good:** spare capacity · **strong:** the formula, and what a
#   shorter recovery costs
# * **evidence:** [How long a backlog lasts](#How-long-a-backlog-lasts)
# </details>
#
# <details><summary><b>3. What do you do when a query fails because records are gone?</b></summary>
#
# Find out which records are gone: compare the checkpoint with the start of the log. Check whether
# another copy exists (bronze, a mirror, the source system). Only then restart with
# `failOnDataLoss=false` or new starting offsets, and let the table's users know what is missing.
# *Follow-up:* how do you prevent it? (Alert when the age of the oldest unread record nears the
# retention time.)
#
# * **weak:** "set failOnDataLoss to false" · **good:** finds the offsets first · **strong:** names
#   the alert that would have come first
# * **evidence:** [The weekend](#The-weekend)
# </details>
#
# <details><summary><b>4. Which objective would you give this pipeline, and why not 100 %?</b></summary>
#
# One for freshness, with a budget for restarts, deployments and a dead broker; and one for
# correctness, without a budget, because each wrong number has to be corrected and explained.
# *Follow-up:* who decides how much of the budget a deployment may spend?
#
# * **weak:** "as many nines as possible" · **good:** a budget and its uses · **strong:** separates
#   late from wrong
# * **evidence:** [The contract](#The-contract)
# </details>
#
# <details><summary><b>5. System design: a million trucks each send a position a second. Begin.</b></summary>
#
# A million 200-byte records a second are 200 MB/s, or 600 MB/s with three replicas, and 17 TB a day
# before replication. At 10 MB/s per partition, bandwidth requires 20 partitions, but the readers'
# parallelism requires a few hundred. Bronze needs batches that span minutes, or it gets too many
# files. Gold by minute is 60 times smaller, but the keyed MERGE into it is the expensive part, so
# partition gold by time.
# *Follow-up:* where does your design break first with ten times as many trucks?
#
# * **weak:** names products · **good:** bytes, partitions, files · **strong:** names the first limit and
#   the signal that shows it
# * **evidence:** [Break it](#Break-it:-a-day-of-faults)
# </details>
#
# **Read this output: what happened?**
# ```
# Topic: fleet.positions  Partition: 0  Leader: 102  Replicas: 101,102,103  Isr: 102,103  Elr:   LastKnownElr:
# Topic: fleet.positions  Partition: 1  Leader: 102  Replicas: 102,103,101  Isr: 102,103  Elr:   LastKnownElr:
# Topic: fleet.positions  Partition: 2  Leader: 103  Replicas: 103,101,102  Isr: 103,102  Elr:   LastKnownElr:
# ```
# <details><summary><b>An answer</b></summary>
#
# Broker 101 is gone: it is in no ISR, and 102 leads partition 0 in its place. Two of three replicas
# are in sync, so with min.insync.replicas=2 producers can still write, but the next failure stops
# them. The pipeline keeps reading.
# </details>
#
# ## Quiz

# %% L6-7 tags=["stub", "predict", "quiz"]
lab.quiz("L6-7")

# %% L6-7 tags=["solution", "predict", "quiz"]
lab.quiz("L6-7", "c")

# %% [markdown]
# ## Deeper: What the folder holds
#
# The lab began with an empty folder. A pipeline leaves tables and a checkpoint there, and each can
# be opened. This section runs the first version once, and lists what it wrote.

# %% folder tags=["live"]
eng.create_topic("fleet.positions", partitions=3)
service.write(eng, morning[0])
folder = temporary("opened")
first_version(spark, eng.bootstrap, str(folder))
for file in sorted(folder.rglob("*")):
    if file.is_file() and not file.name.startswith("."):
        print(f"{file.stat().st_size:8,}  {file.relative_to(folder)}")
print((folder / "checkpoint" / "offsets" / "0").read_text())

# %% [markdown]
# `offsets/0` lists what the micro-batch takes, and is written first. `commits/0` marks the
# micro-batch as done, and is written last. `_delta_log` has a file for each commit to a table. A
# pipeline's backup consists of the tables **and** the checkpoint, from the same moment. If the
# checkpoint is newer than its table, records are skipped. If the checkpoint is older, the
# micro-batches run again: a MERGE by event id counts their records once, an append repeats them,
# and a Delta sink that knows the micro-batches' numbers drops them, even if they contain newer
# records.
#
# ## Deeper: The whole pipeline
#
# The course has its own pipeline for the same fleet, with orders and payments, bronze and silver, a
# parser that is repaired, and dead letters that are read again. One command runs it with a
# dashboard, and kills a broker and the driver along the way:
# `kafkalab pipeline --source local --events 200000 --kill --dashboard day.html`. Compare
# `labs/pipeline/layers.py` with your own code.
