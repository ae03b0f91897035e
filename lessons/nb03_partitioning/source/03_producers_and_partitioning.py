# %% [markdown]
# # 03 · Producers and partitioning
#
# `send()` returns in microseconds, but nothing has been sent yet. The client has only chosen a
# partition and put the record into a batch. Both decisions are made in your process, not in a
# broker, and they cause most of the surprises with Kafka's producers.
#
# **What you will be able to do**
#
# * say which partition any client chooses for a record, and why that choice may change
# * predict what more partitions do to the order of your events
# * read from the accumulator which limit sends a batch, and which one makes `send()` wait
# * choose `batch.size`, `linger.ms` and a codec by measurement
# * name the limit that refuses a large record
#
# **Time:** {minutes}. Python alone is enough; if you have real Kafka, most cells run on it as well.
#
# A question comes before most runs. Answer it first; the run gives the verdict. Then change the
# values at the top of the run's cell and run it again.
#
# ## Records without a key
#
# Trucks report their positions. Here the records have no key, so any partition will do. The
# producer in this cell is the engine's own: it does what the Java client does, and takes notes. It
# runs in virtual time.

# %% doorway tags=["setup"]
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from engine.client.partitioners import murmur2_partition
from kit import lab
from kit.drawings.accumulator import AccumulatorFilm, AccumulatorTimeline
from kit.drawings.chart import Chart
from kit.probes import clients
from kit.probes.own_producer import OwnProducer
from kit.probes.stored_batches import stored
from lessons.nb03_partitioning import batch_scenes, key_scenes, measure, payloads, send_scenes
from lessons.nb03_partitioning.key_moves import KeyMoves, moved
from lessons.nb03_partitioning.ring import Ring

# %% 03-1 tags=["stub", "predict"]
lab.predict("03-1")

# %% 03-1 tags=["solution", "predict"]
lab.predict("03-1", 1)

# %% no-key tags=["sim"]
count, partitioner = 60, "murmur2"  # also 600 records; "round-robin"
linger_ms = 5

world = lab.world(seed=3)
world.create_topic("positions", partitions=6)
world.run(for_s=2)
settings = {"partitioner.class": partitioner, "linger.ms": linger_ms}
producer = OwnProducer(world, "positions", settings)
producer.send(*payloads.positions(count))  # no key
producer.wait()

display(AccumulatorTimeline(producer, f"{count} records without a key"))
seen = {"records": count, "partitions": 6, "batches": len(producer.batches)}
lab.verdict("03-1", {**seen, "partitions used": len(producer.partitions_used)})

# %% accumulator tags=["read"]
old_way = {**settings, "partitioner.class": "round-robin"}
circling = OwnProducer(world, "positions", old_way, name="round robin")
circling.send(*payloads.positions(count))
circling.wait()
print("round robin: batches of", [each.records for each in circling.batches], "records")
AccumulatorFilm(producer, "The accumulator")

# %% [markdown]
# All 60 records went to one partition, in one batch, in one request. A batch belongs to one
# partition, and fewer, fuller batches are cheaper for everyone. So the Java client is *sticky*: it
# stays with a partition for at least `batch.size` bytes, then draws the next one. Over many batches
# the shares even out. Round robin, which many books describe, makes six batches of the same records
# (the line above the film). Kafka 2.4 dropped it as the default.
#
# The film shows the accumulator, the client's waiting batches, step by step. Click it, then use the
# arrow keys. Set `partitioner = "round-robin"`, and run both cells again.
#
# ## The same key, two clients
#
# With a key, the partition is a hash of the key modulo the number of partitions. Two services write
# events for the same orders. `murmur2_random` makes confluent-kafka choose as Java does (*Deeper:
# The Java client itself* checks that); `consistent_random` is confluent-kafka's own default. From
# here on, `lab.both` runs a function on the engine and on real Kafka, and compares the results.

# %% 03-2 tags=["stub", "predict"]
lab.predict("03-2")

# %% 03-2 tags=["solution", "predict"]
lab.predict("03-2", "c")

# %% two-clients tags=["both"]
partitions = 6
java, python = "murmur2_random", "consistent_random"  # then the same for both
orders = [f"order-{number}" for number in range(300)]


def two_clients(cluster):
    cluster.create_topic("orders", partitions=partitions)
    found = {}
    for event, partitioner in (("prepared", java), ("shipped", python)):
        settings = {"bootstrap.servers": cluster.bootstrap, "partitioner": partitioner}
        service = Producer(settings)
        for order in orders:

            def report(error, message, event=event):
                found[event, message.key().decode()] = message.partition()

            service.produce("orders", event, key=order, on_delivery=report)
        service.flush()
    together = sum(found["prepared", each] == found["shipped", each] for each in orders)
    seen = {"orders": len(orders), "partitions": partitions}
    return {**seen, "orders with both events in one partition": together}


outcome = lab.both(two_clients)
display(outcome)
lab.verdict("03-2", outcome)

# %% [markdown]
# The broker hashes nothing; it stores a batch where the client says. The Java client uses murmur2;
# librdkafka (and so confluent-kafka) uses CRC-32. Five out of six orders are now spread over two
# partitions. No error was raised, yet a consumer may see *shipped* before *prepared*. Joining two
# topics by key fails the same way. Set the same partitioner in all of a topic's clients.
#
# ## Twice as many partitions
#
# A topic has become too small, and `createPartitions` adds partitions while everything runs. For
# contrast, the cell also draws the effect of one extra partition under Kafka's rule and under
# *consistent hashing*. Caches and some databases use the latter; Kafka does not.

# %% 03-3 tags=["stub", "predict"]
lab.predict("03-3")

# %% 03-3 tags=["solution", "predict"]
lab.predict("03-3", "b")

# %% more-partitions tags=["both"]
before, after = 4, 8  # also 4 and 5
keys = [f"order-{number}" for number in range(400)]


def more_partitions(cluster):
    cluster.create_topic("orders", partitions=before)
    old = key_scenes.placed_as_java(cluster, "orders", keys)
    admin = clients.admin(cluster)
    admin.create_partitions([NewPartitions("orders", after)])["orders"].result(20)
    cluster.wait_until(lambda c: len(c.snapshot()["topics"]["orders"]["partitions"]) == after)
    new = key_scenes.placed_as_java(cluster, "orders", keys)
    fewer = admin.create_partitions([NewPartitions("orders", before)])["orders"]
    return {
        "keys": len(keys),
        "keys that moved": moved(old, new),
        "keys that moved to an old partition": sum(old[k] != new[k] < before for k in keys),
        "keys with records in two partitions": key_scenes.in_two(cluster, "orders", after),
        "asking for fewer again": clients.outcome(fewer),
    }


outcome = lab.both(more_partitions)
four, five, more = (
    {k: murmur2_partition(k.encode(), n) for k in keys} for n in (before, before + 1, after)
)
ring = [{k: ring.partition(k.encode()) for k in keys} for ring in map(Ring, (before, before + 1))]
rules = ["hash modulo n", "hash modulo n", "consistent hashing"]
display(outcome, KeyMoves(rules, [(four, more), (four, five), ring]))
lab.verdict("03-3", outcome)

# %% [markdown]
# A hash modulo eight is either the hash modulo four, or four more than that. So half of each old
# partition's keys stay, and the other half go to one new partition. With five partitions, four out
# of five keys move, some of them between old partitions. Old records stay where they are, so the
# events of a moved order are now in two partitions, and no reader can rely on their order. That is
# why teams plan the number of partitions in advance, or write to a new topic. Doubling moves fewer
# keys, but it breaks their order, too. And there is no way back: a smaller number is refused.
#
# At work you see only this: more partitions, and a broker that created a log for one of them.

# %% at-work tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
more_partitions(cluster)
display(lab.tool(cluster, "kafka-topics", "--describe", "--topic", "orders"))
leader = clients.partition(cluster, "orders", after - 1)["leader"]
lab.broker_log(cluster, leader, f"orders-{after - 1}", last=3)

# %% [markdown]
# ## Memory for batches
#
# A producer's batches together use at most `buffer.memory`, 32 MiB by default. When that is full,
# `send()` blocks for up to `max.block.ms`. confluent-kafka has neither setting: it limits its queue
# with `queue.buffering.max.messages`, and `produce()` raises BufferError at once. So this cell uses
# the engine's producer. All the brokers are paused: requests may leave, but no answers return.

# %% 03-4 tags=["stub", "predict"]
lab.predict("03-4")

# %% 03-4 tags=["solution", "predict"]
lab.predict("03-4", 4)

# %% buffer tags=["sim"]
buffer_memory, batch_size = 65_536, 16_384  # also 1_024
max_block_ms = 1_000

world = lab.world(seed=3)
world.create_topic("orders", partitions=12)
world.run(for_s=2)
sizes = {"buffer.memory": buffer_memory, "batch.size": batch_size, "max.block.ms": max_block_ms}
producer = OwnProducer(world, "orders", sizes)
for broker in (101, 102, 103):
    world.pause(broker)
for partition in range(12):
    producer.send("x" * 100, partition=partition)
world.run(for_s=2)

display(AccumulatorTimeline(producer, "Twelve records, twelve partitions, no answers"))
taken = len(producer.lines("record"))
print(f"send() took {taken}; the next one ended after {max(producer.waits_ms, default=0):.0f} ms:",
      {each.error for each in producer.records if each.error})  # fmt: skip
silent = producer.producer.accumulator.free
for broker in (101, 102, 103):
    world.resume(broker)
producer.wait()
free = producer.producer.accumulator.free
print(f"free bytes: {silent:,} while the brokers are silent, {free:,} after their answers")
needed = "; ".join(f"{n:,} × {batch_size:,} = {n * batch_size:,}" for n in (4, 12, 2_048, 4_000))
print(f"buffer.memory: {buffer_memory:,}; partitions × batch.size: {needed}")
fit = buffer_memory // 170
seen = {"records taken": taken, "buffer.memory": buffer_memory, "batch.size": batch_size}
lab.verdict("03-4", {**seen, "partitions": 12, "records that would fit by their bytes": fit})

# %% [markdown]
# A batch claims `batch.size` bytes when its first record arrives, however small the record is. So
# what matters is the number of partitions times `batch.size`, not the number of records. The last
# line multiplies: four batches fill this producer's memory, 2,048 fill the default of 33,554,432
# bytes, and 4,000 partitions need twice as much. A larger `batch.size` can make `send()` block
# sooner.
#
# After `max.block.ms` (60 s by default, 1 s here), the record is refused. The same time limit ends
# the wait for a topic that does not exist. In Java, both waits end in a TimeoutException (for a
# full buffer, in a subclass of it), so read the message before you look for a slow broker.
#
# ## Waiting for company
#
# A batch leaves when it is full (`batch.size`) or old (`linger.ms`): the limit reached first
# decides. The next cell measures confluent-kafka across both settings: its rate flat out, and how
# long a lone record waits. The surface has a point for each measurement; drag the surface to turn
# it.

# %% 03-5 tags=["stub", "predict"]
lab.predict("03-5")

# %% 03-5 tags=["solution", "predict"]
lab.predict("03-5", "d")

# %% surface tags=["both"]
lingers, sizes = (0, 5, 20, 100), (2_000, 16_000, 256_000)  # ms and bytes
records = [each[:100] for each in payloads.positions(3_000)]
grids = {}


def waiting_for_company(cluster):
    cluster.create_topic("positions")
    measure.flat_out(measure.producer(cluster, {}), "positions", records)  # Java is slow at first
    grid = [(size, linger) for size in sizes for linger in lingers]
    producers = {at: measure.producer(cluster, {"batch.size": at[0], "linger.ms": at[1]})
                 for at in grid}  # fmt: skip
    rates, waits = dict.fromkeys(grid, 0), {}
    short, long = (16_000, 5), (16_000, 100)
    for at in 2 * grid + 12 * [short, long]:  # in rounds: other work on this machine hits all
        rates[at] = max(rates[at], measure.flat_out(producers[at], "positions", records))
    for at in grid:
        waits[at] = measure.lone_record_ms(producers[at], "positions", records[0])
    grids[cluster.name] = rates, waits
    return {
        "rate, linger 5": lab.measured(rates[short], "records/s"),
        "rate, linger 100": lab.measured(rates[long], "records/s"),
        "rate, long against short": lab.measured(rates[long] / rates[short], "times"),
        "wait, long against short": lab.measured(waits[long] / waits[short], "times"),
    }


outcome = lab.both(waiting_for_company)
display(outcome, measure.surface(grids, lingers, sizes))
lab.verdict("03-5", outcome)


# %% company tags=["read"]
# Move linger_ms to 0 and watch what is in flight; then to 20, with batch_size 500.
def company(linger_ms=5, batch_size=16_384):
    world = lab.world(seed=3)
    world.create_topic("positions", partitions=2)
    world.run(for_s=2)
    settings = {"linger.ms": linger_ms, "batch.size": batch_size}
    producer = OwnProducer(world, "positions", settings)
    for position in payloads.positions(30):
        producer.send(position)
        world.run(for_s=0.001)
    producer.wait()
    title = f"30 records in 30 ms, {len(producer.batches)} batches"
    return AccumulatorTimeline(producer, title)


lab.slider(company, linger_ms=(0, 1, 2, 5, 10, 20, 50), batch_size=(500, 1_000, 2_000, 16_384))

# %% [markdown]
# Flat out, small batches fill before 5 ms have passed, so a higher `linger.ms` helps only the
# largest ones: small batches mean more requests, and each costs a round trip and work on the
# broker. The edge at `linger.ms=0` is different: there, librdkafka immediately sends what it has. A
# lone record always waits for the full `linger.ms`. (The vertical axis is logarithmic.)
#
# Between these two loads, waiting longer saves requests but costs latency. The slider shows the
# engine's producer, which gets a record every millisecond. With `linger_ms=0`, no record waits for
# company, but at most five requests per broker can be in flight
# (`max.in.flight.requests.per.connection`), so later records wait anyway and share a batch. With a
# small `batch.size`, a batch is full before it is old.
#
# `linger.ms` defaults to 5 in librdkafka and, since 4.0, in the Java client (where it used to be
# 0). `batch.size` defaults to 16,384 in Java and 1,000,000 in librdkafka. Batches form even with
# `linger.ms=0`: records gather while earlier requests are in flight (*Deeper: Batches and
# requests*).
#
# ## A codec for small batches
#
# `compression.type` is a producer setting: `none`, `gzip`, `snappy`, `lz4` or `zstd`. A batch is
# compressed as a whole and stored as received; brokers and consumers need no setting for it.

# %% 03-6 tags=["stub", "predict"]
lab.predict("03-6")

# %% 03-6 tags=["solution", "predict"]
lab.predict("03-6", "b")

# %% small-batches tags=["both"]
codec = "gzip"  # also "zstd", "lz4", "snappy"
steps = (1, 10, 100, 1_000)
curves = {}


def small_batches(cluster):
    sizes = {}
    for used in ("none", codec):
        cluster.create_topic("positions", partitions=len(steps))
        settings = {"compression.type": used, "batch.size": 1 << 20, "linger.ms": 60_000}
        for index, count in enumerate(steps):
            with OwnProducer(cluster, "positions", settings) as producer:
                producer.send(*payloads.positions(count), partition=index)
                producer.flush()
            sizes[used, count] = sum(each.size for each in stored(cluster, "positions", index))
    share = {count: sizes[codec, count] / sizes["none", count] for count in steps}
    curves[cluster.name] = [(place, 100 * share[count]) for place, count in enumerate(steps)]
    return {
        "bytes of one record, none": sizes["none", 1],
        "bytes of one record": sizes[codec, 1],
        "a thousand records": lab.measured(100 * share[1_000], "% of their size"),
    }


outcome = lab.both(small_batches)
axis = "records in the batch: a power of ten, from one to a thousand"
display(outcome, Chart(f"{codec}: bytes in the log, % of none", curves, axis, "%", kind="bars"))
lab.verdict("03-6", outcome)

# %% [markdown]
# A codec saves space wherever data repeats. In one record the field names occur once; in a thousand
# records they occur a thousand times. So compression and batching belong together: a producer with
# tiny batches pays for a codec and gains nothing. Data that is already compressed or encrypted
# gains nothing either (*Deeper: Codecs* also shows the CPU cost).
#
# ## A record that is too large
#
# Four limits may apply: the producer's `max.request.size`, the broker's `message.max.bytes`, the
# topic's `max.message.bytes`, which overrides the broker's, and the consumer's
# `max.partition.fetch.bytes`. What matters is where each one is checked.

# %% 03-7 tags=["stub", "predict"]
lab.predict("03-7")

# %% 03-7 tags=["solution", "predict"]
lab.predict("03-7", "a")

# %% too-large tags=["both"]
codec, max_request_size = "gzip", 1_048_576  # then 2_000_000; then also "none"
topic_limit = 1_048_588


def too_large(cluster):
    cluster.create_topic("texts", config={"max.message.bytes": topic_limit})
    settings = {"compression.type": codec, "max.request.size": max_request_size}
    with OwnProducer(cluster, "texts", settings) as producer:
        producer.send(payloads.text(1_500_000))
        producer.wait()
        error = producer.records[0].error or "nothing"
    by = "max.message.bytes" if error == "MESSAGE_TOO_LARGE" else error
    return {
        "what the application gets": error,
        "refused by": by.removeprefix("larger than "),
        "requests with the record": producer.requests,
        "bytes in the log": sum(each.size for each in stored(cluster, "texts")),
    }


outcome = lab.both(too_large)
display(outcome)
lab.verdict("03-7", outcome)

# %% [markdown]
# The producer checks before it compresses: it measures the record that `send()` received. Raise
# `max_request_size` to 2,000,000 and run the cell again: the batch is far below the topic's limit,
# because brokers measure batches as stored, after compression. With `codec = "none"`, the topic's
# limit refuses the batch with `MESSAGE_TOO_LARGE` (`RecordTooLargeException` in Java). The
# consumer's limit refuses nothing: the first batch in an answer arrives whole, however large it is
# (KIP-74).
#
# ## Read the code that did it
#
# See how a partition is chosen, and then when the sticky partition changes.

# %% code tags=["read"]
from engine.client.partitioners import BuiltIn, murmur2

lab.show(murmur2, BuiltIn.choose, BuiltIn.appended)

# %% [markdown]
# ## Break it
#
# Run your own load with your own settings. Each truck is a key, and one broker may be slow. Try:
#
# * `slow_ms = 60`, and watch which partitions keep batches in flight
# * `{"linger.ms": 0, "max.in.flight.requests.per.connection": 1}` with `slow_ms = 60`, and look for
#   the batch that grows while a request is in flight
# * `{"batch.size": 400}`, and count the requests
# * `{"buffer.memory": 40_000}` with `slow_ms = 60`: which record blocks, and what frees it?

# %% break-it tags=["read"]
settings = {"linger.ms": 5}
slow_ms, every_ms, count = 0, 1, 30

world = lab.world(seed=3)
world.create_topic("positions", assignment={0: [101], 1: [102], 2: [103]})
world.run(for_s=2)
producer = OwnProducer(world, "positions", settings)
world.slow(102, "app", ms=slow_ms)
for position in payloads.positions(count):
    producer.send(position, key=payloads.truck_of(position))
    world.run(for_s=every_ms / 1000)
producer.wait()
AccumulatorFilm(producer, f"{producer.requests} requests for {count} positions")

# %% [markdown]
# ## Your turn
#
# Three exercises (a fourth is in *Deeper: Limits*). Replace the stub with your answer, run it, then
# run the check. `lab.hint("03-8")` gives three hints and then a solution.
#
# **03-8, from a hash to a partition.** Slides often say `abs(hash) % partitions`; Kafka clears the
# sign bit. The hash is a signed 32-bit number. Return the partition that Kafka's clients choose.
#
# **03-9, a partition for some customers.** Customers whose key begins with `vip` have partition 0
# to themselves. Spread all others over the other partitions with `murmur2_partition(key, count)`,
# which takes the key as bytes. `count` is at least 2.
#
# **03-11, settings for a fleet.** A fleet sends 500 positions in one second, keyed by truck, to six
# partitions on three brokers that are 2 ms away. In that second, send at most 80 requests, and
# store at most 60 % of the plain values' bytes in the log. Of every 100 positions, 99 must be
# acknowledged within 90 ms. The judge simulates that second with your settings.


# %% 03-8 tags=["stub"]
def partition_of(signed_hash, count):
    """The partition that belongs to a signed 32-bit hash."""


# %% 03-8 tags=["solution"]
def partition_of(signed_hash, count):
    """The partition that belongs to a signed 32-bit hash."""
    return (signed_hash & 0x7FFFFFFF) % count


# %% 03-8 tags=["check"]
lab.check("03-8", partition_of)


# %% 03-9 tags=["stub"]
from engine.client.partitioners import murmur2_partition


def vip_partition(key, count):
    """Partition 0 for keys that begin with vip, the others for all other keys."""


# %% 03-9 tags=["solution"]
from engine.client.partitioners import murmur2_partition


def vip_partition(key, count):
    """Partition 0 for keys that begin with vip, the others for all other keys."""
    if key.startswith("vip"):
        return 0
    return 1 + murmur2_partition(key.encode(), count - 1)


# %% 03-9 tags=["check"]
lab.check("03-9", vip_partition)

# %% 03-11 tags=["stub"]
fleet = {"batch.size": 16_384, "linger.ms": 5, "compression.type": "none"}

# %% 03-11 tags=["solution"]
fleet = {"batch.size": 16_384, "linger.ms": 60, "compression.type": "zstd"}

# %% 03-11 tags=["check"]
lab.check("03-11", fleet)

# %% interview [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. How do you keep the events of one order in sequence?</b></summary>
# Use one key per order, so that all its events are in one partition; the same partitioner in all
# services; a partition count that does not change; an idempotent producer; and one reader per
# partition that handles records one at a time.
# <i>Follow-up:</i> the topic must grow. What now? <b>Weak:</b> "Kafka keeps order." <b>Good:</b>
# per partition, by key. <b>Strong:</b> names the two silent ways to lose order: another client's
# hash, and more partitions. Evidence: <a href="#The-same-key,-two-clients">The same key, two
# clients</a>.
# </details>
# <details><summary><b>2. Where do records without a key go?</b></summary>
# To one partition at a time: the client stays until batch.size bytes have gone there, then draws
# another; slow brokers are drawn less often. Over many batches the shares even out.
# <i>Follow-up:</i> why not round robin? <b>Weak:</b> "round robin." <b>Good:</b> sticky, per batch.
# <b>Strong:</b> since 2.4 (KIP-480), by bytes and load since 3.3 (KIP-794); says what a batch
# costs.
# Evidence: <a href="#Records-without-a-key">Records without a key</a>.
# </details>
# <details><summary><b>3. What does linger.ms cost, and when does it cost nothing?</b></summary>
# A lone record waits for the full linger.ms. Flat out, it adds nothing, since batches fill up
# first.
# <i>Follow-up:</i> which metric shows it? <b>Weak:</b> "higher is slower." <b>Good:</b> names the
# limit reached first. <b>Strong:</b> record-queue-time-avg, batch-size-avg, and batches even with
# linger.ms=0. Evidence: <a href="#Waiting-for-company">Waiting for company</a>.
# </details>
# <details><summary><b>4. send() hangs for a minute, and the future fails with a TimeoutException.
# buffer-available-bytes is 33554432. What is the cause?</b></summary>
# The whole buffer is free, so a slow broker is not the cause. The client has no metadata: the topic
# does not exist, or no broker answers. With a full buffer, send() also waits for max.block.ms, but
# then 0 bytes are free.
# <i>Follow-up:</i> where else do you see it? <b>Weak:</b> "the network." <b>Good:</b> names both
# causes. <b>Strong:</b> the exception's message, and that a batch takes batch.size at once.
# Evidence: <a href="#Deeper:-The-Java-client-itself">The Java client itself</a>.
# </details>
# <details><summary><b>5. A 2 MB record must go through. Which settings do you change?</b></summary>
# The producer's max.request.size, and the topic's max.message.bytes if the batch is still larger
# after compression. Consumers need no change. It is better to store the data elsewhere and send its
# address.
# <i>Follow-up:</i> which of them is checked before compression? <b>Weak:</b> "message.max.bytes."
# <b>Good:</b> client and topic. <b>Strong:</b> says what each measures, and cites KIP-74.
# Evidence: <a href="#A-record-that-is-too-large">A record that is too large</a>.
# </details>
# <details><summary><b>6. A consumer group lags on only one partition. What happened?</b></summary>
# <pre>GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG
# fleet  cities  0          1204            1210            6
# fleet  cities  1          1187            1190            3
# fleet  cities  2          9120            41877           32757
# fleet  cities  3          1215            1220            5</pre>
# Partition 2 gets most of the records: it has a hot key. More consumers do not help, since a
# partition has only one reader; nor do more partitions, since a key has only one partition. Split
# the key if its events need not stay in order.
# Evidence: <a href="#Deeper:-A-hot-key">A hot key</a>.
# </details>
#
# ## Quiz
#
# Several letters are right.

# %% 03-12 tags=["stub", "predict", "quiz"]
lab.quiz("03-12")

# %% 03-12 tags=["solution", "predict", "quiz"]
lab.quiz("03-12", "a", "b")

# %% 03-13 tags=["stub", "predict", "quiz"]
lab.quiz("03-13")

# %% 03-13 tags=["solution", "predict", "quiz"]
lab.quiz("03-13", "a", "d", "e")

# %% [markdown]
# ## Deeper: Hashes
#
# This run computes both hashes by hand alongside a real client, lets the application name a
# partition, and sends a batch to a broker that does not lead the partition.

# %% by-hand tags=["both"]
from engine.client.partitioners import murmur2

signed = [h - (1 << 32) if h >> 31 else h for h in (murmur2(b"%d" % n) for n in range(10_000))]
other = sum(abs(h) % 3 != (h & 0x7FFFFFFF) % 3 for h in signed)
print(f"abs() instead of clearing the sign bit: {other / 100:.0f} % of 10,000 keys go elsewhere")
lab.both(key_scenes.by_hand)

# %% [markdown]
# With three partitions, the slides' `abs(hash) % partitions` is wrong for a third of the keys. If
# the application names a partition, the record goes there, regardless of its key; a client refuses
# a partition that does not exist. The request names the partition. A broker that does not lead it
# answers `NOT_LEADER_OR_FOLLOWER` and forwards nothing.

# %% event-order tags=["both"]
from lessons.nb03_partitioning import order_scenes

lab.both(order_scenes.order_of_events)

# %% what-order-needs [markdown]
# With the order id as the key, each order's events are read in the order in which they happened,
# with any number of partitions, although the orders in a partition are interleaved. Without a key,
# every record is in the log, and in order *within its partition*, but most orders' events are read
# out of order. When four workers share a partition, and one event in four takes longer, they finish
# the events of most orders out of sequence. When several requests are lost, a producer that is not
# idempotent may send them again in another order. A group gives each partition to only one reader,
# so no reader overtakes another. So order also needs four things: one key, an idempotent producer
# (notebook 08), one reader for each partition (notebook 01), and events handled one after the
# other.
#
# The last rows are about the events of 600 orders, from 50 customers and delivered by 20 cars. A
# good key is the thing whose events must stay in order: an order, a car, a customer. An order has
# one customer and one car, so its events stay in order with these keys, too. But some customers and
# cars have many orders, so the load is less even. A city as the key keeps more events together than
# necessary, and its load is skewed.

# %% [markdown]
# ## Deeper: Without a key
#
# Sticky and round robin each send the same 1,200 records over sockets. Then comes a slow leader, in
# virtual time.

# %% spread tags=["both"]
shares = [f"{key_scenes.largest_share(n):.1f} % of {n:,}" for n in (600, 6_000, 60_000)]
print("Sticky, the largest of six shares (even: 16.7 %):", ", ".join(shares))
lab.both(key_scenes.spread)

# %% [markdown]
# Round robin makes many small batches and more requests, but its shares are exactly even. Sticky
# shares are uneven in a short run, because each draw assigns a whole batch; they even out as
# batches add up.

# %% slow-leader tags=["sim"]
slow_ms = 40
shares = {}
for adaptive in ("false", "true"):
    world = lab.world(seed=3, rewindable=False)
    world.create_topic("positions", assignment={0: [101], 1: [102], 2: [103]})
    world.run(for_s=2)
    name = "partitioner.adaptive.partitioning.enable"
    given = {name: adaptive, "batch.size": 1_000, "max.in.flight.requests.per.connection": 1}
    producer = OwnProducer(world, "positions", given)
    world.slow(102, "app", ms=slow_ms)
    for position in payloads.positions(1_500):
        producer.send(position)
        world.run(for_s=0.0005)
    producer.wait()
    used = [each.partition for each in producer.records]
    shares[f"adaptive={adaptive}"] = [(n, 100 * used.count(n) / len(used)) for n in range(3)]
Chart("Records without a key; the leader of partition 1 is slow", shares, "partition", "%", "bars")

# %% [markdown]
# Since 3.3 (KIP-794), a partition with a long queue has been drawn less often. Without that rule, a
# third of all records would wait for the slow broker. So an even spread is not promised for records
# without a key.

# %% [markdown]
# ## Deeper: A hot key
#
# Of all records, 60 % share one key. Do more partitions help?

# %% hot-key tags=["both"]
shares = {}  # by cluster and way


def hot_key(cluster):
    return key_scenes.hot_key(cluster, shares.setdefault(cluster.name, {}))


outcome = lab.both(hot_key)
drawn = {way: shares["engine"][way] for way in (key_scenes.CITY, key_scenes.SPLIT)}
display(outcome, Chart("6,000 records", drawn, "partition", "%", "bars"))

# %% [markdown]
# Twelve partitions instead of six change hardly anything, because a key has only one partition. The
# hot key's partition gets about nine times as many bytes as the others on average, in the same
# time. Its leader takes several times the bytes of another broker. When each partition's reader has
# read 600 records, only the hot one lags. Kafka raises no alarm: the producer's reports show no
# error, and the brokers' logs have no warning about the topic (the engine's trace has no such
# levels). So watch the bytes and the lag per partition.
#
# With the order id as the key, the load is spread evenly. Eight keys instead of one spread the
# load, too, but they give up the order between them. If the reader needs only the newest state per
# key, records may go anywhere, as long as each carries a version: a table that keeps the highest
# version is right, but a table that keeps the last record read is not.

# %% [markdown]
# ## Deeper: Batches and requests
#
# With `linger.ms=0`, a record every 0.3 ms goes to a broker 2 ms away. Which records share a batch?

# %% linger-zero tags=["sim"]
from statistics import median

linger_ms = 0


def steady(in_flight, every_ms, count):
    world = lab.world(seed=3)
    world.create_topic("orders", assignment={0: [101]})
    world.run(for_s=2)
    names = {"max.in.flight.requests.per.connection": in_flight, "linger.ms": linger_ms}
    producer = OwnProducer(world, "orders", names)
    world.slow(101, "app", ms=2)
    for _ in range(count):
        producer.send("x" * 100)
        world.run(for_s=every_ms / 1000)
    producer.wait()
    return producer


for in_flight in (1, 5):
    for every_ms in (0.3, 0.1):
        made = steady(in_flight, every_ms, 120)
        print(f"{in_flight} in flight, a record every {every_ms} ms: "
              f"{120 / len(made.batches):.1f} records in a batch, "
              f"median wait {median(made.waits_ms):.1f} ms")  # fmt: skip
AccumulatorTimeline(steady(5, 0.1, 40), f"linger.ms={linger_ms}, 5 in flight, every 0.1 ms")

# %% [markdown]
# The picture has five requests in flight: five records go alone, and the next ones gather in a
# batch until an answer arrives. So batches grow with the load, the wait hardly changes, and the
# client never waits on purpose. With one request in flight, only the first record goes alone, and
# fewer but larger requests follow. The limit counts requests per broker, and a request may carry a
# batch for each of many partitions.

# %% batch-limits tags=["both"]
by_size = {}  # by cluster and unit


def batch_limits(cluster):
    return batch_scenes.batch_limits(cluster, by_size.setdefault(cluster.name, {}))


outcome = lab.both(batch_limits)
powers = "batch.size, as a power of two: 10 is 1,024, 14 is 16,384"
display(outcome, Chart("500 positions", by_size["engine"], powers, log_y=True))

# %% [markdown]
# A full batch leaves at once, but the half-full one behind it waits for `linger.ms`. `batch.size`
# counts bytes: full batches of small and of large records have about the same size, but not the
# same number of records. Larger batches need fewer requests, but from 16 KiB on they compress only
# slightly better. With a record every millisecond, no batch fills up, so `linger.ms` decides how
# many records each batch has. A record larger than `batch.size` gets a batch of its own.

# %% [markdown]
# ## Deeper: Codecs
#
# This run puts 400 JSON positions, real text (the producer's source code) and random bytes through
# each codec. The batch header's attributes name the codec, so a consumer needs no setting.

# %% codecs tags=["both"]
from lessons.nb03_partitioning import slow_link

kilobytes, crossings = {}, {}  # by cluster


def codecs(cluster):
    crossings[cluster.name] = slow_link.crossings(cluster)
    return batch_scenes.codecs(cluster, kilobytes.setdefault(cluster.name, {}))


outcome = lab.both(codecs)
numbers = "0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd"
display(outcome, Chart("One load in the log", kilobytes["engine"], numbers, "kB", "bars"))
json_kb = dict(kilobytes["engine"]["json"])
print("JSON at 10 Mbit/s:", ", ".join(f"{n}: {kb * 0.8:.0f} ms" for n, kb in json_kb.items()))
print("Measured, batches of 100 positions:")
for lines in crossings.values():
    print(*lines, sep="\n")

# %% other-benchmarks [markdown]
# A ratio says as much about the data as about the codec; "up to four times" is not a limit. So a
# benchmark on other people's logs, such as Cloudflare's from 2018, may rank the codecs differently:
# its data, batches, levels and machines are not yours. An unknown codec name is refused when the
# client is created. On a slow network, fewer bytes also arrive sooner, but on this machine's
# loopback that gain vanishes, as the measured lines show. A broker decompresses a batch to check
# its records, and stores the bytes as received unless the topic's `compression.type` names another
# codec. In the last row, which shows that case, the engine and Kafka differ.

# %% codec-time tags=["live"]
import time
import zlib

from engine.records import compression

data = "\n".join(payloads.positions(20_000)).encode()
bars = {"compress": [], "decompress": []}
for number in range(1, len(compression.NAMES)):
    began = time.process_time()
    packed = compression.compress(number, data)
    half = time.process_time()
    compression.decompress(number, packed, len(data))
    bars["compress"].append((number, 1000 * (half - began)))
    bars["decompress"].append((number, 1000 * (time.process_time() - half)))
for level in (1, 6, 9):
    began = time.process_time()
    kept = len(zlib.compress(data, level))
    took = 1000 * (time.process_time() - began)
    print(f"gzip, level {level}: {kept / len(data):.1%} of the bytes, {took:.0f} ms")
Chart(f"CPU time for {len(data) / 1e6:.1f} MB of JSON", bars,
      "1 gzip, 2 snappy, 3 lz4, 4 zstd", "ms", "bars")  # fmt: skip

# %% [markdown]
# gzip costs the most CPU time, and snappy and lz4 cost the least; zstd reaches gzip's ratio in a
# fraction of gzip's time. A higher gzip level (`compression.gzip.level`) saves bytes but costs
# time. Kafka added zstd in 2.1 and compression levels in 3.8. Old recipes such as "snappy, 32 KB,
# 20 ms" ignore both zstd and today's defaults. Test a recipe on your own data, and compare the rate
# with the CPU time and the slowest waits:

# %% recipe tags=["both"]
recipes = {
    "Java's defaults": {"batch.size": 16_384, "linger.ms": 5},
    "snappy, 32 KB, 20 ms": {"batch.size": 32_768, "linger.ms": 20, "compression.type": "snappy"},
    "zstd, 256 KB, 20 ms": {"batch.size": 262_144, "linger.ms": 20, "compression.type": "zstd"},
}


def recipe(cluster):
    seen = {}
    for name, settings in recipes.items():
        cluster.create_topic("positions")
        producer = measure.producer(cluster, settings)
        rate = max(measure.flat_out(producer, "positions", payloads.positions(5_000)) for _ in "12")
        size = sum(each.size for each in stored(cluster, "positions")) / 10_000
        seen[name] = {
            "rate": lab.measured(rate, "records/s"),
            "a record in the log": lab.measured(size, "bytes"),
            **measure.costs(producer, "positions", payloads.positions(5_000)),
        }
    return seen


lab.both(recipe)

# %% [markdown]
# ## Deeper: send() and its answers
#
# Three records are sent in each of three ways. One of the records is invalid: a compacted topic
# accepts no record without a key.


# %% three-ways tags=["both"]
def fire_and_forget(producer, topic, records):
    for record in records:
        producer.produce(topic, **record)
    return []


def with_a_callback(producer, topic, records):
    heard = []

    def report(error, message):
        heard.append((error, message))

    for record in records:
        producer.produce(topic, **record, on_delivery=report)
        producer.poll(0)
    producer.flush()
    return heard


def waiting_for_each(producer, topic, records):
    heard = []

    def report(error, message):
        heard.append((error, message))

    for record in records:
        producer.produce(topic, **record, on_delivery=report)
        producer.flush()
    return heard


def three_ways(cluster):
    return send_scenes.three_ways(cluster, fire_and_forget, with_a_callback, waiting_for_each)


lab.both(three_ways)

# %% [markdown]
# The refusal raises nothing, so fire and forget never learns of it. Look at the callback rows: the
# three records shared a batch, and a batch is refused as a whole. A topic that is not compacted
# takes all three. Waiting for each answer hides the shared batch, because each record is then in a
# batch of its own. Waiting also costs a round trip per record; callbacks cost little. A partition's
# callbacks come in offset order; confluent-kafka runs them in the thread that calls `poll()` or
# `flush()`.

# %% small-rules tags=["both"]
lenient = lab.engine(settings={**lab.BRISK, "auto.create.topics.enable": "true"})
created = send_scenes.created_by_a_record(lenient)
print("auto.create.topics.enable=true: partitions of a topic that a record created:", created)
lab.both(send_scenes.small_rules)

# %% [markdown]
# A process that ends without `flush()` loses the records in its batches. The address of one live
# broker is enough to find all the brokers. A value that cannot be converted to bytes fails in the
# call itself, before it reaches a batch. The default number of partitions is `num.partitions`,
# which is 1. It applies to `createTopics` with -1 and to a topic that the first record creates; the
# course's clusters turn that off, so the first line is from an engine of its own.

# %% [markdown]
# ## Deeper: Limits
#
# This run shows what each limit counts: it goes one byte below the limit and one byte above it.

# %% limits tags=["both"]
lab.both(batch_scenes.four_limits)

# %% [markdown]
# The topic's limit counts the whole batch, header included. A request takes as many batches as fit
# below `max.request.size`, so a smaller limit means more requests. If a batch of several records is
# too large, the engine's producer cuts it in two and sends the halves; Java's first splits it by
# `batch.size`; and librdkafka fails the whole batch. `message.max.bytes` is the broker's default
# for topics without a limit of their own: 1,048,588 bytes, which is 1 MiB plus the 12 bytes that a
# batch's length field does not count.
#
# **03-10, which limit refuses a record?** A record of `record` bytes would be stored in a batch of
# `batch` bytes, after compression. Return `"max.request.size"`, `"max.message.bytes"`, or
# `"stored"`. A size equal to the limit passes.


# %% 03-10 tags=["stub"]
def refused_by(record, batch, max_request_size, max_message_bytes):
    """The limit that refuses the record, or stored."""


# %% 03-10 tags=["solution"]
def refused_by(record, batch, max_request_size, max_message_bytes):
    """The limit that refuses the record, or stored."""
    if record > max_request_size:
        return "max.request.size"
    return "max.message.bytes" if batch > max_message_bytes else "stored"


# %% 03-10 tags=["check"]
lab.check("03-10", refused_by)

# %% [markdown]
# ## Deeper: The Java client itself
#
# One JVM on each side runs `lessons/nb03_partitioning/JavaClient.java`. The run needs Java and
# Kafka's jars, and takes a few seconds.

# %% java-client tags=["both"]
from lessons.nb03_partitioning import java_runs

loads = {}  # by cluster, load and metric


def java_client(cluster):
    return java_runs.asked(cluster, loads.setdefault(cluster.name, {}))


outcome = lab.both(java_client)
display(outcome, *java_runs.charts(loads))

# %% [markdown]
# Java chooses the same partitions as the hash in our cell. RoundRobinPartitioner ignores the key.
# So does `partitioner.ignore.keys=true`, which replaced UniformStickyPartitioner: it stays with a
# partition, then moves on.
#
# Most `send()` failures come back in the future and the callback. Only errors outside Kafka's API,
# such as a wrong type or an interrupt, are thrown. Two failures look alike, since both wait for
# `max.block.ms`. The message and `buffer-available-bytes` tell them apart: an unknown topic leaves
# the whole buffer free, but a silent leader leaves none of it free after four records (*Memory for
# batches*).
#
# A producer has many settings, and few have no default. *Waiting for company* and notebook 08 show
# those that matter most.
#
# Delivery callbacks run in the only I/O thread, so a 50 ms callback holds up every delivery; hand
# such work to another thread. Java's `Callback` is an interface with one method, `onCompletion`.
# The last rows show what it gets, and what confluent-kafka's `on_delivery` gets. A stored record
# has an offset and no error. With too few replicas in sync, the record has an error and no offset:
# -1 in Java, None in Python.
#
# The charts show the producer's own metrics, from real Kafka if it is available. The load is 1,000
# records a second, of 100 bytes each, so `record-send-rate` stays near 1,000, and
# `outgoing-byte-rate` is that payload plus overhead. With a higher `linger.ms`, the same load needs
# fewer, larger requests, and `record-queue-time-avg` follows `linger.ms`. More partitions make a
# request larger, too, since each batch in it has its own header (the rows of `request-size-avg`).
# With `acks=all` and one request in flight, a follower 50 ms away holds up answers, so queue time
# and request latency both rise. With round robin (`linger.ms=20`), batches are small, and a request
# carries several. Flat out, batches come close to `batch.size`, and a request to a leader of twelve
# partitions carries about three. Compare the metrics with your own baseline.

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what is true | where |
# |---|---|---|
# | without a key, the broker chooses round robin or at random | the client chooses: one partition at a time since 2.4, by bytes and load since 3.3 | [Records without a key](#Records-without-a-key) |
# | two records without a key go to two partitions | both go to one | [Records without a key](#Records-without-a-key) |
# | `abs(murmur2(key)) % partitions` | the sign bit is cleared; with three partitions, abs() sends a third of the keys elsewhere | [Hashes](#Deeper:-Hashes) |
# | consistent hashing | a remainder: going from 4 to 5 partitions moves four of five keys; consistent hashing would move one of five | [Twice as many partitions](#Twice-as-many-partitions) |
# | the same key always has the same partition | only with the same hash and number of partitions | [Two clients](#The-same-key,-two-clients) |
# | adding partitions alters everything | from 4 to 8, half of the keys stay | [Twice as many partitions](#Twice-as-many-partitions) |
# | `linger.ms` is 0 by default | 5, in Java's client since 4.0 and in librdkafka | [Waiting for company](#Waiting-for-company) |
# | `batch.size` is 16 KB | yes, in Java's client; 1,000,000 in librdkafka | [Waiting for company](#Waiting-for-company) |
# | five messages, or five batches, in flight | five requests per broker, each with batches for several partitions | [Batches](#Deeper:-Batches-and-requests) |
# | codecs: none, gzip, lz4, snappy | and zstd since 2.1 | [Codecs](#Deeper:-Codecs) |
# | only the producer and the consumer spend CPU time | the broker decompresses, too, to check the records | [Codecs](#Deeper:-Codecs) |
# | text shrinks by up to four times | it depends on the data and on the batch | [Codecs](#Deeper:-Codecs) |
# | DefaultPartitioner, UniformStickyPartitioner | both are gone in 4.0; `partitioner.class` is null by default | [Java](#Deeper:-The-Java-client-itself) |
# | RoundRobinPartitioner chooses at random | it takes turns | [Java](#Deeper:-The-Java-client-itself) |
# | `send()` throws TimeoutException or BufferExhaustedException | it returns a failed future after `max.block.ms`; confluent-kafka raises BufferError at once | [Java](#Deeper:-The-Java-client-itself) |
# | callbacks run in the main thread | in the I/O thread; in confluent-kafka, in the thread that calls `poll()` | [Java](#Deeper:-The-Java-client-itself) |
# | `message.max.bytes` is 1,000,000 and limits a message | 1,048,588, and it limits the stored batch | [Limits](#Deeper:-Limits) |
# | the same key goes to the same producer | to the same partition | [Two clients](#The-same-key,-two-clients) |
# | a vendor's benchmark ranks the codecs | ranks change with the data: measure your own | [Codecs](#Deeper:-Codecs) |
#
# **What real Kafka does beyond this.** When it is free to choose, the Java client skips the
# partitions of a silent broker (`partitioner.availability.timeout.ms`). It estimates the
# compression ratio while a batch fills, so its compressed batches come close to `batch.size`; the
# engine's producer counts uncompressed bytes.
