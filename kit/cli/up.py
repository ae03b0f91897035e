"""`kafkalab up engine|local|docker|spark`: a cluster that stays until `kafkalab down`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("provider", choices=["engine", "local", "docker", "spark"])


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import part

    address = "SPARK_MASTER" if chosen.provider == "spark" else "bootstrap.servers"
    if chosen.provider == "docker":
        cluster = part("kit.clusters.docker", "up")()
    elif there := part("kit.clusters.registry", "shared")(chosen.provider):
        print(f"It is up already. {address}={there.bootstrap}")
        return 0
    elif chosen.provider == "spark":
        cluster = part("kit.spark_cluster", "start")(shared=True).registration
    else:
        cluster = part(f"kit.clusters.{chosen.provider}", "start")(shared=True)
    print(f"It stays up until you run: kafkalab down. {address}={cluster.bootstrap}")
    return 0
