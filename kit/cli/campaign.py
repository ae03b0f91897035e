"""`kafkalab campaign`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.sim.campaign.play import Outcome

TELL_EVERY = 100


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seeds", default="0:40", help="first:last, without the last")
    command.add_argument("--jobs", type=int, default=1, help="processes")
    command.add_argument("--light", action="store_true", help="fewer records, the same faults")
    command.add_argument(
        "--groups", action="store_true", help="with members of consumer groups, and their faults"
    )
    command.add_argument(
        "--transactions",
        action="store_true",
        help="with transactional producers, the cleaner, and a topic that is made again",
    )
    command.add_argument(
        "--controllers", type=int, default=1, help="a quorum of so many, with faults of their own"
    )
    command.add_argument(
        "--voters",
        type=int,
        default=0,
        help="so many of the controllers vote at first; voters are removed and added",
    )
    command.add_argument(
        "--ensemble",
        type=int,
        default=0,
        help="ZooKeeper's plane, with so many members, and its faults",
    )
    command.add_argument(
        "--spark",
        action="store_true",
        help="spread the seeds over Spark tasks, on all cores of SPARK_MASTER",
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("campaign"),
        metavar="FOLDER",
        help="with --spark: where the table and the page go",
    )
    command.add_argument("--replay", type=int, metavar="SEED", help="print one schedule's story")
    command.add_argument(
        "--shrink", type=int, metavar="SEED", help="find its shortest failing tape"
    )
    command.add_argument("--mutant", default="", help="with --replay or --shrink: break a rule")
    command.add_argument(
        "--mutants", nargs="*", metavar="NAME", help="find short tapes that catch them"
    )
    command.add_argument("--write", type=Path, metavar="FOLDER", help="keep what --mutants finds")
    command.add_argument("--prove", type=Path, metavar="FOLDER", help="check its tapes are minimal")


def run(chosen: argparse.Namespace) -> int:
    if chosen.prove is not None:
        return _prove(sorted(chosen.prove.glob("*.txt")))
    if chosen.mutants is not None:
        return _search(chosen.mutants, chosen.write)
    if chosen.replay is not None or chosen.shrink is not None:
        return _one(chosen)
    from engine.sim.campaign import campaign

    seeds = _seeds(chosen.seeds)
    results: list[Outcome] = []
    for outcome in _outcomes(chosen, seeds):
        results.append(outcome)
        if len(results) % TELL_EVERY == 0:
            broken = sum(bool(each.violation) for each in results)
            progress = f"{len(results)} of {len(seeds)} schedules, {broken} with a violation"
            print(progress, file=sys.stderr, flush=True)
    results.sort(key=lambda outcome: outcome.setup.seed)
    text, good = campaign.report(results, chosen.light)
    print(text)
    if chosen.spark:
        page = chosen.out / "campaign.html"
        print(f"{page} has the pictures; the table is beside it.", file=sys.stderr)
    return 0 if good else 1


def _outcomes(chosen: argparse.Namespace, seeds: range) -> Iterator[Outcome]:
    """With --spark in the order in which tasks end."""
    kind = (chosen.light, chosen.groups, chosen.transactions)
    for name, is_given in (("controllers", chosen.controllers > 1), ("ensemble", chosen.ensemble)):
        if chosen.spark and is_given:
            raise RuntimeError(f"--{name} and --spark do not go together: leave one out.")
    if chosen.ensemble and (chosen.groups or chosen.transactions or chosen.controllers > 1):
        raise RuntimeError("--ensemble goes with no other kind of schedule: leave the others out.")
    if chosen.spark:
        from kit.at_scale import campaign as on_spark
        from kit.at_scale import tasks

        return on_spark.outcomes(tasks.session(), seeds, kind, chosen.out)
    from engine.sim.campaign import campaign

    if not 0 <= chosen.voters <= chosen.controllers:
        raise RuntimeError(f"--voters {chosen.voters}: there are {chosen.controllers} controllers.")
    return campaign.outcomes(
        seeds, chosen.jobs, *kind, chosen.controllers, chosen.ensemble, chosen.voters
    )


def _seeds(text: str) -> range:
    first, _, last = text.partition(":")
    try:
        seeds = range(int(first), int(last or int(first) + 1))
    except ValueError:
        seeds = range(0)
    if not seeds:
        raise RuntimeError(f"--seeds {text} names no seed; write first:last, such as 0:500.")
    return seeds


def _known(name: str) -> Any:
    from engine.sim.campaign.mutants import MUTANTS

    if name not in MUTANTS:
        raise RuntimeError(f"there is no mutant {name}; there are {', '.join(MUTANTS)}.")
    return MUTANTS[name]


def _one(chosen: argparse.Namespace) -> int:
    """One seed: its story, or its shortest failing tape; both end with a script to paste."""
    from contextlib import nullcontext

    from engine.sim.campaign import shrink, timed_scripts
    from engine.sim.campaign.play import play
    from engine.sim.campaign.schedules import draw

    seed = chosen.replay if chosen.replay is not None else chosen.shrink
    with _known(chosen.mutant).in_force() if chosen.mutant else nullcontext():
        drawn = draw(seed, chosen.light, chosen.groups, chosen.transactions, chosen.controllers,
                     chosen.ensemble, chosen.voters)  # fmt: skip
        outcome = play(drawn, tell=print if chosen.replay is not None else None)
    setup, tape, violation = outcome.setup, outcome.tape, outcome.violation
    if chosen.shrink is not None:
        if not violation:
            raise RuntimeError(f"seed {seed} breaks no invariant, so there is nothing to shrink.")
        found = shrink.shrink_outcome(outcome, chosen.mutant)
        setup, tape, violation = found.setup, found.tape, found.violation
    timed = timed_scripts.Timed(setup, tape, chosen.mutant)
    print(timed_scripts.write(timed, f"seed {seed}", violation), end="")
    return 1 if violation and not chosen.mutant else 0


def _search(names: list[str], folder: Path | None) -> int:
    from engine.sim.campaign import pinned
    from engine.sim.campaign.mutants import MUTANTS

    missing = 0
    for name in names or MUTANTS:
        _known(name)
        text = pinned.pin(name)
        if text is None:
            missing += 1
            print(f"{name}: not caught by {len(pinned.SEARCH_SEEDS)} schedules", flush=True)
            continue
        print(text, flush=True)
        if folder is not None:
            (folder / f"{name}.txt").write_text(text)
    return 1 if missing else 0


def _prove(files: list[Path]) -> int:
    from statistics import median

    from engine.sim.campaign import pinned

    if not files:
        raise RuntimeError(
            "there are no tapes in that folder; make some with --mutants --write FOLDER."
        )
    proofs = []
    for file in files:
        proofs.append(pinned.prove(file.read_text()))
        print(proofs[-1], flush=True)
    sizes = [proof.faults for proof in proofs]
    print(f"{len(proofs)} tapes, median {median(sizes):g} faults, at most {max(sizes)}")
    small = median(sizes) <= pinned.FAULTS_MEDIAN_MAX and max(sizes) <= pinned.FAULTS_MAX
    return 0 if small and all(proof.holds for proof in proofs) else 1
