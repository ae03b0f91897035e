# %% [markdown]
# # 01 · Events and publish/subscribe
#
# A shop sells something. Payment must charge the card, stock must pack the box, and mail must email
# the customer. Next month, one more program will need each order. This notebook connects these
# programs in four ways: through calls, a queue, a publish/subscribe topic (*pub/sub*), and a log.
#
# **What you will be able to do**
#
# * predict which reader gets an event, which can read it again, and which never sees it
# * say what a slow or absent program does to the others, in each of the four ways
# * read an event and a schema-registry payload byte by byte
# * name what a log does not decouple
#
# **Time:** {minutes}. Do notebook 00 first. Python alone is enough; with real Kafka, most runs
# happen on both sides.
#
# A question precedes most runs below. Answer it first; the run shows the verdict. Then change the
# values at the top of the cell and run it again.

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
# Move the slider. If every system needs every other system's data, each new system adds a link to
# each existing one. With a log, it adds one link.

# %% link-slider tags=["read"]
lab.slider(links.Links, systems=range(2, 31))

# %% [markdown]
# The number of links is the smaller problem. A link that is a call also ties two programs together
# in time: both must be up, and the caller is as slow as the service that it calls.
#
# ## One service is slow
#
# The shop's server has 8 threads. A *checkout* calls payment, stock and mail, one after the other,
# and holds its thread until mail has answered. A *catalog page* calls no service. Every second, 20
# requests arrive; every fourth is a checkout. From second 10 to second 30, each call to mail takes
# 2 s.
#
# In the second shop, a checkout writes one event to a log and answers; `publish_ms` is the time
# that such a write takes on three brokers in the engine's simulator. Mail reads the events with 8
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
# Five checkouts a second, at 2 s each, need ten threads, but there are only eight. When all eight
# wait for mail, a page that needs no service waits for a thread. One slow service has slowed the
# whole shop, even the parts that do not call it.
#
# With events, the trouble stays with mail: the customer gets the email a few seconds later, and the
# checkout does not notice. Set `threads = 16`: now the pages are fast. The number of threads that
# you need is the call rate times the duration of one call, and the called service determines that
# duration.
#
# ## Three ways to pass on an order
#
# Now the calls are gone. The same code publishes six orders through three real channels. The queue
# is Python's own `queue.Queue`. The pub/sub topic is a ZeroMQ publisher with its subscribers. The
# log is a Kafka topic, and each reader has its own *group*: the name under which the brokers keep
# its place. `stock` and `mail` take turns. `report` starts after the six orders have been read. At
# the end, `stock` finds a bug in its own code and wants all the orders again.

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
# A queue spreads work: each order went to one reader. `stock` and `mail` are different
# applications, so each missed half of the orders. Pub/sub copies an order to the current
# subscribers and keeps nothing, so `report` came too late. From neither can `stock` read an order
# again.
#
# Reading a log removes nothing. To the log, a reader is just a number: the *offset* of the record
# that it reads next. `stock` reset its number to 0 and got all six orders again.
#
# The raw table is what you would see at work. Two more orders were written after all the readers
# had stopped. All groups read the same stored orders, and each of the three has its own
# `CURRENT-OFFSET`. Here, `LAG` counts the records that the group has not read. Nothing in the table
# is about the producer.
#
# ## A late reader, with default settings
#
# `report` is a new group. It uses confluent-kafka's consumer with default settings, as most first
# programs do. The topic holds six orders when it starts. It reads to the end and stops. While it is
# down, four more orders are written. Then it starts again, reads to the end, and stops.

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
# All ten orders are in the topic. `report` read none of them and got no error. A consumer that has
# read something *commits*: it stores its group's offset on a broker. A group without a committed
# offset starts where `auto.offset.reset` says, and the default is `latest`: the end of the log.
# `report` read nothing, so it committed nothing, and its second start was a first start again. (The
# Java client differs in the second run: see [Deeper](#Deeper:-Other-languages,-and-the-pull).) Set
# `auto.offset.reset` to `earliest` and run the cell again. A new reader that must get everything
# needs this setting; the readers in the previous run had it.
#
# ## One group, three workers
#
# Packing is slow work, so it gets three workers in one group. A topic is split into *partitions*,
# each a log of its own; this topic has one partition, which is the default. Twelve orders are
# written while all three workers run.
#
# Real Kafka does the same work a second time, in a *share group* (KIP-932) with three workers that
# use Kafka's Java client. The engine has no share groups and shows a dash there.

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
# A consumer group hands out *partitions*, not records. One partition keeps one worker busy; the
# other two are spares in case that worker dies. Set `partitions = 3`, and all three work. That is
# the price of order: within a group, each partition has one reader at a time.
#
# A share group hands out records: all three workers got orders from the one partition. These
# workers ask for one at a time (`share.acquire.mode=record_limit`); by default, a worker gets whole
# batches. A free worker takes the next records, and if a worker fails, its records go to another
# worker. This makes a queue on top of a log. In exchange, processing order is lost. (Without real
# Kafka, see the results in `notebooks/solutions`.)
#
# ## The log does not wait
#
# Of ten orders, `mail` has read orders 0 to 3 and committed offset 4. Then it is down for several
# days. A broker deletes records when they are too old or the log is too large (*retention*). Here,
# an operator's DeleteRecords request deletes everything below offset 8 instead. The cell computes
# the lag before and after the deletion, as kafka-consumer-groups does. Then `mail` starts again,
# with `auto.offset.reset=earliest`.

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
# The lag is the difference between two offsets: the end of the log minus the committed offset. It
# still counts orders 4 to 7, which are gone: the deletion did not change the lag.
#
# The application got no error, either. Its committed offset is out of range, so the consumer jumps
# to where `auto.offset.reset` says. Most queues keep a message until a worker has acknowledged it.
# A log keeps a record, read or unread, until its retention ends, and does not wait for any reader.
# A steady lag can therefore hide a loss. Compare the committed offset with the start of the log as
# well, and make retention longer than your longest outage. The broker's own log line shows the
# partition's new start.
#
# ## What is in the bytes
#
# To a broker, a value is just bytes. Many systems put a *schema-registry payload* there: a zero
# byte, a four-byte schema id, then the fields in Avro format, one after the other. A *schema* lists
# the fields and their types. A separate server, the registry, keeps the schemas (notebook 15); here
# they are in the cell. The producer already uses schema 2, which puts the customer's number before
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
# The order cost 19.99, the old reader charged 47.11, and there was no error. The body contains no
# names or types, so the reader takes the second number for the amount, even if the number belongs
# to another field. The five bytes in front protect a reader that checks them: `00` means *framed*,
# and `00 00 00 02` is the id of the writer's schema.
#
# ## A field gets a new name
#
# With JSON, the names are in the bytes. Four services read the orders: payment and loyalty need
# `total`, stock needs `items`, mail needs `email`. After three orders, a new version of the
# producer is released. It renames a field and writes three more orders. Then payment gets a new
# version, which reads the new name and starts over at the first order.

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
# The producer does not know its readers, so its new version did not wait for them. That is loose
# coupling, and here it hurts. The broker stored the new orders like any others, and the two
# services that need `total` cannot process those three. The fixed payment service cannot process
# the old orders: a log keeps what was written, in the format of its day. A reader that starts over
# must understand the old formats, too. A log decouples place, time, speed and the number of
# readers. It does not decouple the *meaning* of an event. So an event's format is an interface: add
# fields, do not rename them, and let a registry reject a schema that breaks readers.
#
# ## Read the code that did it
#
# Here is how the engine serves a read, and how it stores a group's position. Look for a line that
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
# and watch the lag, and **kill** one. What happens to the partitions of a dead member, and to their
# lag? The producer's rate stays the same throughout. The cell after the panel closes the panel.

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
# Replace the stub with your answer, run it, and then run the check below it. `lab.hint("01-8")`
# offers three hints, one per call, and then a solution.
#
# **01-8, who gets what.** `kind` is `"queue"`, `"pub/sub"` or `"log"`. `steps` is a list of pairs:
# `("joins", reader)`, `("publishes", event)`, `("reads", reader)`. At each read, a reader takes
# everything available to it. In the log, each reader is a new group that starts at the earliest
# record. Return a dictionary that maps each reader that joined to the list of events that it got.
#
# **01-9, the five bytes.** Return the schema id and the body of a schema-registry payload, as
# `(id, body)`. For a value that is not framed (its first byte is not 0, or it is too short), return
# -1 and the whole value.
#
# **01-10, the state at an offset.** `log` is a list of `(account, change)`; the list index is the
# offset. A reader adds up the changes; the next offset that it will read is `offset`. Return the
# balance of each account that the reader has seen so far.


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
# Say your answer aloud, then open the printed answer and look at the run that proves it.
#
# <details><summary><b>1. What is the difference between a queue and a log?</b></summary>
#
# A queue hands each message to one worker and forgets it once it is acknowledged. A log keeps
# records for its retention time; each group of readers has its own offset, so several applications
# can each read everything, even late or more than once.
#
# *Follow-up:* can Kafka be a queue, too? Yes: partition by partition in a consumer group, record by
# record in a share group.
#
# *Weak:* "Kafka is faster". *Good:* one reader or many; deletion. *Strong:* says what each costs:
# order, replay, idle workers.
#
# Evidence: [Three ways to pass on an order](#Three-ways-to-pass-on-an-order).
# </details>
# <details><summary><b>2. A new service reads an old topic and gets nothing. Why?</b></summary>
#
# Its group has no committed offset, and `auto.offset.reset` is `latest` by default, so the group
# starts at the end. As long as it reads nothing, librdkafka commits nothing, and each start is a
# first start, but the Java client commits its position (the log's end) anyway.
#
# *Follow-up:* what if the same service worked for a year and was then down for two weeks? Its
# offset is out of range or has expired, so the same setting decides.
#
# *Weak:* "the topic was empty". *Good:* names the setting. *Strong:* says when the setting applies.
#
# Evidence: [A late reader, with default settings](#A-late-reader,-with-default-settings).
# </details>
# <details><summary><b>3. Our services are loosely coupled, because they use Kafka. True?</b></summary>
#
# In place, time, speed and number of readers, yes. In meaning, no: each reader depends on the
# fields that it uses, and the producer does not know the readers.
#
# *Follow-up:* how do you change an event? Add fields with defaults, refuse other changes with a
# schema registry, or write to a second topic during the transition.
#
# *Weak:* "true". *Good:* names the format. *Strong:* has a way to change it, and knows that the
# broker does not check the format.
#
# Evidence: [A field gets a new name](#A-field-gets-a-new-name).
# </details>
# <details><summary><b>4. When would you call a service instead of writing an event?</b></summary>
#
# When the caller needs the answer to continue: is this card valid, what is the price? Then limit
# what a slow service can tie up: use timeouts, a thread pool for each service, and a fallback.
#
# *Follow-up:* how many threads do calls of 2 s tie up at 5 calls a second? Ten.
#
# *Weak:* "never". *Good:* a question versus a fact. *Strong:* computes what a slow service costs.
#
# Evidence: [One service is slow](#One-service-is-slow).
# </details>
# <details><summary><b>5. Does a slow consumer slow a Kafka producer down?</b></summary>
#
# No. Readers fetch, nothing is pushed to them, and the log does not wait for them. Quotas or a full
# disk can slow a producer. The slow reader bears the risk: retention deletes what it has not read.
#
# *Follow-up:* how do you see the loss coming? Compare the lag, in time rather than in records, with
# the retention.
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
# One member is stuck or slow, one keeps up, and the third has no partition. A fourth worker would
# not help. The third gets a partition only when another one leaves or is removed. Find out what the
# first is doing with offset 812. Evidence: [One group, three workers](#One-group,-three-workers).
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
# Here is the shop as four graphs: one program without modules, one with modules, services that call
# each other, and services on a log. For the same requests, compare what must change, what must be
# released, and what stops when mail fails. The picture shows the arrows of the last two graphs when
# a new team, loyalty, needs the orders. Then compare the links: those among n systems, and those
# between senders and receivers.

# %% change-cost tags=["read"]
from lessons.nb01_events import change_cost, company

display(change_cost.table(change_cost.SHOP), company.Company(*change_cost.SHOP[2:]))
lines = {
    "wired in pairs": [(n, links.pairs(n)) for n in range(2, 51, 4)],
    "through a log": [(n, links.through_a_log(n)) for n in range(2, 51, 4)],
}
display(Chart("Links among n systems", lines, x="systems", y="links"))
lab.slider(links.Feeds, senders=range(1, 16), receivers=range(1, 16))

# %% one-hub [markdown]
# Without modules, a change reaches every part that uses the changed one. Modules contain the
# change, and there are fewer arrows, but one program is released as a whole and fails as a whole.
# Services that call each other are released separately, but a failing service takes its callers
# down with it. On a log, a new reader changes nothing that exists, but a changed *format* costs as
# much as before: each reader of the field must change.
#
# With *m* senders and *n* receivers, there are *m × n* links in pairs, and *m + n* through a log.
# In pairs, each link may have its own protocol, as in the picture: the caller speaks the language
# of each service that it calls. A log has one protocol for all. Each service keeps its own storage
# and fills it from the topic, so it can change its tables without asking the others ([a run shows
# it](#Deeper:-Where-Kafka-comes-from)). The services become independent of each other, but not of
# the log: it must always be up, which is why it is replicated (notebook 06).
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
# each system fails. One more topic adds none of these.
# </details>
# <details><summary><b>A new team needs the orders. Which arrow do calls need, and a log does not?</b></summary>
#
# The arrow from checkout to the new team's service. On a log only the new service has an arrow, to
# the log, and checkout stays as it is.
# </details>

# %% [markdown]
# ## Deeper: Groups, side by side
#
# The runs show many producers and many groups, then a group that reads live beside one that reads
# later, one group of two members beside two groups of one, and then a slow worker.

# %% many-readers tags=["both"]
display(lab.both(scenes.many_readers))
display(lab.both(scenes.interleaved))
display(lab.both(scenes.split_or_copy))
lab.both(scenes.slow_member)

# %% [markdown]
# Five producers wrote to one topic before there was a reader. Each partition has one sequence of
# offsets for the records of all five. Three groups read the whole topic, one of them twice, and
# none got a record from the second topic. Within each partition, all the groups saw the same
# sequence. The topic as a whole has no such sequence: the records did not arrive in the order in
# which they were written. In the next run, the group that read live went from one partition to the
# other with each order, as the producer did. The group that read later got its partitions in larger
# pieces. Each partition's sequence was the same for both. The way the partitions alternate was not.
#
# One group of two splits the records: each partition has one reader in the group. With a second
# group, each partition has two readers. The second group reads all the records, and its position
# does not depend on the first group's. A queue can split, and plain publish/subscribe can copy. A
# log does both: partitions split the work inside a group, and groups are independent subscribers.
# (A *segment* is a file of a partition. No subscriber owns a partition permanently.)
#
# A consumer group gives each partition one reader, so the slow worker got half of the jobs. A queue
# gives the next job to a free worker, so the slow one got few. With several workers, jobs do not
# finish in the order in which they arrived.

# %% [markdown]
# ## Deeper: A share group at work
#
# Kafka's own console client takes each record and gives it back (`--release`), like a worker that
# cannot process it. The number after *Delivery* is the broker's count of deliveries. This cell
# needs real Kafka: the engine has no share groups.

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
# Each record was delivered five times (`group.share.delivery.count.limit`), and then never again:
# the broker archives a record that no worker could process, so that it does not block the others.
# Kafka 4.3 does not copy it to a dead-letter topic. The console client exits with a
# TimeoutException when no more records come.

# %% 01-13 tags=["stub", "predict", "quiz"]
lab.quiz("01-13")

# %% 01-13 tags=["solution", "predict", "quiz"]
lab.quiz("01-13", "c")

# %% [markdown]
# ## Deeper: Anatomy of an event
#
# First you see one record's key, value, timestamp and headers, as the reader gets them and in the
# log's bytes. Then come two clocks, and a router that reads only headers.

# %% anatomy tags=["both"]
display(lab.both(scenes.anatomy))
display(lab.both(scenes.times))
lab.both(scenes.routed)

# %% [markdown]
# The key is optional and decides the partition: 100 records with one key went to one partition, 100
# without a key to all three. (Here each record without a key was assigned to a partition
# separately; by default, a client keeps a batch together.) Headers are a list: a name may occur
# twice, and the order is kept, even in the router's copy. They are next to the value in the record,
# so a router can read them without decrypting the value. The value is just bytes: the reader that
# decoded it as text got an error, but the broker did not.
#
# By default a record keeps the time that its producer gave it. With `LogAppendTime`, the broker
# stores its own time instead. A lookup by time uses the stored time. Since Kafka 4.0, a broker
# refuses a record whose timestamp is more than an hour in the future
# (`message.timestamp.after.max.ms`, KIP-1030): retention by age would keep it too long.

# %% [markdown]
# ## Deeper: Other languages, and the pull
#
# Python writes, Kafka's Java consumer reads, and both know one address. Next, a bare connection
# shows what a broker sends to a reader that has not asked, and a service has a handler that waits
# for events. Then one to four members share six partitions, and 24 orders that come at once.
# Finally, Java's consumer plays the late reader from the core, with default settings.

# %% other-languages tags=["both"]
display(lab.both(scenes.other_languages))
display(lab.both(scenes.pulled))
display(lab.both(scenes.on_events))
display(lab.both(scenes.shared_out))
lab.both(scenes.late_in_java)

# %% [markdown]
# All clients use one protocol, and a broker offers each of them the same versions of each request
# (notebook 04 reads the list). Its answer, *ApiVersions*, also has the cluster's feature levels:
# metadata.version 30 came with Kafka 4.3. Kafka speaks no other protocol, so HTTP, JDBC and MQTT
# need Connect or a proxy. A client asks any broker where all the brokers are, and finds each leader
# by itself. A group's members divide the partitions among themselves. So you need no service
# registry or load balancer. More members finish a backlog sooner, as long as the busiest one gets
# fewer partitions; here, the fourth member changes nothing. A broker sends nothing on its own:
# *subscribe* is the client library's word, and the wire carries Fetch after Fetch. The handler ran
# once for each event, and not at all in between.
#
# Java's consumer also starts at the end and reads none of the six orders. But when it stops, it
# commits its position, even if it has read nothing, so its second run reads the four later ones.
# librdkafka, and with it confluent-kafka, commits only after the application has read something.

# %% [markdown]
# ## Deeper: No reader slows the producer
#
# This run measures a producer's rate. It also measures the producer's latency without a reader,
# with a reader, and with a reader that does not poll.

# %% no-reader-slows tags=["both"]
lab.both(scenes.no_reader_slows)

# %% [markdown]
# No write waits for a reader, and a stuck reader costs the producer no more than a working one.
# (Brokers, readers and producer share one machine here, so the medians differ a little.) Quotas and
# a full disk can slow a producer down. Throughput and latency depend on batching: sent alone, each
# record costs a round trip; in a batch, hundreds share one, and each is acknowledged when the whole
# batch is. The numbers are for three brokers on your machine.

# %% [markdown]
# ## Deeper: When a program is down
#
# First, a receiver is absent. Next, a reader is stopped and replaced while another group starts.
# Last, a member leaves and a leader dies; the producer knows only broker 103's address.

# %% down tags=["both"]
display(lab.both(scenes.receiver_is_down))
display(lab.both(scenes.stopped_reader))
lab.both(scenes.leader_and_member_die)

# %% [markdown]
# Ten calls failed, but ten events waited. The sender did not: it had all its answers before the
# receiver started. When messages are pushed to a receiver, it must drop what its buffer cannot
# hold; a reader that pulls just lags behind. The new version of a stopped reader continued from its
# group's offset. Neither the producer nor the other group noticed: one producer numbered all 25
# records without a gap, and the group that started meanwhile read them all.
#
# The member that stayed took over both partitions. After the leader's death, the producer asked for
# Metadata and found the next leader. Ten more records were acknowledged, and another group found
# all thirty records. Such a recovery takes `acks=all`, in-sync replicas and commits after the work.
# The ten writes took seconds: "without downtime" promises too much; "with a pause of a few seconds"
# is right.
#
# **01-11, the chain.** A request calls services one after the other. Each hop is
# `(milliseconds, success)`, with a success rate between 0 and 1. Return the time of a request
# that succeeds, and the share of requests in which all hops succeed, rounded to 4 digits. (With
# events, the caller waits for one append. Notebook 08 writes to a log under faults, with retries:
# each acknowledged record arrives.)


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
# The log stores bank accounts not as balances but as the changes that led to them.

# %% event-sourcing tags=["both"]
lab.both(scenes.account_history)

# %% [markdown]
# The state is the sum of the changes in the log. An earlier state is a shorter sum, and a question
# that came up later (how long has Ann been below zero?) can be answered. The price: the log must be
# kept. If it is compacted to the last value of each key (notebook 12), the history is gone.

# %% models-and-words [markdown]
# ## Deeper: Brokers, models and words
#
# Message brokers belong to *message-oriented middleware*: programs that take messages, keep them,
# and pass them on between programs in different languages and on different platforms.
#
# | | delivers by | replay | order | is |
# |---|---|---|---|---|
# | Kafka | pull | yes, up to retention | per partition | a broker cluster |
# | RabbitMQ | push, with a limit of open messages | no (its streams: yes) | per queue, one consumer | a broker |
# | ActiveMQ | push (JMS) | no | per queue, one consumer | a broker |
# | Amazon SQS | poll | no | FIFO queues only | a service |
# | ZeroMQ | push | no | per connection | a library, no broker |
#
# Models: *point to point* (a queue), *publish/subscribe*, and the *event stream*, a log where
# readers can start anywhere. Most queues deliver **at least** once: if a worker dies before it
# acknowledges a message, another worker gets that message again.
#
# A topic names a kind of data, as a table or a folder does. The similarity ends there:
#
# | | a table | a folder | a topic |
# |---|---|---|---|
# | change an entry in place | yes | yes | no, append only |
# | delete an entry | yes | yes | no: retention, or compaction by key |
# | order | none | by name | by offset, in each partition |
#
# A broker takes code out of applications. Some *Enterprise Integration Patterns*, and their form in
# Kafka: router and splitter, a consumer that produces (or Streams' `split`); aggregator, a stream
# processor with state; wire tap, one more group; dead letter channel, a topic that your code or
# Connect writes.
#
# The *Reactive Manifesto* asks for four traits: responsive, resilient, elastic and message-driven.
# Match them with four runs: a leader is killed; mail takes 2 s; a group gets a second and a third
# member; a service handles a record when it arrives.
#
# <details><summary><b>Which run shows which trait?</b></summary>
#
# Mail takes 2 s: responsive, the checkout answers in time ([One service is
# slow](#One-service-is-slow)). A leader is killed: resilient, the next leader serves what was
# acknowledged ([When a program is down](#Deeper:-When-a-program-is-down)). A second and a third
# member: elastic, they share the partitions ([Other
# languages](#Deeper:-Other-languages,-and-the-pull)). A record arrives: message-driven, the handler
# runs only then ([the same section](#Deeper:-Other-languages,-and-the-pull)).
# </details>

# %% 01-20 tags=["stub", "predict", "quiz"]
lab.quiz("01-20")

# %% 01-20 tags=["solution", "predict", "quiz"]
lab.quiz("01-20", "a", "c", "d")

# %% where-from [markdown]
# ## Deeper: Where Kafka comes from
#
# LinkedIn had two pipelines. Metrics were polled, and page views traveled in batches:
#
# ```
#  servers   -- polled at intervals -->  metrics system    -->  graphs and alerts
#  web pages -- sent in batches     -->  batch processing  -->  reports on page views
# ```
#
# The two could not be joined: they were in two systems and two formats, and one came much later
# than the other. Jay Kreps, Neha Narkhede and Jun Rao built one log for both, with four aims:
# readers that pull and do not hinder each other, persistence for many readers, throughput, and
# growth by adding machines.
#
# | aim | what serves it |
# |---|---|
# | decoupled readers | pull by Fetch, an offset for each group |
# | many readers, late readers | the log, retention |
# | throughput | append, batches, compression, zero copy |
# | growth | partitions on many brokers |
#
# First used about 2010; open source in January 2011, in the Apache incubator the same year, an
# Apache top-level project in 2012; its founders left for Confluent in 2014. Kafka 4.0, from 2025,
# was the first release without ZooKeeper; this course uses 4.3 (notebook 00 shows what a broker
# says of its release). Kafka is named after the writer Franz Kafka, written in Java and Scala, and
# available under the Apache license 2.0. Kafka 4 needs Java 17 for brokers, and Java 11 for clients
# and Streams.
#
# In one minute: programs write events to topics on a cluster of brokers; a topic is split into
# partitions, append-only logs that are replicated; the key picks the partition; readers pull, keep
# an offset for each group, and may start over within the retention. It serves as a queue and as
# publish/subscribe. Its parts: the **producer and consumer** clients as the two primitives, the
# **Admin** client, **Connect** for what is not a program of yours, **Streams** to process, and
# since KIP-932 **share groups**. The project calls it a distributed *event streaming platform*.
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
# | messaging between services | key = entity, a few partitions | move |
# | metrics and logs | one schema for all sources, short retention | move |
# | commit log, change data | compacted, key = primary key | keep |
# | stream processing | input and output of the same partition count | stream |
# | event-driven services | a group for each service | move |
#
# One stream serves readers of data *in motion* and *at rest*. The first run has a small generator
# for each use. In the second, a report counts the clicks as they come, and a batch reader puts them
# into a table on disk, which SQL counts.

# %% clickstream tags=["both"]
from lessons.nb01_events import uses

display(lab.both(uses.typical_uses))
lab.both(scenes.clickstream)

# %% [markdown]
# The topics of the first run differ in their partitions and in how long they keep a record. The
# processor's output has as many partitions as its input, so each key has the same partition number
# in both.
#
# Two groups read the clicks: a report counts pages, and a recommendation keeps each user's last
# page. Neither knows about the other. The table at rest gives the same counts as the stream (lab L1
# fills Parquet tables from a topic with Spark). While the report was down, the recommendation
# carried on. Then the report filled a new store, organized by user, starting at the first click,
# and the recommendation's offsets did not change: each group has its own storage.

# %% 01-16 tags=["stub", "predict", "quiz"]
lab.quiz("01-16")

# %% 01-16 tags=["solution", "predict", "quiz"]
lab.quiz("01-16", "a", "c")

# %% 01-17 tags=["stub", "predict", "quiz"]
lab.quiz("01-17")

# %% 01-17 tags=["solution", "predict", "quiz"]
lab.quiz("01-17", "b")

# %% 01-18 tags=["stub", "predict", "quiz"]
lab.quiz("01-18")

# %% 01-18 tags=["solution", "predict", "quiz"]
lab.quiz("01-18", "a", "b", "d")

# %% 01-15 tags=["stub", "predict", "quiz"]
lab.quiz("01-15")

# %% 01-15 tags=["solution", "predict", "quiz"]
lab.quiz("01-15", "b", "c", "e")

# %% 01-19 tags=["stub", "predict", "quiz"]
lab.quiz("01-19")

# %% 01-19 tags=["solution", "predict", "quiz"]
lab.quiz("01-19", "a", "c", "d")

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | subscribers are notified of new messages | a broker sends nothing without a Fetch | [Other languages](#Deeper:-Other-languages,-and-the-pull) |
# | with a queue each message is delivered once | to one worker at a time; again when it is given back | [A share group](#Deeper:-A-share-group-at-work) |
# | a queue keeps the order | it hands out in order; several workers do not finish in order | [Groups](#Deeper:-Groups,-side-by-side) |
# | all subscribers see the same order | within a partition | [Groups](#Deeper:-Groups,-side-by-side) |
# | readers of a stream do not subscribe | they do, and keep their own position | [Three ways](#Three-ways-to-pass-on-an-order) |
# | a partition is a segment that belongs to a subscriber | segments are its files; each group assigns it to a member | [Groups](#Deeper:-Groups,-side-by-side) |
# | a producer never waits for consumers | right, except for quotas and a full disk | [No reader](#Deeper:-No-reader-slows-the-producer) |
# | Kafka works without downtime | a leader's death pauses a partition | [When a program is down](#Deeper:-When-a-program-is-down) |
# | asynchronous messages are delivered for sure | with `acks=all`, replicas, `min.insync.replicas`, and commits after the work | [When a program is down](#Deeper:-When-a-program-is-down) |
# | any timestamp is kept | one that is over an hour ahead is refused since 4.0 | [Anatomy](#Deeper:-Anatomy-of-an-event) |
# | a message broker connects all protocols | Kafka speaks its own protocol; Connect and proxies speak others | [Other languages](#Deeper:-Other-languages,-and-the-pull) |
# | ZeroMQ is a message broker | a library; the pub/sub run used it, and nothing was kept | [Three ways](#Three-ways-to-pass-on-an-order) |
# | an API call is synchronous | mostly; what counts is whether the caller needs the answer to continue | [One service is slow](#One-service-is-slow) |
# | communication becomes decentralized | it is centralized in a replicated hub; the services become independent | [What a change costs](#Deeper:-What-a-change-costs) |
#
# **What real Kafka does beyond this.** Retention by age and size works on whole segments (notebook
# 12). Notebook 09 covers consumer groups with the new protocol (KIP-848) and their rebalances; 10,
# commits and what is lost or repeated; 15, Connect and a registry; 16, Streams.
