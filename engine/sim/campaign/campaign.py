"""A campaign: runs many seeded schedules and reports how they ended.

A campaign in which nothing happens proves nothing, so it also says in how many schedules a
leader was elected and a log truncated, and of schedules with groups in how many a group rebalanced,
a session ended and a coordinator moved; of schedules with transactions the like.  A violation comes
with the line that replays it.
`kafkalab campaign` is its command line (kit/cli/campaign.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool

from engine.sim.campaign.mutants import Mutant
from engine.sim.campaign.play import Outcome, play
from engine.sim.campaign.schedules import Setup, draw

ELECTIONS_MIN, TRUNCATIONS_MIN = 0.90, 0.30
TAKEOVERS_MIN, METADATA_CUTS_MIN, LOADS_MIN = 0.95, 0.30, 0.10
"""In schedules with several controllers: another took over, one cut its log, one loaded a
snapshot."""
HISTORIC_TAKEOVERS_MIN, HISTORIC_CUTS_MIN = 0.85, 0.10
"""In schedules with ZooKeeper: another controller; a partition's log cut (sessions end late)."""
REBALANCES_MIN, EXPIRIES_MIN, MOVES_MIN = 0.80, 0.40, 0.50
"""In schedules with groups: a second assignment, a session over, another coordinator."""
SEARCH_SEEDS = 120


COMMITS_MIN, TIMEOUTS_MIN, TRANSACTION_MOVES_MIN, CLEANED_MIN = 0.95, 0.60, 0.50, 0.25
REMADE_MIN = 0.30
"""In schedules with transactions: one committed and one aborted, one aborted by its timeout, a new
coordinator, a pass of the cleaner, the topic deleted and made again."""


def run_one(
    seed: int,
    light: bool = False,
    groups: bool = False,
    transactions: bool = False,
    controllers: int = 1,
    ensemble: int = 0,
    voters: int = 0,
) -> Outcome:
    """One schedule from its seed to its end."""
    return play(draw(seed, light, groups, transactions, controllers, ensemble, voters))


def outcomes(
    seeds: range,
    jobs: int = 1,
    light: bool = False,
    groups: bool = False,
    transactions: bool = False,
    controllers: int = 1,
    ensemble: int = 0,
    voters: int = 0,
) -> Iterator[Outcome]:
    """The outcome of each seed, in the order of the seeds for any number of jobs."""
    work = partial(
        run_one, light=light, groups=groups, transactions=transactions, controllers=controllers,
        ensemble=ensemble, voters=voters,
    )  # fmt: skip
    if jobs == 1:
        yield from map(work, seeds)
        return
    with Pool(jobs) as pool:
        yield from pool.imap(work, seeds, chunksize=2)


def report(results: list[Outcome], light: bool = False) -> tuple[str, bool]:
    """The campaign in a few lines, and whether it is clean and has tested enough."""
    count = len(results)
    broken = [outcome for outcome in results if outcome.violation]
    elected = sum(outcome.elections > 0 for outcome in results) / count
    truncated = sum(outcome.truncations > 0 for outcome in results) / count
    least = HISTORIC_CUTS_MIN if results[0].setup.ensemble else TRUNCATIONS_MIN
    events = sum(outcome.events for outcome in results)
    seconds = sum(outcome.seconds for outcome in results)
    lossy = [outcome.setup.seed for outcome in results if outcome.losses]
    lines = [
        f"{count} schedules, {len(broken)} with a violation",
        f"a leader elected in {elected:.0%} (at least {ELECTIONS_MIN:.0%}), "
        f"a log truncated in {truncated:.0%} (at least {least:.0%})",
        f"{sum(outcome.acknowledged for outcome in results)} records acknowledged, the older ones "
        f"deleted {sum(outcome.deletions for outcome in results)} times in "
        f"{sum(outcome.setup.trimmed for outcome in results)} schedules",
        f"{len(lossy)} with records lost to an unclean election, as expected {lossy or ''}",
        f"{events} events, {events / seconds:,.0f} per second of processor time",
        f"faults: {_faults(results)}",
    ]
    lines += [_failure(outcome, light) for outcome in broken]
    good = not broken and elected >= ELECTIONS_MIN and truncated >= least
    several = [outcome for outcome in results if outcome.setup.controllers > 1]
    if several:
        told, enough = _controllers(several)
        lines.insert(3, told)
        good = good and enough
    historic = [outcome for outcome in results if outcome.setup.ensemble]
    if historic:
        told, enough = _historic(historic)
        lines.insert(3, told)
        good = good and enough
    with_groups = [outcome for outcome in results if outcome.setup.groups]
    if with_groups:
        told, enough = _groups(with_groups)
        lines.insert(3, told)
        good = good and enough
    with_tills = [outcome for outcome in results if outcome.setup.tills is not None]
    if with_tills:
        told, enough = _transactions(with_tills)
        lines.insert(3, told)
        good = good and enough
    return "\n".join(lines), good


def _historic(results: list[Outcome]) -> tuple[str, bool]:
    """What happened on the historic control plane, and whether it was enough."""
    taken = sum(each.takeovers > 0 for each in results) / len(results)
    told = (
        f"ZooKeeper: {sum(each.takeovers for each in results)} controllers took over, in "
        f"{taken:.0%} of the schedules (at least {HISTORIC_TAKEOVERS_MIN:.0%})"
    )
    return told, taken >= HISTORIC_TAKEOVERS_MIN


def _controllers(results: list[Outcome]) -> tuple[str, bool]:
    """What happened in the quorum, and whether it was enough."""
    count = len(results)
    taken = sum(each.takeovers > 0 for each in results) / count
    cut = sum(each.metadata_cuts > 0 for each in results) / count
    loaded = sum(each.loads > 0 for each in results) / count
    told = (
        f"controllers: {sum(each.takeovers for each in results)} took over, "
        f"{sum(each.metadata_cuts for each in results)} cut their log; of the schedules, another "
        f"controller in {taken:.0%} (at least {TAKEOVERS_MIN:.0%}), a log cut in {cut:.0%} "
        f"({METADATA_CUTS_MIN:.0%}), a snapshot loaded in {loaded:.0%} ({LOADS_MIN:.0%})"
    )
    if changed := sum(each.voter_changes for each in results):
        told += f"; the voters changed {changed} times"
    shares, least = (taken, cut, loaded), (TAKEOVERS_MIN, METADATA_CUTS_MIN, LOADS_MIN)
    return told, all(share >= wanted for share, wanted in zip(shares, least, strict=True))


def _transactions(results: list[Outcome]) -> tuple[str, bool]:
    """What happened in transactions, and whether it was enough."""
    count = len(results)
    shares = (
        sum(each.committed > 0 < each.aborted for each in results) / count,
        sum(each.timed_out > 0 for each in results) / count,
        sum(each.moves > 0 for each in results) / count,
        sum(each.cleaned > 0 for each in results) / count,
        sum(each.remade > 0 for each in results) / count,
    )
    waiting = [each.setup.seed for each in results if each.waiting]
    least = (COMMITS_MIN, TIMEOUTS_MIN, TRANSACTION_MOVES_MIN, CLEANED_MIN, REMADE_MIN)
    told = (
        f"transactions: {sum(each.committed for each in results)} committed, "
        f"{sum(each.aborted for each in results)} aborted, "
        f"{sum(each.timed_out for each in results)} of them by their timeout, "
        f"{sum(each.moves for each in results)} moves of the coordinator, "
        f"{sum(each.cleaned for each in results)} passes of the cleaner, "
        f"the topic deleted and made again {sum(each.remade for each in results)} times; of the "
        f"schedules, "
        f"both ends in {shares[0]:.0%} (at least {least[0]:.0%}), a timeout in {shares[1]:.0%} "
        f"({least[1]:.0%}), a move in {shares[2]:.0%} ({least[2]:.0%}), the cleaner in "
        f"{shares[3]:.0%} ({least[3]:.0%}), the topic made again in {shares[4]:.0%} "
        f"({least[4]:.0%})\n"
        f"{len(waiting)} with a producer that waited for a partition that is gone, as in Kafka "
        f"{waiting or ''}"
    )
    return told, all(share >= wanted for share, wanted in zip(shares, least, strict=True))


def _groups(results: list[Outcome]) -> tuple[str, bool]:
    """What happened in consumer groups, and whether it was enough."""
    count = len(results)
    began = {each.setup.seed: len(each.setup.groups) for each in results}
    shares = (
        sum(each.rebalances > began[each.setup.seed] for each in results) / count,
        sum(each.expired > 0 for each in results) / count,
        sum(each.moves > 0 for each in results) / count,
    )
    waiting = [each.setup.seed for each in results if each.orphans]
    told = (
        f"groups: {sum(each.rebalances for each in results)} rebalances, "
        f"{sum(each.expired for each in results)} sessions over, "
        f"{sum(each.moves for each in results)} moves of a coordinator; "
        f"a group rebalanced in {shares[0]:.0%} of the schedules (at least {REBALANCES_MIN:.0%}), "
        f"a session over in {shares[1]:.0%} ({EXPIRIES_MIN:.0%}), "
        f"a coordinator moved in {shares[2]:.0%} ({MOVES_MIN:.0%})\n"
        f"{len(waiting)} with a partition that waited for the next rebalance, as in Kafka "
        f"{waiting or ''}"
    )
    least = (REBALANCES_MIN, EXPIRIES_MIN, MOVES_MIN)
    return told, all(share >= wanted for share, wanted in zip(shares, least, strict=True))


def _options(light: bool, setup: Setup) -> str:
    with_tills = setup.tills is not None
    several = f" --controllers {setup.controllers}" if setup.controllers > 1 else ""
    several += f" --ensemble {setup.ensemble}" if setup.ensemble else ""
    several += f" --voters {setup.voters}" if setup.voters else ""
    kinds = " --light" * light + " --groups" * bool(setup.groups) + " --transactions" * with_tills
    return kinds + several


def _faults(results: list[Outcome]) -> str:
    """How often each kind of fault really happened."""
    counts: dict[str, int] = {}
    for outcome in results:
        for done in outcome.tape:
            kind = str(done.action).split()[0]
            counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _failure(outcome: Outcome, light: bool) -> str:
    option = _options(light, outcome.setup)
    return (
        f"seed {outcome.setup.seed}: {outcome.violation}\n"
        f"  replay it: kafkalab campaign --replay {outcome.setup.seed}{option}"
    )


def search(mutant: Mutant, seeds: range, light: bool = False) -> Outcome | None:
    """The first seed whose schedule catches the mutant; None if none does."""
    with mutant.in_force():
        for seed in seeds:
            outcome = run_one(seed, light, *mutant.kind)
            if outcome.violation:
                return outcome
    return None
