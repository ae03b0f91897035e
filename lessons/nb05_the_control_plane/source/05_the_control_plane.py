# %% [markdown]
# # 05 · The control plane
#
# Broker 102 leads a partition. Some node decided that, wrote it down, and passed it on. This
# notebook takes that node away. Who decides then, and who decides who decides? Through Kafka 3.9 a
# second system could have the last word: ZooKeeper. Since 4.0 there is only a log that Kafka's own
# controllers keep: KRaft.
#
# **What you will be able to do**
#
# * name the records that a new topic or a dead broker produces
# * say which controller can be elected, and why a vote must be on disk before it is answered
# * say what keeps working and what stops without an active controller
# * say what a controller can still do that does not know it was replaced
# * say what a new controller must do before it can decide, in both designs
#
# **Time:** {minutes}. It builds on notebooks 00 and 06.
#
# **The words**
#
# * The **control plane** decides: topics, leaders, ISRs, configs. The **data plane** moves records.
# * A **controller** is a node of the control plane. The **active** one decides; the others stand by.
# * The **metadata log** (`__cluster_metadata`) has every decision as a record. Controllers
#   replicate it; brokers read it.
# * The **voters** are the controllers that elect and count. A decision is **committed** when no
#   election can lose it: in general, when a majority of them, a **quorum**, has it on disk.
# * A controller's **epoch** numbers the elections. A candidate asks for votes in the next higher
#   epoch; a voter has one vote in each. (A partition's leader epoch is another number.)
# * **Raft** is the algorithm; **KRaft** is Kafka's form of it.
# * A **fenced** broker is registered, but may lead nothing: it has not caught up, was shut down, or
#   has been silent for the session timeout.
#
# ### A decision is a record
#
# The panel shows three controllers in virtual time. A row is a controller, a cell is a record of
# its copy of the metadata log. Use Home, the arrow keys and End. A voter that knows no leader is
# *unattached*. One that misses its leader is *prospective* (it asks whether it would win), then a
# *candidate*.

# %% doorway tags=["setup"]
from IPython.display import display

from engine.sim.consensus.ladder import RUNGS
from engine.wire.errors import Errors
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
# Step from the start to `write orders`: which records does a topic produce?
#
# ### A broker dies
#
# Now on the engine and on real Kafka, with one controller: 100. The next cell creates a topic with
# six partitions and a config of its own, and reads what the controller's log has gained. Broker 103
# leads two of the six, and follows in four. You kill it.

# %% 05-4 tags=["stub", "predict"]
lab.predict("05-4")

# %% 05-4 tags=["solution", "predict"]
lab.predict("05-4", 6)

# %% broker-dies tags=["both"]
victim = 103
fleet = {0: [101, 102, 103], 1: [102, 103, 101], 2: [103, 101, 102],
         3: [101, 103, 102], 4: [102, 101, 103], 5: [103, 102, 101]}  # fmt: skip


def broker_dies(cluster):
    start = metadata_log.end(cluster)
    cluster.create_topic("fleet", assignment=fleet, config={"retention.ms": 60_000})
    created = metadata_log.since(cluster, start)
    before = metadata_log.end(cluster)
    cluster.kill(victim)
    cluster.wait_until(lambda c: c.snapshot()["brokers"][victim]["fenced"], 40)
    written = metadata_log.since(cluster, before)
    changes = [each.says for each in written if each.says.startswith("partition fleet-")]
    left = cluster.snapshot()["topics"]["fleet"]["partitions"][0]
    return {
        "the new topic": runs.counted(each.kind for each in created),
        "partitions with a record": len(changes),
        "of these, with a new leader": sum("leader" in says for says in changes),
        "about the broker": written[-1].says,
        "fleet-0, replicas": left["replicas"],
        "fleet-0, ISR": left["isr"],
    }


outcome = lab.both(broker_dies)
display(outcome)
lab.verdict("05-4", outcome)

# %% [markdown]
# A topic is one record, one for each config of its own, and one for each partition: replicas,
# leader and ISR. They are one batch, so all of them are there or none. A broker creates the
# directories of its own replicas when it applies these committed records.
#
# Each broker sends the controller a heartbeat every `broker.heartbeat.interval.ms` (2 s). When none
# has come for `broker.session.timeout.ms` (9 s), the controller *fences* the broker. It takes it out
# of its ISRs, even as the last member (notebook 06), and elects new leaders for the partitions it
# led. The broker stays registered and in the lists of replicas.
#
# ## Who decides who decides
#
# Three controllers keep the log. One is active; the others copy its log, by the same fetch requests
# as a partition's followers. When a voter has not heard from the active one for
# `controller.quorum.fetch.timeout.ms` (2 s), it asks the others for their votes.
#
# Here the active controller loses the link to one voter, and then creates a topic. Two of three have
# that record: the active controller and the other voter. Then the active controller dies. Two voters
# are left. Only one of them has the topic.

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
votes.jump(f"{ahead} says no")
votes

# %% [markdown]
# One step back, the voter with the shorter log asks. The other refuses: it still follows the dead
# leader, and a follower refuses everyone. Step on until it asks itself. From then on the logs decide.
# A request says where the candidate's log ends. A voter refuses if its own log ends later: in a later
# epoch, or in the same epoch at a higher offset. Every committed record is on a majority, a winner
# needs a majority, and two majorities share a voter. That voter would have refused a candidate
# without the record. So the winner has it.
#
# The first question is a *pre-vote*: would you vote for me? It changes nothing, so a voter that was cut off cannot
# disturb the others with ever higher epochs (KIP-996). If a majority would, the candidate
# raises the epoch and asks for votes. Each voter writes epoch and vote to the file `quorum-state`
# before it answers. Otherwise it could restart, forget, and vote twice.
#
# ## No controller at all
#
# One controller, and it is gone. (Of three, two would have to be.) The brokers are well. Five things
# are tried:
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
    seen = {"A": clients.send(cluster, "orders", "x", acks="all")}
    seen["B"] = "NONE" if clients.values(cluster, "orders") == ["x"] else "no record"
    seen["C"] = Errors(clients.metadata_at(cluster, 102, "orders").error_code).name
    seen["D"] = runs.created(cluster, "late")
    cluster.kill(101)
    led = runs.becomes(lambda: cluster.leader("orders") in (102, 103), wait_s)
    return {**seen, "E": "NONE" if led else "no leader"}


outcome = lab.both(no_controller)
display(outcome)
lab.verdict("05-7", outcome)

# %% [markdown]
# `NONE` is Kafka's name for "no error". The data plane goes on by what it knows. A producer needs leaders and an ISR, and the brokers have
# both in memory, from the metadata log. Every *new* decision waits: creating a topic, changing a
# config, electing a leader, shrinking or growing an ISR. So a lost quorum is quiet at first. Then
# each dead broker leaves the partitions that it led without a leader. Where it followed, it stops
# acks=all: it cannot be taken out of the ISR. A broker that restarts cannot register.
#
# ## One fault, four columns
#
# ZooKeeper is a service of its own: three or five servers, the *ensemble*, agree by majority on a
# small tree of values, the *znodes*. Each broker keeps a *session* open by heartbeats. When they
# stop, ZooKeeper ends the session and deletes the broker's *ephemeral* znodes. A *watch* asks for
# word when a znode changes.
#
# In that design one of the *brokers* was the controller: the first that created the ephemeral znode
# `/controller`, which all of them watched. It kept the metadata in ZooKeeper, and sent commands to
# the brokers.
#
# The next cell kills the active controller in both designs, each on the engine (in virtual time) and
# on a real cluster: Kafka 4.3 with three controllers, and Kafka 3.9 with three ZooKeeper servers. A
# producer writes meanwhile with acks=all. Its leader stays alive; all three brokers have a replica.

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
    made = ("NONE", "TOPIC_ALREADY_EXISTS")  # by an attempt that was not answered in time
    side.wait(lambda: side.create_topic("new") in made, "a new topic")
    side.note("a topic can be created", True)


outcome = lab.columns(controller_dies)
display(outcome)
lab.verdict("05-8", runs.pauses(outcome))

# %% [markdown]
# The same fault ends in the same way: another controller, a higher epoch, nothing lost. But in the
# old design the producer paused. The dead controller was a *broker*, too, with a replica in the ISR:
# `acks=all` waits for it, until a controller takes it out. These KRaft controllers have no replicas;
# a node with both roles (`process.roles=broker,controller`) brings the pause back.
#
# The designs also notice the death differently. In KRaft two voters miss the answers to their
# fetches, and elect. In the old design the *ensemble* misses heartbeats and deletes the znode; the
# brokers race to create it again. ZooKeeper chose the controller, and the controller chose the
# leaders of partitions.
#
# Change the fault: `"stop"` is by far the fastest. Why?
#
# ## The zombie
#
# In the old design a controller is *paused*, by a garbage collection longer than its session timeout
# (here 3 s). Broker 101, which leads a partition, dies. Broker 102 becomes the controller, and makes
# itself the partition's leader. Then the old controller wakes up.
# It has not yet read that its session ended.

# %% 05-9 tags=["stub", "predict"]
lab.predict("05-9")

# %% 05-9 tags=["solution", "predict"]
lab.predict("05-9", "c")

# %% zombie tags=["sim"]
broken_rules = []  # then ["obey-any-controller"]

with runs.broken(*broken_rules):
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
    "commands refused": len(refused),
    f"{heir} leads the partition": runs.leads(world, heir),
    f"{heir} tells clients that the leader is": runs.leader_said_by(world, heir),
}
print(*(f"{what}: {value}" for what, value in seen.items()), sep="\n")
lab.verdict("05-9", {"refused": len(refused), "heir": heir,
                     "said": runs.leader_said_by(world, heir)})  # fmt: skip

# %% [markdown]
# Each command carries its sender's *controller epoch*, and a broker that has heard of a later one
# refuses: `STALE_CONTROLLER_EPOCH`. Break that rule in the cell: brokers then obey any controller.
# 102 leads the partition, and at the same time it sends every client to 101, which is dead.
#
# The zombie cannot change ZooKeeper either: its session has expired. Even in a new one, each write
# checks the version of the znode `/controller_epoch`, which its successor has raised.
#
# In KRaft no controller sends commands: brokers *fetch* the log. Here the active controller is cut
# off from both other voters, but brokers and clients still reach it. A broker asks it for the topic
# `ghost`.

# %% 05-6 tags=["stub", "predict"]
lab.predict("05-6")

# %% 05-6 tags=["solution", "predict"]
lab.predict("05-6", "c")

# %% cut-off tags=["sim"]
cut_links = 2  # with 1, it still has a majority

split = lab.world(seed=5, controllers=3)
split.create_topic("orders")
deposed = runs.active(split)
runs.cut_from_voters(split, deposed, cut_links)
runs.ask_for_topic(split, "ghost")
split.run(for_s=0.5)
written, acted = runs.says(split, deposed, "ghost"), runs.brokers_with(split, "ghost")
split.run(until=lambda w: runs.active(w) not in (deposed, -1), for_s=10)
split.heal()
split.run(for_s=3)
left = [each for each in written if each in runs.says(split, deposed, "ghost")]
print(f"{deposed} has written:", *written or ["nothing"], sep="\n  ")
print("brokers that then know the topic:", *acted or ["none"])
print("of what it wrote, records that are left at the end:", len(left))
lab.verdict("05-6", {"written": len(written), "acted": len(acted), "left": len(left)})

# %% [markdown]
# A controller that was replaced can write, but it cannot commit: no majority fetches its records. No
# broker acts on what is not committed. When the old controller fetches from the new one, the answer
# names the offset where their logs part, and it cuts the tail: the rule of notebook 07.
#
# ## How many partitions
#
# The clock runs from the kill of the active controller until another one knows all partitions and
# can decide. 3 s of it are ZooKeeper's session timeout in this lab (18 s by default), and 2 s the
# fetch timeout in KRaft.

# %% 05-10 tags=["stub", "predict"]
lab.predict("05-10")

# %% 05-10 tags=["solution", "predict"]
lab.predict("05-10", "b")

# %% curve tags=["sim"]
counts = {"ZooKeeper": (1, 5_000, 20_000), "KRaft": (1, 2_000, 5_000)}
# 100_000 for ZooKeeper takes this cell half a minute longer: try it

curves = {
    design: [(each, runs.takeover_s(design, each)) for each in partitions]
    for design, partitions in counts.items()
}
display(Chart("Until another controller can decide", curves, x="partitions", y="seconds"))
growth = {design: points[-1][1] / points[0][1] for design, points in curves.items()}
lab.verdict("05-10", {f"growth in {design}": times for design, times in growth.items()})

# %% [markdown]
# A new controller of the old design begins with an empty memory. It reads every partition's state
# from ZooKeeper, a request each. (What a request costs here comes from a published measurement: 14 s
# for 100,000 partitions in Kafka 1.1.) After that, and off this clock, it sends everything to every
# broker, and only then it elects. A KRaft voter has applied the log already: its line is flat.
#
# The death of a *broker* costs a change for each of its partitions, in both designs.
#
# ## The ladder of consensus
#
# Controller 100 led epoch 1, wrote A1, and was replaced by 200. Then 100 won epoch 3. 200 does not
# know, and writes B2 in epoch 2. Now 100 copies A1 to 300: a majority.
#
# Each row of the table breaks one rule of KRaft; the last has all of them. A program tries every
# order of steps, until a committed record is lost, or two lead one epoch, or no order is left.

# %% 05-11 tags=["stub", "predict"]
lab.predict("05-11")

# %% 05-11 tags=["solution", "predict"]
lab.predict("05-11", "d")

# %% the-ladder tags=["sim"]
shown = "old-epoch-by-counting"  # or another rule that breaks

rules = list(RUNGS)
display(consensus.ladder(rules))
display(consensus.counter_example(shown))
display(consensus.replayed(shown))
found = consensus.search("old-epoch-by-counting")
lab.verdict("05-11", {"counting": consensus.why(found) or "holds", "steps": found.steps})

# %% [markdown]
# Follow the last rows of the second table. 100 counts A1 as committed, because two voters have it.
# But 200 has B2, of a *later* epoch; 300 compares the last epochs, and must vote for 200. Now 200
# leads without A1, and the others will cut it. The third table does the same to the engine's
# controllers with this rule broken. With the rule in force, those actions lose nothing.
#
# So a leader counts only records of its *own* epoch; what is before them is committed with them. That
# is why each new leader first writes a record of its own: the panel calls it *leader change*.
#
# `vote-in-memory` breaks soonest: a voter restarts, forgets its vote, votes again. For `kraft`
# no state is wrong: a proof, within the model's bounds.
#
# ## Read the code that did it
#
# Find two answers. How many votes does a voter have in one epoch? Which line keeps a leader from
# counting the records of an earlier epoch?

# %% the-vote tags=["read"]
from engine.quorum.quorum_state import QuorumState
from engine.quorum.voter_progress import VoterProgress

lab.show(QuorumState.grants, VoterProgress.high_watermark)

# %% [markdown]
# ## Break it
#
# Three live controllers: Kafka's own tool, a controller's log, and the panel. Kill the active one,
# then a second one. Is the third still a follower? Start one again. Which steps does the election
# take, and what happens to the epoch?

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
# `{"epoch": 2, "voted": None, "last": (2, 11)}`. A voter has one vote in an epoch; in a higher epoch
# its vote is free again. Return True if the vote is granted.


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
# its own. A log end of 4 means offsets 0 to 3. `before` is the high watermark so far; it never goes
# back. Return the high watermark.


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

# %% interview [markdown]
# ## Interview corner
#
# Say your answer aloud, then open the printed answer and look at the run that proves it.
#
# <details><summary><b>1. What was ZooKeeper for in Kafka, and what replaced it?</b></summary>
#
# It held the list of live brokers (ephemeral znodes), topics with their configs and ISRs, and the
# ACLs; and it chose the controller. In KRaft (ready for production since 3.3, alone since 4.0) all of
# that is records in the metadata log, and a quorum of controllers elects its own leader.
#
# *Follow-up:* which clients talked to it? Producers until 0.8, consumers until 0.9, most tools until 3.0.
#
# *Weak:* "it managed the cluster". *Good:* names the jobs. *Strong:* says who elected a partition's
# leader: the controller, then and now.
#
# Evidence: [One fault, four columns](#One-fault,-four-columns),
# [Deeper: The tree](#Deeper:-The-tree-and-the-log).
# </details>
# <details><summary><b>2. The active controller dies. What do clients notice?</b></summary>
#
# Nothing, unless they need a decision, or the controller is a broker, too. Writes and reads go on.
# Within seconds another controller is active; requests for topics wait for it.
#
# *Follow-up:* and if the whole quorum is gone? The same, until a broker dies: its partitions have no
# leader, and acks=all waits where it followed.
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
# *Follow-up:* and in the old design? The controller epoch: brokers refuse an older one, and so does
# ZooKeeper.
#
# *Weak:* "ZooKeeper prevents it". *Good:* epochs. *Strong:* both fences, and why the vote must be on
# disk.
#
# Evidence: [The zombie](#The-zombie), [The ladder of consensus](#The-ladder-of-consensus).
# </details>
# <details><summary><b>4. Why did Kafka leave ZooKeeper?</b></summary>
#
# A new controller had to load all state before it could decide, so failover grew with the number of
# partitions. Its memory and ZooKeeper could differ, and commands reached some brokers and not others:
# a log has neither problem. Two systems also meant two ways to secure, deploy and watch.
#
# *Follow-up:* what grows in KRaft? Memory and snapshots.
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
# *Follow-up:* and if a controller's disk is replaced? It has forgotten its vote. With `kraft.version`
# 1, its new directory id makes it another voter (KIP-853).
#
# *Weak:* "more is safer". *Good:* the arithmetic. *Strong:* maintenance and failure together.
#
# Evidence: [How many may fail](#Deeper:-How-many-may-fail).
# </details>
# <details><summary><b>Read this output: what happened, and what do you do?</b></summary>
#
# ```
# LeaderId:               300
# LeaderEpoch:            7
# HighWatermark:          4312
# MaxFollowerLag:         4313
# MaxFollowerLagTimeMs:   -1
# CurrentVoters:          [{"id": 100, …}, {"id": 200, …}, {"id": 300, …}]
# ```
#
# A voter that has fetched nothing from this leader counts as -1: 4312 + 1. It is down, or cut off.
# The quorum works, with no failure to spare. `describe --replication` names the voter. Repair
# it before you touch another.
# </details>
#
# ## Quiz

# %% 05-14 tags=["stub", "predict", "quiz"]
lab.quiz("05-14")

# %% 05-14 tags=["solution", "predict", "quiz"]
lab.quiz("05-14", "a", "c")

# %% [markdown]
# ## Deeper: Written is not decided
#
# A controller is cut off from the other voters, writes, and the links come back after a while. Which
# of the two happens first: does it resign, or does it hear of its successor?

# %% isolated tags=["read"]
cut_for_s = 2.5  # then 6

cut_off = lab.world(seed=5, controllers=3)
cut_off.create_topic("orders")
runs.cut_from_voters(cut_off, runs.active(cut_off))
runs.ask_for_topic(cut_off, "ghost")
cut_off.run(for_s=cut_for_s)
cut_off.heal()
cut_off.run(for_s=4)
isolated = lab.quorum(cut_off)
isolated.jump("write ghost")
isolated

# %% [markdown]
# A leader that a majority does not fetch from resigns (*check quorum*): after one and a half times
# the fetch timeout, 3 s. A successor is there after 2 s. If the links are back before the third
# second is over, the old controller hears of the higher epoch first.
#
# The topic `ghost` exists in the end all the same. The broker that forwarded the request got no
# success, so it asked the next active controller. Compare the offsets and the epochs.

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
# | leader and ISR | `/brokers/topics/…/state`; through 2.6 a leader wrote its ISR there; from 2.7 on it asked the controller | the leader asks the controller (AlterPartition), which writes a record |
# | who is the controller | `/controller`, ephemeral, and `/controller_epoch` | the leader of the quorum, and its epoch |
# | ACLs | `/kafka-acl` | records (notebook 17) |
#
# The first consumers kept their offsets there, too, under `/consumers`; since 0.8.2 they can be, and
# those of 0.9's new consumer are, in the topic `__consumer_offsets` (notebook 10).

# %% [markdown]
# ## Deeper: Three ways to lose a session
#
# A broker is stopped, is cut off, or is paused by a garbage collection. When does the cluster declare
# it dead? In the old design its ephemeral node vanishes with its session; in KRaft the controller
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
Table("Seconds until broker 103 is declared dead", ("", "stopped", "cut off", f"paused {pause_s} s"),
      rows)  # fmt: skip

# %% [markdown]
# A broker that is stopped says goodbye: in both designs it asks for a controlled shutdown, and in the
# old one it then closes its session. A controller that stops gives up its leadership first: in KRaft
# it names the next one, so no voter waits for a timeout. Silence takes the timeout, counted from the
# last heartbeat (in ZooKeeper up to the next tick). A pause that is shorter than the timeout causes no election, which is why the default was raised for
# networks and machines in a cloud (KIP-537). But the broker's partitions do not answer meanwhile.

# %% [markdown]
# ## Deeper: The race for /controller
#
# Three brokers start at the same time, in the old design. Then an operator deletes `/controller` by
# hand: that forced an election when a controller hung. Then broker 103 dies, and comes back.
#
# Which broker is the controller each time? Which brokers does ZooKeeper tell that 103 is gone? And
# what does the operator do in KRaft?

# %% race tags=["read"]
from lessons.nb05_the_control_plane import ensemble

seed, leaver = 3, 103  # another seed: another order of arrival

world = lab.world(seed=seed, control_plane="zookeeper")
ensemble.operator(world)
world.tell("zkcli", "delete", "/controller")
world.run(for_s=2)
world.kill(leaver)
world.run(for_s=8)
world.start(leaver)
world.run(for_s=2)
display(ensemble.history(world))
for path in ("/controller", "/brokers/ids"):
    print(path, "is watched by", *ensemble.watchers(world, path))

kraft = lab.world(seed=seed, controllers=3)
former = runs.active(kraft)
kraft.stop(former)
kraft.run(until=lambda w: runs.active(w) not in (former, -1), for_s=30)
print(f"KRaft: {former} stops; {runs.active(kraft)} is active in epoch {runs.epoch(kraft)}")
lab.znodes(world)

# %% [markdown]
# Node 1 is a ZooKeeper server. A *creates* row is the moment when the broker hears that it succeeded;
# a watch may fire earlier. In the tree `+` is new, `~` has other data, and `-` is gone. It opens at the
# end: drag the slider back to where `/controller` vanishes, and go on from there.
#
# All brokers look for `/controller`, find nothing, and try to create it. One create succeeds, and the
# others fail. Each broker sets a *watch*, which is good for one notice of a change: after it, the
# broker reads again and watches again. When the znode vanishes, all of them try again, and the same
# broker may win a second time.
#
# Only the controller watches `/brokers/ids`. A broker's znode is ephemeral: it is there from the
# broker's start to the end of its session, and the controller hears of both. It tells the other
# brokers with requests of its own. ZooKeeper never routed a client's request: a client that asks
# the wrong broker gets error 6 (now called `NOT_LEADER_OR_FOLLOWER`). That has not changed.
#
# In KRaft there is no such race: voters elect. Operators cannot edit the metadata log; to move the
# controller, they stop it. The other surgery is gone as well. A deletion that was stuck had a mark
# in `/admin/delete_topics`, and operators removed the mark, the znodes and the directories by hand.

# %% [markdown]
# ## Deeper: One ensemble for several clusters
#
# A cluster could keep all its znodes below one of them: with
# `zookeeper.connect=zk1:2181,zk2:2181,zk3:2181/a`, below `/a`. That path is called the *chroot*. Here
# brokers 101 and 102 have the chroot `/a`, 103 and 104 have `/b`, and one ensemble serves both.
#
# Which brokers does each name to its clients? How often does a cluster write into ZooKeeper: at rest,
# for a topic, for an old consumer that commits once a second, and for today's? Then another
# program takes the ensemble's machines, and messages between ZooKeeper and two of the brokers are
# 1.5 s late. The session timeout is 3 s. Which brokers lead then, and which lead afterwards?

# %% one-ensemble tags=["sim"]
from lessons.nb05_the_control_plane import ensemble

partitions, commits = 10, 60
late_ms = {101: 1_500, 102: 400, 103: 400, 104: 1_500}  # a message to or from the ensemble

world = lab.world(seed=3, brokers=4, control_plane="zookeeper", checked=False,
                  chroots={101: "/a", 102: "/a", 103: "/b", 104: "/b"},
                  settings={"offsets.topic.replication.factor": 2})  # fmt: skip
ensemble.operator(world)
world.run(for_s=5)
print(*(f"{each} names {ensemble.named_by(world, each)}" for each in late_ms), sep="\n")
rest = ensemble.writes(world, lambda: world.run(for_s=60))
created = ensemble.writes(world, lambda: world.create_topic("orders", partitions, replicas=2))
then, znode = ensemble.offsets_then(world, "/a", commits)
now, topic = ensemble.offsets_now(world, commits)
display(Table("What the ensemble had to agree on", ("", "changes", "afterwards"), [
    ("a minute at rest", str(rest), ""), (f"a topic, {partitions} partitions", str(created), ""),
    (f"{commits} commits before 0.9", str(then), znode),
    (f"{commits} commits today", str(now), topic),
]))  # fmt: skip
moments = [ensemble.moment(world, "in time")]
for broker, ms in late_ms.items():
    for member in world.cluster.spec.ensemble:
        world.slow(broker, member, ms)
for seconds in (10, 20):
    world.run(for_s=10)
    moments.append(ensemble.moment(world, f"late for {seconds} s"))
world.heal()
world.run(for_s=10)
display(Table("When ZooKeeper is late", ensemble.MOMENT,
              [*moments, ensemble.moment(world, "in time again")]))  # fmt: skip

# %% [markdown]
# Neither cluster knows of the other. A cluster at rest writes nothing: heartbeats renew sessions, and
# change no znode. (How many changes does a topic take for each partition? Change `partitions`.) So one
# ensemble could serve several clusters. The old consumer wrote most; the new one of 0.9 uses a topic.
#
# But everything rests on the sessions. A broker that reaches ZooKeeper too late is counted out, and
# its partitions move although its disk and its clients are well. If it was the controller, another
# one reads everything again. It leads again only after the next preferred leader election. That is why
# an ensemble had machines of its own. The same holds for controllers: give them machines and disks
# that no other program slows down. A KRaft cluster shares its controllers with no other cluster, and
# `cluster.id` keeps them apart.

# %% [markdown]
# ## Deeper: How many may fail
#
# Ensembles and quorums of three, four and five members, in both designs. Members are killed one after
# the other until no topic can be created. Then one is started again. Then one is in maintenance, and
# another one is killed. Finally each is restarted in turn, and a topic is asked for while it is away.
#
# Write down two numbers for four members: the failures that they survive, and whether they decide
# with one in maintenance and one failed.

# %% failures tags=["sim"]
from lessons.nb05_the_control_plane import quorums

sizes = (3, 4, 5)

rows = [(f"{design}, {size}", *quorums.survives(design, size))
        for design in ("ZooKeeper", "KRaft") for size in sizes]  # fmt: skip
Table("What is decided while members are away",
      ("members", "failures survived", "decides again when one returns",
       "one in maintenance, one fails", "restarted in turn: refused"), rows)  # fmt: skip

# %% [markdown]
# A majority of four is three, so the fourth member buys nothing, and it is one more that can fail.
# With three members, maintenance uses up the one failure that they can survive; with five, one may
# fail meanwhile. A quorum that was lost works again as soon as a majority is back.
#
# While one member at a time is restarted, a majority is there at each step. That is how ensembles
# were changed, one member at a time: a new list in each file, then a restart each.

# %% [markdown]
# ## Deeper: A new controller for an old one
#
# Four controllers run, and three of them vote. 400 is new. It is an *observer*: it copies the log, but
# it neither votes nor counts toward a commit. The machine of the active controller is to be retired,
# and 400 is to take over its vote.
#
# Add 400 first, or remove the old one first? Which of the two needs an election? The cell adds, then
# removes, and kills the old one. Then it kills one of the voters that are left. With two of four
# processes dead, is a topic created?

# %% new-voter tags=["both"]
from kit.probes import voters

retired = "the active one"  # or "a follower"
joins = True  # or False: 400 goes on as an observer


def new_voter(cluster):
    first = voters.standing(cluster)
    follower = next(each for each in first.voters if each != first.leader)
    old = first.leader if retired == "the active one" else follower
    seen = {"voters": first.voters}
    if joins:
        seen["add 400"] = voters.add(cluster, 400)
    grown = voters.standing(cluster)
    seen |= {"voters then": grown.voters, "election after the add": grown.epoch > first.epoch}
    seen["remove the old one"] = voters.remove(cluster, old)
    left = voters.standing(cluster)
    seen["the old one still votes"] = old in left.voters
    seen["election after the removal"] = left.epoch > grown.epoch
    cluster.kill(old)
    cluster.kill(next(each for each in left.voters if each not in (400, left.leader)))
    seen["a topic, with two of four dead"] = runs.created(cluster, "orders")
    return seen


with runs.own_pair(controllers=4, voters=3) as pair:
    display(lab.both(new_voter, on=pair))
    display(lab.tool(pair[0], "kafka-metadata-quorum", "describe", "--replication"))

# %% [markdown]
# Two of four processes are dead, but only one of three voters. With `joins = False`, two voters are
# left after the removal and one after the kill. One of two is no majority, so nothing is decided.
#
# Adding a voter changes no leader. Neither does removing a follower. A leader that is asked to remove
# itself writes the new list of voters down, waits until a majority of the remaining voters has it, and
# resigns. Then these elect one of themselves; the removed one has no vote.
#
# Add first: four voters, then three, can each lose one. Remove first, and for a while there are two,
# and both must live. And change one voter at a time: from 100, 200, 300 straight to 300, 400, 500, the
# majorities 100, 200 and 400, 500 share no voter, and each could elect a leader in the same epoch
# (`two-voters-at-once` on [the ladder](#The-ladder-of-consensus)). `NONE` says that a change is committed. Only then start the next.
#
# The list is a record of the metadata log if the quorum was formatted with, or upgraded to,
# `kraft.version` 1 (KIP-853, since 3.9). Otherwise it is in each node's `controller.quorum.voters`. On
# the command line: `kafka-metadata-quorum.sh add-controller` and `remove-controller`. In the tool's
# table (all are alive again) a *Follower* is a voter that does not lead. Brokers are observers, too.

# %% [markdown]
# ## Deeper: Two leaders at once
#
# 101 leads a partition, and is cut off from all other nodes. Its clients still reach it. Another
# replica is elected. A client that does not know it sends 101 five records, one a second: with
# acks=1, with acks=all, and once more with acks=all and one rule switched off. The rule: a leader
# counts on a smaller ISR only when the controller has written it down.
#
# How many does 101 acknowledge? How many are left once the link is mended?

# %% two-leaders tags=["sim"]
from kit.probes import virtual
from lessons.nb05_the_control_plane import fencing

records, rule = 5, "shrink-unconfirmed"

rows = []
for acks, off in (("1", []), ("all", []), ("all", [rule])):
    with runs.broken(*off):
        world = lab.world(seed=5, checked=False)
        world.create_topic("orders", assignment={0: [101, 102, 103]})
        world.isolate(101)
        world.run(until=lambda w: w.leader("orders", 0) != 101, for_s=30)
        answers = fencing.write_to(world, 101, acks, records)
        leaders = [each for each in (101, 102, 103) if runs.leads(world, each)]
        world.heal()
        world.run(for_s=6)
        left = virtual.readable(world, "orders")
        (again,) = fencing.write_to(world, 101, acks, 1)
    rows.append((f"acks={acks}", "off" if off else "in force", " ".join(map(str, leaders)),
                 str(answers.count("NONE")), answers[-1], str(len(left)), again))  # fmt: skip
Table("A former leader that does not know it",
      ("", "the rule", "both lead", f"acknowledged, of {records}", "the last answer", "left",
       "asked again later"), rows)  # fmt: skip

# %% [markdown]
# In each row, two brokers think that they lead. That alone does no harm. With acks=all the former
# leader waits for its ISR, and cannot make it smaller: for that it needs the controller, which it does
# not reach, and which refuses an epoch that is over. So it acknowledges nothing. Without the rule, and
# with `min.insync.replicas` 1, it acknowledges alone as soon as it has shrunk its ISR, and all of that
# is cut when it returns.
#
# acks=1 asks no other node, so no epoch can refuse it: those records are acknowledged and lost. Once
# 101 has read the metadata log again, it refuses the client.

# %% [markdown]
# ## Deeper: A broker that is behind
#
# Broker 103 stands still, and later goes on. Then it is stopped, and started again ten seconds later.
# Its first fetches of the metadata log get lost; its heartbeats arrive. When does it leave the ISR,
# when is it fenced, and when do clients hear of it?

# %% behind tags=["sim"]
from kit.probes import virtual
from lessons.nb05_the_control_plane import fencing

lost = 30  # fetches of the metadata log after the restart; a broker asks again every 0.1 s

world = lab.world(seed=5, settings={"broker.session.timeout.ms": 9_000})
world.create_topic("orders", assignment={0: [101, 102, 103]})
known = len(runs.says(world, 100))
world.pause(103)
virtual.post(world, "orders", "x")
moments = []
for seconds in (4, 8, 12):
    world.run(for_s=4)
    moments.append(fencing.standing(world, f"stands still for {seconds} s", 103))
world.resume(103)
world.run(for_s=4)
moments.append(fencing.standing(world, "goes on", 103))
world.stop(103)
world.run(for_s=10)
world.drop(103, 100, count=lost, api="Fetch")
world.start(103)
for seconds in (1, 2, 3, 4, 5):
    world.run(for_s=1)
    moments.append(fencing.standing(world, f"started {seconds} s ago", 103))
display(Table("Broker 103", fencing.STANDING, moments))
print(*runs.says(world, 100)[known:], sep="\n")

# %% [markdown]
# The first record is the leader's: 103 had not fetched for `replica.lag.time.max.ms` (2 s here), so
# 101 asked the controller for a smaller ISR. The second is the controller's, after the session
# timeout; it only fences. (By default the lag limit is 30 s, and the fencing comes first and takes 103
# out of the ISR.) Later 103 is stopped, and the controller takes it out at once. So leaders remove who
# lags, and the controller who is silent or stops; one log has it all. Through Kafka 2.6 the leader
# wrote its ISR into the partition's state znode itself; since then it asks the controller, in both
# designs.
#
# A broker that starts is fenced, though it runs. It begins with the copy of the metadata log on its own
# disk, and must read on up to its own registration. Until then it answers no client: what its copy says
# of leaders may be old.
# The other brokers do not name a fenced broker to clients, and it leads nothing.

# %% [markdown]
# ## Deeper: Files and tools, then and now
#
# Answer first. The tables below say why.

# %% 05-17 tags=["stub", "predict", "quiz"]
lab.quiz("05-17")

# %% 05-17 tags=["solution", "predict", "quiz"]
lab.quiz("05-17", "b", "d", "e")

# %% files-and-tools [markdown]
# | ZooKeeper's service | what Kafka did with it | today |
# |---|---|---|
# | configuration | topics, their configs and replicas as znodes | records of the metadata log |
# | naming | `/brokers/ids/101` has a broker's address | the broker's registration record |
# | synchronization | the first that creates `/controller` is the controller; versions of znodes | a vote of the quorum; epochs |
# | group services | sessions and ephemeral znodes: which brokers are alive | heartbeats to the active controller; fencing |
#
# Of three members, or three controllers, these are the files of the second one, and a broker's file:
#
# | then | now |
# |---|---|
# | `zookeeper.properties`, the same on all members:<br>`dataDir=/var/lib/zookeeper`<br>`clientPort=2181`<br>`initLimit=5`<br>`syncLimit=2`<br>`server.1=zk1:2888:3888`<br>`server.2=zk2:2888:3888`<br>`server.3=zk3:2888:3888` | `controller.properties`:<br>`process.roles=controller`<br>`node.id=200`<br>`log.dirs=/var/lib/kafka`<br>`listeners=CONTROLLER://c2:9093`<br>`controller.listener.names=CONTROLLER`<br>`controller.quorum.bootstrap.servers=c1:9093,c2:9093,c3:9093` |
# | the file `myid`:<br>`2` | `meta.properties` in each log directory:<br>`version=1`<br>`cluster.id=…`<br>`node.id=200`<br>`directory.id=…` |
# | `server.properties`:<br>`broker.id=101`<br>`zookeeper.connect=zk1:2181,zk2:2181,zk3:2181/a` | `server.properties`:<br>`process.roles=broker`<br>`node.id=101`<br>`controller.listener.names=CONTROLLER`<br>`controller.quorum.bootstrap.servers=c1:9093,c2:9093,c3:9093` |
#
# `kafka-storage.sh format` writes `meta.properties`. A quorum of a fixed list has
# `controller.quorum.voters=100@c1:9093,200@c2:9093,300@c3:9093` in the place of
# `controller.quorum.bootstrap.servers`. Kafka 4.3 does not read `zookeeper.connect`: a broker whose
# file has only that stops at its start, because `process.roles` is missing.
#
# | until 3.9 | since 4.0 |
# |---|---|
# | `zookeeper-server-start.sh`, `zookeeper-server-stop.sh` | `kafka-server-start.sh` with a controller's file |
# | the file `myid` | `kafka-storage.sh format` |
# | `zookeeper-shell.sh`: look, and edit | `kafka-metadata-shell.sh`: look at a snapshot |
# | four-letter words such as `mntr` | `kafka-metadata-quorum.sh describe --status` |
# | `inter.broker.protocol.version` | `kafka-features.sh upgrade` |
# | `zookeeper-security-migration.sh`: ACLs on znodes | ACLs are records; protect the controllers' listeners and log directories |

# %% [markdown]
# ## Deeper: The log, read by Kafka's own tool
#
# Kafka's tool reads the segment files of a controller's metadata log. A topic of two partitions is
# created, with a config. Which fields have the leader, the ISR and the config? Is the config inside the
# topic's record?

# %% dumped tags=["both"]
config = {"retention.ms": 60_000}
tail = {}


def dumped(cluster):
    cluster.create_topic("parcels", partitions=2, config=config)
    printed = lab.tool(cluster, "kafka-dump-log", "--cluster-metadata-decoder",
                       "--skip-record-metadata", broker=100, topic="__cluster_metadata")  # fmt: skip
    tail[cluster.name] = runs.lines_of_topic(printed, "parcels")
    return {"records": runs.kinds_of(tail[cluster.name])}


display(lab.both(dumped))
print(*tail["engine"], sep="\n")

# %% [markdown]
# Both write the same records in the same format, so one tool reads both. (The lines are the engine's.)
# If the ISR changes later, a `PARTITION_CHANGE_RECORD` follows, and the earlier record is not edited.

# %% [markdown]
# ## Deeper: A taken id
#
# Each broker has a `node.id` of its own. When its process starts, it sends the active controller a
# *registration*: the `node.id`, the id of the cluster, and an *incarnation id*, which is new with
# each start.
#
# The cell sends three registrations by hand, as if other processes had started: for 101 while it is
# alive, for a broker of another cluster, and for 101 after a kill. Then the process that had the
# id is gone. Is the id free at once?

# %% taken-id tags=["both"]
import time

from kit.probes import registration

end = "kill"  # or "stop": is the id free at once if 101 says goodbye?


def taken_id(cluster):
    seen = {
        "101 is alive": registration.attempt(cluster, 101),
        "104, of another cluster": registration.attempt(cluster, 104, cluster_id="another"),
    }
    getattr(cluster, end)(101)
    ended = time.monotonic()
    seen["101 has just ended"] = registration.attempt(cluster, 101)
    cluster.wait_until(lambda c: registration.attempt(c, 101) == "NONE", 20)
    seen["its id is free after"] = lab.measured(time.monotonic() - ended, "s")
    cluster.wait_until(lambda c: "101 fenced" in registration.standing(c), 20)
    seen["registered then"] = registration.standing(cluster)
    return seen


lab.both(taken_id)

# %% [markdown]
# The controller cannot see processes. It sees a session, which lasts until no heartbeat has come for
# `broker.session.timeout.ms` (3 s here). Until then another incarnation may be a second broker with
# a wrong `node.id`, and both would write as 101. So it is refused, and asks again. A broker that is
# restarted right after a kill, or a stop, takes some seconds to serve. (No process is behind the last
# registration here, so 101 stays fenced.)
#
# What does a process do that is refused? The next cell starts five, beside a real Kafka. Which of
# them ask a controller at all? Then 101 is stopped, and its files are moved to another directory.
# There a process with other ports starts on them, as if the disk were in another machine now.

# %% wrong-starts tags=["live"]
from kit.probes.newcomers import Newcomer, moved, start

starts = {
    "node.id=101, and 101 is alive": Newcomer(101, gives_up_ms=1_000),
    "no node.id": Newcomer(None),
    "node.id=104, the files are 105's": Newcomer(104, formatted_for=105),
    "node.id=104, the files are another cluster's": Newcomer(104, cluster_id="another"),
    "a file of before 4.0": Newcomer(104, changes=runs.OF_ZOOKEEPER),
}
real = lab.real()
if real is not None and real.name == "local":
    ended = start(real, starts)
    display(Table("How they ended", ("the newcomer", "refused with", "why it ended"),
                  [(what, each.refused, each.why) for what, each in ended.items()]))  # fmt: skip
    real.create_topic("orders", assignment={0: [101, 102, 103]})
    rows = [("at first", *runs.place(real, 101, "orders"))]
    with moved(real, 101):
        real.wait_until(clients.whole("orders"), 40)
        rows.append(("moved", *runs.place(real, 101, "orders")))
    lab.mend(real)
    display(Table("Broker 101", ("", "its address", "ISR of orders-0"), rows))
else:
    print(lab.real_absence() or "The processes are started beside local ones.")

# %% [markdown]
# Three of the five end before they ask anything: a process first compares its properties with its own
# files. `node.id` has no default, and it must match `meta.properties` in the data directory. The file of
# before 4.0 has `zookeeper.connect` and no `process.roles`. The second
# 101 asks until `initial.broker.registration.timeout.ms` is over (60 s by default, 1 s here), and
# ends. The broker of another cluster does not get as far as the registration that was sent by hand: its
# fetch of the metadata log, which would name the active controller, is refused for its cluster's id.
#
# Moved files are no trouble. An id is not tied to a machine: clients hear of another address, and
# 101 is in the ISR again, because its replicas are where its files are.

# %% [markdown]
# ## Deeper: Fenced, stopped, forgotten
#
# Broker 103 runs, but its link to the controller is cut. Its heartbeats do not arrive, and it does
# not get the metadata log. Clients still reach it. Do they hear of it? Is it still registered? Then
# the link is healed, and later 103 is stopped for good. How does the cluster forget a broker?

# %% fenced tags=["both"]
from kit.probes import registration

victim = 103


def fenced(cluster):
    def heard_of():
        return registration.known_to_clients(cluster)

    cluster.cut(100, victim)
    cluster.wait_until(lambda c: victim not in heard_of(), 20)
    seen = {"cut off: clients hear of": heard_of()}
    seen["cut off: registered"] = registration.standing(cluster)
    cluster.heal()
    cluster.wait_until(lambda c: victim in heard_of(), 20)
    seen["healed: clients hear of"] = heard_of()
    cluster.stop(victim)
    cluster.wait_until(lambda c: victim not in heard_of(), 20)
    seen["stopped: registered"] = registration.standing(cluster)
    before = metadata_log.end(cluster)
    seen["UnregisterBroker"] = registration.unregister(cluster, victim)
    seen["its record"] = [each.says for each in metadata_log.since(cluster, before)]
    cluster.wait_until(lambda c: len(registration.standing(c)) == 2, 20)
    seen["at the end: registered"] = registration.standing(cluster)
    return seen


lab.both(fenced)

# %% [markdown]
# A broker that the controller does not hear is *fenced*. So is a broker that has not read the metadata
# log up to its own registration. It leads nothing, it is in no ISR, and the other brokers do not name
# it to clients. But it stays registered: its id and its replicas are expected back, and the next
# heartbeat can unfence it. A broker that was stopped is fenced as well; it registers again when it starts.
#
# A registration ends only when an admin removes it: `kafka-cluster.sh unregister --id 103`. Move the
# broker's replicas first: the lists of replicas still name it.

# %% [markdown]
# ## Deeper: What a controller counts
#
# Each node has metrics, and a dashboard adds them up. The cell asks three controllers and a broker.
# How many say that they are the active controller, before and after that one is killed? Broker 103
# has the only replica of `alone`, and is paused. Which nodes count a partition without a leader?
# On Kafka, twenty clients also send requests for topics at the same moment. How long does an event
# wait in the active controller's queue then, and how long afterwards?

# %% counted tags=["both"]
from kit.clusters import broker_metrics

fault, burst = "kill", 20  # or "stop"; requests for a hundred topics each


def counted(cluster):
    cluster.create_topic("alone", assignment={0: [103]})
    shown = cluster.snapshot()
    active, controllers = shown["controller"]["id"], sorted(shown["controllers"])
    before = broker_metrics.controllers(cluster, *controllers)
    cluster.pause(103)
    waits = runs.queue_waits(cluster, active, burst)
    cluster.wait_until(lambda c: c.leader("alone") == -1, 40)
    getattr(cluster, fault)(active)
    cluster.wait_until(lambda c: c.snapshot()["controller"]["id"] not in (active, -1), 40)
    left = [each for each in controllers if each != active]
    name, offline = "ActiveControllerCount", "OfflinePartitionsCount"
    after = runs.counts(cluster, [*left, 101], lambda of: all(of[each][offline] for each in left))
    return {
        f"{name} of three": sorted(before[each][name] for each in controllers),
        f"{name} of the two left": sorted(after[each][name] for each in left),
        f"{offline} of the two left": [after[each][offline] for each in left],
        "counts of broker 101": sorted(after[101]),
        **waits,
    }


with runs.own_pair(controllers=3) as pair:
    outcome = lab.both(counted, on=pair)
outcome

# %% [markdown]
# Each controller speaks for itself. An alert therefore watches the *sum* of `ActiveControllerCount`:
# if it is not 1 for long, no controller decides, or two claim to. `OfflinePartitionsCount` is what a
# controller has read in the log, so all of them say the same, and their maximum counts, not their sum.
# A node that is only a broker has neither; with ZooKeeper each broker answered, all but one with 0.
#
# Events wait in the burst, and hardly afterwards. (The metric's own `Mean` counts from the start; the
# cell takes the difference.) A time that stays high is the sign of a controller that cannot keep up. (`EventQueueSize` of the old controller is gone.)

# %% [markdown]
# ## Deeper: An ACL is a record
#
# Permissions were in ZooKeeper, too, under `/kafka-acl`. Here a real Kafka starts that has an
# *authorizer*. With `allow.everyone.if.no.acl.found=true` it allows all on a topic without ACLs; by
# default it allows nothing. You are the user
# `User:ANONYMOUS`. You write to the topic `payroll`, then you allow `User:alice` to read it, and you
# write again. What does the metadata log get? What do you get?

# %% acl tags=["live"]
from confluent_kafka import admin

principal, operation = "User:alice", admin.AclOperation.READ  # or "User:ANONYMOUS", or WRITE

acl = admin.AclBinding(
    admin.ResourceType.TOPIC, "payroll", admin.ResourcePatternType.LITERAL,
    principal, "*", operation, admin.AclPermissionType.ALLOW,
)  # fmt: skip
real = lab.real()
if real is not None and real.name == "local":
    with lab.local(private=True, settings=runs.AUTHORIZER) as guarded:
        guarded.create_topic("payroll")
        print("you write:", clients.send(guarded, "payroll", "x"))
        before = metadata_log.end(guarded)
        runs.add_acl(guarded, acl)
        print(metadata_log.since(guarded, before)[0])
        print("you write:", clients.send(guarded, "payroll", "x"))
else:
    print(lab.real_absence() or "The authorizer is that of a local Kafka.")

# %% [markdown]
# An ACL is a record like a topic. Brokers and controllers have an authorizer each
# (`StandardAuthorizer`), which reads these records from the log. With its first ACL, a topic is closed
# to all that no ACL allows: you lost the right to write, though no ACL names you.

# %% [markdown]
# ## Deeper: One more exercise
#
# **A broker's memory.** A broker knows who leads because it applies records in their order. A record
# is `{"partition": "orders-0", "leader": 101, "isr": [101, 102]}`; a later one may have only what
# changes. A new partition starts with leader -1 and an empty ISR.
# `{"topic": "orders", "deleted": True}` removes all partitions of a topic, and a topic's name can
# contain a hyphen. Return `{"orders-0": [101, [101, 102]], …}`: leader and ISR.


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
# ## Deeper: One more question
#
# It is about both designs.

# %% 05-16 tags=["stub", "predict", "quiz"]
lab.quiz("05-16")

# %% 05-16 tags=["solution", "predict", "quiz"]
lab.quiz("05-16", "a", "d")

# %% source-check [markdown]
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
# | a paused controller that returns makes a split brain | old: brokers that know the later epoch refuse it; KRaft: it cannot commit | [The zombie](#The-zombie) |
