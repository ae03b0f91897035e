"""Message classes are made on first use, each once, whichever threads ask for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from engine.wire import messages

NAMES = ("ProduceResponse", "FetchResponse", "MetadataResponse", "JoinGroupResponse")
THREADS = 8


@pytest.fixture
def eager_switching() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_switching")
@pytest.mark.parametrize("name", NAMES)
def test_threads_that_ask_at_once_get_one_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, name, getattr(messages, name))  # restored at the end
    delattr(messages, name)
    start, found = threading.Barrier(THREADS), []

    def ask() -> None:
        start.wait()
        found.append(getattr(messages, name))

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({*found}) == 1
    assert getattr(messages, name) is found[0]
