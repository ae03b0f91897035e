"""Parses the fleet's records: a record becomes an event with types, or has a reason why not.

Kafka hands over bytes.  Nothing here fails on bad ones: a record that breaks a rule gets a
`reason`, and goes to the dead letters with all of its bytes.  The rules are applied in this order:

    no value        the record is a tombstone
    not JSON        the text is no JSON object
    missing field   a required field is not in the object
    null field      it is there, and null
    wrong type      it is no number where one is required (nor is a number in quotes), or a time
                    that is not of this century

There are two parsers.  `FIRST` was written before the fleet's new firmware, and refuses a time that
is written as text.  `MENDED` reads both forms, and the new column `heading`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.fleet.records import (
    MISSING_FIELD,
    NOT_JSON,
    NULL_FIELD,
    NULL_VALUE,
    ORDERS,
    PAYMENTS,
    POSITIONS,
    WRONG_TYPE,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REQUIRED = {
    POSITIONS: ("event_id", "truck", "event_time", "speed_kmh"),
    ORDERS: ("event_id", "order_id", "truck", "event_time", "revision", "status"),
    PAYMENTS: ("event_id", "order_id", "event_time", "cents"),
}
NUMBERS = {POSITIONS: "speed_kmh", ORDERS: "revision", PAYMENTS: "cents"}
OPTIONAL = ("heading",)
TYPES = {"speed_kmh": "INT", "heading": "INT", "revision": "INT", "cents": "BIGINT"}
"""In JSON these are numbers without a fraction and without quotes.  All other fields are text."""
_EARLIEST_MS, _LATEST_MS = 946_684_800_000, 4_102_444_799_999
"""The years 2000 to 2099."""
TEXT_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX"
"""How a time is written as text.  Without a pattern Spark takes 12:30, too, and means today."""
PARSED = "parsed"
FIELDS = (*dict.fromkeys(name for names in REQUIRED.values() for name in names), *OPTIONAL)


@dataclass(frozen=True, slots=True)
class Parser:
    """What a version of the parser reads."""

    name: str
    text_times: bool
    """Reads an event_time such as "2026-03-02T08:00:00.123Z", too."""
    more: tuple[str, ...] = ()
    """Columns of positions that the version before does not have."""


FIRST = Parser("first", text_times=False)
MENDED = Parser("mended", text_times=True, more=OPTIONAL)
PARSERS = {parser.name: parser for parser in (FIRST, MENDED)}


def parsed(records: DataFrame, parser: Parser) -> DataFrame:
    """Adds a typed column for each field, and `reason`, which is null for an event.

    `records` has at least topic and value (BINARY).  How many are refused is observed as `PARSED`:
    for a query's progress, and as a border for the optimizer.  A filter by `reason` stays above
    it; below, it would parse a record's text again for each field that it asks for.
    """
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    schema = ", ".join(f"{name} {TYPES.get(name, 'STRING')}" for name in FIELDS)
    read = records.withColumn("text", F.from_json(text, schema)).withColumn(
        "keys", F.json_object_keys(text)
    )
    columns = {name: F.col(f"text.{name}") for name in FIELDS}
    typed = read.withColumns(columns | {"event_time": _time(parser)})
    judged = typed.withColumn("reason", _reason()).drop("text", "keys")
    return judged.observe(PARSED, F.count("reason").alias("refused"))


def events(of: DataFrame, topic: str, parser: Parser) -> DataFrame:
    """The rows of one topic that have no reason against them, with that topic's columns."""
    columns = REQUIRED[topic] + (parser.more if topic == POSITIONS else ())
    chosen = of.where(f"topic = '{topic}' AND reason IS NULL")
    return chosen.select(*columns, "partition", "offset")


def _time(parser: Parser) -> Column:
    from pyspark.sql import functions as F

    millis = "try_cast(text.event_time AS BIGINT)"
    if parser.text_times:
        words = f'unix_millis(try_to_timestamp(text.event_time, "{TEXT_TIME}"))'
        millis = f"coalesce({millis}, {words})"
    # Nanoseconds do not fit into a timestamp: the query would fail at that record, at each start.
    # A watermark follows a time of the year 9999, and drops all that comes after it.
    this_century = f"{millis} BETWEEN {_EARLIEST_MS} AND {_LATEST_MS}"
    return F.expr(f"CASE WHEN {this_century} THEN timestamp_millis({millis}) END")


def _reason() -> Column:
    """The first rule that the record breaks."""
    from pyspark.sql import functions as F

    def of_topic(rule: Callable[[str], str]) -> str:
        cases = " ".join(
            f"WHEN '{topic}' THEN " + " OR ".join(map(rule, names))
            for topic, names in REQUIRED.items()
        )
        return f"CASE topic {cases} END"

    def is_null(name: str) -> str:
        null = f"text.{name} IS NULL"
        if name not in TYPES:
            return null
        # A number of another type is null in the schema, and not in the text.
        return f"({null} AND get_json_object(CAST(value AS STRING), '$.{name}') IS NULL)"

    numbers = " ".join(f"WHEN '{topic}' THEN {name} IS NULL" for topic, name in NUMBERS.items())
    missing = of_topic(lambda name: f"NOT array_contains(keys, '{name}')")
    return F.expr(
        f"CASE WHEN value IS NULL THEN '{NULL_VALUE}' "
        f"WHEN keys IS NULL THEN '{NOT_JSON}' "
        f"WHEN {missing} THEN '{MISSING_FIELD}' "
        f"WHEN {of_topic(is_null)} THEN '{NULL_FIELD}' "
        f"WHEN event_time IS NULL OR CASE topic {numbers} END THEN '{WRONG_TYPE}' END"
    )
