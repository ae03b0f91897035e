# %% [markdown]
# # 01 · Events and publish/subscribe
#
# A shop sells something. Payment must charge the card, stock must pack the parcel, mail must write
# to the customer. Next month there will be one more program that needs each order. This notebook
# connects them in four ways: by calls, by a queue, by a publish/subscribe topic (*pub/sub*), and by
# a log.
#
# **What you will be able to do**
#
# * predict which reader gets an event, which can read it again, and which never sees it
# * say what a slow or absent program does to the others, in each of the four ways
# * read an event and a schema-registry payload byte by byte
# * name what a log does not decouple
#
# **Time:** {minutes}. Do notebook 00 first. Python alone is enough; with a real Kafka, most runs
# happen on both sides.
#
# Each run below has a question before it. Answer first: the run gives the verdict. Then change the
# values at the top of the run's cell, and run it again.

# %% doorway tags=["setup"]
import json

from confluent_kafka import TopicPartition

from kit import lab
from kit.drawings.chart import Chart
from kit.probes import clients, virtual
from lessons.nb01_events import call_chain, links, scenes, schema_payload, share
from lessons.nb01_events.channels import Log, PubSub, Queue
from lessons.nb01_events.readers import Crew, Reader, forget, lag, write

EARLIEST = {"auto.offset.reset": "earliest"}

# %% [markdown]
# ## Count the links
#
# Move the slider. Where every system needs the data of every other one, each new system brings a
# link to all that are there. Through a log it brings one.

# %% link-slider tags=["read"]
lab.slider(links.Links, systems=range(2, 31))

# %% [markdown]
# The number of links is the smaller problem. A link that is a call also ties two programs together
# in time: both must be up, and the caller is as slow as the service that it calls.
#
# ## One service is slow
#
# The shop's server has 8 threads. A *checkout* calls payment, stock and mail, one after the other,
# and keeps its thread until mail has answered. A *catalogue page* calls no service. 20 requests
# arrive in a second; every fourth of them is a checkout. From second 10 to second 30 each call of
# mail takes 2 s.
#
# In the second shop a checkout writes one event to a log and answers; `publish_ms` is the time that
# such a write takes in the engine's simulator, on three brokers. Mail reads the events with 8
# threads of its own.

# %% 01-1 tags=["stub", "predict"]
lab.predict("01-1")

# %% 01-1 tags=["solution", "predict"]
lab.predict("01-1", "c")

# %% slow-service tags=["sim"]
threads, slow_ms, slow_s = 8, 2_000, 20  # also 16 threads; 500 ms
service_ms = {"payment": 30, "stock": 20, "mail": 20}

world = lab.world(seed=1)
world.create_topic("orders", assignment={0: [101, 102, 103]})
publish_ms = virtual.send(world, "orders", "order 1").after_ms
calls = {"page": [], "checkout": ["payment", "stock", "mail"]}
by_calls = call_chain.Threads(threads, calls, service_ms)
by_events = call_chain.Threads(threads, calls | {"checkout": ["log"]}, {"log": publish_ms})
mail = call_chain.Threads(8, {"event": ["mail"]}, service_ms)
for server in (by_calls, mail):
    server.slow("mail", slow_ms, from_s=10, for_s=slow_s)
for n in range(1_200):
    for server in (by_calls, by_events):
        server.arrives(n / 20, "page" if n % 4 else "checkout")
    if n % 4 == 0:
        mail.arrives(n / 20, "event")
called, published, mailed = by_calls.run(), by_events.run(), mail.run()
lines = {f"{kind}, by calls": call_chain.each_second(called, kind) for kind in ("checkout", "page")}
lines["checkout, by events"] = call_chain.each_second(published, "checkout")
lines["its mail, by events"] = call_chain.each_second(mailed, "event")
marks = {10: "mail is slow", 10 + slow_s: "mail is fast again"}
display(Chart("The slowest request of each second", lines, "second", "seconds", marks=marks))
seen = {f"{k}, by calls": round(call_chain.slowest(called, k)) for k in ("checkout", "page")}
seen["checkout, by events"] = round(call_chain.slowest(published, "checkout"))
lab.verdict("01-1", seen)

# %% [markdown]
# Five checkouts a second, each for 2 s: that needs ten threads, and there are eight. When all eight
# wait for mail, a page that needs no service waits for a thread. One slow service has slowed the
# whole shop, also the parts that do not call it.
#
# With events, mail has the same trouble alone: the customer gets the mail seconds later, and the
# checkout does not notice. Set `threads = 16`: now the pages are fast. The number of threads that you
# need is the rate of calls times the time of one call, and the called service decides that time.
#
# ## Three ways to pass on an order
#
# Now without calls. The same code publishes six orders through three real things. The queue is
# Python's own `queue.Queue`. The pub/sub topic is a ZeroMQ publisher with its subscribers. The log is
# a Kafka topic, and each reader has a *group* of its own: the name under which the brokers keep its
# place. `stock` and `mail` take turns. `report` starts after the six orders have been read. At the
# end, `stock` has found a bug in its own code and wants all orders again.

# %% 01-2 tags=["stub", "predict"]
lab.predict("01-2")

# %% 01-2 tags=["solution", "predict"]
lab.predict("01-2", "3 6 6")

# %% three-ways tags=["both"]
orders, at_a_time = 6, 1


def three_ways(cluster):
    seen = {}
    log = Log(cluster, "orders", ["stock", "mail", "report"])
    for channel in (Queue("orders"), PubSub("orders"), log):
        got = {name: channel.reader(name) for name in ("stock", "mail")}
        count = dict.fromkeys(got, 0)
        for n in range(orders):
            channel.publish(f"order {n}")
        for _ in range(orders):
            for name, reader in got.items():
                count[name] += len(reader.read(at_a_time))
        got["report"] = channel.reader("report")
        late = len(got["report"].read())
        got["stock"].start_over()
        seen[f"{channel.name}: stock, mail, report"] = [*count.values(), late]
        seen[f"{channel.name}: stock once more"] = len(got["stock"].read())
        [each.close() for each in (*got.values(), channel)]
    return seen


outcome = lab.both(three_ways)
shown = lab.real() or lab.engine(settings=lab.BRISK)
write(shown, "orders", ["order 6", "order 7"])  # all readers have stopped
display(outcome, lab.tool(shown, "kafka-consumer-groups", "--describe", "--all-groups"))
lab.verdict("01-2", outcome)

# %% [markdown]
# A queue spreads work: each order went to one reader. `stock` and `mail` are different applications,
# so each of them missed half of its orders. Pub/sub copies an order to the subscribers of that moment
# and keeps nothing: `report` came too late. In both, a delivered message is gone.
#
# Reading a log removes nothing. To the log, a reader is a number: the *offset* of the record that it
# reads next. `stock` set its number back to 0 and got all six again.
#
# The raw table is what you see at work. Two more orders were written when no reader was left. There
# is one copy of the orders, and each of the three groups has its own `CURRENT-OFFSET`. `LAG` is the
# number of records that the group has not read. Nothing in the table belongs to the producer.
#
# ## A late reader, with default settings
#
# `report` is a new group. Its consumer is confluent-kafka's, with default settings, as in most first
# programs. Six orders are in the topic when it starts. It reads to the end and stops. Four more orders are written
# while it is down. It starts again, reads to the end, and stops.

# %% 01-3 tags=["stub", "predict"]
lab.predict("01-3")

# %% 01-3 tags=["solution", "predict"]
lab.predict("01-3", 0)

# %% late-reader tags=["both"]
settings = {}  # also {"auto.offset.reset": "earliest"}
before, while_down = 6, 4


def late_reader(cluster):
    cluster.create_topic("orders")
    forget(cluster, "report")
    write(cluster, "orders", [f"order {n}" for n in range(before)])
    with Reader(cluster, "orders", "report", settings) as report:
        first = report.read()
    write(cluster, "orders", [f"order {before + n}" for n in range(while_down)])
    with Reader(cluster, "orders", "report", settings) as report:
        second = report.read()
    return {
        "orders in the topic": len(clients.values(cluster, "orders")),
        "first run read": len(first),
        "second run read": len(second),
    }


outcome = lab.both(late_reader)
display(outcome)
lab.verdict("01-3", outcome)

# %% [markdown]
# All ten orders are in the topic. `report` has read none of them and got no error. A consumer that
# has read something *commits*: it stores its group's offset in a broker. A group without a committed
# offset starts where `auto.offset.reset` says, and the default is `latest`: the end. `report` read
# nothing, so it committed nothing, and its second start was a first start again. (The Java client
# differs in the second run: see [Deeper](#Deeper:-Other-languages,-and-the-pull).) Set
# `auto.offset.reset` to `earliest` and run the cell again. A new reader that must have everything
# needs this setting; the readers of the previous run had it.
#
# ## One group, three workers
#
# Packing is slow work, so it gets three workers in one group. A topic is cut into *partitions*, each
# a log of its own; this topic has one, which is the default. Twelve orders are written while all
# three workers run.
#
# A real Kafka does the same work a second time, in a *share group* (KIP-932) with three workers of
# Kafka's Java client. The engine has no share groups and shows a dash there.

# %% 01-4 tags=["stub", "predict"]
lab.predict("01-4")

# %% 01-4 tags=["solution", "predict"]
lab.predict("01-4", 1)

# %% workers tags=["both"]
workers, partitions, work_ms = 3, 1, 100
orders = [f"order {n}" for n in range(12)]


def who_works(cluster):
    cluster.create_topic("orders", partitions=partitions)
    forget(cluster, "packing")
    with Crew(cluster, "orders", "packing", workers, [work_ms] * workers) as crew:
        crew.wait_for_partitions()
        write(cluster, "orders", orders, partitions)
        crew.wait_for(len(orders))
        got = crew.got
    shared = share.packed(cluster, "orders", "packing-shared", [work_ms] * workers, orders)
    return {
        "consumer group": {
            "workers that got orders": sum(map(bool, got)),
            "orders packed": sum(map(len, got)),
        },
        "share group": {
            "workers that got orders": shared and sum(map(bool, shared)),
            "orders packed": shared and sum(map(len, shared)),
        },
    }


outcome = lab.both(who_works)
display(outcome)
lab.verdict("01-4", outcome)

# %% [markdown]
# A consumer group hands out *partitions*, not records: one partition, one worker, and two spares that
# take over when the first one dies. Set `partitions = 3` and all three work. This is the price of
# order: each partition has one reader of the group at a time.
#
# A share group hands out records: all three workers got orders from the one partition. These workers ask for
# one at a time (`share.acquire.mode=record_limit`); by default a worker gets whole batches. A free worker
# takes the next records, and those of a worker that fails go to another. That is a queue on a
# log. In exchange the order of processing is lost. (Without a real Kafka, look into
# `notebooks/solutions`.)
#
# ## The log does not wait
#
# `mail` has read orders 0 to 3 of ten and committed offset 4. Then it is down for days. A broker
# deletes old records when the log is too old or too large (*retention*). Here an operator's
# DeleteRecords request deletes everything below offset 8 instead. The cell computes the lag before and
# after, as kafka-consumer-groups does. Then `mail` starts again, with `auto.offset.reset=earliest`.

# %% 01-5 tags=["stub", "predict"]
lab.predict("01-5")

# %% 01-5 tags=["solution", "predict"]
lab.predict("01-5", 6)

# %% trimmed tags=["both"]
read_before, trimmed_to = 4, 8
policy = "earliest"  # also "latest"


def trimmed(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    forget(cluster, "mail")
    write(cluster, "orders", [str(n) for n in range(10)])
    with Reader(cluster, "orders", "mail", EARLIEST) as mail:
        first = mail.read(most=read_before)
    before = lag(cluster, "mail", "orders")
    admin = clients.admin(cluster)
    trim = admin.delete_records([TopicPartition("orders", 0, trimmed_to)])
    [future.result() for future in trim.values()]
    after = lag(cluster, "mail", "orders")
    with Reader(cluster, "orders", "mail", {"auto.offset.reset": policy}) as mail:
        then = mail.read()
    unread = [str(n) for n in range(10) if str(n) not in first + then]
    return {"first run read": first, "lag before the deletion": before,
            "lag after the deletion": after, "then it read": then, "never read": unread}  # fmt: skip


outcome = lab.both(trimmed)
shown = lab.real() or lab.engine(settings=lab.BRISK)
word = "Incremented log start" if lab.real() else "log_start"  # Kafka's, the engine's
display(outcome, lab.broker_log(shown, 101, f"{word} orders-0", last=2))
lab.verdict("01-5", outcome)

# %% [markdown]
# The lag is a difference of two offsets: the end of the log minus the committed offset. It counts
# orders 4 to 7, which are gone: the deletion did not change it.
#
# The application got no error either. The committed offset is out of range, so the consumer jumps
# to where `auto.offset.reset` says. Most queues keep a message until a worker has
# acknowledged it. A log keeps a record until its retention is over, read or unread, and does not wait
# for any reader. So a steady lag can hide a loss. Compare the committed offset with the
# start of the log, too, and make retention longer than your longest outage. The broker's own log line shows the new start of the partition.
#
# ## What is in the bytes
#
# To a broker, a value is bytes. Many systems put a *schema-registry payload* there: a zero byte, the
# id of a schema in four bytes, then the fields in the Avro format, one after the other. A *schema*
# lists the fields and their types. A separate server, the registry, keeps the schemas (notebook 15);
# here they stand in the cell. The producer already writes schema 2, with the customer's number before
# the amount. A reader from last year ignores the id and decodes with schema 1.

# %% 01-6 tags=["stub", "predict"]
lab.predict("01-6")

# %% 01-6 tags=["solution", "predict"]
lab.predict("01-6", 4711)

# %% payload tags=["both"]
event = {"order": 7, "customer": 4711, "amount": 1999}
SCHEMAS = {
    1: {"order": "long", "amount": "long"},
    2: {"order": "long", "customer": "long", "amount": "long"},
}
written_with = 2


def payload(cluster):
    cluster.create_topic("orders")
    body = schema_payload.write(SCHEMAS[written_with], event)
    framed = b"\x00" + written_with.to_bytes(4, "big") + body
    stored = write(cluster, "orders", [framed])
    forget(cluster, "old", "new")
    with Reader(cluster, "orders", "old", EARLIEST) as reader:
        (message,) = reader.messages()
    read = message.value()
    return {
        "the payload": read.hex(" "),
        "the broker accepted": stored,
        "schema 1 reads the amount": schema_payload.read(SCHEMAS[1], read[5:])["amount"],
        "by the id": str(schema_payload.read(SCHEMAS[read[4]], read[5:])),
    }


outcome = lab.both(payload)
display(outcome)
lab.verdict("01-6", outcome)

# %% [markdown]
# The order cost 19.99, the old reader charges 47.11, and there was no error. The body has no names
# and no types, so any number in second place is the amount. The five bytes in front prevent this
# for a reader that looks at them: `00` says *framed*, `00 00 00 02` is the id of the schema that the
# writer used.
#
# ## A field gets a new name
#
# With JSON the names are in the bytes. Four services read the orders: payment and loyalty need
# `total`, stock needs `items`, mail needs `email`. After three orders the producer is released with
# a new version, in which a field has a new name, and writes three more. Then payment gets
# a new version: it reads the new name, and starts again at the first order.

# %% 01-7 tags=["stub", "predict"]
lab.predict("01-7")

# %% 01-7 tags=["solution", "predict"]
lab.predict("01-7", 3)

# %% contract tags=["both"]
renamed = {"total": "amount"}  # also {"email": "mail_to"}, {}
needs = {"payment": "total", "stock": "items", "mail": "email", "loyalty": "total"}


def contract(cluster):
    cluster.create_topic("orders")
    forget(cluster, *needs)
    old = {"total": 1999, "items": 2, "email": "a@example.org"}
    new = {renamed.get(name, name): value for name, value in old.items()}
    stored = write(cluster, "orders", [json.dumps(each) for each in (old, old, old, new, new, new)])
    failed = {}
    for service, field in needs.items():
        with Reader(cluster, "orders", service, EARLIEST) as reader:
            found = [json.loads(value) for value in reader.read()]
        failed[service] = sum(field not in each for each in found)
    forget(cluster, "payment")  # the fixed service begins at the first order
    with Reader(cluster, "orders", "payment", EARLIEST) as reader:
        found = [json.loads(value) for value in reader.read()]
    field = renamed.get(needs["payment"], needs["payment"])
    return {
        "refused by the broker": 6 - stored,
        "services that fail": [service for service, count in failed.items() if count],
        "orders that they cannot process": sum(failed.values()),
        "orders that the fixed payment service processes": sum(field in each for each in found),
    }


outcome = lab.both(contract)
display(outcome)
lab.verdict("01-7", outcome)

# %% [markdown]
# The producer does not know its readers, so its release did not wait for them: that is loose
# coupling, and here it hurts. The broker stored the new orders like any others, and each of the two
# services failed when it reached them. The fixed payment service cannot use the old ones: a log keeps what was
# written, in the format of its day. A reader that starts over needs the old formats, too. A log decouples place, time, speed and the number of readers.
# It does not decouple the *meaning* of an event. So the format of an event is an interface: add
# fields, do not rename them, and let a registry refuse a schema that breaks readers.
#
# ## Read the code that did it
#
# This is how the engine serves a read, and all that it stores about a group. Look for a line that
# removes or marks a record because it was read. Then look for the reader in `slice`: what does the
# log know about it?

# %% code-read tags=["read"]
from engine.coordinators.offsets import CommittedOffset
from engine.storage.log import Log as EngineLog

lab.show(EngineLog.slice, CommittedOffset)

# %% [markdown]
# ## Break it
#
# The panel shows the group `stock` with two real consumers on three partitions, and a producer that
# writes 20 orders a second. Press the buttons: **add** a third and a fourth member, **freeze** one
# and watch its lag, **kill** one. What happens to the partitions of a dead member, and to their lag?
# The producer's rate stays the same all the time. The cell after the panel ends it.

# %% break-it tags=["live"]
eng = lab.engine()
lab.mend(eng)
eng.create_topic("orders", partitions=3)
panel = lab.group_panel(eng, "orders", "stock")
panel.add("range")
panel.add("range")
panel.write(20)
formed = ("Stable", "members 2")
eng.wait_until(lambda c: panel.refresh() or all(w in panel.text for w in formed), timeout_s=60)
panel

# %% break-it-ends tags=["live"]
panel.close()

# %% [markdown]
# ## Your turn
#
# Write your answer over the stub, run it, then run the check below it. `lab.hint("01-8")` gives
# three hints, one a call, and then a solution.
#
# **01-8, who gets what.** `kind` is `"queue"`, `"pub/sub"` or `"log"`. `steps` is a list of pairs:
# `("joins", reader)`, `("publishes", event)`, `("reads", reader)`. At each read, a reader takes
# everything that is there for it. In the log each reader is a new group that starts at the earliest
# record. Return a dictionary: each reader that joined, with the list of events that it got.
#
# **01-9, the five bytes.** Return the schema id and the body of a schema-registry payload, as
# `(id, body)`. For a value that is not framed (its first byte is not 0, or it is too short) return -1
# and the whole value.
#
# **01-10, the state at an offset.** `log` is a list of `(account, change)`; the list index is the
# offset. A reader adds up the changes, and its next offset is `offset`. Return the balance of each
# account that it has seen so far.


# %% 01-8 tags=["stub"]
def who_gets(kind, steps):
    """Reader -> the events that it got, in order."""


# %% 01-8 tags=["solution"]
def who_gets(kind, steps):
    """Reader -> the events that it got, in order."""
    kept, waiting, got = [], {}, {}
    for step, name in steps:
        if step == "joins":
            got[name] = []
            waiting[name] = list(kept) if kind == "log" else []
        elif step == "publishes":
            kept.append(name)
            for reader in waiting:
                waiting[reader].append(name)
        elif kind == "queue":
            got[name] += kept
            kept = []
        else:
            got[name] += waiting[name]
            waiting[name] = []
    return got


# %% 01-8 tags=["check"]
lab.check("01-8", who_gets)


# %% 01-9 tags=["stub"]
def unframed(payload):
    """(schema id, body), or (-1, payload) if this is no schema-registry payload."""


# %% 01-9 tags=["solution"]
def unframed(payload):
    """(schema id, body), or (-1, payload) if this is no schema-registry payload."""
    if len(payload) < 5 or payload[0] != 0:
        return -1, payload
    return int.from_bytes(payload[1:5], "big"), payload[5:]


# %% 01-9 tags=["check"]
lab.check("01-9", unframed)


# %% 01-10 tags=["stub"]
def balances(log, offset):
    """Account -> its balance, from the records before `offset`."""


# %% 01-10 tags=["solution"]
def balances(log, offset):
    """Account -> its balance, from the records before `offset`."""
    state = {}
    for account, change in log[:offset]:
        state[account] = state.get(account, 0) + change
    return state


# %% 01-10 tags=["check"]
lab.check("01-10", balances)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then look at the run that proves it.
#
# <details><summary><b>1. What is the difference between a queue and a log?</b></summary>
#
# A queue gives each message to one worker and forgets it when it is acknowledged. A log keeps
# records for its retention time; each group of readers has its own offset, so several applications
# read everything, also late and again.
#
# *Follow-up:* can Kafka be a queue, too? Partition by partition in a consumer group; record by record
# in a share group.
#
# *Weak:* "Kafka is faster". *Good:* one reader against many; deletion. *Strong:* says what each
# costs: order, replay, idle workers.
#
# Evidence: [Three ways to pass on an order](#Three-ways-to-pass-on-an-order).
# </details>
# <details><summary><b>2. A new service reads an old topic and gets nothing. Why?</b></summary>
#
# Its group has no committed offset, and `auto.offset.reset` is `latest` by default: it starts at the
# end. As long as it reads nothing, librdkafka commits nothing, and each start is a first start; the Java
# client commits the position at the end.
#
# *Follow-up:* the same service worked for a year and was then off for two weeks? Its offset is out
# of range or has expired; the same setting decides.
#
# *Weak:* "the topic was empty". *Good:* names the setting. *Strong:* says when the setting counts.
#
# Evidence: [A late reader, with default settings](#A-late-reader,-with-default-settings).
# </details>
# <details><summary><b>3. Our services are loosely coupled, because they use Kafka. True?</b></summary>
#
# In place, time, speed and number, yes. In meaning, no: each reader depends on the fields that it
# uses, and the producer does not know the readers.
#
# *Follow-up:* how do you change an event? Add fields with defaults, refuse others with a schema
# registry, or write a second topic for the time of the change.
#
# *Weak:* "true". *Good:* names the format. *Strong:* has a way to change it, and knows that the
# broker does not check.
#
# Evidence: [A field gets a new name](#A-field-gets-a-new-name).
# </details>
# <details><summary><b>4. When would you call a service instead of writing an event?</b></summary>
#
# When the caller needs the answer to go on: is this card valid, what is the price? Then limit what a
# slow service can hold: timeouts, a pool of threads for each service, a fallback.
#
# *Follow-up:* how many threads does a call of 2 s hold at 5 calls a second? Ten.
#
# *Weak:* "never". *Good:* a question against a fact. *Strong:* computes what a slow service costs.
#
# Evidence: [One service is slow](#One-service-is-slow).
# </details>
# <details><summary><b>5. Does a slow consumer slow a Kafka producer down?</b></summary>
#
# No. Readers fetch, nothing is pushed to them, and the log does not wait for them. Quotas or a full
# disk can slow a producer. The risk is the slow reader's: retention deletes what it has not read.
#
# *Follow-up:* how do you see it before it happens? Compare lag, in time rather than records, with
# retention.
#
# *Weak:* "yes, back-pressure". *Good:* pull. *Strong:* names retention as the limit.
#
# Evidence: [The log does not wait](#The-log-does-not-wait), [Deeper: No reader slows the
# producer](#Deeper:-No-reader-slows-the-producer).
# </details>
# <details><summary><b>6. What happened here?</b></summary>
# <pre>GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
# packing  orders  0          812             9120            8308 rdkafka-a1   /10.0.0.7   rdkafka
# packing  orders  1          9077            9077            0    rdkafka-b2   /10.0.0.8   rdkafka
# packing  orders  -          -               -               -    rdkafka-c3   /10.0.0.9   rdkafka</pre>
# One member is stuck or slow, one keeps up, the third has no partition. A fourth worker would not
# help. The third takes partition 0 over only when the first leaves or is removed. Look at what the
# first does with offset 812. Evidence: [One group, three workers](#One-group,-three-workers).
# </details>
#
# ## Quiz
#
# Several letters may be right.

# %% 01-12 tags=["stub", "predict", "quiz"]
lab.quiz("01-12")

# %% 01-12 tags=["solution", "predict", "quiz"]
lab.quiz("01-12", "a", "c", "d", "e")

# %% 01-14 tags=["stub", "predict", "quiz"]
lab.quiz("01-14")

# %% 01-14 tags=["solution", "predict", "quiz"]
lab.quiz("01-14", "b", "c")

# %% [markdown]
# ## Deeper: What a change costs
#
# The shop as four graphs: one program without modules, one with modules, services that call each
# other, services on a log. For the same requests, count what must change, what must be released, and
# what stops when mail fails. Then the links: of n systems, and of senders and receivers.

# %% change-cost tags=["read"]
from lessons.nb01_events import change_cost

display(change_cost.table(change_cost.SHOP))
lines = {
    "wired in pairs": [(n, links.pairs(n)) for n in range(2, 51, 4)],
    "through a log": [(n, links.through_a_log(n)) for n in range(2, 51, 4)],
}
display(Chart("Links among n systems", lines, x="systems", y="links"))
lab.slider(links.Feeds, senders=range(1, 16), receivers=range(1, 16))

# %% one-hub [markdown]
# Without modules a change reaches every part that uses the changed one. Modules keep it inside, and
# there are fewer arrows. But one program is released as a whole, and fails as a whole. Services that
# call each other are released alone, and a failing service takes its callers with it. On a log a new
# reader changes nothing that is there. A changed *format* costs as much as before: each reader of
# the field must change.
#
# With *m* senders and *n* receivers there are *m × n* links in pairs, and *m + n* through a log. In
# pairs, each link may have a protocol of its own: HTTP to payment, JDBC to the warehouse, MQTT to the
# trucks, SMTP to the mail server. A log has one for all. Each service keeps its own storage and fills
# it from the topic, so it can change its tables without asking the others ([a run
# shows it](#Deeper:-Where-Kafka-comes-from)). The services become independent of each other, but not
# of the log: it must always be up, which is why it is replicated (notebook 06).
#
# | kind of data | a queue for each kind | one log |
# |---|---|---|
# | log lines | a log server | a topic |
# | metrics | a monitoring system | a topic |
# | clicks | a batch of files | a topic |
# | to run, watch and repair | three systems, each with its own faults and limits | one system |
#
# <details><summary><b>What is duplicated when each kind of data has a queue of its own?</b></summary>
#
# The work around the data: servers, monitoring, backups, client libraries, and the knowledge of how
# each system fails. A topic more is none of these.
# </details>
# <details><summary><b>A new team needs the orders. Which arrow do calls need, and a log does not?</b></summary>
#
# The arrow from checkout to the new team's service. On a log only the new service has an arrow, to
# the log, and checkout stays as it is.
# </details>

# %% [markdown]
# ## Deeper: Groups, side by side
#
# Many producers and many groups. Then one group of two members beside two groups of one. Then a slow
# worker.

# %% many-readers tags=["both"]
display(lab.both(scenes.many_readers))
display(lab.both(scenes.split_or_copy))
lab.both(scenes.slow_member)

# %% [markdown]
# Five producers wrote to one topic before there was a reader. Each partition has one sequence of
# offsets for the records of all five. Three groups read all of it, one of them twice, and none got a
# record of the other topic. In each partition all groups saw the same sequence. The whole has none:
# the records did not come in the order in which they were written.
#
# One group of two splits the records: a partition has one reader in the group. With a second group
# it has two. The second group reads all records, and its position does not depend on the first one's. A queue can do the first, plain publish/subscribe the second. A log does
# both: partitions split the work inside a group, and groups are independent subscribers. (A *segment*
# is a file of a partition. A partition belongs to no subscriber for good.)
#
# A consumer group gives each partition one reader, so the slow worker had half of the jobs. A queue
# gives the next job to a free worker, so the slow one had few. The jobs of several workers do not end
# in the order in which they came.

# %% [markdown]
# ## Deeper: A share group at work
#
# Kafka's own console client takes each record and gives it back (`--release`), like a worker that
# cannot process it. The number after *Delivery* is the broker's count. This cell needs a real Kafka:
# the engine has no share groups.

# %% released tags=["live"]
real = lab.real()
if real is not None and share.offered(real):
    real.create_topic("jobs")
    share.from_the_start(real, "careful")
    write(real, "jobs", ["A", "B"])
    printed = lab.tool(
        real, "kafka-console-share-consumer", "--topic", "jobs", "--group", "careful",
        "--release", "--formatter-property", "print.delivery=true", "--timeout-ms", "15000",
    )  # fmt: skip
    display(printed)
    given_out = [line for line in printed.text.splitlines() if line.startswith("Delivery:")]
    assert len(given_out) == 10, given_out
else:
    print(f"Share groups need a real Kafka. {lab.real_absence()}")

# %% [markdown]
# Each record came five times (`group.share.delivery.count.limit`), and then never again: the broker
# archives a record that no worker could process, so that it does not stop the others. Kafka 4.3 does
# not copy it to a dead-letter topic. The console client ends with a TimeoutException when nothing
# more comes.

# %% 01-13 tags=["stub", "predict", "quiz"]
lab.quiz("01-13")

# %% 01-13 tags=["solution", "predict", "quiz"]
lab.quiz("01-13", "c")

# %% [markdown]
# ## Deeper: Anatomy of an event
#
# Key, value, timestamp and headers of one record, as the reader gets them and as they lie in the
# log's bytes. Then two clocks, and a router that reads headers only.

# %% anatomy tags=["both"]
display(lab.both(scenes.anatomy))
display(lab.both(scenes.times))
lab.both(scenes.routed)

# %% [markdown]
# The key is optional and decides the partition: 100 records with one key went to one partition, 100
# without a key to all three. (Here each of these was spread by itself; by default a client keeps a
# batch together.) Headers are a list: a name may come twice, and the order is kept, also in the
# router's copy. They stand beside the value in the record, so a router reads them without decrypting
# the value. The value is bytes: the reader that decoded it as
# text got an error, and the broker did not.
#
# By default a record keeps the time that its producer gave it. With `LogAppendTime` the broker stores
# its own. A look-up by time uses the stored time. A record that is more than an hour ahead is refused
# since Kafka 4.0 (`message.timestamp.after.max.ms`, KIP-1030): retention by age would keep it too
# long.

# %% [markdown]
# ## Deeper: Other languages, and the pull
#
# Python writes, Kafka's Java consumer reads, and both know one address. Then a bare connection shows
# what a broker sends to a reader that has not asked. Then one, two and three members share six
# partitions. Finally Java's consumer is the late reader of the core, with default settings.

# %% other-languages tags=["both"]
display(lab.both(scenes.other_languages))
display(lab.both(scenes.pulled))
display(lab.both(scenes.shared_out))
lab.both(scenes.late_in_java)

# %% [markdown]
# All clients use one protocol, and a broker offers each of them the same versions of a request
# (notebook 04 reads the list). Kafka speaks no other, so HTTP, JDBC or MQTT need Connect or a proxy.
# The client asks any broker where all of them are and finds each leader by itself, and the members
# of a group divide the partitions: no service registry and no load balancer is needed. A broker
# sends nothing on its own: *subscribe* is a word of the client library, and the wire carries Fetch
# after Fetch.
#
# Java's consumer also begins at the end and reads none of the six. But when it stops, it commits its
# position, even if it has read nothing, and so its second run reads the four. librdkafka, and with it
# confluent-kafka, commits only after the application has read something.

# %% [markdown]
# ## Deeper: No reader slows the producer
#
# A producer's latency without a reader, with one, and with one that does not poll; and its rate.

# %% no-reader-slows tags=["both"]
lab.both(scenes.no_reader_slows)

# %% [markdown]
# No write waits for a reader, and a stuck reader costs a producer nothing. (Brokers, readers and
# producer share one machine here, so the medians differ a little.) Quotas and a full disk can slow a producer down. Throughput and latency are a choice of batches: alone in its
# request, each record costs a round trip; in a batch, hundreds share one, and each of them is
# acknowledged when the whole batch is. The numbers are those of
# three brokers on your machine.

# %% [markdown]
# ## Deeper: When a program is down
#
# A receiver is absent. A reader is stopped and replaced, and another group starts meanwhile. A member
# leaves and a leader dies, and the producer knows one address, that of broker 103.

# %% down tags=["both"]
display(lab.both(scenes.receiver_is_down))
display(lab.both(scenes.stopped_reader))
lab.both(scenes.leader_and_member_die)

# %% [markdown]
# Ten calls failed; ten events waited. When messages are pushed to a receiver, it must drop what its
# buffer cannot hold; a reader that pulls has a lag instead. The new version of a stopped reader
# continued at its group's offset. Neither the producer nor another group noticed: one producer
# numbered all 25 records without a gap, and a group that started meanwhile read them all.
#
# The member that stayed took over both partitions. After the leader's death the producer asked for
# Metadata and found the next leader. Ten more records were acknowledged, and another group finds all
# thirty: with `acks=all`, replicas in sync and commits after the
# work. The ten writes took seconds: "without downtime" promises too much, "with a pause of some
# seconds" is right.
#
# **01-11, the chain.** A request calls services one after the other. Each hop is
# `(milliseconds, success)`, with a success between 0 and 1. Return the time of a request that
# succeeds, and the share of requests in which all hops succeed, rounded to 4 digits. (With events the
# caller waits for one append. Notebook 08 writes to a log under faults, with retries: each
# acknowledged record arrives.)


# %% 01-11 tags=["stub"]
def chain(hops):
    """(milliseconds, success) of calls that are made one after the other."""


# %% 01-11 tags=["solution"]
def chain(hops):
    """(milliseconds, success) of calls that are made one after the other."""
    success = 1.0
    for _, each in hops:
        success *= each
    return sum(ms for ms, _ in hops), round(success, 4)


# %% 01-11 tags=["check"]
lab.check("01-11", chain)

# %% [markdown]
# ## Deeper: Event sourcing
#
# Bank accounts, not as balances but as the changes that led to them.

# %% event-sourcing tags=["both"]
lab.both(scenes.account_history)

# %% [markdown]
# The state is the sum of the changes in the log. An earlier state is a shorter sum, and a question
# that came up later (since when is Ann below zero?) has an answer. The price: the log must be kept.
# If it is compacted to the last value of each key (notebook 12), the history is gone.

# %% models-and-words [markdown]
# ## Deeper: Brokers, models and words
#
# Message brokers belong to *message-oriented middleware*: programs that take messages, keep them, and
# pass them on between programs of other languages and platforms.
#
# | | delivers by | replay | order | is |
# |---|---|---|---|---|
# | Kafka | pull | yes, up to retention | per partition | a broker cluster |
# | RabbitMQ | push, with a limit of open messages | no (its streams: yes) | per queue, one consumer | a broker |
# | ActiveMQ | push (JMS) | no | per queue, one consumer | a broker |
# | Amazon SQS | poll | no | FIFO queues only | a service |
# | ZeroMQ | push | no | per connection | a library, no broker |
#
# Models: *point to point* (a queue), *publish/subscribe*, and the *event stream*, a log where readers
# start anywhere. Most queues deliver **at least** once: if a worker dies before its acknowledgement,
# another worker gets the message again.
#
# A topic names a kind of data, as a table or a folder does. There the likeness ends:
#
# | | a table | a folder | a topic |
# |---|---|---|---|
# | change an entry in place | yes | yes | no, append only |
# | delete an entry | yes | yes | no: retention, or compaction by key |
# | order | none | by name | by offset, in each partition |
#
# A broker takes code out of applications. Some *Enterprise Integration Patterns*, and what they are
# with Kafka: router and splitter, a consumer that produces (or Streams' `split`); aggregator,
# a stream processor with state; wire tap, one more group; dead letter channel, a topic that your code
# or Connect writes.
#
# The *Reactive Manifesto* asks for four traits: responsive, resilient, elastic and message-driven.
# Match them with four runs: a leader is killed; mail takes 2 s; a group gets a second and a third
# member; a service handles a record when it comes.
#
# <details><summary><b>Which run shows which trait?</b></summary>
#
# Mail takes 2 s: responsive, the checkout answers in time ([One service is
# slow](#One-service-is-slow)). A leader is killed: resilient, the next leader serves what was
# acknowledged ([When a program is down](#Deeper:-When-a-program-is-down)). A second and a third
# member: elastic, they share the partitions ([Other
# languages](#Deeper:-Other-languages,-and-the-pull)). A record comes: message-driven, each reader
# here works only then.
# </details>

# %% where-from [markdown]
# ## Deeper: Where Kafka comes from
#
# LinkedIn had two pipelines: metrics were polled, page views went by nightly batches, and the two
# could not be joined: they were in two systems and two formats, and one came much later than the
# other. Jay Kreps, Neha Narkhede and Jun Rao built one log for both, with four aims:
# readers that pull and do not hinder each other, persistence for many readers, throughput, growth
# by adding machines.
#
# | aim | what serves it |
# |---|---|
# | decoupled readers | pull by Fetch, an offset for each group |
# | many readers, late readers | the log, retention |
# | throughput | append, batches, compression, zero copy |
# | growth | partitions on many brokers |
#
# First used about 2010; open source in January 2011, in the Apache incubator the same year, an Apache
# top-level project in 2012; its founders left for Confluent in 2014. Kafka 4.0 of 2025 was the first
# without ZooKeeper; this course uses 4.3 (notebook 00 shows what a broker says of its release). It is
# named after the writer Franz Kafka. Java and Scala, Apache license 2.0. Kafka 4 needs Java 17 for
# brokers, 11 for clients and Streams.
#
# In one minute: programs write events to topics on a cluster of brokers; a topic is split into
# partitions, append-only logs that are replicated; the key picks the partition; readers pull, keep an
# offset for each group, and may start over within the retention. It serves as a queue and as
# publish/subscribe. Its parts: the **producer and consumer** clients as the two primitives, the
# **Admin** client, **Connect** for what is not a program of yours, **Streams** to process, and since
# KIP-932 **share groups**. The project calls it a distributed *event streaming platform*.
#
# ```
#  programs  -- producer -->  +----------------------+  -- consumer -->  programs
#                             |  topics on brokers   |
#  databases -- Connect  -->  |  (the event store)   |  -- Connect  -->  warehouses
#                             +----------------------+
#                                  |  Streams  ^
#                                  +-----------+
# ```
#
# Three rings, if you like: the log in the middle (Producer and Consumer API), then connectors
# (Connect API), then stream processing (Streams API). They serve three purposes: to keep much data,
# to move it fast, to process it while it streams.
#
# | use | topic design | mostly to |
# |---|---|---|
# | activity tracking (clicks, searches) | a topic per kind, key = user; live and batch readers | stream |
# | messaging between services | key = entity, some partitions | move |
# | metrics and logs | one schema for all sources, short retention | move |
# | commit log, change data | compacted, key = primary key | keep |
# | stream processing | input and output of the same partition count | stream |
# | event-driven services | a group for each service | move |
#
# One stream serves readers of data *in motion* and *at rest*: lab L1 fills Parquet tables from a
# topic with Spark.

# %% clickstream tags=["both"]
lab.both(scenes.clickstream)

# %% [markdown]
# Two groups read the clicks: a report counts pages, a recommendation keeps each user's last page.
# Neither knows about the other. A batch reader of the same topic gets the same counts. While the
# report was away, the recommendation went on. Then the report filled a new store, by user, from the
# first click on, and the recommendation's offsets stayed as they were: each has its own storage.

# %% 01-15 tags=["stub", "predict", "quiz"]
lab.quiz("01-15")

# %% 01-15 tags=["solution", "predict", "quiz"]
lab.quiz("01-15", "b", "d", "e", "g")

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | subscribers are notified of new messages | a broker sends nothing without a Fetch | [Other languages](#Deeper:-Other-languages,-and-the-pull) |
# | with a queue each message is delivered once | to one worker at a time; again when it is given back | [A share group](#Deeper:-A-share-group-at-work) |
# | a queue keeps the order | it hands out in order; several workers do not end in order | [Groups](#Deeper:-Groups,-side-by-side) |
# | all subscribers see the same order | within a partition | [Groups](#Deeper:-Groups,-side-by-side) |
# | readers of a stream do not subscribe | they do, and keep their own position | [Three ways](#Three-ways-to-pass-on-an-order) |
# | a partition is a segment that belongs to a subscriber | segments are its files; it is handed out for each group | [Groups](#Deeper:-Groups,-side-by-side) |
# | a producer never waits for consumers | right, but for quotas and a full disk | [No reader](#Deeper:-No-reader-slows-the-producer) |
# | Kafka works without downtime | a leader's death pauses a partition | [When a program is down](#Deeper:-When-a-program-is-down) |
# | asynchronous messages are delivered for sure | with `acks=all`, replicas, `min.insync.replicas`, and commits after the work | [When a program is down](#Deeper:-When-a-program-is-down) |
# | any timestamp is kept | one that is over an hour ahead is refused since 4.0 | [Anatomy](#Deeper:-Anatomy-of-an-event) |
# | a message broker connects all protocols | Kafka speaks its own; Connect and proxies speak others | [Other languages](#Deeper:-Other-languages,-and-the-pull) |
# | ZeroMQ is a message broker | a library; the pub/sub run used it, and nothing was kept | [Three ways](#Three-ways-to-pass-on-an-order) |
# | an API call is synchronous | mostly; what counts is whether the caller needs the answer to go on | [One service is slow](#One-service-is-slow) |
# | communication becomes decentralised | it is centralised in a replicated hub; the services become independent | [What a change costs](#Deeper:-What-a-change-costs) |
#
# **What real Kafka does beyond this.** Retention by age and size works on whole segments (notebook
# 12). A consumer group by the new protocol (KIP-848) and its rebalances are in notebook 09, commits
# and what is lost or repeated in notebook 10, Connect and a registry in 15, Streams in 16.
