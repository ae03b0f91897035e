"""`kafkalab status`: the clusters that are up."""

from __future__ import annotations

import argparse
import contextlib
import shutil


def arguments(command: argparse.ArgumentParser) -> None:
    pass


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing, part
    from kit.clusters import registry
    from kit.tables import Table

    rows = []
    for found in registry.registrations():
        whose = "shared" if found.shared else f"of process {found.owner_pid}"
        if not registry.is_up(found):
            whose = "ended; kafkalab down removes what it left"
        rows.append((found.provider, whose, found.bootstrap))
    if shutil.which("docker"):
        no_daemon = part("kit.clusters.interface", "ClusterError")
        with contextlib.suppress(no_daemon, PartMissing):
            if cluster := part("kit.clusters.docker", "attach")():
                rows.append(("docker", "shared", cluster.bootstrap))
    if not rows:
        print("No cluster is up. Start one with: kafkalab up engine")
        return 0
    print(Table("Clusters", ("provider", "whose", "address"), rows))
    return 0
