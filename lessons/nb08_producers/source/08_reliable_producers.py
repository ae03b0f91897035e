# %% [markdown]
# # 08 · Reliable producers
#
# A shop sends an order and hears nothing. Was it stored? If the shop sends it again, there may be
# two; if it does not, there may be none. This notebook follows one record through every wait and
# every try, and shows which settings make a lost answer harmless, which keep the order, and what
# no setting can do.
#
# **What you will be able to do**
#
# * read a delivery as a timeline: linger, try, rest, try again, and the clock around them all
# * tell acknowledged, refused and unknown apart, and say what an application may conclude
# * explain what a producer id, an epoch and a sequence number are for, and what five has to do
#   with it
# * choose settings for a producer and its topic, and have them judged under faults
# * say what can still be lost, and what can still come twice
#
# Python alone is enough; with a real Kafka beside it, the side-by-side cells run on both. Allow
# 75 minutes. You need to know batches (notebook 03), and what the in-sync replicas, the high
# watermark and an unclean election are (notebook 06).

# %% doorway tags=["setup"]
from kit import lab
from lessons.nb08_producers import (
    application_runs,
    delivery_runs,
    fault_tape,
    idempotence_runs,
    scenes,
)
from lessons.nb08_producers.be_the_broker import meets
from lessons.nb08_producers.delivery_timeline import DeliveryTimeline
from lessons.nb08_producers.fault_stages import Simulated

eng = lab.engine()

# %% [markdown]
# ## Predict
#
# Three questions before you run anything. Answer from what you know or guess; the first answer is
# the one that is kept.

# %% 08-1 tags=["stub", "predict", "quiz"]
lab.quiz("08-1")

# %% 08-1 tags=["solution", "predict", "quiz"]
lab.quiz("08-1", "c")

# %% 08-2 tags=["stub", "predict", "quiz"]
lab.quiz("08-2")

# %% 08-2 tags=["solution", "predict", "quiz"]
lab.quiz("08-2", "c")

# %% 08-3 tags=["stub", "predict", "quiz"]
lab.quiz("08-3")

# %% 08-3 tags=["solution", "predict", "quiz"]
lab.quiz("08-3", "b")

# %% [markdown]
# ## Run it on the engine
#
# The producer in these cells is the engine's own: a state machine that does what the Java client
# does, batch by batch. (A test plays the same broker answers to both, and to librdkafka, and
# compares every request.) It runs in virtual time, so each table is the same on every machine.
#
# ### One delivery, drawn from its trace
#
# The leader stands still just after the record was handed over. Follow the bars: the record waits
# in its batch for company (`linger.ms`), the first try waits for an answer
# (`request.timeout.ms`), the client finds out who leads now, the second try succeeds. It does not
# rest in between, because the leader is another one. The dashed frame is `delivery.timeout.ms`; it
# contains all of it. To fit the picture the three are set to 20 ms, 1.5 s and 10 s; the defaults
# are 5 ms, 30 s and 120 s.

# %% timeline-late tags=["sim"]
DeliveryTimeline.of(delivery_runs.late_answer(), "shop")

# %% [markdown]
# Now the in-sync set is too small for `min.insync.replicas=2`, and stays so. Every try is refused
# at once, so here the rests are what takes time: each is about twice as long as the one before,
# but not quite. That is `retry.backoff.ms=100` with its jitter (KIP-580; until 3.7 each rest was
# 100 ms). `retry.backoff.max.ms` cuts off at a second, after the jitter, so the longest rest is
# often exactly that. `retries` is 2147483647 and has no say: the clock ends it.
#
# Our producer's verdict is *refused*: the record is certainly not in the log, because no try can
# have been stored. *Unknown* means: perhaps it is. Kafka's callback does not tell them apart, it
# gets a TimeoutException for both; treat that as unknown.

# %% timeline-expired tags=["sim"]
DeliveryTimeline.of(delivery_runs.too_few_replicas(), "shop")

# %% [markdown]
# A Java client logs each such refusal, with the number of attempts that are left. Here is a record
# that may live longer. A line with `2147483630 attempts left` looks alarming. It says that this
# was try 17.

# %% attempts-left tags=["sim"]
delivery_runs.attempts_left()

# %% [markdown]
# Not every wait is inside a batch. A record whose topic is unknown, or for which `buffer.memory`
# has no room, never gets that far: `send()` itself blocks, for `max.block.ms`. Only behind that
# door does `delivery.timeout.ms` begin. Look at the verdicts too: what was sent without an answer
# is *unknown*, what never left is *refused*.

# %% where-records-wait tags=["sim"]
delivery_runs.where_records_wait()

# %% [markdown]
# `request.timeout.ms` is how long one try waits, and a low value looks brisk. Here a broker is
# slow for eight seconds: its answers take 1.2 s. With 30 s of patience they arrive late, and that
# is all. With 1 s no answer is ever in time, each time-out takes the connection and everything
# under way on it along, and the broker gets twice the requests while it is in trouble.

# %% request-timeout-too-low tags=["sim"]
delivery_runs.request_timeout_too_low()

# %% [markdown]
# ### A lost answer makes two of one
#
# The leader stores A, and its answer is lost. To the producer that looks like a lost record, so
# it sends the batch again. Without idempotence the leader cannot know that it has seen it before.
# With it, the batch carries the producer's id and a sequence number; the leader finds both in its
# memory and answers with the old offset.

# %% lost-answer tags=["sim"]
delivery_runs.lost_answer()

# %% [markdown]
# ### Order, with more than one request under way
#
# Four batches are sent without waiting, and the connection ends before any is stored. The Java
# client puts each failed batch back at the front of the queue, one after the other; so they come
# out reversed. One request in flight keeps the order, and so do sequence numbers with five.
#
# The rates are for a record per batch. With the producer 2 ms from the leader, one in flight costs
# most of the rate, since every batch waits for the answer to the one before. With the followers
# 2 ms away it costs little. A broker takes up a connection's next request when the last is
# answered, so with `acks=all` each of the five waits for the followers in its turn. What is in
# flight saves the way to the leader and no more.

# %% order-in-flight tags=["sim"]
delivery_runs.order_in_flight()

# %% [markdown]
# ### What an answer is worth
#
# `acks` says what the leader waits for before it answers. A load runs and the leader dies, in
# six worlds with different delays, idempotence off. With `acks=0` nobody answers, and the
# producer calls whatever it has sent a success. With `acks=1` the leader answers from its own
# log. With `acks=all` nothing that was acknowledged is missing, and without idempotence some of
# it is there twice. The last two columns are from a run without a fault: the weaker the promise,
# the sooner the producer hears. A consumer reads no sooner, for every in-sync replica must have
# the record before, whatever `acks` was. ("Have" means in memory; notebook 06 takes the power away
# from all three.)

# %% acks tags=["sim"]
delivery_runs.acks_and_a_dying_leader()

# %% [markdown]
# `acks=all` means all of the *current* in-sync set. If that is one broker, it is as weak as
# `acks=1`, and the third row loses A. `min.insync.replicas=2` refuses instead; but it refuses only
# `acks=all`, as the second row shows. (What `acks=1` wrote there no consumer reads for now: since
# 3.7 the high watermark stands still below the minimum, notebook 06.)

# %% matrix tags=["sim"]
delivery_runs.matrix()

# %% [markdown]
# A refusal like that passes when a follower is back in the in-sync set, here half a second after
# its start. So do elections and restarts. With `retries=0` each of them becomes an error in the
# application; the default rides them out, and the callbacks hear of no error.

# %% retries tags=["sim"]
delivery_runs.retries_zero_or_default()

# %% [markdown]
# ### The memory of a partition
#
# Per producer, a partition remembers the last **five batches**: first and last sequence, and the
# offset. These are batches with numbers of our choice, sent straight to the leader. A repeat of
# one of the five is answered as success. An older one cannot be told from a mistake, and a gap
# means that something before it is missing: both are `OUT_OF_ORDER_SEQUENCE_NUMBER`. Beside the
# id stands an *epoch*, a counter. Another id, or a higher epoch, begins anew; an older epoch is
# turned down, for whoever uses it was replaced.

# %% window tags=["sim"]
idempotence_runs.window()

# %% [markdown]
# That is why an idempotent producer may have five requests in flight and not six. Below, all
# requests are stored, and all answers are lost. With six, the repeat of A is too old to be
# recognised; the producer takes it for a gap, begins a new epoch, and stores everything twice.
# Kafka's client refuses the setting; ours takes it because the cell insists.

# %% in-flight-and-window tags=["sim"]
idempotence_runs.in_flight_and_window()

# %% [markdown]
# The memory is not the leader's alone. Followers fill it from the batches that they copy, so a
# new leader knows what the old one knew, and judges a retry correctly at once. (After a crash it is
# rebuilt from the log, with `.snapshot` files as a shortcut; it is forgotten after a day of
# silence.)

# %% failover tags=["sim"]
application_runs.failover_between_append_and_answer()

# %% [markdown]
# ### When the sequence breaks: KIP-360
#
# A batch that was sent is given up, and the producer does not know whether the broker has its
# number. It may not give the number to the next batch, nor leave it out. It waits until nothing is
# under way, adds one to its *epoch*, and starts from 0: the epoch bump.
#
# Brokers can cause a gap as well. D and E were acknowledged by the last in-sync replica, which
# then died; an unclean election made 102 leader, which has neither. F arrives with sequence 5
# where 3 is expected. Before KIP-360 (2.5) the Java client failed F, gave up its id and went on
# under a new one: whether F is there, nobody says. (A transactional producer had to be closed, and
# librdkafka's still ends here.) Now it begins a new epoch, sends F in it and goes on. D and E stay
# lost either way, and no error said so.

# %% gap tags=["sim"]
idempotence_runs.gap_after_an_unclean_election()

# %% [markdown]
# The same KIP mended another case. A broker that had forgotten a producer, because it had been
# silent for long, used to say `UNKNOWN_PRODUCER_ID`, and a record was refused though none was
# missing. A 4.3 broker takes any first sequence of a producer that it does not know; the old rule
# survives only in this engine.

# %% kip-360 tags=["sim"]
idempotence_runs.named_case("kip-360")

# %% [markdown]
# ### The application's part
#
# `send()` never waits for the answer; waiting for its future is a choice of the application, and
# `acks` is another. The table has all four. Waiting costs a round trip per record, if there is an
# answer to wait for. With `acks=0` there is none: waiting takes no time and tells nothing, and
# nobody hears of the records that went with the leader.

# %% styles tags=["sim"]
application_runs.styles()

# %% [markdown]
# Some records do fail: an outage outlasts `delivery.timeout.ms`. A handler that only prints loses
# them. This one keeps them, and the sum works out: stored plus kept is everything, and the
# overlap is the *unknown* ones that were stored after all. The last line is an average over the
# run; the client's metric `record-error-rate` counts the same over a sliding window. In a healthy
# system it is 0; alert on anything else.

# %% dead-letters tags=["sim"]
application_runs.dead_letters()

# %% [markdown]
# Sending again by yourself is something that idempotence cannot repair. To the broker a
# second `send()` is a second record, with a number of its own; here 0 again, because the give-up
# began a new epoch. Let the client retry until `delivery.timeout.ms`; what still fails goes to a
# place where somebody decides. (The last line is about a loop in published samples: it sleeps,
# sends and calls itself again, and at `max_retries` it doubles the pause where it should return.)

# %% application-repeats tags=["sim"]
application_runs.application_repeats()

# %% [markdown]
# ### One fault tape, three recipes
#
# Three producers, each with a topic of its own, live through the same faults: an answer is lost
# (D), a connection ends under two requests (E F), the leader is cut off from its followers and
# goes on alone (G H), then dies; an operator allows an unclean election where nobody may lead.
# *Fast* is `acks=1` without idempotence, *default* is what Kafka's client does by itself, *safe*
# adds `min.insync.replicas=2` to the topic. A *history checker* compares what was promised with
# what is there.

# %% fault-tape tags=["sim"]
judged = fault_tape.play(Simulated(lab.world(seed=8)))
fault_tape.table(judged)

# %% [markdown]
# Every one of the thirty was acknowledged, so no application noticed anything. Look at *safe*: the
# lone leader acknowledged neither G nor H, so nothing was promised that the followers lack, and one
# of them could lead without an unclean election (an eligible leader replica, notebook 06); it got G
# and H with the next try. The checker proves each anomaly by the few operations that contradict
# each other; here is the first of each kind.

# %% proof tags=["read"]
from lessons.nb08_producers.history_view import HistoryView

HistoryView(judged["fast"].findings)

# %% [markdown]
# ## Read the code that did it
#
# How the leader judges a sequence number; repeats and old epochs were sorted out before. Find the
# one case in which any first number is right, and the one in which only 0 is.

# %% code-broker tags=["read"]
from engine.storage.producer_states import ProducerStates

lab.show(ProducerStates._check_sequence)

# %% [markdown]
# And the producer's side: is this refusal worth another try? The interesting line is the one that
# asks whether the batch is the *next* one. If it is not, an earlier batch failed and this one was
# bound to; if it is, there is a gap that only a new epoch can close. (In
# `unresolved` are partitions where a batch was given up after it was sent; `was_resequenced` says
# that the batch has new numbers already; the lines with `resets` are the rule before KIP-360.)

# %% code-producer tags=["read"]
from engine.client.idempotence import Idempotence

lab.show(Idempotence.may_retry)

# %% [markdown]
# ## The same on a real Kafka
#
# The engine's producer also speaks over sockets, so the same state machine meets both clusters.
# That is the only way to lose an answer on purpose and to read every number. `lab.both` compares
# what came out; a difference that nobody has explained fails the cell.

# %% numbers tags=["both"]
lab.both(scenes.numbers_on_the_wire)

# %% [markdown]
# An id is asked for only with idempotence; numbers start at 0 per partition; two sends of one
# value are two records, and another producer has another id. The last line is KIP-360 on the
# broker's side: a producer that nobody knows may begin with 5.
#
# Next, the lost answer (B) and the lost connection (under C D E) on both. Then nothing gets through
# any more, and the clock ends it; and a record is too large, which no second try mends.

# %% lost-on-the-way tags=["both"]
lab.both(scenes.lost_on_the_way)

# %% [markdown]
# Now the fault tape on sockets: brokers are killed, links are cut, an unclean election is held.
# Expect half a minute: the real cluster takes its time to notice.

# %% fault-tape-both tags=["both"]
outcome = lab.both(scenes.one_fault_tape)
assert outcome.engine["safe"]["log"] == "A B C D E F G H I J"
outcome

# %% [markdown]
# What safety costs, measured with confluent-kafka; the first three send a record per request. The
# followers are 5 ms away, so `acks=all` is much slower than `acks=1` (not in Docker, which
# cannot slow a link). One in flight is about as fast as five: a broker takes up a connection's next
# request when the last is answered (as [above](#Order,-with-more-than-one-request-under-way)), so
# five only save the way from client to broker, and here that is short. To send on is faster than to wait for each answer, for batches fill up meanwhile. With
# `acks=0` the offset that a producer reports is -1, for nobody told it one.

# %% rates tags=["both"]
lab.both(scenes.rates)

# %% [markdown]
# Kafka's own words on its settings, asked of the 4.3.1 jar if it is there: the defaults, and below
# them settings that do not go together. `acks=1` or `retries=0` turns idempotence off with one INFO
# line in the log, unless you asked for it aloud; six in flight is refused even if you did not. And
# `delivery.timeout.ms` must not be less than `linger.ms` and `request.timeout.ms` together.

# %% defaults tags=["live"]
from lessons.nb08_producers import producer_config

producer_config.compared()

# %% [markdown]
# librdkafka, and so confluent-kafka, differs: idempotence is **off** by default, up to 1,000,000
# requests are in flight, `delivery.timeout.ms` is called `message.timeout.ms` and lasts five
# minutes. Set `enable.idempotence=True` yourself; and know that a gap which nothing explains is
# then fatal for the producer, where Java's begins a new epoch.
#
# Last, the errors by name. *Sent again* is what the protocol calls retriable. The last column
# decides between refused and unknown. `NOT_LEADER_OR_FOLLOWER`, `UNKNOWN_TOPIC_OR_PARTITION` and
# `KAFKA_STORAGE_ERROR` say yes there, though they mostly come before the append: with `acks=all` a
# leader that loses its office, the partition or the disk while it waits for its followers answers
# with them too, and the next leader may have the batch.

# %% errors tags=["sim"]
scenes.errors_by_name()

# %% [markdown]
# ## Break it
#
# Now you are the broker. Write down what you answer, and see what the producer makes of it. The
# broker waits until as many requests have arrived as the list has words, then answers them in
# order. More lists may follow; after the last, everything is `ok`. The words: `ok`, `again`
# (success, as for a repeat), `drop` (stored, and the connection ends before the answer), `hang-up`
# (not stored, and the connection ends), `silence` (stored, and no answer; the client gives up after
# 3 s), or any error of the table above.
#
# You decide, nobody checks: `ok` stores whatever came, even a repeat or a gap. To behave like a
# leader, answer what follows a failed batch with `OUT_OF_ORDER_SEQUENCE_NUMBER`, as below, and a
# repeat with `again`.
#
# * lose an answer: `meets("A B C", ["drop"], ["again"])`; and what if you say `ok` to the repeat?
# * the first of three fails, without idempotence: `["NOT_ENOUGH_REPLICAS", "ok", "ok"]` and
#   `enable_idempotence=False`
# * `["hang-up", "ok", "ok"]` without idempotence, then the same with `client="librdkafka"`
# * librdkafka without idempotence and with `max_in_flight_requests_per_connection=1`:
#   `["NOT_ENOUGH_REPLICAS"]`
# * a gap that nothing explains: `["ok", "ok", "OUT_OF_ORDER_SEQUENCE_NUMBER"]`, with both clients
# * `TOPIC_AUTHORIZATION_FAILED`, `MESSAGE_TOO_LARGE`, `DUPLICATE_SEQUENCE_NUMBER`: how many tries?

# %% break-it tags=["live"]
refused = ["NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER"]
meets("A B C", refused)

# %% [markdown]
# ## Your turn
#
# Four exercises. Write your answer over the stub, run it, then run the check below it. A judge
# outside this kernel decides; `lab.hint("08-4")` gives three hints and then a solution.
#
# **Three verdicts.** `answers` has the outcome of each try, in order: Kafka's names, with `NONE`
# for success, `REQUEST_TIMED_OUT` for no answer in time and `NETWORK_EXCEPTION` for a lost
# connection. It is empty if the record was never sent. Return `"acknowledged"`, `"refused"` or
# `"unknown"`; the table of errors has what you need, `DUPLICATE_SEQUENCE_NUMBER` too.


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

# %% [markdown]
# **The dedup window.** `remembered` are the last batches of one producer, oldest first, at most
# five, each `[first sequence, last sequence]`. A batch from `first` to `last` arrives, in the same
# epoch. Return `"store"`, `"duplicate"` or `"out of order"`.


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

# %% [markdown]
# **How many tries.** No answer ever comes. A try takes `request_ms`; after the n-th try the batch
# rests `backoff_ms * 2 ** (n - 1)`, at most `backoff_max_ms`. A try begins as long as less than
# `delivery_ms` is over. How many begin?


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
# **Settings for a ledger.** Nothing lost, nothing twice, nothing out of order, and as fast as
# that allows; three replicas, and one broker may be down for its upgrade. The judge plays the
# whole fault tape with your settings.

# %% 08-7 tags=["stub"]
ledger = {
    "acks": "1",
    "enable.idempotence": False,
    "max.in.flight.requests.per.connection": 1,
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
# ## Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | `acks=1` is the default, idempotence is opt-in | `acks=all` and idempotence are the Java defaults since 3.0 (KIP-679); librdkafka's idempotence is still off | [Kafka's own words](#The-same-on-a-real-Kafka) |
# | `retries` bounds the tries | a clock does: `delivery.timeout.ms`, 120 s, since 2.1 (KIP-91) | [One delivery](#One-delivery,-drawn-from-its-trace) |
# | `retry.backoff.ms` is the rest between tries | the first one; they double up to `retry.backoff.max.ms`, with jitter, since 3.7 | [One delivery](#One-delivery,-drawn-from-its-trace) |
# | for order set `max.in.flight.requests.per.connection=1` | only without idempotence; and librdkafka overtakes even then, while a batch rests | [Order](#Order,-with-more-than-one-request-under-way), [Break it](#Break-it) |
# | each message has a producer id and a sequence number | they stand once in the batch's header; a record's own number follows from its place | [The same on a real Kafka](#The-same-on-a-real-Kafka) |
# | the broker keeps five messages per partition | five batches per producer and partition | [The memory of a partition](#The-memory-of-a-partition) |
# | the broker rejects the second copy, and the application sees DuplicateSequenceException | a repeat is answered as success; an older one is `OUT_OF_ORDER_SEQUENCE_NUMBER`; `DUPLICATE_SEQUENCE_NUMBER`, should one come, the client takes for success | [The memory of a partition](#The-memory-of-a-partition), [Break it](#Break-it) |
# | an idempotent producer needs five in flight at most, and the client corrects more | it is a ConfigException, even if idempotence was not asked for | [Kafka's own words](#The-same-on-a-real-Kafka) |
# | conflicting settings are an error | `acks=1` or `retries=0` alone turns idempotence off, with an INFO line in the log | [Kafka's own words](#The-same-on-a-real-Kafka) |
# | `acks=0` is a synchronous producer, `acks=1` an asynchronous one | `send()` is always asynchronous; waiting is a choice of its own | [The application's part](#The-application's-part) |
# | `acks=all` waits for a quorum | for the whole current ISR, be it one broker | [What an answer is worth](#What-an-answer-is-worth) |
# | after a TimeoutException sleep and send again | that stores a second record, idempotence or not | [The application's part](#The-application's-part) |
# | weaker `acks` make data available sooner | a consumer reads at the same moment | [What an answer is worth](#What-an-answer-is-worth) |
# | an unknown producer is a fatal error | it failed a record and cost the id, and was fatal for transactions only; since KIP-360 neither, and no 4.3 broker says so | [KIP-360](#When-the-sequence-breaks:-KIP-360) |
# | `NotLeaderForPartitionException` | `NOT_LEADER_OR_FOLLOWER` since 2.6; the old class is gone | [The same on a real Kafka](#The-same-on-a-real-Kafka) |
#
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>How does a producer know that its data is safe at leader and followers?</b></summary>
# acks=all: the answer comes when every in-sync replica has it, and min.insync.replicas says how
# many that must be. It costs one follower fetch in latency (<a href="#What-an-answer-is-worth">What
# an answer is worth</a>). Without a delivery report, nobody knows.
# </details>
# <details><summary><b>What is ack for in Kafka?</b></summary>
# acks tells the leader when to answer the producer: never, after its own append, after all in-sync
# replicas (<a href="#What-an-answer-is-worth">What an answer is worth</a>). A consumer's commit is
# another thing (notebook 10).
# </details>
# <details><summary><b>Asynchronous sending, or synchronous sending with acks=0: what differs?</b></summary>
# Who could hear of a failure. Waiting for the future of an acks=0 send waits for nothing (<a
# href="#The-application's-part">The application's part</a>).
# </details>
# <details><summary><b>What does the request time-out mean?</b></summary>
# The wait for one answer. When it is over, the connection is given up and everything under way on
# it is tried again; delivery.timeout.ms decides how long in all (<a
# href="#One-delivery,-drawn-from-its-trace">One delivery</a>).
# </details>
# <details><summary><b>Exactly one delivery: how does the broker tell a repeat?</b></summary>
# By producer id, epoch and first sequence, within one partition and the last five batches; a new
# send() or a new producer instance is new to it (<a href="#The-memory-of-a-partition">The memory of
# a partition</a>).
# </details>
# <details><summary><b>On what does order depend?</b></summary>
# One partition, one producer; then idempotence with up to five in flight, or one in flight
# without it and a client that holds the partition back (<a
# href="#Order,-with-more-than-one-request-under-way">Order</a>, <a href="#Break-it">Break it</a>).
# </details>
# <details><summary><b>Durability, availability, ordering: what do you trade?</b></summary>
# min.insync.replicas=2 refuses writes when one copy is left; with 1 they go on and may be lost
# (<a href="#What-an-answer-is-worth">What an answer is worth</a>). Order costs next to nothing with
# idempotence (<a href="#Order,-with-more-than-one-request-under-way">Order</a>).
# </details>
# <details><summary><b>What does an end-to-end guarantee need?</b></summary>
# All links: acks=all and idempotence at the producer, replicas and min.insync.replicas at the
# topic, no unclean election, and a consumer that commits after its work. The fault tape breaks
# the first three one by one; notebook 10 breaks the last.
# </details>
#
# ## Quiz
#
# Several letters may be right: `lab.quiz("08-8", "a", "c")`.

# %% 08-8 tags=["stub", "predict", "quiz"]
lab.quiz("08-8")

# %% 08-8 tags=["solution", "predict", "quiz"]
lab.quiz("08-8", "a", "d")

# %% 08-9 tags=["stub", "predict", "quiz"]
lab.quiz("08-9")

# %% 08-9 tags=["solution", "predict", "quiz"]
lab.quiz("08-9", "c")

# %% 08-10 tags=["stub", "predict", "quiz"]
lab.quiz("08-10")

# %% 08-10 tags=["solution", "predict", "quiz"]
lab.quiz("08-10", "b", "c", "d")

# %% [markdown]
# ## What real Kafka does beyond this
#
# * Several partitions in one step, and with a consumer's offsets: transactions, notebook 11. They
#   use the same producer id, and an epoch that the coordinator hands out.
# * The Java client runs all this in an I/O thread; a callback that blocks stops every delivery.
# * `buffer.memory`, batches and partitioners are notebook 03; a produce request inside the broker
#   is notebook 04.
# * Quotas make a broker answer late on purpose, and the client waits (notebook 04).
# * The Java client also leaves partitions of a silent broker out when it may choose
#   (`partitioner.availability.timeout.ms`).
# * A reader that must not act twice needs keys of its own: an id in the record, and a check before
#   the effect (notebook 10).
