# %% [markdown]
# # 07 · High watermark and epoch reconciliation
#
# Three brokers hold copies of one log. The leader dies, another broker takes over, and the old
# leader returns with records that no other broker has seen. Which copy is right? Kafka has answered
# that in several ways. You run the accident message by message, search each attempt for a way to
# break it, and make real Kafka diverge and repair itself.
#
# **Time:** {minutes}. You need to know what producers and consumers do.
#
# **What you will be able to do**
#
# * say what the high watermark promises, and when each broker knows it
# * predict from leader epochs where a replica cuts its log
# * find out which rules lose an acknowledged record, and how
# * say what fencing refuses, and tell `FENCED_LEADER_EPOCH` from `UNKNOWN_LEADER_EPOCH`
# * recognize a divergence in a real broker's files and log
#
# **The words**
#
# * The **log end offset (LEO)** of a replica is the offset that its next record will get.
# * The **in-sync replicas (ISR)** are the leader and the followers that keep up with it. The
#   controller elects the next leader from them, in the order of the replica list.
# * A record is **committed** when every in-sync replica has it. With `acks=all` the leader answers
#   the producer only then; with `acks=1`, as soon as it has written the record itself.
# * The **high watermark (HW)** is the first offset that is not committed. Consumers read only below
#   it.
# * Each leader's term has a **leader epoch**: 0, 1, 2, … A batch carries the epoch of the leader
#   that wrote it.
# * **Truncating** is cutting off the end of a log. **Fencing** is refusing a request from an
#   earlier epoch.
#
# ## How a record is committed
#
# The engine's brokers run in virtual time here. A frame shows what each broker holds and knows at
# one moment. A row is a replica; ★ leads, ✝ is dead. A cell is a record and its epoch. The bar is
# the high watermark as *this* replica knows it; cells beyond it are hatched. Above the rows are the
# messages since the previous frame.

# %% doorway tags=["setup"]
from engine.sim.model import replay as replay_model
from kit import lab
from kit.drawings.walkthrough import Walkthrough, high_watermarks, in_sync, led_by, log_ends
from kit.drawings.watched import Watched
from kit.probes.clients import values
from kit.probes.virtual import post, send
from kit.tables import Table
from lessons.nb07_reconciliation import ladder, replayed, scenes
from lessons.nb07_reconciliation import watermark_runs as runs

ladder.begin()  # starts a search in a process of its own; you need its result later

# %% 07-1 tags=["stub", "predict"]
lab.predict("07-1")

# %% 07-1 tags=["solution", "predict"]
lab.predict("07-1", "3 0 0")

# %% committing tags=["sim"]
records = ("A", "B", "C")
leader, others = 101, (103, 102)

world = runs.settled(leader, *others)
walk = Walkthrough(world)
walk.send(*records)
walk.shot("The leader appends; the batch carries its epoch", log_ends(len(records), leader))
walk.shot("Both followers have fetched", log_ends(len(records), *others))
walk.shot(
    "Both have fetched again: the records are committed", high_watermarks(len(records), leader)
)
seen = {"high watermarks": list(runs.watermarks(world).values()), "records": len(records)}
walk.shot("One answer later", high_watermarks(len(records), *others))
display(walk)
lab.verdict("07-1", seen)


# %% gap tags=["read"]
# For how long does the leader alone know? Move `next_record_ms` first.
def gap(link_ms=5, next_record_ms=200):
    world = runs.settled(101, 103, 102)
    for follower in (102, 103):
        world.slow(101, follower, link_ms)
    world.run(for_s=2)
    leader, last = (world.replica(broker, "orders", 0) for broker in (101, 102))
    watched = Watched(world, {
        "102 has A": lambda w: last.log.log_end_offset > 0,
        "101 knows: committed": lambda w: leader.high_watermark > 0,
        "102 knows: committed": lambda w: last.high_watermark > 0,
    })  # fmt: skip
    post(world, "orders", "A")
    watched.run(for_s=next_record_ms / 1000)
    watched.mark("B is written")
    post(world, "orders", "B")
    watched.run(for_s=1 - next_record_ms / 1000)
    alone = watched.lasted("101 knows: committed") - watched.lasted("102 knows: committed")
    return watched.spans(f"For {alone * 1000:.0f} ms the leader alone knows that A is committed")


lab.slider(gap, link_ms=(1, 5, 20, 50), next_record_ms=(10, 50, 100, 200, 400, 600, 900))

# %% [markdown]
# A follower fetches from its own log end. So *offset 3* in a fetch says: I have 0 to 2; send me 3.
# 101 computes the high watermark from both followers' fetches. A follower learns it from the
# *answer*, one step later. In between, records are committed, but no follower knows it. The next
# record ends this gap: it triggers the answer. Without a new record, the answer waits for
# `replica.fetch.wait.max.ms`, half a second. The next accident happens in that gap.
#
# A follower's fetch names two epochs. *in epoch 0* is the leader epoch that the follower knows
# (since Kafka 2.1, KIP-320). *last epoch 0* is the epoch of the last record in its log (since 2.7,
# KIP-595). From 0.11 to 2.6 a new follower first asked where its last epoch ended
# (OffsetForLeaderEpoch, KIP-101).
#
# ### The leader dies in the gap
#
# The panel replays the run above, before anything goes wrong. Use the arrow keys, Home and End.
# Each trace line opens the engine's source.
#
# The next accident: D is copied, committed and acknowledged, and a consumer reads it from 101. Then
# the links between the brokers break and 101 dies. The replica list is 101, 103, 102.

# %% history tags=["read"]
panel = lab.panel(world, "orders")
panel.jump("write")
panel

# %% 07-2 tags=["stub", "predict"]
lab.predict("07-2")

# %% 07-2 tags=["solution", "predict"]
lab.predict("07-2", "d")

# %% window tags=["sim"]
first, second, third = 101, 103, 102  # the replica list
record = "D"

world = runs.settled(first, second, third)
walk = Walkthrough(world, first=5)
walk.send("A", "B", "C")
walk.quietly(high_watermarks(3, 101, 102, 103))
walk.send(record)
walk.shot(f"{record} is committed, and {first} alone knows", high_watermarks(4, first))
walk.read(first, 3)
for link in ((101, 102), (101, 103), (102, 103)):
    world.cut(*link)
walk.kill(first)
walk.shot(f"{second} leads, epoch 1", led_by(second, second, third))
seen = {"fetch from 3": walk.read(second, 3), "latest offset": walk.list_latest(second)}
seen["log end"] = world.replica(second, "orders", 0).log.log_end_offset
walk.shot("Temporarily decreased high watermark")
world.heal()
walk.shot("One fetch later", high_watermarks(4, second))
seen["then"] = f"latest offset {walk.list_latest(second)}, from 3: {walk.read(second, 3)}"
walk.shot("Normal consumption continues")
display(walk)
lab.verdict("07-2", seen)

# %% [markdown]
# 103 holds D but does not know that D is committed. So a Fetch ends at 103's high watermark, 3: no
# error, no records, and the client asks again. Only *ListOffsets* gets an error. It asks where the
# *readable* records end; `seekToEnd` and lag monitors send it. An answer of 3 would be behind what
# a consumer has read. So 103 returns `OFFSET_NOT_AVAILABLE`, which is retriable (KIP-207, Kafka
# 2.2).
#
# The rule compares two numbers: 103's high watermark (3) and the start of its own epoch (4, its log
# end when it took over). While the high watermark is lower, 103 cannot know which records from
# earlier epochs are committed. One fetch by 102 from offset 4 raises it to 4.
#
# ### Two histories
#
# In the next accident the logs part. D and E reach only 102, and F reaches no follower. Then 101
# dies, and the new leader, 103, takes other records:
#
# ```
# offset       0    1    2    3    4    5    6
# ✝ 101        A·0  B·0  C·0  D·0  E·0  F·0          HW 3; in its checkpoint file: 0
#   102        A·0  B·0  C·0  D·0  E·0               HW 3
# ★ 103        A·0  B·0  C·0  W·1  X·1  Y·1  Z·1     HW 3
# ```

# %% 07-3 tags=["stub", "predict"]
lab.predict("07-3")

# %% 07-3 tags=["solution", "predict"]
lab.predict("07-3", "3 3")

# %% reconciled tags=["sim"]
tail, rival = ("D", "E"), ("W", "X", "Y", "Z")

world = runs.settled(101, 103, 102)
walk, client = Walkthrough(world, first=10), world.client("admin")
walk.send("A", "B", "C")
walk.quietly(high_watermarks(3, 101, 102, 103))
world.cut(101, 103)
first = client.asked + 1
walk.send(*tail)
walk.quietly(log_ends(3 + len(tail), 102))
world.cut(101, 102)
walk.send("F")
requests = range(first, client.asked + 1)
walk.quietly(log_ends(4 + len(tail), 101))
world.cut(102, 103)
walk.kill(101)
walk.quietly(led_by(103, 102, 103))
walk.send(*rival)
walk.shot("Partition replica reconciliation is due", log_ends(3 + len(rival), 103))
world.heal(102, 103)
walk.shot("The fetch response informs the follower of divergence", log_ends(3, 102))
walk.shot("Subsequent fetch, with updated offset and epoch", log_ends(3 + len(rival), 102))
walk.shot("102 acknowledges the new records", high_watermarks(3 + len(rival), 103))
world.heal()
world.start(101)
walk.shot("101 is back and cuts its tail", runs.has_cut(101))
walk.shot("101 rejoins the ISR", in_sync(101, 102, 103))
display(walk)
print("answers to", *tail, "F so far:", sum(world.answer(n) is not None for n in requests))
lab.verdict("07-3", {"cuts": runs.cuts(world, 102, 101), "rival": len(rival)})

# %% [markdown]
# 102 fetched from its log end, 5, and named its last epoch, 0. In 103's log, epoch 0 ends at 3. So
# 103 answered *diverging: epoch 0 ends at 3* instead of sending records. 102 cut there and fetched
# again. The answer carried HW 3 and offsets 3 to 6. The next fetch, from 7, confirmed them, and the
# high watermark moved to 7.
#
# 101 did the same. Its high watermark of 0 played no part. Brokers write high watermarks to disk
# every five seconds (`replica.high.watermark.checkpoint.interval.ms`), and 101 died before the next
# write.
#
# No records were compared. Within an epoch, each offset is written once, so offset *and* epoch
# identify a record, and the end of an epoch shows where two logs part. D, E and F are gone. They
# were sent with `acks=all`, and no producer had received an acknowledgment.
#
# ### The oldest rule: cut at your own high watermark
#
# Why ask the leader? A replica knows that everything below its own high watermark is committed. So
# let each broker cut there at once and resume fetching. Kafka did that until 0.11 (2017).
#
# The accident: D is on all three brokers and acknowledged with `acks=all`. The links break, and 101
# alone takes E, with `acks=1`. Next, 101 dies and 103 leads. Then 103 dies, and 102 leads and takes
# W. When 101 and 103 return, the high watermarks on their disks are from before D. Watch D and E.

# %% 07-13 tags=["stub", "predict"]
lab.predict("07-13")

# %% 07-13 tags=["solution", "predict"]
lab.predict("07-13", "none")

# %% film tags=["live"]
rule = "to-high-watermark"  # then "fetch-divergence", the rule of today
first, second, third = 101, 103, 102

world = runs.settled(first, second, third, checked=False)
send(world, "orders", "A", "B", "C")
world.run(until=high_watermarks(3, 101, 102, 103), for_s=30)
send(world, "orders", "D")
for link in ((101, 102), (101, 103), (102, 103)):
    world.cut(*link)
send(world, "orders", "E", acks="1")
world.kill(first)
world.use_rule(rule)
world.run(until=led_by(second, second, third), for_s=30)
world.kill(second)
world.run(until=led_by(third), for_s=30)
send(world, "orders", "W", acks="1")
world.heal()
world.start(first)
world.start(second)
world.run(until=in_sync(101, 102, 103), for_s=30)
world.run(for_s=2)
film = lab.panel(world, "orders")
film.jump("parted")
display(film)
lab.verdict("07-13", {"brokers with D": runs.holders(world, "D"), "rule": rule})

# %% [markdown]
# When 102 heard that 103 was leading, it cut at its own high watermark, 3. That number was *stale*:
# D was committed, but 102 did not know that yet. 102 would have fetched D again from 103, but 103
# died. When 101 and 103 returned, they cut at the high watermarks on their disks and copied 102's
# log. All three logs agree, and no broker will ever notice that D is missing.
#
# Change the past in the panel:
#
# 1. The panel opens where the histories part, with D in all three logs. Step forward with the arrow
#    keys. Which broker cuts what, and why?
# 2. Return to the opening step, choose the rule `fetch-divergence` and press **fork here**. The same
#    accident continues under today's rule, in a second timeline.
# 3. Press End. Which timeline still has D?
#
# ## The ladder
#
# Where should a follower cut? Four answers and a draft:
#
# | rule | Kafka | the follower |
# |---|---|---|
# | `to-high-watermark` | before 0.11 | cuts at its own high watermark |
# | `kip-101` | 0.11 | asks the leader where its last epoch ends |
# | `kip-279` | 2.0 | asks the same; the leader answers with its own largest epoch up to the one asked for, and the two repeat this until they reach a common epoch |
# | `kip-320-first-try` | a draft | learns at each fetch whether its last record fits |
# | `kip-320` | 2.1 | names the leader epoch in each request; a broker in another epoch refuses |
#
# Let a program try *every* order. The explorer runs a small model (logs of two records, three
# epochs) through every order of its steps. The promise: *every member of the ISR has all records
# below a leader's high watermark.*

# %% 07-14 tags=["stub", "predict"]
lab.predict("07-14")

# %% 07-14 tags=["solution", "predict"]
lab.predict("07-14", "3 1")

# %% the-ladder tags=["sim"]
brokers = (2, 3)
shown = "to-high-watermark"  # or another rule that breaks

display(ladder.table(brokers))
display(ladder.counter_example(shown, max(brokers)))
lab.verdict("07-14", {"rules that hold": [len(ladder.holding(each)) for each in brokers]})

# %% [markdown]
# Two rules hold with two brokers and break with three. No test with two brokers can find that.
#
# The strip shows the *shortest* way to break the first rule. A card shows what each replica itself
# knows; the controller's news reaches the replicas at different times. The cause is the last step:
# 102 cuts at a stale high watermark. 102 is in the ISR, so it may be elected, and then A is gone.
#
# For `kip-320`, the search visited every state with three brokers, and none broke the promise. That
# is a proof about the model, within its bounds. In [Deeper](#Deeper:-The-first-rung-in-the-brokers)
# all four break the engine's brokers, too.
#
# ### Last rung: fencing
#
# Now fetches, even a consumer's, can name an epoch. 101 is cut off from the controller and the
# other brokers, but clients still reach it. Broker 103 leads epoch 1. Broker 101 does not know that
# it has been replaced: it is a *zombie*.

# %% 07-15 tags=["stub", "predict"]
lab.predict("07-15")

# %% 07-15 tags=["solution", "predict"]
lab.predict("07-15", "a")

# %% zombie tags=["sim"]
zombie, heir, third = 101, 103, 102

world = runs.settled(zombie, heir, third)
send(world, "orders", "A", "B", "C")
world.run(until=high_watermarks(3, 101, 102, 103), for_s=30)
world.isolate(zombie)
world.run(until=led_by(heir), for_s=30)
send(world, "orders", "D")
answers = {
    f"reads from {zombie}, names no epoch (as before 2.1)": runs.read(world, zombie),
    f"reads from {zombie}, names epoch 0": runs.read(world, zombie, epoch=0),
    f"reads from {zombie}, names epoch 1": runs.read(world, zombie, epoch=1),
    f"reads from {heir}, names epoch 0": runs.read(world, heir, epoch=0),
    f"reads from {heir}, names epoch 1": runs.read(world, heir, epoch=1),
    f"writes E to {zombie}, acks=all": runs.write(world, zombie, "E", "all"),
    f"writes F to {zombie}, acks=1": runs.write(world, zombie, "F", "1"),
}
logs = "; ".join(f"{each}: {runs.log_text(world, each)}" for each in (zombie, heir))
world.heal()
world.run(for_s=6)
answers[f"reads from {heir}, {zombie} is back"] = end = runs.read(world, heir)
display(Table("A client", ("request", "answer"), list(answers.items()), f"Before: {logs}"))
seen = {
    "E": answers[f"writes E to {zombie}, acks=all"],
    "F": answers[f"writes F to {zombie}, acks=1"],
}
lab.verdict("07-15", {**seen, "kept": [each for each in "EF" if each in end.split()] or "none"})

# %% [markdown]
# `FENCED_LEADER_EPOCH`: the *client* is behind. `UNKNOWN_LEADER_EPOCH`: the *broker* is behind.
# Three clients are misled: the one that names no epoch, the one that believes in the same old epoch
# as 101, and the one that writes with `acks=1`. The first two read old records, but no wrong ones:
# the zombie commits nothing, because no in-sync replica fetches from it, and it cannot shrink its
# ISR without the controller. The third one pays: F was acknowledged and is gone.
#
# From Kafka 2.7 on, the follower asks no separate question; the fetch itself carries the follower's
# last epoch and is fenced. The engine calls that rule `fetch-divergence`; it is the default.
#
# ## The same on a real Kafka
#
# The next run uses sockets, files and killed processes, on the engine and, if available, on Kafka
# 4.3.1. All brokers know that A is committed. B is committed and acknowledged, but only 101 knows
# this. X1, X2 and X3 are on 101 alone, acknowledged with `acks=1`. Then 101 is killed, 102 takes
# Y1, and 101 returns.

# %% 07-16 tags=["stub", "predict"]
lab.predict("07-16")

# %% 07-16 tags=["solution", "predict"]
lab.predict("07-16", "A B Y1")

# %% logs-part tags=["both"]
tail = ("X1", "X2", "X3")
first, second, third = 101, 102, 103


def logs_part(cluster):
    orders = scenes.Orders(cluster, first, second, third)
    orders.write("A", acks="all")
    orders.until_known(1)
    orders.write("B", acks="all")
    for link in ((first, second), (first, third), (second, third)):
        cluster.cut(*link)
    seen = {f"{first} answers": [orders.write(value, acks="1") for value in tail]}
    seen["high watermarks"] = orders.high_watermarks()
    cluster.kill(first)
    orders.begin_again_unless(seen["high watermarks"], {first: 2, second: 1, third: 1})
    orders.until_led_by(second)
    seen["the old leader's log, dead"] = orders.log(first)
    cluster.heal()
    orders.write("Y1", acks="all")
    cluster.start(first)
    orders.until_in_sync()
    seen["the old leader is sent"] = orders.where_to_cut(first)
    seen["the old leader's log, back"] = orders.log(first)
    seen["a consumer reads"] = values(cluster, "orders")
    return seen


outcome = lab.both(scenes.until_caught(logs_part))
display(outcome)
lab.verdict("07-16", outcome)

# %% [markdown]
# That 101's own high watermark was also 2 is a coincidence. Epoch 1 began at offset 2 on 102, so
# epoch 0 ends there. 101 received that number and cut X1, X2 and X3. They had been acknowledged;
# losing them is the price of `acks=1`. ([Deeper](#Deeper:-The-brokers'-files) shows every file
# before and after, and the window of `OFFSET_NOT_AVAILABLE` on a real broker.)
#
# The next cell shows what an engineer sees: 101's log file in Kafka's own tool, and the line that
# 101 logged when it cut. In the dump, look at `partitionLeaderEpoch`.

# %% as-an-engineer-sees-it tags=["live"]
real = lab.real()
cluster = real or lab.engine(settings=lab.BRISK)
line = "Truncating partition orders-0" if real else "truncate orders-0"

display(lab.tool(cluster, "kafka-dump-log", "--print-data-log", broker=101, topic="orders"))
lab.broker_log(cluster, 101, line)

# %% [markdown]
# ## Read the code that did it
#
# Here are three functions of the engine. The leader: where does this epoch end? The follower: what
# do I do with the answer? (Find the case in which the follower does not have the epoch that the
# leader named.) And: may a client learn the latest offset now?

# %% code-of-the-rules tags=["read"]
from engine.api.list_offsets import check_end_is_known
from engine.replication import truncation
from engine.storage.leader_epochs import LeaderEpochs

lab.show(LeaderEpochs.end_offset_for, truncation.where_to_cut, check_end_is_known)

# %% [markdown]
# ## Break it
#
# A to D are written. Go to any step and press **kill**, **pause** or **cut** on a broker, or **fork
# here** with any rule. Make an acknowledged record disappear, first with `to-high-watermark`, then
# with `fetch-divergence`. You are done when the sentence that compares the timelines says **lost in
# timeline 2**. Under the second rule you should not get there.

# %% break-it tags=["read"]
world = runs.settled(101, 103, 102)
send(world, "orders", "A", "B", "C")
world.run(for_s=1)
send(world, "orders", "D")
world.run(for_s=1)
panel = lab.panel(world, "orders")
panel.jump("end")
panel

# %% [markdown]
# ## Your turn
#
# Replace the stub with your answer, run it, then run its check. `lab.hint("07-4")` gives three
# hints, then a solution.
#
# **07-4, the leader's answer, and 07-5, the follower's cut.** You have read both sides. Here they
# work on plain lists: `epochs` is a `leader-epoch-checkpoint`, a list of `[epoch, start]` pairs in
# ascending order, and `log_end` is the same replica's log end.
#
# **07-7, lose a record.** At the start 101 leads, and 103 and 102 follow (and take over in that
# order). All brokers know that A, B and C are committed. Your script continues, one command per
# line:
#
# `produce orders D` · `kill 101` · `start 101` · `cut 102 103` · `heal` ·
# `until leader orders 103` · `quiet` (until nothing more happens, which may take a few seconds) ·
# `read orders`
#
# A broker's death is noticed within 2 s, and a follower that has not fetched for 2 s may leave the
# ISR. The judge plays your script twice. Under `to-high-watermark` a record acknowledged with
# `acks=all` must be lost without an unclean election, but under today's rule it must still be
# there. Six lines are enough.


# %% 07-4 tags=["stub"]
def end_of_epoch(epochs, log_end, asked):
    """[epoch, end offset], as a leader of Kafka 4.3 answers.

    `asked` is the epoch of the follower's last record.  The answer names the largest epoch that
    the leader has, not above `asked`, and the offset at which it ends.  If `asked` is above all
    epochs of the leader: [-1, -1].  `asked` is never below the first entry here.
    """


# %% 07-4 tags=["solution"]
def end_of_epoch(epochs, log_end, asked):
    """[epoch, end offset], as a leader of Kafka 4.3 answers.

    `asked` is the epoch of the follower's last record.  The answer names the largest epoch that
    the leader has, not above `asked`, and the offset at which it ends.  If `asked` is above all
    epochs of the leader: [-1, -1].  `asked` is never below the first entry here.
    """
    if asked > epochs[-1][0]:
        return [-1, -1]
    ends = [start for _, start in epochs[1:]] + [log_end]
    last = [place for place, (epoch, _) in enumerate(epochs) if epoch <= asked][-1]
    return [epochs[last][0], ends[last]]


# %% 07-4 tags=["check"]
lab.check("07-4", end_of_epoch)


# %% 07-5 tags=["stub"]
def where_to_cut(epochs, log_end, sent_epoch, sent_end):
    """The offset at which the follower cuts; its log end if it keeps everything.

    `epochs` and `log_end` are the follower's.  The leader sent: `sent_epoch` ends at `sent_end`.
    """


# %% 07-5 tags=["solution"]
def where_to_cut(epochs, log_end, sent_epoch, sent_end):
    """The offset at which the follower cuts; its log end if it keeps everything.

    `epochs` and `log_end` are the follower's.  The leader sent: `sent_epoch` ends at `sent_end`.
    """
    ends = [start for _, start in epochs[1:]] + [log_end]
    last = [place for place, (epoch, _) in enumerate(epochs) if epoch <= sent_epoch][-1]
    known = epochs[last][0] == sent_epoch
    return min(ends[last], sent_end) if known else ends[last]


# %% 07-5 tags=["check"]
lab.check("07-5", where_to_cut)

# %% 07-7 tags=["stub"]
script = """
"""

# %% 07-7 tags=["solution"]
script = """
produce orders D
cut 102 103
kill 101
until leader orders 103
kill 103
until leader orders 102
"""

# %% 07-7 tags=["check"]
lab.check("07-7", script)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, open it, then go to the run that proves it.
#
# <details><summary><b>1. What is the high watermark, and why do consumers stop there?</b></summary>
# It is the first offset that not every in-sync replica has. A record above it may vanish with the
# leader, and its reader would have seen something that never happened.
# <br><i>Follow-up:</i> can it go back? Not under one leader. A new leader may start lower, because
# it learns the high watermark one fetch late.
# <br><i>Weak:</i> "the last record". <i>Good:</i> names the ISR and the next offset. <i>Strong:</i>
# says when each broker knows it.
# <br><i>Evidence:</i> <a href="#How-a-record-is-committed">How a record is committed</a>
# </details>
# <details><summary><b>2. A leader dies with uncommitted records and returns. What happens to
# them?</b></summary>
# The returning broker fetches from its log end and names its last epoch. The leader reports where
# that epoch ends; the broker cuts there, then copies.
# <br><i>Follow-up:</i> who misses them? No producer with acks=all; with acks=1 some had been
# acknowledged.
# <br><i>Weak:</i> "they are merged". <i>Good:</i> truncation. <i>Strong:</i> epoch end, and why a
# replica's own high watermark is the wrong place.
# <br><i>Evidence:</i> <a href="#Two-histories">Two histories</a>
# </details>
# <details><summary><b>3. Why is an offset not enough to compare two logs?</b></summary>
# Two leaders may write different records at the same offset. One leader never does, and each has
# its own epoch. So offset and epoch identify a record.
# <br><i>Follow-up:</i> where does a broker keep its epochs? In leader-epoch-checkpoint, one file
# per partition.
# <br><i>Weak:</i> "use timestamps". <i>Good:</i> leader epoch. <i>Strong:</i> the end of an epoch
# shows where logs part, without comparing records.
# <br><i>Evidence:</i> <a href="#Two-histories">Two histories</a>
# </details>
# <details><summary><b>4. What can a zombie leader still do?</b></summary>
# Answer clients that name no epoch or its own, and acknowledge acks=1 writes that will be cut. It
# cannot commit: the new epoch's ISR does not fetch from it.
# <br><i>Follow-up:</i> FENCED or UNKNOWN? FENCED if the client is behind, UNKNOWN if the broker is.
# <br><i>Weak:</i> "split brain". <i>Good:</i> fencing by epoch. <i>Strong:</i> why nothing it does
# is committed.
# <br><i>Evidence:</i> <a href="#Last-rung:-fencing">Last rung</a>
# </details>
# <details><summary><b>5. How would you convince yourself that a replication protocol is
# right?</b></summary> Write down the promise, model the steps, search all states, and tie the model
# to the code by breaking real brokers with its counterexamples.
# <br><i>Follow-up:</i> what does it not prove? Anything beyond its bounds, and anything about
# disks.
# <br><i>Weak:</i> "many tests". <i>Good:</i> model checking. <i>Strong:</i> two rules hold with two
# brokers and break with three.
# <br><i>Evidence:</i> <a href="#The-ladder">The ladder</a>
# </details>
#
# **Read this `--describe` output: what happened?**
#
# ```
# Topic: orders  Partition: 0  Leader: 102  Replicas: 101,102,103  Isr: 102,103  Elr:  LastKnownElr:
# ```
#
# <details><summary><b>Answer</b></summary>
# The preferred leader 101 is out of the ISR and 102 leads, so there was a failover; 102 and 103
# have every committed record. 101 may hold records that no other broker has. The output shows
# neither epoch nor high watermark; for those, check 101's leader-epoch-checkpoint and log.
# </details>
#
# ## Quiz
#
# Several letters may be right. Three more questions are in Deeper.

# %% 07-9 tags=["stub", "predict", "quiz"]
lab.quiz("07-9")

# %% 07-9 tags=["solution", "predict", "quiz"]
lab.quiz("07-9", "b")

# %% 07-12 tags=["stub", "predict", "quiz"]
lab.quiz("07-12")

# %% 07-12 tags=["solution", "predict", "quiz"]
lab.quiz("07-12", "a", "c")

# %% [markdown]
# ## Deeper: Written is not committed
#
# Why may a consumer not read what the leader has on its disk? Here are three logs of different
# lengths, then the same failover with the high-watermark rule and without it.

# %% eight-records tags=["sim"]
Walkthrough(runs.three_behind()).shot("Written is not committed")

# %% [markdown]
# 101 has eight records, 102 five and 103 six. The shortest log in the ISR ends at 5, so the high
# watermark is 5, and offset 4 is the last that a consumer gets. Now the leader dies. In the second
# row the high-watermark rule is off: a consumer has read H, and now H is gone. (102 takes over
# because it is next in the replica list. That 103 has F does not count: every member of the ISR has
# all committed records.)

# %% beyond-the-high-watermark tags=["sim"]
runs.a_reader_and_a_dying_leader()

# %% [markdown]
# ## Deeper: The brokers' files
#
# What a broker knows about epochs and high watermarks must survive its death, so this knowledge is
# kept in two text files. In `leader-epoch-checkpoint`, one file per partition, an entry is an epoch
# and the offset at which it begins: `1 2` says that epoch 0 ends at 2. In
# `replication-offset-checkpoint`, one file per broker, an entry is topic, partition and high
# watermark. Here is the core's failover again, on both sides, with every file before and after.
# Where Java is installed, Kafka's own `DumpLogSegments` reads both sides' logs.

# %% diverge tags=["both"]
outcome = lab.both(scenes.diverge_and_reconcile)
assert outcome.engine["101 cut its log at"] == 2
outcome

# %% [markdown]
# * **102 leads, 103 has not fetched yet** is the window on a real broker: ListOffsets gets
#   `OFFSET_NOT_AVAILABLE`, a Fetch from 1 is empty, and B, though acknowledged, cannot yet be
#   read. 103 learned of the new leader from the controller's metadata log, and names that leader to
#   clients.
# * **on disk, 101 dead**: 101's leader-epoch-checkpoint has one entry, `0 0`. The file on 102 has
#   two; the second, `1 2`, says that epoch 1 begins at offset 2. A leader adds an entry when it
#   takes over, before it writes a record; 103 adds it with the first record that it copies. 101's
#   epoch 0 runs to its log end, 5. The smaller of the two ends, 2, is where the logs part.
# * 101's `replication-offset-checkpoint` says 1, though 101's high watermark was 2: the file is
#   written only from time to time.
# * **102's fetch answer to 101**: *epoch 0 ends at 2*, as 101 wrote in its `server.log` (on the
#   engine, in its trace).

# %% [markdown]
# ## Deeper: The first rung in the brokers
#
# A model proves nothing about brokers. So the engine's brokers act out the counterexample of
# `to-high-watermark`, with that rule on. Brokers and epochs are numbered as in the model.

# %% first-rung-in-brokers tags=["sim"]
first_rung = replay_model.replay("to-high-watermark")
print(ladder.counter_example("to-high-watermark"))
replayed.side_by_side(first_rung, replay_model.follow(first_rung))

# %% [markdown]
# The table lists the moves, each with the card steps that it plays. Below it are the end and the
# result of the same actions under the next rule. (`follow` repeats each action at its moment.) The
# simulator checks its **invariants** after every event and stops at the event that breaks one. *No
# loss*: what was acknowledged or read stays. *Strong ISR*: every member of the ISR has what is
# below the high watermark. *Log matching*: two logs with the same epoch at the same offset are
# equal up to that offset. (*ELR* in the sentence: brokers that left the ISR and may still be
# elected; notebook 06.)
#
# Now by hand: `back` undoes events, `fork` copies a world, perhaps with another rule, and `diff`
# shows what differs. How late can you change the rule? Change `events` and run the cell again.

# %% by-hand tags=["sim"]
events = 9

world = first_rung.world.fork()
world.back(events)
here, other = world.fork(), world.fork(rule="kip-101")
for each in (here, other):
    each.invariants = None  # this world breaks them, and should go on
    each.run(until=led_by(103, 102), for_s=5)
print(here.diff(other))

# %% [markdown]
# The output begins where the two traces first differ (each line: seconds, node, event). Nine events
# before the end is early enough: A stays. Try fewer.

# %% [markdown]
# ## Deeper: The second rung, kip-101 (Kafka 0.11)
#
# The follower names the epoch of its last record, and the leader says where, in its own log, that
# epoch ends. Since then, batches have carried epochs and brokers have kept a
# `leader-epoch-checkpoint`. The rule forgets that a leader may never have had that epoch. If the
# leader has no later epoch either, it has no answer, and the follower cuts at its own high
# watermark. If the leader has a later epoch, it answers with the start of that epoch, and the
# follower may cut too little. Two brokers are enough to show this.

# %% second-rung tags=["sim"]
ladder.counter_example("kip-101", 2)

# %% [markdown]
# In step 11, broker 102 asks where epoch 1 ends. Broker 101 has heard neither of epoch 1 nor that
# it is to lead epoch 2, so it knows no end. So 102 falls back to its own high watermark, 0: the
# first rung again.
#
# The brokers fail for the same reason, an epoch that the two do not share, but get there another
# way. The difference is below the moves. (The *preferred leader* is the first in the replica list;
# an operator can make it the leader again. A broker that *leaves cleanly* hands over its leadership
# before it stops.)

# %% second-rung-in-brokers tags=["sim"]
second_rung = replay_model.replay("kip-101")
replayed.side_by_side(second_rung, replay_model.follow(second_rung))

# %% [markdown]
# In the left frame, look at offset 1: the two logs hold different records there, and above them the
# same C in the same epoch. Neither 102 nor 101 will ever notice.

# %% [markdown]
# ## Deeper: The third rung, kip-279 (Kafka 2.0)
#
# The leader answers for its largest epoch that is not above the one asked for, and names that
# epoch. The follower asks again until both have the epoch that the leader named, and cuts where the
# logs part. With two brokers that rule holds. With three, one of them may be two epochs behind, and
# no request in 2.0, neither the question nor the fetch, names the epoch that the sender believes it
# is in.

# %% third-rung tags=["sim"]
ladder.counter_example("kip-279")

# %% [markdown]
# 102 still believes it is in epoch 0 when it fetches A (step 7), and 101 counts that fetch in epoch
# 2. Then the old news of epoch 1 reaches 102, and 102 cuts where 103 says, although 103 holds
# nothing. (103 has not even heard that it ever led. In the model it answers all the same: no rule
# so far tells it to refuse.) With three brokers the second rung also breaks in ten steps.
#
# A broker that does not know of its own leadership refuses, and always has. So the last step is
# different here, and the promise breaks one step earlier. (*Late news* is a metadata record that a
# broker gets later than the other brokers do.)

# %% third-rung-in-brokers tags=["sim"]
third_rung = replay_model.replay("kip-279")
replayed.side_by_side(third_rung, replay_model.follow(third_rung))

# %% [markdown]
# In the left frame 102 has X at offset 0 and 101 has A there, and 101 has just counted 102 as
# having A.

# %% [markdown]
# ## Deeper: The fourth and the last rung, KIP-320 (Kafka 2.1)
#
# The first draft checks at every fetch whether the leader also has the follower's last record, in
# the same epoch. Breaking that draft takes the longest path on the ladder.

# %% fourth-rung tags=["sim"]
ladder.counter_example("kip-320-first-try")

# %% [markdown]
# From step 6 on, two brokers, 101 and 103, believe that they lead. When 102 at last hears of epoch
# 1, it believes 103, the former leader, and on 103's word it cuts what it has already confirmed to
# the true leader.

# %% fourth-rung-in-brokers tags=["sim"]
fourth_rung = replay_model.replay("kip-320-first-try")
replayed.side_by_side(fourth_rung, replay_model.follow(fourth_rung))

# %% [markdown]
# The last rung: a request carries the leader epoch that the sender believes it is in, and a broker
# in another epoch refuses it. Below is the same accident under this rule, with the messages. Broker
# 102 is just as late, and fetches from 101 *in epoch 0*. Broker 101 leads epoch 2 and refuses:
# `FENCED_LEADER_EPOCH`. (Under the draft 102 got A here, and was counted.) Then 102 hears of epoch
# 1 and follows 103, the zombie. Both believe in epoch 1, so 103 serves 102. That does no harm: 102
# has nothing to cut. A is committed only after 102 has fetched it in epoch 2.

# %% last-rung tags=["sim"]
print(ladder.counter_example("kip-320"))
replayed.refused(fourth_rung, "kip-320")

# %% [markdown]
# ## Deeper: One more exercise, in the window
#
# How does a leader answer a consumer? `api` is `"ListOffsets"` (for the latest offset) or `"Fetch"`
# (from `offset`). `epoch_start` is where the leader's own epoch begins. Return the offset or the
# number of records that the consumer gets, or the name of the error. At `offset == log_end` a Fetch
# is not an error: the next record will be there.


# %% 07-6 tags=["stub"]
def answer(api, offset, high_watermark, epoch_start, log_end):
    """An offset (ListOffsets), a number of records (Fetch), or an error's name."""


# %% 07-6 tags=["solution"]
def answer(api, offset, high_watermark, epoch_start, log_end):
    """An offset (ListOffsets), a number of records (Fetch), or an error's name."""
    if api == "ListOffsets":
        return "OFFSET_NOT_AVAILABLE" if high_watermark < epoch_start else high_watermark
    if offset > log_end:
        return "OFFSET_OUT_OF_RANGE"
    return max(0, high_watermark - offset)


# %% 07-6 tags=["check"]
lab.check("07-6", answer)

# %% [markdown]
# ## Deeper: Three more questions
#
# The questions are about the cut, fencing, and what a search of all states proves.

# %% 07-8 tags=["stub", "predict", "quiz"]
lab.quiz("07-8")

# %% 07-8 tags=["solution", "predict", "quiz"]
lab.quiz("07-8", "c")

# %% 07-10 tags=["stub", "predict", "quiz"]
lab.quiz("07-10")

# %% 07-10 tags=["solution", "predict", "quiz"]
lab.quiz("07-10", "a")

# %% 07-11 tags=["stub", "predict", "quiz"]
lab.quiz("07-11")

# %% 07-11 tags=["solution", "predict", "quiz"]
lab.quiz("07-11", "b", "d")

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what is true in Kafka 4.3. Each line points to the section
# whose run settles it, or names its source.
#
# | you may read | what is so | where |
# |---|---|---|
# | in the gap after an election a consumer that *reads* gets `OFFSET_NOT_AVAILABLE` | only `ListOffsets` returns that (KIP-207, 2.2); a Fetch between HW and log end is empty, with the lower HW. Real Kafka 4.3.1 does the same | [The leader dies in the gap](#The-leader-dies-in-the-gap), [The brokers' files](#Deeper:-The-brokers'-files) |
# | the first leader's epoch is 1, the next one's 2 | a new topic begins with epoch 0; after one failover the epoch is 1 | [How a record is committed](#How-a-record-is-committed) |
# | the new leader is announced through ZooKeeper, by LeaderAndIsr requests | through the controller's metadata log, which brokers fetch (ZooKeeper was removed in 4.0) | KIP-500; notebook 05 |
# | followers ask OffsetsForLeaderEpoch before they fetch | true from 0.11 to 2.6; from 2.7 on, the fetch names the last epoch and the answer says where the logs part | [Two histories](#Two-histories), KIP-595 |
# | the high watermark is the offset of the last committed record | it is the offset after that: HW 5, last readable 4 | [Written is not committed](#Deeper:-Written-is-not-committed) |
# | the high watermark is what a minimum number of in-sync replicas share | it is what *all* current members of the ISR share; `min.insync.replicas` only decides whether it may move | [Written is not committed](#Deeper:-Written-is-not-committed), notebook 06 |
# | followers learn the new high watermark at once, since a fetch can carry theirs (KIP-1166, 4.1) | still one fetch late for topic records; that field serves the controllers' own log | [How a record is committed](#How-a-record-is-committed), KIP-1166 |
# | a follower cuts what is above its high watermark | the rule before 0.11, and it loses acknowledged records | [The oldest rule](#The-oldest-rule:-cut-at-your-own-high-watermark) |
# | an acknowledged record cannot be truncated | with `acks=1` it can: X1, X2 and X3 were truncated on real Kafka | [The same on a real Kafka](#The-same-on-a-real-Kafka) |

# %% [markdown]
# ## Deeper: What real Kafka does beyond this
#
# * Consumers use epochs, too: each remembers the epoch of the last record that it read, and after a
#   leader change asks where that epoch ends. If its position is beyond that end, the Java consumer
#   goes back to the first offset at which the logs part. Only without a reset policy
#   (`auto.offset.reset=none`) does it raise `LogTruncationException` (KIP-320).
# * When the ISR is lost altogether, eligible leader replicas (KIP-966) and, in the end, an unclean
#   election decide which broker leads; then committed records can be lost through this same
#   truncation (notebook 06).
# * The controllers replicate their own log on the same principle, but by majority vote; the
#   diverging epoch in the fetch answer comes from there (KIP-595; notebook 05).
# * With tiered storage a follower may have to rebuild its epoch checkpoint from remote segments
#   (notebook 12).
# * Notebook 08 shows how a *producer* survives timeouts and new leaders without losing or
#   duplicating a record.
