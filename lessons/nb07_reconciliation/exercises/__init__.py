"""The judge's side of notebook 07: high watermark and epoch reconciliation.

The predictions and the quiz are here.  Each exercise has its own module, with its judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.exercises.exercise import Prediction, Question
from lessons.nb07_reconciliation.exercises import (
    end_of_epoch,
    in_the_window,
    lose_a_record,
    where_to_cut,
)


def _high_watermarks(answer: str, seen: Mapping[str, Any]) -> str:
    leader, *_ = marks = seen["high watermarks"]
    if set(answer.split()) == {str(leader)}:
        return (
            f"101 had {leader}, the followers had {marks[1]} and {marks[2]}. They hold the "
            f"records, but they learn the high watermark from the answer to their next fetch."
        )
    if answer.split().count("0") == len(marks):
        return (
            f"101 had {leader}: both followers have fetched from {leader}, so they have everything "
            "below, and the leader knows it."
        )
    return f"The run shows {_list(marks)}: the leader knows first, each follower one answer later."


def _cuts(answer: str, seen: Mapping[str, Any]) -> str:
    one, two = seen["cuts"]
    if answer.split()[1:] == ["0"]:
        return (
            f"101 cut at {two}. Its own high watermark of 0 was not asked for: the leader said "
            f"where epoch 0 ends in its log. Cutting at 0 would be the oldest rule."
        )
    return (
        f"102 cut at {one} and 101 at {two}: there epoch 0 ends in the leader's log. Neither the "
        f"lengths of the logs nor the leader's {seen['rival']} new records decide."
    )


def _brokers_with_d(answer: str, seen: Mapping[str, Any]) -> str:
    there = _list(seen["brokers with D"]) or "no broker"
    if seen["brokers with D"]:
        return (
            f"Under {seen['rule']} {there} held D at the end: each follower asked its leader first."
        )
    return (
        f"At the end {there} held D. Under {seen['rule']} 102 cut it before it became the leader, "
        "and the others cut theirs when they returned: a follower copies its leader's log."
    )


def _rules_that_hold(answer: str, seen: Mapping[str, Any]) -> str:
    found = seen["rules that hold"]
    if len(answer.split()) == len(found) and len(set(answer.split())) == 1 < len(set(found)):
        return (
            f"The search found {_list(found)}. A third broker matters: it can be late by two "
            f"epochs while the other two go on."
        )
    return f"The search of all states found {_list(found)}; the table names the rules."


def _read_at_the_end(answer: str, seen: Mapping[str, Any]) -> str:
    found = seen["a consumer reads"]
    cut = seen["the old leader is sent"]
    if "x1" in answer.split():
        return (
            f"A consumer read {_list(found)}. The tail was acknowledged with acks=1, by one "
            f"broker; that broker was sent “{cut}” and cut it. Nothing is merged."
        )
    if "b" not in answer.split():
        return (
            f"A consumer read {_list(found)}. B was on all three brokers before the links broke, "
            f"so the new leader has it, though it did not know that B was committed."
        )
    return f"A consumer read {_list(found)}: the new leader's log is the partition."


def _list(values: list[Any]) -> str:
    return " ".join(map(str, values))


FETCHED = {
    "D": "a",
    "OFFSET_OUT_OF_RANGE": "b",
    "OFFSET_NOT_AVAILABLE": "c",
    "nothing": "d",
}
"""The answer to a Fetch -> the choice of 07-2 that says so."""


def _zombie(seen: Mapping[str, Any]) -> str:
    acknowledged = [seen[value].startswith("acknowledged") for value in "EF"]
    if acknowledged == [False, True]:
        return "d" if "F" in seen["kept"] else "a"
    if acknowledged == [True, True]:
        return "c" if seen["kept"] == ["E", "F"] else ""
    return "b" if acknowledged == [False, False] else ""


EXERCISES = (
    Prediction(
        "07-1",
        "101 leads; 102 and 103 follow. All three have A, B and C on disk, and at this moment "
        "101 may answer the producer (acks=all). Which high watermark does each broker know now? "
        "Three numbers, for 101, 102 and 103.",
        form="three offsets",
        tempting="3 3 3",
        settle=lambda seen: seen["high watermarks"],
        explain=_high_watermarks,
    ),
    Prediction(
        "07-2",
        "A consumer has just read D, offset 3, from 101. Now 103 leads, D is on its disk, and its "
        "log end is 4. The client asks 103 for offset 3 again (Fetch). What is the answer?",
        (
            "D: 103 has the record",
            "OFFSET_OUT_OF_RANGE: offset 3 is not there for consumers",
            "OFFSET_NOT_AVAILABLE: a retriable error",
            "no error and no records",
        ),
        tempting="a",
        settle=lambda seen: FETCHED.get(seen["fetch from 3"], ""),
        because={
            "a": "The answer was: {fetch from 3}. 103's log ends at {log end}, but a consumer "
            "reads below the high watermark, and 103 does not know yet that D is committed.",
            "b": "The answer was: {fetch from 3}. OFFSET_OUT_OF_RANGE comes only beyond the log "
            "end, which is {log end} here.",
            "c": "The answer was: {fetch from 3}. That error belongs to another request: asked for "
            "the latest offset, 103 answered {latest offset}.",
            "d": "The answer was: {fetch from 3}. With this scenario the high watermark of the new "
            "leader was not behind.",
        },
    ),
    Prediction(
        "07-3",
        "102 (log end 5) hears that 103 leads epoch 1. Later 101 (log end 6) is started again; its "
        "checkpoint file says high watermark 0. At which offset does 102 cut its log, and at which "
        "101? Two numbers.",
        form="two offsets",
        tempting="5 0",
        settle=lambda seen: seen["cuts"],
        explain=_cuts,
    ),
    end_of_epoch.EXERCISE,
    where_to_cut.EXERCISE,
    lose_a_record.EXERCISE,
    in_the_window.EXERCISE,
    Prediction(
        "07-13",
        "Under the rule to-high-watermark: which brokers hold D at the end, when all three are "
        "back? A list of brokers, or: none.",
        form="a list of brokers, or none",
        tempting="102 103",
        settle=lambda seen: seen["brokers with D"] or "none",
        explain=_brokers_with_d,
    ),
    Prediction(
        "07-14",
        "How many of the five rules keep the promise in every order of steps with two brokers, and "
        "how many with three? Two numbers.",
        form="two numbers",
        tempting="3 3",
        settle=lambda seen: seen["rules that hold"],
        explain=_rules_that_hold,
    ),
    Prediction(
        "07-15",
        "Clients write E to 101 with acks=all and F with acks=1. Then the links of 101 are mended. "
        "What happens to E and F?",
        (
            "E is not acknowledged in time; F is acknowledged, and gone in the end",
            "101 refuses both: it has been replaced",
            "both are acknowledged, and 101 hands them to 103 when it is back",
            "E is not acknowledged in time; F is acknowledged, and 103 copies it from 101",
        ),
        tempting="d",
        settle=_zombie,
        because={
            "a": "E: {E}. F: {F}. Kept in the end: {kept}. In this scenario the leader was not a "
            "zombie.",
            "b": "F: {F}. 101 had not heard that it was replaced, so it took the record as a "
            "leader.",
            "c": "E: {E}. No in-sync replica fetches from 101, so it cannot commit E; and a leader "
            "never copies from a follower.",
            "d": "F: {F}, and a read from 103 in the end did not show it. Records go from "
            "leaders to followers only; 101 cut F when it came back.",
        },
    ),
    Prediction(
        "07-16",
        "A and B are on all three brokers. X1, X2, X3 are on 101 alone, acknowledged with "
        "acks=1. 101 is killed, 102 leads and takes Y1, and 101 returns. What does a consumer "
        "read in the end? A list of records, in order.",
        form="a list of records",
        tempting="A B X1 X2 X3 Y1",
        settle=lambda seen: seen["a consumer reads"],
        explain=_read_at_the_end,
    ),
    Question(
        "07-8",
        "A follower's leader-epoch-checkpoint has the lines 0 0 and 2 5; its log ends at 9. The "
        "new leader's has 0 0 and 3 4; its log ends at 6. The follower fetches from offset 9 and "
        "names its last epoch, 2. What does the leader answer, and where does the follower cut?",
        (
            "epoch 2 ends at 6; it cuts at 6",
            "epoch 3 starts at 4; it cuts at 9",
            "epoch 0 ends at 4; it cuts at 4",
            "epoch 0 ends at 4; it cuts at 5",
        ),
        right=frozenset("c"),
        explanation="The leader holds nothing of epoch 2; the largest epoch below is 0, and in "
        "the leader's log it ends at 4. The follower's own epoch 0 ends at 5: the smaller end, 4.",
        because={
            "a": "The leader never had an epoch 2: it may not name an end for it.",
            "b": "The answer names an epoch that both may have, not the leader's newest.",
            "d": "5 is the follower's own end of epoch 0; its record at 4 is not the leader's.",
        },
    ),
    Question(
        "07-9",
        "Which of these can take away a record that was acknowledged with acks=all, by brokers of "
        "Kafka 4.3 with default settings, three replicas and min.insync.replicas=2?",
        (
            "two leaders die one after the other, each before its followers caught up",
            "an operator asks for an unclean election",
            "a broker returns with a log longer than the leader's",
            "a paused leader wakes up and still takes writes with acks=all",
        ),
        right=frozenset("b"),
        explanation="The record is on every in-sync replica, cuts happen only where histories "
        "differ, and old leaders are fenced. Only a leader that never had the record takes it "
        "away.",
        because={
            "a": "So it was under the oldest rule. With epochs no broker cuts what the leader has.",
            "c": "The longer tail was never committed.",
            "d": "It cannot reach the in-sync replicas of the new epoch, so it acknowledges none.",
        },
    ),
    Question(
        "07-10",
        "Leader 101 of epoch 4 is cut off from the controller, which has made 103 leader of epoch "
        "5. Follower 102 knows of epoch 5, yet one of its fetches reaches 101. A consumer "
        "that still believes in epoch 4 fetches from 103. What are the answers?",
        (
            "102: UNKNOWN_LEADER_EPOCH; the consumer: FENCED_LEADER_EPOCH",
            "102: records; the consumer: records",
            "102: FENCED_LEADER_EPOCH; the consumer: UNKNOWN_LEADER_EPOCH",
            "102: NOT_LEADER_OR_FOLLOWER; the consumer: OFFSET_NOT_AVAILABLE",
        ),
        right=frozenset("a"),
        explanation="A broker that is asked with a later epoch than its own has missed "
        "something: UNKNOWN. A broker that is asked with an earlier one refuses a late client: "
        "FENCED. Either way no broker acts on the word of a former leader (KIP-320).",
        because={
            "b": "That is how it was before KIP-320, and how the rung kip-279 breaks.",
            "c": "It is the other way round: the fenced one is late itself.",
            "d": "101 does believe that it leads, and 103 does lead.",
        },
    ),
    Question(
        "07-11",
        "The explorer proved the last rung with three replicas, logs of two records, two writes, "
        "three epochs. What does that say?",
        (
            "Kafka 4.3 has no bug in replication",
            "in that model no order of steps breaks the property: every state was looked at",
            "a random test of the same length would have found any counterexample",
            "a rule that breaks only with four replicas or longer logs cannot be excluded",
        ),
        right=frozenset("bd"),
        explanation="A proof within bounds. It is exhaustive, which no test is, and it is about a "
        "model, which no broker is: so each broken rule was also run in brokers.",
        because={
            "a": "The model has no disks, no timeouts and no bytes.",
            "c": "Twelve steps in the right order are one of very many.",
        },
    ),
    Question(
        "07-12",
        "You find two replicas of a partition, both ending at offset 2. The first has offsets 0 "
        "and 1 from epoch 0, the second 0 from epoch 0 and 1 from epoch 2. Which statements hold?",
        (
            "their records at offset 0 are the same",
            "both records at offset 1 are committed, since both logs have the same length",
            "if the second leads, the first cuts at 1",
            "if the first leads, the second keeps both records",
        ),
        right=frozenset("ac"),
        explanation="The pair (offset, epoch) names a record; an offset alone does not. That is "
        "all that reconciliation rests on.",
        because={
            "b": "At most one of the two can be committed: they are different records.",
            "d": "A leader without epoch 2 says that epoch 0 ends at 2; the second holds epoch 0 "
            "only up to 1, and cuts there.",
        },
    ),
)  # fmt: skip
