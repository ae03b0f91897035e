"""`kafkalab join URL`, `kafkalab join --leave`: a learner takes part in a workshop's page."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("url", nargs="?", help="the room's address; without it, where you are")
    command.add_argument("--leave", action="store_true", help="send nothing any more")


def run(chosen: argparse.Namespace) -> int:
    from kit.workshop import member

    if chosen.leave:
        left = member.leave()
        print("You have left the room." if left else "You are in no room; nothing is sent.")
    elif chosen.url:
        joined = member.join(chosen.url)
        print(member.SENT.format(address=joined.url, alias=joined.alias))
        print("Leave with: kafkalab join --leave")
    elif there := member.current():
        print(f"You are in the room {there.url} as “{there.alias}”.")
    else:
        print("You are in no room; nothing is sent.")
    return 0
