"""Kafka's dump-log tool reads our metadata log, and Kafka's own rules agree with ours."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.control.controller import SessionTimer
from engine.control.partition_changes import Election, Rules, change_partition
from engine.events import Expired
from engine.metadata.image import PartitionImage
from engine.wire import messages as m
from engine.wire import uuids
from kit import jars
from tests.conformance.controller_session import NOW, Session, create

pytestmark = pytest.mark.real

CASES = 20_000


def java(*arguments: str, text: str = "") -> str:
    """What a Java program with Kafka on its class path prints."""
    try:
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-cp", jars.classpath(), *arguments]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- the log


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A little history, as Kafka's tool prints it."""
    directory = tmp_path_factory.mktemp("controller")
    session = Session(directory)
    session.join(101, "north")
    session.join(102, "south")
    session.ask(create("orders"))
    late = NOW + 10_000_000
    session.take(session.controller.step(late, Expired(SessionTimer(101))))
    session.take(session.controller.step(late, Expired(SessionTimer(102))))
    session.ask(m.DeleteTopicsRequest(topic_names=["orders"], timeout_ms=5_000))
    session.controller.close()

    log = next((directory / "__cluster_metadata-0").glob("*.log"))
    output = java(
        *("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder"),
        *("--deep-iteration", "--files", str(log)),
    )
    assert "isvalid: true" in output
    assert "isvalid: false" not in output
    assert 'LeaderChange: {"version":0,"leaderId":100' in output
    return [json.loads(payload) for payload in re.findall(r" payload: (\{.*\})", output)]


def test_dump_log_names_every_record_and_version(dumped: list[dict[str, Any]]) -> None:
    assert [(each["type"], each["version"]) for each in dumped] == [
        ("FEATURE_LEVEL_RECORD", 0),
        ("FEATURE_LEVEL_RECORD", 0),
        ("FEATURE_LEVEL_RECORD", 0),
        ("FEATURE_LEVEL_RECORD", 0),
        ("CONFIG_RECORD", 0),
        ("REGISTER_BROKER_RECORD", 4),
        ("BROKER_REGISTRATION_CHANGE_RECORD", 0),
        ("REGISTER_BROKER_RECORD", 4),
        ("BROKER_REGISTRATION_CHANGE_RECORD", 0),
        ("TOPIC_RECORD", 0),
        ("CONFIG_RECORD", 0),
        ("PARTITION_RECORD", 2),
        ("PARTITION_CHANGE_RECORD", 2),
        ("BROKER_REGISTRATION_CHANGE_RECORD", 0),
        ("PARTITION_CHANGE_RECORD", 2),
        ("BROKER_REGISTRATION_CHANGE_RECORD", 0),
        ("REMOVE_TOPIC_RECORD", 0),
    ]


def test_dump_log_prints_what_was_meant(dumped: list[dict[str, Any]]) -> None:
    def data(record_type: str) -> list[dict[str, Any]]:
        return [each["data"] for each in dumped if each["type"] == record_type]

    north, south = data("REGISTER_BROKER_RECORD")
    assert (north["brokerId"], north["rack"], north["fenced"]) == (101, "north", True)
    assert north["brokerEpoch"] < south["brokerEpoch"]
    assert north["endPoints"][0]["port"] == 9092
    (partition,) = data("PARTITION_RECORD")
    assert (partition["replicas"], partition["isr"]) == ([101, 102], [101, 102])
    assert (partition["leader"], partition["leaderEpoch"]) == (101, 0)
    directories = [uuids.from_text(each) for each in partition["directories"]]
    assert directories == [bytes(14) + bytes([1, broker]) for broker in (101, 102)]
    moved, leaderless = data("PARTITION_CHANGE_RECORD")
    assert (moved["leader"], moved["isr"]) == (102, [102])
    assert moved["eligibleLeaderReplicas"] == [101]
    assert (leaderless["leader"], leaderless["isr"]) == (-1, [])
    assert leaderless["eligibleLeaderReplicas"] == [101, 102]
    assert leaderless["lastKnownElr"] == [102]
    assert data("CONFIG_RECORD")[0] == {
        "resourceType": 4,
        "resourceName": "",
        "name": "min.insync.replicas",
        "value": "1",
    }


def test_dump_log_reads_a_snapshot(tmp_path: Path) -> None:
    """The same records as the image; header and footer are where Kafka has them."""
    session = Session(tmp_path, {"metadata.log.max.record.bytes.between.snapshots": 1})
    session.join(101, "north")
    session.join(102, "south")
    session.ask(create("orders"))
    session.controller.close()
    newest = max((tmp_path / "__cluster_metadata-0").glob("*.checkpoint"))
    output = java(
        *("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder"),
        *("--deep-iteration", "--files", str(newest)),
    )
    assert "isvalid: true" in output
    assert "isvalid: false" not in output
    assert 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":' in output
    assert 'SnapshotFooter {"version":0}' in output
    found = [json.loads(payload) for payload in re.findall(r" payload: (\{.*\})", output)]
    assert [each["type"] for each in found] == [
        *["FEATURE_LEVEL_RECORD"] * 4,
        *["REGISTER_BROKER_RECORD"] * 2,
        *("TOPIC_RECORD", "PARTITION_RECORD", "CONFIG_RECORD", "CONFIG_RECORD"),
    ]
    assert found[-3]["data"]["isr"] == [101, 102]


# -- the rules


def text(numbers: tuple[int, ...] | None) -> str:
    if numbers is None:
        return "~"
    return ",".join(map(str, numbers)) or "-"


def random_case(chance: Random) -> tuple[PartitionImage, Rules, dict[str, Any], str]:
    """A partition, what decides, what is proposed, and all of it as Kafka's side reads it."""

    def some(of: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(chance.sample(of, chance.randint(0, len(of))))

    replicas = tuple(chance.sample(range(1, 6), chance.randint(1, 4)))
    elr_enabled = chance.random() < 0.8
    isr = some(replicas)
    others = tuple(each for each in replicas if each not in isr)
    elr = tuple(sorted(some(others))) if elr_enabled else ()
    last_known = some(replicas)[:1] if elr_enabled else ()
    leader = chance.choice((*isr, -1))
    partition = PartitionImage(
        replicas, isr, elr, last_known, leader, chance.randint(0, 9), chance.randint(0, 9),
        chance.randint(0, 1),
    )  # fmt: skip
    usable = some(replicas)
    minimum = chance.randint(1, len(replicas))
    wanted: dict[str, Any] = {"election": chance.choice(list(Election))}
    if chance.random() < 0.7:
        wanted["isr"] = some(replicas)
    if chance.random() < 0.3:
        wanted["unclean_restart"] = chance.choice(replicas)
    if leader >= 0 and chance.random() < 0.3:
        # Only a live leader reports this, with an ISR that it is in.
        wanted["recovery_state"] = chance.randint(0, 1)
        wanted["isr"] = (leader, *some(tuple(each for each in replicas if each != leader)))
        usable = (*usable, leader)
    restart = wanted.get("unclean_restart")
    words = [
        *map(text, (replicas, isr, elr, last_known)),
        *(leader, partition.leader_epoch, partition.partition_epoch),
        *(partition.leader_recovery_state, text(usable), minimum, str(elr_enabled).lower()),
        *(text(wanted.get("isr")), "~" if restart is None else restart),
        *(wanted["election"].name, wanted.get("recovery_state", "~")),
    ]
    rules = Rules(usable.__contains__, minimum, elr_enabled)
    return partition, rules, wanted, " ".join(map(str, words))


def outcome(partition: PartitionImage, rules: Rules, wanted: dict[str, Any]) -> str:
    change = change_partition(partition, b"t" * 16, 0, rules, **wanted)
    if change is None:
        return "none"
    after = change.after
    words = [
        *map(text, (after.isr, after.elr, after.last_known_elr)),
        *(after.leader, after.leader_epoch, after.partition_epoch, after.leader_recovery_state),
    ]
    return " ".join(map(str, words))


def test_kafkas_rules_and_ours_agree_on_any_partition() -> None:
    chance = Random(966)
    cases = [random_case(chance) for _ in range(CASES)]
    source = Path(__file__).with_name("KafkaElections.java")
    answers = java(str(source), text="".join(case[3] + "\n" for case in cases)).splitlines()
    assert len(answers) == len(cases)
    assert answers.count("none") < CASES / 2
    for (partition, rules, wanted, line), kafka in zip(cases, answers, strict=True):
        assert outcome(partition, rules, wanted) == kafka, line
