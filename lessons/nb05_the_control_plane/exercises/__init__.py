"""The judge's side of notebook 05: who decides, and who decides who decides."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction, Question
from lessons.nb05_the_control_plane.exercises import majority, memory, vote

SHORT_S = 1.0
"""A pause below this is one that a producer hardly notices."""
FLAT = 1.25
"""A time that grows by less than this does not grow."""
WORKS = {
    "A": "a producer needs the leader, and the leader is alive",
    "B": "a consumer needs the leader, too",
    "C": "every broker has the metadata in memory",
    "D": "a topic is a decision, and no node can write it down",
    "E": "an election is a decision",
}


def touched(answer: str, seen: Observed) -> str:
    led, all_of_them = seen["of these, with a new leader"], seen["partitions with a record"]
    sentence = f"{all_of_them} partitions have a new record, {led} of them with a new leader."
    if answer == str(led):
        return f"{sentence} In the others the ISR has changed: it has lost the dead broker."
    return sentence


def elected(seen: Observed) -> str:
    by_log = {seen["behind"]: "a", seen["ahead"]: "b"}
    return by_log.get(seen["heir"], "c")


def works_in(seen: Observed) -> list[str]:
    return [letter for letter in WORKS if seen[letter] == "NONE"]


def without_a_controller(answer: str, seen: Observed) -> str:
    works, said = works_in(seen), answer.upper().split()
    wrong = [letter for letter in WORKS if (letter in works) != (letter in said)]
    why = f" {wrong[0]}: {WORKS[wrong[0]]}." if wrong else ""
    return f"These worked: {' '.join(works)}.{why}"


def pauses(seen: Observed) -> str:
    if min(seen["KRaft"], seen["ZooKeeper"]) < 0:
        return ""
    if seen["lost"]:
        return "d"
    noticed = seen["KRaft"] >= SHORT_S, seen["ZooKeeper"] >= SHORT_S
    return {(False, False): "a", (False, True): "b", (True, True): "c"}.get(noticed, "")


def stopped_by(seen: Observed) -> str:
    if seen["refused"]:
        return "c"
    return "a" if seen["said"] != seen["heir"] else "b"


def of_the_ghost(seen: Observed) -> str:
    if not seen["written"]:
        return "a"
    if seen["acted"]:
        return "d" if seen["left"] else "b"
    return "c" if not seen["left"] else ""


def growth(seen: Observed) -> str:
    if seen["growth in KRaft"] < FLAT:
        return "b" if seen["growth in ZooKeeper"] >= FLAT else "a"
    return "d" if seen["growth in KRaft"] > seen["growth in ZooKeeper"] else "c"


EXERCISES = (
    Prediction(
        "05-4",
        "Six partitions have a replica on each of three brokers. 103 leads two of them. It is "
        "killed. For how many partitions does the controller write a record?",
        form="a number",
        tempting="2",
        settle=lambda seen: seen["partitions with a record"],
        explain=touched,
    ),
    Prediction(
        "05-5",
        "The active controller is dead. Of the other two voters, one does not have the newest "
        "committed record. Both want to lead. Who does?",
        (
            "the one that asks first, by its timer",
            "the one that has the record",
            "neither: two of three are not enough to elect",
        ),
        tempting="a",
        settle=elected,
        because={
            "a": "{heir} leads. It did not matter when {behind} asked: {ahead} has a "
            "later log and refuses its vote.",
            "b": "{heir} leads: its log has the record, so {behind} may vote for it.",
            "c": "{heir} leads. Two of three are a majority, and one of them can win.",
        },
    ),
    Prediction(
        "05-7",
        "No controller runs, and all brokers do. Which of A to E work?",
        form="letters in order, as in A C",
        tempting="A B",
        settle=works_in,
        explain=without_a_controller,
    ),
    Prediction(
        "05-8",
        "The active controller is killed. A producer writes to a leader that is alive. How long is "
        "its longest pause?",
        (
            "none that one would notice, in both designs",
            "none in KRaft; with ZooKeeper until another broker is the controller",
            "in both until another controller is active",
            "none, but records that were acknowledged meanwhile are lost",
        ),
        tempting="c",
        settle=pauses,
        because={
            "": "A design has no column here, so there is nothing to compare.",
            "a": "The longest pause was {KRaft:.1f} s with KRaft and {ZooKeeper:.1f} s with "
            "ZooKeeper: there the dead controller was a broker, and its replica was in the ISR.",
            "b": "The longest pause was {KRaft:.1f} s with KRaft and {ZooKeeper:.1f} s with "
            "ZooKeeper.",
            "c": "The longest pause was {KRaft:.1f} s with KRaft: a write needs the partition's "
            "leader and its followers, and they were alive.",
            "d": "Every acknowledged record was read back, in each column.",
        },
    ),
    Prediction(
        "05-9",
        "Another broker is the controller now. The old one wakes up with a command that was not "
        "yet sent: 101 leads. What happens to it?",
        (
            "brokers take it, until the old controller looks at its session",
            "it is not sent: the controller asks ZooKeeper first whether it still is one",
            "it is sent, and brokers refuse it",
        ),
        tempting="b",
        settle=stopped_by,
        because={
            "a": "Requests refused: {refused}, and {heir} tells clients that {said} "
            "leads.",
            "b": "It sent at once; requests refused: {refused}. A process that was paused does "
            "not know that time has passed.",
            "c": "Requests refused: {refused}. Each carries the controller epoch in "
            "which it was sent.",
        },
    ),
    Prediction(
        "05-6",
        "What happens to the records of `ghost` that the controller writes while it is cut off?",
        (
            "there are none: the controller asks the other voters first",
            "brokers act on them, and take that back when another controller is active",
            "no broker acts on them, and in the end they are cut off",
            "brokers act on them, and they stay",
        ),
        tempting="a",
        settle=of_the_ghost,
        because={
            "": "The records were written, no broker acted on them, and still they are there.",
            "a": "{written} records were in its log half a second later. A leader writes first and "
            "counts then.",
            "b": "{acted} brokers knew the topic half a second later: brokers act on what is "
            "committed.",
            "c": "{written} records were written, {acted} brokers acted on them, {left} are left.",
            "d": "{acted} brokers knew the topic, and {left} of the {written} records are left.",
        },
    ),
    Prediction(
        "05-10",
        "The time until another controller can decide: how does it grow with the partitions?",
        (
            "in neither design: only the timeout counts",
            "with ZooKeeper it grows, in KRaft it does not",
            "in both, with ZooKeeper faster",
            "in both, in KRaft faster: its log is longer",
        ),
        tempting="c",
        settle=growth,
        because={
            "a": "From the first point to the last: {growth in ZooKeeper:.1f} times with "
            "ZooKeeper, {growth in KRaft:.1f} times in KRaft.",
            "b": "{growth in ZooKeeper:.1f} times with ZooKeeper, {growth in KRaft:.1f} times in "
            "KRaft: a voter has applied the log before it is elected.",
            "c": "In KRaft it is {growth in KRaft:.1f} times the first: there is nothing to load.",
            "d": "In KRaft it is {growth in KRaft:.1f} times the first. The log was read before.",
        },
    ),
    Prediction(
        "05-11",
        "100 leads epoch 3. A1, a record of epoch 1, is on 100 and on 300; B2, of epoch 2, is on "
        "200 alone. Is A1 committed?",
        (
            "yes: a majority has it",
            "yes, unless both of them die",
            "no, until all three have it",
            "no: it can still be lost, with no voter's disk damaged",
        ),
        tempting="a",
        settle=lambda seen: "a" if seen["counting"] == "holds" else "d",
        because={
            "a": "The search found the way to lose it in {steps} steps: {counting}.",
            "b": "In the {steps} steps no voter dies, and still: {counting}.",
            "c": "Three copies are not asked for. One record of epoch 3 on a majority would be "
            "enough: that commits A1 with it.",
            "d": "The search found it in {steps} steps: {counting}.",
        },
    ),
    vote.EXERCISE,
    majority.WATERMARK,
    Question(
        "05-14",
        "The quorum is lost for a minute. Which of these wait until it is back?",
        ("a follower that caught up is taken into the ISR again",
         "a producer's acks=all write to a partition whose ISR is whole",
         "a new partition is added to a topic",
         "a consumer commits an offset"),
        right=frozenset("ac"),
        explanation="The ISR and the number of partitions are decisions of the controller.",
        because={
            "b": "Leader and followers settle it among themselves.",
            "d": "An offset is a record of a topic like any other.",
        },
    ),
    memory.EXERCISE,
    Question(
        "05-16",
        "Which of these are true of both designs?",
        ("a node that knows a later epoch obeys no controller of an earlier one",
         "the controller is one of the brokers",
         "a new controller reads all partitions before it decides",
         "each controller has a higher epoch than the one before"),
        right=frozenset("ad"),
        explanation="Epochs are what both designs rest on.",
        because={
            "b": "In KRaft controllers are nodes of their own, or a role beside the broker's.",
            "c": "A KRaft voter has applied the log before it is elected.",
        },
    ),
    Question(
        "05-17",
        "A cluster moves from ZooKeeper to KRaft. Which of these are right?",
        ("zookeeper-shell.sh becomes kafka-metadata-shell.sh, which deletes a topic by hand",
         "what the file myid said, node.id says: in the node's file and in meta.properties",
         "zookeeper.connect becomes bootstrap.servers in the broker's file",
         "what was locked down as ZooKeeper is now the controllers: their listeners and their log "
         "directories",
         "the sessions that said which brokers are alive become heartbeats to the controller"),
        right=frozenset("bde"),
        explanation="myid became node.id and meta.properties, zookeeper.connect became "
        "controller.quorum.bootstrap.servers, and zookeeper-shell.sh became "
        "kafka-metadata-shell.sh, which only looks. Sessions became heartbeats. What was locked "
        "down as ZooKeeper is now the controllers: their listeners and their log directories.",
        because={
            "a": "It only looks: kafka-topics.sh --delete asks the controller.",
            "c": "bootstrap.servers is a client's setting.",
        },
    ),
)  # fmt: skip
