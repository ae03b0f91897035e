"""The projector's page and the remote's, over HTTP.

    GET  /KEY/show, /KEY/remote   the pages
    GET  /KEY/state?VERSION       what they show; {} if it is the version that the page has
    POST /KEY/press               {"type": "press" | "watch", "action", "node", "other"}
    POST /KEY/set                 {"position": N} or {"partition": N}
    POST /KEY/go                  {"scene": N}

Only pages with the key can do anything.  It binds to loopback unless an address is named.
"""

from __future__ import annotations

import secrets
from typing import Any

from kit.clusters.faults import BUTTONS
from kit.page_server import PageHandler, PageServer, Refused, same
from kit.presenter import pages
from kit.presenter.stage import SETTABLE, Stage


class Server(PageServer):
    def __init__(self, stage: Stage, host: str, port: int) -> None:
        self.stage = stage
        self.key = secrets.token_urlsafe(12)
        super().__init__(host, port, Handler)

    def page(self, name: str) -> str:
        return f"{self.address}/{self.key}/{name}"


class Handler(PageHandler):
    server: Server
    policy = pages.POLICY

    def look(self) -> str | dict[str, Any]:
        name, _, version = self._name().partition("?")
        if name in ("show", "remote"):
            return pages.html(name)
        if name == "state":
            stage = self.server.stage
            return {} if version == str(stage.version) else stage.state()
        raise Refused(404, "There is nothing here.")

    def act(self) -> dict[str, Any]:
        name, sent, stage = self._name(), self.body(), self.server.stage
        match name, sent:
            case "press", {"type": "watch"}:
                stage.watch()
            case "press", {"type": "press", "action": str(action), "node": int(node)}:
                other = sent.get("other")
                if action not in BUTTONS or not (other is None or isinstance(other, int)):
                    raise Refused(400, f"The buttons are {', '.join(BUTTONS)}.")
                stage.press(action, node, other)
            case "set", _:
                for trait in SETTABLE:
                    if isinstance(value := sent.get(trait), int):
                        stage.set(trait, value)
            case "go", {"scene": int(number)}:
                stage.go(number)
            case _:
                raise Refused(400, "There is no such button.")
        return {}

    def _name(self) -> str:
        _, key, *names = self.path.split("/")[:3] if self.path.startswith("/") else ("", "", "")
        if not same(key, self.server.key) or not names:
            raise Refused(404, "There is nothing here.")
        return names[0]
