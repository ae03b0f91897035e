# %% [markdown]
# # 06 · Replication and the ISR
#
# A broker dies at three in the morning and nobody notices, because two others hold the same
# records and one of them takes over. This notebook takes that sentence apart: what is copied,
# when a record counts as safe, who may take over, and what can still be lost.
#
# **What you will be able to do**
#
# * follow a record from the producer through two fetches to the moment it is committed
# * say what `acks` and `min.insync.replicas` promise, and show what they do not
# * tell why a replica has left the ISR, and what happens to writes meanwhile
# * foresee who leads next, and when nobody may
# * choose replication settings for a topic and prove the choice by a run
#
# Python alone is enough; with a real Kafka beside it, the side-by-side cells run on both. Allow
# 45 minutes.
#
# **The words**, as you will meet them in tables and panels:
#
# * **ISR**, in-sync replicas: the replicas that keep up with the leader, the leader included.
# * **LEO**, log end offset: where a replica's log ends; the next record gets this offset.
# * **HW**, high watermark: every in-sync replica has the records below it. These are *committed*,
#   and consumers read no further.
# * **leader epoch**: the number of a leadership. Each new leader gets the next one, and every
#   record carries the epoch in which it was written.
#
# The engine below runs with `lab.BRISK` settings: a dead broker is noticed after 1 s, where a
# cluster with Kafka's defaults takes 9 s.

# %% doorway tags=["setup"]
from kit import lab
from kit.probes import clients
from kit.probes.one_partition import cluster
from lessons.nb06_replication import durability_runs, election_runs, isr_runs, scenes

eng = lab.engine(settings=lab.BRISK)

# %% [markdown]
# ## Predict
#
# Three questions before you run anything. Answer from what you know or guess; the first answer is
# the one that is kept, and a wrong one is worth more than a lucky one.

# %% 06-1 tags=["stub", "predict", "quiz"]
lab.quiz("06-1")

# %% 06-1 tags=["solution", "predict", "quiz"]
lab.quiz("06-1", "b")

# %% 06-2 tags=["stub", "predict", "quiz"]
lab.quiz("06-2")

# %% 06-2 tags=["solution", "predict", "quiz"]
lab.quiz("06-2", "b")

# %% 06-3 tags=["stub", "predict", "quiz"]
lab.quiz("06-3")

# %% 06-3 tags=["solution", "predict", "quiz"]
lab.quiz("06-3", "c")

# %% [markdown]
# ## Run it on the engine
#
# The engine runs in virtual time here: one seed, one history, to the microsecond. Nothing below
# is a drawing; each table and each arrow comes from brokers that exchanged those very messages.
# Change a number in a cell and run it again.
#
# ### Roles belong to partitions, not to brokers
#
# Four brokers, two topics: `pair` has two copies of each partition, `fleet` three. Each partition
# has one leader and some followers, so a broker leads
# here, follows there, and is a stranger to the rest. There is no master broker. (One controller
# does exist, node 100, but it keeps the metadata and never sees a record.)

# %% roles tags=["sim"]
world = lab.world(seed=6, brokers=4)
world.create_topic("pair", assignment={0: [102, 101], 1: [101, 103]})
world.create_topic("fleet", partitions=4, replicas=3)
election_runs.roles(world)

# %% [markdown]
# Kill broker 101. Only the partitions that it led change their leader, always to an in-sync
# follower; where it followed, the leader goes on with one copy fewer. The controller has *fenced*
# the broker: it missed its heartbeats, so it is taken out of service until it reports again. A
# record lives in one partition, and its copies are copies of that partition: nothing ever crosses
# from `fleet-0` to `fleet-1`.

# %% roles-after-a-death tags=["sim"]
world.kill(101)
world.run(until=lambda w: w.is_fenced(101), for_s=10)
election_runs.roles(world)

# %% [markdown]
# ### A follower is a consumer that keeps everything
#
# Now one partition, leader 101, followers 102 and 103. The producer sends A, B, C, and a moment
# later D, E, F, G, both with `acks=all`. Read the diagram from the top: a request is orange, an
# answer blue, a decision green.
#
# Look for four things. A follower asks from its own log end, so *fetch from 3* also says *I have
# 0 to 2*. The leader learns this only from that next fetch. Its high watermark (HW) moves when
# the slowest in-sync follower has asked, and that is when the producer hears back. And the
# followers learn the new HW one fetch later still: `HW 3, records 3–6`.

# %% one-fetch-late tags=["sim"]
from kit.drawings.sequence import SequenceDiagram

world = cluster(minimum=2)
before = world.fork()
diagram = SequenceDiagram(world, "orders")
diagram.send("A", "B", "C")
diagram.run(for_s=0.01)
diagram.send("D", "E", "F", "G")
diagram.run(for_s=0.6)

# %% [markdown]
# The same seconds as a film. `fork` gave us the world as it was before the first record, so this
# is the same history, a frame for each step. Click the panel, then use Home, the arrow keys and
# End. A hatched cell is a record that this broker has and does not yet know to be committed; the
# leader knows first, the followers one fetch later.

# %% frame-by-frame tags=["read"]
from kit.probes.virtual import post
from lessons.nb06_replication.steps import Steps

steps = Steps(before, "orders")
post(before, "orders", "A", "B", "C")
steps.run(for_s=0.01)
post(before, "orders", "D", "E", "F", "G")
steps.run(for_s=0.6)
steps.panel(position=2)

# %% [markdown]
# ### What `acks` buys
#
# The most expensive millisecond in Kafka is the one between the leader's append and the
# followers' copies. Here the leader dies exactly when the producer hears its answer, in twenty
# worlds with different network delays. With `acks=1` the answer comes before the copies;
# sometimes they win the race, sometimes not. With `acks=0` nobody ever answers: for the producer
# the record is done when it is handed to the network, and there it is lost.

# %% acks tags=["sim"]
durability_runs.acks_and_a_dying_leader(worlds=20)

# %% [markdown]
# The code of a client is the same for one replica or three. `acks` is the only place where a
# producer chooses how much of the replication it waits for, and `acks=all` means all of the
# *current ISR*, not all replicas and not a majority.
#
# ### What puts a replica out of sync
#
# Two clocks decide. The controller *fences* a broker whose heartbeats stop
# (`broker.session.timeout.ms`): it leads nothing and is in no ISR until it reports again. And a
# leader drops a follower that was not caught up once in `replica.lag.time.max.ms`. Fetching is not enough, and being a few records behind is not too
# much. The last row is an overloaded leader: its healthy followers look guilty.

# %% ways-out tags=["sim"]
isr_runs.ways_out_of_the_isr()

# %% [markdown]
# While a silent follower is still in the ISR, every `acks=all` write waits for it. That is the
# price of a long `replica.lag.time.max.ms`; the price of a short one is an ISR that flaps, which
# is why its default went from 10 s to 30 s in Kafka 2.5. The leader does not look all the time
# but every half of the limit, so 10 s becomes 13 s here.

# %% flapping tags=["sim"]
isr_runs.isr_flapping()

# %% [markdown]
# ### Below the minimum
#
# `min.insync.replicas=2` turns "all of the ISR" into "at least two". Follow the log end and the
# HW through the four writes; `NONE` is how Kafka spells "no error". B was appended and then timed out, yet a consumer reads it later: a
# time-out says *unknown*, never *no*. C was refused before the append, so the log did not grow. D
# got through with `acks=1`, and since KIP-966 the HW stands still below the minimum, so nobody
# could read D until a follower was back.

# %% below-the-minimum tags=["sim"]
isr_runs.below_the_minimum()

# %% [markdown]
# ### Who may lead next
#
# Since Kafka 4.1 a new cluster also keeps *eligible leader replicas* (ELR, KIP-966). When the ISR
# falls below the minimum the HW stops, so whoever leaves it from then on still holds every
# committed record, and the controller remembers that. Below, three brokers are killed one after
# another, all with SIGKILL, and started again in the same order. 103 left while two were enough,
# so it may lack records. 102 is in the ELR, but after a kill it may have lost what was not
# flushed, and it loses its place. So does 101; but with nobody left in either list, the last
# known leader leads again, and Kafka counts that as an unclean election.

# %% eligible tags=["sim"]
election_runs.eligible_leaders()

# %% [markdown]
# With `min.insync.replicas=1` there is one candidate and no spare. Below, A is on all three, B
# only on 101 and 102. When these die, 103 is alive, has a log, and may not lead. An operator may
# allow `unclean.leader.election.enable=true`; the controller looks for such partitions every five
# minutes. Then 103 leads, and B, which was acknowledged with `acks=all`, is gone.

# %% unclean tags=["sim"]
election_runs.unclean_election()

# %% [markdown]
# ### Leaders pile up, and go home
#
# The first replica of a partition is its *preferred* leader; at creation these are spread evenly.
# A restarted broker comes back as a follower, so after a rolling restart the load is lopsided,
# and the broker that was restarted last leads nothing. One preferred election mends it. With
# `auto.leader.rebalance.enable=true`, Kafka's default, the controller holds it every
# `leader.imbalance.check.interval.seconds`.

# %% rolling-restart tags=["sim"]
election_runs.leaders_after_a_rolling_restart()

# %% [markdown]
# The same restart with the check on, every 5 seconds instead of 300. (The course's clusters run
# with it off, so that no election happens that you did not cause.)

# %% automatic-balance tags=["sim"]
automatic = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 5}
election_runs.leaders_after_a_rolling_restart(**automatic)

# %% [markdown]
# ### How many replicas
#
# Seven settings, four brokers, the same two losses: 101 is stopped for maintenance, then 102
# dies. Replication factor minus `min.insync.replicas` is the number of brokers you can be without
# and still write. One above lets you restart a broker; two above lets one more die meanwhile.

# %% how-many tags=["sim"]
durability_runs.what_survives()

# %% [markdown]
# More replicas do not make writes slower by their number, only by the slowest of them in the ISR.
# And a leader that is slow makes everybody wait who uses it, whatever the factor. Broker 103 is
# 40 ms away from all others here: compare the rows with and without it.

# %% slow-broker tags=["sim"]
durability_runs.latency_with_a_slow_broker()

# %% [markdown]
# ### What replication cannot do
#
# Replication guards against losing some copies, not against losing all at once. A committed
# record is in the memory of every in-sync replica; Kafka does not flush to disk before it
# acknowledges. So if the power fails everywhere in the same second, three copies vanish together.
# That is what racks and zones are for.

# %% all-at-once tags=["sim"]
durability_runs.what_still_loses_records()

# %% [markdown]
# ## Read the code that did it
#
# This is the engine's own rule, the one that ran in every cell above. Find the three answers in
# it: what the HW is the minimum of, why it stood still below the minimum, and why it never goes
# back while the leader stays.
#
# Two names in it. `self.isr.maximal` is the ISR plus a follower that the leader has asked the
# controller to add, and has no answer about yet: it may be a member already, and whoever is one
# must hold every committed record. `_is_rejoining` is a follower outside the ISR that is caught up
# and may be let in: without waiting for it, the HW would run ahead of it again and again, and it
# would never get in.

# %% code-high-watermark tags=["read"]
from engine.replication.partition import Partition

lab.show(Partition.advance_high_watermark)

# %% [markdown]
# And this is an election, the whole of it: the ISR if it has anybody, else the ELR, in the order
# of the replica list. `rules.usable` asks only whether the broker is registered and not fenced.
# Nobody counts records.

# %% code-election tags=["read"]
from engine.control import partition_changes

lab.show(partition_changes._elect)

# %% [markdown]
# ## The same on a real Kafka
#
# From here on a cell talks to real sockets with real clients. `lab.both` runs one function on the
# engine and on Kafka 4.3.1 and compares what came out; a difference that nobody has explained
# fails the cell. Where no real Kafka is at hand, it runs on the engine alone and says how to get
# one.

# %% real-side tags=["live"]
real = lab.real()
real or lab.real_absence()

# %% [markdown]
# First a healthy cluster. The same bytes lie at the same offset on three brokers. A write sent to
# a follower is refused, and a client never notices: it asks for the leader and tries again. A
# read from a follower is answered (KIP-392), though ordinary consumers go to the leader unless
# the brokers have a `replica.selector.class`. (`NONE` again is Kafka's "no error".)

# %% leaders-and-followers tags=["both"]
lab.both(scenes.leaders_and_followers)

# %% [markdown]
# ### The leader dies under load
#
# A producer sends a record every few milliseconds with `acks=all`. Then the leader is killed,
# and a little later a second broker. Each observation below was made on both sides.

# %% leader-dies tags=["both"]
loads = {}


def leader_dies_under_load(cluster):
    return scenes.leader_dies_under_load(cluster, loads)


outcome = lab.both(leader_dies_under_load)
assert outcome.engine["acknowledged records missing"] == 0
outcome

# %% [markdown]
# No acknowledged record is missing, the epoch went up by one, and the ISR shrank and grew back.
# With two of three gone the broker says `NOT_ENOUGH_REPLICAS`. A client with retries on would
# have hidden that and reported a time-out at the end; that is why the cell sends with
# `retries=0`. The write with `acks=1` was taken, and nobody could read it until the others were
# back.
#
# This is what the producer saw meanwhile. The gap has two parts: the controller's patience until
# it names another leader, then the client's search for it. The patience is
# `broker.session.timeout.ms`: 9 s by default, 3 s on the course's clusters, and 1 s where the
# engine runs alone. The search is librdkafka's own, asks again about once a second, and takes one
# or two seconds more.

# %% the-gap tags=["live"]
from lessons.nb06_replication.chart import AcknowledgedPerMoment

AcknowledgedPerMoment(loads)

# %% [markdown]
# ### Out of sync may not lead
#
# A link is cut, so 103 falls behind and leaves the ISR; the write that waited for it is
# acknowledged then. When 101 goes too, 103 is alive and useless: a preferred election is refused.
# `ElectLeaders` with type UNCLEAN is the emergency exit, and it costs record B for good: even
# 101, which had it, follows its new leader and cuts it off.

# %% out-of-sync tags=["both"]
lab.both(scenes.out_of_sync_may_not_lead)

# %% [markdown]
# ## Break it
#
# Your turn to be the accident. A slow load writes two records a second to `orders`, with
# `min.insync.replicas=2`. Press the buttons, in any order:
#
# * **kill** the leader, count to two, watch the crown move and the epoch digit in new cells
#   change
# * **pause** a follower: its tick goes, the others carry on; **resume** it and see it catch up
# * **cut** the leader from one follower and from the other: new cells stay hatched
# * **kill** two brokers and read the sentence below the logs
#
# The timeline at the bottom keeps every named event: go back and look again.

# %% break-it tags=["live"]
from kit.probes.background_load import BackgroundLoad

lab.mend(eng)
eng.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
load = BackgroundLoad(eng, "orders", period_s=0.5)
load.wait_for(1)
lab.panel(eng, "orders")

# %% [markdown]
# When you have had enough, this mends the cluster, ends the load, and looks for every record that
# was acknowledged while you were at it.

# %% what-is-left tags=["live"]
lab.mend(eng)
load.close()
missing = set(load.acknowledged) - set(clients.values(eng, "orders"))
assert not missing, f"lost: {sorted(missing)}"
load

# %% [markdown]
# ## Your turn
#
# Five exercises. Write your answer over the stub, run it, then run the check below it. A judge
# outside this kernel decides; a wrong answer gets the smallest case where it fails.
# `lab.hint("06-4")` gives three hints and then a solution.
#
# **The rule of the high watermark.** `log_ends` is what the leader knows: a log end per replica,
# its own included. `isr` is a list, `min_isr` the topic's `min.insync.replicas`, `current` the HW
# before. Return the HW after.


# %% 06-4 tags=["stub"]
def high_watermark(log_ends, isr, min_isr, current):
    """The high watermark after a fetch, as Kafka 4.3 has it."""


# %% 06-4 tags=["solution"]
def high_watermark(log_ends, isr, min_isr, current):
    """The high watermark after a fetch, as Kafka 4.3 has it."""
    if len(isr) < min_isr:
        return current
    return max(current, min(log_ends[broker] for broker in isr))


# %% 06-4 tags=["check"]
lab.check("06-4", high_watermark)

# %% [markdown]
# **The election.** Give the broker that leads next, or -1 for nobody. `replicas` is the
# assignment in its order, `alive` the brokers that are not fenced; unclean election is off.


# %% 06-5 tags=["stub"]
def elect(replicas, isr, elr, alive):
    """The next leader of a partition, or -1."""


# %% 06-5 tags=["solution"]
def elect(replicas, isr, elr, alive):
    """The next leader of a partition, or -1."""
    in_sync = [broker for broker in isr if broker in alive]
    candidates = in_sync or [broker for broker in elr if broker in alive]
    return next((broker for broker in replicas if broker in candidates), -1)


# %% 06-5 tags=["check"]
lab.check("06-5", elect)

# %% [markdown]
# **The first metric on every dashboard.** `UnderReplicatedPartitions` is counted by each broker
# over the partitions *it leads*. From a list of partitions (`{"leader": 101, "replicas": [101,
# 102, 103], "isr": [101, 103]}`; leader -1 is offline) give the metric of each broker that is not
# zero, as a dictionary.


# %% 06-6 tags=["stub"]
def under_replicated(partitions):
    """UnderReplicatedPartitions per broker, zeros left out."""


# %% 06-6 tags=["solution"]
def under_replicated(partitions):
    """UnderReplicatedPartitions per broker, zeros left out."""
    counts = {}
    for partition in partitions:
        leader = partition["leader"]
        if leader != -1 and len(partition["isr"]) < len(partition["replicas"]):
            counts[leader] = counts.get(leader, 0) + 1
    return counts


# %% 06-6 tags=["check"]
lab.check("06-6", under_replicated)

# %% [markdown]
# **Settings for payments.** Four brokers. Writes must go on while one broker is stopped for an
# upgrade and another dies. No acknowledged payment may be lost to the death of any one broker,
# even in the hour when only two are left. The judge runs your settings in the simulator and tells
# you what became of the payments.

# %% 06-7 tags=["stub"]
payments = {"replication.factor": 1, "min.insync.replicas": 1, "acks": "1"}

# %% 06-7 tags=["solution"]
payments = {"replication.factor": 4, "min.insync.replicas": 2, "acks": "all"}

# %% 06-7 tags=["check"]
lab.check("06-7", payments)

# %% [markdown]
# **Bring the leaders home, on a live cluster.** The next cell makes `fleet` with six partitions,
# writes a record, and restarts broker 101, which now leads nothing.

# %% lopsided tags=["setup"]
lab.mend(eng)
eng.create_topic("fleet", partitions=6, replicas=3)
clients.send(eng, "fleet", "keep me")
eng.stop(101)
eng.start(101)
eng.wait_until(clients.whole("fleet"), timeout_s=40, what="101 to be in sync")

# %% [markdown]
# Use the AdminClient of confluent-kafka to make every partition of `fleet` led by its preferred
# replica again, without losing the record. The judge looks at the cluster itself.

# %% 06-8 tags=["stub"]
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient

admin = AdminClient({"bootstrap.servers": eng.bootstrap})
partitions = [TopicPartition("fleet", index) for index in range(6)]

# %% 06-8 tags=["solution"]
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient

admin = AdminClient({"bootstrap.servers": eng.bootstrap})
partitions = [TopicPartition("fleet", index) for index in range(6)]
results = admin.elect_leaders(ElectionType.PREFERRED, partitions).result()
moved = sorted(partition.partition for partition, error in results.items() if error is None)
moved

# %% 06-8 tags=["check"]
lab.check("06-8", cluster=eng)

# %% [markdown]
# ## Source check
#
# What you may have read elsewhere, and what the runs above say about Kafka 4.3. Each line points
# at the section that settles it.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | leaders serve all reads and writes | writes, yes; a follower answers a consumer's fetch (since 2.4, KIP-392) | [The same on a real Kafka](#The-same-on-a-real-Kafka) |
# | any follower can take over | only one in the ISR, or eligible; any other costs records | [Out of sync may not lead](#Out-of-sync-may-not-lead), [Who may lead next](#Who-may-lead-next) |
# | with n replicas, n − 1 failures lose nothing | only for records that all n hold: B was acknowledged, and one more failure lost it | [Who may lead next](#Who-may-lead-next) |
# | a replica in the ISR is never behind the latest record | caught up once in `replica.lag.time.max.ms` is enough | [What puts a replica out of sync](#What-puts-a-replica-out-of-sync) |
# | `acks=all` waits for all replicas, or is not answered while one is down | it waits for the current ISR, and a silent member leaves it | [What puts a replica out of sync](#What-puts-a-replica-out-of-sync), [Out of sync may not lead](#Out-of-sync-may-not-lead) |
# | a minimum ISR is needed before data can be read | `min.insync.replicas` refuses writes; the HW waits for it only since KIP-966 (3.7) | [Below the minimum](#Below-the-minimum) |
# | too few replicas give `NOT_ENOUGH_REPLICAS_AFTER_APPEND` | now such a write times out: with the HW standing still, nothing is left to answer late | [Below the minimum](#Below-the-minimum) |
# | committed means on disk | committed means on every in-sync replica, flushed or not | [What replication cannot do](#What-replication-cannot-do) |
# | a partition is offline because message counts differ | nobody compares counts: what matters is who is in the ISR or ELR | [Read the code that did it](#Read-the-code-that-did-it) |
# | the `acks=all` record is safe in the last replica's hands | if that one is not in the ISR, it may not even lead | [Who may lead next](#Who-may-lead-next) |
#
# And the settings. This asks both brokers for their own defaults, and tries to change one while
# they run.

# %% settings tags=["both"]
lab.both(scenes.settings_and_defaults)

# %% [markdown]
# So: 30 s for `replica.lag.time.max.ms` (10 s before 2.5, KIP-537); 9 s for the session (18 s in
# ZooKeeper's last years, and ZooKeeper left in 4.0); one replica by default, for `createTopics`
# with -1 as well as for topics that create themselves; no
# `leader.imbalance.per.broker.percentage` any more, the controller moves every leader that is not
# at home. With ELR on, the minimum may be changed for the whole cluster or for a topic, never for
# one broker.
#
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>Is there a master broker in Kafka?</b></summary>
# Not for data: leadership belongs to partitions and is spread over the brokers (cell
# <i>roles</i>). One active controller keeps the metadata, and groups and transactions have
# coordinators, each also just the leader of a partition.
# </details>
# <details><summary><b>What exactly does acks=all guarantee?</b></summary>
# At the answer, every member of the current ISR has the record, and with min.insync.replicas=n
# that were at least n. It survives as long as one of them does and no unclean election is held.
# It was not flushed. (<a href="#What-acks-buys">What acks buys</a>, <a
# href="#Below-the-minimum">Below the minimum</a>, <a href="#What-replication-cannot-do">What
# replication cannot do</a>.)
# </details>
# <details><summary><b>A follower is 200 records behind. Is it in sync?</b></summary>
# The number says nothing. If it was caught up at some moment within replica.lag.time.max.ms and
# its broker is not fenced, it is (<a href="#What-puts-a-replica-out-of-sync">What puts a replica
# out of sync</a>).
# </details>
# <details><summary><b>Why does the high watermark lag behind on followers?</b></summary>
# It travels in fetch answers. The leader moves it when the last in-sync follower asks for more;
# the followers hear of it with their next fetch (<a
# href="#A-follower-is-a-consumer-that-keeps-everything">A follower is a consumer that keeps
# everything</a>). Notebook 07 shows
# what goes wrong in that window.
# </details>
# <details><summary><b>RF 3 and min.insync.replicas 3: safer?</b></summary>
# One broker restarts and all writes stop (<a href="#How-many-replicas">How many replicas</a>).
# Keep the factor one above the
# minimum, two above to survive a failure during maintenance.
# </details>
# <details><summary><b>All brokers of a partition are back, yet it has no leader. Why?</b></summary>
# Those that are back are neither in the ISR nor eligible: the last in-sync one is still missing,
# or came back uncleanly. Bring that one back, or pay with an unclean election (cells
# <i>eligible</i>, <i>out-of-sync</i>).
# </details>
# <details><summary><b>Under-replicated partitions rise on all brokers but one. Where do you look?</b></summary>
# At the one that does not report: the metric is counted by leaders, so the broken broker is the
# one missing from their ISRs. If they rise on one broker only, that leader is overloaded and its
# followers' fetches wait in the same queue as everybody's (<a
# href="#What-puts-a-replica-out-of-sync">What puts a replica out of sync</a>, last row).
# </details>
#
# ## Quiz
#
# Several letters may be right: `lab.quiz("06-9", "a", "c")`.

# %% 06-9 tags=["stub", "predict", "quiz"]
lab.quiz("06-9")

# %% 06-9 tags=["solution", "predict", "quiz"]
lab.quiz("06-9", "a", "d")

# %% 06-10 tags=["stub", "predict", "quiz"]
lab.quiz("06-10")

# %% 06-10 tags=["solution", "predict", "quiz"]
lab.quiz("06-10", "a", "c", "d", "e")

# %% 06-11 tags=["stub", "predict", "quiz"]
lab.quiz("06-11")

# %% 06-11 tags=["solution", "predict", "quiz"]
lab.quiz("06-11", "b", "c")

# %% [markdown]
# ## What real Kafka does beyond this
#
# * The engine has one controller; a real cluster has a quorum of them, and loses none of the
#   above when the active one dies (notebook 05).
# * Requests pass through a pool of handler threads, so followers' fetches and clients' requests
#   compete. The engine has no such pool; the slow-leader row stands in for it (notebook 04).
# * Followers throttle themselves during reassignment, and a new replica joins the ISR only when
#   it has caught up (notebook 13).
# * Consumers may read from the nearest replica with `client.rack` and a `replica.selector.class`
#   (notebook 14).
# * Brokers report all of this as JMX metrics: `UnderReplicatedPartitions`,
#   `UnderMinIsrPartitionCount`, `OfflinePartitionsCount`, `IsrShrinksPerSec` (notebook 18).
# * What a returning leader must cut from its log, and how it finds out, is the next notebook: 07.
