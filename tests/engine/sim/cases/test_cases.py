"""The named cases: shown under the old rule, absent under the new, the same every time.

To rewrite the outcomes and review them as text:
pytest tests/engine/sim/cases --regenerate
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import engine.sim.cases
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.cases import CASES, Ending, Played, play_case, play_side
from engine.sim.cases.judges import diverged
from engine.sim.history import Poll
from engine.sim.scripts.player import ScriptError
from engine.sim.scripts.scripts import DIVIDER, parse
from engine.sim.world.world import World
from engine.wire.errors import Errors

ROOT = Path(__file__).parents[4]
FOLDER = Path(engine.sim.cases.__file__).parent
TELL = "from tests.engine.sim.cases.test_cases import digests; print(digests())"
TRUNCATION = ("kip-101-1", "kip-101-2", "kip-279")


@cache
def played(name: str) -> Played:
    return play_case(name)


def digest(name: str) -> str:
    both = play_case(name)
    reported = "\n".join([*both.old.trace, *both.new.trace, both.text])
    return hashlib.sha256(reported.encode()).hexdigest()


def digests() -> str:
    return " ".join(digest(name) for name in CASES)


@pytest.mark.parametrize("name", CASES)
def test_shown_under_the_old_rule_and_absent_under_the_new(name: str) -> None:
    case = played(name)
    assert case.old.shown, case.old.sentence
    assert not case.new.shown, case.new.sentence


@pytest.mark.parametrize("name", CASES)
def test_the_file_holds_the_outcome(name: str, regenerate: bool) -> None:
    case = played(name)
    if regenerate:
        (FOLDER / f"{name.replace('-', '_')}.txt").write_text(case.text)
    else:
        assert f"\n{DIVIDER} old\n" in case.case.text
        assert case.text == case.case.text


def test_there_is_a_case_for_every_file_and_a_file_for_every_case() -> None:
    files = [path.stem.replace("_", "-") for path in FOLDER.glob("*.txt")]
    assert sorted(files) == sorted(CASES)


@pytest.fixture(scope="module")
def original() -> str:
    return digests()


def test_twice_the_same_in_this_process(original: str) -> None:
    assert digests() == original


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_the_same_in_another_process_with_other_hashes(original: str, hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    reported = subprocess.run(
        [sys.executable, "-c", TELL], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert reported.stdout.strip() == original, reported.stderr


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_other_latencies_have_the_same_ending(name: str, seed: int) -> None:
    other = play_case(name, seed)
    assert (other.old.sentence, other.new.sentence) == (
        played(name).old.sentence,
        played(name).new.sentence,
    )


@pytest.mark.parametrize("name", TRUNCATION)
def test_today_s_rule_resolves_it_too_with_every_invariant_on(name: str) -> None:
    case = CASES[name]
    ending = play_side(case, "new", replace(case.script("new"), rule=DEFAULT_RULE))
    assert ending.world.invariants is not None
    assert not ending.shown, ending.sentence


@pytest.mark.parametrize("name", ["kip-101-2", "kip-360"])
def test_an_ending_can_be_rewound_and_played_again(name: str) -> None:
    world = played(name).old.world.fork()
    reported, last = world.trace_lines(), world.events
    world.back(last // 2)
    assert len(world.trace_lines()) < len(reported)
    world.goto(event=last)
    assert world.trace_lines() == reported


# -- what each case is about, seen apart from its judge


def values(ending: Ending, client: str) -> list[str]:
    polls = [op for op in ending.history.operations if isinstance(op, Poll) and op.client == client]
    return [read.value for poll in polls for read in poll.reads]


def logs(ending: Ending) -> dict[int, list[tuple[int, str]]]:
    """Epoch and value of each record, by broker."""
    partition = ending.world.snapshot(values=True, tail=100)["topics"]["orders"]["partitions"][0]
    return {
        broker: [(each["epoch"], value) for each in log["batches"] for value in each["values"]]
        for broker, log in partition["logs"].items()
    }


def test_offset_not_available() -> None:
    case = played("offset-not-available")
    assert "latest orders: offset 1" in case.old.answers
    between = [case.new.answers.index(f"latest orders: {reported}")
               for reported in ("offset 2", "OFFSET_NOT_AVAILABLE")]  # fmt: skip
    assert between[1] > between[0]
    # The common claim: a consumer that reads in the gap gets the error. It gets nothing.
    assert case.new.answers[between[1] + 1] == "poll c: nothing"
    assert not any(Errors.OFFSET_NOT_AVAILABLE.name in line for line in case.new.answers
                   if line.startswith("poll"))  # fmt: skip
    assert values(case.new, "c") == ["A", "B"]


def test_kip_101_scenario_1() -> None:
    case = played("kip-101-1")
    assert case.old.findings.kinds == {"lost": 1}
    assert case.old.findings.items[0].value == "B"
    assert not case.new.findings
    assert {tuple(log) for log in logs(case.old).values()} == {((0, "A"),)}
    assert {tuple(log) for log in logs(case.new).values()} == {((0, "A"), (0, "B"))}


def test_kip_101_scenario_2() -> None:
    case = played("kip-101-2")
    assert logs(case.old) == {101: [(0, "A"), (0, "B")], 102: [(0, "A"), (3, "C")]}
    assert case.old.world.partition("orders", 0).isr == (101, 102)
    assert logs(case.new) == {101: [(0, "A"), (3, "C")], 102: [(0, "A"), (3, "C")]}
    lost_power = [line for line in case.new.trace if "power-lost" in line]
    assert len(lost_power) == 2


def test_kip_279() -> None:
    case = played("kip-279")
    assert logs(case.old) == {
        101: [(0, "A"), (0, "B"), (0, "C")],
        102: [(0, "A"), (2, "X"), (2, "Y")],
    }
    assert case.old.world.partition("orders", 0).isr == (101, 102)
    assert logs(case.new)[102] == [(0, "A"), (0, "B"), (0, "C")]


def test_a_zombie_leader() -> None:
    case = played("kip-320-zombie")
    assert case.old.findings.kinds == {"skipped": 1}
    assert case.old.findings.items[0].value == "E"
    assert "and 1 more" in case.old.findings.items[0].sentence
    assert not case.new.findings
    assert "poll c: UNKNOWN_LEADER_EPOCH" in case.new.answers
    assert values(case.new, "c") == list("ABCDEFG")


def test_a_truncation_that_a_consumer_detects() -> None:
    case = played("kip-320-truncation")
    assert values(case.old, "c") == list("ABCDZ")
    assert values(case.new, "c") == list("ABCDXYZ")
    assert any("the log was cut at offset 2" in answer for answer in case.new.answers)


def test_the_last_replica_standing() -> None:
    case = played("kip-966")
    assert [each.value for each in case.old.findings.of("lost")] == ["A", "B", "C"]
    assert not case.new.findings
    assert "read orders: NOT_LEADER_OR_FOLLOWER" in case.new.answers
    assert case.new.answers[-1] == "read orders: A B C"


def test_a_forgotten_producer() -> None:
    case = played("kip-360")
    assert not case.old.findings
    old = case.old.world.client("p")
    assert [each.verdict for each in old.sends] == ["acknowledged", "refused", "acknowledged"]
    assert old.identity.identity == (1, 0), "another id, whose epochs begin at 0"
    assert values(case.old, "last-reader") == ["A", "C"]
    assert case.new.world.client("p").identity.identity[1] == 1
    assert values(case.new, "last-reader") == ["A", "B", "C"]


def test_the_window_of_five_batches() -> None:
    case = played("dedup-window")
    assert case.old.findings.kinds == {"duplicate": 6}
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER for sequence 1" in case.old.stories["p"]
    assert not case.new.findings
    assert case.new.answers[0].startswith("producer wants-six: INVALID_CONFIG")


def transactions(ending: Ending) -> list[str]:
    """What became of the id's transactions, in the coordinator's records."""
    trace = ending.world.cluster.trace
    states = [dict(line.fields)["state"] for _, _, line in trace if line.kind == "transaction"]
    return [state for state in states if state not in ("Empty", "PrepareAbort", "PrepareCommit")]


def test_a_late_end_of_a_transaction() -> None:
    case = played("kafka-17754")
    assert values(case.old, "d") == ["B"]
    assert values(case.old, "c") == [], "A was acknowledged, and its transaction committed"
    assert "commit p: done" in case.old.answers
    assert (values(case.new, "c"), values(case.new, "d")) == (["A"], ["B"])
    assert transactions(case.old) == ["Ongoing", "CompleteAbort"] * 2 + [
        "Ongoing",
        "CompleteCommit",
    ]
    assert transactions(case.new) == [
        "Ongoing",
        "CompleteAbort",
        *["Ongoing"] * 2,
        "CompleteCommit",
    ]
    assert not case.new.findings


def test_a_hanging_transaction() -> None:
    case = played("hanging-transaction")
    for ending in (case.old, case.new):
        leader = ending.world.replica(101, "orders", 0)
        assert (leader.log.producers.first_undecided_offset is None) == (ending.side == "new")
        state = ending.world.snapshot()["transactions"]["shop"]["state"]
        assert state in ("Empty", "CompleteAbort"), "its coordinator knows of none"
    assert (values(case.old, "c"), values(case.new, "c")) == (["A"], ["A", "B"])


def test_a_worker_that_hung() -> None:
    case = played("kip-447")
    assert values(case.old, "c") == ["A/p", "A/q"]
    assert values(case.new, "c") == ["A/q"]
    assert "offsets p: UNKNOWN_MEMBER_ID" in case.new.answers
    assert transactions(case.new).count("CompleteCommit") == 1
    assert not case.new.findings


def test_one_producer_for_each_partition_was_the_remedy() -> None:
    """Both workers have the partition's transactional.id: the second one fences the first."""
    case = CASES["kip-447"]
    text = case.text.partition(f"\n{DIVIDER}")[0].replace("worker-1", "orders-0")
    late = "producer q transactional.id=worker-2"
    (producer,) = [line for line in text.splitlines() if line.startswith(late)]
    moved = text.replace(f"{producer}\n", "").replace(
        "begin q\n", f"{producer.replace('worker-2', 'orders-0')}\nbegin q\n"
    )
    lines = [line.removeprefix("old: ") for line in moved.splitlines() if "new:" not in line]
    lines.remove("commit p")  # the client would not take the call
    ending = play_side(case, "old", parse("\n".join(lines)))
    assert not ending.shown, ending.sentence
    assert values(ending, "c") == ["A/q"]
    assert any(answer.startswith("offsets p: ") and "FENCED" in answer for answer in ending.answers)


def test_a_topic_made_again_under_its_name() -> None:
    case = played("stale-topic-id")
    assert values(case.old, "c") == ["A", "B", "X"]
    polls = [line for line in case.new.answers if line.startswith("poll")]
    # The claim that ids save the consumer: it gets an error, and passes V and W over all the same.
    assert polls == ["poll c: A B", "poll c: UNKNOWN_TOPIC_ID", "poll c: X"]
    assert logs(case.new)[103] == [(0, "V"), (0, "W"), (0, "X")]


def test_a_follower_that_was_away_does_not_keep_the_other_topic_s_records() -> None:
    case = CASES["stale-topic-id"]
    text = case.text.partition(f"\n{DIVIDER}")[0].replace("new: ", "")
    lines = [line for line in text.splitlines() if not line.startswith("old:")]
    at = lines.index("delete-topic orders")
    lines[at:at] = ["quiet", "kill 103", "until fenced 103"]
    ending = play_side(case, "new", parse("\n".join([*lines, "start 103", "quiet"])))
    assert logs(ending)[103] == [(0, "V"), (0, "W"), (0, "X")]
    assert ending.world.partition("orders", 0).isr == (101, 102, 103)


def test_the_judge_of_divergence_sees_through_equal_lengths() -> None:
    """Both logs end at 2 and both replicas are in sync: nothing but the records tells."""
    ends = {broker: len(log) for broker, log in logs(played("kip-101-2").old).items()}
    assert ends == {101: 2, 102: 2}
    assert CASES["kip-101-2"].judge is diverged


def test_a_rule_of_the_past_that_is_not_kept_is_named() -> None:
    with pytest.raises(ValueError, match="No rule before 'KIP-1' is kept; there are KIP-207"):
        World(before=("KIP-1",))


def test_today_s_cluster_is_none_of_the_past() -> None:
    """Without `before`, the four switches are off: the new side of each case, in one world."""
    world = World()
    assert world.image().features["eligible.leader.replicas.version"] == 1
    assert world.image().features["transaction.version"] == 2
    past = World(before=("KIP-966",))
    assert "eligible.leader.replicas.version" not in past.image().features
    assert past.image().features["transaction.version"] == 2
    assert "transaction.version" not in World(before=("KIP-890",)).image().features


def test_an_unknown_case_is_named() -> None:
    with pytest.raises(ValueError, match="There is no case 'kip-1'; there are offset-not"):
        play_case("kip-1")


WITH_OPTIONS = ("slow 101 102 ms=5000", "jump_clock 103 ms=9000", "flip_bit 102 topic=orders")


def test_a_fault_in_a_case_keeps_its_options() -> None:
    lines = ["create orders replicas=101,102,103", "produce orders A", "quiet", *WITH_OPTIONS]
    script = parse("\n".join([*lines, "heal", "set_clock 103"]))
    reported = " ".join(play_side(CASES["kip-101-1"], "new", script).world.trace_lines())
    for why in ("5000 ms between 101 and 102", "jumps by 9000 ms", "ends at 0; its checksum"):
        assert why in reported


def test_an_option_that_a_fault_does_not_have_is_named_with_its_line() -> None:
    with pytest.raises(ScriptError, match=r"line 2, slow: slow has no option 'count'"):
        play_side(CASES["kip-101-1"], "new", parse("quiet\nslow 101 102 count=2\n"))
