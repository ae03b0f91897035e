"""`kafkalab explore`: a verdict and how it came about, or the table of the whole ladder."""

from __future__ import annotations

from engine.sim.model.rules import RUNGS
from kit import cli
from kit.cli import explorations


def test_a_violation_is_shown_step_by_step(capsys) -> None:
    assert cli.main(["explore", "--rule", "kip-101", "--replicas", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("kip-101: it asks the leader where its last epoch ends")
    assert "violated in 11 steps" in out[1]
    assert "states a second" in out[1]
    assert out[2] == "   1  the controller gives epoch 0 to 101; ISR 101 102"
    assert len(out) == 2 + 11 + 1
    assert out[-1].startswith("Broken: 101 leads epoch 0 with high watermark 1")


def test_a_rule_that_holds_says_how_much_was_searched(capsys) -> None:
    assert cli.main(["explore", "--rule", "kip-279", "--replicas", "2"]) == 0
    assert "holds. 6,218 states" in capsys.readouterr().out


def test_the_table_has_a_row_for_each_rung() -> None:
    table = explorations.ladder_table(replicas=(2,))
    assert [row[0] for row in table.rows] == list(RUNGS)
    assert [row[2].split(",")[0] for row in table.rows] == [
        "violated in 9 steps", "violated in 11 steps", "holds", "holds", "holds",
    ]  # fmt: skip


def test_a_wrong_choice_is_one_sentence_that_names_the_right_ones(capsys) -> None:
    assert cli.main(["explore", "--rule", "kip-1"]) == 1
    assert "choose from to-high-watermark, kip-101" in capsys.readouterr().err
    assert cli.main(["explore", "--replicas", "9"]) == 1
    assert "takes 2 to 4 replicas, not 9" in capsys.readouterr().err


def test_a_replay_breaks_the_rule_with_real_brokers_and_not_the_next(capsys) -> None:
    assert cli.main(["explore", "--rule", "kip-279", "--replay"]) == 0
    out = capsys.readouterr().out
    broken, mended = out.split("kip-320-first-try, in the brokers' code")
    assert broken.startswith("kip-279, in the brokers' code")
    assert "strong ISR: orders-0" in broken
    assert mended.rstrip().endswith("every invariant holds")
    assert cli.main(["explore", "--replay"]) == 1
    assert "'kip-320' has no counter-example" in capsys.readouterr().err


def test_the_other_ladder_tells_how_a_vote_is_given_twice(capsys) -> None:
    assert cli.main(["explore", "--consensus", "--rule", "vote-in-memory"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "vote-in-memory: a vote is answered before it is written."
    assert out[1].startswith("Three voters: broken in 7 steps: two leaders. ")
    assert out[2] == "   1  100 stands for election in epoch 1"
    assert len(out) == 2 + 7


def test_the_other_ladder_is_replayed_with_real_controllers(capsys) -> None:
    assert cli.main(["explore", "--consensus", "--rule", "vote-in-memory", "--replay"]) == 0
    broken, kept = capsys.readouterr().out.split("kraft, in the controllers' code")
    assert "one leader: epoch 2 has " in broken
    assert kept.rstrip().endswith("every invariant holds")


def test_a_rule_that_is_not_on_the_other_ladder_is_refused_with_those_that_are(capsys) -> None:
    assert cli.main(["explore", "--consensus", "--rule", "kip-101"]) == 1
    assert "choose no-epochs, any-log" in capsys.readouterr().err
