# %% [markdown]
# # L5 · Changelog and compaction
#
# A database of orders changes, and a connector writes each change to a topic. From that *change
# feed* you keep a table in Delta Lake that has the rows of the database. Then you let the topic be
# compacted, and rebuild the table from what is left.
#
# **You will be able to**
# * read a change feed: envelopes, LSNs, tombstones, a restart that delivers twice;
# * write a MERGE that stays right when a micro-batch is old, or comes again;
# * say what compaction keeps for a rebuild, and what it takes away;
# * name the ways in which a deleted row comes back.
#
# **Time:** {minutes}. It needs Java 17; `make setup` brings PySpark and Delta Lake's jars.

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
# The database runs a morning of statements with a fixed seed. Each change gets a *log sequence
# number* (LSN), a position in its write-ahead log. The connector writes *envelopes*, as Debezium does:
# the row `before` and `after`, the operation `op`, the LSN in `source`. The database also keeps every
# version of its rows: the truth, at each LSN.
#
# After 200 changes the connector crashes and goes on from an older position, so the last 50 changes
# come again.

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
# The key is the order. It decides the partition, so all changes of an order are in one partition, in
# the order of their LSNs, but for the restart. A delete is two records: the envelope with `op: d` for
# readers, and a *tombstone*, a key without a value, for the cleaner. In the panel, open a batch and
# look at its records.
#
# ## One row for each order
#
# In Spark, an upsert is a `MERGE` within `foreachBatch`. Its source is the micro-batch, one row for each
# record. Nothing keeps a micro-batch from having several changes of one order.

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
# A DataFrame has no order, so no row of it is the last one. Where two rows of the source match one row
# of the table, Delta refuses the MERGE. Where they match none (`known = False`), it inserts both, and
# the table has the order twice, without any error. So each micro-batch is reduced to the newest change
# of each order first. But which one is the newest?
#
# The connector stamps each envelope with its own clock, `ts_ms`. Here it restarts after three changes,
# and the last two come again. The micro-batch ends in between.

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
# The table went back in time, and stays there until the next micro-batch comes. A clock says when a
# change was *handled*, and two changes of one millisecond look the same. The LSN says where the
# change stands in the database's log: it never repeats for another change of the row, and it is the
# same when the change comes again.
#
# ## The guard, and what it needs
#
# So the MERGE takes a change only if its LSN is above the LSN of the row: the *guard*. An old micro-batch
# or a repeated one then changes nothing. Deletes are rows of the micro-batch, too. The next cell
# removes a deleted order from the table. Then the connector restarts, and an old update comes again.

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
# A cancelled order is back. The delete had removed the LSN together with the row, so the guard had nothing
# to compare with. With `UPDATE SET *` the row stays, with `deleted` and its LSN; readers of the table
# filter it out. Such rows may go when no old change can come any more, for example after a week.
#
# ## Kept current
#
# The lab's own query does all of this: `changes`, `newest`, `merge`, in `foreachBatch`. Each MERGE makes
# a *version* of the Delta table, and `VERSION AS OF` reads an old one. The next cell compares each
# version with the database as it was at the highest LSN that the version knows.

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
# The history has what each MERGE inserted and updated (`operationMetrics`). A version between is a mix
# of moments: order 40 as of eleven, order 7 as of nine. The database never had such a table. With one
# partition each version is a moment, but for the restart. With several, a table is right about each
# order by itself, and right as a whole when the feed is read to its end. Sums over orders have to wait
# for that, or name an LSN.
#
# ## What the cleaner leaves
#
# Now the topic is compacted: the cleaner keeps the last record of each key and removes older ones,
# except in the active segment (lesson 12). The next cell writes a morning to one partition and builds a
# table from it before and after the cleaner.

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
# The same table, row by row. An envelope carries the whole row, so the last one of a key is enough.
# There are still more records than orders. The active segment is as it was, and a cancelled order has a
# tombstone: its envelope with `op: d` is gone, because the tombstone has the same key and came later.
# So a reader must take a tombstone for a delete. And compaction is not deduplication: in the dirty part,
# a reader sees several values of a key.
#
# What does a rebuild cost as the history grows? Four mornings follow each other, with about as many
# new orders as cancelled ones. After each of them a service reads the topic from its beginning, before
# the cleaner and after it.

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
# As written, a start reads all of history. Compacted, it reads the orders that exist, some tombstones,
# and the active segment: that levels off. The seconds say little here, because at this size most of a
# start is its connection.
#
# ## Away for too long
#
# A tombstone does not stay. After `delete.retention.ms`, a day by default, the next pass of the cleaner
# drops it; here it is 0. A service holds three orders in memory and stops. Order 2 is deleted, and the
# service comes back.

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
# A *ghost*. The service went on at its offset, without an error: gaps are normal in a compacted log. It
# was away for longer than `delete.retention.ms`, and nothing it reads will ever mention order 2. The
# same holds for a Spark query with an old checkpoint. The remedy is a table from the beginning: rebuild
# it beside the old one and exchange them, or let the connector take a new snapshot. Set
# `delete.retention.ms` longer than any outage that you want to survive, and alarm on lag in *time*.
#
# ## Break it: a leader dies, and the table is read on
#
# The query has read the topic once. Then the leader of a partition dies, more changes come, and the
# query goes on from its checkpoint. Below: what an engineer sees of the topic, and of the broker that
# leads next.

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
# The table is right. This connector was started without its old position, so it began with a snapshot:
# `op: r`, each row with the snapshot's LSN, and the guard takes or leaves such a row as any change. What
# a snapshot cannot say is which orders are gone. Below the log stands the code that kept the table.
#
# ## Your turn
#
# Write the two halves of such a query, and a service's start. The judge calls them with changes that
# you have not seen, twice and out of order.
#
# **The newest change of each order.** `records` has `key` and `value` in bytes. Give one row for each
# order: `order_id INT, lsn BIGINT, deleted BOOLEAN, status STRING`, from the change with the highest LSN.
# If there is nothing but a tombstone, the LSN and the status are null. Use explicit schemas.


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
# **A MERGE that may be repeated.** `batch` has these four columns, one row for each order, each with an
# LSN. Merge it into the Delta table at `path`, which has the same columns. Old batches must change
# nothing, and a deleted order stays as a row with `deleted`.


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
# **A dictionary from a compacted topic.** A service starts. Read `topic` from its beginning to its end
# and return a dictionary: the last value of each key, as bytes. The consumer is set to
# `enable.partition.eof`: it reports the end of a partition as a message with an error.


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
# You do not: the feed comes at least once. The MERGE is made so that it may be repeated: one change of
# each key, the newest by LSN, and only if it is newer than the row.
# *Follow-up:* why not by timestamp? (Old changes come again with a new one, and two changes may share
# one.)
#
# * **weak:** "with a checkpoint" · **good:** an idempotent MERGE · **strong:** the LSN, and what happens
#   within a micro-batch and between two
# * **evidence:** [One row for each order](#One-row-for-each-order)
# </details>
#
# <details><summary><b>2. A deleted customer is back in the table. What happened?</b></summary>
#
# Either an old change came again and found no row to be compared with; or the reader was away for
# longer than `delete.retention.ms` and never saw the tombstone; or partitions were added.
# *Follow-up:* how do you find all such rows? (Rebuild beside the table, and compare the keys.)
#
# * **weak:** "a bug in the connector" · **good:** one of the ways · **strong:** all of them, each with
#   its remedy
# * **evidence:** [The guard](#The-guard,-and-what-it-needs) and [Away for too long](#Away-for-too-long)
# </details>
#
# <details><summary><b>3. Does a compacted topic have one record for each key?</b></summary>
#
# No. At least the last one is kept; the active segment and the dirty part have older ones. A reader
# takes the last value and treats a tombstone as a delete.
# *Follow-up:* when is the last value not enough? (For a history, a sum of changes, an audit.)
#
# * **weak:** "yes" · **good:** dirty part · **strong:** says what a consumer must do, and what it
#   can no longer compute
# * **evidence:** [What the cleaner leaves](#What-the-cleaner-leaves)
# </details>
#
# <details><summary><b>4. Why does the connector write a tombstone after the delete?</b></summary>
#
# The envelope with `op: d` is a value, and the cleaner would keep it as the last one. A key without a
# value lets the cleaner remove the key at last.
# *Follow-up:* a column holds personal data. When is the last byte gone? (After a pass that removes the
# older records; the values may be in `before`, too.)
#
# * **weak:** "by convention" · **good:** for the cleaner · **strong:** the envelope goes before the
#   tombstone does, so readers must understand both
# * **evidence:** [What the cleaner leaves](#What-the-cleaner-leaves)
# </details>
#
# <details><summary><b>5. May this topic get more partitions?</b></summary>
#
# Not this topic: keys move, and the old partition keeps their last values for good. Make a new topic
# with more partitions and let the connector take a snapshot, or copy it key by key.
# *Follow-up:* does the LSN guard help? (With the order, as long as tombstones are there.)
#
# * **weak:** "yes, any time" · **good:** keys move · **strong:** old values and tombstones are in
#   different partitions, and each is cleaned by itself
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
# Two things. Broker 101 is down, or behind: it leads no partition 0 and is not in sync. And the policy is
# `delete` with a week of retention: an order without a change for a week is not in the topic any
# more, so a rebuild from it gives only a part of the table.
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
# A key's partition is its hash modulo the number of partitions. When a topic gets more, most keys move,
# and their records do not. A service with an LSN guard reads everything.

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
# A reader without LSNs that comes to the old partition last has the old status. The LSN mends that. It
# cannot mend the delete: the tombstone went to a new partition, and the cleaner dropped it there in time.
# The order's insert is in the old partition, where no later record has its key, so it stays for good.
# The order comes back with each rebuild. To get more partitions, make a new topic and fill it from a
# snapshot.
#
# Compaction also refuses records without a key (lesson 12, *Both policies*): there is nothing to compare.

# %% [markdown]
# ## Deeper: The same micro-batch again
#
# As in lab L1, the next cell removes the note that the last micro-batch was done. Spark runs it again,
# and `operationMetrics` says what the second MERGE changed.

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
# The second MERGE is a version of the table that changes no row. A sink that counts, or sends e-mail,
# would have done it twice (lab L2).

# %% [markdown]
# ## Deeper: A column that came late
#
# Half-way through the morning the database's table gets a column, `priority`. The query learns of it
# later. Until then its schema drops the new field without a word. `MERGE WITH SCHEMA EVOLUTION` then
# adds the column to the Delta table.

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
# The rows that changed while the query did not know the column lack it, until they change again. The
# topic has it all the time: each envelope is the whole row. So after a change of schema, rebuild. That is
# what a compacted topic is for.

# %% [markdown]
# ## Deeper: Every version of a row
#
# From the same feed you can build a table that forgets nothing: each change is a row that is valid from
# its LSN to the next one, a *slowly changing dimension of type 2*. The feed has to be whole, so it is
# read here as it was written, without compaction.

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
# Such a table answers how long orders wait to be loaded. A compacted topic cannot: it has the last
# state. Keep the feed in a topic with `cleanup.policy=delete`, or append it to a bronze table (lab L1),
# and let the compacted topic serve those who need the present.

# %% [markdown]
# ## Deeper: Break it: the table is compacted, too
#
# Each micro-batch leaves small files in a Delta table. OPTIMIZE writes the rows of many files into one.
# Below, four commits fill a table of changes, and a query follows it, as gold follows silver in lab L1.
# Its function asks for the smallest LSN of the micro-batch, and trusts that there is one. The query starts
# once before OPTIMIZE and twice after it; nothing is written to the table in between.

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
# OPTIMIZE is a commit of the table, so the query has something to read. The commit says of its files that they
# change no data, so the micro-batch has no rows. Its offsets are in the checkpoint before the function runs.
# Each start therefore repeats it, and each start dies at it. Set `guarded = True` and run the cell again:
# now the query goes on. An empty micro-batch is nothing to do, in every function that you write.
#
# Compaction of a topic and compaction of a table share a word only. The cleaner takes old values away;
# OPTIMIZE keeps every row.

# %% [markdown]
# ## Deeper: Decisions around a feed
#
# **Outbox or the log of the tables?** A feed of tables shows every column to every reader, and a rename
# breaks them. With an *outbox*, the application inserts an event into a table of its own within the same
# transaction, and the connector reads only that one. It costs code, and gives a contract.
#
# **From snapshot to stream.** The snapshot is read as of one LSN, and streaming begins at that LSN, so
# nothing is missed between. A snapshot in pieces (*incremental*) runs while changes come; the connector
# then drops a read row if a change of its key came in the meantime.
#
# **Lags of the cleaner.** `min.compaction.lag.ms` keeps young records from being compacted: readers that
# are behind by less than that see every change. `max.compaction.lag.ms` forces a pass within a time, for
# data that must go. `delete.retention.ms` counts from the first pass over a tombstone.
#
# **Transactions of the database.** One transaction changes many rows, in several topics. Debezium can
# add its id and the number of its changes to each envelope, and a topic with BEGIN and END. A reader
# that must not show half of a transaction has to buffer until it has all of them.
