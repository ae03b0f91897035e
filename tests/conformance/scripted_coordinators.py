"""Two brokers that answer a transactional producer from a script, and note all that it asks.

Both lead nothing but `orders`, which 101 leads; either can be a coordinator.  The script has a list
of actions for each API, one for each of its requests; after the end of a list all is well.

    ok                    the work is done
    drop                  the work is done, and then the connection ends: the answer is lost
    move                  NOT_COORDINATOR, and from here on the other broker is the coordinator
    any name of an error  that error

`version` is the finalised transaction.version.  In protocol 2, EndTxn answers with the next epoch.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from engine.records import batch
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.probes.scripted_broker import TOPIC, TOPIC_ID

BROKERS = (101, 102)
PRODUCER_ID = 4001
PARTITIONS = 2
PATIENCE_S = 30.0
SPOKEN = ("Produce", "Metadata", "FindCoordinator", "ApiVersions", "InitProducerId",
          "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit")  # fmt: skip
END_TXN_2 = 5
"""The first version of EndTxn that belongs to protocol 2."""


class ScriptedCoordinators:
    """`seen` has a line for each request, without Metadata and ApiVersions; `addresses` are the
    brokers' own, by id."""

    def __init__(self, script: Mapping[str, tuple[str, ...]], version: int) -> None:
        self.script = {api: list(actions) for api, actions in script.items()}
        self.version = version
        self.coordinator = BROKERS[0]
        self.epoch = -1
        self.ends = [0] * PARTITIONS
        self.seen: list[str] = []
        self.changed = threading.Condition()
        self.listeners = {broker: socket.create_server(("127.0.0.1", 0)) for broker in BROKERS}
        self.addresses: dict[int, tuple[str, int]] = {
            broker: each.getsockname() for broker, each in self.listeners.items()
        }
        self.sockets: list[socket.socket] = []
        for broker in BROKERS:
            threading.Thread(target=self._accept, args=(broker,), daemon=True).start()

    def close(self) -> None:
        for each in (*self.listeners.values(), *self.sockets):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def has_seen(self, api: str) -> bool:
        return any(line.split()[0] == api for line in self.seen)

    def wait_for(self, until: Callable[[], bool]) -> None:
        """Until a condition about `seen` holds."""
        with self.changed:
            assert self.changed.wait_for(until, PATIENCE_S), "the request never came"

    # -- connections

    def _accept(self, broker: int) -> None:
        while True:
            try:
                connection, _ = self.listeners[broker].accept()
            except OSError:
                return
            self.sockets.append(connection)
            threading.Thread(target=self._serve, args=(broker, connection), daemon=True).start()

    def _serve(self, broker: int, connection: socket.socket) -> None:
        buffer = bytearray()
        try:
            while data := connection.recv(1 << 16):
                buffer += data
                while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "big"):
                    end = 4 + int.from_bytes(buffer[:4], "big")
                    frame = bytes(buffer[4:end])
                    del buffer[:end]
                    if not self._play(broker, connection, frame):
                        return
        except OSError:
            return
        finally:
            connection.close()

    def _play(self, broker: int, connection: socket.socket, frame: bytes) -> bool:
        """Answers one request as the script says; False if that ends the connection."""
        header = framing.read_request_header(frame)
        body = framing.read_request_body(header, frame)
        with self.changed:
            api = type(body).__name__.removesuffix("Request")
            if api in ("ApiVersions", "Metadata"):
                answer = self._plain(body)
            else:
                actions = self.script.get(api, [])
                action = actions.pop(0) if actions else "ok"
                at = "" if api == "FindCoordinator" else f" at {broker}"
                note = f"{_note(body, header.api_version)}{at} -> {action}"
                if not (self.seen and api == "FindCoordinator" and self.seen[-1] == note):
                    self.seen.append(note)
                self.changed.notify_all()
                answer = self._answer(body, header.api_version, action)
                if action == "drop":
                    return False
        data = framing.write_response(
            header.api_key, header.api_version, header.correlation_id, answer
        )
        connection.sendall(data)
        return True

    # -- answers

    def _plain(self, body: Any) -> Any:
        if isinstance(body, m.ApiVersionsRequest):
            versions = m.ApiVersionsResponse
            ranges = []
            for name in SPOKEN:
                known = getattr(m, f"{name}Request")
                ranges.append(versions.ApiVersion(known.API_KEY, known.VERSIONS.low, known.LATEST))
            feature = versions.FinalizedFeatureKey(
                "transaction.version", self.version, self.version
            )
            return versions(
                api_keys=ranges, finalized_features_epoch=1,
                finalized_features=[feature] if self.version else [],
            )  # fmt: skip
        response = m.MetadataResponse
        partitions = [
            response.MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=BROKERS[0], leader_epoch=0,
                replica_nodes=[BROKERS[0]], isr_nodes=[BROKERS[0]],
            )
            for index in range(PARTITIONS)
        ]  # fmt: skip
        topic = response.MetadataResponseTopic(
            error_code=0, name=TOPIC, topic_id=TOPIC_ID, partitions=partitions
        )
        nodes = [
            response.MetadataResponseBroker(node_id=broker, host=host, port=port)
            for broker, (host, port) in self.addresses.items()
        ]
        topics = [topic] if body.topics is None or body.topics else []
        return response(brokers=nodes, cluster_id="script", controller_id=101, topics=topics)

    def _answer(self, asked: Any, version: int, action: str) -> Any:
        error = 0
        if action == "move":
            error = int(Errors.NOT_COORDINATOR)
            self.coordinator = BROKERS[1] if self.coordinator == BROKERS[0] else BROKERS[0]
        elif action not in ("ok", "drop"):
            error = int(Errors[action])
        match asked:
            case m.FindCoordinatorRequest():
                return self._found(asked, version, error)
            case m.InitProducerIdRequest():
                self.epoch += 0 if error else 1
                return m.InitProducerIdResponse(
                    error_code=error, producer_id=-1 if error else PRODUCER_ID,
                    producer_epoch=-1 if error else self.epoch,
                )  # fmt: skip
            case m.AddOffsetsToTxnRequest():
                return m.AddOffsetsToTxnResponse(error_code=error)
            case m.EndTxnRequest():
                if version < END_TXN_2 or error:
                    return m.EndTxnResponse(error_code=error)
                self.epoch = asked.producer_epoch + 1
                return m.EndTxnResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)
            case m.ProduceRequest():
                return self._produced(asked, error, action)
            case m.TxnOffsetCommitRequest():
                return _committed(asked, error)
        return _added(asked, error)

    def _found(self, asked: Any, version: int, error: int) -> Any:
        response = m.FindCoordinatorResponse
        node = -1 if error else self.coordinator
        host, port = ("", -1) if error else self.addresses[node]
        return response(coordinators=[
            response.Coordinator(key=key, node_id=node, host=host, port=port, error_code=error)
            for key in asked.coordinator_keys
        ])  # fmt: skip

    def _produced(self, asked: Any, error: int, action: str) -> Any:
        response = m.ProduceResponse
        parts = []
        for part in asked.topic_data[0].partition_data:
            answer = response.PartitionProduceResponse(index=part.index, log_start_offset=0)
            answer.error_code, answer.base_offset = error, -1
            if not error:
                answer.base_offset = self.ends[part.index]
                if action == "ok":
                    self.ends[part.index] += _header(part).last_offset_delta + 1
            parts.append(answer)
        topic = response.TopicProduceResponse(
            name=TOPIC, topic_id=TOPIC_ID, partition_responses=parts
        )
        return response(responses=[topic])


def _header(part: Any) -> batch.BatchHeader:
    return batch.read_header(bytes(part.records))


def _note(asked: Any, version: int) -> str:
    """A request in a line: what decides between the protocols, and its sender."""
    name = type(asked).__name__.removesuffix("Request")
    match asked:
        case m.FindCoordinatorRequest():
            kind = "transaction" if asked.key_type else "group"
            return f"{name} {kind} {' '.join(asked.coordinator_keys)}"
        case m.InitProducerIdRequest():
            return f"{name} {asked.transactional_id} epoch {asked.producer_epoch}"
        case m.AddPartitionsToTxnRequest():
            places = [
                f"{topic.name}-{index}"
                for topic in asked.v3_and_below_topics
                for index in sorted(topic.partitions)
            ]
            return (
                f"{name} v{version} epoch {asked.v3_and_below_producer_epoch}: {', '.join(places)}"
            )
        case m.AddOffsetsToTxnRequest():
            return f"{name} epoch {asked.producer_epoch}: {asked.group_id}"
        case m.TxnOffsetCommitRequest():
            offsets = [
                f"{topic.name}-{each.partition_index}@{each.committed_offset}"
                for topic in asked.topics
                for each in topic.partitions
            ]
            member = f"{asked.member_id} in generation {asked.generation_id}"
            return (f"{name} v{version} epoch {asked.producer_epoch}: {asked.group_id}, {member}, "
                    f"{', '.join(offsets)}")  # fmt: skip
        case m.EndTxnRequest():
            kind = "commit" if asked.committed else "abort"
            return f"{name} v{version} epoch {asked.producer_epoch}: {kind}"
    lines = []
    for part in asked.topic_data[0].partition_data:
        header = _header(part)
        values = " ".join((r.value or b"").decode() for r in batch.decode(bytes(part.records)))
        kind = "" if header.is_transactional else ", not transactional"
        lines.append(f"{values} to {part.index}, epoch {header.producer_epoch}, "
                     f"sequence {header.base_sequence}{kind}")  # fmt: skip
    return f"{name} v{version} {asked.transactional_id}: {' & '.join(lines)}"


def _added(asked: Any, error: int) -> Any:
    response = m.AddPartitionsToTxnResponse
    return response(results_by_topic_v3_and_below=[
        response.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                response.AddPartitionsToTxnPartitionResult(index, error)
                for index in topic.partitions
            ],
        )
        for topic in asked.v3_and_below_topics
    ])  # fmt: skip


def _committed(asked: Any, error: int) -> Any:
    response = m.TxnOffsetCommitResponse
    return response(topics=[
        response.TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                response.TxnOffsetCommitResponsePartition(each.partition_index, error)
                for each in topic.partitions
            ],
        )
        for topic in asked.topics
    ])  # fmt: skip
