"""The experiments of notebook 06 teach what they claim to teach."""

from __future__ import annotations

import pytest

from kit.drawings.sequence import SequenceDiagram
from kit.probes.one_partition import cluster
from kit.probes.virtual import readable, send
from lessons.nb06_replication import durability_runs, election_runs, isr_runs


def column(table, index: int) -> list[str]:
    return [row[index] for row in table.rows]


def test_the_diagram_has_the_walk_through_of_the_deck() -> None:
    world = cluster(minimum=2)
    diagram = SequenceDiagram(world, "orders")
    diagram.send("A", "B", "C")
    diagram.run(for_s=0.01)
    diagram.send("D", "E", "F", "G")
    diagram.run(for_s=0.6)
    says = [heard.says for heard in diagram.heard]
    assert says[0] == "produce A, B, C (acks=all)"
    assert says.count("fetch from 3") == 2
    assert says.count("HW 3, records 3–6") == 2
    asked = [place for place, each in enumerate(says) if each == "fetch from 3"]
    assert says.index("HW → 3") > asked[1], "the slowest in-sync follower decides"
    assert says.index("acknowledged, offset 0") > says.index("HW → 3")
    assert "101" in diagram._repr_html_()


def test_what_puts_a_replica_out_of_sync() -> None:
    table = isr_runs.ways_out_of_the_isr()
    assert [after == "never" for after in column(table, 1)] == [
        False,
        False,
        True,
        False,
        True,
        False,
    ]
    assert column(table, 3) == ["103", *["none"] * 5]


def test_a_longer_limit_flaps_less_and_waits_longer() -> None:
    short, long = isr_runs.isr_flapping().rows
    assert int(short[1]) > int(long[1]) == 0
    assert 10 < float(short[2].split()[0]) < 15
    assert float(short[2].split()[0]) < float(long[2].split()[0])


def test_replicas_minus_minimum_is_what_may_be_missing() -> None:
    for replicas, minimum, *told in durability_runs.what_survives().rows:
        spare = int(replicas) - int(minimum)
        assert [each == "written" for each in told] == [True, spare >= 1, spare >= 2], told


def test_an_unclean_election_costs_an_acknowledged_record() -> None:
    table = election_runs.unclean_election()
    rows = table.rows
    assert rows[0][-1] == "A B"
    assert rows[-2][1] == "none"
    assert (rows[-1][1], rows[-1][-1]) == ("103", "A")
    assert table.closing.startswith("lost: 'B' was acknowledged at offset 1 of orders-0")


def test_leaders_pile_up_and_go_home() -> None:
    rows = election_runs.leaders_after_a_rolling_restart().rows
    assert rows[0][1:] == rows[-1][1:] == ("2", "2", "2")
    assert rows[-2][1:] != ("2", "2", "2")


def test_the_controllers_check_comes_within_its_interval() -> None:
    automatic = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 5}
    what, *leads = election_runs.leaders_after_a_rolling_restart(**automatic).rows[-1]
    after_s = float(what.removeprefix("the controller's check, after ").removesuffix(" s"))
    assert 0 < after_s <= 5
    assert leads == ["2", "2", "2"]


def test_each_more_copy_multiplies_the_chances() -> None:
    series = durability_runs.chance_of_loss(chances=(0.01, 0.1)).series
    assert [points[0][1] for points in series.values()] == pytest.approx([1e-2, 1e-4, 1e-6])


def test_the_slowest_in_the_isr_counts_and_not_their_number() -> None:
    waits = {
        row[0]: [int(each.split()[0]) for each in row[1:]]
        for row in durability_runs.latency_with_a_slow_broker(writes=20).rows
    }
    assert max(waits["RF 3, without 103"]) < 20
    for factor in (2, 3, 5):
        answered, committed, read = waits[f"RF {factor}, with 103 as follower"]
        assert answered < 20 < 40 < committed < 200, "acks=1 does not wait for 103"
        assert 40 < read < 200, "a consumer waits for 103 under any acks"


def test_all_copies_at_once_are_too_much() -> None:
    rows = durability_runs.what_still_loses_records().rows
    found = [row[2] for row in rows]
    assert found == ["lost", "lost", "still there", "lost", "still there", "lost"]
    assert {row[3].partition(" of ")[0] for row in rows} == {"on 0"}, "an append flushes nothing"


def test_a_record_is_read_only_when_it_is_committed() -> None:
    world = cluster(minimum=2)
    world.cut(101, 102)
    world.cut(101, 103)
    assert send(world, "orders", "A", acks="1").error == "NONE"
    assert readable(world, "orders") == []
