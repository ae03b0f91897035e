"""`kafkalab bundle FOLDER`."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, metavar="FOLDER", help="a stick, a shared folder")
    command.add_argument("--without-spark", action="store_true", help="430 MB less")
    command.add_argument("--without-image", action="store_true", help="no Docker image")


def run(chosen: argparse.Namespace) -> int:
    from kit import bundle

    done = bundle.write(
        chosen.folder, spark=not chosen.without_spark, image=not chosen.without_image
    )
    sets = ", ".join(name.removeprefix("the ") for name in done.jar_sets) or "no jars"
    image = "; Kafka's Docker image" if done.has_image else ""
    print(f"{chosen.folder}: {done.wheels} wheels; {sets}{image}; {done.bytes / 1e6:.0f} MB.")
    print(f"On a laptop without a network: sh {chosen.folder}/install")
    return 0
