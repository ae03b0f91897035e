# %% [markdown]
# # 07 · High watermark and epoch reconciliation
#
# Three brokers hold copies of one log. The first dies at the worst moment, the second takes over,
# and the first comes back with records that nobody else has ever seen. Which copy is right? It
# took Kafka's developers years, and five attempts, to answer that without losing a record. Here
# you watch the question arise, message by message, break each attempt, see the last one proven,
# and make a real Kafka diverge and find its way back.
#
# **What you will be able to do**
#
# * say what the high watermark promises, who knows it when, and what a new leader does not know
# * read the files in which a broker keeps its high watermarks and its leader epochs
# * break each rule by which Kafka once cut its logs, and say what the next one mends
# * say what fencing is for, and who is told `FENCED_LEADER_EPOCH` and who `UNKNOWN_LEADER_EPOCH`
# * produce a divergence on a real cluster and read it from the brokers' files
#
# Python alone is enough; with a real Kafka beside it, the side-by-side cell runs on both. Allow
# 60 minutes. You need to know what a producer and a consumer do, and nothing about replication.

# %% doorway tags=["setup"]
from kit import lab
from kit.drawings.walkthrough import Walkthrough, high_watermarks, in_sync, led_by, log_ends
from lessons.nb07_reconciliation import ladder, replayed, scenes
from lessons.nb07_reconciliation import watermark_runs as runs

ladder.begin()

# %% [markdown]
# (The last line starts a search that takes some seconds, in a process of its own. You will want
# its result further down.)
#
# ## The words you need
#
# * A partition is a log: records one after another, each at its **offset** 0, 1, 2, …
# * Several brokers keep a copy, a **replica**. One is the **leader**: producers write to it. The
#   others are **followers**: they fetch from the leader, all the time, as a consumer would.
# * The **log end offset (LEO)** of a replica is the offset that its next record will get.
# * The **in-sync replicas (ISR)** are the leader and those followers that keep up. A follower may
#   be behind for a while (`replica.lag.time.max.ms`, 30 seconds by default) before it is taken
#   out. The controller, a node of its own, keeps the list, and takes the next leader from it; a
#   leader from outside the list is an **unclean election**, which happens only where somebody
#   allows it. While the list is shorter than `min.insync.replicas`, writes with `acks=all` are
#   refused.
# * A record is **committed** when every in-sync replica has it. With `acks=all` the producer
#   hears "acknowledged" only then; with `acks=1` as soon as the leader has written it.
# * The **high watermark (HW)** is the first offset that is not committed. HW 5: consumers may read
#   up to offset 4.
# * Each time the controller makes another broker the leader, a new **leader epoch** begins: 0, 1,
#   2, … Every batch of records carries the epoch of the leader that took it.
# * **Truncating** is cutting off the end of one's log. **Fencing** is refusing somebody who speaks
#   of an epoch that is over.
# * A **KIP**, a Kafka Improvement Proposal, is the public paper in which a change to Kafka is
#   argued for. The rules below go by the numbers of theirs.
#
# ## Predict
#
# Answer from what you know or guess. The first answer is the one that is kept, and a wrong one is
# worth more than a lucky one.

# %% 07-1 tags=["stub", "predict", "quiz"]
lab.quiz("07-1")

# %% 07-1 tags=["solution", "predict", "quiz"]
lab.quiz("07-1", "c")

# %% 07-2 tags=["stub", "predict", "quiz"]
lab.quiz("07-2")

# %% 07-2 tags=["solution", "predict", "quiz"]
lab.quiz("07-2", "c")

# %% 07-3 tags=["stub", "predict", "quiz"]
lab.quiz("07-3")

# %% 07-3 tags=["solution", "predict", "quiz"]
lab.quiz("07-3", "c")

# %% [markdown]
# ## Run it on the engine
#
# The engine's brokers run in virtual time here: one seed, one history, to the microsecond. No
# frame below is a drawing. Each shows what the brokers held and believed at one moment, and what
# they had said to each other since the frame before.
#
# ### What a consumer may see
#
# How to read a frame: a row is a replica, ★ leads. A full cell is below that replica's high
# watermark (the black bar), a hatched one is written but, as far as *this* replica knows, not
# committed. The small number is the epoch. Here 101 has eight records, 102 has five of them and
# 103 six. The smallest log of the three ends at 5, so the HW is 5 and offset 4 is the last that a
# consumer gets.

# %% eight-records tags=["sim"]
Walkthrough(runs.three_behind()).shot("Written is not committed")

# %% [markdown]
# Why hold back F, G and H, which the leader has on its disk? Let the leader die and see. The
# second row runs the same accident with that one rule switched off: a consumer reads H, and then
# there is no H. Whatever it did because of H, the log no longer knows why. (102 leads then, because
# it comes next in the replica list. That 103 has one record more, F, does not count: every member
# of the ISR has all that is committed.)

# %% beyond-the-high-watermark tags=["sim"]
runs.a_reader_and_a_dying_leader()

# %% [markdown]
# ### The walk-through: how a record is committed
#
# Brokers 101, 102, 103; 101 leads. `settled` gives a cluster at rest, with a topic `orders` of one
# partition and the replica list 101, 103, 102; `shot` lets it run until something is so, and takes
# a frame.
#
# Followers ask from their own log end. So *offset 3* in a fetch says two things: send me 3, and I
# have 0 to 2. Watch in frame 3 how the leader's bar moves at that moment, and that the followers'
# bars do not. They hear of it one answer later.
#
# A fetch names two epochs as well: *in epoch 0* is the one in which the follower believes to be,
# *last epoch 0* that of the last record in its log. Here they are the same. Keep an eye on both:
# it took Kafka until 2.1 to name the first, and the rest of this notebook is about why.

# %% committing tags=["sim"]
world = runs.settled(101, 103, 102)
walk = Walkthrough(world)
walk.send("A", "B", "C")
walk.shot("Leader epoch: the batch carries it", log_ends(3, 101))
walk.shot("Follower fetch response", log_ends(3, 102, 103))
walk.shot("Committing offsets 0 to 2", high_watermarks(3, 101))
walk.shot("Advancing the follower high watermark", high_watermarks(3, 102, 103))

# %% [markdown]
# ### The leader fails before the news is out
#
# D is copied by everybody, committed, acknowledged; a consumer reads it from 101. In this very
# moment the links break and 101 dies. The controller takes the next leader from the ISR, in the
# order of the replica list, which is 101, 103, 102 here. It writes that into its metadata log,
# with a new epoch, and the brokers hear of it from there.
#
# Look at frame 7. 103 holds D. What it does not hold is the knowledge that D is committed: its
# high watermark is 3, though the true one was 4.

# %% leader-fails tags=["sim"]
walk = walk.onwards()
walk.send("D")
walk.shot("D is committed, and 101 alone knows", high_watermarks(4, 101))
walk.read(101, 3)
for link in ((101, 102), (101, 103), (102, 103)):
    world.cut(*link)
walk.shot("A consumer has read D")
walk.kill(101)
walk.shot("Handling leader failure: 103 leads, epoch 1", led_by(103, 102, 103))

# %% [markdown]
# ### Temporarily decreased high watermark
#
# Two questions a consumer may ask now, and two answers. *Where does the log end?* (`ListOffsets`,
# which is what `seekToEnd` and every lag monitor send.) To say 3 would be going back behind what
# was already read, so 103 says `OFFSET_NOT_AVAILABLE`, a retriable error. *Give me offset 3*
# (`Fetch`): no error. An empty answer with HW 3, as if nothing were there yet; the client just
# asks again. (Only beyond the end of the log is a fetch an error, `OFFSET_OUT_OF_RANGE`.)
#
# Then 102 reaches 103, and a single fetch from offset 4 tells 103 all it lacked.

# %% window tags=["sim"]
walk = walk.onwards()
told = [walk.list_latest(103), walk.read(103, 3)]
walk.shot("Temporarily decreased high watermark")
world.heal()
walk.shot("One fetch later", high_watermarks(4, 103))
told += [walk.list_latest(103), walk.read(103, 3)]
walk.shot("Normal consumption continues", high_watermarks(4, 102))
assert told == ["OFFSET_NOT_AVAILABLE", "nothing", "4", "D"]
walk

# %% [markdown]
# The rule behind it compares two numbers: the new leader's high watermark (3) and the offset at
# which its own epoch begins (4, its log end when it took over). As long as the first is below the
# second, there are records of former epochs of which it cannot know whether they are committed.
#
# ### Two histories
#
# Now the other half of the story, from the beginning again. 103 is cut off from 101 for a moment,
# so D and E reach only 102, and F nobody. None of them is committed. 101 dies, 103 leads, and
# takes W, X, Y, Z. At offset 3 there is now a D and a W: an offset alone no longer names a record.
# Offset and epoch together do: each epoch has one leader, and that one never writes an offset
# twice.

# %% two-histories tags=["sim"]
world = runs.settled(101, 103, 102)
walk = Walkthrough(world, first=11)
walk.send("A", "B", "C")
walk.quietly(high_watermarks(3, 101, 102, 103))
world.cut(101, 103)
walk.send("D", "E")
walk.shot("D and E reach 102 alone", log_ends(5, 102))
world.cut(101, 102)
walk.send("F")
walk.shot("F reaches nobody", log_ends(6, 101))
world.cut(102, 103)
walk.kill(101)
walk.shot("103 leads", led_by(103, 102, 103))
walk.send("W", "X", "Y", "Z")
walk.shot("Partition replica reconciliation is due", log_ends(7, 103))

# %% [markdown]
# ### Reconciliation
#
# The link between 102 and 103 is mended, and 102 does what followers do: it fetches from its log
# end, 5. It believes in epoch 1, as 103 does; its last record is of epoch 0. For 103 that does not
# fit: in 103's log, epoch 0 ends at 3. It says so in its answer, instead of records. 102 cuts at
# 3, and asks again.
#
# Then 103 answers with HW 3, and offsets 3 to 6 of the new epoch. With the fetch from 7, 102
# confirms them, and the high watermark goes to 7.

# %% reconciled tags=["sim"]
walk = walk.onwards()
world.heal(102, 103)
walk.shot("The fetch response informs the follower of divergence", log_ends(3, 102))
walk.shot("Subsequent fetch, with updated offset and epoch", log_ends(7, 102))
walk.shot("102 acknowledges the new records", high_watermarks(7, 103))
records = "records 3 (epoch 1), 4 (epoch 1), 5 (epoch 1), 6 (epoch 1)"
assert f"103 → 102  HW 3, {records}" in walk.said
walk

# %% [markdown]
# And the old leader? It is started again with the log it left: D, E and F at its end. It follows
# like anybody else, is told the same, cuts, copies, and is taken back into the ISR. D, E and F are
# gone. Nobody had been promised them: they were sent with `acks=all`, and the producer never got
# its answer. With `acks=1` somebody would have been, and they would be gone all the same.
#
# (Its HW is 0 in frame 18: a broker writes high watermarks to disk every five seconds
# (`replica.high.watermark.checkpoint.interval.ms`), and 101 had not come to that. The film below
# shows what depends on it.)

# %% old-leader-returns tags=["sim"]
walk = walk.onwards()
world.heal()
world.start(101)
walk.shot("101 is back and cuts its tail", log_ends(3, 101))
walk.shot("101 catches up", log_ends(7, 101))
walk.shot("101 rejoins the ISR", in_sync(101, 102, 103))

# %% [markdown]
# What a broker knows of epochs and of high watermarks must survive its death, so it lies in two
# text files. Here are 103's, some seconds later, as they are on its disk. First line: the version
# of the format; second: how many entries follow. In `leader-epoch-checkpoint`, one file a
# partition, an entry is an epoch and the offset at which it begins. `1 3` is the line from which
# 103 told 102, and 101, that epoch 0 ends at 3. In `replication-offset-checkpoint`, one file a
# broker, it is topic, partition, high watermark.

# %% checkpoint-files tags=["sim"]
world.run(for_s=6)
print(runs.checkpoints(world, 103))

# %% [markdown]
# ### Go back, and do it otherwise
#
# 102 asked its leader where to cut. Why ask? It knows a high watermark of its own, and all below
# that is committed. So let everybody cut there, at once, and fetch on. That is what Kafka did
# until 2017.
#
# Here is an accident to try it on. D is acknowledged by all three, the followers have not heard of
# the new high watermark, the links break, 101 dies; 103 leads for a moment, dies, too; 102 leads.
# Then all come back. With the rule of today, D survives. Two more records are there so that the
# logs do part: E, which 101 took with `acks=1` when it was already alone, and W, which 102 takes
# as the last leader. Nobody copied E, so it is lost under any rule; D is the one to watch. The
# whole history is recorded below, a step for each thing that happened, and the timeline stands
# where the histories part.
#
# 1. Click the timeline; walk with the arrow keys; Home and End go to its ends. Each step has a
#    sentence, and each line of the trace opens the engine's source at the line that did it.
# 2. At this very step, choose the rule `to-high-watermark` and press **fork here**. The same
#    accident goes on under that rule, as a second timeline beside the first.
# 3. Walk on. Who cuts, and what? Go to the end: which of the two still has D?
# 4. Near the end of the second timeline, 101 and 103 come back and cut at 0, though 101 had known
#    a high watermark of 4. That is the HW of frame 18 above: they cut at the one on their disk.

# %% film tags=["read"]
film = lab.panel(runs.two_deaths(), "orders")
film.jump("parted")
film

# %% [markdown]
# The two endings, once more as frames; the old rule holds from the first death on. Offset 3 is
# the one to look at. All three agree in both, and no broker will ever notice that in the second
# one D is missing.

# %% two-endings tags=["sim"]
runs.two_endings()

# %% [markdown]
# ## The ladder
#
# A follower has to cut its log somewhere before it can follow a new leader. Where? There were five
# answers, each mending what the one before had left broken. Is a rule right because you have not
# seen it fail? Instead of hoping for the unlucky moment, let a program try *all* moments.
#
# The explorer knows a small model of replication: replicas, a controller, logs of two records,
# three epochs. From the first state it takes every step that is possible, from each state reached
# every step again, until a state turns up that breaks the promise, or until there is no state left
# that it has not seen. The promise: *whatever lies below a leader's high watermark, every member
# of the ISR has.* Breadth first, so the way it finds is the shortest there is. The
# search has been running since the first cell of this notebook; here is what it found.

# %% the-ladder tags=["sim"]
ladder.table()

# %% [markdown]
# Two of the rules hold with two replicas and break with three. That is what makes them
# treacherous: no test with two brokers can show it.
#
# ### First rung: cut at the own high watermark
#
# It sounds safe. Below the high watermark all is committed, so what is above may go. Read the
# steps in order; those before the first record are told in the first card. A card shows what each
# replica itself holds and believes; news of the controller reaches each in its own time, or never.
# A leader that misses a follower takes it out of the ISR, and no epoch ends; if the controller
# itself takes a broker for dead, as in step 3, a new epoch begins in the model, even if the leader
# stays.
#
# The last sentence says what broke: 102 may be elected, and has no A. Let 101 die now, and A is
# gone for good. The cause is in step 8. 102's high watermark is *late*, so above it there may be
# committed records, too. It is the very lateness that you saw in the frames.

# %% first-rung tags=["sim"]
ladder.counter_example("to-high-watermark")

# %% [markdown]
# A model proves nothing about brokers. So here the brokers of the engine, the same ones as in the
# frames, live through that accident, with that rule switched on. In the table stand the moves, and
# the steps of the cards above that each plays; below it, how it ends, and what the very same deeds
# come to under the next rule. (`follow` does each at its moment again.)
#
# The simulator checks several promises, called **invariants**, after every single event, and stops
# at the event that breaks one. *No loss*: what was acknowledged or read stays. *Strong ISR*: what
# lies below the high watermark, every member of the ISR has. *Log matching*: two logs with the same
# epoch at the same offset are equal up to there. (*ELR* in a sentence below: brokers that have left
# the ISR and may still be elected, because they have all that is committed; notebook 06.)

# %% first-rung-in-brokers tags=["sim"]
from engine.sim.model import replay as replay_model

first = replay_model.replay("to-high-watermark")
replayed.side_by_side(first, replay_model.follow(first))

# %% [markdown]
# The same by hand. `back` undoes events, `fork` copies a world, past included, perhaps
# with another rule, and `diff` says what differs. Go back by 9 events, let both worlds run until
# 103 has heard of the new leader, and compare. How late can you change the rule? Put 1 for 9 and
# run the cell again: one event before the end is still early enough, because 103 cuts in the very
# last one.
#
# The answer begins where the two traces are no longer the same line for line (a line is: seconds,
# node, what happened). *There* notes the new rule, at event 101; *here* has no such line, and goes
# on with what came next, at event 105. The election itself is the same in both. What matters
# stands at the end: A.

# %% by-hand tags=["sim"]
world = first.world.fork()  # a copy: the cell can be run again
world.back(9)
here, other = world.fork(), world.fork(rule="kip-101")
for each in (here, other):
    each.invariants = None  # this world breaks them, and should go on
    each.run(until=led_by(102, 103), for_s=5)
print(here.diff(other))

# %% [markdown]
# ### Second rung: KIP-101, ask the leader where my epoch ends (Kafka 0.11)
#
# The follower names the epoch of its last record, and the leader says where, in its own log, that
# epoch ends. This is when batches got their epochs and brokers their `leader-epoch-checkpoint`.
# It mends the first rung. What it forgets: a leader may never have had that epoch, and then it
# has no answer.
#
# Two replicas are enough to see it. In step 11, 102 asks where epoch 1 ends. 101 has heard neither
# of epoch 1 nor that it is to lead epoch 2, and knows no end. So 102 falls back to its own high
# watermark, 0, and that is the first rung again.

# %% second-rung tags=["sim"]
ladder.counter_example("kip-101", 2)

# %% [markdown]
# Some words of the next three tables. The *preferred leader* is the first in the replica list; an
# operator can ask for it to lead again. A broker that *leaves cleanly* hands its leadership over
# before it stops. *Late news* is a metadata record that a broker gets after the other brokers
# have.
#
# The brokers go a way of their own to the same cause, an epoch that the two do not share. What
# they do otherwise stands below the moves. In the left frame, look at offset 1: two records, and D
# above them, of one epoch and the same in both. 102 and 101 hold different bytes at the same
# offset, and neither will ever notice.

# %% second-rung-in-brokers tags=["sim"]
second = replay_model.replay("kip-101")
replayed.side_by_side(second, replay_model.follow(second))

# %% [markdown]
# ### Third rung: KIP-279, name the epoch you speak of (Kafka 2.0)
#
# The leader answers with the largest epoch that it does have, and the follower asks again, or cuts
# where the logs part. Now every question and answer is about the same thing. With two replicas it
# holds. With three, one of them may be two epochs behind. A fetch names the epoch of the last
# record, but not yet the other one, in which the asker believes.
#
# Below, 102 still believes in epoch 0 when it fetches A (step 7), and 101 counts that fetch in
# epoch 2. Then the old news of epoch 1 reaches 102, and it cuts at the word of 103, who holds
# nothing. (103 has not even heard that it ever led. In the model it answers all the same: no rule
# so far tells it to refuse.) With three replicas the second rung breaks by these same ten steps.

# %% third-rung tags=["sim"]
ladder.counter_example("kip-279")

# %% [markdown]
# A broker that does not know that it leads does refuse, and always has. So the last step is played
# otherwise here, and the promise breaks one step earlier: in the left frame 102 has A at offset 0
# and 101 has B there, and 101 has just counted 102 as one that has B.

# %% third-rung-in-brokers tags=["sim"]
third = replay_model.replay("kip-279")
replayed.side_by_side(third, replay_model.follow(third))

# %% [markdown]
# ### Fourth rung: a first draft of KIP-320
#
# Compare on every fetch: is the last record of the follower, with its epoch, also the leader's?
# To break that takes the longest way on the ladder. As on the second rung, two brokers believe at
# once that they lead, 101 and 103, from step 6 on. 103, the leader of the past, is still believed;
# on its word 102 cuts what it has already confirmed to the true one.

# %% fourth-rung tags=["sim"]
ladder.counter_example("kip-320-first-try")

# %% fourth-rung-in-brokers tags=["sim"]
fourth = replay_model.replay("kip-320-first-try")
replayed.side_by_side(fourth, replay_model.follow(fourth))

# %% [markdown]
# ### Last rung: KIP-320, everybody names the epoch (Kafka 2.1)
#
# A request carries the leader epoch that the asker believes in, and a broker in another epoch
# refuses. That is all it took. The proof: no state that can be reached breaks the promise. It is
# a proof about the model, within its bounds. That the engine's brokers break where the model does,
# and hold where it holds, is what the replays show; they are examples, not a proof.
#
# Below that sentence, the accident of the fourth rung again, under this rule, with what is said.
# 102 is just as late, and it asks 101 *in epoch 1*. 101 leads epoch 3 and refuses:
# `FENCED_LEADER_EPOCH`. (Under the draft it was given A here, and counted.) Then 102 hears of epoch
# 2 and follows the zombie 103. Both believe in epoch 2, so it is served, and it does no harm: 102
# has nothing that could be cut. A is committed only after 101 has taken the silent 102 out of the
# ISR.

# %% last-rung tags=["sim"]
print(ladder.counter_example("kip-320"))
replayed.refused(fourth, "kip-320")

# %% [markdown]
# Clients are fenced in the same way. Below, 101 was cut off from everybody; it still believes that
# it leads epoch 0, and clients still reach it. Read the table line by line: who knows too little is
# told `FENCED` by the one who knows more, and who asks somebody behind is told `UNKNOWN`. Fooled
# are those who name no epoch, those who believe in the same old one as 101, and those who are
# content with `acks=1`. The first two read late, but nothing wrong: a zombie commits nothing, so
# its high watermark stands still. The third pay: F was acknowledged, and is not there. Below the
# table stand the two logs before 101 came back.

# %% zombie tags=["sim"]
runs.a_zombie()

# %% [markdown]
# One step came later, and made it simpler: since Kafka 2.7 the follower asks no separate question
# any more. The fetch itself names the last epoch, and the answer says where the logs part, as you
# saw in the frames. The engine calls that rule `fetch-divergence`, and it is the default, as in
# Kafka 4.3.
#
# ## Read the code that did it
#
# Three rules, as the engine's brokers have them. The leader's side: it is asked about an epoch, and
# says where that epoch ends. The follower's side: what to do with that answer; find the case in
# which the follower does not have the epoch that it is told. And the rule of the window, called
# when a client asks for the latest offset, or for a timestamp that no committed record has.

# %% code-of-the-rules tags=["read"]
from engine.api.list_offsets import check_end_is_known
from engine.replication import truncation
from engine.storage.leader_epochs import LeaderEpochs

lab.show(LeaderEpochs.end_offset_for, truncation.where_to_cut, check_end_is_known)

# %% [markdown]
# ## The same on a real Kafka
#
# Until now it was virtual time. The next cell makes a cluster diverge for real: sockets, files,
# processes that are killed. `lab.both` does it on the engine and, where there is one, on Kafka
# 4.3.1, and compares everything that was seen. Where there is none, it says how to get one.

# %% real-side tags=["live"]
real = lab.real()
real or lab.real_absence()

# %% [markdown]
# One failover, everything in it: A is known to all; B is acknowledged, and only 101 knows that it
# is committed; X1, X2, X3 are on 101 alone, with `acks=1`. 101 is killed, 102 leads; now the files
# are read. Then Y1 is written at the offset where 101 has X1, 101 is started again, and the files
# are read once more. Where Java is, Kafka's own `DumpLogSegments` reads the logs, the engine's as
# well as the real one's.

# %% diverge tags=["both"]
outcome = lab.both(scenes.diverge_and_reconcile)
assert outcome.engine["101 cut its log at"] == 2
outcome

# %% [markdown]
# Look for these lines:
#
# * **102 leads, 103 has not fetched yet**: the window, on a real broker. `OFFSET_NOT_AVAILABLE`
#   from ListOffsets, an empty Fetch, and B, which was acknowledged, cannot be read for a moment.
# * **on disk, 101 dead**: 101's leader-epoch-checkpoint has one entry, `0 0`. 102's has two:
#   `1 2` says that epoch 1 begins at offset 2, so epoch 0 ends there. A leader notes that when it
#   takes over, before it has written a record; 103 will note it with the first record it copies.
#   101's epoch 0 goes on to the end of its log, 5. The smaller of the two, 2, is where the logs
#   part; no record was compared.
# * 101's `replication-offset-checkpoint` says 1, though its high watermark was 2: the file is
#   written now and then, not at every step. One more reason not to cut there.
# * **102's fetch answer told 101**: *epoch 0 ends at 2*, as 101 wrote it into its `server.log` (on
#   the engine, its trace). X1, X2 and X3 are gone. They had been acknowledged: that is the price
#   of `acks=1`.
#
# ## Break it
#
# A world to break: A, B, C and D are written, and all is well; the timeline stands at that end. Go
# to any step and press **kill**, **pause** or **cut** on a broker there, or **fork here** with any rule of the ladder. Two
# timelines appear, and what differs between them is marked. Try to make an acknowledged record
# disappear: first with `to-high-watermark`, then with `fetch-divergence`. You have done it when the
# sentence that compares the timelines says, of a record that was acknowledged, **lost in timeline
# 2**. With the second rule you should not get there.

# %% break-it tags=["read"]
world = runs.settled(101, 103, 102)
Walkthrough(world).send("A", "B", "C")
world.run(for_s=1)
Walkthrough(world).send("D")
world.run(for_s=1)
panel = lab.panel(world, "orders")
panel.jump("end")
panel

# %% [markdown]
# ## Your turn
#
# Four exercises. Write your answer over the stub, run it, then run the check below it. A judge
# outside this kernel decides; a wrong answer gets the smallest case where it fails.
# `lab.hint("07-4")` gives three hints and then a solution. The first two are the two sides you
# have just read, in plain lists: write them from what they promise, without looking up.
#
# **The leader's answer.** `epochs` is a leader-epoch checkpoint, a list of `[epoch, start]` in
# ascending order; `log_end` the leader's log end; `asked` the epoch of the follower's last record.
# Return `[epoch, end]`: the largest epoch up to `asked` that the leader has, and where it ends.
# For an epoch younger than all of them, `[-1, -1]`. (`asked` is never older than the first entry:
# that happens only where retention has deleted the oldest records, and Kafka then answers
# `[asked, the first entry's start]`.)


# %% 07-4 tags=["stub"]
def end_of_epoch(epochs, log_end, asked):
    """[epoch, end offset], as a leader of Kafka 4.3 answers."""


# %% 07-4 tags=["solution"]
def end_of_epoch(epochs, log_end, asked):
    """[epoch, end offset], as a leader of Kafka 4.3 answers."""
    if asked > epochs[-1][0]:
        return [-1, -1]
    ends = [start for _, start in epochs[1:]] + [log_end]
    last = [place for place, (epoch, _) in enumerate(epochs) if epoch <= asked][-1]
    return [epochs[last][0], ends[last]]


# %% 07-4 tags=["check"]
lab.check("07-4", end_of_epoch)

# %% [markdown]
# **The follower's cut.** `epochs` and `log_end` are the follower's own now. The leader has said
# that `told_epoch` ends at `told_end`. Return the offset at which the follower cuts its log; its
# log end means that it keeps everything.


# %% 07-5 tags=["stub"]
def where_to_cut(epochs, log_end, told_epoch, told_end):
    """The offset from which on the log goes."""


# %% 07-5 tags=["solution"]
def where_to_cut(epochs, log_end, told_epoch, told_end):
    """The offset from which on the log goes."""
    ends = [start for _, start in epochs[1:]] + [log_end]
    last = [place for place, (epoch, _) in enumerate(epochs) if epoch <= told_epoch][-1]
    known = epochs[last][0] == told_epoch
    return min(ends[last], told_end) if known else ends[last]


# %% 07-5 tags=["check"]
lab.check("07-5", where_to_cut)

# %% [markdown]
# **In the window.** What does a leader tell a consumer? `api` is `"ListOffsets"` (for the latest
# offset) or `"Fetch"` (from `offset`). Return the offset or the number of records that it gets,
# or the name of the error.


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
# **Lose a record.** Write the accident. At the beginning 101 leads, 103 and 102 follow (in this
# order they take over), and A, B, C are committed and known to all. Your script goes on from
# there, a command a line:
#
# `produce orders D` · `kill 101` · `start 101` · `cut 102 103` · `heal` ·
# `until leader orders 103` · `quiet` (until nothing more is to come, which may take seconds) ·
# `read orders`
#
# A dead broker is noticed after up to 2 s here, and a follower without a fetch for 2 s may leave
# the ISR. The judge plays your script twice. With the rule `to-high-watermark` a record that was acknowledged with
# `acks=all` must be lost, without any unclean election; with Kafka's rule of today it must still
# be there. Six lines are enough.

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
# ## Source check
#
# What you may have read elsewhere, and what is so in Kafka 4.3. Each line points at the section
# whose run settles it; what no run here can show names its source.
#
# | you may read | what is so | where |
# |---|---|---|
# | in the gap after an election a consumer that *reads* gets `OFFSET_NOT_AVAILABLE` | only `ListOffsets` says that (KIP-207, 2.2); a Fetch between HW and log end is empty, with the lower HW. The same on a real 4.3.1 | [Temporarily decreased high watermark](#Temporarily-decreased-high-watermark), [The same on a real Kafka](#The-same-on-a-real-Kafka) |
# | the first leader's epoch is 1, the next one's 2 | a new topic begins with epoch 0; after one failover it is 1 | [The walk-through](#The-walk-through:-how-a-record-is-committed) |
# | the new leader is announced through ZooKeeper, by LeaderAndIsr requests | through the controller's metadata log, which brokers fetch (ZooKeeper left in 4.0) | KIP-500; notebook 05 |
# | followers ask OffsetsForLeaderEpoch before they fetch | the fetch answer itself tells, since 2.7; so it was from 0.11 to 2.6 | [Reconciliation](#Reconciliation), KIP-595 |
# | the high watermark is the offset of the last committed record | it is the next one: HW 5, last readable 4 | [What a consumer may see](#What-a-consumer-may-see) |
# | the high watermark is what a minimum of in-sync replicas share | what *all* current members of the ISR share; `min.insync.replicas` only decides whether it may move | [What a consumer may see](#What-a-consumer-may-see), notebook 06 |
# | followers learn the new high watermark at once, since a fetch can carry theirs (KIP-1166, 4.1) | still one fetch late for the records of topics. That field serves the controllers' own log | [How a record is committed](#The-walk-through:-how-a-record-is-committed), KIP-1166 |
# | a follower cuts what is above its high watermark | the rule before 0.11, and it loses acknowledged records | [First rung](#First-rung:-cut-at-the-own-high-watermark) |
# | an acknowledged record cannot be truncated | with `acks=1` it can: X1, X2, X3 were, on a real Kafka | [The same on a real Kafka](#The-same-on-a-real-Kafka) |
#
# ## Interview corner
#
# Say your answer aloud, then open it, then go to the run that proves it.
#
# <details><summary><b>What is the high watermark, and why do consumers stop there?</b></summary>
# The first offset that not every in-sync replica has. A record above it may vanish with the
# leader; whoever had read it would have seen something that never happened
# (<a href="#What-a-consumer-may-see">What a consumer may see</a>).
# </details>
# <details><summary><b>Can the high watermark go back?</b></summary>
# Not while a leader stays. A new leader may start with a lower one, because it hears of it one
# fetch late. Consumers do not notice more than a short wait: ListOffsets answers
# OFFSET_NOT_AVAILABLE, Fetch is empty (<a href="#Temporarily-decreased-high-watermark">Temporarily
# decreased high watermark</a>).
# </details>
# <details><summary><b>A leader dies with uncommitted records and comes back. What happens to them?</b></summary>
# It follows the new leader, fetches from its log end with its last epoch, is told where that epoch
# ends, and cuts there (<a href="#Reconciliation">Reconciliation</a>). With acks=all nobody had
# been promised them; with acks=1 somebody had.
# </details>
# <details><summary><b>Why are offsets not enough to compare two logs?</b></summary>
# Two leaders may write different records at the same offset. One leader never does, and each has
# an epoch of its own. So (offset, epoch) names a record, and where an epoch ends tells where two
# logs part (<a href="#Two-histories">Two histories</a>).
# </details>
# <details><summary><b>Why did KIP-101 not suffice?</b></summary>
# The leader may not have the epoch it is asked about; KIP-279 makes it name the epoch it speaks
# of. And neither tells who asks, or answers, in an epoch that is over; KIP-320 does
# (<a href="#The-ladder">The ladder</a>: the counter-examples of kip-101, with two replicas, and
# of kip-279, with three).
# </details>
# <details><summary><b>What is a zombie leader, and what can it still do?</b></summary>
# One that was replaced and does not know. It can answer those who name no epoch, and acknowledge
# acks=1 writes that will be cut. It cannot commit anything: the ISR of the new epoch does not
# fetch from it (<a href="#Last-rung:-KIP-320,-everybody-names-the-epoch-(Kafka-2.1)">Last rung</a>).
# </details>
# <details><summary><b>How would you convince yourself that a replication protocol is right?</b></summary>
# Write down the promise, model the steps, and search all states; then tie the model to the code by
# replaying what it finds. A bounded proof, and honest about its bounds
# (<a href="#The-ladder">The ladder</a>,
# <a href="#First-rung:-cut-at-the-own-high-watermark">First rung</a>).
# </details>
#
# ## The final set
#
# Five questions on the whole notebook. Several letters may be right: `lab.quiz("07-11", "a",
# "c")`.

# %% 07-8 tags=["stub", "predict", "quiz"]
lab.quiz("07-8")

# %% 07-8 tags=["solution", "predict", "quiz"]
lab.quiz("07-8", "b")

# %% 07-9 tags=["stub", "predict", "quiz"]
lab.quiz("07-9")

# %% 07-9 tags=["solution", "predict", "quiz"]
lab.quiz("07-9", "d")

# %% 07-10 tags=["stub", "predict", "quiz"]
lab.quiz("07-10")

# %% 07-10 tags=["solution", "predict", "quiz"]
lab.quiz("07-10", "b")

# %% 07-11 tags=["stub", "predict", "quiz"]
lab.quiz("07-11")

# %% 07-11 tags=["solution", "predict", "quiz"]
lab.quiz("07-11", "b", "d")

# %% 07-12 tags=["stub", "predict", "quiz"]
lab.quiz("07-12")

# %% 07-12 tags=["solution", "predict", "quiz"]
lab.quiz("07-12", "a", "b", "c", "d")

# %% [markdown]
# ## What real Kafka does beyond this
#
# * Consumers use epochs, too: each remembers the epoch of the last record it read, and after a
#   change of leader asks where that epoch ends. If its position lies beyond, the Java client
#   raises `LogTruncationException` instead of skipping silently (KIP-320).
# * When the ISR is lost altogether, eligible leader replicas (KIP-966) and, at last, an unclean
#   election decide; then committed records can go, and this same truncation carries it out
#   (notebook 06).
# * The controllers replicate their own log with the same idea, but by votes of a majority, and the
#   diverging epoch in the fetch answer comes from there (KIP-595; notebook 05).
# * With tiered storage a follower may have to rebuild its epoch checkpoint from remote segments
#   (notebook 12).
# * What a *producer* makes of time-outs and new leaders, without losing or doubling a record, is
#   the next notebook: 08.
