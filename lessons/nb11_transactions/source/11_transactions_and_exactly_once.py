# %% [markdown]
# # 11 · Transactions and exactly-once
#
# Alice pays Bob 10. An application reads the transfer, books *Alice -10*, books *Bob +10*, and
# commits its offset. These are three writes, to three partitions, and a process can die between any
# two of them. A **transaction** makes them one unit: either all of them count, or none of them
# does. This notebook shows how Kafka does that.
#
# **What you will be able to do**
#
# * read a transaction in the log: its records, its markers, and what each kind of reader gets
# * say where a reader waits while a transaction is open, and why
# * write an application that reads, books and commits so that each input counts once
# * say what happens to an instance that wakes up too late, and what a transaction covers
#
# **Time:** {minutes}. You need to know about offsets (notebook 10) and about a producer's id and
# epoch (notebook 08). Python alone is enough; with real Kafka, most runs happen on both sides.
#
# ## Without a transaction
#
# `transfers` holds what customers want. `accounts` has Alice's bookings in partition 0 and Bob's in
# partition 1. A teller is an application with a consumer for the first topic and a producer for the
# second. A crash here means that a teller is no longer used, and a second teller starts at the
# committed offset. The producers are idempotent (notebook 08).

# %% doorway tags=["setup"]
from concurrent.futures import ThreadPoolExecutor

from kit import lab
from kit.drawings.watched import Watched
from lessons.nb11_transactions import bank, chains, costs, film, hanging, in_the_log, scenes
from lessons.nb11_transactions.bank import Teller, ended, open_bank, read, values

eng = lab.engine(settings=lab.BRISK)

# %% 11-1 tags=["stub", "predict"]
lab.predict("11-1")

# %% 11-1 tags=["solution", "predict"]
lab.predict("11-1", "2 1")

# %% no-transaction tags=["both"]
crash_after = "debit"  # also "credit", or "commit"


def no_transaction(cluster):
    open_bank(cluster)
    for crash in (crash_after, ""):  # the first teller, and the one after it
        teller = Teller(cluster)
        if not teller.take():
            continue
        teller.book("Alice -10", 0)
        if crash == "debit":
            continue
        teller.book("Bob +10", 1)
        if crash == "credit":
            continue
        teller.commit_offsets()
    return {
        "debits": len(values(cluster, 0)),
        "credits": len(values(cluster, 1)),
        "sum of all bookings": bank.total(cluster),
    }


outcome = lab.both(no_transaction)
display(outcome)
lab.verdict("11-1", outcome)

# %% [markdown]
# Idempotence does not help here. It removes the copies that a producer's own retries would make,
# but the second debit is a new record from another producer. No order of the three writes is safe
# either. Try the other values of `crash_after`. Committing first would lose the transfer instead.
#
# ## A transfer whose teller dies
#
# A producer with a `transactional.id` may begin a transaction, write to any partitions, and then
# commit or abort the transaction. With `send_offsets_to_transaction`, the group's offset becomes
# part of the transaction. A reader with `isolation.level=read_committed` gets no records from a
# transaction that has not been committed.
#
# The first teller begins a transaction, debits Alice, and dies. The second one has the same
# `transactional.id`, and does the whole transfer.

# %% 11-2 tags=["stub", "predict"]
lab.predict("11-2")

# %% 11-2 tags=["solution", "predict"]
lab.predict("11-2", 2)

# %% teller-dies tags=["both"]
lost_debits, amount = 1, 10  # also 2 debits, or 0


def teller_dies(cluster):
    open_bank(cluster)
    first = Teller(cluster, "teller")
    first.take()
    first.producer.begin_transaction()
    for _ in range(lost_debits):
        first.book(f"Alice -{amount}", 0)  # and here it dies
    second = Teller(cluster, "teller")
    second.take()
    second.producer.begin_transaction()
    second.book(f"Alice -{amount}", 0)
    second.book(f"Bob +{amount}", 1)
    second.offsets()
    second.producer.commit_transaction(bank.PATIENCE_S)
    return {
        **bank.logs(cluster),
        "offset and value, read_committed": [list(each) for each in read(cluster, 0)],
        "read_uncommitted": values(cluster, 0, "read_uncommitted"),
        "sums, read_uncommitted and read_committed": [bank.total(cluster, e) for e in bank.LEVELS],
        "the group's offset": second.committed(),
    }


outcome = lab.both(teller_dies)
display(outcome)
lab.verdict("11-2", outcome)

# %% [markdown]
# Nothing was rolled back. The lost debit stays in the log, followed by an ABORT **marker**. When
# the second teller started, it called `init_transactions`. One broker, the coordinator of that
# name, found the open transaction and asked the partition's leader to write the marker. A commit
# puts a COMMIT marker into each partition of the transaction. Markers take up offsets, but no
# reader gets a marker, so gaps in the offsets are normal.
#
# A Fetch answer carries a list of aborted transactions (producer id and first offset), and the
# *client* skips their records. A client with `read_uncommitted` gets those records.
# `read_uncommitted` is the default in the Java client and in Kafka's tools, but confluent-kafka's
# default is `read_committed`.
#
# ## The same transfer, step by step
#
# The broker that looks after a `transactional.id` is its **transaction coordinator**. It keeps the
# id's state in an internal topic, `__transaction_state`. The panel below shows the whole story in
# virtual time, with the id *transfer*: *app* dies after the debit, and *app-2* makes the whole
# transfer. It opens at the decision. Click the panel; then the arrow keys step through the story,
# and Home goes back to the start.
#
# In the panel, `p0 e2` is a producer id and an epoch, HW is the high watermark, and LSO is the last
# stable offset (next section).
#
# What *app-2* does:
#
# 1. It calls `init_transactions` to ask the coordinator for its producer id and **epoch**. The
#    transaction that *app* left open is aborted.
# 2. It debits Alice, in partition 0. Before the record is accepted, the coordinator writes down
#    that this partition takes part, and the state is now *Ongoing*. The record goes into the log at
#    once. The same happens for Bob, in partition 1.
# 3. It adds the group's offset to the transaction, as a record in `__consumer_offsets`, here in
#    partition 7.
# 4. It commits. Once the coordinator's *PrepareCommit* is replicated, the outcome is fixed.
# 5. The coordinator sends a marker to each of the three partitions, and readers downstream
#    get the records. Then the coordinator writes *CompleteCommit*.

# %% watch tags=["read"]
from kit.transaction_panel import producers

world = film.bank()
for name, crash in (("app", "debit"), ("app-2", "")):
    producers.start(world, name, "transfer")
    producers.wait(world, name)
    film.transfer(world, name, 10, crash)

panel = lab.transactions(world, "accounts")
panel.jump("PrepareCommit")
panel

# %% [markdown]
# ## Behind an open transaction
#
# Partition 0 gets five entries, in this order: *before*, written without a transaction; *held*, in
# a transaction that stays open; *paid*, in another producer's transaction; that transaction's
# commit marker; and *behind*, again without a transaction. The **last stable offset** (LSO) is
# where a reader with read_committed has to stop.

# %% 11-3 tags=["stub", "predict"]
lab.predict("11-3")

# %% 11-3 tags=["solution", "predict"]
lab.predict("11-3", "1 5")

# %% open-transaction tags=["both"]
then = "commit"  # also "abort"


def open_transaction(cluster):
    open_bank(cluster)
    slow, quick = (bank.producer_of(cluster, name) for name in ("slow", "quick"))
    bank.write(cluster, "accounts", ["before"])
    slow.begin_transaction()
    bank.booked(slow, "accounts", "held", 0)
    quick.begin_transaction()
    bank.booked(quick, "accounts", "paid", 0)
    quick.commit_transaction(bank.PATIENCE_S)
    bank.wait_for_marker(cluster, 1)
    bank.write(cluster, "accounts", ["behind"])
    stable, high_watermark = bank.ends(cluster)
    seen = {
        "last stable offset": stable,
        "high watermark": high_watermark,
        "read_committed": values(cluster),
        "read_uncommitted": values(cluster, 0, "read_uncommitted"),
    }
    (slow.commit_transaction if then == "commit" else slow.abort_transaction)(bank.PATIENCE_S)
    bank.wait_for_marker(cluster, 2)
    seen[f"read_committed after the {then}"] = values(cluster)
    return {**seen, f"the two offsets after the {then}": list(bank.ends(cluster))}


outcome = lab.both(open_transaction)
display(outcome)
lab.verdict("11-3", outcome)


# %% late-commit tags=["read"]
# Move both: which of them decides how long readers wait?
def late_commit(commit_after_s=40, timeout_s=20):
    world = film.bank()
    producers.start(world, "app", "transfer", {"transaction.timeout.ms": timeout_s * 1000})
    producers.act(world, "begin", "app")
    producers.send(world, "app", "accounts", "Alice -10", partition=0)
    producers.wait(world, "app")
    leader = world.replica(world.leader("accounts", 0), "accounts", 0)
    watched = Watched(world, {
        "app thinks it is open": lambda w: producers.words(w)["app"].state == "InTransaction",
        "read_committed waits": lambda w: leader.last_stable_offset < leader.high_watermark,
    })  # fmt: skip
    watched.run(for_s=commit_after_s)
    watched.mark("commit")
    producers.act(world, "commit", "app")
    watched.run(for_s=60 - commit_after_s)
    error = producers.words(world)["app"].error
    return watched.spans(f"The commit fails: {error}" if error else "The commit succeeds")


lab.slider(late_commit, commit_after_s=range(1, 51), timeout_s=(5, 10, 20, 40))

# %% [markdown]
# The LSO is the first offset of the oldest open transaction; if none is open, it is the high
# watermark. A reader with read_committed gets nothing from there on, not even plain records.
# Otherwise it would have to come back for *held*, and would read out of order.
#
# So one slow producer holds up every such reader of the partition. Their lag grows, although
# nothing is wrong with them. The wait ends after `transaction.timeout.ms` (60 s by default; at most
# the broker's `transaction.max.timeout.ms`, which is 15 minutes). The coordinator then aborts the
# transaction, and refuses a later commit. It checks for timed-out transactions every 10 s, so
# readers may wait up to 10 s longer.
#
# ### What an engineer sees
#
# The id *till-7* has an open transaction. Below is what Kafka's own tool reports about it; its
# coordinator logged only the start.

# %% at-work tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
open_bank(cluster)
till = bank.producer_of(cluster, "till-7")
till.begin_transaction()
for partition in (0, 1):
    bank.booked(till, "accounts", "open", partition)
described = ("describe", "--transactional-id", "till-7")
display(lab.tool(cluster, "kafka-transactions", *described))
till.abort_transaction(bank.PATIENCE_S)
lab.broker_log(cluster, in_the_log.coordinator_of(cluster, "till-7"), "till-7")

# %% [markdown]
# The transaction is *Ongoing*, in two partitions, and has been open for `TransactionDurationMs`. If
# readers are stuck, `list --duration-filter 60000` names every transaction that has been open for
# over a minute. (A transaction that no coordinator knows about is another matter; see [A
# transaction that hangs](#Deeper:-A-transaction-that-hangs).)
#
# ## The first teller wakes up
#
# The first teller is not dead. A long garbage collection paused it while a second teller started
# with the same `transactional.id`, booked the transfer, and committed. Now the first teller wakes
# up in the middle of its transaction. It books *Bob +10* and commits.

# %% 11-4 tags=["stub", "predict"]
lab.predict("11-4")

# %% 11-4 tags=["solution", "predict"]
lab.predict("11-4", "c")

# %% zombie tags=["both"]
first_id, second_id = "teller", "teller"  # also "teller-2" for the second


def zombie(cluster):
    open_bank(cluster)
    first = Teller(cluster, first_id)
    first.take()
    first.producer.begin_transaction()
    first.book("Alice -10", 0)
    second = Teller(cluster, second_id)  # the first one stands still
    second.take()
    second.producer.begin_transaction()
    second.book("Alice -10", 0)
    second.book("Bob +10", 1)
    second.offsets()
    committed = ended(second.producer.commit_transaction, bank.PATIENCE_S)
    bank.wait_for_marker(cluster, 1, partition=1)
    late = first.book("Bob +10", 1)  # and wakes up
    return {
        "the second teller's commit": committed,
        "the first teller's late booking": late,
        "the first teller's commit": ended(first.producer.commit_transaction, bank.PATIENCE_S),
        **bank.logs(cluster),
        "debits": len(values(cluster, 0)),
    }


outcome = lab.both(zombie)
display(outcome)
lab.verdict("11-4", outcome)

# %% [markdown]
# NONE means no error. Every write carries the producer's epoch. When the second teller called
# `init_transactions`, the first one's transaction was aborted, and the epoch of that
# `transactional.id` rose. The coordinator and each partition refuse a lower epoch. The first teller
# is **fenced**: its error is fatal, and it must shut down.
#
# What if `second_id` is `"teller-2"`? Set it, and look at both commits and at the debits.
#
# In a consumer group, a partition may also move to another live instance, whose name differs and so
# fences no other producer. Then the group helps: `send_offsets_to_transaction` takes the consumer's
# group metadata, and the group's coordinator refuses an old generation (KIP-447). So each instance
# needs a name, not each input partition. The first teller above sends no offsets, so only its name
# stops it. With offsets, a stable name buys a quick recovery: an open transaction ends at once.
#
# ## A crash at every step
#
# Two loops read transfers, write a result for each, and commit the group's offset. `apart` commits
# the offset through the consumer. In `together`, each transfer has its own transaction, and the
# offset is part of it. `lab.crash_test` runs a loop in a process of its own, kills the process with
# SIGKILL after one of the loop's lines, and starts the loop again; then it does the same for the
# next line. A result counts if a reader with read_committed finds it in the end.


# %% loops tags=["setup"]
def apart(consumer, producer, topic, results):
    consumer.subscribe([topic])
    while True:
        transfer = consumer.poll(1.0)
        if transfer is not None:
            producer.produce(results, transfer.value())
            producer.flush()
            consumer.commit(transfer, asynchronous=False)


def together(consumer, producer, topic, results):
    producer.init_transactions()
    consumer.subscribe([topic])
    while True:
        transfer = consumer.poll(1.0)
        if transfer is not None:
            producer.begin_transaction()
            producer.produce(results, transfer.value())
            places = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata())
            producer.commit_transaction()


crashed = {}  # what the crash tests have shown, by cluster

# %% 11-5 tags=["stub", "predict"]
lab.predict("11-5")

# %% 11-5 tags=["solution", "predict"]
lab.predict("11-5", "b")

# %% every-step tags=["both"]
per_line = 1  # crashes after each line, also 3
situations = ()  # also ("freeze",): a teller stands still while a second one takes over


def every_step(cluster):
    more = {"promise": "exactly once", "situations": situations, "per_line": per_line}
    producers = {apart: {}, together: {"transactional.id": "teller"}}

    def tested(loop):
        return lab.crash_test(loop, cluster, producer=producers[loop], **more)

    with ThreadPoolExecutor() as threads:  # both loops at the same time
        each = threads.map(tested, producers)
        tests = crashed[cluster.name] = dict(zip(("apart", "together"), each, strict=True))
    aborted = sum(len(trial.of("undone")) for trial in tests["together"].trials)
    again = sum(len(trial.polled_again) for trial in tests["together"].trials)
    return {
        "apart, each transfer counts": tests["apart"].verdict,
        "together, each transfer counts": tests["together"].verdict,
        "together, transfers polled again": lab.measured(again, "transfers"),
        "together, aborted results in the log": lab.measured(aborted, "results"),
    }


outcome = lab.both(every_step)
display(*crashed["engine"].values(), outcome)
lab.verdict("11-5", outcome)

# %% [markdown]
# The mark to the left of each line shows what the crash after that line did. In `apart`, a crash
# between the result and the offset commit does harm: the restarted loop reads the transfer again
# and writes a second result. With the commit first, a crash between the two would lose a transfer.
#
# In `together`, the result and the offset share the same fate. An abort leaves the offset where it
# was, and the restarted loop reads the same transfer again: the transfer is *processed* twice but
# *counts* once. That is what exactly-once means here. The price is a commit for each transfer; in
# exercise 11-12, several transfers share one commit. (The dot marks a number that differs from run
# to run.)
#
# ## An e-mail in the transaction
#
# The teller also sends Bob an e-mail for each transfer. For a transfer of 10, it sends the e-mail
# and then commits; for one of 20, it commits first. The first teller for each transfer crashes
# between the two steps. A second teller continues from the committed offset.

# %% e-mail tags=["both"]
tellers = ("crashes", "lives")  # also only ("lives",)


def e_mail(cluster):
    open_bank(cluster, ("10", "20"))
    sent = []
    for order in (("mail", "commit"), ("commit", "mail")):
        for fate in tellers:
            teller = Teller(cluster, "teller")
            if not (transfer := teller.take()):
                continue  # nothing is left to do
            teller.producer.begin_transaction()
            teller.book(f"Bob +{transfer}", 1)
            teller.offsets()
            for step in order[:1] if fate == "crashes" else order:
                if step == "mail":
                    sent.append(f"Bob +{transfer}")
                else:
                    teller.producer.commit_transaction(bank.PATIENCE_S)
    bank.wait_until_stable(cluster, "accounts", 1)
    credits = values(cluster, 1)
    return {
        "mail, then commit: e-mails": sent.count("Bob +10"),
        "mail, then commit: credits": credits.count("Bob +10"),
        "commit, then mail: e-mails": sent.count("Bob +20"),
        "commit, then mail: credits": credits.count("Bob +20"),
    }


outcome = lab.both(e_mail)
display(outcome)

# %% [markdown]
# A transaction covers records in one Kafka cluster, offsets included, and nothing else. An abort
# does not recall an e-mail, and if the commit comes first, a crash loses the e-mail. Neither order
# is safe. For other systems, there are two solutions:
#
# * Give the effect a key that the other system checks, such as the transfer's id (notebook 10).
# * **Outbox**: write the event into a table, in the same database transaction as the row that it
#   describes. A connector reads the table's log and writes each event to Kafka at least once. The
#   reader removes copies by the event's id. (This is not run here, but the other direction is, in
#   [Into a database](#Deeper:-Into-a-database).)
#
# ## Read the code that did it
#
# Below is what the coordinator does with a commit or an abort, and with a producer that starts
# again under the same id; EPOCH_BUMPED means that a commit raises the epoch, too (*Deeper: Names,
# ids and epochs*). The LSO's rule follows.

# %% code tags=["read"]
from engine.coordinators.transactions import requests
from engine.storage.log import Log

lab.show(requests.end_transaction, requests.fence, Log.last_stable_offset)

# %% [markdown]
# ## Break it
#
# A producer with the id *transfer* runs in its own process, against the running brokers. Here are
# three things to try:
#
# * **begin**, **send**, **kill** the producer; then **+ a second producer**. Who writes the ABORT?
# * **begin**, **send**, **+ a second producer**; then **commit** with the first one.
# * **begin**, **send**, then kill the coordinator (the button beside the id), and **commit**.
#
# The worst moment for a coordinator to die is too short to hit here. Go back to the panel in
# virtual time, to *PrepareCommit*, and press **kill 102** there.

# %% break-it tags=["live"]
open_bank(eng)
live = lab.transactions(eng, "accounts")
live.start("transfer")
live

# %% [markdown]
# A coordinator's successor reads `__transaction_state`. Once *PrepareCommit* is replicated there,
# the successor finishes the commit even without the producer.
#
# ## Your turn
#
# Replace the stub with your answer, run it, then run the check. `lab.hint("11-7")` gives three
# hints and then a solution. A smaller exercise, 11-9, is in [Names, ids and
# epochs](#Deeper:-Names,-ids-and-epochs).
#
# **11-7, the last stable offset.** `transactions` is a list of `(first, marker)`: the offset of a
# transaction's first record in this partition, and that of its marker, or `None` while the
# transaction is open. A marker counts once it is replicated, that is, once it is below the high
# watermark. Return the last stable offset.


# %% 11-7 tags=["stub"]
def last_stable_offset(transactions, high_watermark):
    """Where a reader with read_committed must stop."""


# %% 11-7 tags=["solution"]
def last_stable_offset(transactions, high_watermark):
    """Where a reader with read_committed must stop."""
    unfinished = [
        first for first, marker in transactions if marker is None or marker >= high_watermark
    ]
    return min([*unfinished, high_watermark])


# %% 11-7 tags=["check"]
lab.check("11-7", last_stable_offset)

# %% [markdown]
# **11-8, what read_committed gets.** `log` is a list of `(producer, entry)` in log order. The
# producer `""` writes plain records. The entries `"COMMIT"` and `"ABORT"` are markers of the
# producer in the same pair; all other entries are records. The whole log is replicated. Return the
# records that a reader with read_committed gets now.


# %% 11-8 tags=["stub"]
def read_committed(log):
    """The records that a reader with read_committed gets, in order."""


# %% 11-8 tags=["solution"]
def read_committed(log):
    """The records that a reader with read_committed gets, in order."""
    markers = ("COMMIT", "ABORT")
    got = []
    for place, (producer, entry) in enumerate(log):
        if entry in markers:
            continue
        later = [e for p, e in log[place:] if p == producer and e in markers]
        if producer and not later:
            break
        if not producer or later[0] == "COMMIT":
            got.append(entry)
    return got


# %% 11-8 tags=["check"]
lab.check("11-8", read_committed)

# %% [markdown]
# **11-12, several at a time.** Write a loop for `lab.crash_test` that reads from the topic `topic`
# and writes to the topic `results`. For each transfer, write one record with the transfer's value.
# Each transfer has to count exactly once, even when a teller is stalled and a second one takes
# over. Twelve transfers may take at most four transactions. An exception that leaves the loop is
# fine: the application is restarted. The check crashes your loop after each line, and takes about
# ten seconds.


# %% 11-12 tags=["stub"]
def several(consumer, producer, topic, results):
    """Reads until it is stopped; each transfer counts once; few transactions."""


# %% 11-12 tags=["solution"]
def several(consumer, producer, topic, results):
    """Reads until it is stopped; each transfer counts once; few transactions."""
    producer.init_transactions()
    consumer.subscribe([topic])
    while True:
        if transfers := consumer.consume(4, 1.0):
            producer.begin_transaction()
            for transfer in transfers:
                producer.produce(results, transfer.value())
            places = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata())
            producer.commit_transaction()


# %% 11-12 tags=["check"]
named = {"transactional.id": "teller"}
lab.check("11-12", lab.crash_evidence(several, eng, producer=named, per_line=1))

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. How does Kafka get to exactly-once?</b></summary>
# Within Kafka: an idempotent producer with transactions, the consumer's offsets in the same
# transaction, and readers with read_committed. Inputs may be processed again, but count once. An
# effect outside Kafka needs a key, so that a repeat changes nothing. <i>Follow-up:</i> what happens
# without each part? <b>Weak:</b> "enable.idempotence." <b>Good:</b> the parts inside Kafka.
# <b>Strong:</b> adds what a transaction does not cover, and the key or the outbox for that.
# Evidence: <a href="#A-crash-at-every-step">A crash at every step</a>,
# <a href="#Deeper:-What-each-part-is-good-for">What each part is good for</a>.
# </details>
# <details><summary><b>2. What happens to the records of an aborted transaction?</b></summary>
# They stay in the log, followed by an abort marker. The Fetch answer lists aborted transactions,
# and the client skips their records. <i>Follow-up:</i> which readers do see them? <b>Weak:</b>
# "they are deleted." <b>Good:</b> the marker. <b>Strong:</b> adds read_uncommitted as the Java
# default, and gaps in the offsets. Evidence: <a href="#A-transfer-whose-teller-dies">A transfer
# whose teller dies</a>.
# </details>
# <details><summary><b>3. A reader is stalled, its partition grows, and there is no error. What do you look at?</b></summary>
# The last stable offset: an open transaction holds it back. List the transactions, find the oldest
# one, and check whether its producer is alive. <i>Follow-up:</i> when does that transaction end by
# itself? <b>Weak:</b> "restart the consumer." <b>Good:</b> the LSO. <b>Strong:</b>
# transaction.timeout.ms, and find-hanging for a transaction that no coordinator knows about.
# Evidence: <a href="#Behind-an-open-transaction">Behind an open transaction</a>.
# </details>
# <details><summary><b>4. Why must a transactional.id outlive the process?</b></summary>
# So that the successor is recognized: it immediately ends the transaction that was left open, and
# the old instance is fenced by its epoch. If consumed offsets are in the transaction, the group's
# generation fences the old instance as well (KIP-447); the name then buys quick recovery.
# <i>Follow-up:</i> what if a random id is used? <b>Weak:</b> "the broker needs a name."
# <b>Good:</b> fencing. <b>Strong:</b> says that open transactions then wait for their timeout and
# that readers wait behind them; says what the generation protects, and when. Evidence:
# <a href="#The-first-teller-wakes-up">The first teller wakes up</a>.
# </details>
# <details><summary><b>5. What happened here?</b></summary>
# <pre>
# CoordinatorId  TransactionalId  ProducerId  ProducerEpoch  TransactionState  TransactionTimeoutMs  CurrentTransactionStartTimeMs  TransactionDurationMs  TopicPartitions
# 102            till-7           4001        3              Ongoing           900000                1795439000000                  640000                 accounts-0,accounts-1
# </pre>
# A transaction has been open for almost eleven minutes, with the longest timeout that brokers
# allow. Readers with read_committed are waiting in both partitions. If till-7 is dead, start it
# again: init_transactions ends the transaction at once. Evidence:
# <a href="#Behind-an-open-transaction">Behind an open transaction</a>.
# </details>
#
# ## Quiz
#
# Several letters may be right.

# %% 11-10 tags=["stub", "predict", "quiz"]
lab.quiz("11-10")

# %% 11-10 tags=["solution", "predict", "quiz"]
lab.quiz("11-10", "b", "d")

# %% 11-11 tags=["stub", "predict", "quiz"]
lab.quiz("11-11")

# %% 11-11 tags=["solution", "predict", "quiz"]
lab.quiz("11-11", "a", "d")

# %% [markdown]
# ## Deeper: Names, ids and epochs
#
# In the first table, a producer's requests are made by hand, and each returns an id and an epoch.
# There are two transaction protocols: protocol 1 and, since Kafka 4.0, protocol 2 (KIP-890). The
# second table shows a client's calls in the wrong order, and the errors that they cause.

# %% identities tags=["both"]
display(lab.both(scenes.identities), lab.both(scenes.refused))

# %% [markdown]
# The application chooses the name. The coordinator assigns an id and an epoch, and keeps both for
# the name, however often the process starts. Under protocol 2 (`transaction.version=2`), which the
# engine's own producer speaks and confluent-kafka does not yet, every commit and abort raises the
# epoch as well, so a late request carries an old epoch. If a transaction is open when the producer
# starts, the epoch rises twice: the abort raises it, and then the new start does.
#
# The second table shows calls that the client or the broker refuses. Only a producer with a name
# has transactions, and idempotence is part of a transaction, so it cannot be turned off. In Spring,
# a fixed `transactional.id` is replaced by one built from the `transaction-id-prefix`, so set only
# the prefix, and give every instance a prefix of its own.
#
# **11-9, fencing.** `calls` is a list of calls in the order in which they reach the brokers:
# `("init", name)` and `("write", name, epoch)`. Return a list with a result for each. `init`
# returns the name's new epoch: 0 for a new name, then one more each time. `write` returns `"ok"`
# with the current epoch, `"fenced"` with an older one, and `"unknown"` for a name that was never
# initialized. These rules are for an id with no open transaction. If an open transaction is found,
# `init` raises the epoch twice: once for the abort, which has to shut out the old instance, and
# once for the new instance. Your function ignores that case.


# %% 11-9 tags=["stub"]
def fencing(calls):
    """The result of each call."""


# %% 11-9 tags=["solution"]
def fencing(calls):
    """The result of each call."""
    epochs, results = {}, []
    for kind, name, *epoch in calls:
        if kind == "init":
            epochs[name] = epochs.get(name, -1) + 1
            results.append(epochs[name])
        elif name not in epochs:
            results.append("unknown")
        else:
            results.append("ok" if epoch[0] == epochs[name] else "fenced")
    return results


# %% 11-9 tags=["check"]
lab.check("11-9", fencing)

# %% [markdown]
# ## Deeper: The coordinator's log
#
# A real client makes a whole transfer. Then a plain consumer reads everything that
# `__transaction_state` says about this client's name, record by record. After that comes the last
# batch in every partition that took part. The second table shows four kinds of batches, and what a
# producer without a name gets when it begins a transaction.

# %% state-log tags=["both"]
display(lab.both(scenes.state_log), lab.both(scenes.attributes))

# %% [markdown]
# These records *are* the coordinator's memory: the topic is compacted, so the last record for each
# name stays, and a new leader of the partition reads these records and carries on. A partition of
# the transaction is written down before its first record is accepted. *PrepareCommit* is the
# decision. Then the coordinator has a marker written into each partition, including the one with
# the group's offset, and *CompleteCommit* ends the transaction.
#
# A marker is a batch of one record with the control bit set. It takes up an offset: a reader of
# `accounts-0` gets offset 0 and continues at 2. The second table shows the low six bits of the
# attributes: from the right, three for the codec, one for the timestamp's type, one for a
# transaction, one for control. (A seventh bit marks a delete horizon; see notebook 12.)
#
# Kafka's own tool has a decoder for this log. It prints each state as a number, the
# `transactionStatus`; the last line below has their names.

# %% decoder tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
scenes.state_log(cluster)
partition = in_the_log.partition_of(cluster, "teller-9")
coordinator = in_the_log.leader_of(cluster, partition)
place = {"broker": coordinator, "topic": "__transaction_state", "partition": partition}
printed = lab.tool(cluster, "kafka-dump-log", "--transaction-log-decoder", **place)
print(printed.command)
lines = [line for line in printed.text.splitlines() if "teller-9" in line][-6:]
print(*lines, sep="\n")
print("as names:", *in_the_log.decoded(lines))

# %% [markdown]
# On a real cluster, records in different logs have no common order; in virtual time, they have one.
# The first table is a whole transfer in nine steps, from the producer's id to the reader
# downstream. In the second one, the coordinator is killed at the worst moment: when *PrepareCommit*
# has been written on all the replicas, and no marker is on its way yet.

# %% coordinator-dies tags=["sim"]
display(film.committed(amount=10), film.coordinator_dies(amount=10))

# %% [markdown]
# Each partition is written down before its record is in the log, and step 3 comes back for each of
# the three partitions. After the kill, the client did nothing. The coordinator's successor found a
# decision that had not been carried out, and sent the markers. The next transaction begins after
# *CompleteCommit*.
#
# ## Deeper: A transaction that hangs
#
# A teller's record is delayed for so long that its transaction has ended before the record arrives.
# The record still has a valid producer id, and, under protocol 1, a valid epoch. *new-teller*
# speaks protocol 2, *old-teller* protocol 1. In the third row, the leaders do not ask the
# coordinator; before Kafka 3.6, they never asked. Then a plain record, *behind*, is written.

# %% late-records tags=["both"]
lab.both(hanging.late_records)

# %% [markdown]
# Protocol 2 refuses the record by its epoch. Under protocol 1, the leader asks the coordinator
# whether the partition belongs to an open transaction. Here it does not, so the leader tells the
# client to abort. Without that question, the record is accepted and opens a transaction that no
# coordinator knows about. So no time-out ends that transaction: *behind* is stuck, compaction does
# not pass the transaction either, and restarting the producer does not help. (Retention does not
# wait for it: only the high watermark bounds what is deleted.) An ABORT marker helps. Kafka's tool
# finds such transactions and has the marker written. Below, one such transaction has been hanging
# for an hour.

# %% find-hanging tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
start = str(hanging.left_behind(cluster, age_ms=3_600_000))
where = ("--topic", "accounts", "--partition", "0", "--start-offset", start)
display(lab.tool(cluster, "kafka-transactions", "find-hanging", "--topic", "accounts"))
print("read_committed:", *values(cluster))
display(lab.tool(cluster, "kafka-transactions", "abort", *where))
bank.wait_until_stable(cluster)
print("read_committed then:", *values(cluster))

# %% [markdown]
# `find-hanging` has a limit of its own, `--max-transaction-timeout` (15 minutes by default). It
# selects producers with an open transaction whose last record is older than that limit, and asks
# each producer's coordinator whether it knows about the transaction. Use `abort` only for hanging
# transactions: on a live transaction, it tears the producer's work apart.
#
# ## Deeper: Time-outs
#
# A producer with a `transaction.timeout.ms` of 3 s writes to two partitions and falls silent. When
# the markers have arrived, it continues.

# %% timeouts tags=["both"]
display(lab.both(scenes.timeouts), lab.both(scenes.settings))

# %% [markdown]
# The coordinator looks for old transactions every 10 s
# (`transaction.abort.timed.out.transaction.cleanup.interval.ms`), aborts them, and raises the
# epoch. So the producer's next request fails, and all its work has to be redone. The client's
# default timeout is 60 s; a value above the broker's `transaction.max.timeout.ms` (15 minutes) is
# refused when the producer starts. Kafka Streams sets the timeout to 10 s. A name that is not used
# for a week is forgotten; the next producer that starts with the name gets another id.
# `__transaction_state` has 50 partitions by default, but in this course's clusters it has five.
#
# ## Deeper: What readers get
#
# A transfer has a record in each of two partitions, and each reader reads one of the partitions. In
# the second table, one record is aborted, and the application sends another one twice, in two
# transactions that are both committed.

# %% readers tags=["both"]
display(lab.both(scenes.half), lab.both(scenes.levels))

# %% [markdown]
# Writing is atomic, but reading is not. A reader of one partition sees a debit without its credit,
# and gets no error; a reader of both may get the debit now and the credit a poll later. If a reader
# needs both at once, put both into one record.
#
# By default, the Java client and Kafka's tools read everything, but librdkafka's clients read only
# what is committed. So the same topic may look different in two tools. `read_committed` hides what
# was aborted, but it does not detect copies that an application sent. Where no producer uses
# transactions, the level makes no difference.
#
# ## Deeper: What a Fetch answer says
#
# Producers *p*, *q* and *r* run transactions in one partition: *p* writes p0 and p2 and aborts, *q*
# writes q1 and commits, and *r* writes r3 and aborts.

# %% aborted tags=["both"]
lab.both(scenes.aborted)

# %% [markdown]
# The broker removes nothing from the answer: records are sent as they are on disk. From the
# segment's `.txnindex`, it adds a list of producers, each with the first offset of what it aborted.
# The client drops such a producer's records from that offset to the ABORT marker. Each entry of the
# index also has the LSO at the time when the entry was written, which shows where a search
# may stop.
#
# ## Deeper: What each part is good for
#
# An application writes a result for one transfer and commits the group's offset. It crashes between
# the two steps, and starts again. The first table shows how often the transfer counts; the second
# one has a running total of three transfers.

# %% torn tags=["both"]
display(lab.both(chains.torn), lab.both(chains.sums))

# %% [markdown]
# Without a transaction, the order decides whether the transfer counts twice or never, and no order
# makes it count once. In a running total, the error stays in every later value.
#
# The usual recipe is *a transactional producer plus an idempotent consumer*. Here the application
# that books the transfer crashes once. A downstream application, which sends an e-mail for each
# booking, crashes after its first e-mail.

# %% recipe tags=["both"]
display(lab.both(chains.recipe), lab.both(chains.left_out))

# %% [markdown]
# The transaction keeps the topic right; the key does the same for effects outside Kafka. Neither
# closes the other's gap. A consumer cannot use the producer's id and sequence number as a key: it
# does not get them.
#
# In the second table, each part is left out in turn; the transfer should count once. A consumer
# that commits by itself moves the offset outside the transaction: that offset stays when the
# transaction is aborted, and the transfer is lost. In an application with transactions, only the
# producer commits: it begins, writes to any number of topics, sends the offsets, and then commits
# or aborts. In the last two rows, the leader gets the same booking twice, as it does from a client
# that got no answer and retries. A transactional producer is idempotent, so the leader recognizes
# the sequence number. Without that number, the booking is there twice.
#
# In the next run, an application writes to two topics and sends its offset: three writes in one
# transaction. First it dies after two of them, and its successor aborts the transaction. Then it
# aborts all three, and at last it commits.

# %% chain tags=["both"]
display(lab.both(chains.two_topics), lab.both(chains.chain))

# %% [markdown]
# Nothing counts until the whole transaction is committed. The second run is a chain of two
# applications, and each of them crashes once after writing its results and once after sending its
# offset. The log holds results from all attempts, but the results that count equal the outcome of a
# run without a crash.
#
# ## Deeper: Into a database
#
# A sink fills two tables from a topic that was written in transactions. The sink crashes after one,
# two and three rows, and its offset is committed only at the end.

# %% table tags=["both"]
lab.both(chains.table)

# %% [markdown]
# Write to a topic first, in transactions, and let a sink carry the records into the other system
# under a key. A crash anywhere repeats rows, but a repeated row changes nothing. (The repeats pass
# through *anna*'s older values again, and end with the newest.) Another way is to keep the offset
# in the database, in the same transaction as the rows.
#
# ## Deeper: What it costs
#
# Eight transactions of each size run one after the other, but only two of 10,000 records and one of
# 100,000. The rates are multiples of the rate with one record per transaction. The second table has
# a loop that reads transfers, writes a result for each, and commits its offset. It does so without
# transactions and with them, for 1, 10 and 100 transfers at a time. Its rates are multiples of the
# first row.

# %% sizes tags=["both"]
from kit.drawings.chart import Chart

outcome = lab.both(costs.sizes)
power = "records in a transaction: a power of ten, from one to a hundred thousand"
display(Chart("Records per second", costs.curves(outcome), power, "times one record", log_y=True))
display(Chart("Time of one transaction", costs.times(outcome), power, "ms", log_y=True))
display(outcome, lab.both(costs.loops))

# %% [markdown]
# A transaction, large or small, pays once for the requests to the coordinator, for the
# coordinator's records, and for the markers. So with ten times as many records, the rate is several
# times as high at first. Then the curve flattens, because the records themselves take up most of
# the time. The price is latency: the first record of a large transaction waits for the last one,
# that is, for as long as the transaction takes.
#
# With the same number of transfers at a time, Kafka's loop is several times slower with
# transactions. (The engine is one process without a network, so its loop hardly notices.) But the
# loop pays for each transaction, not for each transfer: with 100 transfers in a transaction, it is
# faster than a loop that commits every single offset without one.

# %% reading tags=["both"]
display(lab.both(costs.reading), lab.both(costs.waiting))

# %% [markdown]
# Filtering costs a reader little: it compares a producer's id with a short list. (The factor
# differs from run to run, and is higher on the engine.) What readers do feel is the wait: in the
# second table, a plain record comes after a transaction that is held open for some time. A reader
# with read_uncommitted gets the plain record in the meantime. So an open transaction delays every
# later record in its partition for read_committed readers.
#
# ## Deeper: Kafka Streams
#
# Kafka Streams makes the transaction calls itself if `processing.guarantee` is `exactly_once_v2`;
# the default is `at_least_once`. Below is an application that keeps a sum for each key.

# %% streams tags=["read"]
print(chains.STREAMS.read_text())

# %% [markdown]
# The application is not run in this notebook. One of the course's tests
# (`tests/conformance/test_streams_exactly_once.py`) runs it on the engine and on Kafka, kills it
# midway with SIGKILL, starts it again, and finds each number in its sum once. The application's
# store is restored from a changelog topic, which is written in the same transactions.
#
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | exactly once means that a record is processed once | it is processed again after a crash, but counts once | [A crash at every step](#A-crash-at-every-step) |
# | it needs Kafka Streams | a transactional producer with the offsets in its transaction does it too | [A crash at every step](#A-crash-at-every-step) |
# | a transactional producer plus an idempotent consumer | within Kafka it is the producer, the offsets in its transaction, and read_committed; the key is for effects outside | [What each part is good for](#Deeper:-What-each-part-is-good-for) |
# | read_uncommitted is the default | in the Java client and Kafka's tools; confluent-kafka's default is read_committed | [What readers get](#Deeper:-What-readers-get) |
# | the epoch rises when a producer starts | under protocol 2, it also rises with every commit and abort | [Names, ids and epochs](#Deeper:-Names,-ids-and-epochs) |
# | the client says which partitions it will write to | under protocol 2 the partition's leader does, with the first record | [A transaction that hangs](#Deeper:-A-transaction-that-hangs) |
# | a transaction ends after its time-out at the latest | only if its coordinator knows about it | [A transaction that hangs](#Deeper:-A-transaction-that-hangs) |
# | all of a transaction is read, or nothing | each partition shows its part | [What readers get](#Deeper:-What-readers-get) |
# | set `transactional.id` and `enable.idempotence` | the second is implied, and cannot be turned off | [Names, ids and epochs](#Deeper:-Names,-ids-and-epochs) |
