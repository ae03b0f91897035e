"""The judge's side of notebook 07: high watermark and epoch reconciliation.

Predictions and the final set stand here; each exercise, with its judge, in a module of its
own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb07_reconciliation.exercises import (
    end_of_epoch,
    in_the_window,
    lose_a_record,
    where_to_cut,
)

EXERCISES = (
    Question(
        "07-1",
        "Brokers 101, 102 and 103 all hold record D, and the producer has been told that D is "
        "safe. Of the brokers, only the leader 101 knows that yet. 101 dies, 103 leads. A "
        "consumer asks 103 where the log ends. What is it told, in the first moment?",
        ("an offset past D: 103 has the record",
         "an offset before D, as if D did not exist",
         "an error: ask again",
         "D is gone, so the end is before D for good"),
        right=frozenset("c"),
        explanation="103 has D, but does not know that D is committed. It says "
        "OFFSET_NOT_AVAILABLE rather than go back in time. The frames of the window show the "
        "message.",
        because={
            "a": "103 has it, but has not heard that the others have it, too.",
            "b": "Kafka did that before 2.2; a consumer would then have seen the log shrink.",
            "d": "All in-sync replicas have D, and only an in-sync replica may lead.",
        },
    ),
    Question(
        "07-2",
        "101 led, took three records with acks=1, and died before anybody copied them. Now it is "
        "started again; meanwhile 103 leads and has taken other records at the same offsets. What "
        "becomes of 101's three records?",
        ("101 sends them to 103, which appends them at the end",
         "both versions are kept, and the newer timestamp wins",
         "101 deletes them and copies 103's",
         "101 refuses to start until an operator decides"),
        right=frozenset("c"),
        explanation="The leader's log is the partition. A follower cuts off what the leader "
        "does not have. You see it happen on the engine and on a real Kafka.",
        because={
            "a": "Records travel from leaders to followers only.",
            "b": "Nothing is merged: one offset, one record.",
            "d": "It happens without anybody's help, within a second.",
        },
    ),
    Question(
        "07-3",
        "How does 101 find out from which offset on its log differs from the leader's?",
        ("it cuts at its own high watermark: all below is committed",
         "it compares the lengths of the two logs",
         "it names the epoch of its last record, and the leader says where that epoch ends",
         "it compares the records one by one, from the end"),
        right=frozenset("c"),
        explanation="An epoch belongs to one leader, which never rewrites an offset. So two logs "
        "agree exactly up to where the leader's version of an epoch ends.",
        because={
            "a": "That was the rule before 0.11. The ladder below shows what it loses.",
            "b": "Two logs of the same length can hold different records.",
            "d": "It would work, and move the whole log over the network.",
        },
    ),
    end_of_epoch.EXERCISE,
    where_to_cut.EXERCISE,
    in_the_window.EXERCISE,
    lose_a_record.EXERCISE,
    Question(
        "07-8",
        "A follower's leader-epoch-checkpoint has the lines 0 0 and 2 5; its log ends at 9. The "
        "new leader's has 0 0 and 3 4; its log ends at 6. The follower fetches from offset 9 and "
        "names its last epoch, 2. What does the leader answer, and where does the follower cut?",
        ("epoch 2 ends at 6; it cuts at 6",
         "epoch 0 ends at 4; it cuts at 4",
         "epoch 0 ends at 4; it cuts at 5",
         "epoch 3 starts at 4; it cuts at 9"),
        right=frozenset("b"),
        explanation="The leader holds nothing of epoch 2; the largest epoch below is 0, and in "
        "the leader's log it ends at 4. The follower's own epoch 0 ends at 5: the smaller end, 4.",
        because={
            "a": "The leader never had an epoch 2: it may not name an end for it.",
            "c": "5 is the follower's own end of epoch 0; its record at 4 is not the leader's.",
            "d": "The answer names an epoch that both may have, not the leader's newest.",
        },
    ),
    Question(
        "07-9",
        "Which of these can take away a record that was acknowledged with acks=all, by brokers of "
        "Kafka 4.3 with default settings, three replicas and min.insync.replicas=2?",
        ("the leader dies before the followers have heard of the new high watermark",
         "two leaders die one after the other, each before its followers caught up",
         "a broker returns with a log longer than the leader's",
         "an operator asks for an unclean election",
         "a paused leader wakes up and still takes writes with acks=all"),
        right=frozenset("d"),
        explanation="The record is on every in-sync replica, cuts happen only where histories "
        "differ, and old leaders are fenced. Only a leader that never had the record takes it "
        "away.",
        because={
            "a": "The record is there; only the knowledge is late.",
            "b": "That was KIP-101's case. With epochs nobody cuts what the leader has.",
            "c": "The longer tail was never committed.",
            "e": "It cannot reach the in-sync replicas of the new epoch, so it acknowledges none.",
        },
    ),
    Question(
        "07-10",
        "Leader 101 of epoch 4 is cut off from the controller, which has made 103 leader of epoch "
        "5. Follower 102 knows of epoch 5, yet one of its fetches reaches 101. A consumer "
        "that still believes in epoch 4 fetches from 103. What are they told?",
        ("102: records; the consumer: records",
         "102: UNKNOWN_LEADER_EPOCH; the consumer: FENCED_LEADER_EPOCH",
         "102: FENCED_LEADER_EPOCH; the consumer: UNKNOWN_LEADER_EPOCH",
         "102: NOT_LEADER_OR_FOLLOWER; the consumer: OFFSET_NOT_AVAILABLE"),
        right=frozenset("b"),
        explanation="A broker that is asked with a later epoch than its own has missed "
        "something: UNKNOWN. A broker that is asked with an earlier one fences the asker: FENCED. "
        "Either way nobody acts on the word of a leader of the past (KIP-320).",
        because={
            "a": "That is how it was before KIP-320, and how the rung kip-279 breaks.",
            "c": "It is the other way round: the fenced one is late itself.",
            "d": "101 does believe that it leads, and 103 does lead.",
        },
    ),
    Question(
        "07-11",
        "The explorer proved the last rung with three replicas, logs of two records, two writes, "
        "three epochs. What does that say?",
        ("Kafka 4.3 has no bug in replication",
         "in that model no order of steps breaks the property: every state was looked at",
         "a random test of the same length would have found any counter-example",
         "a rule that breaks only with four replicas or longer logs cannot be excluded",
         "the two-replica result would have been enough: three replicas add nothing"),
        right=frozenset("bd"),
        explanation="A proof within bounds. It is exhaustive, which no test is, and it is about a "
        "model, which no broker is: that is why each counter-example was replayed in broker code.",
        because={
            "a": "The model has no disks, no time-outs and no bytes.",
            "c": "Twelve steps in the right order are one of very many.",
            "e": "The table says otherwise: two rungs hold with two and break with three.",
        },
    ),
    Question(
        "07-12",
        "You find two replicas of a partition, both ending at offset 2. The first has offsets 0 "
        "and 1 from epoch 0, the second 0 from epoch 0 and 1 from epoch 2. Which statements hold?",
        ("their records at offset 1 may differ",
         "their records at offset 0 are the same",
         "the second replica's record at offset 1 was written in a later epoch",
         "if the second leads, the first cuts at 1",
         "both were acknowledged, since both logs have the same length"),
        right=frozenset("abcd"),
        explanation="The pair (offset, epoch) names a record; an offset alone does not. That is "
        "all that reconciliation rests on.",
        because={"e": "Length says nothing about who was told what."},
    ),
)  # fmt: skip
