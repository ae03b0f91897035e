"""`kafkalab guide [NUMBER …] [--out FILE]`, `kafkalab guide --plan NAME`."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("lesson", nargs="*", help="a notebook's number or a lab's; default: all")
    command.add_argument("--out", type=Path, metavar="FILE", help="default: guide.html")
    command.add_argument(
        "--plan", metavar="NAME", help="half-day, two-days or twelve-weeks; without --out, print it"
    )
    command.add_argument(
        "--write-plans", action="store_true", help="write the plans into the instructor guide"
    )


def run(chosen: argparse.Namespace) -> int:
    from kit import guide, plans

    if chosen.plan:
        plan = plans.document(plans.find(chosen.plan))
        if chosen.out is None:
            print(plan)
        else:
            chosen.out.write_text(f"{plan}\n", "utf-8")
            print(f"{chosen.out}: the plan {chosen.plan}")
        return 0
    if chosen.write_plans:
        plans.PAGE.write_text(plans.written(), "utf-8")
        print(f"{plans.PAGE.name}: {len(plans.PLANS)} plans")
        return 0
    page = guide.write(chosen.lesson, chosen.out or Path("guide.html"))
    print(f"{page}: open it in a browser, and print it from there")
    return 0
