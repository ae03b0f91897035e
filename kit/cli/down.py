"""`kafkalab down`: ends the shared clusters, and removes what ended programs left behind.

Clusters of open notebooks go on, and the command names them.  `kafkalab down --all` ends them,
too: it says what it will end, and on a terminal it asks first.  What does not carry the kit's
label is never touched.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--all", action="store_true", help="end clusters of open notebooks, too")


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing, part
    from kit.clusters import registry

    if chosen.all and not _may_end(registry.registrations()):
        print("Nothing was ended.")
        return 1
    removed = registry.down(everything=chosen.all)
    if shutil.which("docker"):
        # Without a running daemon there are no containers to remove.
        no_daemon = part("kit.clusters.interface", "ClusterError")
        with contextlib.suppress(no_daemon, PartMissing):
            removed += part("kit.clusters.docker", "down")()
    for line in removed:
        print(f"removed {line}")
    still = registry.of_open_programs()
    for each in still:
        print(f"goes on: cluster {registry.described(each)}")
    if still:
        print("To end these as well, run: kafkalab down --all")
    elif removed:
        print("Nothing of the kit is running now.")
    else:
        print("Nothing of the kit was running.")
    return 0


def _may_end(clusters: list) -> bool:
    """Names what will end; on a terminal, asks."""
    from kit.clusters import registry

    for each in clusters:
        print(f"will end: cluster {registry.described(each)}")
    if not clusters or not sys.stdin.isatty():
        return True
    return input("End them? Type yes: ").strip().lower() in ("y", "yes")
