"""`kafkalab down`: ends what carries the kit's label, and nothing else.

Clusters of open notebooks carry it, too.  The command names everything that it ended.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil


def arguments(command: argparse.ArgumentParser) -> None:
    pass


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing, part

    removed = part("kit.clusters.registry", "down")()
    if shutil.which("docker"):
        # Without a running daemon there are no containers to remove.
        no_daemon = part("kit.clusters.interface", "ClusterError")
        with contextlib.suppress(no_daemon, PartMissing):
            removed += part("kit.clusters.docker", "down")()
    for line in removed:
        print(f"removed {line}")
    print("Nothing of the kit is running now." if removed else "Nothing of the kit was running.")
    return 0
