# %% [markdown]
# # 11 · Transactions and exactly-once
#
# Alice pays 10 to Bob. An application reads the transfer, books *Alice -10*, books *Bob +10*, and
# commits its offset. These are three writes, to three partitions, and a process can die between any two of
# them. A **transaction** makes them one: either all of them count, or none. This notebook
# shows how Kafka does that without ever taking a record back.
#
# **What you will be able to do**
#
# * read a transaction in the log: its records, its markers, and what each kind of reader gets
# * say where a reader waits while a transaction is open, and why
# * write an application that reads, books and commits so that each input counts once
# * say how an old instance is shut out, and what no Kafka transaction covers
#
# **Time:** {minutes}. You need notebook 10 (offsets) and a producer's id and epoch (notebook 08). Python
# alone is enough; with a real Kafka, most runs happen on both.
#
# ## Without a transaction
#
# `transfers` holds what customers want. `accounts` has Alice's bookings in partition 0 and Bob's
# in partition 1. A teller is an application with a consumer of the first topic and a producer of the second.
# A crash here means that this teller is not used any more; a second one starts at the committed offset.

# %% doorway tags=["setup"]
from kit import lab
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
    return {"debits": len(values(cluster, 0)), "credits": len(values(cluster, 1))}


outcome = lab.both(no_transaction)
display(outcome)
lab.verdict("11-1", outcome)

# %% [markdown]
# The producer retried nothing, so its idempotence would not help: to the broker these are two
# different records of two producers. And no order of the three writes is safe. Try the other
# values of `crash_after`.
#
# ## The same transfer, step by step
#
# With `transactional.id` set, a producer may begin and end transactions. The broker that looks after this id
# is its **transaction coordinator**. It keeps the id's state in a topic of its own, `__transaction_state`.
# Below is the whole transfer in virtual time. The first application dies after Alice's debit; a second
# one has the same id. Click the panel and step with the arrow keys.

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
# The nine steps of a transfer that succeeds, as the timeline names them:
#
# 1. The producer asks for its producer id and **epoch** (`init_transactions`). The second instance gets
#    a higher epoch; what the first one left open is aborted.
# 2. The application reads the transfer.
# 3. The coordinator hears of each partition before it is written: *Ongoing*. (Since Kafka 4.0 the partition's leader does
#    this for the producer, KIP-890.)
# 4. Alice is debited: a record in partition 0. It is in the log at once.
# 5. Bob is credited, in partition 1.
# 6. The consumer's offset goes into the transaction too: a record in `__consumer_offsets`, partition 7.
# 7. The application commits. The coordinator writes *PrepareCommit*: from here on the outcome is fixed.
# 8. A **marker** goes into each partition of the transaction: 0, 1 and 7. Then *CompleteCommit*.
# 9. Readers downstream get the records.
#
# ## A transfer whose teller dies
#
# Now the same with real clients. The first teller begins a transaction, debits Alice, and is gone. The second one
# has the same `transactional.id`. It does the whole transfer. Downstream
# reads with `isolation.level=read_committed`: it gets no records of transactions that were not committed.
# A marker takes up an offset, as a record does.

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
    bank.wait_for_marker(cluster, 1, partition=1)
    return {
        "the log of partition 0": bank.log_of(cluster, 0),
        "the log of partition 1": bank.log_of(cluster, 1),
        "read_committed, partition 0": [list(each) for each in read(cluster, 0)],
        "read_uncommitted, partition 0": values(cluster, 0, "read_uncommitted"),
        "the group's offset": second.committed(),
    }


outcome = lab.both(teller_dies)
display(outcome)
lab.verdict("11-2", outcome)

# %% [markdown]
# Nothing was taken back. The lost debit is in the log for good, and behind it an ABORT marker:
# `init_transactions` of the second teller had it written. A Fetch answer carries a list of aborted transactions
# (producer id and first offset), and the *client* skips their records. A client with
# `read_uncommitted` gets all of them. That is the default of the Java client and of Kafka's tools; confluent-kafka's
# default is `read_committed`.
#
# So a gap in the offsets is normal: markers and skipped records take offsets too.
#
# ## Behind an open transaction
#
# Partition 0 gets five entries, in this order: *before*, written without a transaction; *held*, in a transaction
# that stays open; *paid*, in another producer's transaction, and its commit marker; *behind*, again without a transaction.
# The **last stable offset** (LSO) is where a reader with read_committed must stop.

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
    return {**seen, f"read_committed after the {then}": values(cluster)}


outcome = lab.both(open_transaction)
display(outcome)
lab.verdict("11-3", outcome)

# %% [markdown]
# The LSO is the first offset of the oldest open transaction; if none is open, it is the high watermark. A reader with
# read_committed gets nothing from there on: also no plain record, and no record of a transaction that is
# over. Otherwise it would have to come back for *held*, and the order of the log would be lost.
#
# So one slow producer holds up everyone's readers, and their lag grows while nothing is wrong
# with them. `transaction.timeout.ms` (60 s by default, at most the broker's
# `transaction.max.timeout.ms`, 15 minutes) ends it: then the coordinator aborts.
#
# ### What an engineer sees
#
# A transaction is open. Kafka's own tool shows what its coordinator knows.

# %% at-work tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
open_bank(cluster)
till = bank.producer_of(cluster, "till-7")
till.begin_transaction()
for partition in (0, 1):
    bank.booked(till, "accounts", "open", partition)
display(lab.tool(cluster, "kafka-transactions", "list"))
described = ("describe", "--transactional-id", "till-7")
display(lab.tool(cluster, "kafka-transactions", *described))
till.abort_transaction(bank.PATIENCE_S)
lab.broker_log(cluster, 101, "transaction")

# %% [markdown]
# `kafka-transactions find-hanging` looks for transactions that are open in a partition while no coordinator knows of them,
# and `abort` ends one with a marker. Such hanging transactions came from late requests; since 3.6 a leader asks the coordinator
# before it takes the first record of a transaction, and since 4.0 every transaction has an epoch of its own (KIP-890).
#
# ## The zombie
#
# The first teller is not dead. It stood still, for example in a long garbage collection, while a second one started with the same
# `transactional.id` and booked the transfer. Now the first one wakes up in the middle of its transaction. It
# books *Bob +10* and commits.

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
    seconds = ended(second.producer.commit_transaction, bank.PATIENCE_S)
    late = first.book("Bob +10", 1)  # and wakes up
    bank.wait_for_marker(cluster, 2)
    return {
        "the second teller's commit": seconds,
        "the first teller's late booking": late,
        "the first teller's commit": ended(first.producer.commit_transaction, bank.PATIENCE_S),
        "the log of partition 0": bank.log_of(cluster, 0),
        "debits": len(values(cluster, 0)),
    }


outcome = lab.both(zombie)
display(outcome)
lab.verdict("11-4", outcome)

# %% [markdown]
# Every write carries the producer's epoch. `init_transactions` of the second teller raised it, and the coordinator
# and each partition refuse a lower one. The ABORT in the log ended what the first teller had left open: that was the second
# teller's `init_transactions`, too. The first teller is **fenced**: its error is fatal, and it must end. Set
# `second_id = "teller-2"`, and nothing fences it: then both commits succeed, and Alice pays twice. So the name must be
# the same for each successor.
#
# With a consumer group a partition may move to *another* running instance, which has another name. For that
# `send_offsets_to_transaction` takes the consumer's group metadata: the group's coordinator refuses offsets of
# a member whose generation is over (KIP-447). One name per instance is enough then.
#
# ## A crash at every step
#
# Below are two loops as an application has them: read transfers, write a result for each, commit the group's
# offset. `plain` commits it with the consumer. `safe` has a transaction for each transfer, and the offset is a part of
# it. `lab.crash_test` runs a loop in a process of its own, kills it by SIGKILL after one of its lines, and
# starts it again, with the same `transactional.id`; then it does so after the next line. A result counts
# if a reader with read_committed finds it in the end.


# %% loops tags=["setup"]
def plain(consumer, producer, topic, results):
    consumer.subscribe([topic])
    while True:
        transfer = consumer.poll(1.0)
        if transfer is not None:
            producer.produce(results, transfer.value())
            producer.flush()
            consumer.commit(transfer, asynchronous=False)


def safe(consumer, producer, topic, results):
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
lab.predict("11-5", "a")

# %% every-step tags=["both"]
situations = ()  # also ("freeze",): a teller stands still while a second one takes over


def every_step(cluster):
    rest = {"promise": "exactly once", "situations": situations}
    tests = {
        "plain": lab.crash_test(plain, cluster, producer={}, **rest),
        "safe": lab.crash_test(safe, cluster, producer={"transactional.id": "teller"}, **rest),
    }
    crashed[cluster.name] = tests
    seen = {f"{name}, each transfer counts": test.verdict for name, test in tests.items()}
    for name, test in tests.items():
        left = sum(len(trial.of("undone")) for trial in test.trials)
        seen[f"{name}, results in the log that do not count"] = lab.measured(left, "results")
    return seen


outcome = lab.both(every_step)
display(*crashed["engine"].values(), outcome)
lab.verdict("11-5", outcome)

# %% [markdown]
# Under each line stands what the crashes behind it did. In `plain` only the moment between the result and the commit of
# the offset does harm: the next start reads the transfer again and writes a second result. With the commit first it would be
# the other way round, and a crash between the two would lose a transfer. In `safe` the result and the offset
# share their fate. An aborted transaction leaves the offset where it was, so the next start reads the same
# transfer again: it is *processed* twice and *counts* once. That is what exactly-once means here. The price is a
# commit for each transfer; in exercise 11-12 several share one.
#
# ## What it does not cover
#
# The teller also sends Bob an e-mail for each transfer, within the transaction. It crashes before the commit. The
# second teller does the transfer again and commits.

# %% 11-6 tags=["stub", "predict"]
lab.predict("11-6")

# %% 11-6 tags=["solution", "predict"]
lab.predict("11-6", "2 1")

# %% e-mail tags=["both"]
mail_after_commit = False  # also True


def e_mail(cluster):
    open_bank(cluster)
    sent = []
    for crashes_before_commit in (True, False):
        teller = Teller(cluster, "teller")
        transfer = teller.take()
        teller.producer.begin_transaction()
        teller.book(f"Bob +{transfer}", 1)
        teller.offsets()
        if not mail_after_commit:
            sent.append(f"Dear Bob, you have got {transfer}.")
        if crashes_before_commit:
            continue
        teller.producer.commit_transaction(bank.PATIENCE_S)
        if mail_after_commit:
            sent.append(f"Dear Bob, you have got {transfer}.")
    bank.wait_for_marker(cluster, 2, partition=1)
    return {"e-mails": len(sent), "credits": len(values(cluster, 1))}


outcome = lab.both(e_mail)
display(outcome)
lab.verdict("11-6", outcome)

# %% [markdown]
# A transaction covers records in one Kafka cluster, offsets included, and nothing else. An abort does not call back an
# e-mail. Sending it after the commit moves the problem: a crash between the two loses it. For other systems there are
# two ways:
#
# * Give the effect a key that the other system checks, such as the transfer's id (notebook 10).
# * **Outbox**: write the event into a table, in the same database transaction as the row that it tells of. A connector
#   reads the table's log and writes to Kafka, at least once. The reader removes copies by the event's id. (Not run here; the
#   other direction is, in [Into a database](#Deeper:-Into-a-database).)
#
# ## Read the code that did it
#
# The coordinator's table of states, and the rule of the last stable offset.

# %% code tags=["read"]
from engine.coordinators.transactions import requests
from engine.storage.log import Log

lab.show(requests.end_transaction, requests.fence, Log.last_stable_offset)

# %% [markdown]
# ## Break it
#
# Real producers and real brokers. Begin a transaction, send, and kill the producer; start a second one with the same
# name; kill a broker between *PrepareCommit* and *CompleteCommit*.

# %% break-it tags=["live"]
open_bank(eng)
live = lab.transactions(eng, "accounts")
live.start("transfer")
live

# %% [markdown]
# Once *PrepareCommit* is replicated, every later coordinator reads it and finishes the commit, also without the producer.
#
# ## Your turn
#
# Write your answer over the stub, run it, then run the check. `lab.hint("11-7")` gives three hints and then a solution. A
# smaller exercise, 11-9, is in *Deeper: Epochs*.
#
# **11-7, the last stable offset.** `transactions` is a list of `(first, marker)`: the offset of a transaction's first record in
# this partition, and that of its marker, or `None` while it is open. Return the last stable offset.


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
# A marker counts once it is replicated, that is, when it is below the high watermark.
#
# **11-8, what read_committed gets.** `log` is a list of `(producer, entry)` in log order. A producer of `""` writes plain
# records. The entries `"COMMIT"` and `"ABORT"` are markers of that producer; all others are records. All of the log is
# replicated. Return the records that a reader with read_committed gets now.


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
# **11-12, several at a time.** A loop for `lab.crash_test`, from the topic `topic` to the topic `results`. For each transfer
# write one record, with the transfer's value as its own. Each transfer has to count exactly once, also when a teller stands
# still and a second one takes over; and for twelve transfers there may be four transactions at most. An exception that
# leaves the loop is fine: the application is started again. The check crashes your loop after each line, and takes
# some seconds.


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
lab.check("11-12", lab.crash_evidence(several, eng, producer={"transactional.id": "teller"}))

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. How does Kafka get to exactly-once?</b></summary>
# Within Kafka: a transactional producer, the consumer's offsets in the same transaction, and readers with read_committed.
# Inputs may be processed again, and count once. <i>Follow-up:</i> and a database? <b>Weak:</b> "enable.idempotence."
# <b>Good:</b> the three parts. <b>Strong:</b> adds what it does not cover, and the key or the outbox for it.
# Evidence: <a href="#A-crash-at-every-step">A crash at every step</a>.
# </details>
# <details><summary><b>2. What happens to the records of an aborted transaction?</b></summary>
# They stay in the log, with an abort marker behind them. The Fetch answer lists aborted transactions, and the client skips
# their records. <i>Follow-up:</i> who does see them? <b>Weak:</b> "they are deleted." <b>Good:</b> the marker.
# <b>Strong:</b> adds read_uncommitted as the Java default, and gaps in the offsets.
# Evidence: <a href="#A-transfer-whose-teller-dies">A transfer whose teller dies</a>.
# </details>
# <details><summary><b>3. A reader stands still, its partition grows, no error. What do you look at?</b></summary>
# The last stable offset: an open transaction holds it. List the transactions, find the oldest one, see whether its
# producer lives. <i>Follow-up:</i> when does it end by itself? <b>Weak:</b> "restart the consumer." <b>Good:</b> the LSO.
# <b>Strong:</b> transaction.timeout.ms, and find-hanging for one that no coordinator knows.
# Evidence: <a href="#Behind-an-open-transaction">Behind an open transaction</a>.
# </details>
# <details><summary><b>4. Why must a transactional.id outlive the process?</b></summary>
# So that the successor is recognised: it ends what was left open, and the old instance is fenced by its epoch.
# <i>Follow-up:</i> what if a random id is used? <b>Weak:</b> "the broker needs a name." <b>Good:</b> fencing.
# <b>Strong:</b> open transactions then wait for their timeout; and the group's generation fences offsets (KIP-447).
# Evidence: <a href="#The-zombie">The zombie</a>.
# </details>
# <details><summary><b>5. What happened here?</b></summary>
# <pre>
# CoordinatorId  TransactionalId  ProducerId  ProducerEpoch  TransactionState  TransactionTimeoutMs  CurrentTransactionStartTimeMs  TransactionDurationMs  TopicPartitions
# 102            till-7           4001        3              Ongoing           900000                1795439000000                  640000                 accounts-0,accounts-1
# </pre>
# A transaction has been open for almost eleven minutes, with the longest timeout that brokers allow. Readers with read_committed
# wait in both partitions. If till-7 is dead, start it again: init_transactions ends the transaction at once.
# Evidence: <a href="#Behind-an-open-transaction">Behind an open transaction</a>.
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
# A producer is made by hand here: each row is one request, and what it was given. Two producers start under one name,
# one under another, and there are transactions of both protocols. Below it, some calls of a client in the wrong order.

# %% identities tags=["both"]
display(lab.both(scenes.identities), lab.both(scenes.refused))

# %% [markdown]
# The application chooses the name. The coordinator gives an id and an epoch, and keeps both for the name, however often the process
# starts. Under protocol 2 (KIP-890, `transaction.version=2`) every commit and abort brings the next epoch as well, so a request that
# comes late belongs to an epoch that is over. Over an open transaction the epoch rises twice: the abort raises it, then the new start.
#
# The second table has calls that the client or the broker refuses. Only a producer with a name has transactions, and
# idempotence is a part of them: it cannot be turned off. In Spring a fixed `transactional.id` is replaced by one that is made of the
# `transaction-id-prefix`, so set the prefix alone, and let every instance have its own.
#
# **11-9, fencing.** `calls` is a list of calls in the order in which they reach the brokers:
# `("init", name)` and `("write", name, epoch)`. Return a list with a result for each. `init` gives the
# name's new epoch: 0 for a new name, then one more each time. `write` gives `"ok"` with the current epoch,
# `"fenced"` with an older one, and `"unknown"` for a name that was never initialised. These are the rules of an id
# that has nothing open. If an open transaction is found, an init raises the epoch twice: once for the abort, which has to
# shut out the old instance, and once for the new one. Your function leaves that out.


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
# A whole transfer, by a real client. Then everything that `__transaction_state` says of its name is read by a plain consumer, record by
# record, and after it the last batch of every partition that took part. The second table has four batches of different kinds.

# %% state-log tags=["both"]
display(lab.both(scenes.state_log), lab.both(scenes.attributes))

# %% [markdown]
# These records *are* the coordinator's memory: the topic is compacted, so that the last one for each name stays, and a new leader of
# its partition reads them and goes on. A partition is written down before its first record is accepted. *PrepareCommit* is the
# decision. Then the coordinator has a marker written into each partition, the one with the group's offset included, and *CompleteCommit* ends it.
#
# A marker is a batch of one record with the control bit. The second table shows the six low bits of the attributes: from the right three for the
# codec, one for the timestamp's type, one for a transaction, one for control. (A seventh marks a delete horizon; notebook 12.)

# %% [markdown]
# Kafka's own tool has a decoder for this log.

# %% decoder tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
scenes.state_log(cluster)
partition = in_the_log.partition_of(cluster, "teller-9")
coordinator = in_the_log.leader_of(cluster, partition)
place = {"broker": coordinator, "topic": "__transaction_state", "partition": partition}
printed = lab.tool(cluster, "kafka-dump-log", "--transaction-log-decoder", **place)
print(printed.command)
print(*[line for line in printed.text.splitlines() if "teller-9" in line][-6:], sep="\n")

# %% [markdown]
# In virtual time a coordinator can be killed at the worst moment: when *PrepareCommit* is written down on all replicas, and no
# marker is on its way.

# %% coordinator-dies tags=["sim"]
film.coordinator_dies(amount=10)

# %% [markdown]
# The client did nothing meanwhile. Its successor found a decision without an end, and sent the markers.
#
# ## Deeper: A transaction that hangs
#
# A teller's record is on its way for too long: its transaction has ended before the record arrives. The record
# still has a valid producer id, and, under protocol 1, a valid epoch. *new-teller* speaks protocol 2, *old-teller*
# protocol 1. In the third row the leaders do not ask the coordinator, as it was before 3.6. Then a plain record comes behind.

# %% late-records tags=["both"]
lab.both(hanging.late_records)

# %% [markdown]
# Protocol 2 refuses by the epoch. Under protocol 1 the leader asks the coordinator whether the partition belongs to an open
# transaction, and tells the client to abort. Without that question the record is accepted and opens a transaction which no
# coordinator knows of. So no time-out ends it: *behind* is stuck, retention and compaction stop there too, and
# a new start of the producer does not help. An ABORT marker does. Kafka's tool finds such transactions
# and has the marker written. Below, one has been hanging for an hour.

# %% find-hanging tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
start = str(hanging.left_behind(cluster, age_ms=3_600_000))
where = ("--topic", "accounts", "--partition", "0", "--start-offset", start)
display(lab.tool(cluster, "kafka-transactions", "find-hanging", "--topic", "accounts"))
print("read_committed:", *values(cluster))
display(lab.tool(cluster, "kafka-transactions", "abort", *where))

# %% [markdown]
# `find-hanging` takes transactions that have been open for longer than `transaction.max.timeout.ms`, and asks for each whether its
# coordinator knows it. Use `abort` for these only: with a transaction that is alive it tears the work of its producer apart.
#
# ## Deeper: Time-outs
#
# A producer with a `transaction.timeout.ms` of 3 s writes into two partitions and falls silent. When markers have
# come, it goes on.

# %% timeouts tags=["both"]
display(lab.both(scenes.timeouts), lab.both(scenes.settings))

# %% [markdown]
# The coordinator looks for old transactions every 10 s (`transaction.abort.timed.out.transaction.cleanup.interval.ms`), aborts, and raises the
# epoch. So the producer's next request fails, and the whole of its work has to be done again. The default of the client is 60 s; more than the broker's
# `transaction.max.timeout.ms`, a quarter of an hour, is refused at the start. Kafka Streams sets 10 s. A name that is not
# used for a week is forgotten; its next start gets another id. `__transaction_state` has 50 partitions by default; the clusters of this course have five.
#
# ## Deeper: What readers get
#
# A transfer has a record in each of two partitions, and there are readers of one of them. In the second table one record is
# aborted, and another one is sent twice by the application, in two transactions that commit.

# %% readers tags=["both"]
display(lab.both(scenes.half), lab.both(scenes.levels))

# %% [markdown]
# Writing is atomic, reading is not. A reader of one partition sees a debit without its credit, and no error; a reader of both
# may get the debit now and the credit a poll later. If a reader needs both at once, put both into one record.
#
# The Java client and Kafka's tools read everything by default, librdkafka's clients only what is committed. So the same topic may look
# different in two tools. `read_committed` hides what was aborted; it does not find copies that an application sent. Where no
# producer has transactions, the level makes no difference.
#
# ## Deeper: What a Fetch answer says
#
# Transactions of *p*, *q* and *r* in one partition: *p* writes p0 and p2 and aborts, *q* writes q1 and commits, *r* writes r3
# and aborts.

# %% aborted tags=["both"]
lab.both(scenes.aborted)

# %% [markdown]
# The broker removes nothing from the answer: records are sent as they lie on the disk. It adds a list of producers
# with the first offset of what they aborted, from the segment's `.txnindex`. The client drops the records of these
# producers from there to their ABORT marker. Each entry of the index also has the LSO of that moment, which tells where
# a search may stop.
#
# ## Deeper: What each part is good for
#
# One transfer; an application that writes a result for it and ends the group's offset; a crash between the two.

# %% torn tags=["both"]
display(lab.both(chains.torn), lab.both(chains.sums))

# %% [markdown]
# Without a transaction the order decides between twice and never, and no order gives once. With a running total (the second table) the error stays in
# every later value.
#
# The usual recipe is *a transactional producer plus an idempotent consumer*. Here the application that books crashes once, and behind it an
# application that sends a mail for each booking crashes after its first mail.

# %% recipe tags=["both"]
display(lab.both(chains.recipe), lab.both(chains.consumers))

# %% [markdown]
# The transaction keeps the topic right; the key keeps right what is outside of Kafka. Each leaves the other's hole open. A
# consumer cannot use the producer's id and sequence number for a key: it does not get them.
#
# In the second table each setting of that application's consumer is left out in turn; the transfer should count once. A
# consumer that commits by itself moves the offset outside of the transaction: it stays when the transaction is aborted, and the transfer is
# lost. In such an application only the producer commits: begin, write to any number of topics, send the offsets, then commit or abort.

# %% chain tags=["both"]
display(lab.both(chains.two_topics), lab.both(chains.chain))

# %% [markdown]
# The second run is a chain of two applications, and each of them crashes behind its results and behind its offset. The log holds results of all
# attempts, and what counts is what a run without a crash gives.
#
# ## Deeper: Into a database
#
# A topic that was written in transactions fills two tables. The sink crashes after one, two and three rows, and its offset is committed
# only in the end.

# %% table tags=["both"]
lab.both(chains.table)

# %% [markdown]
# Write to a topic first, in transactions, and let a sink carry it into the other system under a key: a crash anywhere repeats
# rows, and a repeated row changes nothing. (The repeats go through older values of *anna* again, and end with the newest.) Another
# way is to keep the offset in the database, in the same transaction as the rows.
#
# ## Deeper: What it costs
#
# Twelve transactions of each size, one after the other. The rates are multiples of those with one record in each transaction.

# %% sizes tags=["both"]
from kit.drawings.chart import Chart

outcome = lab.both(costs.sizes)
power = "records in a transaction: a power of ten, from one to a thousand"
display(Chart("Records per second", costs.curves(outcome), power, "times one record", log_y=True))
outcome

# %% [markdown]
# Requests to the coordinator, its records and the markers are paid once for a transaction, be it large or small. So ten times as many
# records are almost ten times as fast, until the records themselves take the time. The other side: the first record of
# a large transaction waits for its last one.

# %% reading tags=["both"]
display(lab.both(costs.reading), lab.both(costs.waiting))

# %% [markdown]
# Filtering costs a reader next to nothing: it compares a producer's id with a short list. What readers feel is waiting: in the second
# table a plain record lies behind a transaction that is held open for some time. So the length of a transaction is a part of the latency
# of everyone who writes to the same partition.
#
# ## Deeper: Kafka Streams
#
# Kafka Streams makes these calls itself, if `processing.guarantee` is `exactly_once_v2`; the default is `at_least_once`. Below is
# an application that keeps a sum for each key.

# %% streams tags=["read"]
print(chains.STREAMS.read_text())

# %% [markdown]
# It is not run in this notebook. A test of the course (`tests/conformance/test_streams_exactly_once.py`) runs it on the engine and on
# Kafka, kills it in the middle by SIGKILL, starts it again, and finds each number in its sum once. Its store is restored
# from a changelog topic, which is written in the same transactions.
#
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | exactly once means that a record is processed once | it is processed again after a crash, and counts once | [A crash at every step](#A-crash-at-every-step) |
# | it needs Kafka Streams | a transactional producer with the offsets in its transaction does it too | [A crash at every step](#A-crash-at-every-step) |
# | a transactional producer plus an idempotent consumer | within Kafka it is the producer, the offsets in its transaction, and read_committed; the key is for effects outside | [What each part is good for](#Deeper:-What-each-part-is-good-for) |
# | read_uncommitted is the default | in the Java client and Kafka's tools; confluent-kafka has read_committed | [What readers get](#Deeper:-What-readers-get) |
# | the epoch rises when a producer starts | under protocol 2 also with every commit and abort | [Names, ids and epochs](#Deeper:-Names,-ids-and-epochs) |
# | the client says which partitions it will write to | under protocol 2 the partition's leader does, with the first record | [A transaction that hangs](#Deeper:-A-transaction-that-hangs) |
# | a transaction ends after its time-out at the latest | if its coordinator knows it | [A transaction that hangs](#Deeper:-A-transaction-that-hangs) |
# | all of a transaction is read, or nothing | each partition shows its part | [What readers get](#Deeper:-What-readers-get) |
# | set `transactional.id` and `enable.idempotence` | the second is implied, and cannot be turned off | [Names, ids and epochs](#Deeper:-Names,-ids-and-epochs) |
