"""The room over HTTP: a page for the teacher, joins and reports for the learners.

    GET  /watch/KEY         the page            only with the key that the command prints
    GET  /watch/KEY/view    what it shows, as JSON
    POST /room/CODE/join    -> {"alias", "key", "remaining_s"}
    POST /room/CODE/report  {"key", "exercises"}
    POST /room/CODE/leave   {"key"}

Every other request gets 404.  A body has 16 kB at most, a connection a few seconds, and no more
than a few dozen are served at once, so that neither garbage nor a slow client stops the room.
It binds to loopback unless the teacher names an address.
"""

from __future__ import annotations

import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kit.workshop import page
from kit.workshop.room import Refused, Room

LARGEST_BODY = 16_000
LONGEST_WAIT_S = 5.0
MOST_AT_ONCE = 48
LOOPBACK = "127.0.0.1"


class CannotOpen(RuntimeError):
    """The room cannot be opened at this address; one sentence with the remedy."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, room: Room, host: str, port: int) -> None:
        self.room = room
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        if host in ("", "0.0.0.0", "::"):
            raise CannotOpen(
                "Name the address of this machine in the room's network, such as 192.168.1.20: "
                "learners type it."
            )
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise CannotOpen(
                f"The room cannot be opened at {host}:{port} ({error}); "
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

    def run_until_it_ends(self) -> None:
        """Serves until the room's time is over, or an interrupt."""
        timer = threading.Timer(max(0.0, self.room.remaining_s), self.shutdown)
        timer.daemon = True
        timer.start()
        try:
            self.serve_forever(poll_interval=0.2)
        finally:
            timer.cancel()
            self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = LONGEST_WAIT_S
    server_version, sys_version = "kafkalab", ""

    def do_GET(self) -> None:
        watch = f"/watch/{self.server.room.watch_key}"
        if _same(self.path, watch):
            self._send(200, page.html().encode(), "text/html; charset=utf-8")
        elif _same(self.path, f"{watch}/view"):
            self._send_json(200, self.server.room.view())
        else:
            self._send_json(404, {"error": "There is nothing here."})

    def do_POST(self) -> None:
        try:
            self._send_json(200, self._answer())
        except Refused as refusal:
            self._send_json(refusal.status, {"error": str(refusal)})

    def _answer(self) -> dict[str, Any]:
        room = self.server.room
        place = f"/room/{room.code}/"
        if not self.path.startswith(place) or room.remaining_s <= 0:
            raise Refused(404, "There is no such room, or it has ended.")
        action, sent = self.path.removeprefix(place), self._body()
        if action == "join":
            alias, its_key = room.join()
            return {"alias": alias, "key": its_key, "remaining_s": room.remaining_s}
        if not isinstance(key := sent.get("key"), str):
            raise Refused(400, "A report carries the key that came with the alias.")
        if action == "report":
            room.report(key, sent.get("exercises"))
        elif action == "leave":
            room.leave(key)
        else:
            raise Refused(404, "There is no such room, or it has ended.")
        return {}

    def _body(self) -> dict[str, Any]:
        length = str(self.headers.get("Content-Length"))
        if not (length.isascii() and length.isdecimal()) or int(length[:9]) > LARGEST_BODY:
            raise Refused(413, f"A report has {LARGEST_BODY // 1000} kB at most.")
        try:
            sent = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "A report is JSON.") from None
        except OSError:
            raise Refused(408, "The report did not come to its end.") from None
        if not isinstance(sent, dict):
            raise Refused(400, "A report is an object.")
        return sent

    def _send_json(self, status: int, content: dict[str, Any]) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", page.POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """No log: it would hold addresses of learners."""


def _same(path: str, wanted: str) -> bool:
    return hmac.compare_digest(path.encode("utf-8", "replace"), wanted.encode())
