"""The learner's side: joins a room, and reports after a check.

The room's address, the alias and the key are in a file beside the kit's other state; without
the file nothing is ever sent.  A report goes out in the background and is given up after two
seconds: a room that is gone must not hold up a check.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kit import places

if TYPE_CHECKING:
    from urllib.error import HTTPError

WAIT_S = 2.0
LARGEST_ANSWER = 4_000
SENT = (
    "From now on each check and hint sends its exercise's number, attempts, hints and whether it "
    "is solved to {address}, under the alias “{alias}”: no name and no answer."
)


class CannotJoin(RuntimeError):
    """The room cannot be joined; one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Membership:
    url: str
    """`http://host:port/room/CODE`."""
    alias: str
    key: str
    until: float
    """Seconds since 1970; after that the room has ended."""


def join(url: str) -> Membership:
    """Joins the room and remembers it; only then leaves the one before.  Raises CannotJoin."""
    parts = urlsplit(url.strip())
    if parts.scheme != "http" or not parts.netloc or not parts.path.startswith("/room/"):
        raise CannotJoin(
            "This is not the address of a room. Your teacher has it; it looks like "
            "http://192.168.1.20:8765/room/CODE"
        )
    address = f"http://{parts.netloc}{parts.path.rstrip('/')}"
    from urllib.error import HTTPError

    try:
        answer = _post(f"{address}/join", {})
        member = Membership(
            address,
            str(answer["alias"]),
            str(answer["key"]),
            time.time() + float(answer["remaining_s"]),
        )
    except HTTPError as error:
        raise CannotJoin(_sentence(error)) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJoin(
            f"The room at {address} does not answer ({error}); check the address, and that you "
            "are in the same network."
        ) from None
    leave()
    file = _file()
    file.write_text(json.dumps(asdict(member)))
    file.chmod(0o600)
    return member


def current() -> Membership | None:
    """The room that this user is in; None if there is none or it has ended."""
    try:
        member = Membership(**json.loads(_file().read_text()))
    except (OSError, ValueError, TypeError, places.Unwritable):
        return None
    if time.time() < member.until:
        return member
    _file().unlink(missing_ok=True)
    return None


def leave() -> Membership | None:
    """Leaves the room, which then forgets all that was reported."""
    member = current()
    _file().unlink(missing_ok=True)
    if member:
        with contextlib.suppress(OSError, ValueError):
            _post(f"{member.url}/leave", {"key": member.key})
    return member


def report(exercises: dict[str, dict[str, Any]]) -> None:
    """Sends these exercises in the background, if the user is in a room; never raises."""
    if (member := current()) is None:
        return
    threading.Thread(target=_report, args=(member, exercises), daemon=True).start()


def _report(member: Membership, exercises: dict[str, dict[str, Any]]) -> None:
    from urllib.error import HTTPError

    try:
        _post(f"{member.url}/report", {"key": member.key, "exercises": exercises})
    except HTTPError as error:
        if error.code in (403, 404):  # the room has ended, or another one has its address
            _file().unlink(missing_ok=True)
    except (OSError, ValueError):
        pass  # the next check reports it, too


def _post(url: str, content: dict[str, Any]) -> dict[str, Any]:
    from urllib.request import ProxyHandler, Request, build_opener  # 30 ms, for those in a room

    kind = {"Content-Type": "application/json"}
    request = Request(url, json.dumps(content).encode(), kind, method="POST")
    opener = build_opener(ProxyHandler({}))  # the room is in the user's own network
    with opener.open(request, timeout=WAIT_S) as answer:
        found: dict[str, Any] = json.loads(answer.read(LARGEST_ANSWER))
        return found


def _sentence(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read(LARGEST_ANSWER))["error"])[:200]
    except (ValueError, KeyError, TypeError, OSError):
        return f"The room refused ({error.code}); ask your teacher for its address."


def _file() -> Path:
    return places.state_dir() / "workshop.json"
