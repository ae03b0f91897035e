# %% [markdown]
# # 00 · Start here
#
# In five minutes you start a three-broker Kafka cluster inside this notebook, send it a record, and
# kill the broker that holds it. Then you see how the course asks questions and how the same code
# runs on real Kafka.
#
# **You will be able to**
# * write a record and read it back with a real Kafka client;
# * say what a leader, a follower and the ISR are, and watch leadership move;
# * say which addresses a client needs, and why a key's partition can change;
# * work with this course: its predictions, checks, hints and glossary.
#
# **Time:** {minutes}.
#
# Run the cells from the top with Shift+Enter. Python alone is enough for all of them. Your file has
# no outputs, so you see a result only after you run its cell. The same notebook with all its
# outputs and answers is in `solutions/`: read that one if you cannot run anything.

# %% engine-up tags=["setup"]
import time

from kit import lab
from kit.probes import clients

started = time.perf_counter()
eng = lab.engine()
print(f"{len(eng.brokers)} brokers serve after {time.perf_counter() - started:.2f} s")

# %% [markdown]
# The engine is a small Kafka in readable Python. Its brokers 101, 102 and 103 and its controller
# run in a separate process, on real ports. Any Kafka client can talk to it.
#
# A *topic* is a named log, cut into *partitions*. Several brokers each keep a copy of a partition;
# these are its *replicas*. The topic below has one partition and three replicas; the first replica
# in the list leads.

# %% a-topic tags=["setup"]
eng.create_topic("greetings", assignment={0: [101, 102, 103]})
client = {"bootstrap.servers": eng.bootstrap, "log_level": 0}

# %% [markdown]
# Now send one record. `produce` hands it to the client's buffer, and `flush` waits until the
# cluster has answered. The answer contains the *offset*: the record's number in its partition.

# %% first-record tags=["setup"]
from confluent_kafka import Producer

key, value = "you", "hello"

sent = []
producer = Producer(client)
producer.produce("greetings", key=key, value=value, on_delivery=lambda e, m: sent.append(m))
producer.flush()
print(f"partition {sent[0].partition()}, offset {sent[0].offset()}")

# %% [markdown]
# That was `confluent-kafka`, the client that many Python programs use in production. It cannot tell
# that it is talking to a teaching engine. The panel below shows the cluster live, with a row for
# each broker and a cell for each record.
#
# | in the panel | in full | what it means |
# |---|---|---|
# | crown | leader | the broker that takes writes for this partition; the *followers* copy from it |
# | **ISR** | in-sync replicas | the brokers that keep up with the leader |
# | **LEO** | log end offset | where a broker's copy ends: the next record gets this offset |
# | **HW** | high watermark | records below it are on every in-sync replica, and consumers can read only these |
# | **epoch** | leader epoch | the number of this leadership; each cell shows the epoch in which it was written |

# %% panel tags=["live"]
lab.panel(eng, "greetings")

# %% [markdown]
# ## Kill the leader
#
# The course asks before each run: you predict, you run the next cell, and the verdict appears under
# its output. The verdict is based on what the run observed; until the run, your answer is only
# recorded. A wrong prediction costs nothing, and you remember it better than a right one.
#
# Click a choice, or move to it with Tab and press Enter. You can also type the answer into the
# cell: `lab.predict("00-1", "a")`.

# %% 00-1 tags=["stub", "predict"]
lab.predict("00-1")

# %% 00-1 tags=["solution", "predict"]
lab.predict("00-1", "d")

# %% leader-dies tags=["live"]
from confluent_kafka import Consumer, TopicPartition

patience_s = 20  # how long the consumer waits for the record
victim = eng.leader("greetings")  # or a follower, such as 103

lab.mend(eng)  # so that this cell can be run again
eng.kill(victim)
killed = time.perf_counter()
consumer = Consumer({**client, "group.id": "later"})
consumer.assign([TopicPartition("greetings", 0, 0)])
message = consumer.poll(patience_s)
waited = time.perf_counter() - killed
consumer.close()

seen = {
    "killed": victim,
    "read": message.value().decode() if message else "nothing",
    "seconds": round(waited, 1),
    "leader now": eng.leader("greetings"),
}
print(seen)
lab.verdict("00-1", seen)

# %% [markdown]
# The kill was as sudden as SIGKILL: the broker handed nothing over. The controller received no
# heartbeat from it for three seconds (`broker.session.timeout.ms`; Kafka's default is nine) and
# then made another in-sync replica the leader. The followers had the record all along, but clients
# do not read from followers unless they are configured to. Scroll back to the panel: the crown has
# moved, and the epoch has gone up by one.
#
# The two values that set up this scene, `patience_s` and `victim`, are yours to change. Set
# `victim` to a follower and run the cell again: the verdict follows what you did.
#
# At work you have no panel. You have Kafka's own tools, and the lines that each broker logs.

# %% describe tags=["live"]
topic = "greetings"

display(lab.tool(eng, "kafka-topics", "--describe", "--topic", topic))
lab.broker_log(eng, eng.leader(topic), f"{topic}-0")

# %% [markdown]
# *Replicas* lists the brokers that should have the partition, dead ones included. *Isr* lists those
# that keep up. Look first for a broker that is in the first list but not in the second. The log
# lines further down come from the new leader. They show its epoch, the smaller ISR, and the HW that
# it now sets.
#
# Restart the broker. It comes back as a follower, copies what it missed, and rejoins the ISR.
# Notebook 06 covers these few seconds.

# %% mended tags=["live"]
lab.mend(eng)
eng.wait_until(clients.whole("greetings"), what="all three replicas to be in sync")
eng.describe("greetings")

# %% [markdown]
# ## The real side
#
# The engine is a model that you can read, and a model can be wrong. So most runs happen twice:
# `lab.both` runs one function on the engine and on real Kafka and compares the results. With Java
# and Kafka's jars, real Kafka 4.3.1 starts here as four ordinary processes; with Docker, the real
# side can be the Compose cluster. Without either, you see the engine alone. What does your machine
# have?

# %% doctor tags=["read"]
lab.doctor()

# %% [markdown]
# A dash is not an error: its line names what is not installed, what you miss without it, and the
# one command that installs it.
#
# ### One address out of three
#
# `bootstrap.servers` lists the addresses that a client tries first. Here it lists only one address.
# The broker at that address has no replica of the topic's only partition, and it dies between two
# records.

# %% 00-5 tags=["stub", "predict"]
lab.predict("00-5")

# %% 00-5 tags=["solution", "predict"]
lab.predict("00-5", "a")

# %% one-address tags=["both"]
only, replicas = 103, [101, 102]  # the one address that the client gets; where the records are


def one_address(cluster):
    cluster.create_topic("first", assignment={0: replicas})
    broker, answers = cluster.snapshot()["brokers"][only], []
    address = f"{broker['host']}:{broker['port']}"
    producer = Producer({"bootstrap.servers": address, "message.timeout.ms": 8000, "log_level": 0})

    def note(error, message):
        answers.append(error.name() if error else f"offset {message.offset()}")

    producer.produce("first", "before", on_delivery=note)
    producer.flush()
    known = sorted(producer.list_topics(timeout=10).brokers)
    cluster.kill(only)
    producer.produce("first", "after", on_delivery=note)
    producer.flush()
    return {
        "brokers that the client knows": known,
        "answer before": answers[0],
        "answer after": answers[1],
        "read back": clients.values(cluster, "first"),
    }


outcome = lab.both(one_address)
display(outcome)
lab.verdict("00-5", outcome)

# %% [markdown]
# A client uses the first address only for its first question. The answer, *Metadata*, names all the
# brokers and each partition's leader; from then on the client talks to the leaders. List two or
# three addresses for clients that start while a broker is down.
#
# A check mark means that both sides produced the same value. Where the engine is known to differ,
# the row says so and gives the reason; any other difference stops the cell.
#
# ### The same key
#
# A record with a key goes to the partition that the key's hash selects. All records with the same
# key are therefore in one partition, in order. The function below sends one record for each key and
# notes the partition that each answer names.

# %% partition-of-each-key tags=["setup"]
from confluent_kafka.admin import NewPartitions


def send_each(cluster, keys, **settings):
    """One record for each key to the topic trips; the partition that each key got."""
    found = {}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, **settings})

    def note(error, message):
        found[message.key().decode()] = message.partition()

    for key in keys:
        producer.produce("trips", key=key, on_delivery=note)
    producer.flush()
    return found


# %% 00-6 tags=["stub", "predict"]
lab.predict("00-6")

# %% 00-6 tags=["solution", "predict"]
lab.predict("00-6", "c")

# %% same-key tags=["both"]
count, before, after = 40, 3, 4  # keys; partitions before and after
other = {"partitioner": "murmur2_random"}  # what the Java client does


def same_key(cluster):
    keys = [f"rider-{number}" for number in range(1, count + 1)]
    cluster.create_topic("trips", partitions=before)
    first = send_each(cluster, keys)
    again = send_each(cluster, keys)
    admin = clients.admin(cluster)
    admin.create_partitions([NewPartitions("trips", after)])["trips"].result()
    cluster.wait_until(lambda c: len(c.snapshot()["topics"]["trips"]["partitions"]) == after)
    grown = send_each(cluster, keys)
    foreign = send_each(cluster, keys, **other)
    return {
        "keys": count,
        "same partition, sent again": sum(first[key] == again[key] for key in keys),
        "same partition, topic grown": sum(first[key] == grown[key] for key in keys),
        "same partition, other client": sum(grown[key] == foreign[key] for key in keys),
    }


outcome = lab.both(same_key)
display(outcome)
lab.verdict("00-6", outcome)

# %% [markdown]
# "The same key always lands in the same partition" holds only while no partition is added and all
# clients compute the hash in the same way. The partition is `hash(key) % partitions`, so a fourth
# partition changes the remainder for most keys. Existing records stay where they are, so a key that
# moves ends up with records in two partitions, with no order between them.
#
# The last row shows the second trap. The client, not the broker, computes the hash. librdkafka,
# which this Python client is built on, uses CRC-32; the Java client uses murmur2. Two services that
# write the same keys to one topic need the same `partitioner`. Notebook 03 covers this.
#
# ## Read the engine's code
#
# The engine implements both hashes, because it has to agree with both clients. `lab.show` prints
# the code that ran.

# %% read-the-rule tags=["read"]
from engine.client import partitioners

lab.show(partitioners.crc32_partition, partitioners.murmur2_partition)

# %% [markdown]
# ## Break it
#
# Now experiment without a plan. Press **kill** on a follower, and the HW waits until the ISR has
# shrunk. Kill a second broker: which one leads? Kill the third, and restart them in a different
# order. Nothing you press here does lasting damage; the cell after the panel repairs it all.

# %% break-it tags=["live"]
lab.panel(eng, "greetings")

# %% mend-it-all tags=["live"]
lab.mend(eng)
eng.wait_until(clients.whole("greetings"), what="all three replicas to be in sync")

# %% [markdown]
# ## Your turn
#
# An exercise has a cell for your code and a check below it. The check runs outside this notebook:
# for this exercise, the judge connects to the cluster and reads the topic. After a wrong answer,
# you see what was expected and what was found. Below that are hints; click one to open it.
#
# Send a record to `greetings` with the key `you` and the value `I was here`. A producer collects
# records before it sends them, so do not forget to flush.

# %% 00-2 tags=["stub"]
from confluent_kafka import Producer

producer = Producer(client)

# %% 00-2 tags=["solution"]
from confluent_kafka import Producer

producer = Producer(client)
producer.produce("greetings", key="you", value="I was here")
producer.flush()

# %% 00-2 tags=["check"]
lab.check("00-2", cluster=eng)

# %% [markdown]
# **Where to find help.** `lab.hint` offers three hints for each exercise, each a little closer to
# the answer, and then a solution. They cost nothing. `lab.term` explains a term, and `lab.progress`
# shows what you have solved. Your progress is kept outside the course's folder, so a new version of
# the course does not erase it.

# %% hint tags=["read"]
display(lab.hint("00-2"))
lab.term("ISR")

# %% progress tags=["read"]
lab.progress()

# %% [markdown]
# ## Interview corner
#
# Answer each question aloud before you open its answer.
#
# <details><summary><b>1. A client's configuration names one broker. Is that a problem?</b></summary>
#
# One live address is enough: the first answer names all the brokers. A single address is a problem
# only if the client starts while that broker is down.
# *Follow-up:* which address does the client use for the leader? (The one that the broker advertises
# in `advertised.listeners`, not the one in the list.)
#
# * **weak:** "it needs all the addresses" · **good:** metadata names the others · **strong:** also
#   says when one address is not enough, and that the advertised address must be reachable
# * **evidence:** [One address out of three](#One-address-out-of-three)
# </details>
#
# <details><summary><b>2. What do clients notice when a leader dies?</b></summary>
#
# No request for the partition is served until the controller has missed the broker's heartbeats for
# `broker.session.timeout.ms` and has made another in-sync replica the leader. Clients retry,
# refresh their metadata, and carry on.
# *Follow-up:* which setting makes the pause shorter, and what does it cost? (The session timeout;
# if it is too short, a slow broker is taken for a dead one.)
#
# * **weak:** "the record is lost" · **good:** pause, election, retry · **strong:** names the
#   timeout, the epoch, and why followers did not answer in the meantime
# * **evidence:** [Kill the leader](#Kill-the-leader)
# </details>
#
# <details><summary><b>3. "The same key always goes to the same partition." True?</b></summary>
#
# Only as long as the number of partitions and the partitioner stay the same. After a partition is
# added, most keys move; earlier records stay where they were.
# *Follow-up:* how do you grow a topic whose consumers need per-key order? (Write to a new topic
# with enough partitions, and move producers and consumers over.)
#
# * **weak:** "yes" · **good:** not after a partition is added · **strong:** also names other
#   clients' hashes, and has a plan
# * **evidence:** [The same key](#The-same-key)
# </details>
#
# <details><summary><b>4. May consumers read every record that the leader has?</b></summary>
#
# No, only records below the high watermark: those that every in-sync replica has.
# *Follow-up:* why not let them read every record at once? (A record that only the leader has can
# vanish with the leader; two readers would then have seen different logs.)
#
# * **weak:** "yes" · **good:** names the HW · **strong:** says what would go wrong without it
# * **evidence:** [Break it](#Break-it): kill a follower, send a record, and watch the HW
# </details>
#
# <details><summary><b>5. Where is ZooKeeper?</b></summary>
#
# Kafka 4.0 removed it. Controllers keep the metadata in a log of their own (KRaft), and no tool has
# the `--zookeeper` option any longer.
# *Follow-up:* what has to happen before a broker starts for the first time? (Its data folder must
# be formatted with the cluster's id.)
#
# * **weak:** "it stores the offsets" · **good:** KRaft since 4.0 · **strong:** says what the
#   controllers do now
# * **evidence:** [Deeper: What a cluster says about itself](#Deeper:-What-a-cluster-says-about-itself)
# </details>
#
# **Read this output: what happened?**
# ```
# Topic: orders  Partition: 0  Leader: 102  Replicas: 101,102,103  Isr: 102,103  Elr:  LastKnownElr:
# ```
# <details><summary><b>An answer</b></summary>
#
# 101 is first in *Replicas*, so it led at first. It is not in the ISR, so it is down or far behind;
# 102 was elected in its place. All committed records are on 102 and 103. When 101 comes back, it
# copies what it missed and becomes a follower; leadership returns to it only through a preferred
# leader election.
# </details>
#
# ## Quiz
#
# Quiz questions show their verdict at once. Several letters may be right.

# %% 00-7 tags=["stub", "predict", "quiz"]
lab.quiz("00-7")

# %% 00-7 tags=["solution", "predict", "quiz"]
lab.quiz("00-7", "a", "d")

# %% 00-3 tags=["stub", "predict", "quiz"]
lab.quiz("00-3")

# %% 00-3 tags=["solution", "predict", "quiz"]
lab.quiz("00-3", "b")

# %% 00-4 tags=["stub", "predict", "quiz"]
lab.quiz("00-4")

# %% 00-4 tags=["solution", "predict", "quiz"]
lab.quiz("00-4", "c")

# %% [markdown]
# ## Where next
#
# Open any notebook; each sets up what it needs in its first cells. **06 · Replication and the ISR**
# picks up where you killed the leader.
#
# The sections that follow are marked *Deeper*. They are collapsed when you open a notebook; click
# *cells hidden* below a heading to open its section. You can run each section by itself after the
# setup cells above, and no other notebook needs these sections.

# %% [markdown]
# ## Deeper: The files of a partition
#
# Each replica is a folder of files. Both sides use Kafka's own file formats; notebook 02 opens the
# files. The cell writes a record with the client, and then one more with a Produce request made by
# hand, so that the size of its *batch* is known: records travel and are stored in batches.

# %% three-copies tags=["both"]
from confluent_kafka import Producer

from lessons.nb00_start import scenes

replicas, key, value = [101, 102, 103], "you", "hello"


def three_copies(cluster):
    cluster.create_topic("copied", assignment={0: replicas})
    answers = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    producer.produce("copied", value, key, on_delivery=lambda e, m: answers.append(m))
    producer.flush()
    files = scenes.files(cluster, "copied", 0)
    return {
        "DescribeCluster: brokers": scenes.described_brokers(cluster),
        "partition and offset": [answers[0].partition(), answers[0].offset()],
        "read from there": scenes.read_at(cluster, "copied", answers[0].offset()),
        "files of 101": sorted(files[101]),
        "bytes of the log": [files[broker]["00000000000000000000.log"] for broker in files],
        "one more batch": scenes.one_more_batch(cluster, "copied", key, value),
    }


display(lab.both(three_copies))
here = lab.engine() if lab.real() else lab.engine(settings=lab.BRISK)  # the one that ran it
lab.broker_log(here, 101, "append copied-0", last=2)

# %% [markdown]
# The record was read back from the topic, partition and offset in the answer. It is in all three
# `.log` files, with a few bytes of header around it. The leader gave the second batch the next
# offset, its *base offset*, and each log grew by exactly the bytes of that batch. The engine's
# trace below the table shows both appends. `.index` and `.timeindex` locate an offset or a time in
# the log, and `leader-epoch-checkpoint` records the offset at which each leader took over.

# %% [markdown]
# ## Deeper: What a cluster says about itself
#
# A cluster's *feature levels* are first set when the cluster is formatted. They determine which
# records its metadata may contain and which protocols the cluster speaks. The *voters* keep the
# metadata; brokers only read it, as *observers*.

# %% real-side tags=["both"]
from lessons.nb00_start import scenes

setting = "zookeeper.connect"


def what_it_says(cluster):
    return {
        "of the metadata log": scenes.quorum(cluster),
        setting: scenes.broker_setting(cluster, setting),
        "feature level": scenes.features(cluster),
    }


display(lab.both(what_it_says))
real = lab.real()
if real is not None:
    display(lab.broker_log(real, 101, "AppInfoParser version", last=1))
    display(lab.broker_log(real, 101, "KafkaRaftServer started", last=1))

# %% [markdown]
# There is no ZooKeeper: each node is a broker or a controller, and the controller keeps the
# metadata. Kafka 4.0 removed ZooKeeper, and no setting for it remains. A text that uses
# `--zookeeper`, or calls Kafka 3.6 the newest release, is older than 4.0. The protocol has no
# request that asks for a broker's release, but a real broker logs its release at startup. Its next
# line says that it has started, on the Java that `lab.doctor()` found above.

# %% command-line [markdown]
# ## Deeper: The same on a command line
#
# Kafka's own tools and Docker do in a shell what the cells above do in Python.

# %% for-orientation [markdown]
# | here | Kafka's own tools (`bin/…`) |
# |---|---|
# | `lab.local()` | `kafka-storage.sh format --standalone -t ID -c server.properties`, then `kafka-server-start.sh` |
# | `eng.create_topic("greetings", partitions=3, replicas=3)` | `kafka-topics.sh --create --topic greetings --partitions 3 --replication-factor 3 --bootstrap-server …` |
# | `producer.produce(…)` | `kafka-console-producer.sh --topic greetings --bootstrap-server …` |
# | `consumer.poll(…)` | `kafka-console-consumer.sh --topic greetings --from-beginning --bootstrap-server …` |
# | `kafkalab up docker` | `docker compose up -d --remove-orphans` |
# | `kafkalab status` | `docker compose ps` |
# | `eng.stop(102)` | `docker compose stop broker-102` |
# | `kafkalab down` | `docker compose down` |
#
# A data folder must be formatted with a cluster id before its node starts for the first time. A
# broker needs Java 17 and a client Java 11, from any vendor. `docker-compose`, with a hyphen, is
# the old tool; support for it ended in 2023.
#
# A new broker gets a smoke test: create a topic, type a line, and read it back. Here are the three
# tools at work. Each is a Java program and takes a second or more to start.

# %% smoke-test tags=["live"]
from lessons.nb00_start import scenes

cluster, line = lab.real() or lab.engine(), "typed on a command line"

scenes.delete_topic(cluster, "smoke-test")  # so that this cell can be run again
display(lab.tool(cluster, "kafka-topics", "--create", "--topic", "smoke-test"))
display(scenes.typed(cluster, "smoke-test", line))
wanted = ("--topic", "smoke-test", "--from-beginning", "--max-messages", "1")
read = lab.tool(cluster, "kafka-console-consumer", *wanted, "--timeout-ms", "20000")
display(read)
assert line in read.text or "need Java" in read.text, read.text

# %% [markdown]
# ## Deeper: Bare client or framework
#
# This notebook's consumers are bare: your code calls `poll`. Many services are built on a framework
# such as Spring Boot, which runs the poll loop for you.

# %% bare-or-framework [markdown]
# | | bare client (Python, Java, Kotlin) | inside a framework such as Spring Boot |
# |---|---|---|
# | calls `poll()` | your loop | a listener container, in a loop that you do not see |
# | commits | you, or auto-commit | the container, by its ack mode |
# | an exception | yours to catch | an error handler, with backoff and retries |
# | a record that never works | yours to set aside | retry topics and a dead-letter topic, if configured |
#
# A framework hides the loop; it does not replace it. Quiz 00-3 asks what calls `poll()`.

# %% reading [markdown]
# ## Deeper: Reading
#
# *Kafka: The Definitive Guide*, second edition (2021), is the book to keep beside this course. It
# still describes clusters with ZooKeeper, and defaults from before 3.0; the notebooks' source
# checks say where.
