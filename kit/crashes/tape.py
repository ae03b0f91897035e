"""What happens in a trial: the records, what processing them is like, and who dies when.

Five situations show what a loop is worth:

    crash     the application is killed after a line, and restarted
    failure   processing one record fails, once; if the loop lets the exception out, the
              application ends, and is restarted
    slow      every record takes a while: one by one they are within max.poll.interval.ms, in a
              batch they are not; a second application waits for the partition
    join      a second application joins when most records are processed
    freeze    the application freezes (a long garbage collection, a suspended machine) while
              it processes a record; its session ends, a second one takes over, and then the first
              one goes on

Times are short, so that a judgement takes seconds: a day at work has the same rules with
max.poll.interval.ms at five minutes and sessions of 45 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

RECORDS = 12
"""In a topic, over all its partitions."""
QUICK_S, SLOW_S = 0.004, 0.2
"""What processing a record takes."""
AUTO_COMMIT_MS = 250
STALL_S = 0.03
"""Between the line and the crash: what the client had already handed to its thread is sent."""
LONGEST_INTERVAL_S = 0.5
"""A longer auto.commit.interval.ms is not waited for."""

SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "auto.commit.interval.ms": AUTO_COMMIT_MS,
    "fetch.wait.max.ms": 20,
    "fetch.error.backoff.ms": 20,
    "topic.metadata.refresh.fast.interval.ms": 20,
    "reconnect.backoff.ms": 10,
    "heartbeat.interval.ms": 200,
    "log_level": 0,
}
"""What the consumer of every trial is made with, before the learner's own settings."""
PRODUCING: Mapping[str, Any] = {"linger.ms": 0, "log_level": 0}
"""What the producer of every trial is made with, before the learner's own settings."""
THE_TRIALS_OWN = (
    "bootstrap.servers",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "client.id",
    "session.timeout.ms",
)
"""Settings that a learner cannot choose.  Groups are classic: with the consumer protocol a
restarted static member waits for the session of the dead one, in every trial."""
RESTARTABLE = {"session.timeout.ms": 10_000, "max.poll.interval.ms": 20_000}
"""With a group.instance.id: the restarted application takes over without a rebalance."""
EVICTED = {"session.timeout.ms": 1_000, "max.poll.interval.ms": 1_000}
"""For two applications of a group, of which one is to lose its partition."""
SLOW_LIMITS = {"session.timeout.ms": 1_000, "max.poll.interval.ms": 2_000}
"""All records at once take longer than this; five of them with a commit each do not."""
JOINED = {"session.timeout.ms": 6_000, "max.poll.interval.ms": 20_000}
"""For two applications of a group that both stay."""


@dataclass(frozen=True)
class Moment:
    """A crash point: after a line, as soon as so much was read, processed and committed."""

    line: int
    got: int
    done: int
    commits: int
    situation: str = "plain"


@dataclass(frozen=True)
class Situation:
    """What a trial does to its applications; `when` is how many records are processed first."""

    name: str
    partitions: int = 1
    work_s: float = QUICK_S
    later_work_s: float = 0.0
    """What it takes from the moment on at which a second application is on its way; more on a
    cluster where joining itself takes longer."""
    fails: int = -1
    """Processing the record at this offset of partition 0 fails at the first attempt."""
    freezes: int = -1
    """The first application freezes while it processes this offset of partition 0."""
    second_after: int = -1
    """A second application joins when this many records are processed; -1: never."""
    late_listener_s: float = 0.0
    """After the first assignment, a listener is called so much later: the machine is busy."""
    settings: Mapping[str, Any] = field(default_factory=lambda: RESTARTABLE, hash=False)

    def under(self, own: Mapping[str, Any]) -> Situation:
        """The same with a learner's own limits, such as max.poll.interval.ms."""
        limits = {name: own[name] for name in self.settings if name in own}
        return replace(self, settings={**self.settings, **limits})


PLAIN = Situation("plain")
FAILURE = Situation("failure", fails=5)
SLOW = Situation("slow", work_s=SLOW_S, second_after=0, settings=SLOW_LIMITS)
JOIN = Situation(
    "join",
    partitions=2,
    work_s=0.03,
    later_work_s=0.2,
    second_after=7,
    late_listener_s=0.3,
    settings=JOINED,
)
FREEZE = Situation("freeze", work_s=0.02, freezes=3, second_after=1, settings=EVICTED)


def auto_commit_s(settings: Mapping[str, Any]) -> float:
    """After this time an automatic commit has come; 0 if none comes, or none so soon."""
    if str(settings.get("enable.auto.commit", "")).lower() != "true":
        return 0.0
    interval_s = int(settings.get("auto.commit.interval.ms", AUTO_COMMIT_MS)) / 1000
    return 1.5 * interval_s if interval_s <= LONGEST_INTERVAL_S else 0.0


SITUATIONS = {each.name: each for each in (PLAIN, FAILURE, SLOW, JOIN, FREEZE)}


@dataclass(frozen=True)
class Trial:
    """One experiment: a situation, and a crash in it if there is a moment."""

    number: int
    situation: Situation
    moment: Moment | None = None
    notes_lines: bool = False
    """Whether each completed line is noted: for a run that shows where a crash can come."""


def values(source: str, partition: int, count: int) -> list[str]:
    """The records of a partition; another `source` makes others."""
    return [f"{source}{partition}-{number}" for number in range(count)]
