"""`describe`: a topic as a table, in text and HTML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kit.panel.tables import describe
from tests.kit.panel.toy_cluster import ToyCluster, divergence


def test_one_number_where_replicas_agree_and_each_ones_where_they_do_not() -> None:
    (row,) = describe(divergence(), "orders").rows
    assert row["LEO"] == "101:5  102:3  103:3"
    cluster = ToyCluster()
    cluster.write("A", "B")
    (row,) = describe(cluster.snapshot(), "orders").rows
    assert (row["LEO"], row["HW"], row["ISR"]) == ("2", "2", "101 102 103")


def test_the_text_lines_up() -> None:
    assert describe(ToyCluster(2).snapshot(), "orders").text.splitlines() == [
        "orders  2 partitions · min.insync.replicas 2",
        "partition  leader  epoch  ISR          LEO  HW",
        "        0     101      0  101 102 103  0    0",
        "        1     102      0  101 102 103  0    0",
    ]


def test_trouble_is_named_once_for_all_its_partitions() -> None:
    cluster = ToyCluster(2)
    cluster.kill(102)
    cluster.kill(103)
    assert describe(cluster.snapshot(), "orders").troubles == (
        "Partitions 0 and 1: acks=all is refused, "
        "the ISR has 1 of the 2 replicas that min.insync.replicas asks for.",
    )
    cluster.kill(101)
    assert describe(cluster.snapshot(), "orders").troubles == (
        "Partitions 0 and 1: no leader: no reads and no writes.",
    )


def test_the_html_is_a_table_with_headed_rows_and_columns() -> None:
    html = describe(ToyCluster(2).snapshot(), "orders")._repr_html_()
    table = ET.fromstring(html[html.index("<table") :])
    assert [head.get("scope") for head in table.iter("th")] == ["col"] * 6 + ["row"] * 2


def test_a_topic_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(LookupError, match=r"There is no topic 'odrers'; there are: orders\."):
        describe(divergence(), "odrers")
