"""A listener hears each message of a world once as it leaves and once as it arrives."""

from __future__ import annotations

from collections import Counter

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Answer
from tests.engine.sim.loaded import loaded


def test_an_answer_to_a_paused_follower_is_heard_once() -> None:
    world = loaded()
    heard: Counter[int] = Counter()

    def listen(what: Sent | Arrived) -> None:
        if isinstance(what, Arrived) and isinstance(what.message, Answer):
            heard[what.message.number] += 1

    world.listen(listen)
    world.pause(102)
    world.run(for_s=0.3)
    world.resume(102)
    world.run(for_s=0.3)
    world.unlisten(listen)
    assert set(heard.values()) == {1}
    count = heard.total()
    world.run(for_s=0.3)
    assert heard.total() == count
