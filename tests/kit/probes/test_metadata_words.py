"""Records of the metadata log in words: of a world's own log, and each kind by hand."""

from __future__ import annotations

import pytest

from engine.metadata.records import LeaderChange, MetadataRecord
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire import schema, uuids
from kit.probes.metadata_words import KINDS, MetadataWords

ORDERS = b"o" * 16


def test_a_worlds_log_is_said_record_by_record() -> None:
    world = World(seed=140, controllers=3, rewindable=False)
    world.create_topic("orders", assignment={0: [102, 103, 101]}, config={"retention.ms": 9})
    world.run(for_s=1)
    world.kill(102)
    world.run(until=lambda w: w.leader("orders", 0) == 103, for_s=20)
    controller = world.cluster.controller
    assert controller is not None
    words = MetadataWords()
    said = [words.say(each).full for _, each in controller.log.records(0, 99)]
    assert said == [
        "leader change: 200, epoch 1",
        "metadata.version is 30",
        "eligible.leader.replicas.version is 1",
        "group.version is 1",
        "transaction.version is 2",
        "every broker: min.insync.replicas = 1",
        "broker 102 registers, fenced",
        "broker 101 registers, fenced",
        "broker 103 registers, fenced",
        "broker 102 unfenced",
        "broker 101 unfenced",
        "broker 103 unfenced",
        "topic orders created",
        "topic orders: retention.ms = 9",
        "partition orders-0: leader 102, ISR 102 103 101",
        "partition orders-0: leader 103, ISR 103 101",
        "broker 102 fenced",
    ]


@pytest.mark.parametrize(
    ("record", "kind", "brief", "full"),
    [
        (LeaderChange(200, 3), "leader", "200", "leader change: 200, epoch 3"),
        (m.PartitionChangeRecord(0, ORDERS, isr=[], leader=-1, eligible_leader_replicas=[103]),
         "partition", "orders-0", "partition orders-0: no leader, ISR none, ELR 103"),
        (m.PartitionChangeRecord(0, b"x" * 16, isr=[101]),
         "partition", f"{uuids.to_text(b'x' * 16)}-0",
         f"partition {uuids.to_text(b'x' * 16)}-0: ISR 101"),
        (m.PartitionRecord(1, ORDERS, [101, 102], [101], leader=101),
         "partition", "orders-1", "partition orders-1: leader 101, ISR 101, replicas 101 102"),
        (m.RemoveTopicRecord(ORDERS), "topic", "− orders", "topic orders deleted"),
        (m.BrokerRegistrationChangeRecord(101, 5, in_controlled_shutdown=1),
         "fence", "101", "broker 101 shuts down"),
        (m.BrokerRegistrationChangeRecord(101, 5, fenced=-1),
         "broker", "101", "broker 101 unfenced"),
        (m.FenceBrokerRecord(101, 5), "fence", "101", "broker 101 fenced"),
        (m.RegisterBrokerRecord(101, rack="a"), "broker", "101",
         "broker 101 registers, fenced, rack a"),
        (m.RegisterControllerRecord(200), "broker", "200", "controller 200 registers"),
        (m.ConfigRecord(2, "orders", "retention.ms", None),
         "config", "retention.ms", "topic orders: retention.ms = the default again"),
        (m.ProducerIdsRecord(102, 7, 2000), "ids", "< 2000",
         "producer ids below 2000 given out, the last of them to broker 102"),
        (m.ClientQuotaRecord([m.ClientQuotaRecord.EntityData("user", None)],
                             "producer_byte_rate", 1024.0),
         "quota", "producer_byte_rate", "quota of user (default): producer_byte_rate = 1024"),
        (m.VotersRecord(0, [m.VotersRecord.Voter(100), m.VotersRecord.Voter(200)]),
         "leader", "100 200", "voters 100 200"),
        (m.AccessControlEntryRecord(b"a" * 16, 2, "payroll", 3, "User:alice", "*", 3, 3),
         "other", "ACL", "ACL: allow READ of topic payroll to User:alice"),
        (m.AccessControlEntryRecord(b"a" * 16, 3, "billing", 3, "User:bob", "10.0.0.7", 2, 2),
         "other", "ACL", "ACL: deny ALL of group billing to User:bob at 10.0.0.7"),
        (m.RemoveAccessControlEntryRecord(b"a" * 16), "other", "− ACL", "ACL removed"),
        (m.NoOpRecord(), "quiet", "", "nothing new (NoOp)"),
        (m.SnapshotHeaderRecord(), "other", "Snapshot", "Snapshot header"),
    ],
)  # fmt: skip
def test_each_kind_of_record(record: MetadataRecord, kind: str, brief: str, full: str) -> None:
    said = MetadataWords({ORDERS: "orders"}).say(record)
    assert (said.kind, said.brief, said.full) == (kind, brief, full)


def test_every_record_that_there_is_has_words_of_a_known_kind() -> None:
    for name in schema.load_file("metadata_records"):
        said = MetadataWords().say(getattr(m, name)())
        assert said.kind in KINDS
        assert said.full
