# %% [markdown]
# # 00 · Start here
#
# In the next five minutes you start a Kafka cluster of three brokers inside this notebook, send
# it a record, read it back, kill a broker, and read on. Then you see how the course asks you
# questions, and how the same code runs on a real Kafka.
#
# Run the cells from the top with Shift+Enter. All of them work with Python alone.

# %% doctor tags=["read"]
from kit import lab

lab.doctor()

# %% [markdown]
# A dash is not an error. It names what is not installed, what you would miss, and the one command
# that gets it.
#
# ## A cluster, now
#
# The engine is a small Kafka in readable Python: brokers 101, 102 and 103 and a controller, in a
# process of their own, on real ports. Any Kafka client can talk to it.

# %% engine-up tags=["setup"]
import time

from kit import lab

started = time.perf_counter()
eng = lab.engine()
print(f"{len(eng.brokers)} brokers serve after {time.perf_counter() - started:.2f} s")

# %% [markdown]
# A *topic* is a named log, cut into *partitions*. Each partition is kept by several brokers; here
# by all three.

# %% a-topic tags=["setup"]
eng.create_topic("greetings", partitions=3, replicas=3)
client = {"bootstrap.servers": eng.bootstrap, "log_level": 0}

# %% [markdown]
# One record goes in. `produce` only hands it to the client's buffer; `flush` waits until the
# cluster has answered.

# %% first-record tags=["live"]
from confluent_kafka import Producer

sent = []
producer = Producer(client)
producer.produce("greetings", key="you", value="hello", on_delivery=lambda e, m: sent.append(m))
producer.flush()
(record,) = sent
print(f"partition {record.partition()}, offset {record.offset()}")

# %% [markdown]
# The *key* chose the partition: the same key always lands in the same one. The *offset* is the
# record's number in that partition, for ever. This was `confluent-kafka`, the client that many
# Python programs run in production; nothing in it knows that it talks to a teaching engine.
#
# Now read it back. A consumer names a group, subscribes, and polls.

# %% read-it-back tags=["live"]
from confluent_kafka import Consumer

consumer = Consumer({**client, "auto.offset.reset": "earliest", "group.id": "readers"})
consumer.subscribe(["greetings"])
message = consumer.poll(20)
consumer.close()
assert (message.partition(), message.offset()) == (record.partition(), record.offset())
message.value().decode()

# %% [markdown]
# The record is also a few bytes in a file, three times over, one copy per broker. These are
# Kafka's own file formats; notebook 02 opens them.

# %% three-copies tags=["live"]
from kit.probes import clients
from lessons.nb00_start import scenes

scenes.files(eng, "greetings", record.partition())

# %% [markdown]
# A client needs only one living address to begin with. It asks there who else exists, and who
# leads what.

# %% one-address tags=["live"]
from confluent_kafka.admin import AdminClient

one = eng.bootstrap.split(",")[0]
metadata = AdminClient({**client, "bootstrap.servers": one}).list_topics(timeout=10)
assert sorted(metadata.brokers) == [101, 102, 103]
sorted(metadata.brokers)

# %% [markdown]
# ## Kill a broker
#
# First a question. Think of what should happen to the record, and answer by putting the letter
# behind the number: `lab.quiz("00-1", "a")`. Your first answer is the one that is kept, so
# guess bravely.

# %% 00-1 tags=["stub", "predict", "quiz"]
lab.quiz("00-1")

# %% 00-1 tags=["solution", "predict", "quiz"]
lab.quiz("00-1", "b")

# %% [markdown]
# This panel is the cluster, live: a row for each broker, a cell for each record, a crown on the
# *leader*, the one broker that takes writes for this partition. The others *follow*: they copy
# from it. Five short words you will meet everywhere:
#
# | in the panel | in full | what it says |
# |---|---|---|
# | **ISR** | in-sync replicas | the brokers whose copy is up to date; only these may lead next |
# | **LEO** | log end offset | where a broker's copy ends: the next record gets this offset |
# | **HW** | high watermark | records below it are on every in-sync replica (*committed*), and only these are read |
# | **epoch** | leader epoch | how often the leader has changed; each cell carries the one it was written in |
# | hatched | not yet known as committed | this broker has the record, and has not heard that all have it |
#
# Press **kill** on the leader. It is as sudden as SIGKILL: nothing is handed over, nothing is
# flushed. Three seconds later another broker leads, and the epoch has gone up by one.

# %% panel tags=["live"]
leader = eng.leader("greetings", record.partition())
lab.panel(eng, "greetings", record.partition())

# %% [markdown]
# Now read the record again, from the cluster that has lost the broker that took it. (If you have
# not pressed kill, this cell does.)

# %% read-on tags=["live"]
if eng.snapshot()["brokers"][leader]["state"] == "running":
    eng.kill(leader)
eng.wait_until(lambda c: c.leader("greetings", record.partition()) not in (leader, -1))
consumer = Consumer({**client, "auto.offset.reset": "earliest", "group.id": "later-readers"})
consumer.subscribe(["greetings"])
message = consumer.poll(20)
consumer.close()
assert message.value() == b"hello"
f"led by {eng.leader('greetings', record.partition())}, and it says {message.value().decode()}"

# %% [markdown]
# Start the broker again, in the panel or here. It comes back as a follower, copies what it has
# missed, and is in the ISR again. Notebook 06 is about these seconds, and about the ELR, the
# reserve list that is empty here.

# %% mended tags=["live"]
lab.mend(eng)
eng.wait_until(clients.whole("greetings"), what="all three replicas to be in sync")
eng.describe("greetings")

# %% [markdown]
# ## Exercises
#
# An exercise has a cell for your code and a check below it. The check is made outside this
# notebook: for this one the judge connects to the cluster itself and looks. A wrong answer gets
# what was expected, what was seen, and the next hint.
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
# Stuck? There are three hints for every exercise, each a little nearer to the answer, and then a
# solution. Nobody counts them but you.

# %% hint tags=["read"]
lab.hint("00-2")

# %% [markdown]
# What you have solved is kept outside the course's folder, so that a new version of the course
# loses nothing.

# %% progress tags=["read"]
lab.progress()

# %% [markdown]
# ## The real side
#
# The engine is a model that can be read; it had better behave like the real thing. `lab.both`
# runs one function on both and compares. With Java and Kafka's jars a real Kafka 4.3.1 starts
# here in some seconds, as four plain processes; with Docker it may be the composed cluster.
# Without either the engine is shown alone, and the sentence below says what to do.

# %% real-side tags=["both"]
lab.both(scenes.first_contact)

# %% [markdown]
# *Feature levels* are what a cluster has agreed on when it was formatted. There is no ZooKeeper:
# Kafka 4.0 left it behind, and a setting for it does not exist. If a text shows you
# `--zookeeper`, or Kafka 3.6 as the newest, it is from before.

# %% for-orientation [markdown]
# ## For orientation
#
# <details><summary><b>The same things on a command line</b></summary>
#
# | here | Kafka's own tools (`bin/…`) |
# |---|---|
# | `lab.local()` | `kafka-storage.sh format --standalone -t ID -c server.properties`, then `kafka-server-start.sh` |
# | `eng.create_topic("greetings", partitions=3, replicas=3)` | `kafka-topics.sh --create --topic greetings --partitions 3 --replication-factor 3 --bootstrap-server …` |
# | `producer.produce(…)` | `kafka-console-producer.sh --topic greetings --bootstrap-server …` |
# | `consumer.poll(…)` | `kafka-console-consumer.sh --topic greetings --from-beginning --bootstrap-server …` |
# | `kafkalab up docker` | `docker compose up -d --remove-orphans` (also removes containers that the file no longer names) |
# | `kafkalab status` | `docker compose ps` |
# | `eng.stop(102)` | `docker compose stop broker-102` |
# | `kafkalab down` | `docker compose down` |
#
# A data folder must be formatted with a cluster id before the first start. `docker-compose` with
# a hyphen is the old tool; it ended in 2023.
# </details>
#
# <details><summary><b>Bare client or framework</b></summary>
#
# | | bare client (Python, Java, Kotlin) | inside a framework such as Spring Boot |
# |---|---|---|
# | who calls `poll()` | your loop | a listener container, in a loop you do not see |
# | commits | you, or auto-commit | the container, by its ack mode |
# | an exception | yours to catch | an error handler, with back-off and retries |
# | a record that never works | yours to set aside | retry topics and a dead-letter topic, if configured |
#
# The loop is there either way; a framework hides it and does not replace it. A Java runtime is
# needed as well: 17 for brokers, Connect and tools, 11 for clients, of any vendor.
# </details>
#
# <details><summary><b>Reading</b></summary>
#
# *Kafka: The Definitive Guide*, second edition (2021), is the book to have beside this course. It
# still describes clusters with ZooKeeper, and defaults from before 3.0; the source-check sections
# of the notebooks say where.
# </details>
#
# ## Two questions to go

# %% 00-3 tags=["stub", "predict", "quiz"]
lab.quiz("00-3")

# %% 00-3 tags=["solution", "predict", "quiz"]
lab.quiz("00-3", "c")

# %% 00-4 tags=["stub", "predict", "quiz"]
lab.quiz("00-4")

# %% 00-4 tags=["solution", "predict", "quiz"]
lab.quiz("00-4", "a")

# %% [markdown]
# ## Where next
#
# Take any notebook; each sets up what it needs in its first cell. **06 · Replication and the
# ISR** goes on exactly where you pressed kill.
