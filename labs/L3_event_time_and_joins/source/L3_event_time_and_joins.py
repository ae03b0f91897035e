# %% [markdown]
# # L3 · Event time and joins
#
# A truck leaves a tunnel and sends what it measured inside. Some of the data is 24 minutes old.
# Does it still count? You run windows, sessions and joins over such a stream, and see in each
# micro-batch what Spark keeps, what it writes, and what it drops.
#
# **You will be able to**
# * tell from the watermark which late records count, and when a result comes out;
# * choose between append and update mode, and between tumbling, hopping and session windows;
# * find the clock that moves a watermark, or the silent input that holds it back;
# * join two streams with state that stays small, and look inside that state.
#
# **Time:** {minutes}. The lab needs Java 17 and PySpark; the first cell takes a few seconds,
# because Spark starts a JVM.

# %% doorway tags=["setup"]
from pyspark.sql import functions as F

from kit import lab
from kit.drawings.chart import Chart
from kit.spark import session, temporary
from labs.L3_event_time_and_joins import arrivals, judged, progress, staircase
from labs.L3_event_time_and_joins.arrivals import clock, in_order, on_time, tunnel

eng = lab.engine()
spark = session()
spark.conf.set("spark.sql.shuffle.partitions", 1)  # some dozen records need no more

# %% [markdown]
# ## Two clocks
#
# A position carries the time at which the truck measured it: its *event time*. Here, the Kafka
# record's `timestamp` is the time of arrival. The topic has one partition, and
# `maxOffsetsPerTrigger` sets the size of a micro-batch, so you know which records Spark sees
# together. `run` reads everything in the topic, micro-batch by micro-batch, and keeps what each one
# wrote.


# %% read-and-run tags=["setup"]
def read(cluster, topic, per_batch):
    """The topic as a stream, `per_batch` records to a micro-batch."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", cluster.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_batch)
        .load()
    )
    value = F.from_json(F.col("value").cast("string"), "key STRING, event_time BIGINT")
    event_time = F.timestamp_millis("value.event_time").alias("event_time")
    return records.select(value.alias("value"), "timestamp").select(
        "value.key", event_time, "timestamp"
    )


def run(frame, mode, checkpoint=""):
    """Runs a query over all that is there; what each micro-batch wrote, and its progress."""
    written, checkpoint = [], checkpoint or str(temporary("checkpoint"))
    query = (
        frame.writeStream.foreachBatch(
            lambda rows, number: written.extend((number, row) for row in rows.collect())
        )
        .outputMode(mode)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(90)
    return progress.Run(written, progress.batches(query), checkpoint)


# %% [markdown]
# ## The tunnel
#
# truck-07 enters a tunnel after 8:02. Inside, it measures its position every two minutes, from 8:04
# to 8:26, and keeps the results. At 8:28 it leaves the tunnel and sends all twelve results.
# truck-01 stays outside, so each of its positions arrives at once. Keep the panel in view: the run
# below writes this story to the topic.
#
# The query counts each truck's positions in ten-minute windows: 8:00 to 8:10, 8:10 to 8:20, and so
# on. Its *watermark* has a delay of ten minutes: it is ten minutes behind the newest event time
# that Spark has seen.

# %% panel tags=["live"]
outside = on_time("truck-01", [*range(12, 30), 31, 36, 41, 42])
inside = tunnel("truck-07", range(4, 28, 2), leaves=28)
story = in_order(on_time("truck-07", [0, 2]), inside, outside)
arrivals.write(eng, "tunnel", story)
lab.panel(eng, "tunnel")

# %% L3-1 tags=["stub", "predict"]
lab.predict("L3-1")

# %% L3-1 tags=["solution", "predict"]
lab.predict("L3-1", 9)

# %% tunnel-positions tags=["both"]
delay, window, leaves = "10 minutes", "10 minutes", 28

inside = tunnel("truck-07", range(4, 28, 2), leaves)
outside = on_time("truck-01", [*range(12, 30), 31, 36, 41, 42])
story = in_order(on_time("truck-07", [0, 2]), inside, outside)
done = {}


def through_the_tunnel(cluster):
    arrivals.write(cluster, "tunnel", story)
    positions = read(cluster, "tunnel", per_batch=4).withWatermark("event_time", delay)
    counts = positions.groupBy(F.window("event_time", window), "key").count()
    done[cluster.name] = run(counts, "append")
    drawn = staircase.Staircase("Which positions count", story, done[cluster.name], "truck-07", 10)
    return {
        "sent from the tunnel": len(inside),
        "counted": len(inside) - len(drawn.dropped),
        "dropped": [clock(story[offset].event) for offset in sorted(drawn.dropped)],
        "at most ten minutes late": sum(leaves - each.event <= 10 for each in inside),
        "dropped, as Spark counts": done[cluster.name].dropped,
    }


outcome = lab.both(through_the_tunnel)
display(outcome)
lab.verdict("L3-1", outcome)

# %% [markdown]
# Spark does not check how late a position is. It checks whether the position's *window* is still
# open, and a window is open until the watermark reaches its end. So the position from 8:10 counts,
# even though it is eighteen minutes late, but the one from 8:08 does not. Spark's own counter is
# smaller than the number of lost positions: within a micro-batch, Spark first combines the rows
# that share a window and a truck, and then counts the combined rows. Use the counter as an alarm,
# not as a count.

# %% staircase tags=["read"]
staircase.Staircase("Which positions count", story, done[eng.name], "truck-07", 10)

# %% [markdown]
# Read the picture from left to right, in the order in which Spark reads the records. The green
# stairs show the watermark that each micro-batch reports. The watermark moves when a micro-batch
# ends. The gray area shows the windows that are closed to late records. It follows the stairs *one
# micro-batch later*, and always moves by whole windows.
#
# Both clocks are in the record. Here, `CreateTime` is the time of arrival, and `event_time`, in the
# value, is the time on the truck's clock.

# %% two-clocks tags=["live"]
display(
    lab.tool(
        eng, "kafka-console-consumer", "--topic", "tunnel", "--partition", "0", "--offset", "18",
        "--max-messages", "3", "--property", "print.timestamp=true", "--timeout-ms", "10000",
    )
)  # fmt: skip
lab.broker_log(eng, eng.leader("tunnel"), "tunnel-0")

# %% [markdown]
# ## When does a window come out?
#
# One truck sends six positions. In order of arrival, they were measured at 8:02, 8:07, 8:12, 8:21,
# 8:05 and 8:30. Each position gets its own micro-batch, so a micro-batch's number is its record's
# offset. The windows and the delay are again ten minutes, and the query runs in append mode.

# %% L3-2 tags=["stub", "predict"]
lab.predict("L3-2")

# %% L3-2 tags=["solution", "predict"]
lab.predict("L3-2", 4)

# %% window-comes-out tags=["live"]
minutes = [2, 7, 12, 21, 5, 30]
mode, per_batch = "append", 1

truck = [arrivals.Arrival("truck-07", minute, n) for n, minute in enumerate(minutes)]
arrivals.write(eng, "one-truck", truck)
positions = read(eng, "one-truck", per_batch).withWatermark("event_time", "10 minutes")
counts = positions.groupBy(F.window("event_time", "10 minutes")).count()
windows = run(counts, mode)
first = [
    (number, row["count"])
    for number, row in windows.written
    if arrivals.minute_of(row["window"]["start"]) == 0
]
seen = {"micro-batch": first[0][0], "count": first[0][1], "rows about 8:00 to 8:10": len(first)}
display(windows.table())
print(seen)
lab.verdict("L3-2", seen)

# %% [markdown]
# The position from 8:12 is past the window's end, but moves the watermark only to 8:02. The
# position from 8:21 moves the watermark to 8:11, but a micro-batch works with the watermark that it
# *began* with. So the window comes out one micro-batch later. The position from 8:05 is in that
# micro-batch, and it still counts: when Spark decides which records to drop, it uses the previous
# micro-batch's watermark. (It has done so since Spark 3.4, so that several stateful steps can
# follow one another.) If no new records arrive, Spark runs an empty micro-batch to act on the new
# watermark.
#
# ### Update mode
#
# In append mode a row is final, so it waits for the watermark. In *update* mode a micro-batch
# writes each window that it changed. Here are the same six positions, now two per micro-batch.

# %% L3-3 tags=["stub", "predict"]
lab.predict("L3-3")

# %% L3-3 tags=["solution", "predict"]
lab.predict("L3-3", 2)

# %% update-mode tags=["live"]
mode, per_batch = "update", 2

positions = read(eng, "one-truck", per_batch).withWatermark("event_time", "10 minutes")
counts = positions.groupBy(F.window("event_time", "10 minutes")).count()
updated = run(counts, mode)
values = [row["count"] for row in updated.rows if arrivals.minute_of(row["window"]["start"]) == 0]
seen = {"mode": mode, "rows": len(values), "values": values, "records": 3}
display(updated.table())
print(seen)
lab.verdict("L3-3", seen)

# %% [markdown]
# Update mode writes early and repeats itself: a sink must replace the window's row (a MERGE, an
# upsert, a compacted topic), or the window is in the output more than once. Append mode writes
# late, but only once: a file or a plain topic is enough. Both need the watermark to forget a
# window.
#
# ### The state, opened
#
# What the query still knows is in its checkpoint. Spark can read this state like a table. The cell
# shows first the operators that have state, and then each row of the state.

# %% open-state tags=["live"]
spark.read.format("state-metadata").load(updated.checkpoint).select(
    "operatorName", "stateStoreName", "numPartitions", "minBatchId", "maxBatchId"
).show(truncate=False)
kept = spark.read.format("statestore").load(updated.checkpoint)
assert kept.count() == updated.batches[-1].state_rows
kept.selectExpr("key.window.start", "key.window.end", "value.*").show(truncate=False)

# %% [markdown]
# The closed windows are gone, so there is nothing to add late records to. An aggregation's state
# grows with the number of open windows and keys, not with the length of the stream.
#
# ## A wrong clock
#
# truck-01 sends a position every minute from 8:00 to 8:15, and each micro-batch has four records.
# The fourth record comes from truck-13, a day ahead; truck-02 sends the last, at 8:40.

# %% L3-5 tags=["stub", "predict"]
lab.predict("L3-5")

# %% L3-5 tags=["solution", "predict"]
lab.predict("L3-5", 7)

# %% a-clock-a-day-ahead tags=["live"]
ahead_minutes, arrives = 1440, 2
rules = {"every clock": "true", "no future": "event_time <= timestamp + INTERVAL 1 MINUTE"}

wrong = arrivals.Arrival("truck-13", arrives + ahead_minutes, arrives)
others = on_time("truck-01", range(16)), on_time("truck-02", [40])
arrivals.write(eng, "clocks", in_order(*others, [wrong]))
seen = {"sent": 16}
for name, rule in rules.items():
    positions = read(eng, "clocks", 4).where(rule).withWatermark("event_time", "10 minutes")
    counts = run(positions.groupBy(F.window("event_time", "10 minutes"), "key").count(), "append")
    rows = staircase.rows_of(counts, "truck-01")
    seen[f"counted, {name}"] = sum(row["count"] for row in rows)
    seen[f"watermark, {name}"] = clock(counts.batches[-1].watermark)
print(seen)
lab.verdict("L3-5", seen)

# %% [markdown]
# One record moved the watermark ahead by a day, and a watermark does not move back, so all the
# other trucks' records are late until tomorrow. Micro-batch 1 still counts; after it, with a lag of
# zero, the query writes nothing. The remedy is a rule *before* the watermark: no event may be later
# than its arrival. After `withWatermark`, the same rule comes too late, because by then the record
# has already moved the watermark (exercise L3-11). Kafka has its own guard for the record's
# timestamp, `message.timestamp.after.max.ms` (an hour by default), but this guard cannot see a
# field in the value.
#
# ## Orders and their payments
#
# One order arrives every minute. Four of every five are paid two minutes later, but the fifth is
# never paid. Both topics are read as streams, and both have a watermark delay of two minutes.


# %% orders-and-payments tags=["setup"]
arrivals.write(eng, "orders", arrivals.orders(40))
arrivals.write(eng, "payments", arrivals.payments(40, after=2))


def orders_and_payments():
    orders = read(eng, "orders", 5).selectExpr("key AS order_id", "event_time AS ordered_at")
    payments = read(eng, "payments", 4).selectExpr("key AS paid_order", "event_time AS paid_at")
    return (
        orders.withWatermark("ordered_at", "2 minutes"),
        payments.withWatermark("paid_at", "2 minutes"),
    )


# %% [markdown]
# The run joins these streams in two ways. One join compares only the order ids; the other also
# requires that the payment come *within five minutes* of the order.

# %% L3-7 tags=["stub", "predict"]
lab.predict("L3-7")

# %% L3-7 tags=["solution", "predict"]
lab.predict("L3-7", "b")

# %% state-of-a-join tags=["live"]
same, within = (
    "order_id = paid_order",
    "paid_at BETWEEN ordered_at AND ordered_at + INTERVAL 5 MINUTES",
)

orders, payments = orders_and_payments()
without = run(orders.join(payments, F.expr(same)), "append")
ranged = run(orders.join(payments, F.expr(f"{same} AND {within}")), "append")
seen = {
    "pairs without a range": len(without.rows),
    "pairs with a range": len(ranged.rows),
    "records": 40 + 32,
    "state without a range": without.batches[-1].state_rows,
    "state with a range": ranged.batches[-1].state_rows,
    "most with a range": max(batch.state_rows for batch in ranged.batches),
}
display(
    Chart(
        "Rows of state after each micro-batch",
        {"order id alone": without.state_rows(), "within five minutes": ranged.state_rows()},
        x="micro-batch",
        y="rows of state",
    )
)
print(seen)
lab.verdict("L3-7", seen)

# %% [markdown]
# With a watermark alone, Spark can forget nothing: a payment for the first order may still arrive,
# perhaps next year. Finding a pair does not help, because the same id may appear again. Only the
# range determines when an order is too old for any payment to match. Then the order's row leaves
# the state, and the state spans only the range, the delay and a micro-batch or two. Spark refuses
# an *outer* join without a range: it could never decide that no payment will come.
#
# ## Your turn
#
# You write three pieces of a pipeline; a fourth, trips, is under *Deeper: Sessions*. The judge
# sends each piece a stream that you have not seen. The stream is a few micro-batches long and
# contains late records.
#
# **Counts that are final.** Write the whole query: count `positions` (`truck`, `event_time`) by
# truck in five-minute windows. A position up to ten minutes late counts, and each window is written
# once, when it is over. Pass each micro-batch to `write(rows, number)`, with the columns that
# `count()` returns. The query reads everything that is there and then ends. Return the query.


# %% L3-9 tags=["stub"]
def start(positions, write, checkpoint):
    """The query, started."""


# %% L3-9 tags=["solution"]
def start(positions, write, checkpoint):
    """The query, started."""
    counts = (
        positions.withWatermark("event_time", "10 minutes")
        .groupBy("truck", F.window("event_time", "5 minutes"))
        .count()
    )
    return (
        counts.writeStream.foreachBatch(write)
        .outputMode("append")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )


# %% L3-9 tags=["check"]
lab.check("L3-9", judged.counts(start))

# %% [markdown]
# **Clocks from the future.** `arrived` has `truck`, `event_time` and `timestamp`, the time of
# arrival. Give it a ten-minute watermark that no wrong clock can move. A clock may be up to one
# minute ahead. Keep late records.


# %% L3-11 tags=["stub"]
def trusted(arrived):
    """The records to believe, with a watermark."""


# %% L3-11 tags=["solution"]
def trusted(arrived):
    """The records to believe, with a watermark."""
    believed = arrived.where("event_time <= timestamp + INTERVAL 1 MINUTE")
    return believed.withWatermark("event_time", "10 minutes")


# %% L3-11 tags=["check"]
lab.check("L3-11", judged.trusted(trusted))

# %% [markdown]
# **Paid in time, or not.** `orders` has `order_id` and `ordered_at`; `payments` has `order_id` and
# `paid_at`. Return each order once, with `order_id`, `ordered_at` and `paid_at`. A payment is in
# time if its `paid_at` is 0 to 30 minutes after `ordered_at`. If an order has no such payment,
# `paid_at` is null. Records may be up to ten minutes late, and the state must stay small.


# %% L3-12 tags=["stub"]
def paid(orders, payments):
    """A stream with order_id, ordered_at and paid_at."""


# %% L3-12 tags=["solution"]
def paid(orders, payments):
    """A stream with order_id, ordered_at and paid_at."""
    o = orders.withWatermark("ordered_at", "10 minutes").alias("o")
    p = payments.withWatermark("paid_at", "10 minutes").alias("p")
    in_time = F.expr(
        "o.order_id = p.order_id "
        "AND paid_at BETWEEN ordered_at AND ordered_at + INTERVAL 30 MINUTES"
    )
    return o.join(p, in_time, "leftOuter").select("o.order_id", "ordered_at", "paid_at")


# %% L3-12 tags=["check"]
lab.check("L3-12", judged.paid(paid))

# %% [markdown]
# ## Interview corner
#
# Answer aloud before you open an answer.
#
# <details><summary><b>1. What is a watermark?</b></summary>
#
# The newest event time seen, minus a delay that you choose. It is a promise about the data: nothing
# older matters anymore. So a window can close, and its state can go.
# *Follow-up:* is a record that is later than the delay always dropped? (No. It is dropped if its
# window is closed according to the previous micro-batch's watermark.)
#
# * **weak:** "it drops late data" · **good:** newest time minus delay, closes windows · **strong:**
#   ties it to state and output mode, and knows when in a micro-batch it moves
# * **evidence:** [The tunnel](#The-tunnel)
# </details>
#
# <details><summary><b>2. Append or update?</b></summary>
#
# Append writes a window once, when the window is over. The result is late, but it suits sinks that
# cannot change a row. Update writes each change at once. The result is early, but the sink has to
# replace rows.
# *Follow-up:* a dashboard must show the current window, and files must be final. What do you build?
# (Two queries, or one that upserts and a reader that uses only closed windows.)
#
# * **weak:** "append is faster" · **good:** once and late, often and early · **strong:** argues
#   from the sink
# * **evidence:** [When does a window come out?](#When-does-a-window-come-out?)
# </details>
#
# <details><summary><b>3. The query runs, its lag is zero, and it writes nothing. Why?</b></summary>
#
# Check the watermark in the query's progress. If it does not move, an input is silent or far
# behind. If it is far ahead, a wrong clock moved it, and every record is dropped.
# *Follow-up:* how do you recover from the second case? (Repair the rule and start before the bad
# record with a new checkpoint, because the old checkpoint keeps the wrong watermark.)
#
# * **weak:** "restart it" · **good:** progress, watermark, silent input · **strong:** also the
#   clock from the future, and what the checkpoint remembers
# * **evidence:** [A wrong clock](#A-wrong-clock), [Two inputs](#Deeper:-Two-inputs)
# </details>
#
# <details><summary><b>4. The state of a stream-stream join grows. What is missing?</b></summary>
#
# Watermarks on both sides *and* a time range in the condition. Without the range, no row is ever
# too old to find a partner.
# *Follow-up:* what about an outer join? (Spark refuses to run one without a watermark and a range:
# it could never decide that no partner will come.)
#
# * **weak:** "more memory" · **good:** watermark and range · **strong:** computes the state: the
#   rate times the sum of range, delay and micro-batch
# * **evidence:** [Orders and their payments](#Orders-and-their-payments)
# </details>
#
# <details><summary><b>5. How long should the delay be?</b></summary>
#
# Measure how late records are, and weigh the cost of a lost record against the cost of waiting and
# of state. Records later than the delay go to a correction path: raw data is kept, and a batch job
# recounts it.
# *Follow-up:* how do you see that it was too short? (Spark's counter of dropped rows is above zero;
# the difference between bronze and the counts shows how many records were lost.)
#
# * **weak:** "an hour, to be safe" · **good:** measures lateness · **strong:** names the cost on
#   both sides and what happens to dropped records
# * **evidence:** [How long should the delay be?](#Deeper:-How-long-should-the-delay-be?)
# </details>
#
# **Read this progress: what happened?**
# ```
# "numInputRows" : 4200,
# "eventTime" : { "max" : "2026-03-02T09:14:07.000Z", "watermark" : "2027-03-02T08:49:00.000Z" },
# "stateOperators" : [ { "numRowsTotal" : 1, "numRowsDroppedByWatermark" : 1387 } ]
# ```
# <details><summary><b>An answer</b></summary>
#
# This micro-batch's newest event time is from today, but the watermark is a year ahead: a clock
# with the wrong year got through in an earlier micro-batch. All 4,200 records were dropped, but the
# counter shows 1,387 because it counts groups of records.
# </details>
#
# ## Quiz

# %% L3-13 tags=["stub", "predict", "quiz"]
lab.quiz("L3-13")

# %% L3-13 tags=["solution", "predict", "quiz"]
lab.quiz("L3-13", "a", "c")

# %% [markdown]
# ## Deeper: Sessions
#
# A pause of more than five minutes ends a *trip*. truck-07 sends positions from 8:00, 8:03, 8:11
# and 8:13. Then a position from 8:07 arrives late, while the watermark is still before 8:00. At the
# end, a position from 8:40 moves the watermark ahead.

# %% L3-4 tags=["stub", "predict"]
lab.predict("L3-4")

# %% L3-4 tags=["solution", "predict"]
lab.predict("L3-4", 1)

# %% a-late-position-joins-two-trips tags=["live"]
pause = "5 minutes"
minutes = [0, 3, 11, 13, 7, 40]

truck = [arrivals.Arrival("truck-07", minute, n) for n, minute in enumerate(minutes)]
arrivals.write(eng, "trips", truck)
positions = read(eng, "trips", per_batch=2).withWatermark("event_time", "20 minutes")
trip = F.session_window("event_time", pause)
trips = run(positions.groupBy("key", trip).agg(F.count("*").alias("positions")), "append")
seen = {
    "trips": len(trips.rows),
    "from": [clock(arrivals.minute_of(row["session_window"]["start"])) for row in trips.rows],
    "positions": [row["positions"] for row in trips.rows],
}
display(trips.table())
print(seen)
lab.verdict("L3-4", seen)

# %% [markdown]
# A session's end is not known in advance. At first, each position is a five-minute session, and
# sessions that touch become one. The late position touched both trips, so they were really one trip
# with a gap in the data. If append mode had already written the first trip, it could not have taken
# the row back: the watermark is the promise that no such position counts anymore. A *hopping*
# window is different: `F.window("event_time", "10 minutes", "5 minutes")` counts each position in
# two windows.
#
# **Trips.** A pause of more than five minutes ends a truck's trip. Return one row for each trip,
# once the trip is over: `truck`, `start` (its first position), `last` (its last position) and
# `positions` (their number). A position up to ten minutes late still belongs to its trip.


# %% L3-10 tags=["stub"]
def trips(positions):
    """A stream with truck, start, last and positions."""


# %% L3-10 tags=["solution"]
def trips(positions):
    """A stream with truck, start, last and positions."""
    trip = F.session_window("event_time", "5 minutes")
    found = (
        positions.withWatermark("event_time", "10 minutes")
        .groupBy("truck", trip)
        .agg(F.max("event_time").alias("last"), F.count("*").alias("positions"))
    )
    return found.selectExpr("truck", "session_window.start AS start", "last", "positions")


# %% L3-10 tags=["check"]
lab.check("L3-10", judged.trips(trips))

# %% [markdown]
# ## Deeper: Two inputs
#
# Positions arrive from 8:00 to 8:40. Orders arrive from 8:00 to 8:05 and then stop. One query in
# append mode counts both together in ten-minute windows. Each input has a ten-minute watermark.

# %% L3-6 tags=["stub", "predict"]
lab.predict("L3-6")

# %% L3-6 tags=["solution", "predict"]
lab.predict("L3-6", 0)

# %% a-silent-input tags=["live"]
policy = "min"  # or "max"

arrivals.write(eng, "moves", on_time("truck-01", range(0, 41, 4)))
arrivals.write(eng, "quiet", on_time("order-1", [0, 5]))
spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", policy)
moves = read(eng, "moves", 4).withWatermark("event_time", "10 minutes")
quiet = read(eng, "quiet", 4).withWatermark("event_time", "10 minutes")
counts = moves.union(quiet).groupBy(F.window("event_time", "10 minutes")).count()
together = run(counts, "append")
spark.conf.unset("spark.sql.streaming.multipleWatermarkPolicy")
last = together.batches[-1]
seen = {
    "policy": policy,
    "windows written": len(together.rows),
    "watermark": clock(last.watermark),
    "windows in the state": last.state_rows,
}
display(together.table())
print(seen)
lab.verdict("L3-6", seen)

# %% [markdown]
# With several inputs, the query's watermark is the *smallest* of the inputs' watermarks. The silent
# topic holds it at 7:55, so no window comes out and the state grows. With `max`, the fast input
# decides, and the slow one loses its records. A third option is to keep a quiet input active: its
# sender writes a heartbeat now and then. Within one input, Spark uses the newest event time in
# *all* the partitions, so a partition that falls behind holds nothing back, but its records are
# late.

# %% [markdown]
# ## Deeper: The order that is never paid
#
# Now the same join runs as a *left outer* join: an unpaid order comes out as well, with null for
# its payment. The order from 8:10 is never paid. Each micro-batch reads five orders: those from
# 8:00 to 8:04 are in micro-batch 0, and so on.

# %% L3-8 tags=["stub", "predict"]
lab.predict("L3-8")

# %% L3-8 tags=["solution", "predict"]
lab.predict("L3-8", 4)

# %% the-null-row tags=["live"]
longest, unpaid = 5, "order-10"

orders, payments = orders_and_payments()
condition = (
    "order_id = paid_order AND paid_at BETWEEN ordered_at "
    f"AND ordered_at + INTERVAL {longest} MINUTES"
)
outer = run(orders.join(payments, F.expr(condition), "leftOuter"), "append")
(number,) = (number for number, row in outer.written if row["order_id"] == unpaid)
paid = next(number for number, row in outer.written if row["order_id"] == "order-11")
seen = {
    "micro-batch of the null row": number,
    "its watermark": clock(outer.batches[number].watermark),
    "micro-batch of the next order, paid": paid,
}
display(outer.table())
print(seen)
lab.verdict("L3-8", seen)

# %% [markdown]
# A pair comes out at once. A null row is a statement about what will *not* come, so it waits for
# the range, the delay, and one more micro-batch. Again, the smaller of the two inputs' watermarks
# decides, so silence on the payments topic holds back all the null rows.

# %% [markdown]
# ## Deeper: State of your own
#
# You want an alert when a truck has sent nothing for five minutes, and another when the truck comes
# back. No window does both. `transformWithState` gives each truck a *state* that you define and
# *timers* that follow event time: a timer fires when the watermark reaches the timer's time. The
# state is kept in RocksDB, on the machine that processes the truck's records.

# %% a-silent-truck tags=["live"]
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

pause_ms = 5 * 60_000


class Silence(StatefulProcessor):
    """Says when a truck falls silent, and when it is back."""

    def init(self, handle):
        self.handle = handle
        self.last = handle.getValueState("last", "at_ms BIGINT, silent BOOLEAN")

    def handleInputRows(self, key, rows, timerValues):
        at_ms, silent = self.last.get() if self.last.exists() else (0, False)
        newest = max(row.at_ms for row in rows)
        if silent and newest > at_ms:
            yield Row(key=key[0], what="is back", at_ms=newest)
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)
        self.last.update((max(at_ms, newest), False))
        self.handle.registerTimer(max(at_ms, newest) + pause_ms)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        at_ms, _ = self.last.get()
        self.last.update((at_ms, True))
        yield Row(key=key[0], what="is silent", at_ms=at_ms)


# %% alerts tags=["live"]
silent_truck = on_time("truck-07", [0, 1, 2, 20, 21])
arrivals.write(eng, "pulse", in_order(silent_truck, on_time("truck-01", range(0, 30, 2))))
rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark.conf.set("spark.sql.streaming.stateStore.providerClass", rocks)
pulse = read(eng, "pulse", 4).withWatermark("event_time", "1 minute")
pulse = pulse.select("key", F.unix_millis("event_time").alias("at_ms"), "event_time")
alerts = run(
    pulse.groupBy("key").transformWithState(
        Silence(), "key STRING, what STRING, at_ms BIGINT", "Append", "EventTime"
    ),
    "append",
)
spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
for number, row in alerts.written:
    minute = clock(arrivals.minute_of(row["at_ms"]))
    print(f"micro-batch {number}: {row['key']} {row['what']}, {minute}")
alerts.table()

# %% [markdown]
# Each truck has one row of state and one timer. Both alerts come late, by the watermark's delay
# plus a micro-batch: an alert about silence claims that *nothing came*, and until the watermark has
# passed that time, something still may come. With a processing-time timer instead, the alert is on
# time, but it is sometimes wrong.

# %% [markdown]
# ## Deeper: How long should the delay be?
#
# The pipeline lab's fleet sends a morning's records, some of them late, and the generator knows the
# truth. Here the good positions are counted by truck and minute with three delays. How many
# positions does each delay lose, and how much state does it keep?

# %% price-of-a-delay tags=["live"]
from labs.fleet.records import POSITIONS, Fleet, records
from labs.fleet.truth import Tally
from labs.fleet.writer import write

delays = (0, 10, 20)  # minutes

tally = Tally()
eng.create_topic(POSITIONS, config={"retention.ms": -1})
fleet = Fleet(1200, trucks=8, per_second=1, duplicate=0, malformed=0, late=0.1, time_as_text=0)
write(eng, (r for r in tally.counting(records(fleet)) if r.topic == POSITIONS))
truth = sum(minute.positions for minute in tally.truth().minutes.values())
lost, state = [], []
for delay in delays:
    arrived = spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
    arrived = arrived.option("subscribe", POSITIONS).option("startingOffsets", "earliest")
    arrived = arrived.option("maxOffsetsPerTrigger", 220).load()
    value = F.from_json(F.col("value").cast("string"), "truck STRING, event_time BIGINT")
    times = arrived.select(value.alias("value")).select(
        "value.truck", F.timestamp_millis("value.event_time").alias("event_time")
    )
    known = times.withWatermark("event_time", f"{delay} minutes")
    counts = run(known.groupBy("truck", F.window("event_time", "1 minute")).count(), "update")
    newest = {(row["truck"], row["window"]["start"]): row["count"] for row in counts.rows}
    lost.append((delay, truth - sum(newest.values())))
    state.append((delay, max(batch.state_rows for batch in counts.batches)))
assert lost[-1][1] == 0, "15 minutes is the longest way"
Chart(
    f"What a delay costs: {truth:,} positions, one in ten late",
    {"positions lost": lost, "rows of state, at most": state},
    x="delay of the watermark, in minutes",
)

# %% [markdown]
# The fleet's late positions are up to fifteen minutes late. A longer delay loses none, but it keeps
# more windows in the state. Shorter delays lose fewer positions here than you may expect: a
# micro-batch here covers about four minutes, and late records get one or two micro-batches as a
# bonus. Never rely on the bonus: with a shorter trigger, it is gone.
#
# Dropped records are not gone: bronze still has them. Three policies are common: ignore them and
# watch the counter; write late records to their own topic, using a rule on
# `timestamp - event_time`; or recount from bronze each night and replace the day's windows.

# %% [markdown]
# ## Deeper: A restart
#
# The watermark is in the checkpoint. A query ends with its watermark at 8:20. A day later it starts
# again, and the first records that it reads are from 8:05 and 8:25.

# %% a-restart tags=["live"]
early, later = [0, 30], [5, 25, 50]


def stream_of_counts():
    positions = read(eng, "restart", 10).withWatermark("event_time", "10 minutes")
    return positions.groupBy(F.window("event_time", "10 minutes")).count()


arrivals.write(eng, "restart", on_time("truck-01", early))
before = run(stream_of_counts(), "append")
arrivals.append(eng, "restart", on_time("truck-01", later))
after = run(stream_of_counts(), "append", before.checkpoint)
assert after.dropped == 1
assert len(after.rows) == 2
display(before.table(), after.table())

# %% [markdown]
# The record from 8:05 is dropped at once: the query remembers its watermark, and the window's state
# is gone. So a restart changes no result. To count old records again, *reprocess* them: start a new
# query that has a new checkpoint and its own table, and that reads the topic from the earliest
# offset. When the query has caught up, switch the readers over to the new table. Do the same when
# you change the delay, the window or the keys: the old state does not fit the new query.

# %% [markdown]
# ## Deeper: A partition that falls behind
#
# A topic has two partitions. truck-01 is in partition 0, and each of its positions arrives at once,
# but the positions in partition 1 arrive half an hour late. Does the slower partition hold the
# watermark back, as the slower topic did?

# %% a-slow-partition tags=["live"]
behind = 30  # minutes

fast = on_time("truck-01", range(30, 60, 2))
slow = [arrivals.Arrival("truck-02", each.event - behind, each.arrives) for each in fast]
last = on_time("truck-03", [80])  # closes all windows
arrivals.write(eng, "uneven", [*fast, *last], partition=0, partitions=2)
arrivals.append(eng, "uneven", slow, partition=1)
positions = read(eng, "uneven", 6).withWatermark("event_time", "10 minutes")
uneven = run(positions.groupBy(F.window("event_time", "10 minutes"), "key").count(), "append")
counted = {
    key: sum(row["count"] for row in staircase.rows_of(uneven, key))
    for key in ("truck-01", "truck-02")
}
print(f"of {len(fast)} positions each: {counted}; dropped, as Spark counts: {uneven.dropped}")
assert counted["truck-01"] == len(fast)
assert counted["truck-02"] < len(slow)

# %% [markdown]
# It does not. Spark keeps one watermark per input, computed from the newest event time in all its
# partitions, so the slower partition's records are late. Other stream processors keep one watermark
# per partition and use the smallest, so there an *idle* partition holds everything back. When you
# read "idle partitions stall the watermark," ask which processor is meant.

# %% [markdown]
# ## Deeper: Duplicates within a watermark
#
# In lab L1, `dropDuplicates` keeps each event id for as long as the query lives.
# `dropDuplicatesWithinWatermark` forgets an id once the watermark is later than the first copy's
# event time plus the delay, so a copy with a newer event time gets through. The ids here are the
# keys, and the delay is ten minutes.

# %% duplicates-within-a-watermark tags=["live"]
repeats = [("a", 0), ("b", 4), ("a", 8), ("c", 30), ("d", 31), ("d", 32), ("e", 60), ("f", 61)]

copies = [arrivals.Arrival(key, minute, minute) for key, minute in repeats]
arrivals.write(eng, "copies", copies)
events = read(eng, "copies", 2).withWatermark("event_time", "10 minutes")
for name, once in {
    "dropDuplicates": events.dropDuplicates(["key"]),
    "dropDuplicatesWithinWatermark": events.dropDuplicatesWithinWatermark(["key"]),
}.items():
    seen = run(once, "append")
    print(
        f"{name:30} {[row['key'] for row in seen.rows]}, state {[n for _, n in seen.state_rows()]}"
    )

# %% [markdown]
# Both drop the copies. The first method's state only grows, but the second method's state follows
# the watermark. Choose the delay according to how late a copy may come: the fleet's gateways resend
# a record within five minutes.
