"""A round of the failover row ends with another leader, and with all controllers running."""

from __future__ import annotations

from kit.bench import failover
from kit.clusters import engine


def test_a_round_on_the_engine() -> None:
    with engine.start(controllers=3) as cluster:
        former = cluster.snapshot()["controller"]["id"]
        assert 0 < failover.takeover_s(cluster) < 30
        assert cluster.snapshot()["controller"]["id"] != former
        assert {each.state for each in cluster.provider.nodes().values()} == {"running"}
