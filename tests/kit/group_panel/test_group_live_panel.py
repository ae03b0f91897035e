"""The live widget without a browser: presses, traits, the past, and what a notebook stores."""

from __future__ import annotations

from typing import Any

from kit.film.live_panel import LOOKING_BACK
from kit.group_panel.live_panel import GroupPanel
from tests.kit.group_panel.toy_group import ToyCluster, ToyCrew, belief, group_of, line, member


def make(**clients: Any) -> tuple[ToyCluster, ToyCrew, GroupPanel]:
    members = [member(name, each.owned.get("orders", ())) for name, each in clients.items()]
    cluster, crew = ToyCluster(group_of(members) if members else None), ToyCrew(clients)
    return cluster, crew, GroupPanel(cluster, "orders", "g", crew=crew)


def hear(panel: GroupPanel, **content: Any) -> None:
    """What a browser's message does."""
    panel._handle_custom_msg(content, [])


def where(panel: GroupPanel) -> dict[int, tuple[str, str]]:
    return {each["partition"]: (each["seat"], each["kind"]) for each in panel.scene["pieces"]}


def test_the_picture_follows_the_snapshot() -> None:
    cluster, crew, panel = make(A=belief("A", [0, 1]), B=belief("B", [2, 3]))
    assert where(panel)[2] == ("B", "own")
    cluster.group = group_of([member("A", [0, 1, 2]), member("B", [3])], generation=4)
    crew.now |= {"A": belief("A", [0, 1, 2]), "B": belief("B", [3])}
    panel.refresh()
    assert where(panel)[2] == ("A", "own")
    assert ("generation", "4") in panel.scene["facts"]
    assert "A has 0, 1 and 2, B has 3" in panel.scene["caption"]


def test_a_snapshot_that_lies_is_drawn_as_it_lies() -> None:
    cluster, _, panel = make(A=belief("A", [0, 1]), B=belief("B", [2, 3]))
    cluster.group = group_of([member("A", [0, 1, 2, 3]), member("B", [2, 3])])
    panel.refresh()
    drawn = [(each["seat"], each["kind"]) for each in panel.scene["pieces"]
             if each["partition"] == 2]  # fmt: skip
    assert drawn == [("A", "given"), ("B", "own")]


def test_buttons_reach_the_members() -> None:
    _, crew, panel = make(A=belief("A", [0]))
    hear(panel, type="press", action="freeze", name="A")
    hear(panel, type="add", protocol="cooperative-sticky")
    assert crew.calls == [("freeze", "A"), ("add", "cooperative-sticky")]
    panel.press("thaw", "A")
    assert panel.notice == "A is not frozen."
    panel.press("explode", "A")
    assert "There is no button named 'explode'" in panel.notice


def test_buttons_say_why_they_cannot_be_pressed() -> None:
    _, _, panel = make(A=belief("A", [0], "frozen"), B=belief("B", [1], ours=False))
    by_name = {each["name"]: each["buttons"] for each in panel.scene["members"]}
    assert [each["action"] for each in by_name["A"]] == ["remove", "kill", "thaw"]
    assert by_name["A"][0]["refusal"].startswith("A is frozen and cannot leave")
    assert {each["refusal"] for each in by_name["B"]} == {
        "Another program started B: end it there."
    }


def test_looking_back_shows_the_past_and_presses_nothing() -> None:
    _, crew, panel = make(A=belief("A", [0, 1, 2, 3]))
    crew.now["A"] = belief("A", state="killed")
    crew.fresh.append(line(150, "killed", "A"))
    panel.refresh()
    assert where(panel)[0] == ("", "free")
    assert "A was **killed**" in panel.scene["caption"]
    panel.position = 0
    assert where(panel)[0] == ("A", "own")
    panel.press("kill", "A")
    assert (crew.calls, panel.notice) == ([], LOOKING_BACK)
    assert [mark[2] for mark in panel.timeline["marks"]] == ["kill A"]


def test_bars_show_when_a_partition_had_no_reader() -> None:
    _, crew, panel = make(A=belief("A", [0]))
    crew.fresh += [line(10, "assigned", "A", 0), line(50, "reads", "A", 0)]
    panel.refresh()
    crew.now["A"] = belief("A", state="killed")
    crew.fresh.append(line(250, "killed", "A"))
    panel.refresh()
    assert [span[2:] for span in panel.timeline["rows"][0]][-2:] == [
        ["reads", "A"],
        ["stopped", ""],
    ]
    assert "stopped at" in panel.text


def test_trace_lines_of_the_coordinator_lead_to_the_engines_source() -> None:
    cluster, _, panel = make(A=belief("A", [0]))
    cluster.tell("coordinators.classic.rebalance.prepare", "A-id joins",
                 state="PreparingRebalance", generation=3)  # fmt: skip
    cluster.lines[-1]["time_us"] += 200_000
    panel.refresh()
    (told,) = panel.scene["trace"]
    assert told[2] == "PreparingRebalance 3: A joins"
    place = panel.sources[told[5]]
    assert place["place"].startswith("engine/coordinators/classic/rebalance.py:")
    assert place["function"] == "prepare"


def test_a_consumer_of_the_notebook_is_watched_until_it_closes() -> None:
    cluster, _, panel = make()
    consumer = ToyConsumer([("orders", 0, 7)])
    cluster.group = group_of([member("mine", [0])])
    panel.watch(consumer, "mine")
    panel.refresh()
    assert where(panel)[0] == ("mine", "own")
    assert [line[2] for line in panel.scene["trace"]] == [
        "mine gets 0", "mine reads its first record of 0"
    ]  # fmt: skip
    consumer.closed = True
    panel.refresh()
    assert "mine leaves cleanly" in panel.scene["caption"]


def test_a_notebook_stores_the_text_and_a_still_picture() -> None:
    _, _, panel = make(A=belief("A", [0, 1]), B=belief("B", [2, 3]))
    bundle, _ = panel._repr_mimebundle_()
    assert bundle["text/plain"] == panel.text
    assert "Run this cell" in bundle["image/svg+xml"]
    assert "A has 0 and 1, B has 2 and 3" in panel.text


def test_it_ends_its_members_when_it_closes() -> None:
    _, crew, panel = make(A=belief("A"))
    panel.close()
    assert crew.calls == [("close",)]


def test_forty_members_and_sixty_partitions_are_all_there() -> None:
    names = [f"m{number:02}" for number in range(40)]
    owned = {name: [at for at in range(60) if at % 40 == number]
             for number, name in enumerate(names)}  # fmt: skip
    clients = {name: belief(name, owned[name]) for name in names}
    cluster = ToyCluster(group_of([member(name, owned[name]) for name in names]), partitions=60)
    panel = GroupPanel(cluster, "orders", "g", crew=ToyCrew(clients))
    assert len(panel.scene["pieces"]) == 60
    assert "1 to 2 partitions each" in panel.scene["caption"]
    assert "and 16 more members" in panel._repr_mimebundle_()[0]["image/svg+xml"]


class ToyConsumer:
    """A confluent-kafka consumer's answers: (topic, partition, position)."""

    def __init__(self, given: list[tuple[str, int, int]]) -> None:
        self.given, self.closed = [Given(*each) for each in given], False

    def assignment(self) -> list[Any]:
        if self.closed:
            raise RuntimeError("Consumer closed")
        return self.given

    def position(self, given: list[Any]) -> list[Any]:
        return given

    def memberid(self) -> str:
        return "mine-id"


class Given:
    def __init__(self, topic: str, partition: int, offset: int) -> None:
        self.topic, self.partition, self.offset = topic, partition, offset
