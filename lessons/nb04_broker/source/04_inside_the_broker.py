# %% [markdown]
# # 04 · Inside the broker
#
# A producer says `acks=all` and gets its answer after two milliseconds. What happened in them?
# This notebook follows one request from its socket to purgatory and back, then a fetch, and then
# asks of every stage on the way: how do I see that this one is slow, and who made it so?
#
# **What you will be able to do**
#
# * read a request byte by byte, and say what a broker does with each part
# * draw the way of a Produce and of a Fetch request through a broker, with the waits in it
# * tell from a broker's timers which stage is the slow one
# * choose `fetch.min.bytes` and `fetch.max.wait.ms`, and say what a fetch session saves
# * set quotas, foresee the throttle time, and explain what the client notices
#
# Python alone is enough; with a real Kafka beside it, the side-by-side cells run on both. Allow
# 45 minutes.
#
# **The words**
#
# * **network thread**: reads requests from sockets and writes answers; three per listener, that
#   is, per port.
# * **request queue**, **response queue**: where requests wait for a handler, and answers for their
#   network thread.
# * **request handler**, or I/O thread: does the work; eight by default.
# * **purgatory**: where a request lies that cannot be answered yet.
# * **throttle time**: how long a client that took too much will not be read from.
#
# **What is different in the engine.** It is one thread, an event loop, for all brokers: no pools,
# no queues between threads. The stages are there all the same, as moments of one request, and it
# measures them with Kafka's names. Where the pools themselves matter, a cell runs on a real Kafka
# only and says so.

# %% doorway tags=["setup"]
from kit import lab
from kit.probes.one_partition import cluster
from lessons.nb04_broker import (
    broker_runs,
    connection_scenes,
    load_scenes,
    metadata_scenes,
    quota_scenes,
    request_bytes,
    request_path,
    scenes,
)

eng = lab.engine(settings=lab.BRISK)

# %% [markdown]
# ## Predict
#
# Three questions before you run anything. The first answer is the one that is kept.

# %% 04-1 tags=["stub", "predict", "quiz"]
lab.quiz("04-1")

# %% 04-1 tags=["solution", "predict", "quiz"]
lab.quiz("04-1", "c")

# %% 04-2 tags=["stub", "predict", "quiz"]
lab.quiz("04-2")

# %% 04-2 tags=["solution", "predict", "quiz"]
lab.quiz("04-2", "c")

# %% 04-3 tags=["stub", "predict", "quiz"]
lab.quiz("04-3")

# %% 04-3 tags=["solution", "predict", "quiz"]
lab.quiz("04-3", "b")

# %% [markdown]
# ## Run it on the engine
#
# ### A request is a header and a body
#
# These are the bytes of a Produce request, as a client of Kafka 4 sends them. The header is the
# same for every request: which API (the *key*) and in which version, so that old and new clients
# can be told apart; a correlation id, which the answer repeats; the client id, which turns up in
# logs, metrics and quotas. The body says `acks`, a timeout, and a batch for each partition. The
# topic goes by its id in version 13, which came with the 4.x line; before, by its name. Newer
# versions store a length plus one, and 0 is *null*: `02` is one topic, `5c` are 91 bytes.

# %% anatomy tags=["sim"]
request_bytes.anatomy()

# %% [markdown]
# *Tagged fields* are room for what later versions add. *Magic* is the version of a batch's format,
# and *CRC* its checksum.
#
# The same header, other keys. A follower's fetch is a consumer's fetch with a replica id in it: -1
# is a consumer, a broker's number a follower. Requests that change the cluster look no different
# either, but a broker does not decide on them: it passes them on to the controller, as it never
# does with a Produce request.

# %% one-header tags=["sim"]
request_bytes.other_requests()

# %% [markdown]
# ### What the broker does with a batch
#
# Little, on purpose. The client has chosen the partition, packed the batch, compressed it; a
# consumer will keep its own position and unpack it. The broker checks the CRC, gives offsets,
# appends, and hands out the same bytes. A compressed batch is opened to be checked, but written
# as it came, unless the topic's `compression.type` asks for another.
#
# Below, a batch is compared with what lies on the disk: the base offset and the leader epoch have
# been written into it, nothing else has been touched. Both lie before the part that the CRC
# covers, so it need not be computed anew.

# %% same-bytes tags=["sim"]
request_bytes.stored_bytes(cluster())

# %% [markdown]
# ### One Produce request
#
# Virtual time: the network has delays, and the brokers' own work takes none, so all that remains
# is who waits for whom. The step at 101 is a moment. Both followers already have a fetch waiting at
# 101; the append answers it, and the request lies in purgatory. Each follower's next fetch, *from
# 1*, tells the leader that it has the record. When the slower of the two has asked, the high
# watermark moves, and that is the answer.

# %% produce-timeline tags=["sim"]
request_path.produce_timeline(cluster(minimum=2))

# %% [markdown]
# The answer does not wait for a disk. The append ends in the page cache of the operating system,
# which writes when it likes (`log.flush.interval.messages` is the largest number there is). Here
# the leader's machine loses power right after the answer: what it had not flushed is gone, its
# log is empty. The records are not lost, because two others hold them. If all three lose power
# in the same moment, they are.

# %% page-cache tags=["sim"]
broker_runs.page_cache()

# %% [markdown]
# ### One Fetch request
#
# A consumer at the end of the log asks for more. There is nothing, so the broker does not answer:
# the fetch waits in purgatory, for `fetch.max.wait.ms` at most. This is *long polling*. The
# consumer asks, never the broker. Here somebody writes 120 ms later: the record leaves in the
# moment in which it is committed, since a consumer may read only up to the high watermark.

# %% fetch-timeline tags=["sim"]
request_path.fetch_timeline(cluster(minimum=2))

# %% [markdown]
# With `fetch.min.bytes` the broker waits for more than one byte. Fewer, larger answers, and later
# ones. Either condition ends the wait: enough bytes, or enough time. (librdkafka calls the second
# `fetch.wait.max.ms`.)

# %% fewer-and-larger tags=["sim"]
broker_runs.fewer_and_larger()

# %% [markdown]
# ### Queues
#
# A handler that is free takes a request at once; when all are busy, requests queue. How long the
# queue gets is not a matter of taste. This is a model, not a broker: eight handlers, requests that
# arrive by chance, one millisecond of work on average, some much more.
#
# `RequestHandlerAvgIdlePercent` is the share of time in which handlers have nothing to do. At 20 %
# the slowest request in a hundred waits for more than two milliseconds before it is begun, and
# below 10 % it goes up steeply. Hence the two lines that people draw, at 20 % and 10 %. A real
# queue holds 500 requests (`queued.max.requests`); when it is full, network threads stop reading.

# %% idle-and-waiting tags=["sim"]
broker_runs.idle_and_waiting()

# %% [markdown]
# ### Quotas
#
# A byte quota is a rate over eleven windows of a second: ten full ones and the one that is
# filling. Ten seconds' worth may pass at once. Over the limit, the throttle time is the time that
# would bring the rate down to the limit if nothing more came. In the column *over* stand the ten
# full seconds and the part of the current one.

# %% quota-arithmetic tags=["sim"]
broker_runs.quota_arithmetic()

# %% [markdown]
# A client that sends as fast as it is read. Its rate is near the limit in the long run, but it
# does not come evenly: after the burst a request now and then, until the window with the burst is
# too old to count, twelve seconds later. Then there is room for the next burst. A real broker
# does the same.

# %% settling tags=["sim"]
broker_runs.settling()

# %% [markdown]
# Every broker counts for itself. The same client with the same limit, writing to three partitions:
# led by one broker it has the limit once, led by three it has it three times.

# %% one-broker-or-three tags=["sim"]
broker_runs.one_broker_or_three()

# %% [markdown]
# ## Read the code that did it
#
# This is purgatory, the whole of it: operations by number, and for each partition the numbers of
# those that watch it. When a partition's log or high watermark advances, its watchers are tried; a
# timer ends the rest.
# Find the place where a request that has been answered is forgotten, and its timer with it.

# %% code-purgatory tags=["read"]
from engine.replication.purgatory import Purgatory

lab.show(Purgatory)

# %% [markdown]
# And this is where an answer is held against the quotas on its way out. Follow `mute_ms`: the
# longest of three times, for bytes, for the time that the request has cost, and what the
# controller asks for (the last two: [Quotas on both](#Quotas-on-both)). A fetch over its limit is
# answered empty, and what it would have taken is taken back from the account.

# %% code-quotas tags=["read"]
from engine.quotas.client_quotas import ClientQuotas

lab.show(ClientQuotas._charge_reply)

# %% [markdown]
# ## The same on a real Kafka
#
# From here on a cell talks to real sockets. `lab.both` runs one function on the engine and on
# Kafka 4.3.1 and compares what came out; rows with a dot are measurements, which nobody compares.
# Requests are sent raw, one frame at a time, so that no client retries or waits behind our back.

# %% real-side tags=["live"]
real = lab.real()
real or lab.real_absence()

# %% [markdown]
# Three brokers, each with an address and a directory of its own. A record gets its offset, and
# the batch comes back as long as it was sent. A broker counts its requests by kind; followers ask
# all the time. Then a client speaks versions of 2017 and of today and both work; a version that
# 4.0 has dropped costs the connection (KIP-896). And a batch with one flipped bit is refused whole.

# %% first-requests tags=["both"]
lab.both(scenes.first_requests)

# %% [markdown]
# ### Waiting, and who waits behind it
#
# A follower is paused, so a write with `acks=all` waits. A second request was sent on the same
# connection: it is not even read, since answers on a connection come in the order of the
# requests. Another connection is served meanwhile. When the follower moves on, both answers come,
# in order.
#
# Then the leader itself stands still, and a client gives up four times and tries again. The
# broker cannot know that nobody waits any more: it does all the old work when it wakes. That is
# how a `request.timeout.ms` that is too short makes a slow broker slower.

# %% waiting tags=["both"]
lab.both(scenes.waiting_scenes)

# %% [markdown]
# ### Fetching
#
# The long poll again, timed: half a second when nothing comes; when something does, at once after
# the write, which itself waits for its followers. After a write that nobody has asked for, not a
# byte is on the wire: Kafka does not push.
#
# And a *session* (KIP-227). A consumer of fifty partitions names them once. From then on its
# requests name only changes, and answers only news; the numbers are bytes. Each request carries
# the next session epoch, and one that was lost or repeated is noticed.

# %% fetching tags=["both"]
lab.both(scenes.fetching_scenes)

# %% [markdown]
# ### Metadata, and requests that change it
#
# Any broker answers a Metadata request from its own copy, so a client may ask whom it likes, and
# then keeps what it heard. No broker passes a Produce request on: the wrong one says so, and the client asks
# again. Who has no reason to ask looks at the metadata after `metadata.max.age.ms` at the latest
# (5 minutes; here librdkafka's `topic.metadata.refresh.interval.ms`, set to half a second). A
# deletion is answered when the controller has written it down; the files may still be there: a
# real broker renames the directory and removes it after `file.delete.delay.ms`, a minute, the
# engine removes it at once.

# %% metadata tags=["both"]
lab.both(metadata_scenes.metadata_and_admin)

# %% [markdown]
# ### Six timers
#
# Every broker times every request in five stages, which add up to the whole, from socket to socket.
# A sixth timer, `ThrottleTimeMs`, is how long the client is muted afterwards. Here is one request
# as the engine has measured it, in microseconds. Sending is one system call that also wakes the
# client; on a busy machine it can be the longest stage of a small request.

# %% measured-timeline tags=["live"]
from kit.probes.raw_client import RawClient
from kit.probes.requests import producing

eng.create_topic("orders", assignment={0: [101, 102, 103]})
with RawClient(eng, 101, "followed") as client:
    for _ in range(5):
        client.ask(producing("orders", 1_000, acks=-1))
request_path.measured_timeline(eng, "followed")

# %% [markdown]
# Now cause a wait in one stage after the other: distant followers show in `RemoteTimeMs`, large
# batches in `LocalTimeMs` (a slow disk would, too), a client over its quota in `ThrottleTimeMs`, a
# reader that is slow to read in `ResponseSendTimeMs` of its fetches. Only when handlers are scarce
# do requests wait in the queues.
#
# A real broker's timers come out by JMX, each rounded to whole milliseconds. Notebooks 18 and 19
# have more of it; here the kit asks the JVM to open an agent on loopback for the half second that
# a reading takes.

# %% stages tags=["both"]
metrics_side = real is None or real.name == "local"
timers = {}


def stages(cluster):
    return load_scenes.stages(cluster, timers)


outcome = lab.both(stages) if metrics_side else "The timers need a local Kafka."
outcome

# %% [markdown]
# The same means as a picture. Each bar is the whole of a request's time; what follows it, the
# client's silence, stands apart. Look for the largest part and compare the two sides: distant
# followers show in the same stage on both, and as a rule so do large batches and the slow reader,
# though not with the same milliseconds. Where all parts are short, as in the first two rows, a
# busy machine decides.

# %% stage-chart tags=["live"]
from lessons.nb04_broker.stage_chart import StageChart

StageChart(timers)

# %% [markdown]
# The threads themselves exist on a real broker only. One acceptor per port hands new connections
# to the network threads of that port. Network threads only move bytes, so they are seldom the
# limit (encryption is work for them). `request_percentage` counts the time of both kinds. Its
# whole is 1100 in Kafka's documentation, 3 + 8 threads: that counts one listener, and here are two.

# %% threads tags=["live"]
has_threads = real is not None and real.name == "local"
load_scenes.threads(real) if has_threads else lab.real_absence() or "Threads need a local Kafka."

# %% [markdown]
# ### Quotas on both
#
# Limits are set with `kafka-configs.sh --entity-type clients`, or by the AlterClientQuotas request
# behind it, which the Python clients do not offer; so the cell sends it. There are four keys; what
# is misspelt is refused. A limit may be for one client id; a *default* limit applies to each
# client id separately. Below, a few of the brokers' own defaults.

# %% quota-keys tags=["both"]
lab.both(quota_scenes.limits_and_defaults)

# %% [markdown]
# *Producer*: two connections with one client id. The first uses up eight of the ten seconds'
# worth; the second sends four more. No error: the batch has its offset, and the answer
# comes at once and names a throttle time. This client is impolite and sends on. Its bytes lie
# unread in the socket until the time is over. A client with another id does not notice.
# *Consumer*: an empty answer and a throttle time; the record comes later.
#
# Two limits do not count bytes. *request_percentage* counts the time that requests have cost, as a
# share of one thread: many tiny requests are caught by it, for a window of a second at most.
# *controller_mutation_rate* counts partitions made and deleted, in a bucket: at a rate of 1 it holds
# eleven, and may go into debt. 11 - 14 = -3: three seconds until the next. It is the only limit
# with an error of its own; older clients, which do not know it, are muted instead (KIP-599).

# %% over-the-limit tags=["both"]
lab.both(quota_scenes.over_the_limit)

# %% [markdown]
# Why all this: one greedy client takes the broker from everybody. A quiet client sends small
# writes, alone, beside a flood by four connections, and beside the same flood with a limit, which
# ends it after its burst.

# %% neighbours tags=["both"]
lab.both(quota_scenes.neighbours)

# %% [markdown]
# ### What readers cost
#
# A hundred idle readers cost a broker little: each has one fetch in purgatory, and asks again when
# its half second is over. Readers at the tail are served from the page cache, since the bytes were
# written a moment ago. For a replay from the beginning the pages are dropped first, as they might
# be after some hours: now the disk delivers the bytes.

# %% readers tags=["both"]
lab.both(load_scenes.what_readers_cost) if metrics_side else "This looks into local processes only."

# %% [markdown]
# ## Break it
#
# Flood broker 103 with connections. `max.connections.per.ip` is lowered while the broker runs:
# who comes after the tenth is closed at once. `max.connections.per.ip.overrides` makes an
# exception for one address. And with `max.connections`, for all addresses together, the next one
# waits until somebody leaves. The kit's own connections count as well, so fewer of the crowd are
# served than the limit says.

# %% too-many tags=["both"]
lab.both(connection_scenes.connection_limits)

# %% [markdown]
# Now be the slow follower yourself. A load writes with `acks=all`; the panel shows the cluster.
# Press **pause** on 102 and watch the new cells stay hatched: each of them is a request in
# purgatory. Press **resume**.

# %% break-it tags=["live"]
from kit.probes.background_load import BackgroundLoad

lab.mend(eng)
eng.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
load = BackgroundLoad(eng, "orders", period_s=0.5)
load.wait_for(1)
lab.panel(eng, "orders")

# %% what-is-left tags=["live"]
lab.mend(eng)
load.close()
load

# %% [markdown]
# ## Your turn
#
# Four exercises. Write your answer over the stub, run it, then run the check below it.
# `lab.hint("04-4")` gives three hints and then a solution.
#
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

# %% [markdown]
# **Out of purgatory.** A write with `acks=all` was appended at 0 ms; the log ends at `needed` now.
# `fetches` reach the leader one after the other: `(ms, follower, from offset)`. `isr` has the
# followers that are in sync, and may be empty: then the answer is `[0, "NONE"]`. Give
# `[ms, "NONE"]` for the moment of the answer, or `[timeout, "REQUEST_TIMED_OUT"]`; a fetch at
# `timeout` itself is in time.


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

# %% [markdown]
# **The slow stage.** Two readings of a broker's timers, as JMX gives them: `{"count": 10,
# "sums_ms": {"RequestQueueTimeMs": 5.0, …}}`, since the broker started. Give the stage that took
# longest between the readings and its mean there, `["RemoteTimeMs", 6.0]`, rounded to three
# places; None if no request came.


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

# %% [markdown]
# **A patient reader.** A record of 4 kB comes every 20 ms. Choose settings for a reader that
# sends at most three fetches a second, and gets no record later than 600 ms after it was written.
# The judge runs it in the simulator.

# %% 04-7 tags=["stub"]
reader = {"fetch.min.bytes": 1, "fetch.max.wait.ms": 500}

# %% 04-7 tags=["solution"]
reader = {"fetch.min.bytes": 100_000, "fetch.max.wait.ms": 500}

# %% 04-7 tags=["check"]
lab.check("04-7", reader)

# %% [markdown]
# ## Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | a Produce request holds acks, topic, partition, records | also a transactional id and a timeout, and since version 13 the topic's id | [A request is a header and a body](#A-request-is-a-header-and-a-body) |
# | brokers serve clients of any age | Java clients from 2.1 on are supported; 4.0 dropped the oldest versions, Produce 0–2, Fetch 0–3, ListOffsets 0 (KIP-896): the connection is closed | [The same on a real Kafka](#The-same-on-a-real-Kafka) |
# | over its quota, a client's answer is held back | since 2.0 it comes at once, and the channel is muted (KIP-219) | [Quotas on both](#Quotas-on-both) |
# | a quota of 10 MB/s is 10 MB/s | on each broker, in the mean over eleven windows: ten seconds' worth may come in one burst | [Quotas](#Quotas) |
# | `producer_bytes_rate`, `consumer_bytes_rate`, `controller_mutations_rate` | refused: the keys are `producer_byte_rate`, `consumer_byte_rate`, `controller_mutation_rate` | [Quotas on both](#Quotas-on-both) |
# | three kinds of quota | four, since 2.7: mutations, too; and connections per IP (KIP-612) | [Quotas on both](#Quotas-on-both) |
# | `request_percentage` is a share of the machine | of one thread; the documentation counts (3 + 8) × 100 % in all | [Six timers](#Six-timers) |
# | Kafka forwards messages to consumers as they arrive | a consumer asks; a fetch that waits is answered then | [Fetching](#Fetching) |
# | DeleteTopic waits in purgatory until the brokers have deleted | the controller answers when its record is committed; that purgatory left with ZooKeeper | [Metadata, and requests that change it](#Metadata,-and-requests-that-change-it) |
# | 99.99 % of reads come from the cache | true in spirit at the tail (no byte from the disk here), not for a replay | [What readers cost](#What-readers-cost) |
# | zero copy, always | not on TLS connections: bytes pass through the process to be encrypted | – |
#
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>What happens between the producer's send and its acknowledgement?</b></summary>
# A network thread reads the request and queues it; a handler checks the batch, gives offsets and
# appends to the page cache; with acks=all the request waits in purgatory until every in-sync
# follower has fetched past it; the answer goes to the response queue and out (<a
# href="#One-Produce-request">One Produce request</a>).
# </details>
# <details><summary><b>Does Kafka push to consumers?</b></summary>
# No. Consumers fetch, and a fetch may wait at the broker, so a new record is on its way at once
# (<a href="#One-Fetch-request">One Fetch request</a>).
# </details>
# <details><summary><b>Produce latency has doubled. What do you look at first?</b></summary>
# The six timers of Produce on the leader. Queue time: handlers. Local: disk or large
# batches. Remote: followers. Throttle: a quota. Send: the client or its network (<a
# href="#Six-timers">Six timers</a>).
# </details>
# <details><summary><b>How does a client notice that it is throttled?</b></summary>
# By throttle_time_ms in its answers and the metrics made of it; there is no error. Its sends just
# take longer (<a href="#Quotas-on-both">Quotas on both</a>).
# </details>
# <details><summary><b>Why may a broker with 30 % disk use and 5 % idle handlers be in trouble?</b></summary>
# Because requests wait for handlers, not for disks: the queue grows steeply below 10 % (<a
# href="#Queues">Queues</a>).
# </details>
# <details><summary><b>What does a fetch session save?</b></summary>
# Naming the same partitions again and again, in both directions: fifty partitions cost 1,709
# bytes once and 51 from then on (<a href="#Fetching">Fetching</a>).
# </details>
#
# ## Quiz
#
# Several letters may be right: `lab.quiz("04-8", "a", "c")`.

# %% 04-8 tags=["stub", "predict", "quiz"]
lab.quiz("04-8")

# %% 04-8 tags=["solution", "predict", "quiz"]
lab.quiz("04-8", "a", "c", "e")

# %% 04-9 tags=["stub", "predict", "quiz"]
lab.quiz("04-9")

# %% 04-9 tags=["solution", "predict", "quiz"]
lab.quiz("04-9", "b")

# %% 04-10 tags=["stub", "predict", "quiz"]
lab.quiz("04-10")

# %% 04-10 tags=["solution", "predict", "quiz"]
lab.quiz("04-10", "a", "c", "d")

# %% [markdown]
# ## What real Kafka does beyond this
#
# * Three network threads per listener and eight handlers work at the same time; a listener may
#   have its own limits and its own threads. The engine has one thread, and says so.
# * Answers to fetches go from the page cache to the socket without passing through the process
#   (`sendfile`), unless the connection is encrypted. The engine reads a slice and writes it.
# * With authentication a quota can be for a user; without it everybody is `User:ANONYMOUS`, on the
#   engine as well (notebook 17).
# * Followers have quotas of their own, for moving partitions (notebook 13).
# * Limits on new connections per second and per address (KIP-612) exist; the engine refuses them.
