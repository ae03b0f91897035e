"""Serves a cluster in the foreground: `python -m engine --brokers 3 --port 19092 --data DIR`.

Standard library alone.  Ctrl-C stops every broker cleanly.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import secrets
import signal
import sys
from pathlib import Path
from random import SystemRandom

from engine.cluster.spec import ClusterSpec
from engine.replication.truncation import DEFAULT_RULE, RULES
from engine.server.control_socket import ControlSocket
from engine.server.data_folder import TIER, DataFolder, FolderRefused
from engine.server.listener import PortTaken
from engine.server.server import Server
from engine.settings import Settings
from engine.storage.disk import Disk
from engine.storage.memory_disk import MemoryDisk
from engine.storage.real_disk import RealDisk
from engine.wire import uuids
from engine.wire.errors import KafkaError

FIRST_CONTROLLER, FIRST_BROKER = 100, 101
READY_S = 30.0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m engine", description="A Kafka cluster in one Python process."
    )
    parser.add_argument("--brokers", type=int, default=3, help="how many (default 3)")
    parser.add_argument("--controllers", type=int, default=1,
                        help="100, 200, 300, …: a quorum of so many (default 1)")  # fmt: skip
    parser.add_argument("--voters", type=int, default=0,
                        help="so many of them vote, and this may change (KIP-853)")  # fmt: skip
    parser.add_argument(
        "--port", type=int, default=0, help="of the first broker; 0 takes free ones"
    )
    parser.add_argument("--data", type=Path, help="a folder for the logs; without it, in memory")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a broker config, such as replica.lag.time.max.ms=5000")  # fmt: skip
    parser.add_argument("--racks", default="", help="comma-separated, one per broker")
    parser.add_argument("--rule", default=DEFAULT_RULE, choices=list(RULES),
                        help="how a replica cuts off what its leader does not have")  # fmt: skip
    parser.add_argument("--cluster-id", help="default: the folder's own, or a new one")
    parser.add_argument("--control", type=Path, metavar="FILE",
                        help="open a control socket, its address and secret in FILE")  # fmt: skip
    options = parser.parse_args(arguments)
    if not 1 <= options.brokers <= 100:
        parser.error(f"--brokers {options.brokers}: give a number from 1 to 100")
    if not 1 <= options.controllers <= 9:
        parser.error(f"--controllers {options.controllers}: give a number from 1 to 9; 3 is usual")
    if not 0 <= options.voters <= options.controllers:
        parser.error(f"--voters {options.voters}: there are {options.controllers} controllers")
    if options.controllers > 1 and options.brokers > 99:
        parser.error("controller 200 and broker 200 cannot both be: give --brokers up to 99")
    if not 0 <= options.port <= 65536 - options.brokers:
        parser.error(f"--port {options.port}: there are no ports up to {options.port} + brokers")
    for each in options.set:
        if "=" not in each:
            parser.error(f"--set {each}: give NAME=VALUE")
    return options


def make_cluster(
    options: argparse.Namespace,
) -> tuple[ClusterSpec, dict[int, Disk], DataFolder | None]:
    """What to serve, the disks to serve it from, and the folder, locked while it is held.

    The seed is fresh for each process: topic and producer ids must not repeat when a
    cluster continues with the files of its last run.
    """
    ids = SystemRandom()
    brokers = tuple(range(FIRST_BROKER, FIRST_BROKER + options.brokers))
    controllers = tuple(FIRST_CONTROLLER * number for number in range(1, options.controllers + 1))
    nodes = controllers + brokers
    disks: dict[int, Disk]
    folder = None
    if options.data is None:
        disks = {node: MemoryDisk() for node in nodes}
        cluster_id = options.cluster_id or uuids.to_text(uuids.new(ids))
    else:
        folder = DataFolder(options.data, nodes, ids, options.cluster_id)
        disks, cluster_id = {**folder.disks}, folder.cluster_id
    spec = ClusterSpec(
        brokers=brokers,
        controllers=controllers,
        voters=controllers[: options.voters],
        cluster_id=cluster_id,
        settings=dict(each.partition("=")[::2] for each in options.set),
        racks=dict(zip(brokers, filter(None, options.racks.split(",")), strict=False)),
        log_dirs={node: str(disk.root) for node, disk in disks.items() if hasattr(disk, "root")},
        seed=ids.getrandbits(64),
        rule=options.rule,
    )
    return spec, disks, folder


def make_tier(options: argparse.Namespace, spec: ClusterSpec) -> Disk | None:
    """The store of tiered storage, if it is on: DIR/tier, or in memory as the logs are."""
    if not Settings(spec.settings)["remote.log.storage.system.enable"]:
        return None
    return MemoryDisk() if options.data is None else RealDisk(options.data / TIER)


async def serve(options: argparse.Namespace) -> None:
    spec, disks, _folder = make_cluster(options)
    ports = {b: options.port + i for i, b in enumerate(spec.brokers)} if options.port else {}
    server = Server(disks, spec, ports, make_tier(options, spec))
    server.start()
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, done.set)
    await server.wait(server.is_ready, READY_S)
    if options.control is not None:
        control = ControlSocket(server, secrets.token_hex(16), done)
        await control.open()
        announce(options.control, server, control)
    print(f"Serving {len(spec.brokers)} brokers: {server.bootstrap}", flush=True)
    print(f"Controllers: {server.bootstrap_controllers}", flush=True)
    gc.freeze()  # modules and schemas live forever: no collection need look at them
    await done.wait()
    await server.shut_down()


def announce(path: Path, server: Server, control: ControlSocket) -> None:
    """Writes how to reach the back door, for our own user's eyes only."""
    spec = server.cluster.spec
    ports = {node: listener.port for node, listener in server.listeners.items()}
    content = {
        "ports": {broker: ports[broker] for broker in spec.brokers},
        "controller_ports": {each: ports[each] for each in spec.controllers},
        "control": control.port,
        "secret": control.secret,
        "cluster_id": spec.cluster_id,
    }
    draft = path.with_suffix(".new")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(content))
    draft.rename(path)


def main(arguments: list[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    try:
        asyncio.run(serve(options))
    except (PortTaken, FolderRefused) as error:
        print(error, file=sys.stderr)
        return 1
    except KafkaError as error:
        print(error.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
