"""The doorway: which cluster a name gives, and what is said where there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from engine.replication.partition import Partition
from kit import jars, lab
from kit.clusters.interface import ClusterError


class Stand:
    has_ended = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def kernel(monkeypatch) -> lab._Kernel:
    """A kernel that has started nothing yet, with stand-ins for all providers."""
    from kit.clusters import docker, engine, local

    fresh = lab._Kernel()
    monkeypatch.setattr(lab, "_kernel", fresh)
    monkeypatch.delenv(lab.REAL_VARIABLE, raising=False)
    for provider, name in ((engine, "engine"), (local, "local"), (docker, "docker")):
        monkeypatch.setattr(provider, "attach", lambda: None)
        if provider is not docker:
            monkeypatch.setattr(provider, "start", lambda name=name, **options: Stand(name))
    return fresh


def test_an_engine_is_started_once_and_shared_by_its_wishes(kernel) -> None:
    assert lab.engine() is lab.engine()
    assert lab.engine(settings=lab.BRISK) is lab.engine(settings=lab.BRISK)
    assert lab.engine(settings=lab.BRISK) is not lab.engine()
    assert lab.engine(private=True) is not lab.engine(private=True)


def test_a_local_kafka_is_shared_by_its_wishes(kernel) -> None:
    with_three = lab.local(controllers=3)
    assert with_three is lab.local(controllers=3)
    assert with_three is not lab.local()
    assert with_three is not lab.local(controllers=3, settings={"num.partitions": 2})
    assert lab.local(settings={"num.partitions": 2}) is lab.local(settings={"num.partitions": "2"})


def test_a_scenario_runs_on_other_clusters_if_it_is_given_them(kernel, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr("kit.both.comparison.run", lambda scenario, *given: seen.append(given))
    here, there = lab.engine(controllers=3), lab.local(controllers=3)
    lab.both(lambda cluster: {}, on=(here, there))
    lab.both(lambda cluster: {}, on=(here, None))
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    lab.both(lambda cluster: {})
    assert seen[0] == (here, there, "")
    assert seen[1] == (here, None, "The real side is a local Kafka here: KAFKALAB_REAL=local.")
    assert seen[2][:2] == (lab.engine(settings=lab.BRISK), None)


def test_an_engine_that_has_ended_is_replaced_with_a_sentence(monkeypatch, capsys) -> None:
    monkeypatch.setattr(lab, "_kernel", lab._Kernel())
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    try:
        first = lab.engine()
        assert lab.engine() is first
        first.kill(101)
        assert lab.engine() is first, "a killed broker can be started again"
        os.kill(first.provider.pid(), signal.SIGKILL)
        second = lab.engine()
        assert second is not first
        assert "The engine cluster had ended. A new one is in its place" in capsys.readouterr().out
        second.create_topic("orders")
        assert lab.both(lambda cluster: {"brokers": cluster.brokers}).engine
    finally:
        lab._kernel.close()


def test_closing_the_kernel_closes_what_it_started(kernel) -> None:
    one, other = lab.engine(), lab.engine(private=True)
    kernel.close()
    assert one.closed
    assert other.closed


def test_the_real_side_can_be_switched_off(kernel, monkeypatch) -> None:
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    assert lab.real() is None
    assert "switched off" in lab.real_absence()


def test_without_java_or_jars_there_is_a_sentence(kernel, monkeypatch) -> None:
    def missing() -> str:
        raise jars.JarsMissing("Kafka's jars are not here yet: run: make setup")

    monkeypatch.setattr(jars, "java", missing)
    assert lab.real() is None
    assert "make setup" in lab.real_absence()


def test_plain_processes_serve_where_no_composed_cluster_is_up(kernel, monkeypatch) -> None:
    monkeypatch.setattr(jars, "java", lambda: "java")
    monkeypatch.setattr(jars, "classpath", lambda: "jars/*")
    first = lab.real()
    assert first is not None
    assert first.name == "local"
    assert lab.real() is first


def test_zookeeper_is_asked_for_by_name_and_never_the_real_side(kernel, monkeypatch) -> None:
    from kit.clusters import zookeeper

    started = []
    monkeypatch.setattr(zookeeper, "start", lambda **how: started.append(how) or Stand("zookeeper"))
    first = lab.zookeeper()
    assert lab.zookeeper() is first
    assert lab.zookeeper(ensemble=3) is not first
    timeout = {"zookeeper.session.timeout.ms": 18000}
    assert lab.zookeeper(settings=timeout) is lab.zookeeper(settings=timeout)
    assert lab.zookeeper(private=True) is not first
    assert [how["ensemble"] for how in started] == [1, 3, 1, 1]
    assert started[2]["settings"] == {"zookeeper.session.timeout.ms": "18000"}
    monkeypatch.setattr(jars, "java", lambda: "java")
    monkeypatch.setattr(jars, "classpath", lambda: "jars/*")
    for chosen in ("", "zookeeper"):
        monkeypatch.setenv(lab.REAL_VARIABLE, chosen)
        found = lab.real()
        assert found is not None
        assert found.name == "local"


def test_a_composed_cluster_that_is_up_comes_first(kernel, monkeypatch) -> None:
    from kit.clusters import docker

    monkeypatch.setattr(docker, "attach", lambda: Stand("docker"))
    found = lab.real()
    assert found is not None
    assert found.name == "docker"


def test_a_remote_needs_an_address(kernel, monkeypatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP", raising=False)
    with pytest.raises(ClusterError, match="Say where it is"):
        lab.remote()


def test_alone_a_scenario_runs_on_an_engine_that_notices_sooner(kernel, monkeypatch) -> None:
    from kit.both import comparison

    seen = []
    monkeypatch.setattr(comparison, "run", lambda *parts: seen.append(parts))
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    lab.both(lambda cluster: {})
    assert seen[0][1] is lab.engine(settings=lab.BRISK)
    monkeypatch.setenv(lab.REAL_VARIABLE, "local")
    lab.both(lambda cluster: {})
    assert seen[1][1] is lab.engine()
    assert seen[1][2].name == "local"


def test_the_doorway_opens_fast_and_loads_nothing_heavy() -> None:
    heavy = ("confluent_kafka", "docker", "plotly", "pyspark", "anywidget", "IPython")
    code = f"import sys; import kit.lab; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_world_is_the_simulator() -> None:
    world = lab.world(seed=7)
    world.create_topic("orders")
    assert world.leader("orders", 0) in (101, 102, 103)


def test_show_quotes_the_source_that_ran() -> None:
    shown = lab.show(Partition.advance_high_watermark)
    assert repr(shown).startswith("# engine/replication/partition.py:")
    assert repr(shown).splitlines()[1] == "def advance_high_watermark(self, now: int) -> bool:"
    assert "advance_high_watermark" in shown._repr_html_()
    assert '"""' in repr(lab.show(sys.modules[Partition.__module__]))
    both = repr(lab.show(Partition.advance_high_watermark, Partition))
    assert both.startswith(repr(shown))
    assert "class Partition:" in both
