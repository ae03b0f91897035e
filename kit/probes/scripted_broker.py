"""A broker that answers Produce requests from a script and ignores their contents.

It speaks the protocol through engine/wire, says that it leads all of `orders`, assigns a
producer id, and writes down what arrives.  A step of the script is a list of answers: the
broker waits until as many Produce requests are in flight, so that the client's speed does
not matter, and then answers them in order.

    ok                    taken: the next offset
    again                 success with the first offset, as for a known duplicate
    drop                  taken, and then the connection ends: the answer is lost
    hang-up               not taken, and the connection ends
    silence               taken, and from here on this connection gets no answer
    any name of an error  that error

After the end of the script, the broker takes everything.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

from engine.records import batch
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC, TOPIC_ID, BROKER = "orders", bytes(range(16)), 101
SPOKEN = ("Produce", "Fetch", "ListOffsets", "Metadata", "FindCoordinator", "ApiVersions",
          "InitProducerId")  # fmt: skip
WORDS = ("ok", "again", "drop", "hang-up", "silence")
HOLD_S = 0.4
FIRST_PRODUCER_ID = 4000


class ScriptedBroker:
    """`seen` has a line per request, with what it brought to each partition; `log` has the values
    that were taken, in order."""

    def __init__(
        self, script: list[list[str]], partitions: int = 1, hold_s: float = HOLD_S
    ) -> None:
        self.partitions = partitions
        self.hold_s = hold_s
        self.script = [list(step) for step in script]
        self.seen: list[str] = []
        self.log: list[str] = []
        self.ends: dict[int, int] = {}
        self.ids_given = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self.listener, *self.sockets):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    # -- one connection

    def _serve(self, connection: socket.socket) -> None:
        held: list[tuple[Any, Any]] = []
        buffer = bytearray()
        try:
            while True:
                wanted = len(self.script[0]) if self.script else 1
                connection.settimeout(self.hold_s if held and len(held) < wanted else None)
                if len(held) < wanted:
                    try:
                        data = connection.recv(1 << 16)
                    except TimeoutError:
                        wanted = len(held)
                        data = b""
                    else:
                        if not data:
                            return
                    buffer += data
                    held += self._frames(connection, buffer)
                if not held or len(held) < wanted:
                    continue
                if not self._play(connection, [held.pop(0) for _ in range(wanted)]):
                    return
        except OSError:
            return
        finally:
            connection.close()

    def _frames(self, connection: socket.socket, buffer: bytearray) -> list[tuple[Any, Any]]:
        """Answers other requests at once; returns the Produce requests."""
        found = []
        while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "big"):
            end = 4 + int.from_bytes(buffer[:4], "big")
            frame = bytes(buffer[4:end])
            del buffer[:end]
            header = framing.read_request_header(frame)
            body = framing.read_request_body(header, frame)
            if header.api_key == m.ProduceRequest.API_KEY:
                found.append((header, body))
            else:
                self._write(connection, header, self._plain(body))
        return found

    def _write(self, connection: socket.socket, header: Any, body: Any) -> None:
        data = framing.write_response(
            header.api_key, header.api_version, header.correlation_id, body
        )
        connection.sendall(data)

    def _plain(self, body: Any) -> Any:
        match body:
            case m.ApiVersionsRequest():
                versions = []
                for name in SPOKEN:
                    known = getattr(m, f"{name}Request")
                    low, high = known.VERSIONS.low, known.LATEST
                    versions.append(m.ApiVersionsResponse.ApiVersion(known.API_KEY, low, high))
                return m.ApiVersionsResponse(api_keys=versions)
            case m.InitProducerIdRequest():
                self.ids_given += 1
                pid = FIRST_PRODUCER_ID + self.ids_given
                return m.InitProducerIdResponse(producer_id=pid, producer_epoch=0)
        response = m.MetadataResponse
        partitions = [
            response.MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=BROKER, leader_epoch=0,
                replica_nodes=[BROKER], isr_nodes=[BROKER],
            )
            for index in range(self.partitions)
        ]  # fmt: skip
        topic = response.MetadataResponseTopic(
            error_code=0, name=TOPIC, topic_id=TOPIC_ID, partitions=partitions
        )
        node = response.MetadataResponseBroker(node_id=BROKER, host="127.0.0.1", port=self.port)
        return response(brokers=[node], cluster_id="script", controller_id=BROKER, topics=[topic])

    # -- the script

    def _play(self, connection: socket.socket, requests: list[tuple[Any, Any]]) -> bool:
        """Answers as the next step says; False if that ends the connection."""
        with self.lock:
            step = self.script.pop(0) if self.script else []
            silent = False
            for at, (header, body) in enumerate(requests):
                action = step[at] if at < len(step) else "ok"
                self._note(body, action)
                if action in ("drop", "hang-up"):
                    return False
                silent = silent or action == "silence"
                if not silent:
                    self._write(connection, header, self._answer(body, action))
            if silent:
                connection.settimeout(None)
                while connection.recv(1 << 16):
                    pass
            return not silent

    def _note(self, request: Any, action: str) -> None:
        """Writes down the contents of one request, and takes them if the script says so."""
        lines = []
        for part in request.topic_data[0].partition_data:
            records = bytes(part.records)
            header = batch.read_header(records)
            values = [(r.value or b"").decode().rstrip(".") for r in batch.decode(records)]
            identity = "plain"
            if header.producer_id >= 0:
                who = "" if header.producer_id == FIRST_PRODUCER_ID + 1 else "new producer, "
                identity = f"{who}epoch {header.producer_epoch}, sequence {header.base_sequence}"
            lines.append(f"{' '.join(values)}: {identity}")
            if action in ("ok", "drop", "silence"):
                self.log += values
                self.ends[part.index] = self.ends.get(part.index, 0) + len(values)
        self.seen.append(f"{' & '.join(lines)} -> {action}")

    def _answer(self, request: Any, action: str) -> Any:
        response = m.ProduceResponse
        parts = []
        for part in request.topic_data[0].partition_data:
            answer = response.PartitionProduceResponse(index=part.index, log_start_offset=0)
            answer.error_code = 0 if action in ("ok", "again") else int(Errors[action])
            answer.base_offset = 0 if action == "again" else -1
            if action == "ok":
                count = batch.read_header(bytes(part.records)).last_offset_delta + 1
                answer.base_offset = self.ends[part.index] - count
            parts.append(answer)
        named = response.TopicProduceResponse(
            name=TOPIC, topic_id=TOPIC_ID, partition_responses=parts
        )
        return response(responses=[named])
