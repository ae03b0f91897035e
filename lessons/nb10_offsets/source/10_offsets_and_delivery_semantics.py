# %% [markdown]
# # 10 · Offsets and delivery semantics
#
# A service reads orders and charges a card for each. Then its process is killed. Which orders were
# charged twice, which never, and who decided? For each group, the broker keeps one number per
# partition. Everything else is your loop and its client. This notebook crashes such loops after
# every line, and counts the damage.
#
# **What you will be able to do**
#
# * say for any consumer loop what a crash after each of its lines loses or repeats
# * tell the position, the committed offset and the two ends of the log apart
# * predict where a consumer starts after a restart, an absence, a rebalance, or the re-creation of
#   its topic
# * write a loop that works at least once, and one whose effects happen exactly once
#
# **Time:** {minutes}. You need topics and partitions; notebook 09 shows what a rebalance is. Python
# alone is enough; with real Kafka, most runs happen on both sides.
#
# Where a run has a question before it, answer first: the run gives the verdict. Then change the
# values at the top of the cell, and run it again.
#
# ## A loop from a tutorial
#
# The loop below is the usual first attempt. It polls, and processes each record before it polls
# again. Its client, confluent-kafka, commits by itself: `enable.auto.commit` is on by default. The
# default interval is 5 s, but here it is 100 ms, so that several commits happen within twelve
# records.
#
# `lab.crash_test` runs the loop in a process of its own, kills it with SIGKILL several times after
# each line, and restarts it. Then the history checker compares what was processed with what is in
# the topic.

# %% doorway tags=["setup"]
from confluent_kafka import TopicPartition

from kit import lab
from kit.group_panel import members
from kit.probes import clients, virtual
from lessons.nb10_offsets import reading
from lessons.nb10_offsets.positions import Positions
from lessons.nb10_offsets.reading import Reader, numbered, together, write

REPLICAS = {0: [101, 102, 103]}
eng = lab.engine(settings=lab.BRISK)
tests = {}  # what the crash tests have shown, by cluster

# %% 10-1 tags=["stub", "predict"]
lab.predict("10-1")

# %% 10-1 tags=["solution", "predict"]
lab.predict("10-1", 1)

# %% every-line tags=["both"]
settings = {"enable.auto.commit": True, "auto.commit.interval.ms": 100}  # also 5_000


def charge(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)


def every_line(cluster):
    test = lab.crash_test(charge, cluster, settings=settings, situations=())
    tests[cluster.name] = test
    return {
        "most records lost by one crash": max(len(each.lost) for each in test.trials),
        "most records repeated by one crash": lab.measured(
            max(len(each.repeated) for each in test.trials), "records"
        ),
    }


outcome = lab.both(every_line)
display(tests["engine"], outcome)
lab.verdict("10-1", outcome)

# %% [markdown]
# The loop does its work in the right order, but still loses a record: the one in hand. librdkafka,
# the library under confluent-kafka and most other clients, notes a record's offset for the next
# commit when `poll` *returns* the record. A background thread commits that offset. It cannot know
# that your work on that record has only just begun.
#
# Try `"enable.auto.offset.store": False` in the settings, and `consumer.store_offsets(message)`
# after `process(message)`. Then the thread commits only finished records. At 5 s, the crash comes
# before any commit, and all that was processed is repeated.
#
# **The Java client has the same settings but does something else.** It commits *inside* `poll`, and
# only records from earlier polls, which a simple loop has processed by then. Below, A, the engine's
# version of the Java client, is killed in virtual time, and B takes over. Each move of a slider
# starts a new run.
#
# A partition's records run upward; time runs to the right. The dashed line is the *position*: how
# far `poll` has advanced. The solid line is the *committed offset*. Move the crash, then the
# interval, then the moment at which the loop commits. Where does B begin?


# %% java-way tags=["read"]
# Where does B begin? Move crash_after first.
def killed(crash_after=8, interval_ms=1_000, commits="auto"):
    world = lab.world(seed=10)
    world.create_topic("orders", assignment={0: [101, 102, 103], 1: [101, 102, 103]})
    for partition in (0, 1):
        virtual.send(world, "orders", *numbered(8), partition=partition)
    drawn = Positions(world, "orders", "billing")
    settings = {"auto.commit.interval.ms": interval_ms, "max.poll.records": 3}
    settings["enable.auto.commit"] = commits == "auto"
    loop = {"settings": settings, "work_us": 300_000, "commit": commits}
    members.join(world, "A", "orders", "billing", **loop)
    drawn.run(lambda w: len(w.client("A").application.processed) >= crash_after)
    drawn.kill("A")
    members.join(world, "B", "orders", "billing", **loop)
    drawn.run(for_s=25)
    return drawn


strategies = ("auto", "before", "after", "each")  # before the work, after it, or after each record
slider = lab.slider(
    killed, crash_after=range(1, 16), interval_ms=(100, 1_000, 3_000), commits=strategies
)
slider

# %% [markdown]
# B begins at the solid line. Records that A had processed above that line are processed twice: *at
# least once*. Now try `before`: it leaves records that no member processes, because the commit ran
# ahead of the work. So one setting, `enable.auto.commit`, means at least once in one client and
# lost records in another. Check when your client marks an offset as done. In both clients,
# auto-commit loses records if the work happens in *another thread*: to the client, a record that
# you put into a queue is done.
#
# Below is the same run in the Group panel, whose clock starts three seconds earlier, with the
# group: click it and step with the arrow keys. Press *kill* at another moment to see another
# future.

# %% watch tags=["read"]
panel = lab.group_panel(slider.picture.world, "orders", "billing")
panel.jump("kill A")
panel

# %% [markdown]
# ## Two positions
#
# A consumer has a **position**, and its group has a **committed offset**. In the next run a
# consumer without auto-commit reads six records and commits offset 6. Then a commit of 2 reaches
# the coordinator, for example a late retry. The consumer polls again. Later it is closed, and
# another one starts.

# %% 10-2 tags=["stub", "predict"]
lab.predict("10-2")

# %% 10-2 tags=["solution", "predict"]
lab.predict("10-2", "6 2")

# %% backwards tags=["both"]
read, late = 6, 2  # also late = 9, or 0


def backwards(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    write(cluster, "orders", numbered(10))
    with Reader(cluster) as reader:
        reader.read(read)
        reader.commit(read)
        reader.commit(late)
        reader.read(1)
        next_one = reader.offsets[-1]
        committed = reader.committed()
    with Reader(cluster) as another:
        another.read(1)
        first = another.offsets[0]
    return {
        "next offset": next_one,
        "committed offset": committed,
        "first offset after a restart": first,
    }


outcome = lab.both(backwards)
display(outcome)
lab.verdict("10-2", outcome)

# %% [markdown]
# The position is where the next `poll` begins. A consumer reads the committed offset only once,
# when it gets a partition. And the coordinator compares nothing: a lower offset is as good as a
# higher one, and the last one to arrive counts. So Kafka's client does not retry an asynchronous
# commit, and you should not retry one blindly either (exercise 10-12).
#
# The number means *the next offset to read*. All records before it count as done. There is no way
# to say "9 is done, 3 is not": a group cannot acknowledge individual records (share groups,
# KIP-932, can).
#
# ### Where it is kept
#
# A commit is a record in the topic `__consumer_offsets`, written by the group's coordinator.
# Kafka's own tools show it. The partition is Java's `hashCode` of the group's name, modulo the
# number of partitions (50 by default, 5 here).

# %% at-work tags=["live"]
cluster = lab.real() or lab.engine(settings=lab.BRISK)
backwards(cluster)
group, partition = "billing", 4
display(lab.tool(cluster, "kafka-consumer-groups", "--describe", "--group", group))
offsets = clients.admin(cluster).list_topics("__consumer_offsets").topics["__consumer_offsets"]
leader = offsets.partitions[partition].leader
dumped = lab.tool(
    cluster, "kafka-dump-log", "--offsets-decoder",
    broker=leader, topic="__consumer_offsets", partition=partition,
)  # fmt: skip
commits = [line for line in dumped.text.splitlines() if f'"group":"{group}","topic"' in line]
print(dumped.command, *commits[-2:], sep="\n")
lab.broker_log(cluster, leader, "billing-app", last=2)

# %% [markdown]
# The key is the group, topic and partition; the value is the offset, with a leader epoch (-1: the
# client sent none), a text of your own (`metadata`), and the time. Compaction later removes all but
# the last value of each key. Other records describe the group itself: its generation and members. A
# coordinator that dies loses nothing: its successor reads the partition from the start. The
# broker's log names a reader by its `client.id`, here `billing-app`.
#
# `LAG` is the end of the log minus the committed offset. It says nothing about records that were
# skipped: a loop that loses records can have a lag of 0.
#
# ## A rebalance, and no crash
#
# A has processed all twelve records of two partitions, but has committed nothing;
# `auto.offset.reset` is `earliest`. Now B joins the group. No process dies, and no request fails.

# %% 10-3 tags=["stub", "predict"]
lab.predict("10-3")

# %% 10-3 tags=["solution", "predict"]
lab.predict("10-3", 12)

# %% no-crash tags=["both"]
strategy = "range"  # also "cooperative-sticky"
commits_in_on_revoke = False


def no_crash(cluster):
    cluster.create_topic("orders", assignment={n: [101, 102, 103] for n in (0, 1)})
    for partition in (0, 1):
        write(cluster, "orders", numbered(6), partition)

    def on_revoke(consumer, partitions):
        done = a.behind(partitions)
        if commits_in_on_revoke and done:
            consumer.commit(offsets=done, asynchronous=False)

    own = {"partition.assignment.strategy": strategy}
    with Reader(cluster, own, on_revoke=on_revoke) as a, Reader(cluster, own, starts=False) as b:
        a.read(12)
        b.start()
        together([a, b], lambda: len(a.owned) == len(b.owned) == 1)
        together([a, b], lambda: a.at_end and b.at_end)
        again = reading.repeated(a, b)
        return {"processed twice": again, "by B": len(b.offsets), "by A again": len(a.offsets) - 12}


outcome = lab.both(no_crash)
display(outcome)
lab.verdict("10-3", outcome)

# %% [markdown]
# There is no committed offset, so B starts at 0 (`earliest`). With the eager strategy `range`, even
# A repeats its work: every member gives up all its partitions, and A gets one back as if it were
# new. Try `"cooperative-sticky"`: only the partition that moves is repeated.
#
# `on_revoke` is called before the partition moves, while a commit is still accepted: set
# `commits_in_on_revoke = True`. `on_assign` and `on_lost` come too late: another member may own the
# partition by then. A member that was removed while it was stalled gets `on_lost`, and its commits
# are refused.
#
# ## Remember what was done
#
# At least once means: sometimes twice. So the loop below keeps the ids of the orders that it has
# charged, and skips repeated ones. It commits synchronously after each record. It is killed after
# each line.

# %% 10-4 tags=["stub", "predict"]
lab.predict("10-4")

# %% 10-4 tags=["solution", "predict"]
lab.predict("10-4", "b")

# %% seen-ids tags=["both"]
commits_first = False  # also True


def charge_once(consumer, topic, process):
    seen = set()
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        if commits_first:
            consumer.commit(message, asynchronous=False)
        if message.value() not in seen:
            process(message)
            seen.add(message.value())
        if not commits_first:
            consumer.commit(message, asynchronous=False)


def seen_ids(cluster):
    test = tests[cluster.name] = lab.crash_test(charge_once, cluster, situations=())
    return {"what the loop does": test.verdict, "lost": test.lost, "repeated": test.repeated}


outcome = lab.both(seen_ids)
display(tests["engine"], outcome)
lab.verdict("10-4", outcome)

# %% [markdown]
# The set is in memory, and dies with the process. It helps against two copies in the log (a second
# `send()` by the producer's application), but not against a crash of the reader.
#
# To survive a crash, the id must be stored **with the effect, in one step**: in a row whose primary
# key is the order's id, with an `INSERT … ON CONFLICT DO NOTHING`, or by a payment service that
# accepts an idempotency key. Then the second attempt changes nothing, although records are still
# processed at least once. Use an id of the business. The producer's id and sequence number never
# reach a consumer, and `(topic, partition, offset)` recognizes a repeated read but not a second
# copy.
#
# ## Away for too long
#
# A group commits offset 20 and stops. Its topic has 100 records. Retention removes those before
# offset 50. The group comes back with the Java client's default, `auto.offset.reset=latest`, and
# reads to the end. Then order-100 is written.

# %% 10-5 tags=["stub", "predict"]
lab.predict("10-5")

# %% 10-5 tags=["solution", "predict"]
lab.predict("10-5", 100)

# %% too-late tags=["both"]
reset, removed_before = "latest", 50  # also "earliest"; 10


def too_late(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    write(cluster, "orders", numbered(100))
    with Reader(cluster) as reader:
        reader.read(20)
        reader.commit(20)
    reading.remove_before(cluster, "orders", removed_before)
    with Reader(cluster, {"auto.offset.reset": reset}) as reader:
        reader.rest()
        write(cluster, "orders", ["order-100"])
        reader.read(1)
        first = reader.offsets[0]
        return {
            "first offset processed": first,
            "removed, never processed": max(0, removed_before - 20),
            "still there, and skipped": max(0, first - max(removed_before, 20)),
            "errors that the application saw": len(reader.errors),
        }


outcome = lab.both(too_late)
display(outcome)
lab.verdict("10-5", outcome)

# %% [markdown]
# Offset 20 is no longer in the log, so the broker answers `OFFSET_OUT_OF_RANGE`, and the reset
# policy decides. `latest` skips everything, even records that could still be read. The application
# sees no error. `auto.offset.reset` applies only where there is no valid committed offset: set
# `removed_before = 10`, and the policy does nothing.
#
# The same happens when the *offsets* expire, `offsets.retention.minutes` (7 days) after the group
# becomes empty. A service that was off for longer starts as a new group (Deeper: Where a consumer
# starts). For a ledger, fail: `none` in Java, `error` in librdkafka.
#
# ## The topic is created again
#
# A test environment is cleaned up. The consumer has read ten records from `orders`, and keeps
# polling while the topic is deleted and created again under the same name. Then fifteen new records
# are written.

# %% 10-6 tags=["stub", "predict"]
lab.predict("10-6")

# %% 10-6 tags=["solution", "predict"]
lab.predict("10-6", 5)

# %% created-again tags=["both"]
old, new = 10, 15  # also new = 5
client = {"topic.metadata.refresh.interval.ms": 1_000, "auto.offset.reset": "earliest"}


def created_again(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    write(cluster, "orders", [f"old-{n}" for n in range(old)])
    with Reader(cluster, client) as reader:
        reader.read(old)
        reader.commit(old)
        cluster.delete_topic("orders")
        cluster.create_topic("orders", assignment=REPLICAS)
        write(cluster, "orders", [f"new-{n}" for n in range(new)])
        reader.run(until=lambda: f"new-{new - 1}" in reader.values, for_s=15)
        got = [value for value in reader.values if value.startswith("new")]
        return {
            "new records processed": len(got),
            "the first of them": got[0] if got else "none",
            "committed offset now": reader.committed(),
        }


outcome = lab.both(created_again)
display(outcome)
lab.verdict("10-6", outcome)

# %% [markdown]
# Fetch requests name the topic by its id, so no broker confuses the two topics. But the client
# refreshes its metadata, learns the new id, and keeps its position: 10. In the new topic that
# position is a valid offset. Nothing fails, but ten records are skipped. The position is out of
# range only if it is beyond the new end, as with `new = 5`. The committed offsets are gone with the
# old topic. So stop the consumers before deleting a topic.
#
# ## Back to a point in time
#
# To process events again, you need a starting point. `offsets_for_times` turns a timestamp into an
# offset. Five records have these timestamps, in minutes and in log order: 0, 9, 1, 6, 7. (The
# producers' clocks did not agree.) You ask for minute 5, seek to the offset that you get, and read
# to the end.

# %% 10-7 tags=["stub", "predict"]
lab.predict("10-7")

# %% 10-7 tags=["solution", "predict"]
lab.predict("10-7", "9 1 6 7")

# %% by-time tags=["both"]
minutes, start = (0, 9, 1, 6, 7), 5  # also start = 8, or 10


def by_time(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    write(cluster, "orders", map(str, minutes), minutes=minutes)
    wanted = [TopicPartition("orders", 0, reading.at(start))]
    with Reader(cluster, partitions=[0]) as reader:
        found = reader.consumer.offsets_for_times(wanted, 10)
    with Reader(cluster, partitions=found) as reader:
        reader.rest()
        return {"offset": found[0].offset, "minutes read": " ".join(reader.values) or "none"}


outcome = lab.both(by_time)
display(outcome)
lab.verdict("10-7", outcome)

# %% [markdown]
# The answer is the *first* offset whose timestamp is not earlier than yours. From there you read in
# log order, and the timestamps no longer matter. So a replay by time may read earlier records, but
# it misses no later ones. Filter by the event's own time, and make your effects safe to repeat. A
# timestamp later than all others has no offset, and what happens then depends on the client: this
# one goes to the end.
#
# ## Read the code that did it
#
# First comes the engine's version of Java's auto-commit: each poll commits *positions* before it
# fetches. Then see what the coordinator checks before it accepts a commit: the offset is not even
# among the arguments.

# %% code tags=["read"]
from engine.client.consumer.commits import Commits
from engine.coordinators.classic.offset_rules import check_commit

lab.show(Commits.auto, check_commit)

# %% [markdown]
# ## Break it
#
# Write the loop that your own service uses, or one of these, and crash it: commit before the work;
# commit every five records; work in a `ThreadPoolExecutor`; `try` and `except` around `process`
# with a commit after it; `seek` back to a record that failed. Besides crashing it, the test makes
# one record fail once, slows the work, adds a second application, and freezes the process. The
# picture shows the worst moment.


# %% break-it tags=["live"]
def mine(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        try:
            process(message)
        except Exception as failure:
            print("could not process", message.offset(), failure)
        consumer.commit(message, asynchronous=False)


lab.crash_test(mine, eng, promise="at least once")

# %% [markdown]
# An exception that is caught but not handled loses its record at the next commit.
#
# ## Your turn
#
# Write two loops; two smaller exercises are in *Deeper* (Where a consumer starts, Commits that
# overtake). Replace the stub with your answer, run it, then run the check, which takes a few
# seconds. `lab.hint("10-9")` gives three hints and then a solution.
#
# **10-9, at least once, and few commits.** Write a loop for `lab.crash_test`. It may commit at most
# once for every four records, except during rebalances. In all situations (a crash anywhere, a
# failure of `process`, slow work, a second member, a frozen process) no record may be lost, and a
# rebalance in which nothing failed must repeat nothing. An exception that leaves the loop is fine:
# the application is restarted.
#
# **10-10, exactly once.** `process(message, idempotency_key=...)` has its effect once for each key.
# The topic's records all differ, and each of them has to be processed. Choose a key, and the place
# for the commit.


# %% 10-9 tags=["stub"]
def careful(consumer, topic, process):
    """Reads until it is stopped; at least once; commits at most every four records."""


# %% 10-9 tags=["solution"]
def careful(consumer, topic, process):
    """Reads until it is stopped; at least once; commits at most every four records."""
    done = {}

    def on_revoke(consumer, partitions):
        leaving = [done.pop(each.partition) for each in partitions if each.partition in done]
        if leaving:
            consumer.commit(offsets=leaving, asynchronous=False)

    def on_lost(consumer, partitions):
        done.clear()

    consumer.subscribe([topic], on_revoke=on_revoke, on_lost=on_lost)
    count = 0
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        process(message)
        place = topic, message.partition(), message.offset() + 1
        done[message.partition()] = TopicPartition(*place)
        count += 1
        if count % 4 == 0:
            consumer.commit(offsets=list(done.values()), asynchronous=False)


# %% 10-9 tags=["check"]
lab.check("10-9", lab.crash_evidence(careful, eng))


# %% 10-10 tags=["stub"]
def once(consumer, topic, process):
    """Reads until it is stopped; every effect happens exactly once."""


# %% 10-10 tags=["solution"]
def once(consumer, topic, process):
    """Reads until it is stopped; every effect happens exactly once."""
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        process(message, idempotency_key=message.value().decode())
        consumer.commit(message, asynchronous=False)


# %% 10-10 tags=["check"]
lab.check("10-10", lab.crash_evidence(once, eng))

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. At most once, at least once, exactly once: what decides it in a consumer?</b></summary>
# The order of two steps, the effect and the commit. Commit first, and a crash between them loses
# the record. Effect first, and the crash repeats the record. Exactly once needs both in one step,
# or an effect that does nothing the second time. <i>Follow-up:</i> which of the three is the
# default? <b>Weak:</b> "Kafka guarantees at least once." <b>Good:</b> the order of the two steps.
# <b>Strong:</b> adds that auto-commit is at least once in the Java client with synchronous work,
# and loses the record in hand with librdkafka. Evidence: <a href="#A-loop-from-a-tutorial">A loop
# from a tutorial</a>.
# </details>
# <details><summary><b>2. How do you recreate a sequence of events?</b></summary>
# With a new group, so that the old one keeps its offsets: from the beginning, from an offset, or
# from a time. Order holds per partition. Effects must be safe to repeat, and the reads hit the
# disk. <i>Follow-up:</i> where does a replay by time start if clocks disagree? <b>Weak:</b>
# "auto.offset.reset=earliest." <b>Good:</b> says that this applies only to a group without a valid
# offset. <b>Strong:</b> names idempotent effects, retention, and the first offset that is not
# earlier. Evidence: <a href="#Back-to-a-point-in-time">Back to a point in time</a>.
# </details>
# <details><summary><b>3. commitAsync failed. Do you send it again?</b></summary>
# Only if no later commit has been sent: the coordinator takes the last to arrive, even with a lower
# offset. Usually the next commit covers it. The last commit before closing or in on_revoke should
# be synchronous. <i>Follow-up:</i> what does a lower committed offset change for a running
# consumer? <b>Weak:</b> "yes, always." <b>Good:</b> a number that counts commits. <b>Strong:</b>
# adds that reading continues unchanged, and only the next owner notices. Evidence:
# <a href="#Two-positions">Two positions</a>.
# </details>
# <details><summary><b>4. Records are processed twice, and no process has crashed. Why?</b></summary>
# A rebalance: the new owner starts at the committed offset. Commit in on_revoke, choose
# cooperative-sticky or the consumer protocol, and keep the work between two polls within
# max.poll.interval.ms. <i>Follow-up:</i> why did A repeat the partition that it kept? <b>Weak:</b>
# "the producer sent them twice." <b>Good:</b> on_revoke. <b>Strong:</b> eager versus cooperative,
# and that on_lost comes too late. Evidence: <a href="#A-rebalance,-and-no-crash">A rebalance, and
# no crash</a>.
# </details>
# <details><summary><b>5. Do you need enable.idempotence for an idempotent consumer?</b></summary>
# No. At the broker, it removes copies that the producer's client makes. The consumer's repeats come
# from its own offsets; it needs a business id, stored with the effect. <i>Follow-up:</i> why not
# the producer id and sequence number? <b>Weak:</b> "yes." <b>Good:</b> two kinds of repeats.
# <b>Strong:</b> a consumer cannot see these numbers, and they change with each producer instance.
# Evidence: <a href="#Remember-what-was-done">Remember what was done</a>.
# </details>
# <details><summary><b>6. What happened to this group?</b></summary>
# <pre>
# GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
# billing  orders  0          20              100             80   -            -     -
#
# Consumer group 'billing' has no active members.
# </pre>
# It has stopped. This output does not say whether the 80 records are still there: ask
# kafka-get-offsets for the earliest offset. If that is above 20, auto.offset.reset decides at the
# next start. Evidence: <a href="#Away-for-too-long">Away for too long</a>.
# </details>
# <details><summary><b>7. A record cannot be processed. What does your consumer do?</b></summary>
# It classifies the error. If the error may pass, the record goes to a retry topic, a few times. If
# not, it goes to a dead-letter topic with its origin; the offset is committed after that write.
# <i>Follow-up:</i> what happens to the order of a key? <b>Weak:</b> "it logs the error and moves
# on." <b>Good:</b> a cap on attempts, and a dead-letter topic. <b>Strong:</b> later records of the
# key wait behind it. Evidence: <a href="#Deeper:-A-record-that-cannot-be-processed">A record that
# cannot be processed</a>.
# </details>
#
# ## Quiz
#
# Several letters may be right.

# %% 10-13 tags=["stub", "predict", "quiz"]
lab.quiz("10-13")

# %% 10-13 tags=["solution", "predict", "quiz"]
lab.quiz("10-13", "b", "d")

# %% 10-14 tags=["stub", "predict", "quiz"]
lab.quiz("10-14")

# %% 10-14 tags=["solution", "predict", "quiz"]
lab.quiz("10-14", "a", "c")

# %% [markdown]
# ## Deeper: The closest replica
#
# A consumer can read from the follower in its own rack (KIP-392): set `client.rack` on the
# consumer, and set `broker.rack` and `replica.selector.class` on the brokers. Here broker 103 is in
# rack c, and 101 leads. A consumer in rack c has read A and B from 103. Then the link between 101
# and 103 is cut. C is written, and 101 acknowledges it when 103 has left the in-sync replicas.

# %% 10-8 tags=["stub", "predict"]
lab.predict("10-8")

# %% 10-8 tags=["solution", "predict"]
lab.predict("10-8", "d")

# %% closest tags=["both"]
rack, cut = "c", 103  # also rack "a", where the leader is; 102


def closest(cluster):
    cluster.create_topic("orders", assignment=REPLICAS)
    write(cluster, "orders", "AB")
    with Reader(cluster, {"client.rack": rack}, partitions=[0]) as reader:
        reader.read(2)
        reader.run(for_s=1)  # the leader names 103; the next fetch goes there
        cluster.cut(101, cut)
        write(cluster, "orders", "C")
        reader.run(until=lambda: "C" in reader.values, for_s=5)
        seen = {
            "in-sync replicas": clients.partition(cluster, "orders")["isr"],
            "a reader without a rack": clients.values(cluster, "orders"),
            "the reader in the rack": list(reader.values),
            "errors that it saw": len(reader.errors),
        }
        cluster.heal()
        reader.run(until=lambda: "C" in reader.values)
        return {**seen, "when the link is back": list(reader.values)}


outcome = lab.both(closest)
display(outcome)
lab.verdict("10-8", outcome)

# %% [markdown]
# A follower serves only what it knows to be committed, up to its own high watermark. A follower
# that hears nothing does not move, and neither does its reader. The reader sees no error, and its
# lag against the follower's high watermark is 0. The client asks the leader again when the follower
# answers with an error, or after a few minutes (in the Java client, the five minutes of
# `metadata.max.age.ms`; no run here waits that long). What you gain is that reads stay within the
# zone. Measure lag from the committed offset and the leader's end.
#
# Here is the same thing, one Fetch request at a time: which broker returns records, and which
# returns only a name? In the last row, a consumer in rack c reads 200 records of 1 kB, without and
# with `client.rack`: what does it receive from the other racks, rounded to 100 kB?

# %% bytes-by-rack tags=["both"]
from lessons.nb10_offsets import scenes

lab.both(scenes.reads_by_rack)

# %% [markdown]
# The leader's answer to a consumer in rack c has no records, only a name: 103. All later fetches go
# there. A client without a rack, or in the leader's own rack, gets its records from the leader. So
# with `client.rack`, no record crosses zones a second time; each has already crossed once, through
# replication.

# %% [markdown]
# ## Deeper: Commits that overtake
#
# `commitAsync` returns at once, and the result goes to a callback. What happens if a callback
# resends a failed commit? In the next cell, the commit of offset 100 fails (its metadata text is
# longer than the coordinator allows, so that the failure comes when we want it), the commit of
# offset 200 succeeds, and then the callback may resend the commit of 100. One callback does so
# blindly, but the other uses a number that counts commits.

# %% overtaking tags=["both"]
from lessons.nb10_offsets import scenes

lab.both(scenes.overtaking)

# %% [markdown]
# The blind callback takes the group back to 100: a hundred records will be read again at the next
# start. With the number, nothing is resent, because commit 2 covers everything in commit 1.
#
# **10-12, which commit may be sent again?** `number` is the serial number of the failed commit,
# `newest` is that of the newest commit sent, and `error` is Kafka's name for the error. Five errors
# pass by themselves: `COORDINATOR_LOAD_IN_PROGRESS`, `COORDINATOR_NOT_AVAILABLE`,
# `NOT_COORDINATOR`, `REQUEST_TIMED_OUT`, `NETWORK_EXCEPTION`.


# %% 10-12 tags=["stub"]
def send_again(number, newest, error):
    """Whether a failed asynchronous commit may be sent again."""


# %% 10-12 tags=["solution"]
def send_again(number, newest, error):
    """Whether a failed asynchronous commit may be sent again."""
    passing = {"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}
    return number == newest and error in passing | {"REQUEST_TIMED_OUT", "NETWORK_EXCEPTION"}


# %% 10-12 tags=["check"]
lab.check("10-12", send_again)

# %% [markdown]
# ## Deeper: Where a consumer starts
#
# A group starts without an offset, with one, and with one that is no longer in the log, each time
# under three reset policies. (librdkafka writes `error` where Java writes `none`.) In the last row,
# a group has read to the end without a commit, and seven records are written while it is away.

# %% starts tags=["both"]
from lessons.nb10_offsets import scenes

lab.both(scenes.starts)

# %% [markdown]
# The policy matters only for the group without an offset and for the one whose offset is no longer
# in the log. The fetch of offset 20 shows what a client gets when its offset has left the log. So
# "set earliest to read everything again" does nothing for a group that has an offset: use a new
# group, or reset the offsets. With `latest` and no commit, a group misses what is written while it
# is away.
#
# **10-11, where does it start?** `committed` is the group's offset or `None`; the log holds the
# offsets from `start` to `end - 1`; `reset` is `"earliest"`, `"latest"` or `"none"`. Return the
# first offset that a consumer asks for, or `"error"`.


# %% 10-11 tags=["stub"]
def first_offset(committed, start, end, reset):
    """The offset that a consumer starts from, or "error"."""


# %% 10-11 tags=["solution"]
def first_offset(committed, start, end, reset):
    """The offset that a consumer starts from, or "error"."""
    if committed is not None and start <= committed <= end:
        return committed
    return {"earliest": start, "latest": end}.get(reset, "error")


# %% 10-11 tags=["check"]
lab.check("10-11", first_offset)

# %% [markdown]
# Committed offsets do not stay forever either. In virtual time, with `offsets.retention.minutes=1`,
# there are three groups: one whose member is alive but idle, one that has become empty, and one
# whose members now read another topic.

# %% expiry tags=["sim"]
from lessons.nb10_offsets import virtual_runs

virtual_runs.expiry(minutes=1)

# %% [markdown]
# A group's clock starts when its last member leaves (KIP-211, since 2.1), not at its last commit.
# The default has been 7 days since 2.0; before that, it was 1 day. Even in a live group, offsets
# expire for any topic that the group no longer reads. When the offsets are gone, the group starts
# as a new one: `auto.offset.reset` decides whether it reads all the existing records or none of
# them.

# %% [markdown]
# ## Deeper: Replay
#
# A consumer reads again from the beginning, from an offset, from a time, or as another group. See
# what each of these does to the original group. (The ledger is a topic of 20 records, followed by
# three of an open transaction.) Then an administrator tries to move the group's offset, with the
# admin client and with Kafka's own tool: while the group has a member, and when it has none.

# %% replays tags=["both"]
from kit.drawings.chart import Chart
from lessons.nb10_offsets import scenes

curves = {}


def replays(cluster):
    return scenes.replays(cluster, curves)


display(lab.both(replays))
display(Chart("The lag of the replay", curves, "seconds", "records"))
lab.both(scenes.effects)

# %% [markdown]
# `seek` moves one consumer's position and nothing else. The end is the high watermark, or the last
# stable offset with `read_committed` (notebook 11). An administrator can move the group's offsets,
# but only while the group has no member: otherwise the coordinator accepts commits from its members
# alone, and the member here continues undisturbed. Without `--execute`, the tool only shows what it
# would do. A new group leaves all other groups as they are.
#
# Watch a replay's lag: it has to fall, and how fast it falls tells you when the replay will end. If
# half of the lag is left after 10 minutes, expect about 10 more.
#
# In the second table, five payments and a copy of one, which the producer's application sent, are
# processed twice (the producer's `enable.idempotence` is off). One handler adds to a sum, one
# writes a row for each payment, and one stores the ids of finished payments and the balance in one
# transaction. The sum is wrong after the second pass, but the other two results do not change. An
# id in a transaction of its own is not enough: if the process dies between the id and the amount,
# the id hides a payment that was not made. A replay is only as safe as its effects.

# %% replay-choices [markdown]
# Three settings decide what a service can read again after a stop. Choose them together, and on
# purpose:
#
# | service | retention of the data | retention of its offsets | without a valid offset |
# |---|---|---|---|
# | a ledger | longer than any stop | longer than any stop | `none`: it fails, and a person decides |
# | e-mails to customers | as long as an e-mail is useful | at least as long | `latest`: an old e-mail does harm |
# | a search index | everything it is built from | it does not matter | `earliest`: it is built again, with upserts |

# %% [markdown]
# ## Deeper: Who knows what
#
# The first table shows what the broker keeps for a reader, and what the reader keeps for itself.
# For its last two rows, another group has committed six times, and `__consumer_offsets` has
# settings that bring the log cleaner within a second.

# %% who-knows tags=["both"]
from lessons.nb10_offsets import scenes

display(lab.both(scenes.who_knows))
lab.both(scenes.maintenance)

# %% [markdown]
# Subscribing writes no offset, and reading changes nothing in the topic: the position moves with
# each poll, and with auto-commit off, the lag stays the same. Three names are easily mixed up: the
# `group.id` says whose offsets these are, and you choose it; the `client.id` names a process in the
# broker's log and in quotas; the member id is new at each join, and the coordinator makes it.
# `close` leaves the group at once, and commits only with auto-commit on. A member that dies is
# removed only after its session timeout. A commit writes one record to `__consumer_offsets`; the
# row shows it decoded. The topic is compacted and has 50 partitions by default (five here): of a
# key's commits, only the last one stays. The record survives the consumer and the coordinator: even
# after a broker is killed, the group continues from that offset.
#
# The second table shows that readers may be stopped for maintenance. The producer does not notice,
# the records wait in the log, and the group continues where it stopped, unless retention has
# removed those records.

# %% [markdown]
# ## Deeper: A record that cannot be processed
#
# Ten records share a key, and the handler fails on the fourth. Try six ways to continue. Then see
# what can go wrong along the way: a partition waits, a dead letter is refused, or a dead letter is
# copied back.

# %% poison tags=["both"]
from lessons.nb10_offsets import failures, sick_service

display(lab.both(failures.six_ways), lab.both(failures.pitfalls))
print(sick_service.sorted_failures(), sick_service.pauses(), sep="\n\n")

# %% [markdown]
# * *stop*: nothing is lost, but the partition does not move. This is right where order is
#   everything.
# * *skip*: the lag is 0, but one record is missing, and no restart brings it back.
# * *retry in place*: the partition waits. Cap the attempts, and keep the whole pause below
#   `max.poll.interval.ms`, or poll with the partition paused.
# * *another handler*: a second function repairs the record, if you know what is wrong with it.
# * *retry topic*: the partition moves on, but the key loses its order. A second reader, with a
#   group of its own, handles record 3 after record 9, when the failure has passed. The broker
#   redelivers nothing by itself.
# * *dead-letter topic*: the record goes there after the last attempt, with its origin, error and
#   attempts in headers. Wait for that write before you commit the source's offset: if the write
#   were refused, the record would be in no topic.
#
# *What goes wrong*: while one partition retries in place, its lag stays the same, but the other
# partition moves on. The loop pauses the partition that retries; a loop that sleeps instead holds
# up both. A loop that does not check the result of the dead-letter write keeps committing, and the
# record is in no topic. A loop that dies between that write and the commit writes the dead letter
# twice, but loses nothing. In the last case, *paid* failed, but *sent* went through. When the dead
# letter is copied back, *paid* comes last, and a table of states is wrong. Copy back only what does
# not depend on order, or compare versions in the handler.
#
# *When to retry*: the exceptions are real, from a failing HTTP service and a database on this
# machine. Retry what may pass (a timeout, 503, a lost connection, a conflict of versions). Do not
# retry what will fail again: a malformed request, bytes that do not decode, a record that breaks a
# rule. Stop if the failure affects every record, as a wrong password does: each record would become
# a dead letter.
#
# *How long to wait*: growing pauses spare a service that is down, and jitter keeps its clients from
# calling at the same time. Sample code that sleeps in its handler stops polling, and code that
# retries every exception wastes its pauses on records that will never pass. Bytes that the Java
# client's deserializer refuses never reach the handler (*Deeper: Kafka's Java consumer*).

# %% [markdown]
# A retry topic can also keep a key's order: while one of the key's records waits there, the later
# ones follow it instead of being handled.
#
# **10-15, retries and dead letters.** One loop reads `orders`, and another reads `orders-retry`.
# Both ask `route` before the handler is called (`error` is None), and again after the handler has
# failed. `attempts` is how many times the handler has tried this record; after three attempts, the
# record gets no further one. `waiting` holds the keys of the records in the retry topic. `Timeout`,
# `ServiceUnavailable` and `VersionConflict` may pass, but `CannotDecode` and `BrokenRule` do not.
# Each key's order must hold. Return `"handle"`, `"orders-retry"` or `"orders-dlq"`.


# %% 10-15 tags=["stub"]
def route(topic, key, error, attempts, waiting):
    """To the handler, to the retry topic, or to the dead letters?"""


# %% 10-15 tags=["solution"]
def route(topic, key, error, attempts, waiting):
    """To the handler, to the retry topic, or to the dead letters?"""
    if error is None:
        overtakes = topic == "orders" and key is not None and key in waiting
        return "orders-retry" if overtakes else "handle"
    may_pass = error in ("Timeout", "ServiceUnavailable", "VersionConflict")
    return "orders-retry" if may_pass and attempts < 3 else "orders-dlq"


# %% 10-15 tags=["check"]
lab.check("10-15", route)

# %% [markdown]
# ## Deeper: Kafka's Java consumer
#
# The first table shows what a `poll` waits for and what it returns (1,200 records wait in one
# topic, three records of 200 kB in another), and what threads may share. The second shows what the
# client refuses: before a request, out of `poll`, and without a broker.

# %% java-calls tags=["both"]
from lessons.nb10_offsets import java_runs

display(lab.both(java_runs.calls))
lab.both(java_runs.refusals)

# %% [markdown]
# `poll` takes a `Duration`, and waits that long only if there is nothing to read.
# `max.poll.records`, 500 by default, limits what `poll` returns. The setting does not change a
# fetch request (`records-per-request-avg`): what was fetched beyond that limit waits in the
# client's memory. confluent-kafka accepts this setting only for share consumers; otherwise, choose
# the number with `consume(num_messages=...)`.
#
# `subscribe` only notes the topics: the first `poll` joins the group. With auto-commit, which is on
# by default, `poll` also commits every five seconds, and `close` commits once more.
#
# A consumer belongs to one thread; a second thread gets a ConcurrentModificationException. Only
# `wakeup` may come from another thread; it ends the poll in progress, or the next one if none is
# running. So here each of three threads has a consumer of its own, and the consumers share six
# partitions. SIGTERM ends their program: a shutdown hook calls `wakeup` and waits for the threads,
# and each loop's `finally` closes its consumer. The consumer then leaves the group, and others take
# over at once. (A producer may be shared.)
#
# Most errors come out of `poll`. The reset policy `none` fails if there is no valid offset, and
# `by_duration` (KIP-1106, since 4.0) starts that far back in time. The constructor of
# confluent-kafka refuses both policies, and it also refuses a consumer without a `group.id`. A
# value that cannot be decoded stops `poll` at its offset each time, until you seek past it. No
# accessor of a record returns the producer's id or sequence number.
#
# Without a broker `poll` returns nothing, and `seekToBeginning` only notes what the next `poll` or
# `position` has to look up. `position` and `committed` wait as long as `default.api.timeout.ms`
# allows (one minute by default).

# %% size-limits [markdown]
# The byte limits are soft. The first batch is returned even if it is larger than the limit (KIP-74,
# since 0.10.1), so a consumer with a small limit continues, one batch at a time. A large record
# meets these limits on its way:
#
# | where | setting | default | who complains |
# |---|---|---|---|
# | producer | `max.request.size` | 1 MiB | the producer: RecordTooLargeException |
# | topic, broker | `max.message.bytes`, `message.max.bytes` | 1 MiB and 12 bytes | the broker: MESSAGE_TOO_LARGE |
# | follower | `replica.fetch.max.bytes` | 1 MiB | no error: soft |
# | consumer, per partition | `max.partition.fetch.bytes` | 1 MiB | no error: soft |
# | consumer, per answer | `fetch.max.bytes` | 50 MiB | no error: soft; a broker's own limit is 55 MiB |
#
# `fetch.message.max.bytes` belonged to the Scala consumer, which is gone since 2.0. With 100
# partitions a consumer may hold 100 times `max.partition.fetch.bytes` in memory. Change these
# settings only after you know that fetching is what limits you: most slow consumers wait for their
# own handler.

# %% [markdown]
# ## Deeper: Five ways to commit
#
# Each way gets one crash test. The first three loops take up to four records from one `consume`.
# The second table has the worst crash of the fifth way. For the third, a reader ends after six of
# ten records, with offset 4 committed; two settings of its restart differ. Then three handlers
# write the same rows into a database: one is called for each row, one is called with the list and
# loops over it, and one is called with the list and writes it in one transaction.

# %% grid tags=["both"]
from lessons.nb10_offsets import batches, loops

worst = {}  # the worst crash of the fifth way, by cluster


def grid(cluster):
    return loops.grid(cluster, worst)


display(lab.both(grid), loops.skipped(worst))
display(lab.both(loops.restarts))
batches.inserts(rows=300)

# %% [markdown]
# Only three things decide the outcome: the order of work and commit, what the client notes as done,
# and what a second effect does. A commit for each record costs a round trip per record, but repeats
# one record at most. A commit for the batch repeats up to the whole batch, whether the handler gets
# a list or one record at a time. Work in another thread turns *at least once* into a loss, because
# polling continues without waiting for that work: the committed offset is ahead of the finished
# work, and the restart skips the records between. A new `group.id` has no committed offset:
# `earliest` repeats everything, and `latest` loses what was not read yet.
#
# A batch pays off where the work itself is done as a batch. A listener that gets a list and loops
# over it gains nothing. Write the batch in one transaction, with the orders' ids as the key, and
# commit the offset after it: a crash between the two repeats the batch, but the table does not
# change.

# %% [markdown]
# ## Deeper: Keep polling
#
# `max.poll.interval.ms` (five minutes by default) is how long a member may go without a poll before
# it leaves by itself. Here the interval is 4 s, and the work on one batch takes 6 s. The work is
# done twice: in one piece, and with the partition paused and polls in between.

# %% keep-polling tags=["both"]
from lessons.nb10_offsets import membership

lab.both(membership.long_work)

# %% [markdown]
# Without polls, the member is out of the group when it wants to commit. Its partition is taken
# away, and after rejoining it processes the first record once more. With `pause` and `poll`, the
# member stays in the group: a poll of a paused partition returns nothing and keeps the membership.
# Ten records at 2 s each exceed a limit of 15 s as well: reduce the number of records that one poll
# returns before you raise the limit.

# %% [markdown]
# ## Deeper: What slows a consumer
#
# First find out what limits you; then change one setting. The first table has 300 records in
# batches of ten, with a handler that takes 3 ms and with one that does no work. One setting limits
# each fetch to one batch. The second table shows individual answers: each partition has one batch
# of 40 kB, or three, and the limits are `max.partition.fetch.bytes` and `fetch.max.bytes`. The
# third table is arithmetic with their defaults: give `allowed` your own numbers of partitions.
#
# A consumer fetches from several brokers at the same time. In the fourth table, three brokers lead
# a partition each. First the consumer waits at the end of all three; then 101 is stalled. Finally,
# the Java client waits for a broker that does not answer.
#
# A replay reads a lot, and others use the same brokers. The last table shows a live reader's delay:
# alone, beside a reader that goes through 5 MB again and again, and beside such a reader with a
# quota. The table also shows how long one such replay takes, with and without a quota.

# %% load tags=["both"]
from lessons.nb10_offsets import load

display(lab.both(load.bottleneck), lab.both(load.answers), load.allowed(10, 100))
display(lab.both(load.stalled))
lab.both(load.live_reader)

# %% [markdown]
# The slow handler hides the fetches: larger fetches change little. Without work, they do matter. So
# measure how long one record takes in your own code before you touch `fetch.max.bytes`.
#
# An answer keeps to its limits in whole batches, but it carries one batch even if none fits. A
# hundred full partitions of one broker need two answers or more.
#
# One request is under way to each broker. While 101 is stalled, reading from the other two
# partitions continues. After `request.timeout.ms` (30 s by default) without an answer, the Java
# client closes the connection and reconnects. In librdkafka the setting is called
# `socket.timeout.ms`, and its default is 60 s.
#
# Without a quota, a replay takes all it can get. Here the old records are in the page cache, and
# the live reader shows no slowdown. In production, old records often come from disk, and the live
# readers need the disk as well. A `consumer_byte_rate` quota on the replay's `client.id` holds the
# replay back.

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | auto-commit is at least once with synchronous work | in the Java client; librdkafka notes a record when `poll` returns it | [A loop from a tutorial](#A-loop-from-a-tutorial) |
# | the offset is given on subscribing, raised on acknowledgment and kept in ZooKeeper | subscribing writes nothing; since 0.9, commits have been records in `__consumer_offsets` | [Who knows what](#Deeper:-Who-knows-what) |
# | the committed offset is the last one processed | it is the next one to read | [Two positions](#Two-positions) |
# | the broker redelivers unacknowledged records | the next reader fetches them again; individual acknowledgments exist in share groups (KIP-932) | [Two positions](#Two-positions) |
# | exactly once needs Kafka Streams | a transactional producer with the offsets in its transaction has done it too since 0.11; for another system, use an effect with a key | [Remember what was done](#Remember-what-was-done), notebook 11 |
# | idempotent consumers need `enable.idempotence=true` | the two are independent | [Interview corner](#Interview-corner) |
# | a consumer removes duplicates by producer id and sequence number | it cannot see them | [Kafka's Java consumer](#Deeper:-Kafka's-Java-consumer) |
# | `offset.retention.minutes`, one day, from the last read | `offsets.retention.minutes`, 7 days since 2.0, from the moment when the group becomes empty (KIP-211) | [Where a consumer starts](#Deeper:-Where-a-consumer-starts) |
# | `auto.offset.reset=earliest` replays | only without a valid offset | [Where a consumer starts](#Deeper:-Where-a-consumer-starts) |
# | `max.poll.records` limits a fetch | it limits what `poll` returns | [Kafka's Java consumer](#Deeper:-Kafka's-Java-consumer) |
# | `fetch.max.bytes` is a maximum; a large record stops a consumer | soft since 0.10.1: the first batch is always returned | [Kafka's Java consumer](#Deeper:-Kafka's-Java-consumer) |
# | `offsetsForTimes` finds the record of that time | the first offset whose timestamp is not earlier | [Back to a point in time](#Back-to-a-point-in-time) |
# | `poll(long)`, `close(Duration)` | `poll(Duration)` (KIP-266); `close(CloseOptions)` since 4.1 | |
# | a pause of 1000 × attempt ms is exponential backoff | linear: 1, 2, 3 s; exponential is 1, 2, 4 s, with jitter | [A record that cannot be processed](#Deeper:-A-record-that-cannot-be-processed) |
# | Spring's AckMode decides what the broker redelivers | it decides which position is committed | [Two positions](#Two-positions) |
# | reading from the closest replica shows the same data | only up to that replica's high watermark, which may be stalled | [The closest replica](#Deeper:-The-closest-replica) |
#
# **What real Kafka does beyond this.** Offsets inside a transaction, and `read_committed`: notebook
# 11. Share groups, which acknowledge individual records: notebook 01. Heartbeats have had a thread
# of their own since 0.10.1 (KIP-62): notebook 09.
