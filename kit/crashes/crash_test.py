"""The doorway: runs a consumer loop in all situations, and crashes it after each line."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import Producer

from kit.clusters.interface import Cluster, ClusterError
from kit.crashes import journal, moments, results, shipping, statements, tape
from kit.crashes.application import Plan
from kit.crashes.evidence import Evidence
from kit.crashes.facts import AT_LEAST_ONCE, PROMISES
from kit.crashes.journal import Note
from kit.crashes.result import CrashResult
from kit.crashes.stage import Stage, StageLost
from kit.crashes.statements import NoSource
from kit.crashes.tape import RECORDS, SITUATIONS, Trial

WORKING_DAY = ("failure", "slow", "join", "freeze")
WRITING_SITUATIONS = ("freeze",)
"""What a loop meets besides crashes: one that processes, and one that writes."""
Loop = Callable[[Any, str, Callable[..., None]], Any]


def crash_test(
    loop: Loop,
    cluster: Cluster,
    *,
    promise: str = AT_LEAST_ONCE,
    settings: Mapping[str, Any] | None = None,
    situations: Sequence[str] | None = None,
    source: str = "",
    producer: Mapping[str, Any] | None = None,
    per_line: int = moments.MOST_PER_LINE,
) -> CrashResult:
    """Crashes a consumer loop after each of its lines, and says what was lost or repeated.

    The loop is `def loop(consumer, topic, process)`: it subscribes the confluent-kafka `consumer`
    to `topic`, reads until it is stopped, calls `process(record)` for each record's work, and
    commits as it likes.  `settings` are the consumer's, by librdkafka's names; enable.auto.commit
    is off unless they turn it on.  `process` takes a few ms, can raise, and is not undone by a
    crash; `process(record, idempotency_key=…)` has an effect once for each key.

    With a `producer` (its settings, which may be none: {}) the loop's effects are records:
    `def loop(consumer, producer, topic, results)` writes a record to the topic `results` for each
    that it reads, and names that record's value in the key or the value.  What a reader with
    read_committed finds there at the end is what was done.  A `transactional.id` gets an ending
    of the trial's own; a restarted application has the same one, a second application another.

    Besides the crashes the loop meets `situations` of a working day (kit/crashes/tape.py).  It is
    judged by what it `promise`s: at least once, at most once, or exactly once.  `source` begins
    the records' values; a new one is drawn each time.  With `per_line` of 1 each line is crashed
    once, at its worst moment: a third of the time, and of the evidence.

    Returns a CrashResult: true if the promise is kept and no mistake was seen.  It never raises
    over a loop that is wrong; ClusterError if the cluster does not answer, ValueError for an
    unknown promise or situation, or a setting that belongs to the trials.
    """
    if promise not in PROMISES:
        raise ValueError(f"No promise is called {promise!r}; there are {', '.join(PROMISES)}.")
    if situations is None:
        situations = WORKING_DAY if producer is None else WRITING_SITUATIONS
    for each in situations:
        if each not in SITUATIONS:
            known = ", ".join(SITUATIONS)
            raise ValueError(f"No situation is called {each!r}; there are {known}.")
    own = dict(settings or {})
    if taken := [name for name in tape.THE_TRIALS_OWN if name in own]:
        raise ValueError(
            f"{', '.join(taken)}: each trial has its own; leave this out of the settings."
        )
    try:
        read = statements.read(loop)
        parcel = shipping.pack(loop)  # type: ignore[arg-type]
    except (NoSource, shipping.NotShipped) as reason:
        return CrashResult(statements.NOTHING, cluster.name, promise, (), str(reason))
    ends = {1: {0: RECORDS}, 2: {0: RECORDS // 2, 1: RECORDS // 2}}
    values = {
        count: {p: tuple(tape.values(source or secrets.token_hex(2), p, end))
                for p, end in of.items()}
        for count, of in ends.items()
    }  # fmt: skip
    names = dict.fromkeys((tape.PLAIN.name, *situations))
    wanted = [SITUATIONS[each].under(own) for each in names]
    with _topics(cluster, values) as (topics, group), _folder() as folder:
        inputs = {count: {value: (p, offset) for p, records in of.items()
                          for offset, value in enumerate(records)}
                  for count, of in values.items()}  # fmt: skip
        replicas = min(3, len(cluster.brokers))
        plan = Plan(parcel, read.statements, cluster.bootstrap, topics, ends, group,
                    own, folder, producer, replicas, inputs)  # fmt: skip
        try:
            found, problem = _play(plan, wanted, values, read, per_line)
        finally:
            if producer is not None:
                results.delete(cluster.bootstrap, plan.results_of)
    return CrashResult(read, cluster.name, promise, found, problem)


def _play(
    plan: Plan,
    wanted: Sequence[tape.Situation],
    values: Mapping[int, Mapping[int, tuple[str, ...]]],
    source: statements.Source,
    per_line: int,
) -> tuple[list[Evidence], str]:
    """All trials, or why there are none."""
    found: list[Evidence] = []
    chosen: dict[str, list[tape.Moment]] = {}
    numbers = iter(range(1000))
    auto = str(plan.settings.get("enable.auto.commit", "")).lower() == "true"

    def seen(trial: Trial) -> list[Trial]:
        notes = journal.read(plan.journal(trial.number))
        if trial.situation.name == tape.PLAIN.name and trial.moment is None:
            require_fit(notes, source)
        found.append(Evidence(trial, tuple(notes), values[trial.situation.partitions]))
        if trial.notes_lines:
            chosen[trial.situation.name] = moments.choose(
                notes, trial.situation.name, auto, per_line
            )
        return order(trial)

    def order(trial: Trial) -> list[Trial]:
        """Crashes where the plain run shows lines; then where only another situation does."""
        if not trial.notes_lines or tape.PLAIN.name not in chosen:
            return []
        plain = chosen[tape.PLAIN.name]
        known = {each.line for each in plain}
        ordered = list(plain) if trial.situation.name == tape.PLAIN.name else []
        for name in [name for name in chosen if name != tape.PLAIN.name]:
            ordered += [each for each in chosen.pop(name) if each.line not in known]
        here = {each.name: each for each in wanted}
        return [Trial(next(numbers), here[each.situation], each) for each in ordered]

    first = [Trial(next(numbers), each, notes_lines=each.second_after < 0) for each in wanted]
    try:
        with Stage(plan) as stage:
            stage.play(first, seen)
    except (_Unfit, StageLost) as reason:
        return [], str(reason)
    kept = [each for each in found if each.trial.moment is None or each.crash is not None]
    return sorted(kept, key=lambda each: each.trial.number), ""


class _Unfit(Exception):
    """The loop cannot be judged; the text says why and what to do."""


def require_fit(notes: Sequence[Note], source: statements.Source) -> None:
    """Raises _Unfit if a run without a crash did not read the topic to its end."""
    if problem := problem_of(notes, source):
        raise _Unfit(problem)


def problem_of(notes: Sequence[Note], source: statements.Source) -> str:
    """Why a run without a crash did not read the topic to its end; empty if it did."""
    got = {(p, o) for n in notes if n.kind == "got" for p, o in n.details[0]}
    began = any(n.kind in ("assigned", "got") for n in notes)
    if sum(n.kind == "done" for n in notes) > 5 * RECORDS:
        return "The loop processes the same records again and again: does it seek back each time?"
    for note in notes:
        if note.kind == "refused":
            return f"The client refused its settings: {note.details[0].rstrip('.')}."
        if note.kind == "raised":
            kind, text, line = note.details
            where = f" in line {source.number(line)}" if line else ""
            return f"The loop raised {kind}{where}: {text.rstrip('.')}."
        if note.kind == "returned":
            if not began and not got:
                return (
                    "The stub is still there: the loop returned without reading anything. "
                    "Subscribe to the topic, poll, and process each record."
                )
            return (
                f"The loop returned after {len(got)} of {RECORDS} records: a consumer reads until "
                "it is stopped. Poll in a while True."
            )
        if note.kind == "ended" and note.details[1] == "killed itself":
            return (
                "The loop ended its own process without an exception (os._exit, or a crash of the "
                "interpreter): its supervisor decides when it ends."
            )
    if any(n.kind == "idle" for n in notes):
        return ""
    if not began and any(n.kind == "polls" for n in notes):
        reported = {n.details[0] for n in notes if n.kind == "error"}
        return (
            f"The loop polled and was given no partition ({', '.join(reported) or 'no error'}). "
            "Does it subscribe to the topic that it is given? If it does, the cluster was too "
            "busy: run the check again."
        )
    if not began:
        return "The loop read nothing: does it subscribe to the topic that it is given, and poll?"
    return (
        f"The loop stopped after {len(got)} of {RECORDS} records and did not poll again: it may "
        "wait for something that never comes, or have paused a partition for good."
    )


@contextlib.contextmanager
def _topics(
    cluster: Cluster, values: Mapping[int, Mapping[int, tuple[str, ...]]]
) -> Iterator[tuple[dict[int, str], str]]:
    """The topics with their records, and a name for the groups; they are deleted at the end."""
    group = f"crash-test-{secrets.token_hex(3)}"
    topics = {1: group, 2: f"{group}-of-two"}
    replicas = min(3, len(cluster.brokers))
    try:
        for count, topic in topics.items():
            cluster.create_topic(topic, partitions=count, replicas=replicas)
        settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0}
        producer = Producer(settings)
        for count, partitions in values.items():
            for partition, records in partitions.items():
                for value in records:
                    producer.produce(topics[count], value, partition=partition)
        if producer.flush(20):
            raise ClusterError(
                "The records of the crash test could not be written within 20 s: is every broker "
                "running?"
            )
        yield topics, group
    finally:
        for topic in topics.values():
            with contextlib.suppress(ClusterError):
                cluster.delete_topic(topic)


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="kafkalab-crash-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
