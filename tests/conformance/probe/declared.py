"""The differences that are left, each with its reason.  The test holds this list exactly.

A declaration covers the differences of an API's cases at some places of the answers; `*` stands
for anything.  A difference that no declaration covers fails the test, and so does a declaration
that covers nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Declared:
    """What differs: in which cases, and where in the answer."""

    api: str
    cases: tuple[str, ...]
    places: tuple[str, ...]
    noted: str
    """The words on the fidelity page that say so."""

    def covers(self, api: str, case: str, place: str) -> bool:
        return (
            api == self.api
            and any(fnmatchcase(case, _literally(each)) for each in self.cases)
            and any(fnmatchcase(place, _literally(each)) for each in self.places)
        )


def _literally(pattern: str) -> str:
    """Square brackets are part of a place."""
    return pattern.replace("[", "[[]")


DECLARED: tuple[Declared, ...] = (
    # -- what the engine leaves out or does more simply: said in its docstrings, so on the page
    Declared("AlterClientQuotas", ("an address's",), ("*",), "ip entities"),
    Declared("DescribeConfigs", ("unknown client metrics",), ("*",), "client metrics"),
    Declared("IncrementalAlterConfigs", ("client metrics",), ("*",), "client metrics"),
    Declared(
        "IncrementalAlterConfigs",
        ("a broker's unknown key*", "all brokers' unknown key"),
        ("*",),
        "a name that Kafka does not have is refused",
    ),
    Declared(
        "IncrementalAlterConfigs",
        ("a listener's *", "another listener's *"),
        ("*",),
        "no overrides per listener",
    ),
    Declared(
        "IncrementalAlterConfigs",
        ("a broker's listeners",),
        ("*",),
        "changes of listeners are not checked",
    ),
    Declared(
        "DescribeQuorum",
        ("the quorum", "topics.partitions.partition_index: 0"),
        ("nodes[].listeners#", "*.replica_directory_id"),
        "brokers have no directory id; nor have voters that cannot change (kraft.version 0)",
    ),
    Declared("DescribeLogDirs", ("*",), ("*.total_bytes", "*.usable_bytes"), "volume sizes"),
    Declared("FindCoordinator", ("a share group",), ("*",), "share coordinators"),
    # -- where Kafka 4.3.1 slips, and we do not follow
    Declared(
        "AlterConfigs",
        ("a topic twice*",),
        ("",),
        "when every resource of a request is refused as given twice, Kafka never answers",
    ),
    Declared(
        "DescribeTopicPartitions",
        ("far behind the last, one row", "cursor.partition_index: 2147483647"),
        ("next_cursor",),
        "a cursor near the largest int",
    ),
    Declared(
        "DescribeTopicPartitions",
        ("no name",),
        ("*",),
        "a topic without a name is an unknown server error to Kafka",
    ),
    Declared("Produce", ("no records",), ("",), "Kafka 4.3.1 never answers them"),
    Declared(
        "Produce",
        ("magic 9",),
        ("*.error_message",),
        "The refusal of an unknown batch format has no text",
    ),
    Declared(
        "Fetch",
        ("session_id: 2147483647", "session_id: -2147483648"),
        ("error_code", "responses#", "session_id"),
        "a session id beyond Kafka's shards",
    ),
    Declared(
        "AddPartitionsToTxn",
        ("of no transaction",),
        ("",),
        "request about no transaction gets an empty answer; Kafka 4.3.1 never answers it",
    ),
    Declared(
        "WriteTxnMarkers",
        ("a partition twice",),
        ("",),
        "a marker that names a partition twice is written once and answered",
    ),
    Declared(
        "JoinGroup",
        ("with a protocol twice",),
        ("",),
        "Kafka never answers a member whose subscription it cannot read",
    ),
)
