"""A broker with one topic and a group of one member, which answers as a tape says.

It leads `orders`, coordinates the group and plays all its parts right, as long as the tape has
nothing to say.  The tape has a list of answers for an API; each request of that API takes the next.
Heartbeats do so from the first record on, for how many come before is a matter of time:

    ok                    the right answer
    drop                  the connection ends
    moved                 for Fetch: FENCED_LEADER_EPOCH, and the leader epoch is one more
    truncated             for OffsetForLeaderEpoch: that epoch ended at offset 1
    any name of an error  that error

`seen` has a line for each request that means something to the group, in order.  Repetitions whose
number is a matter of time (heartbeats, fetches, metadata) are left out when they are answered ok.
So is a fetch after the member has left: on a busy machine it may have been on its way.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

from engine.records import batch
from engine.wire import consumer_protocol, framing
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC, TOPIC_ID, BROKER, GROUP = "orders", bytes(range(16)), 101, "billing"
SPOKEN = ("Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch",
          "FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup", "ApiVersions",
          "OffsetForLeaderEpoch")  # fmt: skip
HIGHEST = {"Fetch": 12, "OffsetCommit": 9, "OffsetFetch": 9, "Metadata": 12}
"""Below topic ids, where all three clients speak the same."""
MEMBER = "member-1"
QUIET = ("Heartbeat", "Fetch")
NAMES = {getattr(m, f"{name}Request").API_KEY: name for name in SPOKEN}


class GroupTape:
    """`log` are the values of partition 0; offsets begin with `first`."""

    def __init__(
        self, tape: dict[str, list[str]], log: str = "A B C", first: int = 0, committed: int = -1
    ) -> None:
        self.tape = {name: list(answers) for name, answers in tape.items()}
        self.log = log.split()
        self.first = first
        self.committed = committed
        self.generation = 0
        self.members = 0
        self.leader_epoch = 0
        self.has_fetched = self.has_left = False
        self.seen: list[str] = []
        self.lock = threading.RLock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self.listener, *self.sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.sockets.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    # -- one connection

    def _serve(self, connection: socket.socket) -> None:
        buffer = bytearray()
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(1 << 16):
                buffer += data
                while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "big"):
                    end = 4 + int.from_bytes(buffer[:4], "big")
                    frame = bytes(buffer[4:end])
                    del buffer[:end]
                    if not self._handle(connection, frame):
                        return

    def _handle(self, connection: socket.socket, frame: bytes) -> bool:
        header = framing.read_request_header(frame)
        body = framing.read_request_body(header, frame)
        name = NAMES[header.api_key]
        with self.lock:
            answers = self.tape.get(name, [])
            early = name == "Heartbeat" and not self.has_fetched
            word = answers.pop(0) if answers and not early else "ok"
            if word == "moved":
                self.leader_epoch += 1
            is_drop = word == "drop"
            error = 0 if word in ("ok", "truncated", "drop") else _code(word)
            version = header.api_version
            answer = None if is_drop else self._answer(name, version, body, error, word)
            asked = self._asked(name, body)
            if asked and not (name in QUIET and word == "ok"):
                self._note(f"{asked} -> {word}")
        if answer is None:
            return False
        if name == "Fetch" and not error:
            if self._records(body):
                self.has_fetched = True
            else:
                time.sleep(0.02)
        number = header.correlation_id
        connection.sendall(framing.write_response(header.api_key, version, number, answer))
        return True

    def _note(self, line: str) -> None:
        self.has_left = line.startswith("leave ") or (self.has_left and "join" not in line)
        if self.has_left and line.startswith("fetch "):
            return
        if self.seen[-1:] != [line]:
            self.seen.append(line)

    # -- what was asked

    def _asked(self, name: str, body: Any) -> str:
        match name:
            case "JoinGroup":
                subscription = consumer_protocol.read_subscription(
                    bytes(body.protocols[0].metadata)
                )
                owned = sum(len(row.partitions) for row in subscription.owned_partitions)
                return f"join as {self._member(body.member_id)}, owns {owned}"
            case "SyncGroup":
                leads = "assigns" if body.assignments else "follows"
                return f"sync generation {body.generation_id} {leads}"
            case "Heartbeat":
                return f"heartbeat generation {body.generation_id}"
            case "LeaveGroup":
                leaving = body.members[0].member_id if body.members else body.member_id
                return f"leave as {self._member(leaving)}"
            case "OffsetCommit":
                offsets = [p.committed_offset for t in body.topics for p in t.partitions]
                return f"commit {offsets} in generation {body.generation_id_or_member_epoch}"
            case "OffsetForLeaderEpoch":
                part = body.topics[0].partitions[0]
                return f"validate epoch {part.leader_epoch} with {part.current_leader_epoch}"
            case "ListOffsets":
                stamp = body.topics[0].partitions[0].timestamp
                return f"list {({-1: 'latest', -2: 'earliest'}).get(stamp, 'a time')}"
            case "Fetch":
                offsets = [p.fetch_offset for t in body.topics for p in t.partitions]
                return f"fetch at {offsets}" if offsets else ""
            case "OffsetFetch":
                return "committed?"
            case "FindCoordinator":
                return "find coordinator"
        return ""

    def _member(self, member_id: str) -> str:
        return member_id or "nobody yet"

    # -- what is answered

    def _answer(self, name: str, version: int, body: Any, error: int, word: str) -> Any:
        match name:
            case "ApiVersions":
                return self._versions()
            case "Metadata":
                return self._metadata()
            case "FindCoordinator":
                return self._coordinator(version, error)
            case "JoinGroup":
                return self._join(body, error)
            case "SyncGroup":
                share = bytes(body.assignments[0].assignment) if body.assignments else b""
                return m.SyncGroupResponse(
                    error_code=error, protocol_type=body.protocol_type,
                    protocol_name=body.protocol_name, assignment=b"" if error else share,
                )  # fmt: skip
            case "Heartbeat":
                return m.HeartbeatResponse(error_code=error)
            case "LeaveGroup":
                row = m.LeaveGroupResponse.MemberResponse
                rows = [row(each.member_id, each.group_instance_id, 0) for each in body.members]
                return m.LeaveGroupResponse(error_code=error, members=rows)
            case "OffsetCommit":
                return self._commit(body, error)
            case "OffsetFetch":
                return self._committed(version, error)
            case "ListOffsets":
                return self._list(body, error)
            case "OffsetForLeaderEpoch":
                return self._epoch_end(body, error, word)
            case "Fetch":
                return self._fetch(body, error)
        raise AssertionError(name)

    def _versions(self) -> Any:
        rows = []
        for name in SPOKEN:
            known = getattr(m, f"{name}Request")
            high = min(known.LATEST, HIGHEST.get(name, known.LATEST))
            rows.append(m.ApiVersionsResponse.ApiVersion(known.API_KEY, known.VERSIONS.low, high))
        return m.ApiVersionsResponse(api_keys=rows)

    def _metadata(self) -> Any:
        response = m.MetadataResponse
        part = response.MetadataResponsePartition(
            partition_index=0, leader_id=BROKER, leader_epoch=self.leader_epoch,
            replica_nodes=[BROKER], isr_nodes=[BROKER],
        )  # fmt: skip
        topic = response.MetadataResponseTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=[part])
        node = response.MetadataResponseBroker(node_id=BROKER, host="127.0.0.1", port=self.port)
        return response(brokers=[node], cluster_id="tape", controller_id=BROKER, topics=[topic])

    def _join(self, body: Any, error: int) -> Any:
        response = m.JoinGroupResponse
        member = body.member_id or self._new_member()
        if error:
            says_id = error == Errors.MEMBER_ID_REQUIRED
            return response(error_code=error, protocol_name="", leader="",
                            member_id=member if says_id else body.member_id)  # fmt: skip
        self.generation += 1
        row = response.JoinGroupResponseMember(
            member, body.group_instance_id, bytes(body.protocols[0].metadata)
        )
        return response(
            generation_id=self.generation, protocol_type="consumer", leader=member,
            protocol_name=body.protocols[0].name, member_id=member, members=[row],
        )  # fmt: skip

    def _new_member(self) -> str:
        self.members += 1
        return f"member-{self.members}"

    def _commit(self, body: Any, error: int) -> Any:
        response = m.OffsetCommitResponse
        if not error:
            self.committed = body.topics[0].partitions[0].committed_offset
        part = response.OffsetCommitResponsePartition(partition_index=0, error_code=error)
        return response(topics=[response.OffsetCommitResponseTopic(TOPIC, TOPIC_ID, [part])])

    def _coordinator(self, version: int, error: int) -> Any:
        response = m.FindCoordinatorResponse
        node = -1 if error else BROKER
        if version < 4:
            return response(error_code=error, node_id=node, host="127.0.0.1", port=self.port)
        row = response.Coordinator(GROUP, node, "127.0.0.1", self.port, error)
        return response(coordinators=[row])

    def _committed(self, version: int, error: int) -> Any:
        response = m.OffsetFetchResponse
        if version < 8:
            old = response.OffsetFetchResponsePartition(0, self.committed, -1, "", 0)
            rows = [] if error else [response.OffsetFetchResponseTopic(TOPIC, [old])]
            return response(topics=rows, error_code=error)
        part = response.OffsetFetchResponsePartitions(0, self.committed, -1, "", 0)
        topic = response.OffsetFetchResponseTopics(TOPIC, TOPIC_ID, [part])
        group = response.OffsetFetchResponseGroup(GROUP, [] if error else [topic], error)
        return response(groups=[group])

    def _list(self, body: Any, error: int) -> Any:
        response = m.ListOffsetsResponse
        stamp = body.topics[0].partitions[0].timestamp
        offset = self.first if stamp == -2 else self.first + len(self.log)
        part = response.ListOffsetsPartitionResponse(
            partition_index=0, error_code=error, offset=-1 if error else offset,
            leader_epoch=self.leader_epoch,
        )  # fmt: skip
        return response(topics=[response.ListOffsetsTopicResponse(TOPIC, [part])])

    def _epoch_end(self, body: Any, error: int, word: str) -> Any:
        response = m.OffsetForLeaderEpochResponse
        asked = body.topics[0].partitions[0].leader_epoch
        end = 1 if word == "truncated" else self.first + len(self.log)
        part = response.EpochEndOffset(
            error_code=error, partition=0, leader_epoch=asked, end_offset=-1 if error else end
        )
        return response(topics=[response.OffsetForLeaderTopicResult(TOPIC, [part])])

    def _records(self, body: Any) -> bytes:
        """The batches from the offset on, one record each."""
        if not body.topics:
            return b""
        at = body.topics[0].partitions[0].fetch_offset - self.first
        found = b""
        for index, value in list(enumerate(self.log))[max(0, at) :]:
            record = batch.Record(0, 1_700_000_000_000, None, value.encode(), ())
            found += _placed(bytearray(batch.encode([record])), self.first + index)
        return found

    def _fetch(self, body: Any, error: int) -> Any:
        response = m.FetchResponse
        if not body.topics:
            return response()
        at = body.topics[0].partitions[0].fetch_offset
        end = self.first + len(self.log)
        if not error and not self.first <= at <= end:
            error = int(Errors.OFFSET_OUT_OF_RANGE)
            self._note(f"fetch at [{at}] -> OFFSET_OUT_OF_RANGE")
        part = response.PartitionData(
            partition_index=0, error_code=error, high_watermark=-1 if error else end,
            last_stable_offset=-1 if error else end, log_start_offset=self.first,
            records=b"" if error else self._records(body),
        )  # fmt: skip
        return response(responses=[response.FetchableTopicResponse(TOPIC, TOPIC_ID, [part])])


def _placed(data: bytearray, offset: int) -> bytes:
    """A batch at its offset, in leader epoch 0; neither is under the checksum."""
    data[0:8] = offset.to_bytes(8, "big")
    data[12:16] = bytes(4)
    return bytes(data)


def _code(word: str) -> int:
    return int(Errors.FENCED_LEADER_EPOCH if word == "moved" else Errors[word])
