"""Headers around messages, as clients of different ages send them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.wire import codec, framing
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage
from tests.engine.wire.random_messages import random_message

EVERY_API_VERSION = [
    (name, version)
    for name in sorted(framing.API_NAMES.values())
    for version in range(
        getattr(m, f"{name}Request").VERSIONS.low, getattr(m, f"{name}Request").VERSIONS.high + 1
    )
]


def test_every_request_and_response_survives_the_way_there_and_back() -> None:
    for name, version in EVERY_API_VERSION:
        request = random_message(f"{name}Request", version)
        frame = bytes(framing.write_request(version, 77, "client", request))
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        header = framing.read_request_header(frame[4:])
        assert (header.api_version, header.correlation_id, header.client_id) == (
            version,
            77,
            "client",
        )
        assert framing.API_NAMES[header.api_key] == name
        assert framing.read_request_body(header, frame[4:]) == request

        response = random_message(f"{name}Response", version)
        frame = bytes(framing.write_response(header.api_key, version, 77, response))
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert framing.read_response(header.api_key, version, frame[4:]) == (77, response)
        assert framing.response_class(request) is type(response)


def test_headers_are_those_of_kafkas_definitions() -> None:
    """`headers.schema` says what a header is; the framing writes it by hand, for speed."""
    for version, header_version in ((8, 1), (9, 2)):
        frame = bytes(framing.write_request(version, 5, "c", m.MetadataRequest(topics=[])))
        header = m.RequestHeader(
            request_api_key=3, request_api_version=version, correlation_id=5, client_id="c"
        )
        assert frame[4:].startswith(codec.encode(header, header_version))
        answer = bytes(framing.write_response(3, version, 5, m.MetadataResponse()))
        expected = codec.encode(m.ResponseHeader(correlation_id=5), header_version - 1)
        assert answer[4:] == expected + codec.encode(m.MetadataResponse(), version)


def test_a_client_without_a_name_stays_without() -> None:
    frame = framing.write_request(4, 1, None, m.HeartbeatRequest())
    assert framing.read_request_header(bytes(frame[4:])).client_id is None


def test_an_api_versions_answer_keeps_the_old_header() -> None:
    """KIP-511: the client does not know yet what the broker speaks."""
    answer = bytes(framing.write_response(18, 3, 9, m.ApiVersionsResponse()))
    assert answer[4:] == (9).to_bytes(4, "big") + codec.encode(m.ApiVersionsResponse(), 3)


def test_the_header_of_an_unheard_of_version_is_still_read() -> None:
    """So that a broker can answer UNSUPPORTED_VERSION with the right correlation id."""
    frame = bytes.fromhex("0012 007f 00000009 0001 63 00") + b"body of a later time"
    header = framing.read_request_header(frame)
    assert (header.api_key, header.api_version, header.correlation_id) == (18, 127, 9)
    with pytest.raises(MalformedMessage):
        framing.read_request_body(header, frame)


def test_an_unknown_api_has_a_header_and_no_body() -> None:
    header = framing.read_request_header(bytes.fromhex("03e7 0000 00000009 ffff"))
    assert header.api_key == 999
    with pytest.raises(MalformedMessage, match="unknown API key 999"):
        framing.read_request_body(header, b"")


@given(st.binary(max_size=64))
def test_random_frames_are_read_or_malformed_and_nothing_else(frame: bytes) -> None:
    with suppress(MalformedMessage):
        framing.read_request_body(framing.read_request_header(frame), frame)
    for api_key in (3, 18):
        with suppress(MalformedMessage):
            framing.read_response(api_key, 9 if api_key == 3 else 3, frame)


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "0003",
        "0003 0000 00000001 7fff",
        "0003 0009 00000001 7fff",
        "0003 0009 00000001 0000 ffffffffff",
    ],
)
def test_a_header_that_is_cut_off_is_malformed(frame: str) -> None:
    with pytest.raises(MalformedMessage):
        framing.read_request_header(bytes.fromhex(frame))
