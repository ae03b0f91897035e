"""A topic as text and as HTML."""

from kit.clusters.description import Description

TOPIC = {
    "partitions": {
        0: {
            "leader": 101,
            "leader_epoch": 4,
            "isr": [101, 102],
            "elr": [103],
            "logs": {
                101: {"log_end_offset": 12, "high_watermark": 9, "role": "leader"},
                103: {"role": "offline"},
            },
        },
        1: {"leader": -1, "leader_epoch": 0, "isr": [], "elr": [], "logs": {}},
    }
}


def test_each_replica_has_a_row_and_the_partition_stands_in_its_first() -> None:
    text = Description("engine", "orders", TOPIC).text
    assert text.splitlines() == [
        "orders on engine",
        "partition  leader  epoch  ISR      ELR  replica  log end  HW  role",
        "0          101     4      101 102  103  101      12       9   leader",
        "                                        103      ?        ?   offline",
    ]


def test_html_escapes_what_it_shows() -> None:
    assert "<b>" not in Description("engine", "<b>", TOPIC)._repr_html_()
