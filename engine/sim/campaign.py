"""A campaign: many seeded schedules, one after another, and what came of them.

    python -m engine.sim.campaign --seeds 0:500 --jobs 2
    python -m engine.sim.campaign --replay 17            one seed again, with its story
    python -m engine.sim.campaign --mutants              search a seed that catches each mutant

A campaign in which nothing happens proves nothing, so it also says in how many schedules a
leader was elected and a log truncated.  A violation comes with the line that replays it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool

from engine.sim.mutants import MUTANTS, Mutant
from engine.sim.schedules import Outcome, Schedule, draw, play

ELECTIONS_MIN, TRUNCATIONS_MIN = 0.90, 0.30
SEARCH_SEEDS = 60


def run_one(seed: int, light: bool = False) -> Outcome:
    """One schedule from its seed to its end."""
    return play(draw(seed, light))


def outcomes(seeds: range, jobs: int = 1, light: bool = False) -> Iterator[Outcome]:
    """The outcome of each seed; in the order of the seeds, whatever the number of jobs."""
    work = partial(run_one, light=light)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(work, seeds, chunksize=2)


def report(results: list[Outcome], light: bool = False) -> tuple[str, bool]:
    """The campaign in a few lines, and whether it is clean and worth something."""
    count = len(results)
    broken = [outcome for outcome in results if outcome.violation]
    elected = sum(outcome.elections > 0 for outcome in results) / count
    truncated = sum(outcome.truncations > 0 for outcome in results) / count
    events = sum(outcome.events for outcome in results)
    seconds = sum(outcome.seconds for outcome in results)
    lossy = [outcome.seed for outcome in results if outcome.losses]
    lines = [
        f"{count} schedules, {len(broken)} with a violation",
        f"a leader elected in {elected:.0%} (at least {ELECTIONS_MIN:.0%}), "
        f"a log truncated in {truncated:.0%} (at least {TRUNCATIONS_MIN:.0%})",
        f"{sum(outcome.acknowledged for outcome in results)} records acknowledged",
        f"{len(lossy)} with records lost to an unclean election, as expected {lossy or ''}",
        f"{events} events, {events / seconds:,.0f} per second of processor time",
    ]
    lines += [_failure(outcome, light) for outcome in broken]
    good = not broken and elected >= ELECTIONS_MIN and truncated >= TRUNCATIONS_MIN
    return "\n".join(lines), good


def _failure(outcome: Outcome, light: bool) -> str:
    option = " --light" if light else ""
    return (
        f"seed {outcome.seed}: {outcome.violation}\n"
        f"  replay it: python -m engine.sim.campaign --replay {outcome.seed}{option}"
    )


def search(mutant: Mutant, seeds: range) -> Outcome | None:
    """The first seed whose schedule catches the mutant; None if none does."""
    with mutant.in_force():
        for seed in seeds:
            outcome = run_one(seed)
            if outcome.violation:
                return outcome
    return None


def _search_all(names: list[str]) -> bool:
    caught = True
    for name in names or list(MUTANTS):
        found = search(MUTANTS[name], range(SEARCH_SEEDS))
        caught = caught and found is not None
        print(f"{name}: {MUTANTS[name].breaks}")
        print(f"  seed {found.seed}, {found.events} events: {found.violation}" if found
              else f"  not caught by {SEARCH_SEEDS} seeds", flush=True)  # fmt: skip
    return caught


def _replay(schedule: Schedule, mutant: str) -> bool:
    if mutant:
        with MUTANTS[mutant].in_force():
            outcome = play(schedule, tell=print)
    else:
        outcome = play(schedule, tell=print)
    for at_us, what, arguments in outcome.tape:
        print(f"{at_us / 1e6:10.6f} {what} {' '.join(map(str, arguments))}")
    print(outcome.violation or "every invariant held")
    return not outcome.violation


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine.sim.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", default="0:40", help="first:last, the last one excluded")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--light", action="store_true", help="fewer records, the same faults")
    parser.add_argument("--replay", type=int, metavar="SEED", help="tell one schedule's story")
    parser.add_argument("--mutant", default="", choices=["", *MUTANTS], help="with --replay")
    parser.add_argument("--mutants", nargs="*", metavar="NAME", help="search seeds for mutants")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        return 0 if _replay(draw(options.replay, options.light), options.mutant) else 1
    if options.mutants is not None:
        return 0 if _search_all(options.mutants) else 1
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    if not seeds:
        parser.error(f"--seeds {options.seeds} names no seed; write first:last, such as 0:500.")
    results = list(outcomes(seeds, options.jobs, options.light))
    text, good = report(results, options.light)
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
