"""The doorway: everything that a notebook calls.

    from kit import lab
    eng, real = lab.engine(), lab.real()

`lab.engine()` is this kernel's embedded engine, started on first use.  `lab.real()` is a
real Kafka if there is one: the composed cluster if it is up, else a local one if Java and
the jars are installed, else None.  Then `lab.real_absence()` says why and what to do.
A cluster that `kafkalab up` started is shared by all notebooks; any other belongs to this
kernel and ends with it.  `lab.term("ISR")` explains a word.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kit.both.comparison import Comparison, Scenario
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster, ClusterError
from kit.exercises.ask import announce
from kit.exercises.doorway import check, hint, predict, progress, quiz, reset, verdict

__all__ = [
    "both", "broker_log", "check", "columns", "crash_evidence", "crash_test", "describe", "docker",
    "doctor", "engine", "group_panel", "hint", "local", "measured", "mend", "panel", "predict",
    "progress", "quiz", "quorum", "real", "real_absence", "remote", "reset", "segments", "show",
    "term", "tool", "transactions", "verdict", "world", "zookeeper",
]  # fmt: skip

REAL_VARIABLE = "KAFKALAB_REAL"
"""`off`, `local` or `docker`: which real side `lab.real()` may use.  Unset: any that is there."""

_ONLY_LOCAL = f"The real side is a local Kafka here: {REAL_VARIABLE}=local."

BRISK = {
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "200",
    "replica.lag.time.max.ms": "1000",
    "replica.fetch.wait.max.ms": "100",
    "replica.fetch.backoff.ms": "200",
}
"""For an engine that runs a scenario alone: the same rules with shorter timeouts."""


@dataclass
class _Kernel:
    """The clusters of this kernel, by provider name; `absence` is why there is no real one."""

    clusters: dict[str, Cluster] = field(default_factory=dict)
    absence: str = ""

    def get(self, name: str, make: Callable[[], Cluster]) -> Cluster:
        """The cluster of this name; a new one in the place of one that has ended."""
        known = self.clusters.get(name)
        if known is not None and known.has_ended:
            del self.clusters[name]
            known.close()
            print(f"The {known.name} cluster had ended. A new one is in its place, without topics.")
        if name not in self.clusters:
            self.clusters[name] = make()
            announce(self.clusters[name])
        return self.clusters[name]

    def close(self) -> None:
        while self.clusters:
            _, cluster = self.clusters.popitem()
            cluster.close()


_kernel = _Kernel()
atexit.register(_kernel.close)


# -- clusters


def engine(*, private: bool = False, brokers: int = 3, controllers: int = 1, voters: int = 0,
           settings: Mapping[str, Any] | None = None, rule: str = "") -> Cluster:  # fmt: skip
    """The embedded engine: three brokers 101–103 and controller 100, in a child process.

    With other `brokers`, `controllers` (100, 200, 300, …), `settings` (Kafka's names) or truncation
    `rule`, returns another engine of this kernel, the same one for the same arguments; with
    `private` a new one.  Of the controllers so many `voters` may be exchanged for others.
    """
    from kit.clusters import engine as provider

    own = {str(name): str(value) for name, value in (settings or {}).items()}
    if private or (brokers, controllers, voters) != (3, 1, 0) or own or rule:
        number = f" {len(_kernel.clusters)}" if private else ""
        name = f"engine of {brokers} {controllers} {voters} {sorted(own.items())} {rule}{number}"
        return _kernel.get(name, lambda: provider.start(
            brokers=brokers, controllers=controllers, voters=voters, settings=own,
            rule=rule))  # fmt: skip
    return _kernel.get("engine", lambda: provider.attach() or provider.start())


def local(*, private: bool = False, controllers: int = 1, voters: int = 0,
          settings: Mapping[str, Any] | None = None) -> Cluster:  # fmt: skip
    """A real Kafka as plain Java processes; ClusterError or JarsMissing says what is missing.

    With several `controllers` (100, 200, …) or `settings` of its own (Kafka's names, of every
    node), another one of this kernel, the same one for the same arguments.  Of the controllers so
    many `voters` may be exchanged for others.
    """
    from kit.clusters import local as provider

    own = {str(name): str(value) for name, value in (settings or {}).items()}
    if private or (controllers, voters) != (1, 0) or own:
        number = f" {len(_kernel.clusters)}" if private else ""
        name = f"local of {controllers} {voters} {sorted(own.items())}{number}"
        return _kernel.get(name, lambda: provider.start(
            controllers=controllers, voters=voters, settings=own))  # fmt: skip
    return _kernel.get("local", lambda: provider.attach() or provider.start())


def zookeeper(*, private: bool = False, ensemble: int = 1,
              settings: Mapping[str, Any] | None = None) -> Any:  # fmt: skip
    """A Kafka 3.9 with ZooKeeper, to compare with; `lab.real()` never is one.

    Brokers are 101–103 as everywhere, members of the `ensemble` 1, 2, 3.  Beside a cluster's own
    methods it has `znode(path)`, `znodes(path)`, `modes()` and `twin(broker)`.  `settings` are the
    brokers', such as {"zookeeper.session.timeout.ms": 18000}; here that is 3000.  The first call
    fetches 56 MB of jars with Maven; ClusterError or JarsMissing says what is missing.
    """
    from kit.clusters import zookeeper as provider

    own = {str(name): str(value) for name, value in (settings or {}).items()}
    number = f" {len(_kernel.clusters)}" if private else ""
    name = f"zookeeper of {ensemble} {sorted(own.items())}{number}"
    return _kernel.get(name, lambda: provider.start(ensemble=ensemble, settings=own))


def docker() -> Cluster:
    """The composed cluster, started with Compose if it is not up."""
    from kit.clusters import docker as provider

    return _kernel.get("docker", lambda: provider.attach() or provider.start())


def remote(bootstrap: str = "") -> Cluster:
    """A remote Kafka by address (or KAFKA_BOOTSTRAP): no faults, and only topics of our own."""
    from kit.clusters import remote as provider

    address = bootstrap or os.environ.get("KAFKA_BOOTSTRAP", "")
    if not address:
        raise ClusterError('Say where it is: lab.remote("host:9092"), or set KAFKA_BOOTSTRAP.')
    return _kernel.get(f"remote {address}", lambda: provider.attach(address))


def real() -> Cluster | None:
    """A real Kafka, or None; then `real_absence()` says why."""
    chosen = os.environ.get(REAL_VARIABLE, "")
    if chosen == "off":
        _kernel.absence = f"{REAL_VARIABLE}=off: the real side was switched off."
        return None
    if chosen in ("local", "docker"):
        return local() if chosen == "local" else docker()
    for name, known in (("docker", docker), ("local", local)):
        if name in _kernel.clusters:
            return known()
    return _composed() or _plain_processes()


def _composed() -> Cluster | None:
    from kit.clusters import docker as provider

    try:
        cluster = provider.attach()
    except ClusterError:
        return None
    return None if cluster is None else _kernel.get("docker", lambda: cluster)


def _plain_processes() -> Cluster | None:
    from kit import jars

    try:
        jars.java()
        jars.classpath()
    except jars.JarsMissing as missing:
        _kernel.absence = f"There is no real Kafka here. {missing}"
        return None
    return local()


def real_absence() -> str:
    """Why the last `lab.real()` was None, and the command that fixes it."""
    return _kernel.absence


# -- side by side, and in virtual time


def both(scenario: Scenario, *, on: tuple[Cluster, Cluster | None] | None = None) -> Comparison:
    """Runs a scenario on the engine and on a real Kafka and lays the outcomes side by side.

    A scenario takes a cluster and returns a mapping of what it observed; times go into
    `lab.measured(value, unit)`.  A difference that is not declared raises.  Without a real
    Kafka the engine's side is shown alone, and the sentence below it says so.  That engine
    has shorter timeouts, because there is nothing to compare them with.  A run of more than a
    second shows the time so far, and what each side does.  `on` are an engine and a real Kafka to
    take instead, such as those with several controllers.
    """
    from kit.both import comparison, waiting

    with waiting.shown() as at:
        at.step = "looking for a real Kafka, and starting it"
        there = real() if on is None else on[1]
        at.step = "starting the engine"
        here = on[0] if on else engine() if there is not None else engine(settings=BRISK)
        at.watch(here, *([there] if there is not None else []))
        absence = real_absence() or ("" if there is not None else _ONLY_LOCAL)
        return comparison.run(scenario, here, there, absence)


def columns(scenario: Callable[[Any], Any], *, real: bool = True) -> Any:
    """One control-plane fault in four columns: the engine's and a real KRaft, and ZooKeeper's.

    A scenario takes a side (kit/columns/side.py): `side.active()`, `side.kill(node)`,
    `side.wait(condition, what)`, `side.create_topic(name)`, `side.note(row, value)`.  All columns
    have the same rows: which controller, in which epoch, after how long, and what a writer saw
    meanwhile.  Real clusters of three controllers and of three ZooKeeper members are started for
    it, one after the other, and ended.  `real=False` shows the engine alone, in virtual time.
    """
    from kit.columns import columns as four

    chosen = os.environ.get(REAL_VARIABLE, "")
    absence = "" if chosen in ("", "local") else (
        f"{REAL_VARIABLE}={chosen}, and real columns are local processes: unset it, or set local."
    )  # fmt: skip
    return four.run(scenario, real, absence)


def crash_test(loop: Any, cluster: Cluster, *, promise: str = "at least once",
               settings: Mapping[str, Any] | None = None, **more: Any) -> Any:  # fmt: skip
    """Crashes a consumer loop after each of its lines, and shows what was lost or repeated.

    The loop is `def loop(consumer, topic, process)` with a confluent-kafka consumer; `settings`
    are the consumer's.  Each crash is a SIGKILL in a process of its own, and the application is
    restarted.  Processing also fails once, is slow, and meets a second application.  The result
    is true if the loop keeps its `promise`: at least once, at most once or exactly once.

    With `producer={…}`, a producer's settings, the loop is `def loop(consumer, producer, topic,
    results)`: it writes a record to `results` for each that it reads.  `per_line=1` crashes it
    once after each line, at the worst moment; the default is three times.
    """
    from kit.crashes import crash_test as tests

    return tests.crash_test(loop, cluster, promise=promise, settings=settings, **more)


def crash_evidence(loop: Any, cluster: Cluster, settings: Mapping[str, Any] | None = None,
                   producer: Mapping[str, Any] | None = None, **more: int) -> Any:  # fmt: skip
    """A loop for `lab.check`: the check crashes it on records of its own, and the judge judges."""
    from kit.crashes import judging

    return judging.evidence_of(loop, cluster, settings, producer, **more)


def mend(cluster: Cluster) -> None:
    """Heals links, starts and resumes nodes, and waits until all are in service."""
    from kit.both import comparison

    comparison.mend(cluster)


def world(seed: int = 0, **options: Any) -> Any:
    """A cluster in virtual time: `engine.sim.world.world.World`."""
    from engine.sim.world.world import World

    return World(seed, **options)


# -- looking


def tool(cluster: Cluster, name: str, *arguments: str, broker: int | None = None,
         topic: str = "", partition: int = 0, controllers: bool = False) -> Any:  # fmt: skip
    """The raw output of one of Kafka's command-line tools: `kafka-topics`, `kafka-dump-log`, …

    `--bootstrap-server` is added, or with `controllers` `--bootstrap-controller`.  kafka-dump-log
    reads the files of a `broker`, a `topic` and a `partition`.  Without Java the output is a
    sentence that says so.
    """
    from kit.clusters import tools

    return tools.run(cluster, name, *arguments, broker=broker, topic=topic, partition=partition,
                     controllers=controllers)  # fmt: skip


def broker_log(cluster: Cluster, broker: int, word: str, last: int = 5) -> Any:
    """The broker's own last log lines that contain `word`; of the engine, lines of its trace.

    Several words must all be in the line: `lab.broker_log(cluster, 101, "ISR orders-0")`.
    """
    from kit.clusters import broker_log as lines

    return lines.find(cluster, broker, word, last)


def panel(cluster: Any, topic: str | None = None, partition: int = 0) -> Any:
    """The Cluster panel: live on any cluster, with time travel over a simulated world."""
    if hasattr(cluster, "goto"):
        from kit.panel.time_panel import TimePanel

        return TimePanel(cluster, topic, partition)
    from kit.panel.panel import ClusterPanel

    return ClusterPanel(cluster, topic, partition)


def slider(draw: Callable[..., Any], **values: Sequence[Any]) -> Any:
    """A picture that follows sliders: `lab.slider(killed, crash_after=range(13))`.

    Each position calls `draw` with the sliders' values; its defaults are the first position.  What
    it returns has `text` and `svg()`, as a `Chart` has.
    """
    from kit.film.slider import Slider

    return Slider(draw, values)


def group_panel(cluster: Any, topic: str, group: str, **options: Any) -> Any:
    """The Group panel: who reads which partition, and what each rebalance costs.

    On a running cluster its members are real consumers in processes of their own: `add`,
    `press("freeze", "A")`, `write(50)`; `watch(consumer)` shows one of the notebook's.  Over a
    simulated world there is time travel: `jump("B joins")`, `fork("cooperative-sticky")`.
    """
    if hasattr(cluster, "goto"):
        from kit.group_panel.time_panel import GroupTimePanel

        return GroupTimePanel(cluster, topic, group)
    from kit.group_panel.live_panel import GroupPanel

    return GroupPanel(cluster, topic, group, **options)


def segments(cluster: Any, topic: str, partition: int = 0, *, broker: int | None = None) -> Any:
    """The Segment panel: a replica's files, a batch's bytes, and look-ups through its indexes.

    The leader's files, or those of a `broker`: `open_batch(segment, number)` opens a batch,
    `walk(1)` goes on to the next, `look_up(offset=42)` and `look_up(time=…)` show the search.
    Over a simulated world there is time travel: `jump("kill 101")`, `goto(-1)`.
    """
    from kit.segment_panel.panel import SegmentPanel

    return SegmentPanel(cluster, topic, partition, broker=broker)


def transactions(cluster: Any, *topics: str) -> Any:
    """The Transaction panel: the coordinator's state, markers in the logs, the LSO, two readers.

    On a running cluster its producers are real ones in processes of their own: `start("transfer")`,
    `press("commit", "app")`, `kill(101)`.  Over a simulated world there is time travel:
    `jump("PrepareCommit")`, `zombie("transfer")`.  A path is a broker's data directory.
    """
    if hasattr(cluster, "goto"):
        from kit.transaction_panel.time_panel import TransactionTimePanel

        return TransactionTimePanel(cluster, *topics)
    from kit.transaction_panel.live_panel import TransactionPanel

    return TransactionPanel(cluster, *topics)


def quorum(cluster: Any, **options: Any) -> Any:
    """The Quorum panel: controllers, their votes, and the metadata log that they keep together.

    Over a simulated world there is time travel: `jump("kill 200")`, `press("isolate", 200)`,
    `fork()`.  On a running cluster, `press("kill", 100)` reaches a controller; its log's records
    are shown where the controllers' files can be read.
    """
    if hasattr(cluster, "goto"):
        from kit.quorum_panel.time_panel import QuorumTimePanel

        return QuorumTimePanel(cluster)
    from kit.quorum_panel.live_panel import QuorumPanel

    return QuorumPanel(cluster, **options)


def znodes(world: Any) -> Any:
    """ZooKeeper's tree in a simulated world, with a slider over all its changes.

    `znodes(world).move(moment=3)` shows the third.  Of a world that cannot go back there is only
    the present tree.
    """
    from kit.drawings.znode_film import ZnodeFilm

    moments = ZnodeFilm(world).moments
    if len(moments) < 2:
        return moments[0] if moments else "ZooKeeper's tree is empty: let the world run first."

    def tree(moment: int = len(moments)) -> Any:
        return moments[moment - 1]

    return slider(tree, moment=range(1, len(moments) + 1))


def describe(cluster: Cluster, topic: str) -> Any:
    """A topic as a table: leader, ISR, log ends, high watermarks, epochs."""
    return cluster.describe(topic)


def show(*things: Any) -> Any:
    """The source code of functions, methods, classes or modules of the engine or the kit."""
    from kit.source_view import SourceView

    return SourceView(*things)


def term(word: str = "") -> Any:
    """A word of the field from the glossary: `lab.term("ISR")`; without one, all of them."""
    from kit import glossary

    return glossary.term(word)


def doctor() -> Any:
    """What is installed, what is missing, what that costs, and how to fix it."""
    from kit import doctor as checks

    return checks.doctor()
