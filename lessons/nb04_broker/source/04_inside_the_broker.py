# %% [markdown]
# # 04 · Inside the broker
#
# A producer sends a record with `acks=all` and gets its answer after two milliseconds. What happens
# in those two milliseconds? You will follow requests through a broker, cause waits at several
# stages, and learn to find the slow stage from a broker's timers.
#
# **What you will be able to do**
#
# * draw the path of a Produce and of a Fetch request through a broker, including the waits
# * say which bytes of a batch a broker changes, and what ends the wait in purgatory
# * predict which requests wait behind a slow one, and how a slow stage delays quick requests
# * choose `fetch.min.bytes` and `fetch.max.wait.ms`
# * read a broker's timers and name the slow stage
#
# **Time:** {minutes}. Python alone is enough. If real Kafka is on this machine, the side-by-side
# cells also run on it.
#
# **The path of a request.** One of three *network threads* per port reads the request from its
# socket and puts it into the *request queue*. One of eight *request handlers* (I/O threads) takes
# it out and does the work. A request that cannot be answered yet waits in *purgatory* and occupies
# no thread. The answer goes into the *response queue* of the same network thread, which writes it
# to the socket. `lab.term("purgatory")` looks up a term.
#
# The engine does all this in one thread, an event loop. The stages are the same and have Kafka's
# names. Where the thread pools themselves matter, a cell runs on real Kafka only and says so.

# %% doorway tags=["setup"]
import random
import time
from bisect import bisect_right
from heapq import heappop, heappush

from IPython.display import display

from engine.wire import messages as m
from kit import lab
from kit.drawings.chart import Chart
from kit.drawings.sequence import SequenceDiagram
from kit.probes.one_partition import cluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, one_batch, producing, records_in
from lessons.nb04_broker import broker_runs, quota_scenes, request_bytes, request_path, scenes
from lessons.nb04_broker.fetch_rates import read_on, writing
from lessons.nb04_broker.stage_chart import StageChart
from lessons.nb04_broker.stage_timers import ONE_SIDE, StageTimers, large_fetch, longest

eng = lab.engine(settings=lab.BRISK)

# %% [markdown]
# ## Run it
#
# ### The path of one Produce request
#
# Broker 101 leads the topic, brokers 102 and 103 follow, and `min.insync.replicas` is 2. The
# network between 101 and 103 is slow: every message takes 40 ms longer in either direction. The run
# is in virtual time. There, the brokers' own work takes no time, so the picture shows only the
# waits.

# %% 04-1 tags=["stub", "predict"]
lab.predict("04-1")

# %% 04-1 tags=["solution", "predict"]
lab.predict("04-1", "c")

# %% produce-timeline tags=["sim"]
slow_broker, delay_ms = 103, 40  # try 102; try 200
acks = "all"  # try "1"

world = cluster(minimum=2)
world.slow(101, slow_broker, delay_ms)
world.run(for_s=1)
diagram = SequenceDiagram(world, "orders")
diagram.send("forty euros", acks=acks)
diagram.run(for_s=1)

path = request_path.produce_path(diagram)
display(path.picture)
lab.verdict("04-1", {**path.seen, "delay": delay_ms})

# %% film tags=["read"]
film = lab.panel(world, "orders")
film

# %% [markdown]
# Both followers had a fetch waiting at 101. The append completes these fetches: that is how the
# record travels. Each follower's *next* fetch, from offset 1, tells the leader that the follower
# has everything below 1. Once that fetch from the slowest member of the ISR has reached the leader,
# the high watermark moves, and the request leaves purgatory. `min.insync.replicas` only sets how
# small the ISR may be for a write with `acks=all` to be accepted.
#
# Now step through the same run yourself. Click the timeline and use the arrow keys. A message in
# flight shows what it carries; a hatched cell is above that broker's high watermark. Press
# **pause** on a follower at any step, and compare the two futures.
#
# ### The bytes of one request
#
# From here on, `lab.both` runs a function on the engine and on real Kafka at the same time, and
# compares the results; rows with a dot are measurements. `RawClient` sends exactly the requests in
# the cell: there is no client library to batch, retry or wait. On the wire, `acks=-1` means *all*.
#
# The next run sends a batch to 101, fetches it back, and compares the two. First comes a smaller
# Produce request, field by field. All requests have the same header: the API key and version, a
# correlation id that the answer repeats, and the client id, which appears in logs, metrics and
# quotas. In the body, lengths are stored plus one: `02` means one topic, and `00` means null.

# %% same-bytes tags=["both"]
value, codec = b"forty euros to Alice", 1  # codec: 0 none, 1 gzip

display(request_bytes.anatomy(request_bytes.produce_frame(value)))


def there_and_back(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    sent = one_batch(value, value, value, compression=codec)
    with RawClient(cluster, 101, "till-4") as client:
        frames = request_bytes.captured(client)
        client.ask(producing("orders", acks=-1))
        number = client.send(producing("orders", acks=-1, records=sent))
        answered, answer = client.receive()
        base_offset = first_partition(answer).base_offset
        stored = first_partition(client.ask(fetching("orders", base_offset))).records
    return {
        "correlation id sent and answered": [number, answered],
        "the record got the offset": base_offset,
        "partition and offset in the Fetch request": request_bytes.asked_for(frames[-1]),
        "bytes sent and fetched": [len(sent), len(stored)],
        "fields that differ": request_bytes.changed_fields(sent, stored),
        "the fetched bytes in 101's log file": scenes.in_log_file(cluster, stored),
    }


outcome = lab.both(there_and_back)
display(outcome)

# %% [markdown]
# The client has chosen the partition, packed the batch and compressed it. The broker checks the
# CRC, assigns the offset and appends the batch. Base offset and leader epoch come before the part
# that the CRC covers, so the CRC stays valid. The broker opens a compressed batch to check it, and
# stores it as received unless the topic's `compression.type` asks for another codec. A Fetch names a
# partition and an offset, and the answer holds the bytes as they are on disk, which is why a broker
# can send them without looking at them.
#
# ### A write that waits for its followers
#
# Now both followers are paused, as if their processes had stopped. A write with `acks=all` waits in
# purgatory at 101. Then a client that is not a broker sends two fetches to 101 over an ordinary
# connection. Each fetch carries a replica id: -1 for a consumer, and the broker's number for a
# follower. The first fetch says 102, the second says 103, and both start at offset 2, just past the
# waiting record.

# %% 04-12 tags=["stub", "predict"]
lab.predict("04-12")

# %% 04-12 tags=["solution", "predict"]
lab.predict("04-12", "d")

# %% stand-in tags=["both"]
stand_ins, from_offset = (102, 103), 2  # try (102,); try 1


def stand_in(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    with RawClient(cluster, 101, "producer") as producer, RawClient(cluster, 101, "other") as other:
        producer.ask(producing("orders", acks=-1))  # offset 0, on all three
        [cluster.pause(broker) for broker in (102, 103)]
        producer.send(producing("orders", acks=-1))  # offset 1, on 101 alone
        waits = producer.receive(0.2) is None
        before = records_in(other.ask(fetching("orders", 1)))
        for replica in stand_ins:
            fetch = scenes.as_replica(replica, fetching("orders", from_offset))
            error = scenes.error(first_partition(other.ask(fetch)).error_code)
        answer = producer.receive(0.4)
        after = records_in(other.ask(fetching("orders", 1)))
    return {
        "replica ids: a consumer's, then these": [fetching("orders").replica_id, *stand_ins],
        "the write waits at first": waits,
        "a consumer sees the record then": before == 1,
        "the fetches with a replica id": error,
        "then the write is acknowledged": answer is not None
        and not first_partition(answer[1]).error_code,
        "and a consumer sees the record": after == 1,
    }


outcome = lab.both(stand_in)
display(outcome)
lab.verdict("04-12", outcome)

# %% [markdown]
# A follower never sends the leader an acknowledgement. A fetch from offset 2 *is* the statement “I
# have everything below 2”, and the leader believes it. So a wait in purgatory is not a loop that
# polls followers: the request waits until the high watermark moves or the request's timeout
# expires. In production, an ACL guards against this: fetching as a replica requires the
# `ClusterAction` permission.
#
# ### What waits behind a slow request
#
# A client has several requests in flight on one connection. Broker 102 is paused, so the first
# request, a write with `acks=all`, has to wait. The second asks for metadata, which any broker
# supplies from its memory. The third is a write with `acks=1`, which waits for no follower. On
# another connection, a consumer waits for the next record. After 0.3 s, 102 resumes.

# %% 04-14 tags=["stub", "predict"]
lab.predict("04-14")

# %% 04-14 tags=["solution", "predict"]
lab.predict("04-14", "1 2 3")

# %% one-connection tags=["both"]
metadata = m.MetadataRequest(topics=[])
in_flight = [producing("orders", acks=-1), metadata, producing("orders", acks=1)]  # reorder them
patience_s = 0.3


def one_connection(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    with RawClient(cluster, 101, "first") as one, RawClient(cluster, 101, "second") as other:
        one.ask(producing("orders", acks=-1))
        cluster.pause(102)
        numbers = [one.send(request) for request in in_flight]
        answers = list(iter(lambda: one.receive(patience_s), None))
        early, other_served = len(answers), len(other.ask(metadata).brokers) > 0
        other.send(fetching("orders", 1, max_wait_ms=15_000))
        waiting = scenes.purgatory(cluster)
        cluster.resume(102)
        answers += [one.receive() for _ in in_flight[early:]]
        news = records_in(other.receive()[1])
    return {
        "answers while 102 is paused": early,
        "another connection is served": other_served,
        **waiting,
        "then the fetch brings a record": news > 0,
        "order of the answers": [numbers.index(number) + 1 for number, _ in answers],
    }


outcome = lab.both(one_connection)
display(outcome)
lab.verdict("04-14", outcome)

# %% [markdown]
# A broker answers the requests on one connection in order. The second request stays unread: after
# each request, the network thread mutes the connection until the answer has been sent. The
# correlation id lets the client match answers to requests, but it does not allow a different order.
# That is why several requests in flight (`max.in.flight.requests.per.connection`) save round-trip
# time but cannot bypass a slow request. Other connections are not affected.
#
# ### A fetch that waits
#
# A consumer has read everything and asks for more. Three readers fetch for two seconds each, one
# fetch at a time. For the first, no producer writes. For the second, a 1 kB record arrives every 20
# ms. The third reads the same stream, but asks the broker to wait for 50,000 bytes. For all three,
# `fetch.max.wait.ms` is 500 (librdkafka calls it `fetch.wait.max.ms`).

# %% 04-3 tags=["stub", "predict"]
lab.predict("04-3")

# %% 04-3 tags=["solution", "predict"]
lab.predict("04-3", "c")

# %% three-readers tags=["both"]
max_wait_ms, min_bytes = 500, 50_000  # try 10_000 bytes; try 2_000 ms
every_ms, seconds = 20, 2


def three_readers(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    quiet = read_on(cluster, seconds, max_wait_ms=max_wait_ms, min_bytes=1)
    with RawClient(cluster, 101, "silent") as silent:
        with writing(cluster, every_ms, value_bytes=1_000):
            eager = read_on(cluster, seconds, max_wait_ms=max_wait_ms, min_bytes=1)
            patient = read_on(cluster, seconds, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
        unasked = silent.receive(0.05)
    return {
        "fetches without writes": lab.measured(quiet.a_second, "a second"),
        "such a fetch takes": lab.measured(quiet.mean_ms, "ms"),
        "such fetches bring records": quiet.records,
        "fetches from a stream": lab.measured(eager.a_second, "a second"),
        "one from the stream takes": lab.measured(eager.mean_ms, "ms"),
        "fetches with fetch-min-bytes": lab.measured(patient.a_second, "a second"),
        "one with fetch-min-bytes brings": lab.measured(
            patient.records / patient.fetches, "records"
        ),
        "records sent to a connection that never asks": 0 if unasked is None else 1,
    }


outcome = lab.both(three_readers)
display(outcome)
lab.verdict("04-3", outcome)

# %% [markdown]
# This is *long polling*: a fetch without data waits in purgatory until there are enough bytes or
# enough time has passed. Kafka never pushes, yet a new record leaves at once, because a fetch is
# already waiting. With a larger `fetch.min.bytes`, answers become fewer, larger and later.
# `fetch.max.wait.ms` limits that delay. So a consumer's `fetch-latency-avg` near 500 ms is a sign
# of waiting for data, not of a slow broker.
#
# ### One slow stage
#
# This is a model of a broker, not a broker: requests arrive at random in one queue, and eight
# handlers serve it. On average, 99 of 100 requests need 0.5 ms. One in a hundred, at random, needs
# 300 ms, for example because of a slow disk. The load is chosen so that handlers are idle half of
# the time.

# %% 04-15 tags=["stub", "predict"]
lab.predict("04-15")

# %% 04-15 tags=["solution", "predict"]
lab.predict("04-15", "d")

# %% idle-and-waiting tags=["sim"]
handlers, slow_ms, idle_percent = 8, 300, 50  # try 16 handlers; try 30 ms


def quick_waits(idle_percent, slow_ms, handlers=handlers, requests=40_000, quick_ms=0.5):
    """99th percentiles: what quick requests wait for a handler, in ms; the queue's length."""
    chance, now, waits, starts, queue = random.Random(4), 0.0, [], [], []
    free_at = [0.0] * handlers
    mean_ms = 0.99 * quick_ms + 0.01 * slow_ms
    for _ in range(requests):
        now += chance.expovariate((1 - idle_percent / 100) * handlers / mean_ms)
        queue.append(len(starts) - bisect_right(starts, now))
        start = max(now, heappop(free_at))
        starts.append(start)
        is_slow = chance.random() < 0.01
        heappush(free_at, start + (slow_ms if is_slow else quick_ms))
        waits += [] if is_slow else [start - now]
    return [sorted(each)[len(each) * 99 // 100] for each in (waits, queue)]


shares = (80, 70, 60, 50, 40, 30, 20, 10, 5)
slow = {"all take 0.5 ms": 0.5, f"one in 100 takes {slow_ms} ms": slow_ms}
found = {name: [(s, *quick_waits(s, ms)) for s in shares] for name, ms in slow.items()}
waits = {name: [(s, max(0.01, wait)) for s, wait, _ in rows] for name, rows in found.items()}
queues = {name: [(s, max(0.1, queue)) for s, _, queue in rows] for name, rows in found.items()}
marks = {20: "20 %: warning", 10: "10 %: problem"}
title = "A quick request's wait for a handler, 99th percentile"
display(Chart(title, waits, "handlers idle, %", "ms (0.01: none)", marks=marks, log_y=True))
display(Chart("Queued (0.1: none), 99th percentile", queues, "handlers idle, %", log_y=True))
seen = {"wait": quick_waits(idle_percent, slow_ms)[0], "alone": quick_waits(idle_percent, 0.5)[0]}
lab.verdict("04-15", {**seen, "idle": idle_percent, "slow": slow_ms})


# %% handlers-or-disk tags=["read"]
# At the same idle share: what do more handlers change, and what does a faster disk?
def handlers_or_disk(handlers=8, slow_ms=300):
    slow = {"all take 0.5 ms": 0.5, f"one in 100 takes {slow_ms} ms": slow_ms}
    waits = {name: [(s, max(0.01, quick_waits(s, ms, handlers, 40_000)[0])) for s in shares]
             for name, ms in slow.items()}  # fmt: skip
    axes = "handlers idle, %", "ms (0.01: none)"
    return Chart(title, waits, *axes, marks=marks, log_y=True, y_within=(0.01, 10_000))


lab.slider(handlers_or_disk, handlers=(4, 8, 16, 32, 64), slow_ms=(3, 10, 30, 100, 300, 1_000))

# %% [markdown]
# A handler that waits for a disk takes nothing else from the queue. Eight such requests at the same
# moment occupy all handlers, and everything waits, including requests for other partitions. The
# mean hides this. `RequestHandlerAvgIdlePercent` is the share of time in which handlers have
# nothing to do; the usual alarms are at 20 % and 10 %. Those thresholds suit requests of one kind
# (the lower curve). With a few slow requests, the queue gets long even though handlers are idle
# half of the time. A real queue holds 500 requests (`queued.max.requests`); when it is full,
# network threads stop reading.
#
# ### In which stage is the time?
#
# A broker times every request in five stages, which add up to the total from socket to socket. A
# sixth timer, `ThrottleTimeMs`, shows how long a quota mutes the client. The next run causes four
# waits: a distant follower, large batches, a client over its quota, and a consumer that asks for
# megabytes and then does not read its socket for 0.4 s. A real broker exposes its timers through
# JMX, in whole milliseconds.

# %% 04-16 tags=["stub", "predict"]
lab.predict("04-16")

# %% 04-16 tags=["solution", "predict"]
lab.predict("04-16", "a")

# %% stages tags=["both"]
away_ms, batch_bytes, pause_s = 25, 1_000_000, 0.4
measured = {}


def four_causes(cluster):
    with ONE_SIDE, RawClient(cluster, 101, "client") as client:
        scenes.led(cluster, client, "orders", [101, 102, 103])
        scenes.led(cluster, client, "large", [101])
        timers = StageTimers(cluster, 101)
        cluster.slow(101, 103, away_ms)
        [client.ask(producing("orders", acks=-1)) for _ in range(6)]
        cluster.heal()
        distant = timers.read("a distant follower")
        [client.ask(producing("large", batch_bytes)) for _ in range(20)]
        timers.read("large batches")
        quota_scenes.over_a_limit(cluster, "large", batch_bytes)
        timers.read("over its quota")
        client.shrink()  # a small buffer, so that the answer does not fit
        client.send(large_fetch("large", 8 * batch_bytes))
        time.sleep(pause_s)
        client.receive()
        reader = timers.read("a slow reader", "FetchConsumer")
    measured[cluster.name] = timers.seen
    return {"longest, distant follower": longest(distant), "longest, slow reader": longest(reader)}


outcome = lab.both(four_causes)
display(outcome, StageChart(measured))
lab.verdict("04-16", outcome)

# %% [markdown]
# The letters in the picture are the stages: *Q* request queue, *L* local, *R* remote, *q* response
# queue, *S* response send. Remote time is time in purgatory. Local time grows with large batches
# and with slow disks. Send time grows when the client or its network is slow: the answer is ready,
# but the socket is full. A shortage of handlers or a slow disk makes *all* kinds of requests wait
# in the request queue. Small requests on a quiet cluster are so short that other work on the
# machine decides which stage is longest.
#
# ## Read the code that did it
#
# This is all of the engine's purgatory: it keeps operations by number and, for each partition, the
# numbers of the operations that watch it. When a log or a high watermark advances, the operations
# that watch its partition are checked; a timer ends the others. Find the two lines that forget an
# answered request and its timer.

# %% code-purgatory tags=["read"]
from engine.replication.purgatory import Purgatory

lab.show(Purgatory)

# %% [markdown]
# ## Break it
#
# A load generator writes with `acks=all` twice a second. Press **pause** on 102: each new hatched
# cell is a request in purgatory. The requests wait until 102 leaves the ISR, which takes a second
# here (`replica.lag.time.max.ms`; Kafka's default is 30 s). Press **resume**. Then pause 101, the
# leader: what is different?
#
# The cell after that stops 102 (on real Kafka, if it is available) and shows what an engineer sees:
# the output of Kafka's own `kafka-topics`, and the last two lines about the ISR in 101's log. Find
# the ISR in both lines.

# %% break-it tags=["live"]
from kit.probes.background_load import BackgroundLoad

lab.mend(eng)
eng.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
load = BackgroundLoad(eng, "orders", period_s=0.5)
load.wait_for(1)
lab.panel(eng, "orders")

# %% at-work tags=["live"]
load.close()
there, stopped = lab.real() or eng, 102
there.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
there.stop(stopped)
there.wait_until(lambda c: stopped not in scenes.in_sync(c, "orders"), 60, "the ISR to shrink")
display(lab.tool(there, "kafka-topics", "--describe", "--topic", "orders"))
display(lab.broker_log(there, 101, "ISR", last=2))
lab.mend(there)

# %% [markdown]
# ## Your turn
#
# Three exercises. Replace the stub with your answer, run it, then run the check below it.
# `lab.hint("04-5")` gives three hints and then a solution.
#
# **Out of purgatory** (04-5). A write with `acks=all` was appended at 0 ms; the log now ends at
# `needed`. The `fetches` reach the leader one after another: `(ms, follower, from offset)`. `isr`
# lists the in-sync followers; if it is empty, the answer is `[0, "NONE"]`. Return `[ms, "NONE"]`
# for the moment of the answer, or `[timeout, "REQUEST_TIMED_OUT"]`; a fetch at exactly `timeout` is
# in time.
#
# **The slow stage** (04-6). You have two readings of a broker's timers, as JMX exposes them:
# `{"count": 10, "sums_ms": {"RequestQueueTimeMs": 5.0, …}}`, both counted since the broker started.
# Return the stage that took longest between the readings, and its mean over that time, rounded to
# three places: `["RemoteTimeMs", 6.0]`. Return None if no request came in.
#
# **A patient reader** (04-7). A 4 kB record arrives every 20 ms. Choose settings for a reader that
# sends at most three fetches a second and gets no record later than 600 ms after it was written.
# The judge runs it in the simulator.


# %% 04-5 tags=["stub"]
def answered(fetches, isr, needed, timeout):
    """When the write is answered, and with what."""


# %% 04-5 tags=["solution"]
def answered(fetches, isr, needed, timeout):
    """When the write is answered, and with what."""
    missing, now = set(isr), 0
    for now, follower, offset in fetches if missing else []:
        if offset >= needed and now <= timeout:
            missing.discard(follower)
        if not missing:
            return [now, "NONE"]
    return [timeout, "REQUEST_TIMED_OUT"] if missing else [0, "NONE"]


# %% 04-5 tags=["check"]
lab.check("04-5", answered)


# %% 04-6 tags=["stub"]
def slow_stage(before, after):
    """The slowest stage between two readings, and its mean."""


# %% 04-6 tags=["solution"]
def slow_stage(before, after):
    """The slowest stage between two readings, and its mean."""
    count = after["count"] - before["count"]
    if not count:
        return None
    spent = {name: total - before["sums_ms"][name] for name, total in after["sums_ms"].items()}
    name = max(spent, key=spent.get)
    return [name, round(spent[name] / count, 3)]


# %% 04-6 tags=["check"]
lab.check("04-6", slow_stage)

# %% 04-7 tags=["stub"]
reader = {"fetch.min.bytes": 1, "fetch.max.wait.ms": 500}

# %% 04-7 tags=["solution"]
reader = {"fetch.min.bytes": 100_000, "fetch.max.wait.ms": 500}

# %% 04-7 tags=["check"]
lab.check("04-7", reader)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it.
#
# <details><summary><b>1. What happens between a producer's send and its acknowledgement?</b></summary>
#
# A network thread reads the request and queues it. A handler checks the batch, assigns offsets and
# appends it to the page cache. With `acks=all` the request waits in purgatory until the ISR has
# fetched past it. The answer goes through the response queue to the socket.
#
# *Follow-up:* is the record on disk by then? (No; replication stands in for the flush.)
#
# *Weak:* "it is written to all replicas". *Good:* the stages in order. *Strong:* the follower's
# next fetch as acknowledgement, and every ISR member, not `min.insync.replicas`.
#
# *Evidence:* <a href="#The-path-of-one-Produce-request">The path of one Produce request</a>.
# </details>
# <details><summary><b>2. Does Kafka push to consumers?</b></summary>
#
# No. A consumer fetches, and the fetch may wait at the broker, so a new record leaves at once.
#
# *Follow-up:* what do 500 idle consumers cost? (Each costs a waiting fetch and two answers a
# second.)
#
# *Weak:* "it polls". *Good:* long polling with both conditions. *Strong:* what `fetch.min.bytes`
# costs in delay, and what `fetch-latency-avg` means on an idle topic.
#
# *Evidence:* <a href="#A-fetch-that-waits">A fetch that waits</a>.
# </details>
# <details><summary><b>3. One producer, five requests in flight, one is slow. What happens to the others?</b></summary>
#
# They wait behind it: the broker handles one request per connection at a time, and answers in
# order. Other connections are not affected.
#
# *Follow-up:* then what do requests in flight save? (The travel time between two requests.)
#
# *Weak:* "the correlation id sorts it out". *Good:* answers in order. *Strong:* the muted
# connection, and why order under retries depends on it.
#
# *Evidence:* <a href="#What-waits-behind-a-slow-request">What waits behind a slow request</a>.
# </details>
# <details><summary><b>4. Produce latency has doubled. What do you look at first?</b></summary>
#
# The six timers of Produce on the leader. Queue: handlers. Local: disk, or large batches. Remote:
# followers. Throttle: a quota. Send: the client or its network.
#
# *Follow-up:* what if queue time is up for all kinds of requests? (Handlers are busy or blocked.)
#
# *Weak:* "CPU and disk". *Good:* names the timers. *Strong:* takes the difference of two readings,
# and compares request kinds.
#
# *Evidence:* <a href="#In-which-stage-is-the-time?">In which stage is the time?</a>
# </details>
# <details><summary><b>5. Handlers are 50 % idle, and requests time out. How can that be?</b></summary>
#
# A few requests hold handlers for a long time. While those requests hold all the handlers,
# everything queues up, but the mean over a minute does not show it.
#
# *Follow-up:* do more handlers help? (They make such queues rarer, but the slow stage remains.)
#
# *Weak:* "then it is the network". *Good:* the queue before the handlers. *Strong:* compares high
# percentiles of `RequestQueueTimeMs` with the idle mean, then looks for the slow disk.
#
# *Evidence:* <a href="#One-slow-stage">One slow stage</a>.
# </details>
# <details><summary><b>6. Read this: what happened?</b></summary>
#
# ```
# Topic: orders  Partition: 0  Leader: 101  Replicas: 101,102,103  Isr: 101,103  Elr:  LastKnownElr:
# Topic: pays    Partition: 0  Leader: 103  Replicas: 103,101,102  Isr: 103,101  Elr:  LastKnownElr:
# Topic: audit   Partition: 0  Leader: 101  Replicas: 101,103      Isr: 101,103  Elr:  LastKnownElr:
# ```
#
# Broker 102 is missing from every ISR that it belongs in, under either leader: the problem is 102,
# not a leader or a partition. Writes with `acks=all` waited in purgatory until 102 had left the
# ISR; since then, they have continued.
# </details>
#
# ## Quiz
#
# Several letters may be right: `lab.quiz("04-8", "a", "b")`.

# %% 04-8 tags=["stub", "predict", "quiz"]
lab.quiz("04-8")

# %% 04-8 tags=["solution", "predict", "quiz"]
lab.quiz("04-8", "b", "d")

# %% 04-9 tags=["stub", "predict", "quiz"]
lab.quiz("04-9")

# %% 04-9 tags=["solution", "predict", "quiz"]
lab.quiz("04-9", "a")

# %% [markdown]
# ## Deeper: one request, measured
#
# Virtual time shows only waits. Here is one request that the engine served over a socket and timed
# in microseconds.

# %% measured-timeline tags=["live"]
eng.create_topic("orders", assignment={0: [101, 102, 103]})
with RawClient(eng, 101, "followed") as client:
    for _ in range(5):
        client.ask(producing("orders", 1_000, acks=-1))
request_path.measured_timeline(eng, "followed")

# %% [markdown]
# Sending is one system call, which also wakes the client, so on a busy machine it can be the
# longest stage of a small request.
#
# ## Deeper: the threads
#
# Only a real broker has thread pools. Their sizes are settings; two of the values below belong to
# other sections of this notebook. One acceptor per port hands new connections to that port's
# network threads.
#
# You may read that network threads only move bytes and are therefore seldom the bottleneck. Let the
# run decide. Six connections write without a pause, first small records, then large ones; the table
# shows for what share of the time each kind of thread had nothing to do. A connection belongs to
# one network thread, so network threads are listed individually, but handlers take work from any
# connection. The third table lists what a dashboard shows for each kind of request: how many there
# were per second, and how long they took from socket to socket, as a mean and as a high percentile.

# %% threads tags=["both"]
from lessons.nb04_broker import broker_threads

sizes, seconds = (100, 200_000), 2
display(lab.both(scenes.settings))
real, idle = lab.real(), {}
if real is not None and real.name == "local":
    display(broker_threads.threads(real))
    real.create_topic("orders", assignment={0: [101]})
    for size in sizes:
        with broker_threads.flood(real, "orders", size):
            idle[f"{size:,} bytes a record"] = broker_threads.idle_shares(real, seconds)
    display(broker_threads.total_times(real))
broker_threads.idle_table(idle)

# %% [markdown]
# There are three network threads and eight handlers, so the same work makes a network thread busier
# than a handler. TLS adds to that work, because network threads do the encryption. Watch both
# `NetworkProcessorAvgIdlePercent` and `RequestHandlerAvgIdlePercent`, and enlarge the pool that has
# no idle time left.
#
# Now follow one request through both pools. A broker can log each request, with its client and its
# time in each stage: the logger is `kafka.request.logger`, and its level can be changed while the
# broker runs. The cell logs a small write to an idle broker. Then it logs the same write while
# twenty other connections write batches that hold 10 MB of zeros each, in 10 kB of gzip. A broker
# has to decompress a batch to check it.

# %% request-log tags=["live"]
from kit.clusters import broker_metrics
from lessons.nb04_broker import request_log

connections, client_id = 20, "till-4"
if real is None or real.name != "local":
    print("A request log needs a local Kafka.")
else:
    with RawClient(real, 101, client_id) as client:
        scenes.led(real, client, "orders", [101])
        scenes.led(real, client, "zeros", [101])
        with request_log.switched_on(real, 101, client_id) as log:
            client.ask(producing("orders"))
            alone, zeros = log.next(), broker_threads.zeros()
            with broker_threads.flood(real, "zeros", connections=connections, records=zeros):
                queued = broker_metrics.gauges(real, 101).request_queue
                client.ask(producing("orders"))
                crowded = log.next()
    most = scenes.settings(real)["queued.max.requests"]
    closing = f"RequestQueueSize beside busy handlers: {queued}. queued.max.requests: {most}."
    print(alone.beginning)
    print(request_log.stages({"alone": alone, "beside busy handlers": crowded}, closing))

# %% [markdown]
# The line names the client (`clientId`), the kind of request and its fields. In the table, a network
# thread has read the request before the first stage, a handler works on it in *local*, and a
# network thread writes the answer in *response send*. In the other stages, it waits. Beside the
# twenty connections, the second write waits in the request queue for a handler; its own work takes
# hardly longer. All the large batches go to one partition, whose log takes one append at a time. So
# most of the handlers only wait for their turn, and yet they are not free.
#
# ## Deeper: acknowledged, and not on any disk
#
# The append ends in the page cache; the operating system writes the page cache to disk when it
# chooses. Here the leader's machine loses power right after it answers a write with `acks=all`.

# %% page-cache tags=["sim"]
broker_runs.page_cache()

# %% [markdown]
# The log on 101 is empty after the power loss: nothing had been flushed. The records survive,
# because two other brokers hold them. If all three lose power at the same moment, the records are
# lost.
#
# ## Deeper: fewer and larger fetches
#
# The picture shows one Fetch request; a producer writes 120 ms after the request reaches the
# broker. The charts show the trade-off in `fetch.min.bytes` for one reader and a 1 kB record every
# 20 ms, with a curve for each time limit.

# %% fewer-and-larger tags=["sim"]
display(request_path.fetch_timeline(cluster(minimum=2), max_wait_ms=500, write_after_ms=120))
sizes = (1, 5_000, 10_000, 20_000, 30_000, 50_000, 80_000)
fetches, delays = {}, {}
for max_wait_ms in (500, 2_000):
    name = f"at most {max_wait_ms} ms"
    fetches[name], delays[name] = broker_runs.fetch_curves(max_wait_ms, sizes)
saved, cost = "What fetch.min.bytes saves", "What it costs: the longest delay of a record"
display(Chart(saved, fetches, "fetch.min.bytes", "fetches a second", log_y=True))
display(Chart(cost, delays, "fetch.min.bytes", "ms"))

# %% [markdown]
# The record leaves as soon as it is committed, since a consumer reads only up to the high
# watermark. In the charts, the curves diverge where the time limit ends the wait before enough
# bytes have arrived.
#
# ## Deeper: fetch sessions
#
# A consumer of fifty partitions names them once. From then on, its requests name only changes, and
# the answers carry only news (KIP-227). Each request carries the next session epoch, so a lost or
# repeated request is noticed.

# %% sessions tags=["both"]
lab.both(scenes.fetch_session)

# %% [markdown]
# ## Deeper: old clients, new clients, broken bytes
#
# Three scenes run on both sides: a cluster and what it counts; a client that speaks protocol
# versions from 2017 and from today, and one that is too old (KIP-896); and a batch with one flipped
# bit.

# %% first-requests tags=["both"]
lab.both(scenes.first_requests)

# %% [markdown]
# ## Deeper: requests that no client waits for any more
#
# The leader is paused. A client makes four attempts to write, each on a new connection, and gives
# up each time. Then the leader resumes.
#
# The chart after the run is a model: 80 requests a second and one handler, which needs 10 ms for
# each request, but 50 ms during a period of three seconds. In one line, all the clients wait for
# their answers; in the other, each client gives up after a second and makes a second attempt.

# %% retries tags=["both"]
display(lab.both(scenes.retries_pile_up))
broker_runs.queue_with_retries(timeout_s=1)

# %% [markdown]
# The broker cannot know that no client is waiting, and it does all the old work. So a
# `request.timeout.ms` that is too short makes a slow broker slower. In the model, the handler is
# quick again after 8 s, yet the queue in the second line keeps growing: each request waits for more
# than a second, so each is sent twice. (The producer here is not idempotent; notebook 08 has the
# cure for the duplicates.)
#
# ## Deeper: metadata, and requests that change it
#
# Any broker answers a Metadata request from its own copy of the metadata, and a client keeps what
# it has learned. No broker forwards a Produce request; the wrong broker returns an error. A client
# that gets no error refreshes its metadata after `metadata.max.age.ms` (5 minutes; here
# librdkafka's `topic.metadata.refresh.interval.ms`, set to half a second). A broker forwards
# requests that change the cluster to the controller, each inside an *Envelope* request. The
# deletion below is sent to 102, while 103 is cut off from the controller.

# %% metadata tags=["both"]
from lessons.nb04_broker import metadata_scenes

lab.both(metadata_scenes.metadata_and_admin)

# %% [markdown]
# Broker 103 answers from its old copy until it hears the news. A deletion is acknowledged once the
# controller has written it down. The files may still be there: a real broker renames the directory,
# with the log in it, and removes it after `log.segment.delete.delay.ms` (a minute). The last row
# shows this for a topic that was deleted earlier, by two lines of 101's log. The engine removes the
# directory at once.
#
# ## Deeper: quotas
#
# A byte quota limits a client's bytes per second on each broker. The limit below is for one client
# id. Two connections share the id: the first sends eight seconds' worth of bytes; the second sends
# four more seconds' worth, and then one small request, regardless of what the answer says.

# %% 04-2 tags=["stub", "predict"]
lab.predict("04-2")

# %% 04-2 tags=["solution", "predict"]
lab.predict("04-2", "b")

# %% over-its-rate tags=["both"]
limit, first, second = 50_000, 400_000, 200_000  # bytes a second; bytes


def over_its_rate(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    name = f"greedy-{time.time_ns()}"
    quota = quota_scenes.limited(cluster, {"client-id": name}, producer_byte_rate=limit)
    with quota, RawClient(cluster, 101, name) as one, RawClient(cluster, 101, name) as twin:
        within = one.ask(producing("orders", first))
        began = time.monotonic()
        over = twin.ask(producing("orders", second))
        answered_s, throttle_s = time.monotonic() - began, over.throttle_time_ms / 1000
        twin.send(producing("orders", 10))
        unread = twin.receive(throttle_s / 2) is None
        silent_s = quota_scenes.answered(twin, unread) - began
    settled = quota_scenes.settles(first + second, limit, throttle_s)
    return {
        "throttle time of the first request": within.throttle_time_ms,
        "its error": scenes.error(first_partition(over).error_code),
        "its throttle time": lab.measured(throttle_s, "s"),
        "answered before half of that time": answered_s < throttle_s / 2,
        "the next request lies unread then": unread,
        "it is answered after": lab.measured(silent_s, "s"),
        "mean rate with the wait is the limit": settled,
    }


outcome = lab.both(over_its_rate)
display(outcome)
lab.verdict("04-2", outcome)

# %% [markdown]
# There is no error, and no late answer: the broker answers at once, names the throttle time, and
# does not read from the connection until that time is over (KIP-219, since 2.0). Older brokers held
# the answer back, and clients timed out and sent the request again.
#
# A byte quota is a rate over eleven one-second windows: ten full windows and the one being filled.
# So ten seconds' worth of bytes may pass in one burst. Over the limit, the throttle time is how
# long the rate would take to fall to the limit if nothing more came in.
#
# A client that sends as fast as the broker reads stays near the limit in the long run, but not
# evenly: after the burst, a request gets through only now and then, until the window with the burst
# is too old to count. And each broker counts separately: with three leaders, a client gets three
# times the limit.

# %% quota-arithmetic tags=["sim"]
display(broker_runs.quota_arithmetic())
accepted = {"accepted": broker_runs.accepted(for_s=51)}
title = "One client, producer_byte_rate=100000"
display(Chart(title, accepted, "seconds", "kB in a second", kind="step"))
broker_runs.one_broker_or_three()

# %% [markdown]
# Limits are set with `kafka-configs.sh --entity-type clients`, or through the AlterClientQuotas
# request behind it. There are four keys; a misspelled one is refused. Under *consumer_byte_rate*, a
# fetch over the limit comes back empty. *request_percentage* counts the time that requests cost, as
# a share of one thread: the whole is (`num.io.threads` + `num.network.threads`) × 100 %, which is
# 1100 % with the defaults of 8 and 3. *controller_mutation_rate* counts partitions created and
# deleted, in a bucket that may go into debt: at a rate of 1, it holds eleven tokens, and 11 - 14 =
# -3 means three seconds until the next request is accepted. Only this limit has an error of its
# own; clients too old to know the error are muted instead (KIP-599).
#
# Limits exist because one greedy client can take the broker away from all the others. At the end, a
# quiet client sends small writes: first alone, then alongside a flood from four connections, and
# then alongside the same flood with a limit.

# %% over-the-limit tags=["both"]
lab.both(quota_scenes.other_limits)

# %% [markdown]
# **The throttle time.** A client has sent `in_windows` bytes, counted over `over_s` seconds; its
# limit is `limit` bytes a second. For how many milliseconds is it muted?


# %% 04-4 tags=["stub"]
def throttle_time_ms(in_windows, over_s, limit):
    """The throttle time that the broker answers, in whole milliseconds."""


# %% 04-4 tags=["solution"]
def throttle_time_ms(in_windows, over_s, limit):
    """The throttle time that the broker answers, in whole milliseconds."""
    rate = in_windows / over_s
    return max(0, round((rate - limit) / limit * over_s * 1000))


# %% 04-4 tags=["check"]
lab.check("04-4", throttle_time_ms)

# %% 04-10 tags=["stub", "predict", "quiz"]
lab.quiz("04-10")

# %% 04-10 tags=["solution", "predict", "quiz"]
lab.quiz("04-10", "a", "c")

# %% [markdown]
# ## Deeper: what readers cost
#
# First come idle readers: each has one fetch in purgatory, for a megabyte from a quiet topic, and
# asks again when its half second is over. Then come readers of a stream, first with
# `fetch.min.bytes=1` and then with 100,000; and finally a reader at the tail, and a replay from the
# beginning. Before the replay, the pages are dropped from the cache, as might happen after a few
# hours.

# %% readers tags=["both"]
from lessons.nb04_broker import reader_costs

local_sides = lab.real() is None or lab.real().name == "local"
lab.both(reader_costs.what_readers_cost) if local_sides else "This looks into local processes only."

# %% [markdown]
# A waiting fetch costs next to nothing. Readers of a stream cost a request for each answer, so with
# a larger `fetch.min.bytes`, they get the same records in fewer and larger answers, and the broker
# has less to do. At the tail, all reads come from memory.
#
# ## Deeper: too many connections
#
# Flood broker 103 with connections. `max.connections.per.ip` is lowered while the broker runs;
# `max.connections.per.ip.overrides` makes an exception for one address; `max.connections` counts
# all addresses together. The kit's own connections count as well, so the flood gets fewer
# connections than the limit allows.

# %% too-many tags=["both"]
from lessons.nb04_broker import connection_scenes

lab.both(connection_scenes.connection_limits)

# %% [markdown]
# A connection over its address's limit is closed at once, but a connection over the limit for all
# addresses waits until another connection ends.
#
# ## Deeper: source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | a Produce request holds acks, topic, partition, records | also a transactional id and a timeout and, since version 13, the topic's id | [The bytes of one request](#The-bytes-of-one-request) |
# | brokers serve clients of any age | Java clients from 2.1 on are supported; 4.0 dropped the oldest versions, Produce 0–2, Fetch 0–3, ListOffsets 0 (KIP-896), and closes the connection of a client that uses them | [Old clients, new clients](#Deeper:-old-clients,-new-clients,-broken-bytes) |
# | network threads only move bytes, so they are seldom the limit | there are fewer of them; which pool has less idle time left depends on the load | [The threads](#Deeper:-the-threads) |
# | a client over its quota gets its answer late | since 2.0, the answer has come at once, and the channel is muted (KIP-219) | [Quotas](#Deeper:-quotas) |
# | a quota of 10 MB/s is 10 MB/s | on each broker, as a mean over eleven windows: ten seconds' worth may come in one burst | [Quotas](#Deeper:-quotas) |
# | `producer_bytes_rate`, `consumer_bytes_rate`, `controller_mutations_rate` | refused: the keys are `producer_byte_rate`, `consumer_byte_rate`, `controller_mutation_rate` | [Quotas](#Deeper:-quotas) |
# | three kinds of quota | four since 2.7, which added mutations; connections per IP can be limited, too (KIP-612) | [Quotas](#Deeper:-quotas) |
# | `request_percentage` is a share of the machine | of one thread; the whole is 1100 % with 8 and 3 threads | [Quotas](#Deeper:-quotas) |
# | Kafka forwards messages to consumers as they arrive | a consumer asks; a waiting fetch is answered when messages arrive | [A fetch that waits](#A-fetch-that-waits) |
# | DeleteTopic waits in purgatory until the brokers have deleted the topic | the controller answers when its record is committed; that purgatory went away with ZooKeeper | [Metadata](#Deeper:-metadata,-and-requests-that-change-it) |
# | 99.99 % of reads come from the cache | true in spirit at the tail (no byte came from disk here), but not for a replay | [What readers cost](#Deeper:-what-readers-cost) |
# | zero copy, always | not on TLS connections: bytes pass through the process to be encrypted | – |
#
# **What real Kafka does beyond the engine.**
#
# * Three network threads per listener and eight handlers work at the same time; a listener may
#   have its own limits and its own threads. The engine has one thread.
# * Answers to fetches go from the page cache to the socket without passing through the process
#   (`sendfile`), unless the connection is encrypted. The engine reads a slice and writes it.
# * With authentication, a quota can apply to a user; without it, every client, on the engine as
#   well, is `User:ANONYMOUS` (notebook 17).
# * Followers have quotas of their own, for moving partitions (notebook 13).
# * Kafka can limit new connections per second and per address (KIP-612); the engine refuses such
#   limits.
