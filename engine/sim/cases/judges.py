"""Judges a case's ending: did the old rule's failure happen, and what shows it?

A judge looks at the records of the run: the history checker's findings, the logs on the disks,
the answers to clients.  It never reads the story's text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.sim.cases.player import CasePlayer
from engine.sim.history import Findings
from engine.wire.errors import Errors


@dataclass(frozen=True)
class Verdict:
    """`shown` if it went wrong; `sentence` says what can be seen, either way."""

    shown: bool
    sentence: str


Judge = Callable[[CasePlayer, Findings], Verdict]
Entry = tuple[int, str]
"""Epoch and value."""


def log_of(player: CasePlayer, broker: int, topic: str = "orders") -> dict[int, Entry]:
    """A running broker's log: offset to (epoch, value)."""
    snapshot = player.case_stage.world.snapshot(values=True, tail=1 << 20)
    log = snapshot["topics"][topic]["partitions"][0]["logs"][broker]
    return {
        batch["base_offset"] + number: (batch["epoch"], value)
        for batch in log.get("batches", ())
        for number, value in enumerate(batch["values"])
    }


def logs(player: CasePlayer, topic: str = "orders") -> dict[int, dict[int, Entry]]:
    """Of every replica on a running broker."""
    world = player.case_stage.world
    replicas = sorted(world.partition(topic, 0).replicas)
    return {b: log_of(player, b, topic) for b in replicas if b in world.cluster.nodes}


def _values(log: dict[int, Entry]) -> str:
    return " ".join(log[offset][1] for offset in sorted(log)) or "nothing"


def lost(player: CasePlayer, findings: Findings) -> Verdict:
    """An acknowledged record is not there any more."""
    gone = findings.of("lost")
    if gone:
        more = f" ({len(gone)} records are lost)" if len(gone) > 1 else ""
        return Verdict(True, f"{gone[0].sentence[:-1]}{more}.")
    leader = player.case_stage.world.leader("orders", 0)
    return Verdict(False, f"Every acknowledged record is there: {_values(log_of(player, leader))}.")


def diverged(player: CasePlayer, findings: Findings) -> Verdict:
    """Two replicas hold different records at one offset, and nothing will change that."""
    known = logs(player)
    first, *others = known
    for other in others:
        for offset in sorted(known[first].keys() & known[other].keys()):
            mine, theirs = known[first][offset], known[other][offset]
            if mine != theirs:
                return Verdict(
                    True,
                    f"At offset {offset}, {first} holds {mine[1]!r} of epoch {mine[0]} and {other} "
                    f"holds {theirs[1]!r} of epoch {theirs[0]}, and both are in sync.",
                )
    values = {_values(log) for log in known.values()}
    assert len(values) == 1, known
    return Verdict(
        False, f"{' and '.join(map(str, known))} hold the same: {_values(known[first])}."
    )


def latest_goes_back(player: CasePlayer, findings: Findings) -> Verdict:
    """A client that asks where the partition ends gets a lower offset than before."""
    best = -1
    refused = ""
    for _, error, offset in player.case_stage.latest:
        if error:
            refused = f"{error.name} in between, and "
        elif offset < best:
            return Verdict(
                True, f"The latest offset was {best}, and then {offset}: the partition shrank "
                "before the client's eyes."
            )  # fmt: skip
        best = max(best, offset)
    return Verdict(False, f"The latest offset never goes back: {refused}{best} again.")


def passed_over(player: CasePlayer, findings: Findings) -> Verdict:
    """A reader is past acknowledged records that it was never given."""
    name, reader = next(iter(player.readers.items()))
    leader = player.case_stage.world.leader("orders", 0)
    log = log_of(player, leader)
    given = player.case_stage.read_by(name)
    behind = [v for offset, (_, v) in sorted(log.items())
              if offset < reader.position and v not in given]  # fmt: skip
    if behind:
        return Verdict(
            True, f"{name} stands at offset {reader.position} and was never given "
            f"{' '.join(behind)}, and no error said so."
        )  # fmt: skip
    return Verdict(False, f"{name} was given all that is in the log: {_values(log)}.")


def refused_for_nothing(player: CasePlayer, findings: Findings) -> Verdict:
    """An idempotent producer is refused, though nothing is missing in the log."""
    producer = player.case_stage.world.client(player.producers[0])
    turned_down = [sent.text for sent in producer.sends if sent.verdict == "refused"]
    trace = player.case_stage.world.cluster.trace
    ids = [dict(line.fields)["id"] for _, node, line in trace
           if (node, line.kind) == (producer.name, "producer_id")]  # fmt: skip
    if turned_down:
        return Verdict(
            True, f"{' '.join(turned_down)} is refused, though nothing was missing before it; the "
            f"producer goes on as {ids[-1]}, and no broker knows that it was {ids[0]} before."
        )  # fmt: skip
    epoch = producer.identity.identity[1]
    return Verdict(
        False, f"The producer goes on in epoch {epoch}, and every record is acknowledged."
    )


def stored_twice(player: CasePlayer, findings: Findings) -> Verdict:
    """The history checker finds a record more often than it was sent."""
    twice = findings.of("duplicate")
    if twice:
        return Verdict(True, f"{twice[0].sentence[:-1]} ({len(twice)} records are there twice).")
    leader = player.case_stage.world.leader("orders", 0)
    return Verdict(False, f"Each record is there once: {_values(log_of(player, leader))}.")


def torn(player: CasePlayer, findings: Findings) -> Verdict:
    """Of a committed transaction, read_committed shows a part."""
    shown = [v for name in player.readers for v in player.case_stage.read_by(name)]
    for values in player.committed():
        seen = [each for each in values if each in shown]
        if seen != values:
            return Verdict(
                True, f"The commit of {' and '.join(values)} was acknowledged, and read_committed "
                f"shows {' '.join(seen) or 'nothing'} alone."
            )  # fmt: skip
    whole = "; ".join(" and ".join(each) for each in player.committed())
    return Verdict(False, f"What was committed together is read together: {whole}.")


def counted_twice(player: CasePlayer, findings: Findings) -> Verdict:
    """read_committed shows two results of one input; a result is `INPUT/PRODUCER`."""
    shown = [v for name in player.readers for v in player.case_stage.read_by(name)]
    results: dict[str, list[str]] = {}
    for value in shown:
        results.setdefault(value.partition("/")[0], []).append(value)
    for given, made in results.items():
        if len(made) > 1:
            return Verdict(
                True, f"{given} was counted twice: {' and '.join(made)} are both committed, and no "
                "error said so."
            )  # fmt: skip
    return Verdict(False, f"Each input was counted once: {' '.join(shown)}.")


def taken_for_another(player: CasePlayer, findings: Findings) -> Verdict:
    """A reader is given records of a topic that it does not know of, before any error."""
    name = next(iter(player.readers))
    polls = [line.partition(": ")[2] for line in player.answers if line.startswith(f"poll {name}")]
    first, after, *_ = polls
    if Errors.UNKNOWN_TOPIC_ID.name not in after:
        return Verdict(
            True, f"{name} was given {after} after {first}, as if it were the same topic, and no "
            "error said that it is another."
        )  # fmt: skip
    return Verdict(
        False, f"After {first}, {name} gets UNKNOWN_TOPIC_ID: no record of the other topic is "
        "taken for the next of this one."
    )  # fmt: skip


def stalled(player: CasePlayer, findings: Findings) -> Verdict:
    """A reader with read_committed waits before a transaction that no client will end."""
    name, reader = next(iter(player.readers.items()))
    leader = player.case_stage.world.leader("orders", 0)
    log = log_of(player, leader)
    behind = [value for offset, (_, value) in sorted(log.items()) if offset > reader.position]
    if behind:
        return Verdict(
            True, f"{name} stands at offset {reader.position}, before a transaction that no client "
            f"ends, and is not given {' '.join(behind)} behind it."
        )  # fmt: skip
    given = player.case_stage.read_by(name)
    return Verdict(False, f"{name} was given all that is committed: {' '.join(given)}.")
