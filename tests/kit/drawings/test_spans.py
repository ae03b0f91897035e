"""What held from when to when, as a picture and in words, and how a world is watched for it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from kit import lab
from kit.drawings.axes import spoken
from kit.drawings.spans import Spans
from kit.drawings.watched import Watched
from kit.probes.virtual import isr

ROWS = {"up": [(0.0, 4.0), (6.0, 10.0)], "a zombie": [(4.0, 6.0)], "lost": []}


def bars(svg: str) -> list[ET.Element]:
    return [each for each in ET.fromstring(svg).iter() if each.get("rx") == "3"]


def test_each_time_has_a_bar_and_a_row_without_one_says_so() -> None:
    drawn = Spans("A member", ROWS, x="seconds", marks={4.0: "thrown out"}, bad=["a zombie"])
    assert drawn.text.splitlines() == [
        "A member (seconds)",
        "up: from 0 to 4; from 6 to 10",
        "a zombie: from 4 to 6",
        "lost: never",
        "at 4: thrown out",
    ]
    first, second, zombie = bars(drawn.svg())
    assert float(second.get("x", 0)) > float(zombie.get("x", 0)) > float(first.get("x", 0))
    assert float(first.get("width", 0)) == 2 * float(zombie.get("width", 0))
    assert zombie.get("fill", "").startswith("url(#")
    assert {first.get("fill"), second.get("fill")} == {"var(--bar)"}


def test_the_same_axis_for_several_runs() -> None:
    short = Spans("A", {"up": [(0.0, 4.0)]}, until=60)
    (bar,) = bars(short.svg())
    (whole,) = bars(Spans("A", {"up": [(0.0, 60.0)]}, until=60).svg())
    assert abs(float(bar.get("width", 0)) * 15 - float(whole.get("width", 0))) < 1


def test_many_times_are_counted() -> None:
    rows = {"an entry": [(at, at + 1.0) for at in range(0, 90, 10)]}
    assert Spans("An index", rows).text.endswith("an entry: 9 times, from 0 to 81")


def test_a_moment_is_a_tick() -> None:
    drawn = Spans("An index", {"an entry": [(1.0, 1.0), (2.0, 2.0), (3.0, 4.0)]})
    assert len(bars(drawn.svg())) == 1
    (path,) = [each.get("d", "") for each in ET.fromstring(drawn.svg()).iter()
               if each.get("stroke") == "var(--bar)"]  # fmt: skip
    assert path.count("M") == 2


def test_marks_with_long_words_do_not_meet() -> None:
    marks = {1.0: "the reader goes on", 1.5: "the reader goes on"}
    root = ET.fromstring(Spans("A", ROWS, marks=marks).svg())
    words = [each for each in root.iter() if each.text == "the reader goes on"]
    assert len({each.get("y") for each in words}) == 2


def test_an_empty_picture_is_one() -> None:
    assert Spans("Nothing", {}).text == "Nothing"
    assert bars(Spans("Nothing", {}).svg()) == []


def test_a_world_is_watched_event_by_event() -> None:
    world = lab.world(seed=6, settings={"replica.lag.time.max.ms": 2_000})
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    world.run(for_s=2)
    watched = Watched(world, {
        "paused": lambda w: w.cluster.states[103] == "paused",
        "in the ISR": lambda w: 103 in isr(w, "orders"),
        "never": lambda w: False,
    })  # fmt: skip
    world.pause(103)
    assert watched.run(lambda w: 103 not in isr(w, "orders"), for_s=9) is True
    left_s = watched.now
    watched.mark("out")
    world.resume(103)
    watched.run(for_s=10 - left_s)
    (paused,) = watched.spans("").rows["paused"]
    first, second = watched.spans("").rows["in the ISR"]
    assert paused[0] <= 0.01
    assert abs(paused[1] - left_s) < 0.1
    assert first == (0.0, left_s)
    assert left_s < second[0] < second[1] == 10.0
    assert watched.lasted("in the ISR") == sum(end - start for start, end in (first, second))
    assert watched.spans("").text.splitlines()[-2:] == ["never: never", f"at {spoken(left_s)}: out"]
