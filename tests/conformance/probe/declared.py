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
    noted: str = ""
    """The words on the fidelity page that say so."""
    pending: str = ""
    """What has to be mended; then the declaration goes."""

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
        "one voter, without an address; directory ids are zero",
    ),
    Declared("DescribeLogDirs", ("*",), ("*.total_bytes", "*.usable_bytes"), "volume sizes"),
    Declared("FindCoordinator", ("a transaction*",), ("*",), "transaction coordinators"),
    Declared("FindCoordinator", ("a share group",), ("*",), "share coordinators"),
    Declared(
        "InitProducerId",
        ("a transactional name*", "transactional_id: *"),
        ("*",),
        "transactional ids",
    ),
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
    # -- of the produce path: to be mended there
    Declared("Produce", ("no records",), ("",), pending="Kafka never answers null records"),
    Declared(
        "Produce",
        ("to no partition", "a partition twice", "topic_data*: twice", "*partition_data: empty"),
        ("responses*",),
        pending="Kafka merges rows of one partition and leaves out a topic without any",
    ),
    Declared(
        "Produce",
        ("magic 9", "a batch cut off"),
        ("*.error_code",),
        pending="CORRUPT_MESSAGE for an unknown magic, INVALID_RECORD for a batch cut off",
    ),
    Declared(
        "Produce",
        ("topic_data.name: empty",),
        ("*.error_code",),
        pending="an empty name before v13 is UNKNOWN_TOPIC_OR_PARTITION",
    ),
    Declared(
        "Produce",
        ("*",),
        ("*.error_message", "*.log_start_offset", "*.record_errors#"),
        pending="defects 3 and 11: texts, log start and record errors",
    ),
    Declared(
        "Fetch",
        ("isolation 2", "isolation_level: *"),
        ("error_code", "responses*"),
        pending="an unknown isolation level is UNKNOWN_SERVER_ERROR for all",
    ),
    Declared(
        "Fetch",
        ("*less than no bytes*", "*max_bytes: -*"),
        ("responses*",),
        pending="a negative max_bytes is UNKNOWN_SERVER_ERROR for each partition",
    ),
    Declared(
        "Fetch",
        ("no bytes", "max_bytes: 0"),
        ("*.records",),
        pending="max_bytes 0 still gives a first batch",
    ),
    Declared(
        "Fetch",
        ("session_id: *",),
        ("error_code", "responses#", "session_id"),
        pending="a full fetch that names a session",
    ),
    Declared("Fetch", ("*",), ("*.aborted_transactions",), pending="[] beside an error, not null"),
    Declared(
        "Fetch",
        ("replica_id: *", "topics.topic: empty"),
        ("*.error_code",),
        pending="followers that there are not; an empty name before v13",
    ),
    Declared(
        "ListOffsets",
        ("a partition twice", "topics*: twice", "*partitions: empty"),
        ("topics*",),
        pending="a partition twice is INVALID_REQUEST, in one row; a topic without any is left out",
    ),
    Declared(
        "ListOffsets",
        ("isolation 2", "isolation_level: *"),
        ("*.error_code", "*.leader_epoch", "*.offset"),
        pending="an unknown isolation level is UNKNOWN_SERVER_ERROR",
    ),
    *(
        Declared(
            api,
            ("*current_leader_epoch: -2*",),
            ("*",),
            pending="an epoch below -1 is FENCED_LEADER_EPOCH",
        )
        for api in ("ListOffsets", "OffsetForLeaderEpoch")
    ),
    Declared(
        "InitProducerId",
        ("an id without*", "an epoch without*", "producer_id: *", "producer_epoch: *"),
        ("*",),
        pending="an id without an epoch, or the reverse, is INVALID_REQUEST",
    ),
    # -- of the groups: to be mended there
    Declared(
        "JoinGroup",
        ("with a protocol twice",),
        ("",),
        pending="Kafka never answers a member whose subscription it cannot read",
    ),
    Declared(
        "OffsetCommit",
        ("no partition", "topics.partitions: empty"),
        ("topics#",),
        pending="a topic without partitions is left out",
    ),
    Declared(
        "OffsetFetch",
        ("*topics: twice",),
        ("*topics#", "*partitions#"),
        pending="a topic asked for twice is answered twice",
    ),
    Declared(
        "OffsetFetch",
        ("topics.name: empty",),
        ("*.error_code",),
        pending="an empty name before v10 is no id",
    ),
)
