# %% [markdown]
# # 09 · Consumer groups
#
# A shop's orders are in a topic, and a group of workers reads them for billing. Each partition has
# one reader. Workers join, restart, slow down and die, and each time the group decides again who
# reads what. This notebook watches those decisions and measures what they cost.
#
# **What you will be able to do**
#
# * say who works out an assignment, and predict it for the assignors that you meet at work
# * explain what stops during an eager, a cooperative or a consumer-protocol rebalance, and how long
# * tell a dead worker from a slow one by the clock that noticed it
# * recognize a rebalance storm, and end it
#
# **Time:** {minutes}. You need partitions and offsets (notebook 03). Python alone is enough; with
# real Kafka, many runs happen on both sides.
#
# Six terms come up in every run:
#
# * a worker's **loop** calls `poll`, handles the records that it returns, and calls `poll` again
# * the **coordinator** of the group is one of the brokers
# * a **rebalance** deals out the partitions again
# * an **assignor** is the rule for dealing them out
# * the **generation** numbers these decisions; the consumer protocol calls it the **epoch**
# * the **committed offset** of a partition says where the group's next reader of that partition
#   begins (notebook 10)
#
# ## Three workers start
#
# A, B and C subscribe to `orders`, with the group id `billing`. The first run is in virtual time,
# with the engine's own consumer, which does what the Java client does. The diagram shows their
# conversation with the coordinator. `MEMBER_ID_REQUIRED` is not an error: it gives a new member the
# id to join with.

# %% doorway tags=["setup"]
import time
from contextlib import closing

from kit import lab
from kit.drawings.chart import Chart
from kit.drawings.watched import Watched
from kit.group_panel import members
from kit.group_panel.writing import Writing
from lessons.nb09_groups import virtual_group as groups
from lessons.nb09_groups.by_hand import ByHand
from lessons.nb09_groups.conversation import Conversation
from lessons.nb09_groups.drawn import Stops, total
from lessons.nb09_groups.workers import Team, at_once

# %% 09-1 tags=["stub", "predict"]
lab.predict("09-1")

# %% 09-1 tags=["solution", "predict"]
lab.predict("09-1", "b")

# %% first-join tags=["sim"]
protocol = "range"  # also "cooperative-sticky" and "consumer"
names = "ABC"

world = lab.world(seed=9)
world.create_topic("orders", partitions=6)
world.load("orders", period_us=50_000)
talk = Conversation(world, "billing")
for name in names:
    members.join(world, name, "orders", "billing", protocol)
talk.run(for_s=8)

display(talk)
seen = {
    "the assignment was worked out by": " ".join(sorted({*talk.assigned_by})),
    "members in the longest list": max(talk.member_lists.values(), default=0),
    "members": len(names),
}
lab.verdict("09-1", seen)

# %% [markdown]
# The first member to join becomes the group's leader. The coordinator's answer to the leader lists
# all the members, but the answers to the others do not. The leader runs the assignor and sends the
# result in SyncGroup, the request with which every member asks for its part. The coordinator hands
# each member its own part and never looks inside. The wait before the answers to JoinGroup is
# `group.initial.rebalance.delay.ms`: 3 s, and 3 s more if members arrive meanwhile, so that a new
# group can assemble. That is the *classic* protocol. Set `protocol = "consumer"`, and there is no
# JoinGroup: the coordinator works out the assignment, and every member gets its part in the answers
# to its heartbeats, one every 5 s. So the first member gets everything and gives part of it back
# with its next heartbeat. Each join begins a new epoch of the group, with a new target: who is to
# read what. A member moves to the new epoch once it has given back what the target takes away; it
# may still be waiting for partitions of others. So the three may show different epochs for a while.
# This is KIP-848, ready for production since Kafka 4.0, but clients still use the classic protocol
# unless `group.protocol=consumer` is set.
#
# Here is the world of your last run as a panel. Click it, then use Home, the arrow keys and End.

# %% watch tags=["read"]
panel = lab.group_panel(world, "orders", "billing")
panel.jump("A joins")
panel

# %% [markdown]
# ## Two topics
#
# Two workers subscribe to `orders` and `payments`, which have three partitions each. They use
# `range`, the default assignor of Kafka's clients. A second group does the same with `roundrobin`.
# In runs on the engine and real Kafka, the workers are confluent-kafka consumers; in virtual time
# they are the engine's own.

# %% 09-2 tags=["stub", "predict"]
lab.predict("09-2")

# %% 09-2 tags=["solution", "predict"]
lab.predict("09-2", "4 2")

# %% two-topics tags=["both"]
assignors, count = ("range", "roundrobin"), 2  # also 3, 4 and 7 workers
topics, per_topic = ("orders", "payments"), 3


def two_topics(cluster):
    for topic in topics:
        cluster.create_topic(topic, partitions=per_topic)

    def shared(assignor):
        with Team(cluster, topics, f"two-topics-{assignor}", assignor) as team:
            for number in range(count):
                team.add("ABCDEFG"[number])
            team.covered(2 * per_topic)
            for topic in topics:
                team.write(topic, 10 * per_topic, per_topic)
            team.wait(lambda team: team.reads_all, 30, "a record of every partition")
            return {
                "partitions of each worker": team.shares,
                "A reads": team.reads["A"],
                "B reads": team.reads["B"],
            }

    return at_once(assignors, shared)


outcome = lab.both(two_topics)
display(outcome)
lab.verdict("09-2", outcome)

# %% [markdown]
# Range deals out each topic's partitions separately, and in every topic the remainder goes to the
# first members. So one worker reads the same partition of both topics, as a join by key requires.
# `roundrobin` deals out all the partitions together, one by one.
#
# Set `count = 7`. A partition has at most one reader in the group, so a worker may have no
# partition: it stays as a standby. With range and three partitions per topic, even the fourth
# worker is idle.
#
# ## A worker leaves
#
# Three workers share nine partitions under `roundrobin`. A leaves, so its partitions need new
# readers. B and C stay. A worker often keeps something for each of its partitions: a cache, a
# window, an open file.

# %% 09-3 tags=["stub", "predict"]
lab.predict("09-3")

# %% 09-3 tags=["solution", "predict"]
lab.predict("09-3", 4)

# %% one-leaves tags=["sim"]
assignors = ("roundrobin", "range", "sticky", "cooperative-sticky")
partitions, leaves = 9, "A"  # also "B" and "C"


def one_leaves(assignor):
    world = lab.world(seed=9)
    world.create_topic("orders", partitions=partitions)
    for name in "ABC":
        members.join(world, name, "orders", "billing", assignor)
    world.run(for_s=8)
    before, since_us = groups.owned(world, "billing"), world.now_us
    members.act(world, "remove", leaves)
    world.run(for_s=5)
    given_back = groups.given_back(world, "billing", since_us)
    return groups.Moves(before, groups.owned(world, "billing"), given_back)


moves = {assignor: one_leaves(assignor) for assignor in assignors}
first = moves["roundrobin"]
display(first, groups.compared(moves))
seen = {"needless moves": len(first.needless), "needed moves": len(first.needed)}
lab.verdict("09-3", seen)

# %% [markdown]
# Round robin starts again at the first partition and ignores who had what. Range shifts its blocks.
# `sticky` makes the shares equal while moving as few partitions as it can. Each needless move costs
# you a cache.
#
# With the first three, B and C give back all their partitions, even those that return to them:
# `sticky` avoids moves, not the stop. `cooperative-sticky` ends with the same readers as `sticky`,
# but B and C give nothing back. The next run shows what that is worth.
#
# ## A worker joins while another is busy
#
# Three workers share seven partitions. One of them spends six seconds on one record, perhaps
# waiting for a slow service. Meanwhile D joins. Three such groups run at once: with `range`, which
# is *eager* (all members give back everything before they join), with `cooperative-sticky` (members
# keep what they read and give back only what moves), and with the consumer protocol. For each
# partition we note how long no worker owns it. The seconds in the table are a sum: two partitions
# that stop for five seconds each make ten.

# %% 09-4 tags=["stub", "predict"]
lab.predict("09-4")

# %% 09-4 tags=["solution", "predict"]
lab.predict("09-4", "c")

# %% pause tags=["both"]
busy_s, count = 6.0, 7  # also 0 s; 6 partitions
protocols = ("range", "cooperative-sticky", "consumer")
drawn = Stops(count)


def one_is_busy(cluster):
    def joins(protocol):
        topic = f"orders-{protocol}"
        cluster.create_topic(topic, partitions=count)
        with (closing(Writing(cluster.bootstrap, topic, count, 5 * count)),
              Team(cluster, (topic,), topic, protocol) as team):  # fmt: skip
            for name in "ABC":
                team.add(name)
            team.read_by_all(count)
            before = team.generation
            team.workers[team.least].stall(busy_s)  # from its next record on
            since = team.now_us
            team.add("D"), team.read_by_all(count)
            took, gap = team.generation - before, team.longest_gap(since)
            stops = drawn.note(cluster.name, protocol, since, team.pauses(since), took, gap)
            return {"partitions that stopped": len({index for index, _, _ in stops}),
                    "seconds without a reader": lab.measured(total(stops), "s")}  # fmt: skip

    return at_once(protocols, joins)


outcome = lab.both(one_is_busy)
display(outcome, drawn)
lab.verdict("09-4", outcome)

# %% [markdown]
# **Eager**: every worker gives back everything, then waits in JoinGroup for the last worker. The
# busy worker joins only when its loop calls `poll` again. So all seven partitions stop for several
# seconds, though only one has to move.
#
# **Cooperative**: the partitions that stay keep their owners. The one that moves does so in three
# steps:
#
# 1. A first rebalance works out which partition must move, but gives it to no worker yet: its owner
#    reads it until it learns the result. Then the owner gives it back.
# 2. A second rebalance assigns the partition. Every member must join, and the busy one joins only
#    at its next `poll`.
# 3. Until then, for several seconds, that partition has no owner.
#
# This client can join the first rebalance from a background thread. The Java client joins only in
# `poll`, so its first rebalance waits, too.
#
# **Consumer protocol**: there is no moment at which all members must meet. The owner gives the
# partition up in one heartbeat, and D gets it with its own next one, at most three seconds later
# here. The others are not involved. With `count = 6` the busy worker may be the one that has to
# give a partition back; then the order of the last two protocols can change.
#
# ## A worker restarts, at a bad moment
#
# A worker with a `group.instance.id` is a *static member*. When it stops, the coordinator keeps its
# place and its partitions until `session.timeout.ms` has passed, and a replacement under the same
# name gets both without a rebalance (*Deeper: A worker restarts*).
#
# A cooperative group rebalances twice: first a member gives partitions back, then another member
# gets them. The member that gave them back triggers the second rebalance. Here `worker`, a static
# member, gives back two of its four partitions for `new`, and dies before triggering the second
# rebalance. Its replacement starts at once. The cell sends every request by hand, as cooperative
# clients would.

# %% 09-14 tags=["stub", "predict"]
lab.predict("09-14")

# %% 09-14 tags=["solution", "predict"]
lab.predict("09-14", "d")

# %% between-rounds tags=["both"]
keeps, gives_back, watched_s = [0, 1], [2, 3], 3.0
name = {"instance": "worker-1"}


def between_rounds(cluster):
    cluster.create_topic("orders", partitions=4)
    with ByHand(cluster, "two-rounds", **name) as worker, ByHand(cluster, "two-rounds") as new:
        worker.join()
        worker.sync({worker: keeps + gives_back})
        new.knock()
        cluster.wait_until(lambda _: worker.beat() != "NONE", 10)
        worker.join(), new.joined(), new.sync()
        worker.sync({worker: keeps, new: []})
        has = new.synced()  # and here the worker dies, before its second JoinGroup
        with ByHand(cluster, "two-rounds", **name) as replacement:
            replacement.join()
            got, until, beats = replacement.sync({}), time.monotonic() + watched_s, set()
            while time.monotonic() < until:
                beats |= {new.beat(), replacement.beat()}
                time.sleep(0.2)
            return {
                "the replacement gets": got,
                "partitions without a reader": 4 - len({*got.split(), *has.split()}),
                "all heartbeats say": sorted(beats),
            }


outcome = lab.both(between_rounds)
display(outcome)
lab.verdict("09-14", outcome)

# %% [markdown]
# Static membership kept its promise: the replacement got place and partitions without a rebalance.
# But the dead worker was about to ask for one, and no other process knew that. Every heartbeat is
# answered without an error, the group is stable, and two partitions have no reader until something
# else triggers a rebalance. Watch the lag of each partition, not only the state of the group.
#
# ## A slow loop
#
# Two clocks watch a worker. Its heartbeats come from a thread of their own; if they stop for
# `session.timeout.ms` (45 s by default, 6 s for these workers), the process is presumed dead.
# `max.poll.interval.ms` is the longest time allowed between two polls. Here B needs 150 ms for each
# record.

# %% 09-6 tags=["stub", "predict"]
lab.predict("09-6")

# %% 09-6 tags=["solution", "predict"]
lab.predict("09-6", "a")

# %% slow-loop tags=["sim"]
per_record_ms, max_poll_records = 150, 100  # also 15 ms; 20 records
max_poll_interval_ms = 10_000

world = lab.world(seed=9, checked=False)
world.create_topic("orders", partitions=2)
world.load("orders", period_us=2_000, count=800)
world.run(for_s=3)  # so there is a backlog
settings = {
    "max.poll.records": max_poll_records,
    "max.poll.interval.ms": max_poll_interval_ms,
}
members.join(world, "A", "orders", "billing", settings=settings, work_us=1_000)
members.join(world, "B", "orders", "billing", settings=settings, work_us=per_record_ms * 1_000)
world.run(for_s=40)

repeated = [each for each, times in groups.processed(world, "billing").items() if times > 1]
seen = {
    "seconds for a full batch": per_record_ms * max_poll_records / 1000,
    "times B left by itself": groups.told(world, "B", "left"),
    "sessions that ran out": groups.expired(world, "billing"),
    "records processed twice": len(repeated),
    "commits of B that failed": groups.told(world, "B", "commit failed"),
}
print(seen)
lab.verdict("09-6", seen)


# %% edge tags=["read"]
# Where is the edge between a loop that keeps up and one that does not?
def edge(per_record_ms=150, max_poll_records=100):
    world = lab.world(seed=9, checked=False)
    world.create_topic("orders", partitions=2)
    world.load("orders", period_us=2_000, count=800)
    world.run(for_s=3)
    settings = {"max.poll.records": max_poll_records, "max.poll.interval.ms": 10_000}
    for name, work_us in (("A", 1_000), ("B", per_record_ms * 1_000)):
        members.join(world, name, "orders", "billing", settings=settings, work_us=work_us)
    zombie = "B works, and is out"
    watched = Watched(world, {
        "B is in the group": lambda w: groups.is_member(w, "billing", "B"),
        "B works on records": lambda w: groups.works(w, "B"),
        zombie: lambda w: groups.works(w, "B") and not groups.is_member(w, "billing", "B"),
    })  # fmt: skip
    watched.run(for_s=40)
    full_s = per_record_ms * max_poll_records / 1000
    title = f"{full_s:g} s for a full batch, at most 10 s between two polls"
    return watched.spans(title, bad=[zombie])


lab.slider(edge, per_record_ms=(15, 50, 80, 100, 120, 150, 200), max_poll_records=(20, 50, 100))

# %% [markdown]
# One poll may return up to `max.poll.records` records, and 100 × 150 ms is more than the interval.
# (The defaults are 500 records and 5 minutes: with those, the edge is at 600 ms a record.) The
# heartbeat thread notices the delay and sends LeaveGroup, because the coordinator does not know how
# slow a loop is. A gets B's partition and begins at B's last commit. B does not know that yet and
# keeps working on records that A now has as well: it is a **zombie** until its next poll. Its
# commit fails (Java: `CommitFailedException`), so the client learns that it is out.
#
# ## A slow service
#
# Now all the workers are a little too slow, because a service behind them has become slow. An
# engineer sees that the lag stays and, after a minute, does what usually helps: adding two more
# workers.

# %% 09-7 tags=["stub", "predict"]
lab.predict("09-7")

# %% 09-7 tags=["solution", "predict"]
lab.predict("09-7", "b")

# %% storm tags=["sim"]
max_poll_records, per_record_ms = 100, 150  # also 20 records
first, more = "ABCD", "EF"

world = lab.world(seed=9, checked=False)
world.create_topic("orders", partitions=8)
world.load("orders", period_us=1_000, count=4_000)
world.run(for_s=6)
settings = {"max.poll.records": max_poll_records, "max.poll.interval.ms": 10_000}
progress = []
for names in (first, more):
    for name in names:
        members.join(world, name, "orders", "billing",
                     settings=settings, work_us=per_record_ms * 1_000)  # fmt: skip
    for _ in range(6):
        world.run(for_s=10)
        progress.append(groups.signs(world, "billing", "orders"))

series = {name: [(10.0 * (n + 1), each[name]) for n, each in enumerate(progress)]
          for name in ("processed", "committed", "lag")}  # fmt: skip
marks = {60.0: f"{' and '.join(more)} join"} if more else {}
display(Chart("Two minutes of work", series, x="seconds", y="records", kind="line", marks=marks))
for n, each in enumerate(progress[1::2]):
    print(f"{20 * (n + 1):3} s ", *(f"{name} {each[name]:5}" for name in each))
seen = progress[-1]
lab.verdict("09-7", seen)

# %% [markdown]
# Every worker is busy, but nothing is committed. A batch takes 15 s but the interval is 10 s, so
# each worker fails on its own: its client leaves in the middle of the batch, cannot commit it, and
# rejoins. Leaving causes one rebalance and joining another. The next owner begins at the same
# offsets. That is a **rebalance storm**, and you recognize it by three signs: the lag does not fall
# (while producers write, it grows), the workers are busy, and the generation grows. E and F do not
# help: they have the same batch size and the same interval. Set `first, more = "A", ""`: one worker
# alone fails the same way. Set `max_poll_records = 20`: a batch takes 3 s, and the workers make
# progress. First use smaller batches or a longer interval, then fix the slow service, and add
# workers last.
#
# This is what Kafka's tool shows during such a storm (from another run, with two partitions):
#
# ```
# Warning: Consumer group 'billing' is rebalancing.
#
# GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG    CONSUMER-ID  HOST  CLIENT-ID
# billing  orders  0          4100            61877           57777  -            -     -
# billing  orders  1          4100            61902           57802  -            -     -
# ```
#
# Compare it with a healthy group's output, and with the coordinator's log, which ends with the
# workers leaving:

# %% at-work tags=["live"]
cluster = lab.real() or lab.engine()
cluster.create_topic("orders", partitions=3)
with Team(cluster, ("orders",), "fleet") as team:
    team.add("worker-A"), team.add("worker-B")
    team.covered(3)
    team.write("orders", 30, partitions=3)
    team.wait(lambda team: team.processed == 30, 20, "all records to be processed")
    display(lab.tool(cluster, "kafka-consumer-groups", "--describe", "--group", "fleet"))
    coordinator = cluster.snapshot()["groups"]["fleet"]["coordinator"]
lab.broker_log(cluster, coordinator, "fleet")

# %% [markdown]
# A rebalance begins with the line "Preparing to rebalance": the group is in the state
# `PreparingRebalance`, and the coordinator waits until the members have joined. In a storm such
# lines keep coming, and the generation in them grows.
#
# ## Read the code that did it
#
# Range calls the first function once per topic to deal out its partitions. The second is one turn
# of the heartbeat thread: leave, or send a heartbeat.

# %% code tags=["read"]
from engine.client.consumer.assignors.range import _Topic
from engine.client.consumer.classic import ClassicMembership

display(lab.show(_Topic.share_out))
lab.show(ClassicMembership.beat)

# %% [markdown]
# ## Break it
#
# B is frozen here and resumes ten seconds later. Its session timeout is 6 s.
#
# 1. Step forward. Which of B's two clocks runs out first, and who reads B's partitions then?
# 2. Press Home, and fork the story with `consumer`. There the group sets the session timeout (45
#    s). Who reads B's partitions now?
# 3. Press "drop 2" to remove the fork, go to "freeze B", and kill A there. How long is the worst
#    pause?

# %% broken tags=["read"]
world = lab.world(seed=9)
world.create_topic("orders", partitions=6)
world.load("orders", period_us=50_000)
for name in "ABC":
    members.join(world, name, "orders", "billing", "range")
world.run(for_s=10)
members.act(world, "freeze", "B")
world.run(for_s=10)
members.act(world, "thaw", "B")
world.run(for_s=5)

panel = lab.group_panel(world, "orders", "billing")
panel.jump("freeze B")
panel

# %% [markdown]
# In step 1, the coordinator's clock runs out first: after 6 s the session ends, and A and C share
# B's partitions. When B resumes, its own clock has run out as well: more than
# `max.poll.interval.ms`, 10 s here, has passed since its last poll. So B says that it is leaving,
# though it is already out. In step 2, B is still a member when it resumes, and until then its
# partitions have no reader; its own client then leaves and rejoins.
#
# ## Your turn
#
# **09-8, range by hand.** `members` are the ids of one topic's subscribers, in any order. Range
# sorts them and gives each a block of consecutive partitions; when there is a remainder, the first
# members get one more each. `partitions` is the topic's number of partitions.


# %% 09-8 tags=["stub"]
def range_assignment(members, partitions):
    """A dict from member to the list of its partitions."""


# %% 09-8 tags=["solution"]
def range_assignment(members, partitions):
    """A dict from member to the list of its partitions."""
    found, start = {}, 0
    for place, member in enumerate(sorted(members)):
        size = partitions // len(members) + (place < partitions % len(members))
        found[member] = list(range(start, start + size))
        start += size
    return found


# %% 09-8 tags=["check"]
lab.check("09-8", range_assignment)

# %% [markdown]
# **09-9, which clock.** A worker stopped sending heartbeats at `silent_at` (seconds, or None if it
# never stopped) and its last poll was at `polled_at`. It never polls again. Who ends its
# membership, and when: `("coordinator", second)` or `("worker", second)`? A worker that is silent
# is frozen: it can do nothing itself.


# %% 09-9 tags=["stub"]
def who_ends_it(silent_at, polled_at, session_s, max_poll_interval_s):
    """("coordinator", second) or ("worker", second)."""


# %% 09-9 tags=["solution"]
def who_ends_it(silent_at, polled_at, session_s, max_poll_interval_s):
    """("coordinator", second) or ("worker", second)."""
    by_itself = polled_at + max_poll_interval_s
    if silent_at is None or by_itself < silent_at:
        return "worker", by_itself
    return "coordinator", silent_at + session_s


# %% 09-9 tags=["check"]
lab.check("09-9", who_ends_it)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>1. What happens when a consumer joins a group?</b></summary>
# It finds the coordinator, the leader of one partition of `__consumer_offsets`, and joins. Classic:
# all members rejoin, one of them computes the assignment, and SyncGroup distributes it. Consumer
# protocol: the coordinator computes a target, and tells each member its part in the answers to its
# heartbeats.
# <i>Follow-up:</i> which partitions stop meanwhile? <b>Weak:</b> "Kafka rebalances." <b>Good:</b>
# join, sync, leader. <b>Strong:</b> keeps the three protocols apart, and says what each waits for.
# Evidence: <a href="#Three-workers-start">Three workers start</a>.
# </details>
# <details><summary><b>2. Eager, cooperative, KIP-848: what is the difference?</b></summary>
# Eager: all members give back everything and wait for the slowest. Cooperative: only what moves is
# given back, in two rebalances, and the second waits for the slowest too. KIP-848: nothing waits
# for all members; a partition moves when its owner has given it back and the new owner asks.
# <i>Follow-up:</i> does the sticky assignor avoid the stop? <b>Weak:</b> "cooperative is faster."
# <b>Good:</b> what stops. <b>Strong:</b> knows that sticky is eager, and that the default list
# selects range. Evidence: <a href="#A-worker-joins-while-another-is-busy">A worker joins</a>.
# </details>
# <details><summary><b>3. session.timeout.ms or max.poll.interval.ms: which one fired?</b></summary>
# A silent process is removed by the coordinator after the session timeout. A living process that
# does not poll leaves by itself after max.poll.interval.ms; its log says so.
# <i>Follow-up:</i> what does the loop notice? <b>Weak:</b> "both are timeouts." <b>Good:</b> who
# measures each. <b>Strong:</b> the zombie, its refused commit, and the records that repeat.
# Evidence: <a href="#A-slow-loop">A slow loop</a>.
# </details>
# <details><summary><b>4. What do you gain from static membership, and what does it
# cost?</b></summary>
# A restart within the session timeout causes no rebalance, and caches stay useful. Meanwhile no
# worker reads the member's partitions, and a crash is noticed only after that timeout.
# <i>Follow-up:</i> two workers have the same instance id: who loses? <b>Weak:</b> "a fixed id."
# <b>Good:</b> no LeaveGroup. <b>Strong:</b> sizes the timeout between a restart and a bearable
# outage; classic fences the older one, and KIP-848 refuses the newer one. Evidence:
# <a href="#Deeper:-A-worker-restarts">A worker restarts</a>.
# </details>
# <details><summary><b>5. The lag grows. Do you add consumers?</b></summary>
# Not before looking: consumers beyond the partition count are idle, a hot partition still has one
# reader, and in a storm the new ones fail like the others.
# <i>Follow-up:</i> what do you look at first? <b>Weak:</b> "scale out." <b>Good:</b> partition
# count and lag per partition. <b>Strong:</b> whether committed offsets move while workers are busy,
# and whether the generation grows. Evidence: <a href="#A-slow-service">A slow service</a>.
# </details>
# <details><summary><b>6. The workers run, but the tool shows this. What happened?</b></summary>
# <pre>Warning: Consumer group 'billing' is rebalancing.
#
# GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG    CONSUMER-ID  HOST  CLIENT-ID
# billing  orders  0          4100            61877           57777  -            -     -
# billing  orders  1          4100            61902           57802  -            -     -
# billing  orders  2          4100            61854           57754  -            -     -</pre>
# The group is rebalancing. If it still is a minute later, with the same offsets, this is a storm:
# no member keeps a partition long enough to commit. Compare the time that a full batch takes with
# max.poll.interval.ms. Evidence: <a href="#A-slow-service">A slow service</a>.
# </details>
#
# ## Quiz
#
# Several letters are right.

# %% 09-12 tags=["stub", "predict", "quiz"]
lab.quiz("09-12")

# %% 09-12 tags=["solution", "predict", "quiz"]
lab.quiz("09-12", "a", "d")

# %% 09-13 tags=["stub", "predict", "quiz"]
lab.quiz("09-13")

# %% 09-13 tags=["solution", "predict", "quiz"]
lab.quiz("09-13", "b", "c")

# %% [markdown]
# ## Deeper: Needless moves
#
# **09-10, needless moves.** `before` and `after` are assignments: a dict from member to the list of
# its partitions. Which partitions moved although their owner is still a member?


# %% 09-10 tags=["stub"]
def needless_moves(before, after):
    """The partitions, in ascending order."""


# %% 09-10 tags=["solution"]
def needless_moves(before, after):
    """The partitions, in ascending order."""
    return sorted(
        partition
        for member, owned in before.items()
        if member in after
        for partition in owned
        if partition not in after[member]
    )


# %% 09-10 tags=["check"]
lab.check("09-10", needless_moves)

# %% [markdown]
# ## Deeper: The coordinator and its death
#
# A group's id determines which partition of `__consumer_offsets` stores the group, and that
# partition's leader is the coordinator. The cell looks up the coordinators of twenty groups, then
# kills the coordinator of one of them.

# %% coordinator tags=["both"]
from engine.coordinators.offsets_topic import partition_for
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.probes import clients
from lessons.nb09_groups.by_hand import coordinator_of
from lessons.nb09_groups.workers import Team

names = [f"group-{number}" for number in range(20)]


def coordinator(cluster):
    cluster.create_topic("orders", partitions=2)
    with Team(cluster, ("orders",), names[0]) as team:
        team.add("A")
        team.covered(2)
        found = clients.ask(
            cluster, 101, m.FindCoordinatorRequest(key_type=0, coordinator_keys=names)
        )
        said = {each.key: each.node_id for each in found.coordinators}
        topic = clients.admin(cluster).list_topics("__consumer_offsets", 10)
        kept = topic.topics["__consumer_offsets"].partitions
        computed = {name: kept[partition_for(name, len(kept))].leader for name in names}
        dead, index = said[names[0]], partition_for(names[0], len(kept))
        other = next(broker for broker in cluster.brokers if broker != dead)
        refused = clients.ask(cluster, other, m.HeartbeatRequest(names[0], 1, "A"))
        team.write("orders", 20, partitions=2)
        team.wait(lambda t: t.processed == 20, 30, "20 records")
        cluster.kill(dead)
        team.write("orders", 20, partitions=2)
        team.wait(lambda t: t.processed >= 40, 60, "20 more")
        cluster.wait_until(lambda _: coordinator_of(cluster, names[0], other) != dead, 30)
        heir = coordinator_of(cluster, names[0], other)
        topic = clients.admin(cluster).list_topics("__consumer_offsets", 10)
        leader = topic.topics["__consumer_offsets"].partitions[index].leader
        return {
            "groups whose coordinator is the leader": sum(said[n] == computed[n] for n in names),
            "different groups have different coordinators": len({*said.values()}) > 1,
            "a heartbeat to another broker": Errors(refused.error_code).name,
            "the next coordinator is the partition's next leader": heir == leader,
            "records processed": team.processed,
            "partitions that A lost": team.count("A", "lost"),
        }


lab.both(coordinator)

# %% [markdown]
# Groups are spread over the brokers. When a coordinator dies, another replica of its partition
# becomes the leader, loads the group's records and continues with the same generation. The members
# notice the lost connection, or get `NOT_COORDINATOR`, the answer from every other broker, and look
# up the coordinator again.

# %% [markdown]
# ## Deeper: Lag and scaling
#
# A topic has a backlog, and a worker needs 10 ms for a record. How fast do workers read the backlog
# with one, three or six partitions? And who reads which record when B leaves?

# %% scaling tags=["both"]
import time

from lessons.nb09_groups.workers import Team

work_s, backlog = 0.01, 300
cases = {"1 worker, 3 partitions": (1, 3), "3 workers, 3 partitions": (3, 3),
         "6 workers, 3 partitions": (6, 3), "6 workers, 1 partition": (6, 1),
         "6 workers, 6 partitions": (6, 6)}  # fmt: skip


def drain(cluster, count, partitions):
    topic = f"lag-{count}-{partitions}"
    cluster.create_topic(topic, partitions=partitions)
    with Team(cluster, (topic,), topic, "range") as team:
        for number in range(count):
            team.add("ABCDEF"[number], work_s=work_s)
        team.covered(partitions)
        team.write(topic, backlog, partitions)
        began = time.monotonic()
        team.wait(lambda t: t.processed >= backlog, 60, "the backlog to be read")
        rate = lab.measured(backlog / (time.monotonic() - began), "records/s")
        seen = {"records a second": rate, "partitions of each worker": team.shares}
        if count > partitions > 1:
            team.remove("A")
            team.wait(lambda t: sum(map(len, t.owned.values())) == partitions, 30, "a reader")
            seen["and when A has left"] = team.shares
        return seen


def ten_records(cluster):
    cluster.create_topic("ten", partitions=3)
    with Team(cluster, ("ten",), "ten", "range") as team:
        for name in "ABC":
            team.add(name)
        team.covered(3)
        team.write("ten", 5, 3)
        team.wait(lambda t: t.processed == 5, 30, "5 records")
        team.remove("B")
        team.covered(3)
        team.write("ten", 5, 3)
        team.wait(lambda t: len(t.readers) == 10, 30, "10 records")
        by_partition = {0: "", 1: "", 2: ""}
        for (index, _), name in sorted(team.readers.items()):
            by_partition[index] += name
        return {f"partition {index}": " ".join(by_partition[index]) for index in by_partition}


def scaling(cluster):
    found = {name: drain(cluster, *case) for name, case in cases.items()}
    return found | {"who reads each of ten records; B leaves after five": ten_records(cluster)}


lab.both(scaling)

# %% [markdown]
# Three workers are about three times as fast as one. Of six workers, three have no partition: the
# partition is the unit of parallelism. Those three are standbys: one of them took over when A left.
# With one partition, six workers are as fast as one worker, but with six partitions they all work.
# Divide the rate that you need by one worker's rate: the result is the minimum number of
# partitions. In the last rows, a partition has one reader at a time, and after B has left, another
# worker continues where B stopped.
#
# Next, members come and go while 30 records arrive every second. A, B and C share three partitions.
# D joins, A (a process of its own) is killed, and B leaves. Who reads what after each step, and how
# far behind is the group? The session timeout is 6 s.

# %% comes-and-goes tags=["both"]
from contextlib import closing

from kit.group_panel.crew import Crew
from kit.group_panel.writing import Writing

session_s, per_s = 6, 30


def comes_and_goes(cluster):
    cluster.create_topic("stock", partitions=3)
    settings = {"session.timeout.ms": 1000 * session_s}
    crew, seen = Crew(cluster.bootstrap, "stock", "stock", settings), {}
    with (closing(Writing(cluster.bootstrap, "stock", 3, per_s)), closing(crew),
          Team(cluster, ("stock",), "stock", settings=settings) as team):  # fmt: skip

        def note_lag(when, wait_s=1):
            time.sleep(wait_s)
            seen[f"lag {when}"] = lab.measured(team.lag, "records")

        def note(what, members):
            team.dealt_out(members, partitions=3)
            seen[what] = team.assignment
            note_lag(f"1 s after {what}")

        crew.add(), team.add("B"), team.add("C")  # the crew's first member is A
        team.dealt_out(3, partitions=3)
        team.add("D"), note("D has joined", 4)
        crew.kill("A"), note_lag("1 s after A is killed")
        note_lag("5 s after A is killed", wait_s=4)
        note("A's session is over", 3)
        team.remove("B"), note("B has left", 2)
    return seen


lab.both(comes_and_goes)

# %% [markdown]
# D, the fourth member, has no partition at first. After A's death it reads one, so every partition
# has a reader again. But the coordinator first waits for the end of A's session. Until then no
# worker reads A's partition, and the lag climbs. B closes its consumer, so there is no such wait.

# %% what-is-a-group [markdown]
# <details><summary><b>In an interview: what is a consumer group?</b></summary>
# Consumers with the same <code>group.id</code>. Each partition has one reader in the group. With
# fewer members than partitions, some members read several. With as many members as partitions, each
# reads one, and the group is as fast as it gets. With more, the extra members are idle standbys.
# The group commits an offset for each partition; other groups read the same records independently.
# <i>Follow-up:</i> is a fourth member of three partitions useless? <b>Weak:</b> "they share the
# messages." <b>Good:</b> the three cases. <b>Strong:</b> a standby takes over, after a crash only
# when the session is over. Evidence: the two runs above.
# </details>

# %% [markdown]
# ## Deeper: Two members of one name
#
# In both protocols, a second worker starts with a `group.instance.id` that a running worker already
# has.

# %% one-name tags=["both"]
from lessons.nb09_groups.workers import Team, at_once


def one_name(cluster, protocol):
    topic = f"names-{protocol}"
    cluster.create_topic(topic, partitions=2)
    with Team(cluster, (topic,), topic, protocol) as team:
        older = team.add("A", instance="worker-1")
        team.covered(2)
        newer = team.add("B", instance="worker-1")
        team.wait(lambda _: bool(older.errors or newer.errors), 30, "one of them to be refused")
        return {"the older one": " ".join(older.errors), "the newer one": " ".join(newer.errors)}


def same_name(cluster):
    return at_once(("range", "consumer"), lambda protocol: one_name(cluster, protocol))


lab.both(same_name)

# %% [markdown]
# In the classic protocol the newcomer takes over, and the older one is *fenced*: all its requests
# are refused. In the consumer protocol the newcomer is refused as long as the older one lives.

# %% [markdown]
# ## Deeper: Join and sync, request by request
#
# Here are two members without a client library: this cell sends each request itself, so you see
# what a library does for you. The first member founds the group. Then the second one knocks. At the
# end, two members of the consumer protocol do the same with nothing but heartbeats.

# %% by-hand tags=["both"]
from lessons.nb09_groups.by_hand import ByHand
from lessons.nb09_groups.by_heartbeat import ByHeartbeat

shares = ([0, 1, 2], [3, 4, 5])  # what the leader gives to each


def by_hand(cluster):
    cluster.create_topic("orders", partitions=6)
    with ByHand(cluster, "by-hand") as second:
        with ByHand(cluster, "by-hand") as first:
            first.join()
            alone, had = first.generation, first.sync({first: [0, 1, 2, 3, 4, 5]})
            second.knock()
            cluster.wait_until(lambda _: first.beat() != "NONE", 10)
            told = first.beat()
            first.join(), second.joined()
            second.sync()  # it waits for the leader's
            got = first.sync({first: shares[0], second: shares[1]}), second.synced()
            generations = [alone, first.generation, second.generation]
            listed = [first.member_count, second.member_count]
            leads, old = [first.leads, second.leads], first.beat(alone)
        second.join()  # the first one has left
        with ByHeartbeat(cluster, "beats", "2") as newer, ByHeartbeat(cluster, "beats", "1") as one:
            answers = [one.hears()]
            newer.beat()  # joins
            answers.append(one.hears())
        return {
            "partitions of the first member, alone": had,
            "the first member hears, by heartbeat": told,
            "generations": generations,
            "members in each answer to JoinGroup": listed,
            "partitions in each answer to SyncGroup": list(got),
            "the first leads, the second leads": leads,
            "the second leads when the first has left": second.leads,
            "a heartbeat of the old generation": old,
            "consumer protocol: in heartbeat answers": [
                " ".join(map(str, each)) for each in answers
            ],
        }


lab.both(by_hand)

# %% [markdown]
# The coordinator never calls a member: the member learns of a rebalance from the answer to its next
# heartbeat, and rejoins. JoinGroup is a meeting: its answer waits until all the members have
# joined. Only the leader learns who the members are, and each member learns only its own
# partitions. The first member leads, and when it leaves, another one leads. With the consumer
# protocol, all of this is one request, ConsumerGroupHeartbeat: its answer carries the new
# assignment itself, here all six partitions, and three once the second member has joined. The
# coordinator never waits for all the members.

# %% [markdown]
# ## Deeper: A worker restarts
#
# A deployment restarts B: B closes its consumer and is back four seconds later. This happens in
# three groups. In two of them, each worker has a fixed name, a `group.instance.id`: they are
# *static* members, with a session timeout of 30 s in one group and 3 s in the other. In the third
# group, they have no such name: they are *dynamic*. While B is away, ten records are written to
# each partition.

# %% 09-5 tags=["stub", "predict"]
lab.predict("09-5")

# %% 09-5 tags=["solution", "predict"]
lab.predict("09-5", "0 2 2")

# %% restart tags=["both"]
away_s, count = 4.0, 60  # also 1 s
sessions_ms = {"static-long": 30_000, "static-short": 3_000, "dynamic": 30_000}


def restart(cluster):
    def one(kind):
        topic, session_ms, is_static = f"orders-{kind}", sessions_ms[kind], kind != "dynamic"
        cluster.create_topic(topic, partitions=6)
        with Team(cluster, (topic,), topic, settings={"session.timeout.ms": session_ms}) as team:
            for name in "ABC":
                team.add(name, instance=f"worker-{name}" if is_static else "")
            team.covered(6)
            before, since = team.place("B"), team.now_us
            team.workers["B"].leave(), team.write(topic, count, partitions=6)
            time.sleep(away_s)
            if not is_static or session_ms < 1000 * away_s:
                team.wait(lambda t: len(t.offsets) == count, 30, "the others to read all")
            has, waits = team.kept_for(before.partitions), count - len(team.offsets)
            team.add("B", instance="worker-B" if is_static else ""), team.covered(6)
            return {"its partitions meanwhile belong to": has, "records that wait": waits,
                    "rebalances that A took part in": team.count("A", "assigned", since),
                    "B is back with": team.place("B").beside(before)}  # fmt: skip

    return at_once((*sessions_ms,), one)


outcome = lab.both(restart)
display(outcome)
lab.verdict("09-5", outcome)

# %% [markdown]
# A static member does not leave when it closes. The coordinator keeps its place and its partitions
# until `session.timeout.ms` has passed, and a member that comes back under the same name gets both
# without a rebalance. Its member id is new all the same. No partition went to another worker, so
# caches stay useful (*Deeper: A rolling restart*). The price: no worker reads B's partitions in the
# meantime, and after a real crash their records wait out the same timeout.
#
# Where the session is shorter than the restart, the others take over, and B's return causes another
# rebalance. A dynamic member leaves at once, which also causes two rebalances. So make the session
# timeout longer than a restart, but shorter than an outage that you can bear.

# %% [markdown]
# ## Deeper: A rolling restart
#
# A deployment restarts A, B and C one after the other, while 120 records arrive every second. Each
# worker keeps a cache for each of its partitions: loading one takes 0.3 s, and a cache goes when its
# partition is given back. One group is eager, one is cooperative, and one is eager with static
# members. Which caches are loaded again, and how much does each group read meanwhile?

# %% rolling tags=["both"]
import time
from contextlib import closing

from kit.group_panel.writing import Writing
from lessons.nb09_groups.rates import Rates
from lessons.nb09_groups.workers import Caches, Team, at_once

load_s, away_s, per_s, step_s = 0.3, 1.0, 120, 0.5
kinds, drawn = ("range", "cooperative-sticky", "static"), {}


def rolling(cluster):
    rates = drawn[cluster.name] = Rates(step_s, kinds)

    def restarts(kind):
        topic, is_static, caches = f"rolling-{kind}", kind == "static", Caches(load_s)
        protocol = "range" if is_static else kind
        cluster.create_topic(topic, partitions=6)
        with (closing(Writing(cluster.bootstrap, topic, 6, per_s)),
              Team(cluster, (topic,), topic, protocol, on_assign=caches.load) as team):  # fmt: skip

            def start(name):
                team.add(name, instance=f"worker-{name}" if is_static else "")

            start("A"), start("B"), start("C"), team.read_by_all(6)
            since, closed, loads = team.now_us, [], []
            caches.clear()
            for name in "ABC":
                closed.append((name, (team.now_us - since) / 1e6))
                team.remove(name), time.sleep(away_s)
                if not is_static:
                    team.covered(6, calm_s=0)
                loads.append(sorted(caches.loads(6), reverse=True))
                start(name), team.covered(6, calm_s=0)
                time.sleep(step_s)
            rates.note(kind, team.polls(since), closed)
            return {"loads of each cache, when A has left": loads[0],
                    "seconds of loading, in all": lab.measured(caches.seconds, "s")}  # fmt: skip

    return at_once(kinds, restarts)


display(lab.both(rolling), drawn["engine"])

# %% [markdown]
# Each restart of a dynamic member causes two rebalances. In the eager group, all six caches are
# loaded each time, and the curve falls toward zero; the peaks are records that had to wait. In the
# cooperative group, only the caches of partitions that move are loaded. The static group does not
# rebalance: each worker loads its own two caches when it is back, and would not even do that if
# they were on disk. Its curve falls by a third while one of three workers is away.

# %% [markdown]
# ## Deeper: Four ways to go
#
# Two workers share two partitions. One of them is a separate process that closes, is killed, is
# frozen, or gets stuck on one record. When does the other worker have both partitions? The session
# timeout is 6 s, except in a second kill, where it is 12 s.

# %% ways-to-go tags=["both"]
from contextlib import closing

from kit.group_panel.crew import Crew
from lessons.nb09_groups.workers import Team, at_once

ways = {"remove": 6, "kill": 6, "kill, 12 s": 12, "freeze": 6, "stuck": 6}  # sessions in seconds
max_poll_interval_s = 20
everything = {(partition, offset) for partition in range(2) for offset in range(20)}


def processed_by(crew, name):
    ends = crew.beliefs()[name].positions
    return {(partition, offset) for by_partition in ends.values()
            for partition, end in by_partition.items() for offset in range(end)}  # fmt: skip


def heard(lines):
    return [line for line in lines if line.kind in ("lost", "revoked")]


def goes(cluster, way):
    topic, work_ms = f"orders-{way[:4]}-{ways[way]}", 60_000 if way == "stuck" else 0
    settings = {"session.timeout.ms": 1000 * ways[way],
                "max.poll.interval.ms": 1000 * max_poll_interval_s,
                "auto.commit.interval.ms": 60_000}  # a commit comes with a close  # fmt: skip
    cluster.create_topic(topic, partitions=2)
    crew = Crew(cluster.bootstrap, topic, topic, settings, work_ms, commits_lost=True)
    with Team(cluster, (topic,), topic, "range", settings) as team, closing(crew):
        stays, goer = team.add("stays"), crew.add("range")
        team.wait(lambda _: len(stays.owned) == 1, 30, "a partition each")
        team.write(topic, 20, partitions=2)
        team.wait(lambda _: len(stays.processed) == 10, 30, "its half of the records")
        if way != "stuck":
            team.wait(lambda _: len(processed_by(crew, goer)) == 10, 30, "the other half")
        by_goer = processed_by(crew, goer)
        began = team.now_us
        if way != "stuck":
            getattr(crew, way.split(",")[0])(goer)  # a clean close, SIGKILL, or SIGSTOP
        team.wait(lambda _: len(stays.owned) == 2, 60, "both partitions")
        seconds = (team.now_us - began) / 1e6
        team.write(topic, 20, partitions=2)
        team.wait(lambda _: {(0, 19), (1, 19)} <= {*stays.processed}, 30, "20 more records")
        by_both = by_goer & {*stays.processed}
        by_none = everything - by_goer - {*stays.processed}
        found = {"seconds": lab.measured(seconds, "s"),
                 "it waited for": "nothing" if seconds < 4 else
                 "the session" if seconds < ways[way] + 5 else "the poll interval",
                 "records processed twice, and never": [len(by_both), len(by_none)]}  # fmt: skip
        if way == "freeze":
            found["the one that stays hears"] = team.heard("stays", began)
            crew.lines(), crew.thaw(goer)
            told = []
            team.wait(lambda _: told.extend(crew.lines()) or heard(told), 20, "a callback")
            found["the frozen one hears"] = heard(told)[0].kind
            found["a commit in that callback"] = heard(told)[0].why
        return found


def four_ways(cluster):
    return at_once((*ways,), lambda way: goes(cluster, way))


lab.both(four_ways)

# %% [markdown]
# A clean close sends LeaveGroup, and the rebalance begins at once. No message reports a dead or
# frozen process: the coordinator waits for `session.timeout.ms`. A stuck loop is not a dead
# process: its heartbeats keep arriving. After `max.poll.interval.ms` (20 s here), its own client
# takes it out of the group. A listener has three callbacks, and all of them are called here. The
# worker that stays gives its partition back (`revoked`) and gets both (`assigned`). The frozen
# process resumed afterward and learned from the `lost` callback that its partition had gone to
# another member. A commit in that callback is refused. No record is skipped. Here, only a clean
# close commits. The killed process and the frozen process had each processed ten records without
# committing them, so those records are processed again. In short: a long session timeout delays
# recovery from a crash, and a long poll interval delays recovery from a stuck loop.

# %% [markdown]
# ## Deeper: What a listener hears
#
# A consumer learns through callbacks when partitions come and go. Here the callback for partitions
# that go takes one second in A, two in B and three in C, as if it wrote out a cache. Then the
# callback commits what the worker has processed; nothing else commits. D joins A, B and C in each
# of three protocols.

# %% listeners tags=["both"]
from kit.drawings.spans import Spans
from lessons.nb09_groups.workers import Team, at_once

protocols, commits = ("range", "cooperative-sticky", "consumer"), True  # also False
takes_s, drawn = {"A": 1.0, "B": 2.0, "C": 3.0, "D": 0.0}, {}


def write_out(worker, partitions):
    worker.rest(takes_s[worker.name])
    if commits:
        worker.commit(partitions)


def listeners(cluster, protocol):
    topic, by_hand = f"orders-{protocol}", {"enable.auto.commit": False}
    cluster.create_topic(topic, partitions=7)
    with Team(cluster, (topic,), topic, protocol, by_hand, on_revoke=write_out) as team:
        for name in "ABC":
            team.add(name)
        team.covered(7)
        team.write(topic, 70, 7)
        team.wait(lambda t: t.processed == 70, 30, "70 records")
        before, since = team.generation, team.now_us
        team.add("D")
        team.covered(7)
        team.write(topic, 70, 7)
        team.wait(lambda t: len(t.offsets) == 140, 30, "70 more")
        drawn[cluster.name, protocol] = Spans("D joins", team.steps(since), "seconds")
        gone = [line for line in team.lines(since) if line.kind == "revoked"]
        came = [line.fields for line in team.lines(since) if line.kind == "assigned"]
        empty = {each["client"] for each in came if not each["partitions"]}
        return {
            "generations": team.generation - before,
            "members that give back": len({line.fields["client"] for line in gone}),
            "partitions given back": sum(len(line.fields["partitions"]) for line in gone),
            "assigned before it was given back": team.too_early(since),
            "records processed twice": team.processed - len(team.offsets),
            "callbacks outside poll, and B's thread": [
                sum(each.strays for each in team.workers.values()),
                *team.workers["B"].called_in,
            ],
            "members that hear of an empty one": lab.measured(len(empty), "of 4"),
        }


def d_joins(cluster):
    return at_once(protocols, lambda protocol: listeners(cluster, protocol))


display(lab.both(d_joins), drawn["engine", "range"])

# %% [markdown]
# Eager: every member hears that all of its partitions are going, and then which ones are coming,
# even if they are the same. The picture shows the steps: each member gives back its partitions,
# then joins and waits for the slowest. In the other two protocols, only the member that gives up a
# partition hears that it is going. A cooperative group rebalances twice here, and each time every
# member's `assigned` is called, often with an empty list. In all three, no member gets a partition
# before the previous owner's callback has ended. So a commit in that callback reaches the
# coordinator in time, and no record is processed twice. Set `commits = False`: the new owner of a
# partition then begins at the partition's first record. Callbacks run inside `poll`, in the thread
# of the loop; B's is called `worker-B`. A member removed from its group hears `lost` instead: its
# partitions already belong to others, and a commit in that callback is refused (*Deeper: Four ways
# to go*).

# %% [markdown]
# ## Deeper: Refused
#
# This cell sends requests that a coordinator does not accept.

# %% refused tags=["both"]
from lessons.nb09_groups.by_hand import ByHand

session_ms = 500  # brokers allow 6 s to 30 min; those of this course from 1 s on


def refused(cluster):
    with ByHand(cluster, "range-only") as member, ByHand(cluster, "range-only", ["sticky"]) as odd:
        member.join()
        member.sync({member: [0]})
        with ByHand(cluster, "hasty", session_ms=session_ms) as hasty:
            too_short = hasty.join()
        with ByHand(cluster, "", ["range"]) as nameless:
            unnamed = nameless.join()
        return {
            "no group id": unnamed,
            "a session of half a second": too_short,
            "no assignor in common": odd.join(),
            "a heartbeat of another generation": member.beat(member.generation + 1),
        }


lab.both(refused)

# %% [markdown]
# The group chooses an assignor that every member offers. That is why a change of assignor takes two
# deployments: first all members offer both, and then the old one is removed. The broker limits the
# session timeout (`group.min.session.timeout.ms`, `group.max.session.timeout.ms`), but not the poll
# interval, which only the client knows.

# %% [markdown]
# ## Deeper: With and without a group
#
# Two readers that choose their own partitions (`assign`), a group of one, and a group of two all
# read the same 100 records. A third reader chooses only partition 1, and then a partition is added
# to the topic.

# %% without-group tags=["both"]
from contextlib import closing, contextmanager

from confluent_kafka import Consumer, TopicPartition

from lessons.nb09_groups.workers import Team

count = 100


@contextmanager
def by_assign(cluster, *partitions):
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "unused"}
    more = {"auto.offset.reset": "earliest", "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 1000, "log_level": 0}  # fmt: skip
    consumer = Consumer(settings | more)
    consumer.assign([TopicPartition("orders", each) for each in partitions])
    with closing(consumer):
        yield lambda most, for_s=20: [each.partition() for each in consumer.consume(most, for_s)]


def all_by_assign(cluster):
    with by_assign(cluster, 0, 1) as read:
        return len(read(count))


def before_poll(cluster):
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "early"})
    with closing(consumer):
        consumer.subscribe(["orders"])
        cluster.wait_until(lambda c: c.snapshot()["groups"].get("early", {}).get("members"))
    return True


def without_group(cluster):
    cluster.create_topic("orders", partitions=2)
    with Team(cluster, ("orders",), "billing") as two, Team(cluster, ("orders",), "audit") as one:
        one.add("alone"), two.add("A")
        two.covered(2)
        had = two.owned["A"]
        two.add("B")
        two.covered(2)
        two.write("orders", count, partitions=2)
        two.wait(lambda team: team.processed == one.processed == count, 30, "all records")
        offsets = [set(each.processed) for each in two.workers.values()]
        owned, alone = [had, *two.owned.values()], one.processed
        shares = [len(each.processed) for each in two.workers.values()]
        assigned = [all_by_assign(cluster), all_by_assign(cluster)]
        two.write("orders", 60, partitions=1)  # all in partition 0
        two.wait(lambda team: team.processed == count + 60, 30, "60 more")
        uneven = [len(each.processed) for each in two.workers.values()]
        with by_assign(cluster, 1) as read:
            two.add_partitions("orders", 3)
            two.covered(3)
            two.write("orders", 30, partitions=3)
            two.wait(lambda team: len(team.offsets) == count + 90, 30, "30 more")
            chosen = read(60) + read(1, for_s=3)
        return {
            "two readers by assign": assigned,
            "the group of one": alone,
            "partitions of A alone, then of A and B": [" ".join(map(str, each)) for each in owned],
            "the group of two": shares,
            "and with 60 more in one partition": uneven,
            "records that both of the two got": len(offsets[0] & offsets[1]),
            "a partition is added: of each the group has read": [
                sum(index == each for index, _ in two.offsets) for each in range(3)
            ],
            "and the reader that chose partition 1": [chosen.count(each) for each in range(3)],
            "is the reader by assign a member": "unused" in cluster.snapshot()["groups"],
            "a member before its first poll": before_poll(cluster),
        }


lab.both(without_group)

# %% [markdown]
# A group divides the partitions, not the records, among its members, so a frequent key makes one
# share large. Each group gets every record. A reader that uses `assign` gets every record of the
# partitions that it chose. A group notices an added partition, but a reader that uses `assign` does
# not. Reading removes nothing. A new `group.id` means a new reader, and `auto.offset.reset` says
# where it begins. This client joins from a thread of its own as soon as it subscribes, but the Java
# client joins in its first `poll`.

# %% [markdown]
# ## Deeper: What begins a rebalance
#
# A subscribes to a pattern, `^events.*`. Then eight things happen, one after the other; the last
# two are none of the group's business. For each of them, the cell notes how many generations begin
# and how many partitions move to another member. The silent member is a `ByHand` with a session
# timeout of ten seconds: it joins and then sends no heartbeat.

# %% triggers tags=["both"]
from lessons.nb09_groups.by_hand import ByHand
from lessons.nb09_groups.workers import Team


def triggers(cluster):
    cluster.create_topic("events", partitions=2)
    with Team(cluster, ("^events.*",), "triggers", "range") as team:
        team.add("A")
        team.covered(2)
        seen, last = {}, (team.generation, team.owners)

        def note(what):
            nonlocal last
            now = team.generation, team.owners
            moved = sum(last[1].get(each, name) != name for each, name in now[1].items())
            seen[what], last = [now[0] - last[0], moved], now

        team.add("B"), team.covered(2), note("a member joins")
        team.remove("B"), team.covered(2), note("a member leaves")
        with ByHand(cluster, "triggers", session_ms=10_000, topic="events") as silent:
            silent.join(), silent.sync()
            silent.synced(), note("a member joins that is silent")
            team.covered(2), note("its session ends")
        team.add_partitions("events", 4), team.covered(4), note("partitions are added")
        cluster.create_topic("events.eu", partitions=1)
        team.covered(5), note("a topic that matches is created")
        cluster.create_topic("payments", partitions=1)
        team.covered(5), note("another topic is created")
        team.write("events", 40, partitions=4)
        team.wait(lambda t: t.processed == 40, 30, "all records")
        note("records are written")
        team.write("events.eu", 10, partitions=1)
        team.wait(lambda t: t.processed == 50, 30, "the records of the new topic")
        return {
            "generations that begin, and partitions that move": seen,
            "records of the new topic that are read": team.processed - 40,
            "partitions that A and B ever had at once": team.too_early(),
        }


lab.both(triggers)

# %% [markdown]
# The group learns of new partitions and topics when a client refreshes its metadata, which happens
# after `metadata.max.age.ms` (5 minutes) at the latest. Then the group reads them. Here the clients
# refresh their metadata every second. A and B never had a partition at the same time. In the
# consumer protocol the broker notices new partitions and topics by itself, and the pattern may be
# sent to the broker (RE2/J).

# %% [markdown]
# ## Deeper: How size and rounds count
#
# In virtual time, one more member joins a group of 3, one of 30 and one of 100. How long does it
# take until nothing moves anymore, and how many generations does that take? Meanwhile an eager
# group stops, but a cooperative one keeps reading what does not move. Then the cell varies two
# settings, which decide how long a new group of three waits for more members, and how long a member
# whose loop is stuck holds up the others. Finally, members join, leave, die and freeze at random.

# %% size tags=["sim"]
from kit import lab
from kit.group_panel import members
from lessons.nb09_groups import virtual_group as groups

sizes = (3, 30, 100)  # also 300, in a minute or two
delays_ms, intervals_ms, random_steps = (0, 3_000), (10_000, 20_000), 60

for size in sizes:
    for assignor in ("range", "cooperative-sticky"):
        world = groups.of_size(size, assignor)
        before = groups.generation(world, "billing")
        members.join(world, "new", "orders", "billing", assignor, groups.OF_SIZE)
        seconds = groups.until_calm(world, "billing")
        rounds = groups.generation(world, "billing") - before
        print(f"{size:4} members  {assignor:20} {seconds:5.1f} s  generations: {rounds}")

for ms in delays_ms:
    world = lab.world(seed=9, settings={"group.initial.rebalance.delay.ms": ms})
    world.create_topic("orders", partitions=6)
    for name in "ABC":
        members.join(world, name, "orders", "billing")
    seconds = groups.until_calm(world, "billing")
    print(f"group.initial.rebalance.delay.ms {ms}: 3 new members, {seconds:.1f} s, "
          f"generations: {groups.generation(world, 'billing')}")  # fmt: skip

for ms in intervals_ms:
    world = groups.with_a_stuck_member(ms)
    members.join(world, "new", "orders", "billing")
    seconds = groups.until_calm(world, "billing")
    print(f"max.poll.interval.ms {ms}: 1 of 3 members is stuck, {seconds:.1f} s")

for protocol in members.PROTOCOLS:
    world, most = groups.at_random(protocol, random_steps)
    print(f"{random_steps} random steps  {protocol:20} generations: "
          f"{groups.generation(world, 'billing')}, most members with one partition: {most}")  # fmt: skip

# %% [markdown]
# Members learn of the rebalance from their next heartbeat (at most 3 s away), and the slowest
# member sets the pace. So size alone costs little, but one member that polls late costs everything:
# the others wait for it until its `max.poll.interval.ms` has passed. The initial delay makes a new
# group wait, so that its first members do not each begin a generation.

# %% [markdown]
# ## Deeper: Heartbeats
#
# This run is in virtual time. The last lines show a member from its first request to its first
# heartbeat. How many heartbeats follow in 30 s? What is the effect of one heartbeat that is two
# seconds late, and of several that are missing in a row?

# %% heartbeats tags=["sim"]
from engine.client.consumer.settings import ConsumerSettings
from kit import lab
from kit.group_panel import members
from lessons.nb09_groups import virtual_group as groups
from lessons.nb09_groups.conversation import Conversation

late_ms, default = 2_000, ConsumerSettings()
cases = (  # between two heartbeats, the session timeout, and how many heartbeats are missing
    (2_000, 6_000, (2, 3)),
    (5_500, 6_000, (1,)),
    (default.heartbeat_interval_ms, default.session_timeout_ms, (14, 15)),
)

for interval_ms, session_ms, missing in cases:
    world = lab.world(seed=9, checked=False)
    world.create_topic("orders", partitions=2)
    settings = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": interval_ms,
                "enable.auto.commit": False}  # a commit counts as a heartbeat  # fmt: skip
    members.join(world, "A", "orders", "billing", settings=settings)
    began = Conversation(world, "billing", whole=True).run(for_s=10)
    talk = Conversation(world, "billing").run(for_s=30)
    brokers = " ".join(map(str, sorted(talk.brokers)))
    groups.delay_heartbeat(world, "billing", "A", late_ms)
    world.run(for_s=15)
    print(f"every {interval_ms} ms: {talk.quiet_heartbeats} in 30 s, to broker {brokers}; "
          f"one late: {groups.expired(world, 'billing')} sessions ended")  # fmt: skip
    for count in missing:
        before = groups.expired(world, "billing")
        groups.delay_heartbeat(world, "billing", "A", count * interval_ms - 100)
        world.run(for_s=(count + 5) * interval_ms / 1000)
        ended = groups.expired(world, "billing") - before
        print(f"    session {session_ms} ms, {count} missing in a row: {ended} sessions ended")
print(began)

# %% [markdown]
# By default, heartbeats are 3 s apart and the session timeout is 45 s, so fourteen heartbeats in a
# row may be lost. With an interval of a third of the timeout, two may be lost. With the consumer
# protocol the broker sets both (`group.consumer.heartbeat.interval.ms`, 5 s;
# `group.consumer.session.timeout.ms`, 45 s), and a client that sets its own values is refused.

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what is true of Kafka 4.3.
#
# | you may read | what is true | where |
# |---|---|---|
# | session.timeout.ms is 10 s | 45 s since 3.0 (KIP-735); brokers allow 6 s to 30 min | [A slow loop](#A-slow-loop) |
# | the heartbeat interval is a third of the session timeout | the defaults are 3 s and 45 s, a fifteenth; with the consumer protocol the broker sets both (5 s, 45 s), and a client that sets them is refused | [A slow loop](#A-slow-loop) |
# | a rebalance stops all consumers | only an eager one does | [A worker joins](#A-worker-joins-while-another-is-busy) |
# | the sticky assignor removes the pause | it avoids moves, but it is eager | [A worker leaves](#A-worker-leaves) |
# | the default assignor has been cooperative since 3.0 | the default list is range and cooperative-sticky, and range is used until it is removed from the list | [A worker joins](#A-worker-joins-while-another-is-busy) |
# | the group leader assigns | only in the classic protocol; with `group.protocol=consumer`, the coordinator does | [Three workers start](#Three-workers-start) |
# | messages are divided equally | partitions are divided, as equally as the assignor can manage | [Two topics](#Two-topics) |
# | each consumer gets at least one partition | a member may have none, and is then a standby | [Two topics](#Two-topics) |
# | a second static member with the same name gets an error | classic fences the older one, and KIP-848 refuses the newer one | [Two members](#Deeper:-Two-members-of-one-name) |
# | the coordinator throws a slow consumer out | the consumer's own heartbeat thread makes it leave | [A slow loop](#A-slow-loop) |
# | computing needs more brokers, and ksqlDB is part of Kafka | workers come and go without a change to the brokers; ksqlDB is a product of Confluent, and a Kafka Streams application is a group with members and lag | [Lag and scaling](#Deeper:-Lag-and-scaling) |
# | one partition has one consumer | in a consumer group; share groups (KIP-932) let several read it | notebook 01 |
