# %% [markdown]
# # 05 · The control plane
#
# Broker 102 leads a partition. Some node decided that, wrote it down, and passed it on. This
# notebook takes that node away. Who decides then, and who decides who decides? Until Kafka 3.9 a
# second system had the last word: ZooKeeper. Since 4.0 it is a log that Kafka's own controllers
# keep. Both designs run here, on the same brokers, with the same faults.
#
# **What you will be able to do**
#
# * read the metadata log, and say which records a topic or a dead broker causes
# * say which controller can be elected, and why an epoch must be on disk before a vote is
# * tell what goes on and what stops while no controller is active
# * explain how both designs disarm a controller that does not know it was replaced
# * say why ZooKeeper set a limit to the number of partitions, and KRaft does not
#
# **Time:** {minutes}. It builds on notebooks 00 and 06.
#
# **The words**
#
# * The **control plane** decides: topics, leaders, ISRs, configs. The **data plane** moves records.
# * A **controller** is a node of the control plane. One of them is **active**: it decides, and the
#   others are ready to follow it.
# * The **metadata log** (`__cluster_metadata`) has every decision as a record. Controllers
#   replicate it; brokers read it. A decision is **committed** when a **majority** of the
#   controllers has it on disk. They are the **voters**.
# * An **epoch** is the term of one active controller: 1, 2, 3, …
# * A broker is **fenced** when the controller has not heard from it for the session timeout.
#
# ### A decision is a record
#
# The panel shows three controllers in virtual time. A row is a controller, a cell is a record of
# its copy of the metadata log. Use Home, the arrow keys and End.

# %% doorway tags=["setup"]
from IPython.display import display

from engine.sim.consensus.ladder import RUNGS
from kit import lab
from kit.drawings.chart import Chart
from kit.probes import clients, metadata_log
from kit.tables import Table
from lessons.nb05_the_control_plane import consensus, runs

# %% quorum tags=["read"]
calm = lab.world(seed=5, controllers=3)
calm.create_topic("orders", partitions=2)
panel = lab.quorum(calm)
panel.jump("write orders")
panel

# %% [markdown]
# Now on the engine and on real Kafka, with one controller: 100. The next cell creates a topic with
# two partitions and a config of its own, and reads what the controller's log has gained.

# %% 05-1 tags=["stub", "predict"]
lab.predict("05-1")

# %% 05-1 tags=["solution", "predict"]
lab.predict("05-1", 4)

# %% created tags=["both"]
partitions, config = 2, {"retention.ms": 60_000}


def created(cluster):
    before = metadata_log.end(cluster)
    cluster.create_topic("parcels", partitions=partitions, config=config)
    written = metadata_log.since(cluster, before)
    return {"records": [each.kind for each in written]}


outcome = lab.both(created)
display(outcome)
lab.verdict("05-1", outcome)

# %% [markdown]
# One record for the topic, one for its config, one for each partition: its replicas, leader and
# ISR. They are one batch, so all of them are there or none. There is no other place where the
# topic exists. A broker that reads these four records creates the directories.
#
# ### A broker dies
#
# Broker 103 leads two of six partitions, and follows in four. You kill it.

# %% 05-4 tags=["stub", "predict"]
lab.predict("05-4")

# %% 05-4 tags=["solution", "predict"]
lab.predict("05-4", 6)

# %% broker-dies tags=["both"]
victim = 103
fleet = {0: [101, 102, 103], 1: [102, 103, 101], 2: [103, 101, 102],
         3: [101, 103, 102], 4: [102, 101, 103], 5: [103, 102, 101]}  # fmt: skip


def broker_dies(cluster):
    cluster.create_topic("fleet", assignment=fleet)
    before = metadata_log.end(cluster)
    cluster.kill(victim)
    cluster.wait_until(lambda c: c.snapshot()["brokers"][victim]["fenced"], 40)
    written = metadata_log.since(cluster, before)
    changes = [each.says for each in written if each.says.startswith("partition fleet-")]
    left = cluster.snapshot()["topics"]["fleet"]["partitions"][0]
    return {
        "partitions with a record": len(changes),
        "of these, with a new leader": sum("leader" in says for says in changes),
        "about the broker": written[-1].says,
        "fleet-0, replicas and ISR": [left["replicas"], left["isr"]],
    }


outcome = lab.both(broker_dies)
display(outcome)
lab.verdict("05-4", outcome)

# %% [markdown]
# The controller does not ask brokers whether they are well. Each broker sends a heartbeat every
# `broker.heartbeat.interval.ms` (2 s). When none has come for `broker.session.timeout.ms` (9 s),
# the controller *fences* the broker: it takes it out of every ISR, and elects where it led. The
# broker stays in the lists of replicas, and it stays registered; its id is expected back.
#
# ## Who decides who decides
#
# Three controllers keep the log. One is active; the others copy its log, by the same fetch requests
# as a partition's followers. When a voter has not heard from the active one for
# `controller.quorum.fetch.timeout.ms` (2 s), it asks the others for their votes.
#
# Here the active controller loses the link to one voter, and then decides: it creates a topic. A
# majority has that decision, itself and the other voter. Then the active controller dies. Two voters
# are left, which is a majority of three. Only one of them has the topic.

# %% 05-5 tags=["stub", "predict"]
lab.predict("05-5")

# %% 05-5 tags=["solution", "predict"]
lab.predict("05-5", "b")

# %% election tags=["sim"]
seed = 5  # another seed: another timing

world = lab.world(seed=seed, controllers=3)
world.create_topic("orders")
active = runs.active(world)
behind, ahead = (each for each in (100, 200, 300) if each != active)
world.cut(active, behind)
world.create_topic("committed")
ends = runs.log_ends(world)
world.kill(active)
world.run(until=lambda w: runs.active(w) not in (active, -1), for_s=30)
heir = runs.active(world)
world.run(for_s=2)
print("log ends before the kill:", ends)
print("active now:", heir, "in epoch", runs.epoch(world))
print("topics:", *sorted(world.image().topic_ids))
lab.verdict("05-5", {"behind": behind, "ahead": ahead, "heir": heir})

# %% votes tags=["read"]
votes = lab.quorum(world)
votes.jump(f"kill {active}")
votes

# %% [markdown]
# Step through it. A request for a vote says where the candidate's log ends: the epoch of its last
# record, and the offset after it. A voter that has more refuses. Every committed record is on a
# majority, and a winner needs a majority. Two majorities share a voter. So a winner has met at least
# one voter that has all committed records, and has them itself.
#
# First comes a *pre-vote*: would you vote for me? It changes nothing, so a voter that was cut off
# cannot disturb the others with ever higher epochs (KIP-996, since 4.0). Then come the epoch and the
# vote. Both are in the file `quorum-state` before the answer leaves.
#
# ## No controller at all
#
# One controller, and it is gone. The brokers are well. Five things are tried:
#
# * **A** a producer writes with acks=all
# * **B** a consumer reads
# * **C** a client that has just started asks any broker who leads
# * **D** a topic is created
# * **E** the leader is killed, and another replica takes over

# %% 05-7 tags=["stub", "predict"]
lab.predict("05-7")

# %% 05-7 tags=["solution", "predict"]
lab.predict("05-7", "A B C")

# %% no-controller tags=["both"]
wait_s = 12  # for another leader: longer than the session timeout


def no_controller(cluster):
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    cluster.kill(100)
    works = {"A": clients.send(cluster, "orders", "x", acks="all") == "NONE"}
    works["B"] = clients.values(cluster, "orders") == ["x"]
    works["C"] = clients.metadata_at(cluster, 102, "orders").error_code == 0
    works["D"] = runs.created(cluster, "late") == "NONE"
    cluster.kill(101)
    works["E"] = runs.becomes(lambda: cluster.leader("orders") in (102, 103), wait_s)
    return {"works": [letter for letter, well in works.items() if well]}


outcome = lab.both(no_controller)
display(outcome)
lab.verdict("05-7", outcome)

# %% [markdown]
# The data plane goes on by what it knows. A producer needs leaders and an ISR, and the brokers have
# both in memory, from the metadata log. What needs a *new* decision waits: topics, configs, an
# election, a smaller or a larger ISR. So a lost quorum is quiet at first. Each further failure adds
# a partition that stays without a leader.
#
# ## One fault, four columns
#
# Before 4.0 one of the *brokers* was the controller: the first that created the znode `/controller`
# in ZooKeeper. A znode is a file in a small replicated tree; this one was *ephemeral*, which means
# that it vanished with its creator's session. All brokers watched it.
#
# The next cell kills the active controller in both designs, each on the engine (in virtual time) and
# on a real cluster: Kafka 4.3 with three controllers, and Kafka 3.9 with three ZooKeeper members. A
# producer writes ten records a second meanwhile, with acks=all. The leader it writes to stays alive.

# %% 05-8 tags=["stub", "predict"]
lab.predict("05-8")

# %% 05-8 tags=["solution", "predict"]
lab.predict("05-8", "b")


# %% four-columns tags=["live"]
fault = "kill"  # or "pause", "isolate", "stop"


def controller_dies(side):
    former = side.active()
    getattr(side, fault)(former)
    side.wait(lambda: side.active() not in (former, -1), "another controller")
    side.note("a new topic", side.create_topic("after"))


outcome = lab.columns(controller_dies)
display(outcome)
lab.verdict("05-8", runs.pauses(outcome))

# %% [markdown]
# The same fault ends in the same way: another controller, a higher epoch, nothing lost. But in the
# old design the producer paused. Its leader was alive and needs no controller for a write. The dead
# controller was a *broker*, too, with a replica in the ISR: `acks=all` waits for it, until a
# controller takes it out of the ISR. In KRaft the dead controller has no partitions.
#
# The way there differs, too. In KRaft two voters miss the answers to their fetches, and elect. In
# ZooKeeper's design the *ensemble* misses the session's heartbeats and deletes the ephemeral node;
# brokers that watched it race to create it again. ZooKeeper chose the controller, and the controller
# chose the leaders of partitions. ZooKeeper itself never chose a partition's leader.
#
# Change the fault. `"stop"` is by far the fastest. Why?
#
# ## The zombie
#
# The old design had one weak moment. A controller is *paused*: a garbage collection of ten seconds.
# Its session ends, and another broker becomes the controller. A partition's leader dies, and the new
# controller elects broker 102. Then the old controller wakes up. It does not know that it was
# replaced, and it sends the brokers what it knows of the cluster.

# %% 05-9 tags=["stub", "predict"]
lab.predict("05-9")

# %% 05-9 tags=["solution", "predict"]
lab.predict("05-9", "c")

# %% zombie tags=["sim"]
switched_off = []  # then ["obey-any-controller"]

with runs.without(*switched_off):
    world = lab.world(seed=3, control_plane="zookeeper", checked=False)
    world.run(until=lambda w: runs.active(w) > 0, for_s=30)
    zombie = runs.active(world)
    first, heir = (each for each in (101, 102, 103) if each != zombie)
    world.create_topic("orders", assignment={0: [first, zombie, heir]})
    world.pause(zombie)
    world.kill(first)
    world.run(until=lambda w: runs.active(w) == heir, for_s=30)
    world.run(for_s=8)
    world.resume(zombie)
    world.run(for_s=0.05)
refused = world.trace_lines(("order-refused",))
seen = {
    "controllers": [zombie, heir],
    "orders refused": len(refused),
    f"{heir} leads the partition": runs.leads(world, heir),
    "clients hear from it that the leader is": runs.leader_said_by(world, heir),
}
print(*(f"{what}: {value}" for what, value in seen.items()), sep="\n")
lab.verdict("05-9", {"refused": len(refused), "heir": heir,
                     "said": runs.leader_said_by(world, heir)})  # fmt: skip

# %% [markdown]
# Each order carries its sender's *controller epoch*, and a broker that has heard of a later one
# refuses: `STALE_CONTROLLER_EPOCH`. Switch that rule off in the cell. Then broker 102 leads the
# partition, and at the same time it sends every client to 101, which is dead.
#
# The zombie cannot change ZooKeeper either. Each of its writes also checks the version of the znode
# `/controller_epoch`, which the new controller has raised. Two fences, one number.
#
# In KRaft no controller sends orders. Brokers *fetch* the log, and only what a majority has is
# committed. You saw the fence there: the record of `ghost`, written and cut.
#
# ## How many partitions
#
# A new controller of the old design begins with an empty memory. It reads every partition's state
# from ZooKeeper, a request each, and then writes the states that change. A KRaft voter has the log,
# and has applied it already.
#
# The time from the kill until the next controller decides: 3 s of it are the session timeout in
# ZooKeeper, 2 s the fetch timeout in KRaft.

# %% 05-10 tags=["stub", "predict"]
lab.predict("05-10")

# %% 05-10 tags=["solution", "predict"]
lab.predict("05-10", "b")

# %% curve tags=["sim"]
counts = {"ZooKeeper": (1, 2_000, 5_000, 10_000), "KRaft": (1, 500, 1_000)}
# ZooKeeper with 100_000 takes this cell half a minute longer: try it

curves = {
    design: [(each, runs.takeover_s(design, each)) for each in partitions]
    for design, partitions in counts.items()
}
display(Chart("Until another controller decides", curves, x="partitions", y="seconds"))
growth = {design: points[-1][1] / points[0][1] for design, points in curves.items()}
lab.verdict("05-10", {f"growth in {design}": times for design, times in growth.items()})

# %% [markdown]
# 100,000 partitions take the old controller about a minute. During that minute no leader is elected,
# also not for the partitions that the dead broker led. In KRaft the line is flat. What remains is to
# notice the death, and one record: the opening of the new epoch.
#
# ## The ladder of consensus
#
# A record is on two of three voters: a majority. Is it committed? Raft's best-known trap is here.
# The leader of epoch 1 wrote A1 and was deposed. Later it leads epoch 3, and copies A1 to a
# second voter.

# %% 05-11 tags=["stub", "predict"]
lab.predict("05-11")

# %% 05-11 tags=["solution", "predict"]
lab.predict("05-11", "d")

# %% the-ladder tags=["sim"]
shown = "old-epoch-by-counting"  # or another rule that breaks

rules = list(RUNGS)
display(consensus.ladder(rules))
display(consensus.counter_example(shown))
found = consensus.search("old-epoch-by-counting")
lab.verdict("05-11", {"counting": consensus.why(found) or "holds", "steps": found.steps})

# %% [markdown]
# A program tried every order of steps, for each rule. Follow the last rows. 100 counts A1 as
# committed in epoch 3, because two voters have it. But 200 has B2, a record of a *later* epoch than
# A1's. 300 compares the last epochs, must grant its vote to 200, and A1 is lost.
#
# So a leader counts only records of its *own* epoch; what is before them is committed with them. That
# is why each new active controller first writes a record that says nothing but its own name. You have
# seen it in the panel: *leader change*.
#
# `vote-in-memory` is the shortest way to two leaders: a voter restarts, forgets its vote, and votes
# again. For `kraft` the search saw every state, and none was wrong. That is a proof about the model,
# within its bounds.
#
# ## Read the code that did it

# %% the-vote tags=["read"]
from engine.quorum.quorum_state import QuorumState
from engine.quorum.voter_progress import VoterProgress

lab.show(QuorumState.grants, VoterProgress.high_watermark)

# %% [markdown]
# ## Break it
#
# Three live controllers: what Kafka's own tool says of them, what a controller's log says of the
# election, and the panel. Kill the active one, then a second one. Is the third still a follower?
# Start one again. Which steps does the election take?

# %% break-it tags=["live"]
three = lab.engine(controllers=3)
display(lab.tool(three, "kafka-metadata-quorum", "describe", "--status", controllers=True))
display(lab.broker_log(three, three.snapshot()["controller"]["id"], "controller leader"))
lab.quorum(three)

# %% [markdown]
# ## Your turn
#
# **A vote.** `request` is what a candidate sends: `{"epoch": 3, "candidate": 200, "last": (2, 14)}`,
# where `last` is the epoch of its last record and the offset after it. `voter` is who is asked:
# `{"epoch": 2, "voted": None, "last": (2, 11)}`. Return True if the vote is granted.


# %% 05-2 tags=["stub"]
def grants(request, voter):
    """True or False."""


# %% 05-2 tags=["solution"]
def grants(request, voter):
    """True or False."""
    if request["epoch"] < voter["epoch"]:
        return False
    voted = voter["voted"] if request["epoch"] == voter["epoch"] else None
    return voted in (None, request["candidate"]) and request["last"] >= voter["last"]


# %% 05-2 tags=["check"]
lab.check("05-2", grants)

# %% [markdown]
# **What is committed.** `ends` are the log ends of all voters, the leader's included: `{100: 5, 200:
# 4, 300: 2}`. `epochs` are the epochs of the leader's records, one for each offset, and `epoch` is
# its own. `before` is the high watermark so far. Return the high watermark.


# %% 05-3 tags=["stub"]
def high_watermark(ends, epochs, epoch, before):
    """An offset."""


# %% 05-3 tags=["solution"]
def high_watermark(ends, epochs, epoch, before):
    """An offset."""
    held = sorted(ends.values(), reverse=True)[len(ends) // 2]
    if held <= before or epochs[held - 1] != epoch:
        return before
    return held


# %% 05-3 tags=["check"]
lab.check("05-3", high_watermark)

# %% [markdown]
# ## Interview corner
#
# Say your answer aloud, then open the printed answer and look at the run that proves it.
#
# <details><summary><b>1. What was ZooKeeper for in Kafka, and what replaced it?</b></summary>
#
# It held the list of live brokers (ephemeral nodes), topics with their configs and ISRs, and the ACLs;
# and it chose the controller. Since 4.0 all of that is records in the metadata log, and a quorum of
# controllers elects its own leader.
#
# *Follow-up:* which clients talked to ZooKeeper? Producers not since 0.8, consumers not since the new
# consumer of 0.9.
#
# *Weak:* "it managed the cluster". *Good:* names the jobs. *Strong:* says who elected a partition's
# leader: the controller, then and now.
#
# Evidence: [One fault, four columns](#One-fault,-four-columns),
# [Deeper: The tree](#Deeper:-The-tree-and-the-log).
# </details>
# <details><summary><b>2. The active controller dies. What do clients notice?</b></summary>
#
# Nothing, as long as nothing needs a decision. Writes and reads go on. Within seconds another
# controller is active; requests for topics wait for it.
#
# *Follow-up:* and if the whole quorum is gone? The same, but each further failure stays unmended.
#
# *Weak:* "Kafka is down". *Good:* separates both planes. *Strong:* names what waits: elections, ISR
# changes, topics, configs, and new producer ids.
#
# Evidence: [No controller at all](#No-controller-at-all).
# </details>
# <details><summary><b>3. How does Kafka avoid split brain in the control plane?</b></summary>
#
# By a majority and an epoch. Two majorities share a voter, a voter votes once an epoch, and the vote
# is on disk first. A deposed leader can write, but not commit.
#
# *Follow-up:* and in the old design? The controller epoch: brokers refuse an older one, and ZooKeeper
# refuses its writes.
#
# *Weak:* "ZooKeeper prevents it". *Good:* epochs. *Strong:* both fences, and why the vote must be on
# disk.
#
# Evidence: [The zombie](#The-zombie), [The ladder of consensus](#The-ladder-of-consensus).
# </details>
# <details><summary><b>4. Why did Kafka leave ZooKeeper?</b></summary>
#
# A new controller had to load all state before it could decide, so failover grew with the number of
# partitions. Two systems also meant two ways to secure, deploy and watch.
#
# *Follow-up:* what grows with the partitions in KRaft? Memory and snapshots; not the failover.
#
# *Weak:* "ZooKeeper is slow". *Good:* the loading. *Strong:* gives numbers from a run.
#
# Evidence: [How many partitions](#How-many-partitions).
# </details>
# <details><summary><b>5. Three controllers or five?</b></summary>
#
# Three survive one failure, five survive two: so with five, one may be in maintenance while another
# fails. A fourth adds nothing: the majority of four is three.
#
# *Follow-up:* why not nine? Each decision waits for a majority's disks.
#
# *Weak:* "more is safer". *Good:* the arithmetic. *Strong:* maintenance and failure together.
#
# Evidence: exercise 05-13.
# </details>
# <details><summary><b>Read this output: what happened, and what do you do?</b></summary>
#
# ```
# LeaderId:               300
# LeaderEpoch:            7
# HighWatermark:          4312
# MaxFollowerLag:         4301
# MaxFollowerLagTimeMs:   -1
# CurrentVoters:          [{"id": 100, …}, {"id": 200, …}, {"id": 300, …}]
# ```
#
# One voter is thousands of records behind, and it has not been caught up since this leader began: it
# is down, or cut off. The quorum works, with no failure to spare. `describe --replication` names the
# voter. Mend that one before you touch another.
# </details>
#
# ## Quiz

# %% 05-14 tags=["stub", "predict", "quiz"]
lab.quiz("05-14")

# %% 05-14 tags=["solution", "predict", "quiz"]
lab.quiz("05-14", "a", "c")

# %% [markdown]
# ## Deeper: What was decided is not decided
#
# Now the active controller is cut off from both other voters, but brokers and clients still reach
# it. It is asked to create the topic `ghost`.

# %% cut-off tags=["sim"]
cut_links = 2  # with 1, it still has a majority

world = lab.world(seed=5, controllers=3)
world.create_topic("orders")
active = runs.active(world)
others = [each for each in (100, 200, 300) if each != active]
for other in others[:cut_links]:
    world.cut(active, other)
runs.ask_for_topic(world, "ghost")
world.run(for_s=0.5)
written = runs.says(world, active, "ghost")
world.run(until=lambda w: runs.active(w) not in (active, -1), for_s=10)
heir = runs.active(world)
world.heal()
world.run(for_s=3)
later = runs.says(world, active, "ghost")
left = [each for each in written if each in later]
print(f"{active} has written:", *written or ["nothing"], sep="\n  ")
print(f"at the end {active} has:", *later or ["nothing"], sep="\n  ")
print("of what it wrote then,", len(left), "records are left")

# %% isolated tags=["read"]
isolated = lab.quorum(world)
isolated.jump("write ghost")
isolated

# %% [markdown]
# A leader that a majority does not fetch from resigns (*check quorum*: one and a half times the
# fetch timeout). Meanwhile it writes, but nothing that it writes is committed, and no broker acts on
# what is not committed. When it returns, the next leader's first answer names where their logs part,
# and it cuts the tail: the rule of notebook 07, with a majority in the place of the ISR.
#
# The topic `ghost` exists in the end all the same. The broker that had passed the request on had got
# no answer, and asked the next active controller. Compare the offsets and the epochs.

# %% [markdown]
# ## Deeper: The tree and the log
#
# The same cluster in both designs: three brokers, and a topic with a config. First ZooKeeper's tree,
# then the metadata log. Find each line's counterpart.

# %% tree tags=["sim"]
config = {"retention.ms": 60_000}

old = lab.world(seed=3, control_plane="zookeeper")
old.create_topic("orders", config=config)
new = lab.world(seed=3, controllers=3)
new.create_topic("orders", config=config)
for path, data in runs.tree(old):
    print(f"{path:<48} {data}")
print()
print(*runs.says(new, runs.active(new)), sep="\n")

# %% [markdown]
# | ZooKeeper's job | the znode | today |
# |---|---|---|
# | who lives | `/brokers/ids/101`, ephemeral; the session's heartbeats | *broker 101 registers*, then *unfenced*; heartbeats to the active controller |
# | topics, partitions, configs | `/brokers/topics/…`, `/config/topics/…` | *topic*, *partition* and *config* records |
# | leader and ISR | `/brokers/topics/…/state`; a leader wrote its ISR there | the leader asks the controller (AlterPartition), which writes a record |
# | who is the controller | `/controller`, ephemeral, and `/controller_epoch` | the leader of the quorum, and its epoch |
# | ACLs | `/kafka-acl` | records (notebook 17) |
#
# Consumers of the first clients kept their offsets there, too, under `/consumers`; since 0.9 they are
# in the topic `__consumer_offsets` (notebook 10).

# %% [markdown]
# ## Deeper: Three ways to lose a session
#
# A broker is stopped, is cut off, or is paused by a garbage collection. When does the cluster count
# it out? In the old design its ephemeral node vanishes with its session; in KRaft the controller
# fences it. ZooKeeper's session timeout was 6 s until Kafka 2.4, and 18 s from 2.5 on.

# %% sessions tags=["sim"]
pause_s = 12  # how long the garbage collection takes

rows = []
for timeout_ms in (6_000, 18_000):
    settings = {"zookeeper.session.timeout.ms": timeout_ms}
    rows.append((f"ZooKeeper, {timeout_ms // 1000} s",
                 *runs.counted_out("zookeeper", settings, pause_s)))  # fmt: skip
settings = {"broker.session.timeout.ms": 9_000, "broker.heartbeat.interval.ms": 2_000}
rows.append(("KRaft, 9 s", *runs.counted_out("kraft", settings, pause_s)))
Table("Seconds until broker 103 is counted out", ("", "stopped", "cut off", f"paused {pause_s} s"),
      rows)  # fmt: skip

# %% [markdown]
# A broker that is stopped says goodbye: its session ends at once, and in KRaft it asks for a
# controlled shutdown. Silence takes the timeout. A pause that is shorter than the timeout harms
# nothing, which is why the default was raised for networks and machines in a cloud (KIP-537).

# %% [markdown]
# ## Deeper: The log, read by Kafka's own tool
#
# The engine writes the metadata log in Kafka's format. Here Kafka's tool reads the engine's files,
# and then says how far each controller and broker has the log of three controllers.

# %% dumped tags=["live"]
eng = lab.engine(settings=lab.BRISK)
eng.create_topic("parcels", partitions=2, config={"retention.ms": 60_000})
dump = lab.tool(eng, "kafka-dump-log", "--cluster-metadata-decoder", broker=100,
                topic="__cluster_metadata")  # fmt: skip
display(dump)
trio = lab.engine(controllers=3)
lab.tool(trio, "kafka-metadata-quorum", "describe", "--replication", controllers=True)

# %% [markdown]
# Brokers are *observers*: they fetch the log like a voter, and no majority counts them.

# %% [markdown]
# ## Deeper: Two more exercises
#
# **A broker's memory.** A broker knows who leads because it applies records in their order. A record
# is `{"partition": "orders-0", "leader": 101, "isr": [101, 102]}`; a later one may have only what
# changes. `{"topic": "orders", "deleted": True}` removes all partitions of a topic. Return
# `{"orders-0": [101, [101, 102]], …}`: leader and ISR.


# %% 05-12 tags=["stub"]
def apply(records):
    """A dictionary: leader and ISR by partition."""


# %% 05-12 tags=["solution"]
def apply(records):
    """A dictionary: leader and ISR by partition."""
    known = {}
    for record in records:
        if record.get("deleted"):
            gone = record["topic"]
            known = {name: it for name, it in known.items() if name.rpartition("-")[0] != gone}
            continue
        leader, isr = known.get(record["partition"], [-1, []])
        known[record["partition"]] = [record.get("leader", leader), record.get("isr", isr)]
    return known


# %% 05-12 tags=["check"]
lab.check("05-12", apply)

# %% [markdown]
# **How many controllers.** `failures` may fail at once, while `in_maintenance` more are shut down on
# purpose. Return the smallest number of controllers that still has a majority.


# %% 05-13 tags=["stub"]
def controllers(failures, in_maintenance):
    """A number of controllers."""


# %% 05-13 tags=["solution"]
def controllers(failures, in_maintenance):
    """A number of controllers."""
    return 2 * (failures + in_maintenance) + 1


# %% 05-13 tags=["check"]
lab.check("05-13", controllers)

# %% [markdown]
# ## Deeper: Two more questions
#
# They are about votes, and about both designs.

# %% 05-15 tags=["stub", "predict", "quiz"]
lab.quiz("05-15")

# %% 05-15 tags=["solution", "predict", "quiz"]
lab.quiz("05-15", "b")

# %% 05-16 tags=["stub", "predict", "quiz"]
lab.quiz("05-16")

# %% 05-16 tags=["solution", "predict", "quiz"]
lab.quiz("05-16", "a", "d")

# %% [markdown]
# ## Deeper: Source check
#
# What you may have read elsewhere, and what is true in Kafka 4.3.
#
# | you may read | what is so | where |
# |---|---|---|
# | ZooKeeper elects the leaders of partitions | it chose the controller, and the controller chose the leaders; since 4.0 there is no ZooKeeper | [One fault, four columns](#One-fault,-four-columns) |
# | clients ask ZooKeeper where the leaders are | they ask any broker, producers since 0.8, consumers since 0.9 | [No controller at all](#No-controller-at-all) |
# | brokers are stateless | they hold the logs; only the cluster's metadata was elsewhere | [A broker dies](#A-broker-dies) |
# | the controller checks the brokers' health | brokers send heartbeats; silence is what it notices | [A broker dies](#A-broker-dies) |
# | any broker can become the controller | in KRaft only a node with `process.roles=controller` | [Who decides who decides](#Who-decides-who-decides) |
# | without the controller Kafka stands still | records flow; decisions wait | [No controller at all](#No-controller-at-all) |
# | a paused controller that returns makes a split brain | it can speak, but it is refused, in both designs | [The zombie](#The-zombie) |
