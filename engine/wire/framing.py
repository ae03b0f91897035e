"""Frames and headers: what surrounds a message on a connection.

A frame is a 32-bit length and that many bytes: a header, then a body.  The request
header names API, version, correlation id and client id; a response repeats only the
correlation id.  Flexible versions add a tagged section to both headers, except that
ApiVersions responses keep the old header: a client that does not yet know what the
broker speaks must be able to read them (KIP-511).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeVar

from engine.wire import codec, messages, schema
from engine.wire.codec import Buffer, MalformedMessage
from engine.wire.slices import Frame
from engine.wire.structures import Message, RequestMessage

Answer = TypeVar("Answer", bound=Message)

API_VERSIONS_KEY = 18
_REQUEST_HEADER = struct.Struct(">hhih")
_INT32 = struct.Struct(">i")


def _names_by_key() -> dict[int, str]:
    return {
        schema.load_file(stem)[f"{name}Request"].api_key or 0: name
        for name, stem in schema.api_files().items()
    }


API_NAMES: dict[int, str] = _names_by_key()
"""API key to the API's name, for every API that has a schema."""


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """A request as it came off a connection; `body_at` is where its body starts."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_at: int


_FLEXIBLE = {key: schema.find(f"{name}Request").flexible for key, name in API_NAMES.items()}


def _is_flexible(api_key: int, version: int) -> bool:
    return version in _FLEXIBLE.get(api_key, schema.NEVER)


def read_request_header(frame: Buffer) -> RequestFrame:
    """Reads the header of a request frame (without its length prefix)."""
    try:
        key, version, correlation_id, n = _REQUEST_HEADER.unpack_from(frame)
        position = _REQUEST_HEADER.size
        client_id = None
        if n >= 0:
            client_id = str(frame[position : position + n], "utf-8", "replace")
            position += n
        if _is_flexible(key, version):
            position = codec.skip_tags(frame, position)
    except (struct.error, IndexError) as error:
        raise MalformedMessage(f"request header: {error}") from None
    if position > len(frame):
        raise MalformedMessage("request header is cut off")
    return RequestFrame(key, version, correlation_id, client_id, position)


def read_request_body(header: RequestFrame, frame: Buffer) -> RequestMessage[Message]:
    """The request message behind `header`; MalformedMessage for an unknown API or version.

    Bytes behind the message are ignored, as a Kafka broker does: librdkafka sends some
    after a Metadata request for all topics.
    """
    name = API_NAMES.get(header.api_key)
    if name is None:
        raise MalformedMessage(f"unknown API key {header.api_key}")
    name = f"{name}Request"
    body, _ = codec.decode_prefix(name, header.api_version, frame, header.body_at)
    assert isinstance(body, RequestMessage)
    return body


def write_response(api_key: int, version: int, correlation_id: int, body: Message) -> Frame:
    """A whole response frame, length included."""
    out = Frame(bytes(4))
    out += _INT32.pack(correlation_id)
    if api_key != API_VERSIONS_KEY and _is_flexible(api_key, version):
        out.append(0)
    codec.encode_into(body, version, out)
    _INT32.pack_into(out, 0, out.whole_size - 4)
    return out


def write_request(
    version: int, correlation_id: int, client_id: str | None, body: Message
) -> bytearray:
    """A whole request frame, length included."""
    key = type(body).API_KEY
    out = bytearray(4)
    name = (client_id or "").encode()
    name_length = -1 if client_id is None else len(name)
    out += _REQUEST_HEADER.pack(key, version, correlation_id, name_length) + name
    if _is_flexible(key, version):
        out.append(0)
    codec.encode_into(body, version, out)
    _INT32.pack_into(out, 0, len(out) - 4)
    return out


def read_response(api_key: int, version: int, frame: Buffer) -> tuple[int, Message]:
    """Correlation id and body of a response frame (without its length prefix)."""
    try:
        (correlation_id,) = _INT32.unpack_from(frame)
        position = _INT32.size
        if api_key != API_VERSIONS_KEY and _is_flexible(api_key, version):
            position = codec.skip_tags(frame, position)
    except (struct.error, IndexError) as error:
        raise MalformedMessage(f"response header: {error}") from None
    name = API_NAMES[api_key]
    return correlation_id, codec.decode(f"{name}Response", version, frame, position)


def response_class(request: RequestMessage[Answer]) -> type[Answer]:
    """The response class that belongs to a request."""
    found: type[Answer] = getattr(messages, f"{API_NAMES[request.API_KEY]}Response")
    return found
