"""`kafkalab workshop [--host ADDRESS]`: the teacher's page of who is stuck where."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--host",
        default="127.0.0.1",
        help="this machine's address in the room's network; without it, this machine alone",
    )
    command.add_argument("--port", type=int, default=8765)
    command.add_argument("--hours", type=float, default=4.0, help="until it ends; default 4")


def run(chosen: argparse.Namespace) -> int:
    from kit.exercises import catalogue
    from kit.exercises.exercise import Exercise
    from kit.page_server import LOOPBACK
    from kit.workshop.room import Room
    from kit.workshop.server import Server

    titles = {e.id: e.title for e in catalogue.everything() if isinstance(e, Exercise)}
    room = Room(titles, chosen.hours * 3600)
    server = Server(room, chosen.host, chosen.port)
    print(f"Your page:      {server.address}/watch/{room.watch_key}")
    print(f"Learners type:  kafkalab join {server.address}/room/{room.code}")
    reach = (
        "Only this machine can reach it; --host opens it to your network."
        if chosen.host in LOOPBACK
        else "Every machine that reaches this address and has the room's code can join."
    )
    print(f"{reach} It ends after {chosen.hours:g} h, or with Ctrl-C.", flush=True)
    server.run_until_it_ends()
    print("The room has ended, and nothing of it is kept.")
    return 0
