"""The room over HTTP: a page for the teacher, joins and reports for the learners.

    GET  /watch/KEY         the page            only with the key that the command prints
    GET  /watch/KEY/view    what it shows, as JSON
    POST /room/CODE/join    -> {"alias", "key", "remaining_s"}
    POST /room/CODE/report  {"key", "exercises"}
    POST /room/CODE/leave   {"key"}

Every other request gets 404; the limits are those of kit/page_server.py.
"""

from __future__ import annotations

import threading
from typing import Any

from kit.page_server import PageHandler, PageServer, Refused, same
from kit.workshop import page
from kit.workshop.room import Room

NO_ROOM = "There is no such room, or it has ended."


class Server(PageServer):
    def __init__(self, room: Room, host: str, port: int) -> None:
        self.room = room
        super().__init__(host, port, Handler)

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


class Handler(PageHandler):
    server: Server
    policy = page.POLICY

    def look(self) -> str | dict[str, Any]:
        watch = f"/watch/{self.server.room.watch_key}"
        if same(self.path, watch):
            return page.html()
        if same(self.path, f"{watch}/view"):
            return self.server.room.view()
        raise Refused(404, "There is nothing here.")

    def act(self) -> dict[str, Any]:
        room = self.server.room
        place = f"/room/{room.code}/"
        if not self.path.startswith(place) or room.remaining_s <= 0:
            raise Refused(404, NO_ROOM)
        action, sent = self.path.removeprefix(place), self.body()
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
            raise Refused(404, NO_ROOM)
        return {}
