"""Metadata (key 3): which brokers there are, and who leads what.

Every client asks this before it can send anything, and again after any NOT_LEADER_OR_FOLLOWER.
The answer is this broker's image of the metadata log, which may lag behind: a client that gets
an old answer is refused by the old leader and asks again.

Topics are asked for by name, from version 12 also by id; null means all.  A name that does not
exist is created if both the client and `auto.create.topics.enable` allow it, with the defaults
of this broker; the client gets UNKNOWN_TOPIC_OR_PARTITION and asks again.  "The controller"
is, since KRaft, any live broker: clients use it to send admin requests to, and brokers forward.
Kafka picks one at random; here a broker names itself, unless it is fenced.

Left out: authorisation; listeners other than one; REBOOTSTRAP_REQUIRED.
Versions: 0 leaves out replicas on dead brokers and says REPLICA_NOT_AVAILABLE, and takes an
empty list for all; 5+ offline replicas; 7+ leader epochs; 8-10 cluster, 8+ topic operations;
10+ topic ids; 13 an error of its own.
"""

from __future__ import annotations

from engine.api.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from engine.broker.broker import AutoCreation, Broker
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, creation_request
from engine.events import Request
from engine.metadata.image import MetadataImage, PartitionImage, TopicImage
from engine.metadata.topic_names import INTERNAL, problem_with
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.uuids import ZERO

NO_CONTROLLER = NO_LEADER = -1
CREATE_TIMEOUT_MS = 30_000
Topic = m.MetadataResponse.MetadataResponseTopic
Partition = m.MetadataResponse.MetadataResponsePartition


def handle(broker: Broker, now: int, request: Request[m.MetadataRequest]) -> None:
    body, version, image = request.body, request.version, broker.metadata
    _check(body, version)
    alive = live_brokers(image)
    answer = m.MetadataResponse(
        brokers=[
            m.MetadataResponse.MetadataResponseBroker(
                node_id=each.id, host=each.host, port=each.port, rack=each.rack
            )
            for each in (image.brokers[broker_id] for broker_id in sorted(alive))
        ],
        cluster_id=broker.lifecycle.cluster_id,
        controller_id=controller_id(broker, alive),
    )
    if body.topics is None or (version == 0 and not body.topics):
        known = [image.topics[image.topic_ids[name]] for name in sorted(image.topic_ids)]
        missing: list[str] = []
    else:
        known, missing = _find(image, body.topics, answer)
    answer.topics += [_topic(each, alive, version) for each in known]
    _answer_missing(broker, body.allow_auto_topic_creation, missing, answer)
    if body.include_topic_authorized_operations:
        for topic in answer.topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    if body.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = CLUSTER_OPERATIONS
    broker.outbox.reply(request, answer)


def refuse(
    request: Request[m.MetadataRequest], code: Errors, message: str | None
) -> m.MetadataResponse:
    return m.MetadataResponse(
        error_code=code,
        topics=[
            Topic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.body.topics or ()
        ],
    )


def live_brokers(image: MetadataImage) -> frozenset[int]:
    """The brokers that are not fenced."""
    return frozenset(each.id for each in image.brokers.values() if not each.fenced)


def controller_id(broker: Broker, alive: frozenset[int]) -> int:
    """A live broker to send admin requests to; -1 if there is none.

    With ZooKeeper it is the controller, whose orders this broker obeys.
    """
    if broker.plane is not None:
        return broker.controller.id if broker.controller.id in alive else NO_CONTROLLER
    if broker.node_id in alive:
        return broker.node_id
    return min(alive, default=NO_CONTROLLER)


def _check(body: m.MetadataRequest, version: int) -> None:
    for topic in body.topics or ():
        if version < 12 and (topic.name is None or topic.topic_id != ZERO):
            raise KafkaError(Errors.INVALID_REQUEST, "Before version 12, topics have names only.")
        if topic.name is None and topic.topic_id == ZERO:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)  # Kafka's own slip


def _find(
    image: MetadataImage,
    asked: list[m.MetadataRequest.MetadataRequestTopic],
    answer: m.MetadataResponse,
) -> tuple[list[TopicImage], list[str]]:
    """The topics that exist, and the names of those that do not, each once.

    As in Kafka, one id in a request makes it a request by ids: names are then not looked at.
    """
    ids = [topic.topic_id for topic in asked if topic.topic_id != ZERO]
    if ids:
        for topic_id in dict.fromkeys(ids):
            if topic_id not in image.topics:
                answer.topics.append(
                    Topic(error_code=Errors.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
                )
        return [image.topics[each] for each in dict.fromkeys(ids) if each in image.topics], []
    names = dict.fromkeys(topic.name for topic in asked if topic.name is not None)
    known = [image.topics[image.topic_ids[name]] for name in names if name in image.topic_ids]
    return known, [name for name in names if name not in image.topic_ids]


def _topic(topic: TopicImage, alive: frozenset[int], version: int) -> Topic:
    make = _partition_v0 if version == 0 else _partition
    return Topic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL,
        partitions=[make(index, each, alive) for index, each in topic.partitions.items()],
    )


def _partition(index: int, image: PartitionImage, alive: frozenset[int]) -> Partition:
    """One of perhaps thousands: positional, and lists are made only where they are not empty."""
    replicas = image.replicas
    offline = [] if alive.issuperset(replicas) else [r for r in replicas if r not in alive]
    error = Errors.NONE if image.leader != NO_LEADER else Errors.LEADER_NOT_AVAILABLE
    return Partition(error, index, image.leader, image.leader_epoch, replicas, image.isr, offline)


def _partition_v0(index: int, image: PartitionImage, alive: frozenset[int]) -> Partition:
    partition = _partition(index, image, alive)
    partition.replica_nodes = [r for r in image.replicas if r in alive]
    partition.isr_nodes = [r for r in image.isr if r in alive]
    complete = len(partition.replica_nodes) == len(image.replicas)
    if not partition.error_code and not complete:
        partition.error_code = Errors.REPLICA_NOT_AVAILABLE
    return partition


def _answer_missing(
    broker: Broker, allowed: bool, names: list[str], answer: m.MetadataResponse
) -> None:
    """An error for each topic that does not exist; asks the controller to create it if allowed."""
    for name in names:
        illegal = problem_with(name) is not None
        error = Errors.INVALID_TOPIC_EXCEPTION if illegal else Errors.UNKNOWN_TOPIC_OR_PARTITION
        answer.topics.append(Topic(error_code=error, name=name, is_internal=name in INTERNAL))
        if allowed and not illegal and broker.settings["auto.create.topics.enable"]:
            broker.outbox.send(broker.controller.id, AutoCreation(name), _creation(broker, name))


def _creation(broker: Broker, name: str) -> m.CreateTopicsRequest:
    if name == OFFSETS_TOPIC:
        return creation_request(broker.settings)
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=broker.settings["num.partitions"],
        replication_factor=broker.settings["default.replication.factor"],
    )
    return m.CreateTopicsRequest(topics=[topic], timeout_ms=CREATE_TIMEOUT_MS)
