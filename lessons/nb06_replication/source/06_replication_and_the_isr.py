# %% [markdown]
# # 06 · Replication and the ISR
#
# A broker dies at three in the morning, and no record is lost: two other brokers hold the same
# records, and one of them takes over. This notebook takes that sentence apart. What is copied,
# when is a record safe, which replica may take over, and what can still be lost?
#
# **What you will be able to do**
#
# * follow a record from the producer through two fetches to the moment it is committed
# * say what `acks` and `min.insync.replicas` promise, and show what they do not
# * explain why a replica left the ISR, and what happens to writes meanwhile
# * predict which replica leads next, and when none may
# * choose replication settings for a topic and prove the choice with a run
#
# **Time:** {minutes}.
#
# Most sections ask you a question first. Answer it, run the next cell, and read the verdict below
# its output. The values at the top of a cell are meant to be changed: change one and run the cell
# again. `lab.term("ISR")` looks up a term. Python alone is enough. With real Kafka beside the
# engine, the cells with `lab.both` run on the engine and on Kafka. Running alone, the engine
# notices a dead broker after 1 s (`lab.BRISK`); Kafka's default is 9 s.
#
# ### Three copies
#
# Broker 101 leads a partition; 102 and 103 follow. A follower copies by asking the leader: *fetch
# from offset n*. Here n is the follower's own **log end**, the offset that the next record will
# get. The leader and the followers that keep up are the *in-sync replicas*, the **ISR**. The leader
# computes the **high watermark** (HW): every in-sync replica has all the records below that offset.
# Consumers read up to the HW.
#
# The run below is in virtual time: one seed gives one history, to the microsecond. A producer sends
# three records, and the run stops at the event that completes the third copy.

# %% doorway tags=["setup"]
from confluent_kafka import ElectionType
from IPython.display import display

from kit import lab
from kit.drawings.chart import Chart
from kit.drawings.watched import Watched
from kit.probes import clients
from kit.probes.background_load import BackgroundLoad
from kit.probes.virtual import describe, ends, isr, post, readable, send
from lessons.nb06_replication import durability_runs, election_runs, isr_runs, scenes
from lessons.nb06_replication.moments import acknowledged_over_time

eng = lab.engine(settings=lab.BRISK)

# %% 06-1 tags=["stub", "predict"]
lab.predict("06-1")

# %% 06-1 tags=["solution", "predict"]
lab.predict("06-1", 0)

# %% one-fetch-late tags=["sim"]
records, brokers = ("A", "B", "C"), [101, 102, 103]
later_ms = 0  # how much longer the world runs: try 1, then 600

world = lab.world(seed=6)
world.create_topic("orders", assignment={0: brokers})
world.run(for_s=2)  # the followers have begun to fetch
before = world.fork()
post(world, "orders", *records, acks="all")  # and does not wait for the answer
world.run(until=lambda w: all(end == len(records) for end, _ in ends(w, "orders").values()))
world.run(for_s=later_ms / 1000)
display(describe(world, "orders"))
log_end, high_watermark = ends(world, "orders")[101]
lab.verdict("06-1", {"log end": log_end, "high watermark": high_watermark})

# %% [markdown]
# The copies exist, but the leader does not know it yet: it is one fetch behind. A follower fetches
# from its own log end, so *fetch from 3* also says *I have 0 to 2*. The leader learns of the copies
# only from this next fetch. Then its HW moves to 3, the three records are **committed**, and a
# producer that waits with `acks=all` gets its answer. The followers learn the new HW from the
# answer to that fetch.
#
# Here is the same run as a film, with a frame for each step, and with D to G sent a moment later.
# Click it, then use Home, the arrow keys and End. A hatched cell is a record that the broker has
# but does not yet know to be committed.

# %% frame-by-frame tags=["read"]
again = before.fork()
post(again, "orders", *records)
again.run(for_s=0.01)
post(again, "orders", "D", "E", "F", "G")
again.run(for_s=0.6)
film = lab.panel(again, "orders")
film.jump("write")
film

# %% [markdown]
# ### The leader dies after its answer
#
# A producer chooses how much of this it waits for. With `acks=all` it waits until its records are
# committed. With `acks=1` the leader answers as soon as its own log has them. With `acks=0`
# it gets no answer.
#
# The twenty worlds below differ only in their network delays. In each, a producer writes A, then B,
# and the leader is killed at the moment the answer to B arrives. Later, the killed broker is
# started again; its log is still on its disk.

# %% 06-12 tags=["stub", "predict"]
lab.predict("06-12")

# %% 06-12 tags=["solution", "predict"]
lab.predict("06-12", "a")

# %% acks tags=["sim"]
acks, victim, worlds = "1", 101, 20
delay_ms = 0  # added to each message between the brokers

missing, missing_for_good = 0, 0
for seed in range(worlds):
    world = lab.world(seed=seed)
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    for follower in (102, 103):
        world.slow(101, follower, delay_ms)
    world.run(for_s=2)
    send(world, "orders", "A", acks=acks)
    send(world, "orders", "B", acks=acks)  # returns with the answer
    world.kill(victim)
    world.run(until=lambda w: w.leader("orders", 0) not in (victim, -1), for_s=10)
    world.run(for_s=4)
    missing += "B" not in readable(world, "orders")
    world.start(victim)
    world.run(for_s=6)
    missing_for_good += "B" not in readable(world, "orders")
print(f"acks={acks}: B is missing under the new leader in {missing} of {worlds} worlds,")
print(f"and when {victim} is back in {missing_for_good} of {worlds}.")
seen = {"worlds": worlds, "missing": missing, "missing for good": missing_for_good}
lab.verdict("06-12", seen)

# %% [markdown]
# With `acks=1`, the answer and the copies race each other. Where the answer wins, the new leader
# has never seen B. When 101 comes back, it is a follower: it cuts off the records that its leader
# does not have, B included. Set `acks` to `"all"`, then to `"0"`, or delay the links by 5 ms.
#
# ### A slow follower
#
# Now the producer uses `acks=all`, and the topic has `min.insync.replicas=2`. Messages between 101
# and 103 take 40 ms each way. Broker 103 keeps fetching and stays in the ISR; 102 fetches without
# delay.

# %% 06-2 tags=["stub", "predict"]
lab.predict("06-2")

# %% 06-2 tags=["solution", "predict"]
lab.predict("06-2", "b")

# %% slow-follower tags=["sim"]
minimum, acks, delay_ms = 2, "all", 40


def write(acks, minimum, delay_ms):
    world = lab.world(seed=6)
    config = {"min.insync.replicas": minimum}
    world.create_topic("orders", assignment={0: [101, 102, 103]}, config=config)
    world.slow(101, 103, delay_ms)
    world.run(for_s=2)
    answer = send(world, "orders", "A", acks=acks)
    holders = [broker for broker, (end, _) in ends(world, "orders").items() if end > 0]
    return answer.after_ms, holders


wait_ms, holders = write(acks, minimum, delay_ms)
delays = (0, 20, 40, 80, 160)
lines = {"acks=1": ("1", 2), "acks=all, minimum 1": ("all", 1), "acks=all, minimum 3": ("all", 3)}
waits = {name: [(d, write(*how, d)[0]) for d in delays] for name, how in lines.items()}
display(Chart("One slow follower in the ISR", waits, x="delay of 103, ms", y="wait, ms"))
seen = {"holders": holders, "wait": wait_ms, "delay": delay_ms, "acks": acks}
lab.verdict("06-2", seen)


# %% stalled tags=["read"]
# 103 freezes for stall_s. Try lag_time_max_s=5: when does 103 leave the ISR?
def stalled(stall_s=12, lag_time_max_s=30):
    limits = {"replica.lag.time.max.ms": lag_time_max_s * 1000, "broker.session.timeout.ms": 60_000}
    world = lab.world(seed=6, settings=limits)
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    world.run(for_s=2)
    leader = world.replica(101, "orders", 0)
    watched = Watched(world, {
        "103 stands still": lambda w: w.cluster.states[103] == "paused",
        "103 is in the ISR": lambda w: 103 in isr(w, "orders"),
        "A is not committed": lambda w: leader.high_watermark < leader.log.log_end_offset,
    })  # fmt: skip
    world.pause(103)
    post(world, "orders", "A", acks="all")
    watched.run(for_s=stall_s)
    world.resume(103)
    watched.run(for_s=60 - stall_s)
    return watched.spans(f"A is committed after {watched.lasted('A is not committed'):.1f} s")


lab.slider(stalled, stall_s=range(1, 51), lag_time_max_s=(2, 5, 10, 30, 45))

# %% [markdown]
# `acks=all` means all of the *current ISR*: not all replicas, not a majority, and not
# `min.insync.replicas`. The two `acks=all` lines coincide, so the minimum does not change the wait.
# With `acks=all`, each write waits for twice the delay: once for the record, once for the fetch
# that confirms it. The minimum decides something else, which the next section shows.
#
# A leader does not wait forever. It drops a follower that has not caught up even once within
# `replica.lag.time.max.ms` (30 s by default). It checks at intervals of half the limit, so a
# follower is out after 1 to 1.5 times the limit. (A frozen *broker* is fenced sooner, after
# `broker.session.timeout.ms`, 9 s by default; the slider cell sets 60 s.) A long limit makes writes
# wait; a short one costs a copy at each hiccup.
#
# ### Below the minimum
#
# Here, `lab.both` runs one function on the engine and on Kafka 4.3.1, with real clients on real
# sockets, and compares what each side saw. An unexplained difference makes the cell fail. `NONE` is
# Kafka's name for "no error".

# %% 06-13 tags=["stub", "predict"]
lab.predict("06-13")

# %% 06-13 tags=["solution", "predict"]
lab.predict("06-13", "A B D")

# %% below-the-minimum tags=["both"]
minimum, last_acks = 2, "1"


def below_the_minimum(cluster):
    config = {"min.insync.replicas": minimum}
    cluster.create_topic("orders", assignment={0: [101, 102, 103]}, config=config)
    clients.send(cluster, "orders", "A")
    cluster.cut(101, 102)
    cluster.cut(101, 103)
    b = clients.send(cluster, "orders", "B", timeout_ms=1_000)
    cluster.wait_until(clients.in_sync("orders", 101), 60, "the ISR to shrink to 101")
    c = clients.send(cluster, "orders", "C")
    d = clients.send(cluster, "orders", "D", acks=last_acks)
    log = clients.partition(cluster, "orders")["logs"][101]
    meanwhile = clients.values(cluster, "orders")
    cluster.heal()
    cluster.wait_until(lambda c: len(clients.values(c, "orders")) == log["log_end_offset"], 60)
    return {
        "B, acks=all, ISR 101 102 103": b,
        "C, acks=all, ISR 101": c,
        f"D, acks={last_acks}, ISR 101": d,
        "log end and high watermark": [log["log_end_offset"], log["high_watermark"]],
        "a consumer reads meanwhile": meanwhile,
        "a consumer reads in the end": clients.values(cluster, "orders"),
    }


outcome = lab.both(below_the_minimum)
display(outcome)
lab.verdict("06-13", outcome)

# %% [markdown]
# Three writes got three answers. B was appended, but its answer then waited for two silent
# followers. A timeout means *unknown*, never *no*. C was refused before the append, so the log did
# not grow. D was accepted, because the minimum applies only to `acks=all`. But since 3.7 (KIP-966),
# the HW does not move while the ISR is below the minimum, so no consumer could read D until a
# follower came back.
#
# ### The leader dies under load
#
# A producer writes a record every few milliseconds with `acks=all`. Then the leader's process
# receives SIGKILL. The controller, node 100, must elect another leader, and the clients must find
# it.

# %% 06-3 tags=["stub", "predict"]
lab.predict("06-3")

# %% 06-3 tags=["solution", "predict"]
lab.predict("06-3", "d")

# %% leader-dies tags=["both"]
victim, acks = 101, "all"
loads = {}


def leader_dies(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    with BackgroundLoad(cluster, "orders", acks=acks) as load:
        load.wait_for(200)
        before = clients.partition(cluster, "orders")
        cluster.kill(victim)
        load.mark(f"{victim} killed")
        cluster.wait_until(lambda c: victim not in clients.partition(c, "orders")["isr"], 60)
        load.wait_for(200)
    after = clients.partition(cluster, "orders")
    loads[cluster.name] = load
    missing = set(load.acknowledged) - set(clients.values(cluster, "orders"))
    return {
        "at first": scenes.standing(before),
        "after the kill": scenes.standing(after),
        "under-replicated partitions": scenes.under_replicated(cluster),
        "errors at the producer": len(load.failed),
        "acknowledged and missing": len(missing),
        "longest gap": lab.measured(load.longest_pause_s, "s"),
    }


outcome = lab.both(leader_dies)
display(outcome, acknowledged_over_time(loads))
lab.verdict("06-3", outcome)

# %% [markdown]
# No acknowledged record is missing, the epoch went up by one, and the producer saw no error: it
# retried. What it did see was the gap. The controller hears no heartbeat from 101 for
# `broker.session.timeout.ms` (3 s beside real Kafka), *fences* it, and only then elects a leader.
# Then the client looks for that leader, and librdkafka asks only about once a second.
#
# ### Out of sync may not lead
#
# Three topics, `careful`, `bold` and `patient`, have their replicas on 101 and 103, and each holds
# A. The link is cut, so 103 falls behind. B is written to each topic with `acks=all`, and is
# acknowledged as soon as 103 is out of the ISR. Then 101 is stopped; 103 stays alive.
#
# `bold` allows an *unclean election*: any live replica may lead. For `careful`, an operator
# requests two elections: a preferred one (for the first replica in the list, if it is in sync),
# then an unclean one. `patient` is left alone. Finally, the link heals and 101 returns.
#
# While no replica leads `careful`, the cell runs Kafka's own tool, as you would at work.

# %% 06-14 tags=["stub", "predict"]
lab.predict("06-14")

# %% 06-14 tags=["solution", "predict"]
lab.predict("06-14", "A")

# %% out-of-sync tags=["both"]
setting, unclean, elections = "unclean.leader.election.enable", "true", ["PREFERRED", "UNCLEAN"]
screens, topics = {}, {"careful": "false", "bold": unclean, "patient": "false"}


def out_of_sync(cluster):
    for topic, allowed in topics.items():
        cluster.create_topic(topic, assignment={0: [101, 103]}, config={setting: allowed})
        clients.send(cluster, topic, "A")
    cluster.cut(101, 103)
    sent = scenes.send_to_each(cluster, topics, "B")  # waits for 103
    cluster.stop(101)
    cluster.wait_until(lambda c: 101 not in map(c.leader, topics), 60)
    leaders = [cluster.leader(topic) for topic in topics]
    screens[cluster.name] = lab.tool(cluster, "kafka-topics", "--describe", "--topic", "careful")
    answers = [scenes.elect(cluster, "careful", ElectionType[kind]) for kind in elections]
    cluster.heal()
    cluster.start(101)
    cluster.wait_until(lambda c: all(clients.whole(t)(c) for t in topics), 60, "101 to be back")
    return {
        f"101 stopped: leaders of {', '.join(topics)}": leaders,
        "answers to the operator": answers,
        **{f"{t}: a consumer reads": clients.values(cluster, t) for t in topics},
        "B, acknowledged, is missing in": scenes.missing(cluster, "B", sent),
    }


outcome = lab.both(out_of_sync)
word, last = ("Shrinking ISR", 3) if lab.real() else ("isr careful", 4)  # Kafka's, the engine's
display(outcome, *screens.values(), lab.broker_log(lab.real() or eng, 101, word, last=last))
lab.verdict("06-14", outcome)

# %% [markdown]
# 103 is alive and has a log, but it may not lead: its log lacks B, which was acknowledged. An
# unclean election is the emergency exit. It loses B for good, because even 101, which had B,
# follows the new leader and cuts B off. `patient` was unavailable while 101 was away, but it lost
# nothing.
#
# Read the raw output. It says `Leader: none`, the `Isr` is empty, and `Elr` names a broker that is
# down: that broker is the one to start. The next section explains the name. On real Kafka, the
# broker's own line, *Shrinking ISR*, explains why 103 had to go. The line shows both log ends, and
# the time at which 103 was last caught up. That time is what counts. On the engine, the trace shows
# the ISR of `careful`: first without 103, then empty, then only 103 (after the forced election),
# then both.
#
# ### Who may lead next
#
# `Elr` is a second list. A replica that leaves the ISR enters this list if the ISR is then below
# `min.insync.replicas`. In the run above, with a minimum of 1, only the last replica did so. From
# then on the HW does not move, so the replica still holds every committed record. As of Kafka 4.1,
# the controller remembers such *eligible leader replicas*, the **ELR** (KIP-966). A broker's newest
# records are only in its machine's page cache; the broker does not wait until they are on disk.
#
# Below, three brokers are killed one after another and then started again in the same order.

# %% 06-15 tags=["stub", "predict"]
lab.predict("06-15")

# %% 06-15 tags=["solution", "predict"]
lab.predict("06-15", 101)

# %% eligible tags=["sim"]
killed, started = (103, 102, 101), (103, 102, 101)
minimum, clean = 2, False  # clean: stopped in order, with all files flushed

world = lab.world(seed=6)
config = {"min.insync.replicas": minimum}
world.create_topic("orders", assignment={0: [101, 102, 103]}, config=config)
world.run(for_s=2)
send(world, "orders", "A")
story, first_leader = [election_runs.standing(world, "all up")], None
for broker in killed:
    world.stop(broker) if clean else world.kill(broker)
    world.run(for_s=5)  # it is fenced, and out of the ISR
    story.append(election_runs.standing(world, f"{broker} is {'stopped' if clean else 'killed'}"))
for broker in started:
    world.start(broker)
    world.run(for_s=6)
    story.append(election_runs.standing(world, f"{broker} is started"))
    if first_leader is None and world.leader("orders", 0) != -1:
        first_leader = broker
display(election_runs.table(story))
lab.verdict("06-15", {"started": list(started), "a leader after the start of": first_leader})

# %% [markdown]
# 103 left while the ISR still had two other members, so it may lack records. 102 was eligible, but
# it was killed. A killed process leaves the page cache intact; a power failure does not. The
# controller cannot tell which of the two happened, so when 102 starts, it is taken off the list.
# The same happens to 101. Now both lists are empty, and no broker is a better choice than the last
# leader (`LastKnownElr`): it is elected, even where unclean elections are off. Set `clean = True`,
# and 102 may lead.
#
# ## Read the code that did it
#
# This is the engine's rule for the HW, which ran in every cell above. Find three answers in it:
# what the HW is the minimum of, why it did not move while the ISR was below the minimum, and why it
# never goes back under the same leader. `self.isr.maximal` is the ISR plus a follower that the
# leader has asked the controller to add; `_is_rejoining` is true for a follower that has caught up
# and waits to be let in.
#
# The second function is the whole election: a valid leader stays; otherwise it chooses from the ISR
# if the ISR has any members, otherwise from the ELR, in the order of the replica list.
# `rules.usable` checks only whether the broker is registered and not fenced. No records are
# counted. Before this function runs, the controller has taken fenced brokers out of the ISR.

# %% code-high-watermark tags=["read"]
from engine.control import partition_changes
from engine.replication.partition import Partition

lab.show(Partition.advance_high_watermark, partition_changes._elect)

# %% [markdown]
# ## Break it
#
# A slow load writes two records a second to `orders`, with `min.insync.replicas=2`. Press the
# buttons, in any order:
#
# * **kill** the leader, wait, and watch the crown move and the epoch in new cells change
# * **pause** a follower: its check mark disappears, and the others carry on; **resume** it and see
#   it catch up
# * **cut** the leader off from one follower, then from the other: new cells stay hatched
# * **kill** two brokers and read the sentence below the logs
#
# The timeline keeps every named event. When you have seen enough, run the cell after the panel: it
# mends the cluster and looks for every record acknowledged in the meantime.

# %% break-it tags=["live"]
lab.mend(eng)
eng.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
load = BackgroundLoad(eng, "orders", period_s=0.5)
load.wait_for(1)
lab.panel(eng, "orders")

# %% what-is-left tags=["live"]
lab.mend(eng)
load.close()
missing = set(load.acknowledged) - set(clients.values(eng, "orders"))
assert not missing, f"lost: {sorted(missing)}"
load

# %% [markdown]
# ## Your turn
#
# Replace the stub with your answer, run it, and then run the check below it. `lab.hint("06-4")`
# gives three hints and then a solution.
#
# **06-4, the rule of the high watermark.** `log_ends` is what the leader knows: a log end per
# replica, its own included. `isr` is a list, `min_isr` is the topic's `min.insync.replicas`, and
# `current` is the HW before the fetch. Return the HW after the fetch.
#
# **06-5, the election.** Return the broker that leads next, or -1 for none. `replicas` is the
# assignment in order, and `alive` lists the brokers that are not fenced; unclean election is off.
# `isr` may still name a broker that has just died.
#
# **06-7, settings for payments.** You have four brokers. Writes must continue while one broker is
# stopped for an upgrade and another dies. The death of any one broker must not lose an acknowledged
# payment, even during the hour when only two brokers are left. The judge runs your settings in the
# simulator.


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

# %% 06-7 tags=["stub"]
payments = {"replication.factor": 1, "min.insync.replicas": 1, "acks": "1"}

# %% 06-7 tags=["solution"]
payments = {"replication.factor": 4, "min.insync.replicas": 2, "acks": "all"}

# %% 06-7 tags=["check"]
lab.check("06-7", payments)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open the printed answer and look at the run that proves it.
#
# <details><summary><b>1. What exactly does acks=all guarantee?</b></summary>
#
# When the answer is sent, every member of the current ISR has the record, and with
# `min.insync.replicas=n` the ISR has at least n members. The record survives as long as one of them
# does and no unclean election is held. It was not flushed to disk.
#
# *Follow-up:* a producer got a timeout. Was the record written? It may have been, so retry with
# idempotence enabled.
#
# *Weak:* "all replicas have it". *Good:* names the current ISR and the minimum. *Strong:* adds the
# unclean election, the missing flush and the timeout.
#
# Evidence: [A slow follower](#A-slow-follower), [Below the minimum](#Below-the-minimum).
# </details>
# <details><summary><b>2. A follower is 200 records behind. Is it in sync?</b></summary>
#
# The number alone does not say. It is in sync if it was caught up at some moment within
# `replica.lag.time.max.ms` and its broker is not fenced.
#
# *Follow-up:* what happens to `acks=all` writes until it is removed? They wait.
#
# *Weak:* a limit in records (there was one before 0.9). *Good:* the time. *Strong:* both clocks,
# the leader's and the controller's.
#
# Evidence: [Deeper: What puts a replica out of sync](#Deeper:-What-puts-a-replica-out-of-sync).
# </details>
# <details><summary><b>3. Why does the high watermark of a follower lag behind?</b></summary>
#
# It travels in fetch answers. The leader moves it when the last in-sync follower asks for more; the
# followers learn its new value from the answers.
#
# *Follow-up:* what can go wrong if a follower becomes leader at that moment? See notebook 07.
#
# *Weak:* "the network is slow". *Good:* one fetch later. *Strong:* says what *fetch from n* tells
# the leader.
#
# Evidence: [Three copies](#Three-copies).
# </details>
# <details><summary><b>4. Replication factor 3 and min.insync.replicas 3: is that safer?</b></summary>
#
# As soon as one broker restarts, all `acks=all` writes stop. Keep the factor one above the minimum,
# and two above it if a broker may fail during maintenance.
#
# *Follow-up:* what about a minimum of 1? Then the last replica acknowledges alone, and its disk is
# the only copy.
#
# *Weak:* "yes, more copies". *Good:* sees that writes stop. *Strong:* gives the rule and both
# costs.
#
# Evidence: [Deeper: How many replicas](#Deeper:-How-many-replicas).
# </details>
# <details><summary><b>5. Two of a partition's three brokers are back, yet it has no leader. Why?</b></summary>
#
# Those two are neither in the ISR nor eligible. The last in-sync broker is missing. Start that one;
# an unclean election would cost records.
#
# *Follow-up:* how do you find the one to start? `--describe` names it under `Elr` or
# `LastKnownElr`.
#
# *Weak:* "restart everything". *Good:* names the ISR. *Strong:* names the ELR and what a kill does
# to it.
#
# Evidence: [Who may lead next](#Who-may-lead-next).
# </details>
# <details><summary><b>Read this output: what happened, and what do you do?</b></summary>
#
# ```
# Topic: orders  PartitionCount: 1  ReplicationFactor: 3  Configs: min.insync.replicas=2
#   Topic: orders  Partition: 0  Leader: none  Replicas: 101,102,103  Isr:   Elr: 101  LastKnownElr: 101
# ```
#
# The ISR is empty, and 101 was the last to leave it. Brokers 102 and 103 may lack committed
# records. That 101 is still in the ELR tells you two things: it is down, and it has not come back
# from a kill. Start 101, and do not hold an unclean election first.
# </details>
#
# ## Quiz
#
# Several letters may be right: `lab.quiz("06-11", "a", "c")`.

# %% 06-11 tags=["stub", "predict", "quiz"]
lab.quiz("06-11")

# %% 06-11 tags=["solution", "predict", "quiz"]
lab.quiz("06-11", "b", "c")

# %% 06-10 tags=["stub", "predict", "quiz"]
lab.quiz("06-10")

# %% 06-10 tags=["solution", "predict", "quiz"]
lab.quiz("06-10", "a", "c", "d", "e")

# %% [markdown]
# ## Deeper: Every message of the first run
#
# This is the run of *Three copies*, drawn message by message. Requests are orange, answers blue,
# and decisions green. Look for `fetch from 3` and the answer `HW 3, records 3–6`: it carries the HW
# of the previous batch.

# %% messages tags=["sim"]
from kit.drawings.sequence import SequenceDiagram

world = lab.world(seed=6)
world.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
world.run(for_s=2)
diagram = SequenceDiagram(world, "orders")
diagram.send("A", "B", "C")
diagram.run(for_s=0.01)
diagram.send("D", "E", "F", "G")
diagram.run(for_s=0.6)

# %% [markdown]
# ## Deeper: Leaders and followers
#
# Leader and follower are roles of a partition, not of a broker. Here are four brokers and two
# topics: `pair` has two copies of each partition, and `fleet` has three. There is one controller,
# node 100, but it keeps only the metadata and sees no records. Then broker 101 is killed. Only the
# partitions that it led change leaders, always to an in-sync follower. Partitions in which it was a
# follower keep their leader, with one fewer copy.

# %% roles tags=["sim"]
world = lab.world(seed=6, brokers=4)
world.create_topic("pair", assignment={0: [102, 101], 1: [101, 103]})
world.create_topic("fleet", partitions=4, replicas=3)
display(election_runs.roles(world))
world.kill(101)
world.run(until=lambda w: w.is_fenced(101), for_s=10)
election_runs.roles(world)

# %% [markdown]
# Next comes a healthy cluster on both sides. Three brokers have the same records in the same order,
# and another partition has none of them. A follower refuses a write, but an application does not
# notice: its client asks for the leader and sends the write there. A follower answers a read
# (KIP-392), though ordinary consumers go to the leader. If the brokers have a
# `replica.selector.class`, as the course's brokers do, the leader directs a consumer that names its
# rack to a replica in that rack.
#
# A topic created with -1 replicas gets `default.replication.factor`. Kafka's default for that
# setting is 1; the course's clusters set it to 3.
#
# Below the table are lines from the logs of both followers of `orders-0`. Kafka's brokers name the
# broker that they fetch from; the engine's trace shows what they appended.

# %% leaders-and-followers tags=["both"]
outcome = lab.both(scenes.leaders_and_followers)
word = "Added fetcher orders-0" if lab.real() else "append orders-0"  # Kafka's, the engine's
lines = [lab.broker_log(lab.real() or eng, each, word, last=1) for each in (102, 103)]
display(outcome, *lines)

# %% [markdown]
# ## Deeper: What puts a replica out of sync
#
# Two clocks decide. The controller fences a broker whose heartbeats stop
# (`broker.session.timeout.ms`): that broker leads nothing and is in no ISR until it reports again.
# A leader drops a follower that was not caught up even once within `replica.lag.time.max.ms`. A
# follower that fetches but never catches up is dropped; one that is a few records behind for a
# moment is not. In the last row the leader is overloaded, and its healthy followers look guilty.
#
# A long `replica.lag.time.max.ms` makes writes wait; a short one makes the ISR flap (the second
# table). That is why the default went from 10 s to 30 s in Kafka 2.5. The leader checks twice
# within the limit, not continuously, so 10 s becomes 13 s here.

# %% ways-out tags=["sim"]
display(isr_runs.ways_out_of_the_isr(slow_ms=1_500, less_slow_ms=200))
isr_runs.isr_flapping(limits_ms=(10_000, 30_000), stall_s=18)

# %% [markdown]
# The next cell does the same on both sides: 103 is cut off from 101, comes back, loses its
# heartbeats, comes back, and is then slow under load. While a silent follower is still in the ISR,
# an `acks=all` write waits for it. The link between 102 and 103 is intact, and 102 has what 103
# lacks, but a follower fetches only from the leader.

# %% out-and-back tags=["both"]
lab.both(scenes.out_and_back)

# %% [markdown]
# ## Deeper: acks=1 on a real Kafka
#
# *The leader dies after its answer* was a race. Here the links between the leader and its followers
# are cut first, so the answer always wins, on both sides. Three writes differ only in `acks`, and
# each producer gives the leader 0.2 s to answer. Then the leader dies with all three records. The
# same code also writes to a topic with one copy. With one copy, nothing can be read meanwhile, and
# nothing is missing afterward. With three, reads go on, and what only 101 had is gone.

# %% acks-on-both tags=["both"]
lab.both(scenes.acks_and_silent_followers)

# %% [markdown]
# ## Deeper: Leaders pile up, and go home
#
# The first replica of a partition is its *preferred* leader; at creation these leaders are spread
# evenly. A restarted broker comes back as a follower, so after a rolling restart the load is
# uneven, and the broker that was restarted last leads nothing. One preferred election fixes it.
# [How many replicas](#Deeper:-How-many-replicas) shows this on both sides.
#
# With `auto.leader.rebalance.enable=true`, Kafka's default, the controller holds such an election
# every `leader.imbalance.check.interval.seconds` (the second table, with 5 s instead of 300 s). The
# course's clusters turn it off, so that you cause every election yourself.

# %% automatic-balance tags=["sim"]
restarted = (101, 102, 103)
automatic = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 5}
display(election_runs.leaders_after_a_rolling_restart(restarted))
election_runs.leaders_after_a_rolling_restart(restarted, **automatic)

# %% [markdown]
# Your turn (06-8). The next cell creates `fleet` with six partitions, writes a record, and restarts
# broker 101, which now leads nothing.

# %% lopsided tags=["setup"]
lab.mend(eng)
eng.create_topic("fleet", partitions=6, replicas=3)
clients.send(eng, "fleet", "keep me")
eng.stop(101)
eng.start(101)
eng.wait_until(clients.whole("fleet"), timeout_s=40, what="101 to be in sync")

# %% [markdown]
# Use confluent-kafka's AdminClient to let the preferred replica lead each partition of `fleet`
# again, without losing the record. The judge checks the cluster itself.

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
# ## Deeper: How many replicas
#
# On four brokers, seven settings face the same two losses: 101 is stopped for maintenance, and then
# 102 dies. Replication factor minus `min.insync.replicas` is the number of brokers that you can
# lose and still write. A difference of one lets you restart a broker; with a difference of two,
# another broker may die in the meantime.
#
# More replicas hardly slow writes; the slowest replica in the ISR does. A slow leader makes all of
# its clients wait, at any factor. In the second table (five brokers), 103 is 40 ms away from all
# the others: compare the rows with and without it. With `acks=1` the producer does not wait for
# 103, but a consumer does, because it reads only below the HW (last column).

# %% how-many tags=["sim"]
settings = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 3))
display(durability_runs.what_survives(settings))
durability_runs.latency_with_a_slow_broker(delay_ms=40)

# %% [markdown]
# Both sides now run three brokers. Broker 101 is killed, 102 is stopped, and then both are started.
# The topic `fleet`, with six partitions, shows where the leaders are. Only partitions that the lost
# broker led get another leader, and a broker that returns leads nothing until a preferred election
# gives each partition back to the first broker in its replica list. The last row counts leaders at
# first, after each of the three changes, and after the election.

# %% go-and-return tags=["both"]
lab.both(scenes.brokers_go_and_return)

# %% [markdown]
# ## Deeper: What replication cannot do
#
# Replication guards against losing some copies, not against losing all of them at once. A committed
# record is in the memory of every in-sync replica, but Kafka does not flush the record to disk
# before acknowledging it (the last column of the first table; for Kafka's own flushes, counted by
# strace, see notebook 02). If the power fails everywhere in the same second, three copies vanish
# together. That is what racks and zones are for. The chart shows how much a copy is worth if disks
# die independently. Its x axis is the chance that one disk dies before the lost copy is rebuilt.
#
# The other loss is one that you allow. A is on 101, 102 and 103, B only on 101 and 102. When those
# two brokers die, 103 is alive but may not lead. Then the default of all brokers is set to
# `unclean.leader.election.enable=true`, and the topic, which has no value of its own, follows it.
# The controller checks for such partitions every `unclean.leader.election.interval.ms` (five
# minutes by default). The sentence below the table is the history checker's: it compares what a
# producer was promised with what a consumer reads.

# %% all-at-once tags=["sim"]
display(durability_runs.what_still_loses_records(factors=(1, 2, 3)))
display(durability_runs.chance_of_loss(factors=(1, 2, 3)))
election_runs.unclean_election(interval_ms=300_000)

# %% [markdown]
# ## Deeper: The first metric on every dashboard
#
# Each broker counts `UnderReplicatedPartitions` among the partitions *it leads*. From a list of
# partitions (`{"leader": 101, "replicas": [101, 102, 103], "isr": [101, 103]}`; leader -1 means
# offline), return each broker's metric as a dictionary, with zeros left out (06-6).


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
# ## Deeper: Settings and their defaults
#
# The next cell asks a broker on each side for its own defaults, and tries to change settings while
# the broker runs.

# %% settings tags=["both"]
lab.both(scenes.settings_and_defaults)

# %% [markdown]
# * `replica.lag.time.max.ms` is 30 s (10 s before 2.5, KIP-537), and the session timeout is 9 s
#   (18 s in ZooKeeper's last years; ZooKeeper was removed in 4.0).
# * `unclean.leader.election.interval.ms` is not listed, but it exists: Kafka keeps it as an
#   internal setting, 300,000 by default. The refusal proves it: "Cannot update these configs
#   dynamically: [unclean.leader.election.interval.ms]".
# * `leader.imbalance.per.broker.percentage` is not listed either, because it is gone: the
#   controller moves every leader that is not the preferred one.
# * With the ELR on, the minimum may be changed for the whole cluster or for a topic, but not for
#   one broker.
# * A topic created with -1 replicas gets `default.replication.factor`. The default that a broker
#   reports is 1; the value in use here is 3.
# * `replica.selector.class` has no default; the course's clusters have Kafka's
#   `RackAwareReplicaSelector`.
#
# ## Deeper: Source check
#
# What you may have read elsewhere, and what the runs say about Kafka 4.3.
#
# | you may read | what a run shows | where |
# |---|---|---|
# | leaders serve all reads and writes | writes, yes; a follower answers a consumer's fetch (since 2.4, KIP-392) | [Leaders and followers](#Deeper:-Leaders-and-followers) |
# | any follower can take over | only one in the ISR, or eligible; any other costs records | [Out of sync may not lead](#Out-of-sync-may-not-lead), [Who may lead next](#Who-may-lead-next) |
# | with n replicas, n − 1 failures lose nothing | only for records that all n hold: B was acknowledged, and an unclean election lost it | [Out of sync may not lead](#Out-of-sync-may-not-lead) |
# | a replica in the ISR is never behind the latest record | being caught up once in `replica.lag.time.max.ms` is enough | [What puts a replica out of sync](#Deeper:-What-puts-a-replica-out-of-sync) |
# | `acks=all` waits for all replicas, or is not answered while one is down | it waits for the current ISR, and a silent member leaves it | [A slow follower](#A-slow-follower), [Out of sync may not lead](#Out-of-sync-may-not-lead) |
# | a minimum ISR is needed before data can be read | `min.insync.replicas` refuses writes; the HW has waited for it only since KIP-966 (3.7) | [Below the minimum](#Below-the-minimum) |
# | too few replicas give `NOT_ENOUGH_REPLICAS_AFTER_APPEND` | neither: B timed out while the ISR was still full, and C got `NOT_ENOUGH_REPLICAS` before the append | [Below the minimum](#Below-the-minimum) |
# | committed means on disk | committed means on every in-sync replica, flushed or not | [What replication cannot do](#Deeper:-What-replication-cannot-do) |
# | a partition is offline because message counts differ | no counts are compared; membership in the ISR or ELR decides | [Read the code that did it](#Read-the-code-that-did-it) |
#
# ## Deeper: More questions
#
# Here are one quiz question and two from interviews.

# %% 06-9 tags=["stub", "predict", "quiz"]
lab.quiz("06-9")

# %% 06-9 tags=["solution", "predict", "quiz"]
lab.quiz("06-9", "a", "d")

# %% [markdown]
# <details><summary><b>Is there a master broker in Kafka?</b></summary>
# Not for data: leadership belongs to partitions and is spread over the brokers
# (<a href="#Deeper:-Leaders-and-followers">Leaders and followers</a>). One active controller keeps
# the metadata; groups and transactions have coordinators, each of which is just a partition's
# leader.
# </details>
# <details><summary><b>Under-replicated partitions rise on all brokers but one. Where do you look?</b></summary>
# At the broker that does not report. Leaders count the metric, so the broken broker is the one
# missing from their ISRs. If the metric rises on only one broker, that leader is overloaded: its
# followers' fetches wait in the same queue as all other requests
# (<a href="#Deeper:-What-puts-a-replica-out-of-sync">What puts a replica out of sync</a>, last
# row).
# </details>
#
# ## Deeper: What real Kafka does beyond this
#
# * The engine has one controller; a real cluster has a quorum of controllers, and loses none of the
#   above when the active one dies (notebook 05).
# * Requests pass through a pool of handler threads, so followers' fetches and clients' requests
#   compete. The engine has no such pool; the slow-leader row stands in for it (notebook 04).
# * Followers throttle themselves during reassignment, and a new replica joins the ISR only when it
#   has caught up (notebook 13).
# * Consumers may read from the nearest replica with `client.rack` and a `replica.selector.class`
#   (notebook 14).
# * Brokers report all of this as JMX metrics: `UnderReplicatedPartitions`,
#   `UnderMinIsrPartitionCount`, `OfflinePartitionsCount`, `IsrShrinksPerSec` (notebook 18).
# * Notebook 07, the next one, shows what a returning leader must cut from its log, and how it finds
#   out.
