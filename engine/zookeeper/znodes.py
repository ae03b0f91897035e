"""The znodes that Kafka keeps, and what is in them: JSON, in Kafka's fields.

    /brokers/ids/101                            ephemeral: the broker's address; its czxid is the
                                                broker epoch
    /brokers/topics/orders                      topic id, replicas by partition
    /brokers/topics/orders/partitions/0/state   leader, leader epoch, ISR, controller epoch; its
                                                version is the partition epoch
    /controller                                 ephemeral: the id of the controller
    /controller_epoch                           how many controllers there have been
    /config/topics/orders                       the topic's own configs; brokers: /config/brokers
    /config/changes/config_change_0000000003    tells brokers which of them has changed
    /admin/delete_topics/orders                 this topic is to be deleted
    /latest_producer_id_block                   which producer ids are given out
    /cluster/id                                 made by the first broker

Source: kafka.zk.ZkData of Kafka 3.9.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.metadata.image import PartitionImage
from engine.wire import uuids

CONTROLLER, CONTROLLER_EPOCH = "/controller", "/controller_epoch"
BROKER_IDS, TOPICS = "/brokers/ids", "/brokers/topics"
DELETE_TOPICS = "/admin/delete_topics"
CONFIG_CHANGES = "/config/changes"
PRODUCER_IDS = "/latest_producer_id_block"
CLUSTER_ID = "/cluster/id"
PERSISTENT = (
    "/brokers", BROKER_IDS, TOPICS, "/config", "/config/topics", "/config/brokers", CONFIG_CHANGES,
    "/admin", DELETE_TOPICS, "/cluster",
)  # fmt: skip
"""Made by each broker that starts, unless they are there."""
PARENTS = {2: "/config/topics", 4: "/config/brokers"}
"""Of config znodes, by the type of the resource."""
ALL_BROKERS = "<default>"
"""The name of the config znode that concerns every broker."""


def broker(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, index: int) -> str:
    return f"{TOPICS}/{name}/partitions/{index}"


def state(name: str, index: int) -> str:
    return f"{TOPICS}/{name}/partitions/{index}/state"


def config(resource_type: int, name: str) -> str:
    return f"{PARENTS[resource_type]}/{name or ALL_BROKERS}"


# -- what is in them


def broker_data(host: str, port: int, rack: str | None) -> str:
    return _text({"version": 5, "host": host, "port": port, "rack": rack,
                  "endpoints": [f"PLAINTEXT://{host}:{port}"]})  # fmt: skip


def topic_data(topic_id: bytes, replicas: Mapping[int, tuple[int, ...]]) -> str:
    placed = {str(index): list(each) for index, each in replicas.items()}
    return _text({"version": 3, "topic_id": uuids.to_text(topic_id), "partitions": placed})


def topic_of(data: str) -> tuple[bytes, dict[int, tuple[int, ...]]]:
    """Topic id, and replicas by partition."""
    found = json.loads(data)
    placed = {int(index): tuple(each) for index, each in found["partitions"].items()}
    return uuids.from_text(found["topic_id"]), placed


def state_data(image: PartitionImage, controller_epoch: int) -> str:
    return _text({
        "controller_epoch": controller_epoch, "leader": image.leader, "version": 1,
        "leader_epoch": image.leader_epoch, "isr": list(image.isr),
        "leader_recovery_state": image.leader_recovery_state,
    })  # fmt: skip


def state_of(data: str, version: int, replicas: tuple[int, ...]) -> tuple[PartitionImage, int]:
    """The partition, and the epoch of the controller that wrote it."""
    found = json.loads(data)
    image = PartitionImage(
        replicas=replicas,
        isr=tuple(found["isr"]),
        leader=found["leader"],
        leader_epoch=found["leader_epoch"],
        partition_epoch=version,
        leader_recovery_state=found["leader_recovery_state"],
    )
    return image, found["controller_epoch"]


def controller_data(broker_id: int) -> str:
    return _text({"version": 2, "brokerid": broker_id})


def controller_of(data: str) -> int:
    broker_id: int = json.loads(data)["brokerid"]
    return broker_id


def config_data(configs: Mapping[str, str]) -> str:
    return _text({"version": 1, "config": dict(configs)})


def change_data(resource_type: int, name: str) -> str:
    return _text(
        {"version": 2, "entity_path": config(resource_type, name).removeprefix("/config/")}
    )


def fields(data: str) -> Any:
    """What a znode without more structure holds."""
    return json.loads(data)


def fields_data(**values: object) -> str:
    return _text({"version": 1, **values})


def _text(values: Mapping[str, object]) -> str:
    return json.dumps(values, separators=(",", ":"))
