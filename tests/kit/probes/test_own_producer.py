"""The engine's producer as lessons use it, stored batches, and a Java program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.sim.world.world import World
from kit import jars
from kit.clusters import engine as provider
from kit.clusters.interface import Cluster
from kit.probes.java_client import JavaProgram
from kit.probes.own_producer import OwnProducer
from kit.probes.stored_batches import stored

ECHO = """
import java.io.*;
public class Echo {
    public static void main(String[] words) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("end")) return;
            System.out.println(words[0] + "\\t" + line.toUpperCase());
        }
    }
}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with provider.start() as started:
        yield started


def test_a_world_s_producer_counts_batches_and_requests() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders", assignment={0: [101], 1: [101], 2: [102]})
    producer = OwnProducer(world, "orders", {"linger.ms": 10})
    for partition in (0, 1, 2):
        producer.send("A", "B", partition=partition)
    assert producer.wait()
    assert sorted((b.partition, b.records) for b in producer.batches) == [(0, 2), (1, 2), (2, 2)]
    assert producer.requests == 2
    assert producer.verdicts == ["acknowledged"] * 6
    assert all(10 <= each.waited_ms < 13 for each in producer.batches)
    assert producer.partitions_used == [0, 1, 2]


@pytest.mark.heavy
def test_on_sockets_flush_sends_what_lingers_and_headers_say_what_is_stored(
    cluster: Cluster,
) -> None:
    cluster.create_topic("orders", partitions=2)
    settings = {"linger.ms": 60_000, "compression.type": "gzip"}
    with OwnProducer(cluster, "orders", settings) as producer:
        producer.send(*("x" * 100 for _ in range(50)), partition=1)
        assert not producer.wait(for_s=0.1)
        assert producer.flush()
        assert producer.requests == 1
    (only,) = stored(cluster, "orders", 1)
    assert (only.base_offset, only.records, only.codec) == (0, 50, "gzip")
    assert only.size < 1_000
    assert stored(cluster, "orders", 0) == []


@pytest.mark.heavy
def test_stored_batches_of_several_fetches_are_all_found(cluster: Cluster) -> None:
    cluster.create_topic("large")
    with OwnProducer(cluster, "large", {"batch.size": 0}) as producer:
        producer.send(*("x" * 600_000 for _ in range(4)))
        producer.wait()
    assert [each.base_offset for each in stored(cluster, "large")] == [0, 1, 2, 3]


@pytest.mark.heavy
def test_a_java_program_answers_line_by_line(tmp_path: Path) -> None:
    try:
        jars.classpath()
        jars.java()
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    source = tmp_path / "Echo.java"
    source.write_text(ECHO)
    with JavaProgram(source, "said") as java:
        assert java.ask("one", "two") == ["said", "ONE", "TWO"]
        with pytest.raises(RuntimeError, match="gave no answer to 'end'"):
            java.ask("end")
    assert java.process.poll() is not None
