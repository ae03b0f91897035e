# %% [markdown]
# # L5 · Changelog and compaction
#
# A database of orders changes, and a connector writes each change to a topic. From that *change
# feed*, you maintain a Delta Lake table that has the same rows as the database. Then the topic is
# compacted, and you rebuild the table from what is left.
#
# **You will be able to**
# * read a change feed: envelopes, LSNs, tombstones, and a restart that delivers changes twice;
# * write a MERGE that stays right when a micro-batch is old or runs again;
# * say what compaction keeps for a rebuild, and what it removes;
# * name the ways in which a deleted row can come back.
#
# **Time:** {minutes}. The lab needs Java 17; `make setup` installs PySpark and Delta Lake's jars.

# %% doorway tags=["setup"]
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition
from pyspark.sql import Window
from pyspark.sql import functions as F

from kit import lab
from kit.drawings.chart import Chart
from kit.probes import cleaner
from kit.spark import session, temporary
from labs.L5_changelog_and_compaction import connector, judged, upserts
from labs.L5_changelog_and_compaction.database import Database, Morning, run
from labs.L5_changelog_and_compaction.reader import Reader, left

eng = lab.engine()
spark = session()
upserts.require_delta(spark)

# %% [markdown]
# ## The change feed
#
# The database runs a morning's statements, generated from a fixed seed. Each change gets a *log
# sequence number* (LSN), its position in the database's write-ahead log. The connector writes
# *envelopes*, as Debezium does. Each envelope has the row `before` and `after` the change, the
# operation `op`, and the LSN in `source`. The database also keeps every version of its rows, so the
# truth is known at each LSN.
#
# After 200 changes, the connector crashes and resumes from an older position, so it delivers the
# last 50 changes again.

# %% feed tags=["setup"]
statements, seed = 600, 7
restarts = {200: 50}  # after so many changes, so many come again

database = run(Morning(statements, seed))
feed = list(connector.records(database, restarts=restarts))
COMPACTED = {"cleanup.policy": "compact", "internal.segment.bytes": 10_000}
COMPACTED |= {"min.cleanable.dirty.ratio": 1}  # keeps the cleaner away until a cell lets it begin
SMALL = {**COMPACTED, "internal.segment.bytes": 700, "delete.retention.ms": 0}
eng.create_topic("orders", partitions=3, config=COMPACTED)
connector.write(eng, "orders", feed)
deleted = next(n for n, record in enumerate(feed) if record.value is None)
for record in (feed[0], feed[deleted - 1], feed[deleted]):
    print(record.key.decode(), (record.value or b"no value: a tombstone").decode(), "\n")

# %% panel tags=["live"]
lab.segments(eng, "orders")

# %% [markdown]
# The key is the order's id. It decides the partition, so all changes to an order are in one
# partition, sorted by LSN except after the restart. A delete produces two records: the envelope
# with `op: d` for readers, and a *tombstone*, a key without a value, for the cleaner. In the panel,
# open a batch and look at its records.
#
# ## One row for each order
#
# In Spark, an upsert is a `MERGE` inside `foreachBatch`. Its source is the micro-batch, with one
# row for each record. A micro-batch may contain several changes to one order.

# %% L5-1 tags=["stub", "predict"]
lab.predict("L5-1")

# %% L5-1 tags=["solution", "predict"]
lab.predict("L5-1", "c")

# %% as-it-came tags=["live"]
statuses = ["loaded", "under way"]  # or ["loaded"], and ["loaded", "under way", "delivered"]
known = True  # or False: the table has no row of the order

demo = Database("orders")
demo.insert(1, truck="truck-01", status="placed", cents=500)
for status in statuses:
    demo.update(1, status=status)
first, *others = connector.records(demo)
path = upserts.Place(temporary()).orders
upserts.create(spark, path)
if known:
    upserts.merge(upserts.changes(upserts.as_records(spark, [first])).drop("ts_ms"), path)
batch = upserts.changes(upserts.as_records(spark, others)).drop("ts_ms")
seen = {"error": upserts.refusal(lambda: upserts.merge(batch, path)), "newest": statuses[-1]}
table = spark.sql(f"SELECT order_id, status, lsn FROM delta.`{path}` ORDER BY lsn").collect()
seen["statuses"] = [row["status"] for row in table]
print(*table, seen["error"], sep="\n")
lab.verdict("L5-1", seen)

# %% [markdown]
# A DataFrame's rows are not sorted, so none of them is the last one. If two source rows match one
# table row, Delta refuses the MERGE. If they match no row (`known = False`), Delta inserts both,
# and the table has the order twice, without any error. So each micro-batch must first be reduced to
# the newest change to each order. But which change is the newest?
#
# The connector stamps each envelope with its own clock's time, `ts_ms`. Here the connector restarts
# after three changes and delivers the last two again. The micro-batch ends between those two
# repeats.

# %% L5-2 tags=["stub", "predict"]
lab.predict("L5-2")

# %% L5-2 tags=["solution", "predict"]
lab.predict("L5-2", "loaded")

# %% restarted tags=["live"]
newest_by, taken = "ts_ms", 4  # or "lsn"; or 5 records in the micro-batch

demo = Database("orders")
demo.insert(1, truck="truck-01", status="placed", cents=500)
for status in ("loaded", "under way"):
    demo.update(1, status=status)
batch = list(connector.records(demo, restarts={3: 2}))[:taken]
found = upserts.changes(upserts.as_records(spark, batch))
found.select("order_id", "status", "lsn", "ts_ms").show()
newest_first = Window.partitionBy("order_id").orderBy(F.desc(newest_by))
ranked = found.withColumn("place", F.row_number().over(newest_first))
path = upserts.Place(temporary()).orders
upserts.create(spark, path)
upserts.merge(ranked.where("place = 1").drop("place", "ts_ms"), path)
(row,) = spark.sql(f"SELECT * FROM delta.`{path}`").collect()
seen = {
    "newest by": newest_by,
    "records taken": len(batch),
    "in the table": row["status"],
    "in the database": demo.table()[1]["status"],
    "lsn taken": row["lsn"],
    "highest lsn": demo.lsn,
}
lab.verdict("L5-2", seen)

# %% [markdown]
# The table shows an old status until the next micro-batch arrives. A timestamp shows when a change
# was *handled*, and two changes that were handled in the same millisecond look the same. The LSN
# shows where the change is in the database's log: no other change to the row has that LSN, and the
# LSN stays the same when the change is delivered again.
#
# ## The guard, and what it needs
#
# So the MERGE applies a change only if the change's LSN is above the row's LSN. This condition is
# the *guard*. It rejects a change that is older than its row. Deletes are rows in the micro-batch,
# too. The next cell removes a deleted order from the table. Then the connector restarts and
# delivers an old update again.

# %% L5-3 tags=["stub", "predict"]
lab.predict("L5-3")

# %% L5-3 tags=["solution", "predict"]
lab.predict("L5-3", "b")

# %% deleted-again tags=["live"]
on_delete = "DELETE"  # or "UPDATE SET *"

demo = Database("orders")
demo.insert(1, truck="truck-01", status="placed", cents=500)
demo.update(1, status="loaded")
demo.delete(1)
inserted, updated, deleted, tombstone = connector.records(demo)
path = upserts.Place(temporary()).orders
upserts.create(spark, path)
for batch in ([inserted], [updated, deleted, tombstone], [updated]):
    changes = upserts.newest(upserts.changes(upserts.as_records(spark, batch)))
    changes.createOrReplaceTempView("found")
    spark.sql(f"""
        MERGE INTO delta.`{path}` AS kept USING found ON kept.order_id = found.order_id
        WHEN MATCHED AND found.deleted AND found.lsn > kept.lsn THEN {on_delete}
        WHEN MATCHED AND found.lsn > kept.lsn THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *""")
    table = spark.sql(f"SELECT order_id, status, lsn, deleted FROM delta.`{path}`").collect()
    print(table or "no rows")
seen = {
    "orders": [row["order_id"] for row in table if not row["deleted"]],
    "rows with deleted": sum(row["deleted"] for row in table),
}
lab.verdict("L5-3", seen)

# %% [markdown]
# A canceled order is back. The delete had removed the LSN along with the row, so the guard had
# nothing to compare the old update with. With `UPDATE SET *`, the row stays, with its LSN and the
# mark `deleted`, and the table's readers filter it out. Such rows can be removed once no old change
# can arrive, for example after a week.
#
# ## Kept current
#
# The lab's own query does all of this: it calls `changes`, `newest` and `merge` in `foreachBatch`.
# Each MERGE creates a *version* of the Delta table, and `VERSION AS OF` reads an old one. The next
# cell compares each version with the database as of the highest LSN in that version.

# %% L5-4 tags=["stub", "predict"]
lab.predict("L5-4")

# %% L5-4 tags=["solution", "predict"]
lab.predict("L5-4", "b")

# %% kept-current tags=["live"]
partitions, batch_records = 3, 200  # or 1 partition: then one log has everything, in order

eng.create_topic("kept", partitions=partitions, replicas=1, config=COMPACTED)
connector.write(eng, "kept", feed)
place = upserts.Place(temporary())
query = upserts.start(spark, eng.bootstrap, "kept", place, batch_records=batch_records)
assert query.awaitTermination(120)
differing = []
for merge in upserts.history(spark, place.orders):
    lsn, rows = upserts.as_of(spark, place.orders, merge["version"])
    differing.append(len(upserts.differences(rows, database.table(lsn))))
    print(merge, "rows that differ:", differing[-1])
display(
    Chart(
        "Rows that differ from the database at the same LSN",
        {"rows": list(enumerate(differing, 1))},
        x="version of the table",
        y="rows",
        kind="bars",
    )
)
seen = {"versions": len(differing), "versions like the database": differing.count(0)}
seen["rows that differ at the end"] = differing[-1]
lab.verdict("L5-4", seen)

# %% [markdown]
# The history shows what each MERGE inserted and updated (`operationMetrics`). An intermediate
# version mixes moments in time: one order as of later, another as of earlier. The database was
# never in that state. With one partition, each version shows one moment, except after the restart.
# With several partitions, a table is right about each order by itself, but it is right as a whole
# only when the feed has been read to its end. Sums over orders have to wait until then, or name an
# LSN.
#
# ## What the cleaner leaves
#
# Now the topic is compacted: the cleaner keeps the last record of each key and removes older ones,
# except in the active segment (lesson 12). The next cell writes a morning's changes to one
# partition and builds a table from that partition twice, before and after the cleaner runs.

# %% L5-5 tags=["stub", "predict"]
lab.predict("L5-5")

# %% L5-5 tags=["solution", "predict"]
lab.predict("L5-5", "a")

# %% compacted tags=["both"]
statements, segment_bytes = 300, 10_000  # also 100_000


def compacted(cluster):
    morning = run(Morning(statements, seed=8))
    config = {**COMPACTED, "internal.segment.bytes": segment_bytes}
    cluster.create_topic("history", replicas=1, config=config)
    connector.Connector(cluster, "history", morning).send()
    full, small = upserts.Place(temporary()), upserts.Place(temporary())
    before = upserts.rebuild(spark, cluster.bootstrap, "history", full)
    cleaner.clean(cluster, "history")  # sets min.cleanable.dirty.ratio to 0
    after = upserts.rebuild(spark, cluster.bootstrap, "history", small)
    truth = morning.table()
    return {
        "orders in the database": len(truth),
        "records before": before,
        "rows that differ, full": len(upserts.differences(upserts.rows(spark, full.orders), truth)),
        "records after the cleaner": after,
        "rows that differ, compacted": len(
            upserts.differences(upserts.rows(spark, small.orders), truth)
        ),
        "rows with deleted, compacted": upserts.deleted(spark, small.orders),
    }


outcome = lab.both(compacted)
display(outcome)
lab.verdict("L5-5", outcome)

# %% [markdown]
# Both tables hold the same orders. An envelope carries the whole row, so a key's last envelope is
# enough. There are still more records than orders: the active segment is unchanged, and a canceled
# order leaves a tombstone. In a cleaned segment, its envelope with `op: d` is gone, because the
# tombstone has the same key and came later. So a reader must treat a tombstone as a delete. And
# compaction is not deduplication: in the dirty part, a reader sees several values for the same key.
#
# What does a rebuild cost as the history grows? Four mornings follow, with about as many new orders
# as canceled ones. After each morning, a service reads the feed from the beginning, both as written
# and as the cleaner left it.

# %% rebuild-costs tags=["live"]
import time

mornings, statements = 4, 300

growing = Database("orders")
eng.create_topic("years", replicas=1, config={**COMPACTED, "delete.retention.ms": 0})
eng.create_topic("years-as-written", replicas=1)
feeds = [connector.Connector(eng, topic, growing) for topic in ("years", "years-as-written")]
reads = {"as written": [(0, 0)], "compacted": [(0, 0)]}
for number in range(1, mornings + 1):
    run(Morning(statements, number, inserts=0.1, deletes=0.1, rekeys=0), growing)
    for each in feeds:
        each.send(batch_records=20)
    cleaner.clean(eng, "years")
    for name, topic in (("as written", "years-as-written"), ("compacted", "years")):
        service, began = Reader(eng, topic), time.perf_counter()
        assert service.read_on() == growing.table()
        reads[name].append((number, service.records_read))
        print(f"{number}: {name}, {time.perf_counter() - began:.2f} s")
Chart("Records that a service reads when it starts", reads, x="mornings", y="records")

# %% [markdown]
# From the topic as written, a starting service reads the whole history. From the compacted topic,
# it reads the orders that exist, some tombstones, and the active segment, so the number of records
# levels off. The seconds mean little here, because at this size the service spends most of its
# startup time connecting.
#
# ## Away for too long
#
# The next cell sets `delete.retention.ms` (a day by default) to 0. A service holds three orders in
# memory and pauses. Order 2 is deleted, and the service comes back.

# %% L5-6 tags=["stub", "predict"]
lab.predict("L5-6")

# %% L5-6 tags=["solution", "predict"]
lab.predict("L5-6", "d")

# %% away tags=["both"]
delete_retention_ms, gone = 0, 2  # also 86_400_000, the default; and the order to delete


def away(cluster):
    config = {**SMALL, "delete.retention.ms": delete_retention_ms}  # a change or two in a segment
    cluster.create_topic("few", replicas=1, config=config)
    orders = Database("orders")
    feed, service = connector.Connector(cluster, "few", orders), Reader(cluster, "few")
    for order_id in (1, 2, 3):
        orders.insert(order_id, truck="truck-01", status="placed", cents=500)
    feed.send()
    service.read_on()  # then it stops
    orders.delete(gone)
    for _ in range(2):
        for cents in (510, 520, 530):
            orders.update(3, cents=cents)
        feed.send()
        cleaner.clean(cluster, "few")
    return {
        "orders in the database": sorted(orders.table()),
        "orders in memory": sorted(service.read_on()),  # from where it stopped
        "left of the deleted order": left(cluster, "few", gone) or "nothing",
        "orders in a memory that is built again": sorted(Reader(cluster, "few").read_on()),
    }


outcome = lab.both(away)
display(outcome)
lab.verdict("L5-6", outcome)

# %% [markdown]
# Order 2 is a *ghost*. The service resumed at its offset without an error, because gaps are normal
# in a compacted log. It was away for longer than `delete.retention.ms`, after which a pass drops
# the tombstone, so nothing that it reads will ever mention order 2. The same happens to a Spark
# query with an old checkpoint. The remedy is a new table: rebuild it beside the old one, from the
# beginning or from a new snapshot, and swap the two. Set `delete.retention.ms` to more than the
# longest outage that you want to survive, and alert on lag measured in *time*.
#
# ## Break it: a leader dies, and the query goes on
#
# A new query reads the topic. Then a partition's leader dies, more changes arrive, and the query
# resumes from its checkpoint. The output shows what an engineer sees of the topic and of the
# partition's next leader.

# %% leader-dies tags=["live"]
import copy

more = 100  # statements

leader = eng.leader("orders", 0)
place = upserts.Place(temporary())
upserts.start(spark, eng.bootstrap, "orders", place).awaitTermination()
eng.kill(leader)
eng.wait_until(lambda c: c.leader("orders", 0) not in (leader, -1))
later = run(Morning(more, seed=9), copy.deepcopy(database))
connector.write(eng, "orders", connector.records(later, snapshot_lsn=database.lsn))
upserts.start(spark, eng.bootstrap, "orders", place).awaitTermination()
assert upserts.differences(upserts.rows(spark, place.orders), later.table()) == []
display(lab.tool(eng, "kafka-topics", "--describe", "--topic", "orders"))
display(lab.broker_log(eng, eng.leader("orders", 0), "orders-0"))
lab.mend(eng)
lab.show(upserts.changes, upserts.newest, upserts.merge)

# %% [markdown]
# The table is right. This connector was started without its old position, so it began with a
# snapshot. Each row in the snapshot has `op: r` and the snapshot's LSN, and the guard accepts or
# rejects the row like any other change. A snapshot cannot show which orders are gone. The code that
# kept the table current is below the log.
#
# ## Your turn
#
# Write the two halves of such a query, and the startup code of a service. The judge calls your
# functions with changes that you have not seen, which come twice and out of order.
#
# **The newest change of each order.** `records` has the columns `key` and `value`, both as bytes.
# Return one row for each order: `order_id INT, lsn BIGINT, deleted BOOLEAN, status STRING`, from
# the change with the highest LSN. If an order has only a tombstone, its LSN and status are null.
# Use explicit schemas.


# %% L5-8 tags=["stub"]
def newest(records):
    """One row for each order: order_id, lsn, deleted, status."""
    return spark.createDataFrame([], judged.COLUMNS)


# %% L5-8 tags=["solution"]
def newest(records):
    """One row for each order: order_id, lsn, deleted, status."""
    envelope = "after STRUCT<status STRING>, op STRING, source STRUCT<lsn BIGINT>"
    key = F.from_json(F.col("key").cast("string"), "order_id INT")
    value = F.from_json(F.col("value").cast("string"), envelope)
    changes = records.select(key.alias("key"), value.alias("value")).select(
        "key.order_id",
        "value.source.lsn",
        F.expr("value IS NULL OR value.op = 'd'").alias("deleted"),
        "value.after.status",
    )
    newest_first = Window.partitionBy("order_id").orderBy(F.col("lsn").desc_nulls_last())
    ranked = changes.withColumn("place", F.row_number().over(newest_first))
    return ranked.where("place = 1").drop("place")


# %% L5-8 tags=["check"]
lab.check("L5-8", judged.on_records(spark, newest))

# %% [markdown]
# **A MERGE that may be repeated.** `batch` has these four columns, with one row for each order, and
# each row has an LSN. Merge the batch into the Delta table at `path`, which has the same columns.
# Old batches must change nothing, and a deleted order must stay as a row marked `deleted`.


# %% L5-9 tags=["stub"]
def merge(batch, path):
    """Takes the batch into the Delta table."""
    batch.createOrReplaceTempView("found")


# %% L5-9 tags=["solution"]
def merge(batch, path):
    """Takes the batch into the Delta table."""
    batch.createOrReplaceTempView("found")
    batch.sparkSession.sql(f"""
        MERGE INTO delta.`{path}` AS kept USING found ON kept.order_id = found.order_id
        WHEN MATCHED AND found.lsn > kept.lsn THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *""")


# %% L5-9 tags=["check"]
lab.check("L5-9", judged.on_batches(spark, merge))

# %% [markdown]
# **A dictionary from a compacted topic.** A service starts. Read `topic` from beginning to end and
# return a dictionary that has each key's last value, as bytes. The consumer has
# `enable.partition.eof` set, so it reports the end of a partition as a message with an error.


# %% L5-10 tags=["stub"]
def rebuild(consumer, topic):
    """The last value of each key that is not deleted."""
    return {}


# %% L5-10 tags=["solution"]
def rebuild(consumer, topic):
    """The last value of each key that is not deleted."""
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    table, ended = {}, set()
    while len(ended) < len(partitions):
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
        elif message.value() is None:
            table.pop(message.key(), None)
        else:
            table[message.key()] = message.value()
    return table


# %% L5-10 tags=["check"]
lab.check("L5-10", judged.on_topic(eng, rebuild))

# %% [markdown]
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. How do you apply a change feed to a table, exactly once?</b></summary>
#
# You do not: the feed is delivered at least once. Instead, make the MERGE safe to repeat: apply one
# change for each key, the newest by LSN, and only if it is newer than the row.
# *Follow-up:* why not by timestamp? (Old changes are delivered again with a new timestamp, and two
# changes may share a timestamp.)
#
# * **weak:** "with a checkpoint" · **good:** an idempotent MERGE · **strong:** the LSN, and what
#   happens within a micro-batch and between micro-batches
# * **evidence:** [One row for each order](#One-row-for-each-order)
# </details>
#
# <details><summary><b>2. A deleted customer is back in the table. What happened?</b></summary>
#
# An old change was delivered again, and the guard had no row to compare it with; or the reader was
# away for longer than `delete.retention.ms` and never saw the tombstone; or partitions were added.
# *Follow-up:* how do you find all such rows? (Build a second table from the feed, and compare the
# keys of the two tables.)
#
# * **weak:** "a bug in the connector" · **good:** one of the ways · **strong:** all of them, each with
#   its remedy
# * **evidence:** [The guard](#The-guard,-and-what-it-needs) and [Away for too long](#Away-for-too-long)
# </details>
#
# <details><summary><b>3. Does a compacted topic have one record for each key?</b></summary>
#
# No. Only a key's last record is sure to be kept; the active segment and the dirty part also have
# older ones. A reader takes the last value and treats a tombstone as a delete.
# *Follow-up:* when is the last value not enough? (For a history, a sum of changes, or an audit.)
#
# * **weak:** "yes" · **good:** the dirty part · **strong:** says what a consumer must do, and what
#   it can no longer compute
# * **evidence:** [What the cleaner leaves](#What-the-cleaner-leaves)
# </details>
#
# <details><summary><b>4. Why does the connector write a tombstone after the delete?</b></summary>
#
# The envelope with `op: d` is a value, so the cleaner would keep it as the key's last value. A key
# without a value lets the cleaner finally remove the key.
# *Follow-up:* a column holds personal data. When is the last byte gone? (After a pass that removes the
# older records; the values may be in `before`, too.)
#
# * **weak:** "by convention" · **good:** for the cleaner · **strong:** the envelope is removed
#   before the tombstone, so readers must understand both
# * **evidence:** [What the cleaner leaves](#What-the-cleaner-leaves)
# </details>
#
# <details><summary><b>5. May this topic get more partitions?</b></summary>
#
# Not this topic: keys move, and the old partition keeps their last values for good. Create a new
# topic with more partitions. Then let the connector take a snapshot, or copy the old topic key by
# key.
# *Follow-up:* does the LSN guard help? (It helps with the order of changes, as long as the
# tombstones are still there.)
#
# * **weak:** "yes, any time" · **good:** keys move · **strong:** old values and tombstones are in
#   different partitions, and each partition is cleaned by itself
# * **evidence:** [Deeper: More partitions](#Deeper:-More-partitions)
# </details>
#
# **Read this output: what happened?**
# ```
# Topic: orders  PartitionCount: 3  ReplicationFactor: 3  Configs: cleanup.policy=delete,retention.ms=604800000
#   Topic: orders  Partition: 0  Leader: 102  Replicas: 101,102,103  Isr: 102,103
# ```
# <details><summary><b>An answer</b></summary>
#
# Two things. First, broker 101 is down or behind: it does not lead partition 0, and it is not in
# sync. Second, the policy is `delete` with a week's retention: an order that has not changed for a
# week is no longer in the topic, so a rebuild restores only part of the table.
# </details>
#
# ## Quiz

# %% L5-11 tags=["stub", "predict", "quiz"]
lab.quiz("L5-11")

# %% L5-11 tags=["solution", "predict", "quiz"]
lab.quiz("L5-11", "d")

# %% [markdown]
# ## Deeper: More partitions
#
# A key's partition is its hash modulo the number of partitions. When a topic gets more partitions,
# most keys move, but their existing records do not. A service with an LSN guard reads everything.

# %% L5-7 tags=["stub", "predict"]
lab.predict("L5-7")

# %% L5-7 tags=["solution", "predict"]
lab.predict("L5-7", "b")

# %% more-partitions tags=["both"]
added, changed, gone = 2, 3, 4  # also 0; and two orders


def more_partitions(cluster):
    cluster.create_topic("moved", replicas=1, config=SMALL)
    orders = Database("orders")
    feed = connector.Connector(cluster, "moved", orders)
    for order_id in range(1, 9):
        orders.insert(order_id, truck="truck-01", status="placed", cents=500)
    feed.send()
    connector.add_partitions(cluster, "moved", added)
    orders.update(changed, status="loaded")
    orders.delete(gone)
    for cents in (510, 520):
        for order_id in list(orders.rows) * 3:  # so that each partition gets segments
            orders.update(order_id, cents=cents)
        feed.send()
        cleaner.clean(cluster, "moved")
    naive = Reader(cluster, "moved").read_on(range(added, -1, -1))  # the newest first
    guarded = Reader(cluster, "moved", guarded=True).read_on(range(added, -1, -1))
    return {
        "changed order, without LSNs": naive[changed]["status"],
        "changed order, rebuilt": guarded[changed]["status"],
        "deleted order, rebuilt": "there" if gone in guarded else "not there",
    }


outcome = lab.both(more_partitions)
display(outcome)
lab.verdict("L5-7", outcome)

# %% [markdown]
# A reader that does not use LSNs and reads the old partition last ends up with the old status. The
# LSN fixes that, but it cannot fix the delete: the tombstone went to a new partition, and the
# cleaner eventually dropped it there. The order's insert is in the old partition, where no later
# record has the same key, so the insert stays for good, and the order comes back with each rebuild.
# To get more partitions, create a new topic and fill it from a snapshot.
#
# A compacted topic also refuses records without a key (lesson 12, *Both policies*): without a key,
# the cleaner has nothing to compare.

# %% [markdown]
# ## Deeper: The same micro-batch again
#
# As in lab L1, the next cell removes the note that the last micro-batch was done. Spark runs the
# micro-batch again, and `operationMetrics` shows what the second MERGE changed.

# %% same-again tags=["live"]
from pathlib import Path

place = upserts.Place(temporary())
upserts.start(spark, eng.bootstrap, "orders", place).awaitTermination()
commits = Path(place.checkpoint, "commits")
newest_note = max(commits.glob("[0-9]*"), key=lambda note: int(note.name))
for note in (newest_note, newest_note.with_name(f".{newest_note.name}.crc")):
    note.unlink(missing_ok=True)
upserts.start(spark, eng.bootstrap, "orders", place).awaitTermination()
first, again = upserts.history(spark, place.orders)
print(first, again, sep="\n")
assert (again["inserted"], again["updated"]) == (0, 0)

# %% [markdown]
# The second MERGE created a version of the table but changed no row. A sink that counts or sends
# email would have done so twice (lab L2).

# %% [markdown]
# ## Deeper: A column that came late
#
# Halfway through the morning, the database's table gets a new column, `priority`. The query learns
# of the column later. Until then, the query's schema silently drops the new field. Afterward,
# `MERGE WITH SCHEMA EVOLUTION` adds the column to the Delta table.

# %% late-column tags=["live"]
wider = run(Morning(400, seed=5, priority_from=200))
wider_feed = list(connector.records(wider))
learned = len(wider_feed) * 3 // 4  # records that come before the query knows the column

eng.create_topic("wider", replicas=1, config=COMPACTED)
place, rebuilt = upserts.Place(temporary()), upserts.Place(temporary())
connector.write(eng, "wider", wider_feed[:learned])
upserts.start(spark, eng.bootstrap, "wider", place).awaitTermination()
connector.write(eng, "wider", wider_feed[learned:])
upserts.start(spark, eng.bootstrap, "wider", place, upserts.WITH_PRIORITY).awaitTermination()
upserts.rebuild(spark, eng.bootstrap, "wider", rebuilt, upserts.WITH_PRIORITY)
wrong = upserts.differences(upserts.rows(spark, place.orders), wider.table())
print(len(wrong), "rows differ in the table that was kept;", wrong[:2])
print(
    len(upserts.differences(upserts.rows(spark, rebuilt.orders), wider.table())), "in the rebuilt"
)
assert wrong
assert all("priority is None" in line for line in wrong)

# %% [markdown]
# Rows that changed after the database got the column but before the query knew about it lack the
# new value until they change again. The topic has had the value all along, because each envelope
# carries the whole row. So after a schema change, rebuild the table. That is what a compacted topic
# is for.

# %% [markdown]
# ## Deeper: Every version of a row
#
# From the same feed, you can build a table that forgets nothing, a *type 2 slowly changing
# dimension*: each change is a row that is valid from its LSN to the LSN of the order's next change.
# The feed has to be complete, so here it is read as it was written, without compaction.

# %% every-version tags=["live"]
at = database.log[len(database.log) // 3].lsn  # any LSN

changes = upserts.changes(upserts.as_records(spark, feed)).where("lsn IS NOT NULL")
once = changes.dropDuplicates(["order_id", "lsn"])
next_lsn = F.lead("lsn").over(Window.partitionBy("order_id").orderBy("lsn"))
versions = once.withColumn("valid_until", next_lsn).persist()
versions.where("order_id = 17").orderBy("lsn").show(6)
then = versions.where(f"lsn <= {at} AND (valid_until IS NULL OR valid_until > {at})")
found = {row["order_id"]: row["status"] for row in then.where("NOT deleted").collect()}
assert found == {order_id: row["status"] for order_id, row in database.table(at).items()}
print(f"{versions.count()} versions; {len(found)} orders at LSN {at}, as in the database")

# %% [markdown]
# Such a table can show how long orders wait to be loaded. A compacted topic cannot, because only
# the last state of each order is sure to be in it. Keep the feed in a topic with
# `cleanup.policy=delete`, or append it to a bronze table (lab L1), and let the compacted topic
# serve readers that need the current state.

# %% [markdown]
# ## Deeper: Break it: the table is compacted, too
#
# Each micro-batch leaves small files in a Delta table. OPTIMIZE rewrites the rows from many files
# into one file. Below, four commits fill a table of changes, and a query follows that table, as
# gold follows silver in lab L1. The query's function asks for the micro-batch's smallest LSN and
# assumes that there is one. The query starts once before OPTIMIZE and twice after it; nothing is
# written to the table in between.

# %% L5-12 tags=["stub", "predict"]
lab.predict("L5-12")

# %% L5-12 tags=["solution", "predict"]
lab.predict("L5-12", "d")

# %% small-files tags=["live"]
guarded = False  # True: a micro-batch without a smallest LSN is nothing to do

table, checkpoint = str(temporary() / "changes"), str(temporary())
for part in range(4):
    some = upserts.changes(upserts.as_records(spark, feed[part * 100 : part * 100 + 100]))
    some.where("lsn IS NOT NULL").write.format("delta").mode("append").save(table)
given, failed = [], []  # by start: the rows of each micro-batch; whether the query failed


def refresh(batch, number):
    smallest = batch.agg(F.min("lsn")).first()[0]
    given[-1].append(batch.count())
    if guarded and smallest is None:
        return
    print(f"micro-batch {number}: {given[-1][-1]} rows, from LSN {smallest:,} on")


for number in range(3):  # three starts
    if number == 1:
        spark.sql(f"OPTIMIZE delta.`{table}`")
    given.append([])
    query = spark.readStream.format("delta").load(table).writeStream.foreachBatch(refresh)
    query = query.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    try:
        query.start().awaitTermination(60)
        failed.append(False)
    except Exception as error:
        failed.append(True)
        print(next(line for line in str(error).splitlines() if "Error: " in line))
lab.verdict("L5-12", {"rows by start": given, "failed": failed})

# %% [markdown]
# OPTIMIZE is a commit to the table, so the query has something to read. But the commit marks its
# files as changing no data, so the micro-batch has no rows. The micro-batch's offsets are written
# to the checkpoint before the function runs. Each start therefore repeats the micro-batch and fails
# on it. Set `guarded = True` and run the cell again: now the query continues. In every function of
# this kind that you write, do nothing when the micro-batch is empty.
#
# Topic compaction and table compaction share only a word. The cleaner removes old values, but
# OPTIMIZE keeps every row.

# %% [markdown]
# ## Deeper: Decisions around a feed
#
# **An outbox, or the tables' log?** A feed of tables exposes every column to every reader, and a
# renamed column breaks the readers. With an *outbox*, the application inserts an event into a
# separate table in the same transaction as the change, and the connector reads only that table. An
# outbox takes more code, but it provides a contract.
#
# **From snapshot to stream.** The snapshot is read as of one LSN, and streaming begins at that LSN,
# so nothing is missed in between. A snapshot in pieces (an *incremental* snapshot) runs while
# changes arrive. The connector then drops a snapshot row if a change to the same key arrived in the
# meantime.
#
# **The cleaner's lags.** `min.compaction.lag.ms` keeps recent records from being compacted, so
# readers that are behind by less than that time see every change. `max.compaction.lag.ms` forces a
# pass within a set time, for data that must be removed. `delete.retention.ms` counts from the
# cleaner's first pass over a tombstone.
#
# **Database transactions.** One transaction can change many rows, and their changes can go to
# several topics. Debezium can add the transaction's id and the change's number within the
# transaction to each envelope, and it can write BEGIN and END records to a separate topic. A reader
# that must not show half a transaction has to buffer the transaction's changes until it has all of
# them.
