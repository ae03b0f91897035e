"""A small HTTP server for a page of the kit: limits, no log, loopback unless an address is named.

A body has 16 kB at most, a connection a few seconds, and no more than a few dozen are served at
once, so that neither garbage nor a slow client stops it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGEST_BODY = 16_000
LONGEST_WAIT_S = 5.0
MOST_AT_ONCE = 48
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Refused(Exception):
    """What a client sent was not taken.  `status` is HTTP's, the text one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class CannotOpen(RuntimeError):
    """There can be no server at this address; one sentence with the remedy."""


class PageServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, handler: type[PageHandler]) -> None:
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        if host in ("", "0.0.0.0", "::"):
            raise CannotOpen(
                "Name the address of this machine in the room's network, such as 192.168.1.20: "
                "others type it."
            )
        try:
            super().__init__((host, port), handler)
        except (OSError, OverflowError) as error:
            raise CannotOpen(
                f"The page cannot be opened at {host}:{port} ({error}); "
                "name an address of this machine with --host, or another --port."
            ) from None

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class PageHandler(BaseHTTPRequestHandler):
    timeout = LONGEST_WAIT_S
    server_version, sys_version = "kafkalab", ""
    policy = "default-src 'none'"

    def do_GET(self) -> None:
        try:
            answer = self.look()
        except Refused as refusal:
            self._send_json(refusal.status, {"error": str(refusal)})
            return
        if isinstance(answer, str):
            self._send(200, answer.encode(), "text/html; charset=utf-8")
        else:
            self._send_json(200, answer)

    def do_POST(self) -> None:
        try:
            self._send_json(200, self.act())
        except Refused as refusal:
            self._send_json(refusal.status, {"error": str(refusal)})

    def look(self) -> str | dict[str, Any]:
        """The page, or data, for a GET.  Raises Refused."""
        raise NotImplementedError

    def act(self) -> dict[str, Any]:
        """The answer to a POST.  Raises Refused."""
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        """The JSON object that was sent.  Raises Refused."""
        length = str(self.headers.get("Content-Length"))
        if not (length.isascii() and length.isdecimal()) or int(length[:9]) > LARGEST_BODY:
            raise Refused(413, f"A request has {LARGEST_BODY // 1000} kB at most.")
        try:
            sent = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "A request is JSON.") from None
        except OSError:
            raise Refused(408, "The request did not come to its end.") from None
        if not isinstance(sent, dict):
            raise Refused(400, "A request is an object.")
        return sent

    def _send_json(self, status: int, content: dict[str, Any]) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", self.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """No log: it would hold the clients' addresses."""


def same(path: str, wanted: str) -> bool:
    """Whether two paths are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(path.encode("utf-8", "replace"), wanted.encode())


def policy_for(script: str) -> str:
    """A page's policy: this script alone, and no request to another server."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
