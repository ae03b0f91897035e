"""A round of the restart row: all nodes die, and every topic takes records again."""

from __future__ import annotations

from kit.bench import restart
from kit.clusters import engine


def test_a_round_on_the_engine() -> None:
    with engine.start(settings=restart.SETTINGS) as cluster:
        for number in range(2):
            cluster.create_topic(f"many-{number}", 20, replicas=1)
        assert 0 < restart.restart_s(cluster, topics=2, partitions=20) < 60
        assert {each.state for each in cluster.provider.nodes().values()} == {"running"}
