"""`kafkalab present`: the panel in large type for a projector, and a remote for the faults."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("cluster", nargs="?", default="engine", choices=["engine", "local"])
    command.add_argument("--scene", type=int, default=1, help="begin with this one; default 1")
    command.add_argument(
        "--host",
        default="127.0.0.1",
        help="this machine's address, for a remote on a phone; without it, this machine alone",
    )
    command.add_argument("--port", type=int, default=8766)


def run(chosen: argparse.Namespace) -> int:
    from kit import lab
    from kit.presenter.scenes import SCENES, NoSuchScene
    from kit.presenter.server import Server
    from kit.presenter.stage import Stage

    if not 1 <= chosen.scene <= len(SCENES):
        raise NoSuchScene(f"There is no scene {chosen.scene}; there are 1 to {len(SCENES)}.")
    stage = Stage(getattr(lab, chosen.cluster)(private=True))
    try:
        if chosen.scene > 1:
            stage.go(chosen.scene - 1)
        server = Server(stage, chosen.host, chosen.port)
        print(f"For the projector (full screen with F11):  {server.page('show')}")
        print(f"For your hand:                             {server.page('remote')}")
        print("Page Down and Page Up, or a clicker, change the scene. Ctrl-C ends it.", flush=True)
        with server:
            server.serve_forever(poll_interval=0.2)
    finally:
        stage.close()
    return 0
