"""Messages as bytes: what really crosses the wire between two brokers.

In a simulation message objects travel, because that is fast.  With this carriage they
travel as frames, through `engine.wire`, as between real processes: a field that the codec
forgets, or that a version does not carry, is then missed in the simulation as well.
"""

from __future__ import annotations

from engine.wire import framing
from engine.wire.structures import Message, RequestMessage

Packed = tuple[int, int, bytes]
"""(API key, version, frame without its length)."""


class EncodedCarriage:
    """Packs requests and answers into frames; a lost answer stays None."""

    def pack_request(self, client_id: str, version: int, body: RequestMessage[Message]) -> Packed:
        frame = framing.write_request(version, 0, client_id, body)
        return type(body).API_KEY, version, bytes(frame[4:])

    def unpack_request(self, packed: Packed) -> RequestMessage[Message]:
        return framing.read_request_body(framing.read_request_header(packed[2]), packed[2])

    def pack_answer(self, version: int, body: Message | None) -> Packed | None:
        if body is None:
            return None
        key = type(body).API_KEY
        return key, version, bytes(framing.write_response(key, version, 0, body)[4:])

    def unpack_answer(self, packed: Packed | None) -> Message | None:
        if packed is None:
            return None
        return framing.read_response(*packed)[1]
