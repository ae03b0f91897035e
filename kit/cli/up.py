"""`kafkalab up engine|local|docker`: a cluster that stays until `kafkalab down`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("provider", choices=["engine", "local", "docker"])


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import part

    if chosen.provider == "docker":
        cluster = part("kit.clusters.docker", "up")()
    elif there := part("kit.clusters.registry", "shared")(chosen.provider):
        print(f"It is up already. bootstrap.servers={there.bootstrap}")
        return 0
    else:
        cluster = part(f"kit.clusters.{chosen.provider}", "start")(shared=True)
    print(f"It stays up until you run: kafkalab down. bootstrap.servers={cluster.bootstrap}")
    return 0
