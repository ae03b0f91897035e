# %% [markdown]
# # L4 · Skew and scale
#
# Six trucks send records, and one of them sends two of every five. You see how partitions become
# tasks, what a hot key does to one task, which work suffers from it and which does not, and what
# helps. At the end, a job runs on a Spark cluster.
#
# **You will be able to**
# * say how many tasks read a topic, and limit how much a micro-batch takes;
# * find the task that reads too much, and say why;
# * salt an aggregate or a join, and say when that produces a wrong number;
# * say what adaptive execution fixes, and what it does not.
#
# **Time:** {minutes}. The lab needs Java 17 and PySpark. The first cell takes a few seconds because
# Spark starts a JVM.

# %% doorway tags=["setup"]
import json
from collections import Counter

from confluent_kafka import Producer
from pyspark.sql import Window
from pyspark.sql import functions as F

from kit import lab, spark_cluster
from kit.drawings.chart import Chart
from kit.spark import session, table_format, temporary
from kit.spark_driver import Driver
from kit.spark_progress import progress
from kit.spark_tasks import measured, records_by_task
from labs.fleet.records import POSITIONS, Fleet, records
from labs.fleet.writer import write
from labs.pipeline import scaling

eng = lab.engine()
spark = session()
spark.conf.set("spark.sql.shuffle.partitions", 4)  # so many tasks on the reading side of a shuffle
spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")  # and not fewer

# %% [markdown]
# ## The fleet
#
# A shuffle sends all the rows with the same key to one task. So the number that matters is the most
# frequent key's share of the rows. The data is clean this time: it has no duplicates, and nothing
# is late.

# %% fleet tags=["setup"]
events, trucks = 12_000, 6

fleet = Fleet(events, trucks=trucks, orders=0, late=0, duplicate=0, malformed=0, time_as_text=0)
morning = list(records(fleet))
by_truck = Counter(record.key.decode() for record in morning)
eng.create_topic(POSITIONS, partitions=3)
by_truck

# %% panel tags=["live"]
lab.panel(eng, POSITIONS)

# %% produce tags=["setup"]
assert write(eng, morning) == events
kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
arrived = kafka.option("subscribe", POSITIONS).load()
report = F.from_json(F.col("value").cast("string"), "truck STRING, speed_kmh INT")
table = str(temporary("positions"))
found = arrived.select("partition", "offset", report.alias("report"))
found = found.select("report.*", "partition", "offset")
found.repartition(4).write.format(table_format(spark)).save(table)
positions = spark.read.format(table_format(spark)).load(table)
Chart(
    "Positions that each truck sent",
    {"positions": list(enumerate((by_truck[truck] for truck in sorted(by_truck)), 1))},
    x="truck",
    y="positions",
    kind="bars",
)

# %% [markdown]
# ## From partitions to tasks
#
# A task in Spark's Kafka source reads a range of offsets from one partition. By default, the source
# creates one task for each partition. The option `minPartitions` asks for more tasks. The topic in
# the next cell has three partitions, with 1,200, 600 and 200 records.

# %% L4-1 tags=["stub", "predict"]
lab.predict("L4-1")

# %% L4-1 tags=["solution", "predict"]
lab.predict("L4-1", 3)

# %% tasks tags=["live"]
sizes, min_partitions = (1200, 600, 200), 6

eng.create_topic("lanes", partitions=len(sizes))
producer = Producer({"bootstrap.servers": eng.bootstrap, "log_level": 0})
for partition, size in enumerate(sizes):
    for number in range(size):
        producer.produce("lanes", str(number), partition=partition)
producer.flush()
lanes = kafka.option("subscribe", "lanes").option("minPartitions", min_partitions).load()
read = lanes.groupBy(F.spark_partition_id().alias("task"), "partition")
read = read.agg(F.min("offset").alias("from"), F.max("offset").alias("to")).orderBy("task")
ranges = [(row["task"], row["partition"], row["from"], row["to"]) for row in read.collect()]
seen = {
    "tasks": len(ranges),
    "tasks of partition 0": sum(partition == 0 for _, partition, *_ in ranges),
    "records of the largest task": max(last - first + 1 for *_, first, last in ranges),
}
read.show()
print(seen)
lab.verdict("L4-1", seen)

# %% [markdown]
# Spark splits partitions according to their share of the records, so the tasks become more equal in
# size. The price is order: two tasks read one partition at the same time, so a task no longer sees
# all of a key's records in order. A consumer group does not help here, because Spark does not use
# one.
#
# ## A bounded micro-batch
#
# A query that was down for a day comes back to a day's worth of records. `maxOffsetsPerTrigger`
# limits each micro-batch. The limit applies to all the topic's partitions together.

# %% L4-2 tags=["stub", "predict"]
lab.predict("L4-2")

# %% L4-2 tags=["solution", "predict"]
lab.predict("L4-2", 30)

# %% bounded tags=["live"]
max_offsets = 300

stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
stream = stream.option("subscribe", "lanes").option("startingOffsets", "earliest")
stream = stream.option("maxOffsetsPerTrigger", max_offsets).load()
writer = stream.writeStream.format("noop").queryName("lanes to nothing")
writer = writer.option("checkpointLocation", str(temporary()))
query = writer.trigger(availableNow=True).start()
query.awaitTermination()
source = query.recentProgress[0].sources[0]
ends = json.loads(source.endOffset)["lanes"]
seen = {
    "records of the first micro-batch": query.recentProgress[0].numInputRows,
    "of partition 2": ends["2"],
    "of partition 0": ends["0"],
}
print(seen)
lab.verdict("L4-2", seen)

# %% [markdown]
# Each partition contributes in proportion to its backlog, so all the partitions finish at the same
# time. The chart below is drawn from the query's own reports. It shows the rows, and the lag, which
# no other tool knows.

# %% progress tags=["live"]
panel = progress(query)
assert sum(batch.rows for batch in panel.batches) == sum(sizes)
panel

# %% [markdown]
# ## One key, one task
#
# Back to the positions. `measured` uses Spark's status store to find out what each task did;
# Spark's web UI shows the same numbers. You count positions by truck. A shuffle sends each truck to
# one of four tasks, and one truck has two of every five positions.

# %% L4-3 tags=["stub", "predict"]
lab.predict("L4-3")

# %% L4-3 tags=["solution", "predict"]
lab.predict("L4-3", "c")

# %% count tags=["live"]
key = "truck"

counted = positions.groupBy(key).agg(F.count("*").alias("positions"))

with measured(spark) as counting:
    counted.collect()
seen = {
    "positions": positions.count(),
    "positions of the hot truck": max(by_truck.values()),
    "reading tasks": len(counting.last.tasks),
    "rows of its largest task": counting.last.records[0],
}
print(seen)
lab.verdict("L4-3", seen)

# %% [markdown]
# Before the shuffle, each task counts its own rows, and then sends one row for each truck. Spark
# calls this partial aggregation. A hot key hardly affects a count, a sum, a maximum or a mean.
#
# Other work cannot start before the shuffle. For example, how much faster is a truck than it was at
# its previous position? The answer requires all of a truck's positions in order.

# %% L4-4 tags=["stub", "predict"]
lab.predict("L4-4")

# %% L4-4 tags=["solution", "predict"]
lab.predict("L4-4", "b")

# %% window tags=["live"]
back = 1  # how many positions before this one

in_order = Window.partitionBy("truck").orderBy("partition", "offset")
speed = F.col("speed_kmh")
steps = positions.withColumn("step", speed - F.lag(speed, back).over(in_order))

with measured(spark) as stepping:
    steps.write.format("noop").mode("overwrite").save()
seen = {
    "positions": positions.count(),
    "positions of the hot truck": max(by_truck.values()),
    "reading tasks": len(stepping.last.tasks),
    "rows of its largest task": stepping.last.records[0],
}
print(seen)
display(records_by_task("Rows that each task got", {"count": counting.last, "step": stepping.last}))
lab.verdict("L4-4", seen)

# %% [markdown]
# All the hot truck's rows went to one task, along with the rows of other trucks that hash to the
# same task. The stage lasts as long as that task, so more cores do not help. In a stream, the same
# happens in each micro-batch.
#
# ## Salt
#
# Salting means splitting a hot key: you group by truck *and part*, and then combine the parts.
# Whether the result is right depends on the aggregate. Here each aggregate is computed by part, and
# then the parts' results are combined in the most obvious way.

# %% L4-5 tags=["stub", "predict"]
lab.predict("L4-5")

# %% L4-5 tags=["solution", "predict"]
lab.predict("L4-5", "a")

# %% salt tags=["live"]
parts = 3

by_part = positions.groupBy("truck", (F.col("offset") % parts).alias("part"))
first = by_part.agg(
    F.max("speed_kmh").alias("maximum"),
    F.avg("speed_kmh").alias("mean"),
    F.median("speed_kmh").alias("median"),
    F.countDistinct("speed_kmh").alias("speeds"),
)
salted = first.groupBy("truck").agg(
    F.max("maximum"), F.avg("mean"), F.median("median"), F.sum("speeds")
)
direct = positions.groupBy("truck").agg(
    F.max("speed_kmh"), F.avg("speed_kmh"), F.median("speed_kmh"), F.countDistinct("speed_kmh")
)
pairs = salted.join(direct, "truck").collect()
names = ("maximum", "mean of means", "median of medians", "sum of distinct counts")
wrong = [n for at, n in enumerate(names, 1) if any(abs(p[at] - p[at + 4]) > 1e-9 for p in pairs)]
seen = {"trucks": len(pairs), "wrong": wrong, "right": [n for n in names if n not in wrong]}
print(seen)
lab.verdict("L4-5", seen)

# %% [markdown]
# The maximum of the maxima is the overall maximum. A mean needs two numbers from each part, the sum
# and the count, as in exercise L4-8. A distinct count needs the distinct values themselves from
# each part. A median needs all the rows, so no salt helps there. The salt must come from the row,
# as the offset does. A random salt is different when a task runs again, and then rows are lost or
# counted twice.
# %% [markdown]
# ## Break it: a broker dies under load
#
# A query reads 500 records at a time. After its first micro-batch, the leader of partition 0 is
# killed.

# %% L4-7 tags=["stub", "predict"]
lab.predict("L4-7")

# %% L4-7 tags=["solution", "predict"]
lab.predict("L4-7", "d")

# %% broker-dies tags=["both"]
at_most = 500  # records in a micro-batch


def broker_dies(cluster):
    cluster.create_topic("rush", partitions=3)
    sent = write(cluster, [record._replace(topic="rush") for record in morning[:2_000]])
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap)
    stream = stream.option("subscribe", "rush").option("startingOffsets", "earliest")
    stream = stream.option("maxOffsetsPerTrigger", at_most).load().select("partition", "offset")
    place = temporary("rush")
    writer = stream.writeStream.format(table_format(spark))
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(place / "table"))
    cluster.wait_until(lambda c: query.lastProgress is not None, timeout_s=60)
    victim = cluster.leader("rush", 0)
    cluster.kill(victim)
    ended = query.awaitTermination(120)
    read = spark.read.format(table_format(spark)).load(str(place / "table"))
    return {
        "produced": sent,
        "rows": read.count(),
        "offsets": read.distinct().count(),
        "the query ended by itself": ended,
        "leader changed": cluster.leader("rush", 0) != victim,
    }


outcome = lab.both(broker_dies)
display(outcome)
lab.verdict("L4-7", outcome)

# %% [markdown]
# A task that gets no answer would request new metadata and continue from the new leader at the same
# offset: each task's range was written to the checkpoint before the task began. If the task still
# fails, a cluster runs it again with that range. In local mode the query fails, and after a restart
# it reads the same range.
#
# At work, you would see the broker's death in two places. Below them is the code for the work
# behind the tasks that you examined, as the course's pipeline does it for each record.

# %% describe tags=["live"]
partition = 0

leader = eng.leader(POSITIONS, partition)
if leader == -1 or len(eng.snapshot()["brokers"]) < 3:
    lab.mend(eng)
    leader = eng.leader(POSITIONS, partition)
eng.kill(leader)
eng.wait_until(lambda c: c.leader(POSITIONS, partition) not in (leader, -1))
display(lab.tool(eng, "kafka-topics", "--describe", "--topic", POSITIONS))
display(lab.broker_log(eng, eng.leader(POSITIONS, partition), f"{POSITIONS}-{partition}"))
lab.mend(eng)

# %% code tags=["read"]
lab.show(scaling.minutes)

# %% [markdown]
# ## Your turn
#
# Write two pieces of code that a pipeline with a hot key needs; a third is under *Deeper*. The
# judge calls them with rows and numbers that you have not seen.


# %% judged-by-rows tags=["setup"]
def rows_of(frame, *names):
    """The rows, with those of the named columns that are there; fractions to six digits."""
    found = frame.select(*(name for name in names if name in frame.columns)).collect()
    return sorted([round(x, 6) if isinstance(x, float) else x for x in row] for row in found)


def on_positions(totals):
    """Calls `totals` with these positions; gives the rows of both steps."""

    def called(rows, parts):
        frame = spark.createDataFrame(rows, "truck STRING, offset INT, speed_kmh INT")
        first, second = totals(frame, parts)
        return {
            "first": rows_of(first, "truck", "part", "positions", "total_kmh"),
            "second": rows_of(second, "truck", "positions", "mean_kmh"),
        }

    return called


def on_depots(sides):
    """Calls `sides` with positions and depots; gives the rows of both sides of the join."""

    def called(rows, depots, parts):
        left = spark.createDataFrame(rows, "truck STRING, offset INT")
        right = spark.createDataFrame(depots, "truck STRING, depot STRING")
        left, right = sides(left, right, parts)
        return {
            "positions": rows_of(left, "truck", "offset", "part"),
            "depots": rows_of(right, "truck", "part", "depot"),
        }

    return called


# %% [markdown]
# **Salt an aggregate.** Return two DataFrames. The first has the columns
# `truck, part, positions, total_kmh`, with one row for each truck and part. A position's part is
# its offset modulo `parts`. The second is computed from the first and has the columns
# `truck, positions, mean_kmh`.


# %% L4-8 tags=["stub"]
def totals(positions, parts):
    """By truck and part: positions and total_kmh; by truck: positions and mean_kmh."""
    return positions, positions


# %% L4-8 tags=["solution"]
def totals(positions, parts):
    """By truck and part: positions and total_kmh; by truck: positions and mean_kmh."""
    part = (F.col("offset") % parts).alias("part")
    first = positions.groupBy("truck", part).agg(
        F.count("*").alias("positions"), F.sum("speed_kmh").alias("total_kmh")
    )
    second = first.groupBy("truck").agg(
        F.sum("positions").alias("positions"),
        (F.sum("total_kmh") / F.sum("positions")).alias("mean_kmh"),
    )
    return first, second


# %% L4-8 tags=["check"]
lab.check("L4-8", on_positions(totals))

# %% [markdown]
# **Options of a source.** A query starts with the oldest record. Each micro-batch takes at most
# `records` records, and at least `tasks` tasks read it. If records were deleted before the query
# read them, the query stops instead of silently continuing. Return the source's options as a dict.


# %% L4-9 tags=["stub"]
def options(records, tasks):
    """The options of a Kafka source, by name."""
    return {}


# %% L4-9 tags=["solution"]
def options(records, tasks):
    """The options of a Kafka source, by name."""
    return {
        "startingOffsets": "earliest",
        "failOnDataLoss": True,
        "maxOffsetsPerTrigger": records,
        "minPartitions": tasks,
    }


# %% L4-9 tags=["check"]
lab.check("L4-9", options)

# %% [markdown]
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. How many tasks read a topic of 12 partitions?</b></summary>
#
# Twelve by default, one for each partition's range of offsets. With `minPartitions` above 12, Spark
# splits large partitions. With fewer cores than tasks, some tasks wait.
# *Follow-up:* what do you lose when one partition is read by two tasks? (A task no longer sees all
# of a key's records in order.)
#
# * **weak:** "as many as there are cores" · **good:** one for each partition, and `minPartitions` ·
#   **strong:** says that Spark splits by the share of the records, and what that does to order
# * **evidence:** [From partitions to tasks](#From-partitions-to-tasks)
# </details>
#
# <details><summary><b>2. One task in a stage takes ten times as long as the others. Why?</b></summary>
#
# Check its record count first. If the task has ten times as many records, a key is hot. If not,
# check its host, its spill, and its retries.
# *Follow-up:* the job only counts by key. Is a hot key the cause? (Unlikely: partial aggregation
# sends one row per key and task.)
#
# * **weak:** "more executors" · **good:** skew, seen in the task's records · **strong:** separates
#   work that can aggregate before the shuffle from work that cannot
# * **evidence:** [One key, one task](#One-key,-one-task)
# </details>
#
# <details><summary><b>3. When is salting wrong?</b></summary>
#
# When the aggregate of the whole cannot be computed from the aggregates of its parts, as with a
# median, a distinct count, or a mean without its count. Salting is also wrong for a window that
# needs all of a key's rows in order.
# *Follow-up:* why not `rand()` as the salt? (A task that runs again may get its rows in a different
# order, and then each row gets a different salt.)
#
# * **weak:** "never, it only spreads the rows" · **good:** mean and median · **strong:** says what
#   the first step must carry so that the result is right
# * **evidence:** [Salt](#Salt)
# </details>
#
# <details><summary><b>4. AQE is on. Why is the join still skewed?</b></summary>
#
# Its partitions may be below the 256 MB threshold or below five times the median; the join type may
# not allow the skewed side to be split; or the skew is in a window or an aggregate, which AQE does
# not split.
# *Follow-up:* what about a stream with state? (A key's state is in one place.)
#
# * **weak:** "AQE is broken" · **good:** thresholds · **strong:** says which operators can be split, and why
# * **evidence:** [What adaptive execution does by itself](#Deeper:-What-adaptive-execution-does-by-itself)
# </details>
#
# <details><summary><b>5. A query was down for a day. What do you set before it starts again?</b></summary>
#
# `maxOffsetsPerTrigger`, so that the first micro-batch does not take the whole day's records, with
# the memory and retries that they cost. You may change the option between starts. Then watch the
# lag go down.
# *Follow-up:* where is that lag? (In the query's progress; no consumer group knows it.)
#
# * **weak:** "more memory" · **good:** the option · **strong:** says that the limit is divided
#   among the partitions by backlog, and may be changed under the same checkpoint
# * **evidence:** [A bounded micro-batch](#A-bounded-micro-batch)
# </details>
#
# **Read this output: what happened?**
# ```
# Topic: clicks  Partition: 0  Leader: 101  Replicas: 101,102,103  Isr: 101,102,103
# Topic: clicks  Partition: 1  Leader: 103  Replicas: 102,103,101  Isr: 103,101
# Topic: clicks  Partition: 2  Leader: 103  Replicas: 103,101,102  Isr: 103,101
# ```
# <details><summary><b>An answer</b></summary>
#
# Broker 102 was gone: it is the first replica of partition 1, yet 103 leads that partition now.
# Broker 102 is already back and has caught up on partition 0, but not yet on partitions 1 and 2.
# Even after it has caught up there, the leaders stay where they are until a preferred leader
# election.
# </details>
#
# ## Quiz

# %% L4-11 tags=["stub", "predict", "quiz"]
lab.quiz("L4-11")

# %% L4-11 tags=["solution", "predict", "quiz"]
lab.quiz("L4-11", "c")

# %% [markdown]
# ## Deeper: The same job on a cluster
#
# So far, the tasks have been threads in one JVM. `kafkalab up spark` starts a standalone cluster: a
# master, and two workers with one core each. A session joins the cluster when `SPARK_MASTER` names
# it, and your code does not change. Each bar below shows a separate driver that parses and
# aggregates the same table; no broker is involved.

# %% curve tags=["live"]
table_events = 10_000

bronze = str(temporary("bronze"))
scaling.bronze(spark, bronze, table_events)
with spark_cluster.start() as cluster:
    masters = {"local[1]": "local[1]", "local[2]": "local[2]", "two workers": cluster.master}
    drivers = {
        name: Driver(where, f"{scaling.__name__}:minutes") for name, where in masters.items()
    }
    warm = {name: driver.run(table=bronze) for name, driver in drivers.items()}
    timed = {name: driver.run(table=bronze) for name, driver in drivers.items()}
    executors = len(cluster.executors())
    for driver in drivers.values():
        driver.close()
assert (
    len({(run["rows"], run["dead letters"], run["minutes of trucks"]) for run in timed.values()})
    == 1
)
assert executors == 2
rate = {name: run["rows"] / run["seconds"] for name, run in timed.items()}
Chart(
    "The same work: 1 local[1], 2 local[2], 3 two workers",
    {"records per second": [(n, round(each)) for n, each in enumerate(rate.values(), 1)]},
    x=", ".join(rate),
    y="records per second",
    kind="bars",
)

# %% [markdown]
# All three drivers count the same. How much faster two cores are, or slower, depends on this
# machine and on what else it is doing; `kafkalab bench spark` measures the difference over more
# rounds.

# %% [markdown]
# ## Deeper: What adaptive execution does by itself
#
# Before Spark reads a shuffle, adaptive query execution (AQE, on by default) checks the partitions'
# sizes and may split a skewed partition. By default, a partition counts as skewed only above 256
# MB; here the threshold is 10 KB, so that the hot truck's partition qualifies. Two pieces of work
# follow: a join with the trucks' depots, and the speed steps from above.


# %% L4-6 tags=["stub", "predict"]
lab.predict("L4-6")

# %% L4-6 tags=["solution", "predict"]
lab.predict("L4-6", "a")

# %% adaptive tags=["live"]
threshold, factor = "10KB", "1.5"

skewed = "spark.sql.adaptive.skewJoin.skewedPartition"
spark.conf.set(f"{skewed}ThresholdInBytes", threshold)
spark.conf.set(f"{skewed}Factor", factor)
spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", threshold)
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)  # as if the depots were a large table
depots = spark.createDataFrame(
    [(truck, f"depot {n % 2}") for n, truck in enumerate(by_truck)], "truck STRING, depot STRING"
)
order = Window.partitionBy("truck").orderBy("partition", "offset")
speed = F.col("speed_kmh")
steps = positions.withColumn("step", speed - F.lag(speed).over(order))
work = {"join": positions.join(depots, "truck"), "steps": steps}
seen = {}
for name, frame in work.items():
    with measured(spark) as done:
        frame.write.format("noop").mode("overwrite").save()
    seen |= {f"tasks of the {name}": len(done.last.tasks)}
    seen |= {f"rows of its largest task, {name}": done.last.records[0]}
print(seen)
lab.verdict("L4-6", seen)

# %% [markdown]
# A join can be split: each piece of the hot side is joined with a copy of the other side. A window
# cannot be split, because a truck's rows belong together. Neither can an aggregate. With the
# default of 256 MB, AQE ignores skew in small micro-batches. AQE also does nothing for a stream
# that keeps state: there, each key belongs to one partition of the state store forever.

# %% settings-back tags=["live"]
for name in (f"{skewed}ThresholdInBytes", f"{skewed}Factor"):
    spark.conf.unset(name)
for name in ("adaptive.advisoryPartitionSizeInBytes", "autoBroadcastJoinThreshold"):
    spark.conf.unset(f"spark.sql.{name}")

# %% [markdown]
# ## Deeper: A join with a salt
#
# **Salt a join.** The trucks' depots are a large table, and the positions have a hot truck. Return
# the two sides of a join on `truck` and `part`: positions with `truck, offset, part`, where part is
# the offset modulo `parts`; and depots with `truck, part, depot`.


# %% L4-10 tags=["stub"]
def sides(positions, depots, parts):
    """Both sides of a join by truck and part."""
    return positions, depots


# %% L4-10 tags=["solution"]
def sides(positions, depots, parts):
    """Both sides of a join by truck and part."""
    part = F.explode(F.sequence(F.lit(0), F.lit(parts - 1)))
    return (
        positions.select("truck", "offset", (F.col("offset") % parts).alias("part")),
        depots.select("truck", part.alias("part"), "depot"),
    )


# %% L4-10 tags=["check"]
lab.check("L4-10", on_depots(sides))

# %% [markdown]
# ## Deeper: Where the time of a micro-batch goes
#
# Besides the reading itself, a micro-batch costs some 100 to 300 milliseconds for planning and for
# two checkpoint files, one written before it and one after it. With small micro-batches, you pay
# this cost often. Here the same 2,000 records are read 100 at a time, and then 1,000 at a time:

# %% overhead tags=["live"]
eng.create_topic("drops", partitions=3)
producer = Producer({"bootstrap.servers": eng.bootstrap, "log_level": 0})
for number in range(2_000):
    producer.produce("drops", str(number), partition=number % 3)
producer.flush()
took = {}
for each in (100, 1_000):
    drops = spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
    drops = drops.option("subscribe", "drops").option("startingOffsets", "earliest")
    writer = drops.option("maxOffsetsPerTrigger", each).load().writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(temporary())).trigger(availableNow=True)
    query = writer.queryName(f"{each} at a time").start()
    query.awaitTermination()
    batches = progress(query).batches
    assert sum(batch.rows for batch in batches) == 2_000
    took[each] = sum(batch.duration_ms for batch in batches)
assert took[100] > took[1_000]
progress(query)
