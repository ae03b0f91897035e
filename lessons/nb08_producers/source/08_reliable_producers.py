# %% [markdown]
# # 08 · Reliable producers
#
# A shop sends an order and gets no answer. Was the order stored? Should the shop send it again?
# This notebook loses answers, connections and leaders on purpose, and shows which settings make
# those losses harmless and what no setting can do.
#
# **What you will be able to do**
#
# * say what an application knows about a record that was acknowledged, refused, or neither
# * explain what a producer id, an epoch and a sequence number are for
# * predict what the log holds after a retry, and after a retry by the application itself
# * choose settings for a producer and its topic, and have them judged under faults
#
# **Time:** {minutes}. You need the in-sync replicas and the high watermark (notebook 06). A
# producer sends records in *batches*, each for one partition. Python alone is enough; if real Kafka
# is available, most runs happen on both the engine and Kafka.
#
# Most runs below follow a question. Answer it first; the run gives the verdict. Then change the
# values at the top of the run's cell and run the cell again.
#
# ## An answer is lost
#
# The producer in these cells is the engine's own. It does what the Java client does, batch by
# batch, and it can lose an answer when we want it to. The first run is in virtual time, so that you
# can watch every message afterward. B is the record whose answer is lost.

# %% doorway tags=["setup"]
from kit import lab
from kit.drawings.chart import Chart
from kit.drawings.watched import Watched
from kit.probes import clients
from lessons.nb08_producers import measure, scenes
from lessons.nb08_producers.shop import Shop, copied

REPLICAS = {0: [101, 102, 103]}

# %% 08-1 tags=["stub", "predict"]
lab.predict("08-1")

# %% 08-1 tags=["solution", "predict"]
lab.predict("08-1", "A B B C")

# %% lost-answer tags=["sim"]
idempotence, lost = False, "B"  # also True; another record; "" loses none
request_timeout_ms, cut_s = 1_000, 1.2

world = lab.world(seed=8)
world.create_topic("orders", assignment=REPLICAS)
settings = {"enable.idempotence": idempotence, "request.timeout.ms": request_timeout_ms}
shop = Shop(world, "orders", settings)
for value in "ABC":
    if value == lost:
        world.cut_one_way(101, "shop")  # what 101 says does not arrive
    shop.send(value)
    world.run(for_s=cut_s)
    world.heal()
    shop.wait()
    world.run(for_s=0.6)  # until the followers know that all is committed

display(shop.story)
attempts = [each["attempt"] for each in shop.lines("sent")]
seen = {"the log": " ".join(shop.log()), "attempts to send the record": max(attempts)}
lab.verdict("08-1", seen)

# %% watch tags=["read"]
panel = lab.panel(world, "orders")
panel.jump("fault")
panel

# %% [markdown]
# To the producer, a lost answer and a lost record look the same. The producer sends the batch
# again, and nothing in the batch shows that it is the same one. The callback reports success once.
#
# The panel shows that run. Click the panel, then use Home, the arrow keys and End; the producer is
# the client at the top right. The panel opens at the step where the link is cut. Step forward until
# the answer to B is held at the cut. At that moment B is committed, but the producer does not know
# it. Press *kill* on 101 at that step; a second timeline begins. Does the next leader store B
# again?
#
# Set `idempotence = True` in the run above. The batch then carries the producer's id and a sequence
# number, so the leader recognizes the repeat and answers it with the old offset.
#
# ## Several requests under way
#
# A producer does not wait for one answer before it sends the next request. The setting
# `max.in.flight.requests.per.connection` limits how many requests may be unanswered at once; its
# default is 5. From here on, the engine's producer talks over sockets, to the engine and, if
# available, to real Kafka. `lab.both` lays the two outcomes side by side, and an unexplained
# difference fails the cell.

# %% 08-3 tags=["stub", "predict"]
lab.predict("08-3")

# %% 08-3 tags=["solution", "predict"]
lab.predict("08-3", "D C B A")

# %% connection-ends tags=["both"]
in_flight, lost, idempotence = 5, 4, False  # also 1 in flight; idempotence True


def connection_ends(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    settings = {
        "enable.idempotence": idempotence,
        "max.in.flight.requests.per.connection": in_flight,
        "request.timeout.ms": 1_000,
    }
    with Shop(cluster, "orders", settings) as shop:
        shop.lose_requests(lost)  # and the connection with the last of them
        shop.send("A", "B", "C", "D")
        shop.wait()
        return {
            "most requests under way": shop.most_under_way,
            "errors that the application saw": len(shop.having("unknown")),
            "the log": " ".join(shop.log()),
        }


outcome = lab.both(connection_ends)
display(outcome)
lab.verdict("08-3", outcome)

# %% [markdown]
# The Java client puts each failed batch back at the front of its queue: first A, then B in front of
# A, and so on. With one request in flight the order holds. With idempotence it holds too: each
# batch has a number, the client sorts the batches by number, and the leader accepts only the next
# number. By default, idempotence is on in the Java client and off in confluent-kafka, where you
# must turn it on.
#
# ## Why five?
#
# For each producer, a partition remembers the last **five batches**: their first and last sequence
# numbers and their offsets. That is why Kafka's client refuses six requests in flight with
# idempotence. Here `checked=False` allows six, and the answers to all six requests are lost.

# %% 08-11 tags=["stub", "predict"]
lab.predict("08-11")

# %% 08-11 tags=["solution", "predict"]
lab.predict("08-11", "d")

# %% more-than-five tags=["both"]
in_flight = 6  # also 5, and 7


def answers_are_lost(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    settings = {
        "max.in.flight.requests.per.connection": in_flight,
        "request.timeout.ms": 1_000,
        "delivery.timeout.ms": 20_000,
    }
    with Shop(cluster, "orders", settings, checked=False) as shop:
        shop.lose_answers(in_flight)
        shop.send(*"ABCDEFG"[:in_flight])
        shop.wait()
        repeats = [each["error"] for each in shop.lines("answered") if each["attempt"] == 2]
        return {
            "sent": " ".join("ABCDEFG"[:in_flight]),
            "first answer to a repeat": repeats[0].replace("NONE", "success"),
            "errors that the application saw": len(shop.having("unknown")),
            "epoch": shop.lines("sent")[-1]["epoch"],
            "the log": " ".join(shop.log()),
        }


outcome = lab.both(answers_are_lost)
display(outcome)
lab.verdict("08-11", outcome)

# %% [markdown]
# A repeat of one of those five batches gets a success answer. A repeat of an older batch looks like
# a mistake to the leader, which answers `OUT_OF_ORDER_SEQUENCE_NUMBER`, as it does for a gap. A is
# repeated first, so the producer concludes that something is missing. It begins a new **producer
# epoch**, renumbers all six batches from 0 and resends them; the leader recognizes none. (This is
# the producer's own epoch, not the leader epoch of notebook 06.) With five in flight, no repeat is
# ever too old.
#
# At work you see this from the broker's side. Below are the batch headers as Kafka's own tool
# prints them (`producerId`, `producerEpoch`, `baseSequence`), and the leader's log of both runs.
# (The engine logs nothing about a refused batch. Its trace shows each batch that was appended.)

# %% at-work tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
answers_are_lost(cluster)
word = "OutOfOrder" if lab.real() else "append orders-0"
display(lab.tool(cluster, "kafka-dump-log", broker=101, topic="orders"))
lab.broker_log(cluster, 101, word)

# %% [markdown]
# A batch's header holds the numbers once; a record's number follows from its place in the batch.
#
# ## The clock of the client
#
# `retries` is 2147483647 and decides nothing. What decides is a clock: `delivery.timeout.ms` (120 s
# by default) runs from the moment when the record is in its batch, and covers every attempt and
# every pause. Here the timeout is 600 ms, and during that time the leader cannot reach its
# followers.

# %% 08-12 tags=["stub", "predict"]
lab.predict("08-12")

# %% 08-12 tags=["solution", "predict"]
lab.predict("08-12", "c")

# %% timeout tags=["both"]
fault = "followers cut"  # also "request lost"
settings = {"delivery.timeout.ms": 600, "request.timeout.ms": 400}


def time_is_over(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    with Shop(cluster, "orders", settings) as shop:
        shop.send("first")
        shop.wait()
        if fault == "followers cut":
            cluster.cut(101, 102)
            cluster.cut(101, 103)
        else:
            shop.lose_requests()
        shop.send("A")
        shop.wait()  # until the callback: here it gets its TimeoutException
        cluster.heal()
        requests = sum(each["batch"] == 2 for each in shop.lines("sent"))
        return {
            "the callback": f"TimeoutException: {shop.errors[-1]}" * bool(shop.errors[-1]),
            "requests with A": lab.measured(requests, "requests"),
            "A in the log": shop.log().count("A"),
        }


outcome = lab.both(time_is_over)
display(outcome)
lab.verdict("08-12", outcome)


# %% too-late tags=["read"]
# 101 freezes for outage_s. Compare the verdict with the log.
def too_late(outage_s=5, delivery_timeout_s=10):
    world = lab.world(seed=8)
    world.create_topic("orders", assignment={0: [101]})
    limits = {"request.timeout.ms": 1_000, "delivery.timeout.ms": delivery_timeout_s * 1000}
    shop = Shop(world, "orders", limits)
    log = world.replica(101, "orders", 0).log
    watched = Watched(world, {
        "101 stands still": lambda w: w.cluster.states[101] == "paused",
        "the producer tries": lambda w: "pending" in shop.verdicts,
        "the order is in the log": lambda w: log.log_end_offset > 0,
    })  # fmt: skip
    world.pause(101)
    shop.send("order")
    watched.run(for_s=outage_s)
    world.resume(101)
    watched.run(for_s=30 - outage_s)
    return watched.spans(f"The verdict: {shop.verdicts[0]}. Copies in the log: {len(shop.log())}.")


lab.slider(too_late, outage_s=range(1, 26), delivery_timeout_s=(2, 5, 10, 20))

# %% [markdown]
# In the prediction's cell, set `fault = "request lost"`: the same exception, and no A in the log.
# So besides *acknowledged* and *refused* there is a third verdict, **unknown**: the record may be
# in the log, or may get there later (move `outage_s` past `delivery_timeout_s`). (Java's callback
# gets the same TimeoutException in both cases.)
#
# ## The application tries again
#
# What does an application do after such an exception? Much published sample code catches it, sleeps
# and calls `send()` again. The loop below does so without the sleep.

# %% 08-13 tags=["stub", "predict"]
lab.predict("08-13")

# %% 08-13 tags=["solution", "predict"]
lab.predict("08-13", 3)

# %% application-repeats tags=["both"]
attempts_most, without_answer = 5, 2  # also 0, 1 or 5 calls without an answer
settings = {"request.timeout.ms": 250, "delivery.timeout.ms": 600}  # idempotence is on


def application_repeats(cluster):
    cluster.create_topic("payments", assignment=REPLICAS)
    with Shop(cluster, "payments", settings) as shop:
        for attempt in range(attempts_most):
            shop.lose_answers(1_000 if attempt < without_answer else 0)
            shop.send("pay 10")
            shop.wait()
            if shop.verdicts[-1] == "acknowledged":
                break
        return {
            "calls of send()": len(shop.verdicts),
            "callbacks": ", ".join(shop.verdicts),
            "requests": lab.measured(len(shop.lines("sent")), "requests"),
            "pay 10 in the log": shop.log().count("pay 10"),
        }


outcome = lab.both(application_repeats)
display(outcome)
lab.verdict("08-13", outcome)

# %% [markdown]
# Idempotence did its work: there were more requests than records. But it recognizes only a *batch*
# that the client repeats. To the broker, a second `send()` is a second record with a number of its
# own. Set `delivery.timeout.ms` so that the client retries for as long as the business can wait.
# Send the records that fail after that to a place where a person decides, or to a reader that
# recognizes each payment by its own id.
#
# ## The leader dies
#
# A topic has `min.insync.replicas=2`, its producer sends with `acks=1`, and the leader dies.

# %% 08-14 tags=["stub", "predict"]
lab.predict("08-14")

# %% 08-14 tags=["solution", "predict"]
lab.predict("08-14", "b")

# %% leader-dies tags=["both"]
acks, minimum = "1", 2  # also "all" and "0"


def leader_dies(cluster):
    cluster.create_topic("orders", assignment=REPLICAS, config={"min.insync.replicas": minimum})
    with Shop(cluster, "orders", {"acks": acks}) as shop:
        shop.send("A")
        shop.wait()
        cluster.wait_until(copied("orders"), 10, "A to be copied")
        cluster.cut(101, 102)
        cluster.cut(101, 103)
        shop.send("B", "C")
        shop.wait(for_s=0.3)
        before = shop.having("acknowledged")
        cluster.kill(101)
        cluster.wait_until(lambda c: clients.partition(c, "orders")["leader"] == 102, 30, "102")
        shop.wait()
        log = shop.log()
        return {
            "acknowledged before the death": before,
            "the log": log,
            "acknowledged and missing": sum(value not in log for value in before),
            "acknowledged after the election": len(shop.having("acknowledged")) - len(before),
            "refused": len(shop.having("refused")),
        }


outcome = lab.both(leader_dies)
display(outcome)
lab.verdict("08-14", outcome)

# %% [markdown]
# The election was clean and the topic has a minimum of two, yet two acknowledged records are gone:
# only 101 had them. `acks` says what the leader waits for before it answers: nothing, its own
# append, or all the in-sync replicas. `min.insync.replicas` says how many of those there must be
# for a write with `acks=all`, and for no other. With `acks = "all"`, B and C are not acknowledged
# before 101 dies, so the producer resends them to 102, and idempotence keeps the order.
#
# ## What safety costs
#
# The old recipe for keeping records in order was one request in flight. To show its price,
# confluent-kafka now sends one record per request, with the followers 20 ms away from the leader.
# (With Docker the links cannot be slowed, so the rates are higher.)

# %% 08-15 tags=["stub", "predict"]
lab.predict("08-15")

# %% 08-15 tags=["solution", "predict"]
lab.predict("08-15", "a")

# %% rates tags=["both"]
far_ms, count = 20, 30  # also 0 and 5 ms
in_flights = (1, 2, 5)


def rates(cluster):
    cluster.create_topic("rates", assignment=REPLICAS)
    if cluster.offers("slow"):
        for follower in (102, 103):
            cluster.slow(101, follower, far_ms)
    measure.send_all(cluster, "rates", count, {})  # a Java broker is slow at first
    found = {}
    for acks in ("1", "all"):
        for n in in_flights:
            settings = {"acks": acks, "max.in.flight": n}
            rate = max(measure.send_all(cluster, "rates", count, settings).rate for _ in "12")
            found[acks, n] = rate
    seen = {f"acks={a}, {n} in flight": lab.measured(r, "records/s") for (a, n), r in found.items()}
    gain = found["all", max(in_flights)] / found["all", min(in_flights)]
    return seen | {"gain": lab.measured(gain, "times, acks=all")}


outcome = lab.both(rates)
display(outcome, measure.rates_drawn("Records per second", outcome, in_flights))
lab.verdict("08-15", outcome)

# %% [markdown]
# A broker takes a connection's next request only when it has answered the last one, so with
# `acks=all` each of the five requests waits for the followers in turn. Having several requests in
# flight saves only the trip from client to broker, which is short here. With the producer 2 ms
# away, *Deeper: One fault tape* measures a different result. The real cost is `acks=all` itself,
# one round trip to the followers per request. Batches make up for it, because a request may carry
# thousands of records. With `acks=1` no request waits for the followers; those rates depend on your
# machine and vary, so do not compare them. A consumer gains nothing from `acks=1`: with any `acks`,
# it reads only what every in-sync replica has (Deeper: Copies).
#
# ## Read the code that did it
#
# The first function shows how the leader recognizes a repeat, and the second how it judges any
# other sequence number. In the second, find the case in which any first number is right (the leader
# knows nothing about this producer), and the one in which only 0 is right (the producer has begun a
# new epoch).

# %% code-broker tags=["read"]
from engine.storage.producer_states import ProducerStates

lab.show(ProducerStates.find_duplicate, ProducerStates._check_sequence)

# %% [markdown]
# ## Break it
#
# Now you are the broker. Write down your answers, and see what the producer makes of them. Each
# list waits until it has one request for each of its words, then answers them in order. You may
# give several lists. After the last one every answer is `ok`. The words are `ok`, `again` (success,
# as for a repeat), `drop` (stored, and the connection ends before the answer), `hang-up` (not
# stored, and the connection ends), `silence` (stored, no answer), or an error's name such as
# `NOT_ENOUGH_REPLICAS`.
#
# * `["drop"], ["again"]` loses an answer. What if you say `ok` to the repeat?
# * `["NOT_ENOUGH_REPLICAS", "ok", "ok"]` with `enable_idempotence=False`: the first of three fails
# * the same with `client="librdkafka"`, and with `max_in_flight_requests_per_connection=1`
# * `["ok", "ok", "OUT_OF_ORDER_SEQUENCE_NUMBER"]`, a gap that nothing explains, with both clients

# %% break-it tags=["live"]
from lessons.nb08_producers.be_the_broker import meets

gap = "OUT_OF_ORDER_SEQUENCE_NUMBER"
meets("A B C", ["NOT_ENOUGH_REPLICAS", gap, gap], client="engine")

# %% [markdown]
# ## Your turn
#
# Here are three exercises (a fourth is in *Deeper: One delivery*). Replace the stub with your
# answer, run it, then run the check. `lab.hint("08-4")` gives three hints and then a solution.
#
# **08-4, three verdicts.** `answers` lists the outcome of each attempt, in order, by Kafka's names:
# `NONE` for success, `REQUEST_TIMED_OUT` for no answer in time and `NETWORK_EXCEPTION` for a lost
# connection. The list is empty if the record was never sent. Return `"acknowledged"`, `"refused"`
# or `"unknown"`. `DUPLICATE_SEQUENCE_NUMBER` means that the record was stored so long ago that its
# offset is forgotten. Six errors leave open whether the attempt stored the record: no answer, no
# connection, `NOT_ENOUGH_REPLICAS_AFTER_APPEND`, and three that a leader may send after the append,
# because it lost its leadership, the topic or the disk while it waited for its followers
# (`NOT_LEADER_OR_FOLLOWER`, `UNKNOWN_TOPIC_OR_PARTITION` and `KAFKA_STORAGE_ERROR`).
#
# **08-5, the dedup window.** `remembered` holds one producer's last batches, at most five, oldest
# first, each as `[first sequence, last sequence]`. A batch from `first` to `last` arrives in the
# same epoch. Return `"store"`, `"duplicate"` or `"out of order"`.
#
# **08-7, settings for a ledger.** Nothing may be lost, stored twice or put out of order, and
# sending must be as fast as that allows with the producer 2 ms away from the leader. Writes must
# continue while one of the three brokers is down for its upgrade. The judge plays a tape of faults
# with your settings (*Deeper: One fault tape*) and measures the rate.


# %% 08-4 tags=["stub"]
def verdict(answers):
    """What may be said of a record when the producer has stopped trying."""


# %% 08-4 tags=["solution"]
def verdict(answers):
    """What may be said of a record when the producer has stopped trying."""
    maybe = {"REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
    maybe |= {"NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR"}
    if answers and answers[-1] in ("NONE", "DUPLICATE_SEQUENCE_NUMBER"):
        return "acknowledged"
    return "unknown" if any(each in maybe for each in answers) else "refused"


# %% 08-4 tags=["check"]
lab.check("08-4", verdict)


# %% 08-5 tags=["stub"]
def accept(remembered, first, last):
    """What a leader does with a batch."""


# %% 08-5 tags=["solution"]
def accept(remembered, first, last):
    """What a leader does with a batch."""
    if [first, last] in [list(each) for each in remembered]:
        return "duplicate"
    following = remembered[-1][1] + 1 if remembered else first
    return "store" if first == following else "out of order"


# %% 08-5 tags=["check"]
lab.check("08-5", accept)

# %% 08-7 tags=["stub"]
ledger = {
    "acks": "1",
    "enable.idempotence": False,
    "max.in.flight.requests.per.connection": 5,
    "min.insync.replicas": 1,
}

# %% 08-7 tags=["solution"]
ledger = {
    "acks": "all",
    "enable.idempotence": True,
    "max.in.flight.requests.per.connection": 5,
    "min.insync.replicas": 2,
}

# %% 08-7 tags=["check"]
lab.check("08-7", ledger)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. How does a producer know that its data is safe, and what does it cost?</b></summary>
# acks=all: the answer comes when every in-sync replica has the record, and min.insync.replicas says
# how many such replicas there must be. It costs a round trip to the followers per request.
# <i>Follow-up:</i> does acks=1 with min.insync.replicas=2 give half of that? <b>Weak:</b> "acks=all
# waits for all brokers." <b>Good:</b> the whole current ISR, with the minimum as the floor.
# <b>Strong:</b> adds that the replicas have the record in memory, not on disk, and that acks=1
# ignores the minimum. Evidence: <a href="#The-leader-dies">The leader dies</a>; loss, rate and p99
# of each acks in <a href="#Deeper:-One-fault-tape">One fault tape</a>.
# </details>
# <details><summary><b>2. How does the broker tell a repeat from a new record?</b></summary>
# By producer id, epoch, and first and last sequence number of the batch, within one partition and
# among the last five batches. <i>Follow-up:</i> what if the producer was restarted in between?
# <b>Weak:</b> "it compares the records." <b>Good:</b> id and sequence number. <b>Strong:</b> five
# batches and why five; a new instance has a new id, so its repeats are new.
# Evidence: <a href="#Why-five?">Why five?</a>
# </details>
# <details><summary><b>3. A callback gets a TimeoutException. What do you do?</b></summary>
# The record may be in the log. Do not send it again without a way to recognize it: raise
# delivery.timeout.ms, or set the record aside and let the reader deduplicate by an id.
# <i>Follow-up:</i> does idempotence help here? <b>Weak:</b> "retry." <b>Good:</b> says that the
# outcome is unknown. <b>Strong:</b> explains why a second send() is a second record. Evidence:
# <a href="#The-application-tries-again">The application tries again</a>.
# </details>
# <details><summary><b>4. What does order depend on?</b></summary>
# One partition and one producer instance, and either idempotence with up to five requests in
# flight, or one request in flight without idempotence. <i>Follow-up:</i> what did one in flight
# cost in your measurement? <b>Weak:</b> "Kafka keeps order." <b>Good:</b> per partition, and
# retries can change it. <b>Strong:</b> shows how a lost connection reverses batches. Evidence:
# <a href="#Several-requests-under-way">Several requests</a>.
# </details>
# <details><summary><b>5. Asynchronous sending, or synchronous sending with acks=0: what is the
# difference?</b></summary>
# send() is always asynchronous; waiting for its future is one choice, acks another. With acks=0
# there is no answer to wait for. <i>Follow-up:</i> which of the two learns of a dead leader?
# <b>Weak:</b> "acks=0 is synchronous." <b>Good:</b> separates the two. <b>Strong:</b> knows that
# the offset reported is -1. Evidence: <a href="#Deeper:-The-application's-part">The application's
# part</a>.
# </details>
# <details><summary><b>6. A producer logs NOT_ENOUGH_REPLICAS with 2147483630 attempts left. What happened?</b></summary>
# <pre>Topic: orders  Partition: 0  Leader: 101  Replicas: 101,102,103  Isr: 101  Elr: 102  LastKnownElr:</pre>
# The topic has min.insync.replicas=2. Broker 103 left the ISR first, then 102, so 102 is eligible
# to lead and 101 accepts no acks=all writes. The producer has made 17 attempts and continues until
# delivery.timeout.ms is over. Nothing is lost: start a broker. Evidence:
# <a href="#Deeper:-Copies">Copies</a>.
# </details>
#
# ## Quiz
#
# Several letters are right.

# %% 08-8 tags=["stub", "predict", "quiz"]
lab.quiz("08-8")

# %% 08-8 tags=["solution", "predict", "quiz"]
lab.quiz("08-8", "a", "d")

# %% 08-10 tags=["stub", "predict", "quiz"]
lab.quiz("08-10")

# %% 08-10 tags=["solution", "predict", "quiz"]
lab.quiz("08-10", "b", "c", "d")

# %% [markdown]
# ## Deeper: One delivery
#
# Here is every wait of one record, drawn from the producer's trace, and the clock that ends it.

# %% timelines tags=["sim"]
from lessons.nb08_producers import virtual_runs
from lessons.nb08_producers.delivery_timeline import DeliveryTimeline
from lessons.nb08_producers.fault_stages import log_of

display(DeliveryTimeline.of(virtual_runs.late_answer(delivery_ms=10_000), "shop"))
display(DeliveryTimeline.of(virtual_runs.too_few_replicas(delivery_ms=3_000), "shop"))
lost = {each: virtual_runs.no_answer(each, delivery_ms=5_000) for each in ("answers", "requests")}
display(DeliveryTimeline.of(lost["answers"], "shop"))
{f"the log, {each} lost": log_of(world, "orders") for each, world in lost.items()}

# %% [markdown]
# In the first picture, the leader was already frozen when the record was handed over. The record
# waited in its batch for more records (`linger.ms`), the first attempt waited for an answer
# (`request.timeout.ms`), the client found out which broker was now the leader, and the second
# attempt succeeded. The dashed frame is `delivery.timeout.ms`. The three settings are 20 ms, 1.5 s
# and 10 s here; the defaults are 5 ms, 30 s and 120 s.
#
# In the second, the in-sync set stayed too small for `min.insync.replicas=2`. Every attempt was
# refused at once, so the time went into the pauses. Each pause is about twice as long as the one
# before: they start at `retry.backoff.ms=100`, with jitter, and grow up to `retry.backoff.max.ms`,
# 1 s (KIP-580; before 3.7 each was 100 ms). The verdict is *refused*: no attempt can have been
# stored.
#
# In the third, no answer arrives, and `delivery.timeout.ms`, 5 s, ends the wait. The verdict is
# *unknown*. With the requests lost instead, the producer sees the same thing. The line below the
# picture shows what the two runs' logs hold.
#
# The next cell shows two cases on both sides. In the first, requests get no answer. In the second,
# a record never gets into a batch, because `buffer.memory` is full or the topic is unknown. Then
# `send()` itself blocks for `max.block.ms`, and `delivery.timeout.ms` has not begun to run.
# `retries` has its default, which ends nothing.

# %% time-runs-out tags=["both"]
lab.both(scenes.time_runs_out)

# %% [markdown]
# `request.timeout.ms` is how long one attempt waits for its answer; then the request is sent again.
# A low value looks brisk. Here a broker's answers take 1.2 s for a while.

# %% request-timeout-too-low tags=["sim"]
patient, brisk = 30_000, 1_000
runs = {timeout_ms: virtual_runs.slow_answers(timeout_ms) for timeout_ms in (patient, brisk)}
drawn = ("requests", "acknowledged")
lines = {f"{ms} ms: {what}": counts[what] for ms, counts in runs.items() for what in drawn}
display(Chart("A record a second, answers take 1.2 s", lines,
              x="seconds", y="requests, records", kind="step"))  # fmt: skip
virtual_runs.in_the_end(runs)

# %% [markdown]
# With 30 s of patience, the answers arrive late, and that is all. With 1 s, no answer ever arrives
# in time. Each timeout closes the connection, along with everything in flight on it, so the broker
# gets more requests just when it is in trouble. No record is acknowledged, so the producer's queue
# grows by one record a second.
#
# **08-6, how many attempts.** No answer ever comes. An attempt takes `request_ms`; after the n-th
# attempt the batch waits `backoff_ms * 2 ** (n - 1)`, at most `backoff_max_ms`. An attempt begins
# only if less than `delivery_ms` has passed. How many attempts begin?


# %% 08-6 tags=["stub"]
def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):
    """How often a batch is sent before delivery.timeout.ms ends it."""


# %% 08-6 tags=["solution"]
def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):
    """How often a batch is sent before delivery.timeout.ms ends it."""
    now = count = 0
    while now < delivery_ms:
        count += 1
        now += request_ms + min(backoff_ms * 2 ** (count - 1), backoff_max_ms)
    return count


# %% 08-6 tags=["check"]
lab.check("08-6", tries)

# %% [markdown]
# ## Deeper: Numbers
#
# The runs show producer ids, epochs and sequence numbers as they are written, and test each of the
# leader's rules with batches whose numbers we choose.

# %% numbers tags=["both"]
display(lab.both(scenes.numbers))
lab.both(scenes.window)

# %% [markdown]
# A producer asks for an id only with idempotence; without it the field is -1. Its numbers start at
# 0 in each partition, and the next batch starts where the last one ended. C, D and E are one batch.
# Two sends of the same value, B, are two records with two numbers. Another producer instance has
# another id.
#
# A repeat of one of the last five batches is a success, and the log does not grow. A batch that
# comes too early is refused; sent again after the missing one, it is stored. A higher epoch begins
# a new sequence; an older epoch is refused, because a newer one exists. A producer that the
# partition does not know may begin with any number.
#
# Here five ways to send meet the core's faults once more: the answer to B is lost, and then the
# connection that carries C, D and E. In the second table, two batches are under way on one
# connection and only the first fails: a bit of B flips on the way, and the leader refuses B because
# its checksum is wrong. The history checker reads the log.

# %% lost-on-the-way tags=["both"]
display(lab.both(scenes.lost_on_the_way))
lab.both(scenes.one_batch_is_damaged)

# %% [markdown]
# With `retries=0` the order is kept, but records are lost. With idempotence the second B has the
# first one's number, and the leader answers with success. In the second table, C overtakes B unless
# C has a number: then the leader sees that B's number is missing and refuses C as well.
#
# With each append, the leader adds the batch's last sequence number to its memory of five batches.
# This memory is not the leader's alone. Followers fill their own from the batches that they copy,
# so a new leader judges a retry correctly at once. (After a crash it is rebuilt from the log, with
# `.snapshot` files as a shortcut; it is forgotten after a day without a batch from the producer,
# `producer.id.expiration.ms`.)

# %% failover tags=["sim"]
from lessons.nb08_producers import virtual_runs

virtual_runs.failover()

# %% [markdown]
# ## Deeper: When the sequence breaks
#
# KIP-360 says what a producer does about a gap: it adds one to its epoch and starts at 0 again.

# %% gap tags=["sim"]
from lessons.nb08_producers import virtual_runs

display(virtual_runs.gap_after_an_unclean_election())
virtual_runs.named_case("kip-360")

# %% [markdown]
# D and E were acknowledged by the last in-sync replica, which then died; an unclean election made
# 102 the leader, although it has neither record. F arrives with sequence 5 where 3 is expected.
# Before KIP-360 (2.5) the Java client failed F and continued under a new id. Now it begins a new
# epoch and sends F in that epoch. D and E stay lost either way, and no error reported the loss.
#
# The second table shows another case from the same KIP: a broker had forgotten a long-silent
# producer, answered `UNKNOWN_PRODUCER_ID`, and refused a record though none was missing. A 4.3
# broker accepts any first sequence number from a producer that it does not know. The producer's
# rule is `Idempotence.may_retry` in `engine/client/idempotence.py`.

# %% [markdown]
# ## Deeper: Copies
#
# The runs are about `min.insync.replicas` while brokers leave, about `retries=0` against the
# default (with one broker that stops, and in virtual time with all three in turn), and about who
# gains from a weak `acks`. On real Kafka these runs stop and start brokers and take half a minute
# each.

# %% minimum tags=["both"]
lab.both(scenes.minimum)

# %% [markdown]
# With an ISR of one, `acks=all` is refused and `acks=1` is accepted. Then 101 dies, 102 leads, and
# the record that was accepted with `acks=1` is gone. `acks=all` waits for the whole current ISR,
# even if it is one broker; the minimum is what makes the leader refuse the write.

# %% retries tags=["both"]
from lessons.nb08_producers import virtual_runs

never = {"enable.idempotence": False, "retries": 0}
display(lab.both(scenes.retries))
virtual_runs.rolling_restart({"retries=0": never, "the default": {}})

# %% [markdown]
# Refusals and elections pass, and the default rides them out: the application hears of no error.
# Where the leader has moved, the old one refuses the record, and the client finds the new one. With
# `acks=0` there is no refusal: the record that went to the stopped leader counts as a success and
# is stored nowhere. A rolling restart is three such moments. `2147483646 attempts left` looks
# alarming in a log; it means only that this was attempt 1.

# %% hears-and-reads tags=["both"]
outcome = lab.both(scenes.hears_and_reads)
display(outcome, measure.times_drawn("Milliseconds after send()", outcome))

# %% [markdown]
# The weaker the promise, the sooner the producer's callback runs. A consumer reads no sooner,
# because every in-sync replica must have the record first.

# %% [markdown]
# ## Deeper: The application's part
#
# The runs are about waiting for each answer, about `acks`, and about what to do with records that
# failed. The last one plays a published retry loop in virtual time, for outages of three lengths:
# after a TimeoutException, `sendSync()` sleeps and calls itself.

# %% styles tags=["both"]
from lessons.nb08_producers import virtual_runs

display(lab.both(scenes.styles), lab.both(scenes.dead_letters))
virtual_runs.published_loop(outages_s=(10, 60, 300))

# %% [markdown]
# With `acks=0` all four records are reported as successes, but three of them are stored nowhere,
# and the offset is -1. There is no answer, and no request is repeated. With `acks=all` the client
# resends the three. Waiting for each answer is a separate choice: it costs a round trip per record,
# and batches stay small. Waiting decides when the application learns of a failure; `acks` decides
# whether it learns of it at all.
#
# The second table shows an outage that outlasts `delivery.timeout.ms`. A handler that only prints
# the error loses such records, but this one keeps them. Together, the stored and the kept records
# are all that were sent; the overlap is a record that was *unknown* but had been stored. The
# client's metric `record-error-rate` counts such failures over a sliding window. In a healthy
# system it is 0; alert on anything else.
#
# The published loop counts its retries, but it compares the count with MAX_RETRIES only to make the
# pause longer. Nothing except an answer ends it, and each call whose answer is lost stores another
# copy.

# %% [markdown]
# ## Deeper: One fault tape
#
# Five producers live through the same faults, and the history checker compares what was promised
# with what is there. *blind* is `acks=0` and *fast* is `acks=1`, both without idempotence. *old* is
# the recipe from before idempotence: `acks=all` and one request in flight. *default* and *safe* are
# Kafka's client with its default settings. The topic for *default* has `min.insync.replicas=1`; all
# the others have 2.
#
# The last two columns are measured without a fault, with the producer 2 ms away from the leader:
# records per second, and the 99th percentile of the time to a callback.

# %% fault-tape tags=["sim"]
from lessons.nb08_producers import fault_tape
from lessons.nb08_producers.fault_stages import Simulated
from lessons.nb08_producers.history_view import HistoryView
from lessons.nb08_producers.virtual_runs import without_a_fault

judged = fault_tape.play(Simulated(lab.world(seed=8)))
recipes = fault_tape.RECIPES.items()
costs = {name: without_a_fault(recipe.settings) for name, recipe in recipes}
display(fault_tape.table(judged, costs))
HistoryView(judged["fast"].findings)

# %% [markdown]
# An answer is lost (D), and a connection breaks with two requests on it (E F). The leader is cut
# off from its followers, carries on alone (G H), and then dies. Where no replica may lead, an
# operator allows an unclean election. All fifty records were reported as successes, so no
# application noticed anything. The checker proves each anomaly with the few operations that
# contradict each other.
#
# Every recipe except *safe* breaks somewhere. *blind* hears of no loss. *fast* loses G and H in a
# clean election, because `acks=1` never asks for the minimum. *default* loses them in an unclean
# one, with a minimum of 1. *old* loses nothing, but stores D twice and is the slowest here. With
# *safe* the lone leader did not acknowledge G and H, so every acknowledged record is on the
# followers too. (In virtual time a producer learns of a dead broker from its next request, so
# *blind* loses I as well.)
#
# Now the same tape runs on sockets: brokers are killed, links are cut, and an unclean election is
# held. Allow half a minute. The first table shows the cost on sockets without faults, with the
# producer near the leader.
#
# A consumer has a weak point, too. The producer's `acks` say when a write counts; a consumer's
# commit says what its group need not read again. In the last two rows, a consumer of *safe* dies at
# E between its commit and its work, and another consumer of the group goes on from the committed
# offset. A record that is safe in the log can be skipped (notebook 10).

# %% fault-tape-both tags=["both"]
display(lab.both(scenes.without_a_fault))
outcome = lab.both(scenes.one_fault_tape)
assert outcome.engine["safe"]["log"] == "A B C D E F G H I J"
outcome

# %% [markdown]
# ## Deeper: Settings and errors
#
# The tables show what Kafka's own producer says about its settings (from the 4.3.1 jar, if
# available), and the errors.

# %% defaults tags=["live"]
from lessons.nb08_producers import producer_config

producer_config.compared()

# %% [markdown]
# `acks=1` or `retries=0` turns idempotence off with one INFO line in the log, or is refused if you
# asked for idempotence; six requests in flight are refused unless you turned it off.
# `delivery.timeout.ms` must not be less than `linger.ms` and `request.timeout.ms` together.
#
# librdkafka, and so confluent-kafka, differs: idempotence is **off** by default, up to 1,000,000
# requests may be in flight, and `delivery.timeout.ms` is called `message.timeout.ms` and lasts five
# minutes. With idempotence on, a gap that nothing explains is fatal for librdkafka's producer,
# where Java's begins a new epoch.

# %% errors tags=["both"]
from lessons.nb08_producers import error_scenes

display(error_scenes.errors_by_name())
lab.both(error_scenes.errors_on_the_wire)

# %% [markdown]
# *Sent again* is what the protocol calls retriable. *May be stored* decides between refused and
# unknown. Three errors say yes there, although they mostly come before the append: with `acks=all`
# they also come from a leader that loses its leadership, the topic or the disk while it waits for
# its followers.
#
# For the last column, the engine's producer gets each error once. A temporary error costs a second
# request; a final one fails the record at the first. A topic that is not there may still appear, so
# the client keeps asking for it until `max.block.ms` is over.

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | `acks=1` is the default, idempotence is opt-in | `acks=all` and idempotence have been the Java defaults since 3.0 (KIP-679); librdkafka's idempotence is still off | [Settings](#Deeper:-Settings-and-errors) |
# | `retries` bounds the attempts | a clock does: `delivery.timeout.ms`, since 2.1 (KIP-91) | [The clock](#The-clock-of-the-client) |
# | `retry.backoff.ms` is the pause between attempts | only the first pause; from 3.7 on, the pauses double up to `retry.backoff.max.ms`, with jitter | [One delivery](#Deeper:-One-delivery) |
# | to keep records in order, set `max.in.flight.requests.per.connection=1` | needed only without idempotence; and even then, in librdkafka a later batch overtakes one that waits | [Several requests](#Several-requests-under-way), [Break it](#Break-it) |
# | each message has a producer id and a sequence number | the batch's header holds them once | [Why five?](#Why-five?) |
# | the broker keeps five messages per partition | five batches per producer and partition | [Numbers](#Deeper:-Numbers) |
# | the broker rejects the second copy, and the application sees DuplicateSequenceException | a repeat is answered as success; an older one is `OUT_OF_ORDER_SEQUENCE_NUMBER`; the client takes `DUPLICATE_SEQUENCE_NUMBER` for success | [Numbers](#Deeper:-Numbers), [Break it](#Break-it) |
# | the client corrects more than five in flight | it is a ConfigException, even if idempotence was not asked for | [Settings](#Deeper:-Settings-and-errors) |
# | one request in flight is slow | measured: about as fast as five, with `acks=all` and a client near its broker | [What safety costs](#What-safety-costs) |
# | `acks=0` is a synchronous producer, `acks=1` an asynchronous one | `send()` is always asynchronous; waiting is a choice of its own | [The application's part](#Deeper:-The-application's-part) |
# | `acks=all` waits for a quorum | for the whole current ISR, even if it is one broker | [Copies](#Deeper:-Copies) |
# | after a TimeoutException sleep and send again | that stores a second record, idempotence or not; and a published loop of this kind never gives up, because at its limit it only makes the pause longer | [The application](#The-application-tries-again), [The application's part](#Deeper:-The-application's-part) |
# | weaker `acks` make data available sooner | a consumer reads no sooner | [Copies](#Deeper:-Copies) |
# | an unknown producer is a fatal error | before KIP-360 it failed a record and cost the producer its id, and was fatal only for transactions; now it does none of this | [When the sequence breaks](#Deeper:-When-the-sequence-breaks) |
# | `NotLeaderForPartitionException` | `NOT_LEADER_OR_FOLLOWER` since 2.6; the old class is gone | [Settings](#Deeper:-Settings-and-errors) |
# | a broker that enforces a quota delays its answer | from KIP-219 on, it answers at once, names a throttle time, and reads nothing more from that connection until that time is over | notebook 04 |
#
# **What real Kafka does beyond this.** Writing to several partitions in one step, even together
# with a consumer's offsets, takes transactions (notebook 11). The Java client does its sending in
# an I/O thread; a callback that blocks stops every delivery. With
# `partitioner.availability.timeout.ms` above 0 (the default turns this off), the client also skips
# a silent broker's partitions when it is free to choose. A reader that must not act twice needs an
# id in the record, and a check before the effect (notebook 10).
