"""Time travel over transactions: a commit step by step, and other futures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.client.producer import Producer
from engine.coordinators.transactions.states import TRANSITIONS
from engine.sim.world.world import World
from kit import lab
from kit.film import strip
from kit.transaction_panel import producers, small
from kit.transaction_panel.time_panel import TransactionTimePanel
from tests.kit.film import strips
from tests.kit.transaction_panel.transfers import bank, committed, crashed, transfer


@pytest.fixture(scope="module")
def world() -> World:
    """Panels copy it; do not change it."""
    return crashed()


@pytest.fixture
def panel(world: World) -> TransactionTimePanel:
    return TransactionTimePanel(world, "accounts")


def state(panel: TransactionTimePanel) -> str:
    return panel.scene().ids[0].state


def held(panel: TransactionTimePanel) -> tuple[int, int]:
    """What read_committed has, and what it waits for."""
    reader = panel.scene().reader("read_committed")
    return reader.given, reader.held


def test_the_steps_of_a_commit_come_one_by_one_in_the_courses_order() -> None:
    panel = lab.transactions(committed(), "accounts")
    names = [each for each in panel.names if not each.startswith(("COMMIT", "LSO"))]
    assert names == [
        "start", "add app", "start app", "epoch 0", "app ready", "app begins",
        "+ accounts-0", "Ongoing", "Alice -10",
        "+ accounts-1", "Ongoing + accounts-1", "Bob +10",
        "app sends offsets", "Ongoing + __consumer_offsets-7", "transfers-0: 1",
        "EndTxn commit", "PrepareCommit", "CompleteCommit",
    ]  # fmt: skip
    markers = [each for each in panel.names if each.startswith("COMMIT")]
    assert sorted(markers) == [
        "COMMIT __consumer_offsets-7", "COMMIT accounts-0", "COMMIT accounts-1",
    ]  # fmt: skip


def test_read_committed_waits_at_the_lso_until_the_marker_is_replicated(
    panel: TransactionTimePanel,
) -> None:
    assert panel.jump("EndTxn commit")
    assert panel.scene().reader("read_uncommitted").given == 2
    assert held(panel) == (0, 2)
    assert panel.jump("COMMIT accounts-0")
    row = panel.scene().row("accounts-0")
    assert [each.kind for each in row.cells] == ["data", "commit"]
    assert (row.high_watermark, row.last_stable_offset) == (1, 0)
    assert panel.jump("LSO accounts-0")
    assert panel.scene().row("accounts-0").last_stable_offset == 2
    assert held(panel) == (1, 1)
    assert "read_committed gets Alice -10" in panel.caption


def test_the_coordinators_state_moves_along_the_engines_own_table(
    panel: TransactionTimePanel,
) -> None:
    taken = []
    for place in range(len(panel)):
        panel.go(place)
        taken += [edge for each in panel.scene().ids for edge in each.took]
    assert ("Ongoing", "the producer commits", "PrepareCommit") in taken
    assert ("PrepareCommit", "every partition has its marker", "CompleteCommit") in taken
    known = {(str(before), str(after)) for (before, _), after in TRANSITIONS.items()}
    ways = [(before, after) for before, _, after in taken]
    assert {*ways} <= known
    at = ways.index(("Ongoing", "PrepareEpochFence"))  # the producer that died
    assert ways[at + 1] == ("PrepareEpochFence", "PrepareAbort")
    assert len(panel.film["edges"]) == len(TRANSITIONS)


def test_the_partitions_of_a_decided_transaction_wait_for_their_markers(
    panel: TransactionTimePanel,
) -> None:
    panel.jump("PrepareCommit")
    parts = panel.scene().ids[0].parts
    assert [each.name for each in parts] == ["__consumer_offsets-7", "accounts-0", "accounts-1"]
    assert {each.marker for each in parts} == {"missing"}
    while state(panel) == "PrepareCommit":
        seen = [each.marker for each in panel.scene().ids[0].parts]
        panel.step()
    assert "written" in seen
    assert state(panel) == "CompleteCommit"


def test_a_second_producer_aborts_what_the_dead_one_left(panel: TransactionTimePanel) -> None:
    panel.jump("kill app")
    app = panel.scene().clients[0]
    assert (app.process, state(panel)) == ("killed", "Ongoing")
    assert held(panel) == (2, 1)
    panel.jump("PrepareAbort")
    assert "point of no return" in panel.caption
    panel.jump("CompleteAbort")
    cells = panel.scene().row("accounts-0").cells
    assert [each.fate or each.kind for each in cells] == ["committed", "commit", "aborted", "abort"]
    assert panel.scene().reader("read_committed").skipped == 1
    panel.go(len(panel) - 1)
    assert panel.scene().reader("read_committed").given == 4
    assert panel.scene().reader("read_uncommitted").given == 5


def test_a_zombie_is_fenced_in_another_future(panel: TransactionTimePanel) -> None:
    panel.jump("Bob +10")
    panel.zombie("transfer")
    assert panel.active == 1
    assert panel.jump("app fenced"), panel.names
    fenced = panel.scene().clients[0]
    assert (fenced.name, fenced.is_fenced) == ("app", True)
    assert panel.scene().ids[0].epoch > fenced.epoch
    panel.go(len(panel) - 1)
    reader = panel.scene(1).reader("read_committed")
    assert reader.skipped == 2  # what the zombie had sent
    assert dict(reader.values)["accounts-0"] == ("Alice -20",)
    assert panel.scene(0).reader("read_committed").given == 4


def test_after_a_kill_the_others_do_again_what_they_did(panel: TransactionTimePanel) -> None:
    panel.jump("Alice -10")
    panel.press("kill", "app")
    panel.go(len(panel) - 1)
    assert [each.name for each in panel.scene(1).clients] == ["app", "app-2"]
    assert panel.scene(1).reader("read_committed").given == 2
    panel.forget()
    panel.go(0)
    panel.jump("Alice -10")
    panel.press("kill", "app", keep=False)
    panel.go(len(panel) - 1)
    assert [each.name for each in panel.scene(1).clients] == ["app"]
    assert panel.scene(1).ids[0].state == "Ongoing"


def test_another_coordinator_finishes_what_is_decided(panel: TransactionTimePanel) -> None:
    panel.jump("PrepareCommit")
    coordinator = panel.scene().ids[0].coordinator
    panel.kill(coordinator, keep=False)
    panel.run_on(6)
    panel.go(len(panel) - 1)
    one = panel.scene(1).ids[0]
    assert one.coordinator != coordinator
    assert one.state == "CompleteCommit"
    assert panel.scene(1).reader("read_committed").given == 2
    assert any(each.startswith("coordinator ") for each in panel.names)


def test_a_transaction_that_no_producer_ends_is_aborted_at_its_timeout() -> None:
    world = bank(settings={"transaction.timeout.ms": 2_000})
    transfer(world)
    panel = TransactionTimePanel(world, "accounts")
    panel.go(len(panel) - 1)
    left = panel.scene().ids[0].left_ms
    assert left is not None
    assert 0 < left <= 2_000
    panel.press("kill", "app")
    panel.run_on(20)
    panel.go(len(panel) - 1)
    assert state(panel) == "CompleteAbort"
    assert panel.scene().reader("read_committed").skipped == 2


def test_buttons_act_at_the_end_and_make_another_future_earlier(
    panel: TransactionTimePanel,
) -> None:
    panel.go(len(panel) - 1)
    panel.press("begin", "app-2")
    assert panel.scene().clients[1].state == "InTransaction"
    panel.press("send", "app-2")
    panel.go(len(panel) - 1)
    assert state(panel) == "Ongoing"
    panel.press("offsets", "app-2")
    panel.go(len(panel) - 1)
    panel.press("abort", "app-2")
    panel.go(len(panel) - 1)
    assert state(panel) == "CompleteAbort"
    assert len(panel.film["takes"]) == 1
    panel.go(0)
    panel.jump("Bob +10")
    panel.press("abort", "app")
    assert len(panel.film["takes"]) == 2
    panel.go(len(panel) - 1)
    assert panel.scene(1).ids[0].state == "CompleteAbort"
    panel.forget()
    assert len(panel.film["takes"]) == 1


def test_an_action_in_the_second_timeline_takes_the_place_of_its_future(
    panel: TransactionTimePanel,
) -> None:
    """A fork repeats what the script did later; the first action on it is not refused."""
    panel.jump("Bob +10")
    kept = panel.frame(0).number
    panel.fork()
    assert panel.active == 1
    panel.press("abort", "app")
    assert panel.notice == ""
    assert panel.moment.shows(1) == (1, 1)
    assert panel.frame(0).number == kept
    panel.go(len(panel) - 1)
    assert state(panel) == "CompleteAbort"
    panel.press("begin", "app")
    panel.press("send", "app")
    at = panel.position
    panel.go(len(panel) - 1)
    panel.go(at)
    panel.press("commit", "app")  # in the middle of timeline 2: its past stays
    assert panel.notice == ""
    assert panel.position == at + 1
    panel.go(len(panel) - 1)
    assert state(panel) == "CompleteCommit"
    assert "abort" in " ".join(panel.names).lower()
    numbers = [frame.number for frame in panel._film.takes[1].frames]
    assert numbers == list(range(len(numbers)))


def test_a_button_that_cannot_be_pressed_says_why(panel: TransactionTimePanel) -> None:
    panel.jump("app ready")
    panel.press("commit", "app")
    assert panel.notice == "app is Ready: begin a transaction first."
    panel.jump("EndTxn")
    panel.press("send", "app")
    assert panel.notice == "app waits for commit_transaction to return."
    panel.jump("kill app")
    panel.press("abort", "app")
    assert panel.notice == "app is gone: start another producer."
    panel.press("commit", "nowhere")
    assert panel.notice == "There is no nowhere at this moment."
    panel.start(101)
    assert panel.notice == "Broker 101 is running."
    assert not panel.jump("no such step")
    assert len(panel.film["takes"]) == 1


def test_what_the_browser_asks_for_is_done(panel: TransactionTimePanel) -> None:
    panel.jump("Bob +10")
    panel._hear(None, {"type": "zombie", "id": "transfer"}, [])
    assert len(panel.film["takes"]) == 2
    panel._hear(None, {"type": "forget"}, [])
    panel.jump("PrepareCommit")
    coordinator = panel.scene().ids[0].coordinator
    panel._hear(None, {"type": "broker", "action": "kill", "broker": coordinator}, [])
    assert f"kill {coordinator}" in panel.names
    panel._hear(None, {"type": "forget"}, [])
    answers = []
    panel.send = answers.append
    panel._hear(None, {"type": "fork", "asked": "7"}, [])
    assert "fork" in panel.names
    assert answers == [{"answers": "7"}]


def test_the_same_world_gives_the_same_film_and_is_left_alone(world: World) -> None:
    before = world.events
    one, other = (TransactionTimePanel(world, "accounts") for _ in range(2))
    assert one.film == other.film
    assert world.events == before
    assert len(json.dumps(one.film)) < 400_000


def test_every_step_has_a_sentence(panel: TransactionTimePanel) -> None:
    told: list[Any] = [each for place in range(len(panel)) for _, each in panel._film.told(place)]
    assert all(each.sentence.endswith((".", ": it waits and asks again.")) for each in told)
    standing = [each for each in told[1:] if each.sentence.startswith("transfer is ")]
    assert len([each for each in standing if not each.label]) < len(told) // 8


def test_the_text_tells_what_the_picture_shows(panel: TransactionTimePanel) -> None:
    panel.jump("COMMIT accounts-1")
    told = panel.text
    assert "transfer: PrepareCommit · producer 0, epoch 1 · coordinator" in told
    assert "accounts-1 (HW 1, LSO 0): 0 Bob +10 (committed) · 1 COMMIT" in told
    assert "read_committed: 0 records, 2 held back at the LSO" in told
    bundle = panel._repr_mimebundle_()[0]
    assert bundle["text/plain"] == told
    assert "PrepareCommit" in bundle["image/svg+xml"]
    panel.fork()
    assert "LSO 0" in panel._repr_mimebundle_()[0]["image/svg+xml"]


def test_producers_of_the_engine_itself_are_shown_too() -> None:
    world = World(seed=3, checked=False)
    world.create_topic("orders")
    app = world.add("plain", Producer("plain", world.cluster.spec.brokers,
                                      {"transactional.id": "t", "linger.ms": 0}))  # fmt: skip
    world.tell("plain", "init_transactions")
    world.run(until=lambda _: not app.busy, for_s=30)
    world.tell("plain", "begin_transaction")
    world.tell("plain", "send", "orders", b"A", None, 0)
    world.run(for_s=1)
    panel = TransactionTimePanel(world)
    assert panel.topics == ("orders",)
    panel.go(len(panel) - 1)
    (client,) = panel.scene().clients
    assert (client.id, client.state) == ("t", "InTransaction")
    panel.press("abort", "plain")
    assert panel.notice == "Another program started plain: use it there."
    assert panel.scene().row("orders-0").cells[0].fate == "open"


def test_a_page_for_a_lecture_needs_no_kernel(panel: TransactionTimePanel, tmp_path: Any) -> None:
    page = panel.export(tmp_path / "page.html").read_text("utf-8")
    assert "playAlone" in page
    assert "PrepareCommit" in page
    assert "import " not in page.split('<script type="module">')[1].split("</script>")[0]


def test_start_and_act_are_on_the_tape_so_that_a_world_can_go_back() -> None:
    world = committed()
    events = world.events
    world.goto(event=0)
    world.goto(event=events)
    assert producers.words(world)["app"].state == "Ready"


def test_the_strip_shows_what_the_panel_shows_at_each_of_its_moments(
    panel: TransactionTimePanel,
) -> None:
    assert panel.jump("PrepareCommit")
    found, place = strips.shots(panel._picture()), panel.position
    chosen = strip.chosen(panel._film, place)
    assert 4 <= len(found) == len(chosen) <= strip.MOST
    for at, shown in zip(chosen, found, strict=True):
        panel.go(at)
        scene = panel.scene()
        assert state(panel) in shown.words
        cells = [cell for row in scene.rows for cell in row.cells]
        assert shown.boxes["tc"] == sum(cell.kind == "commit" for cell in cells)
        open_ones = sum(count for name, count in shown.boxes.items() if name[0] == "w")
        assert open_ones == sum(cell.kind == "data" and cell.fate == "open" for cell in cells)
        assert shown.boxes.total() == len(cells)
        own = [row for row in scene.rows if not row.internal]
        before = [sum(cell.offset < row.last_stable_offset for cell in row.cells) for row in own]
        assert shown.lines.get("var(--two)", []) == [
            small.LOG + cells * small.PITCH - 1 for cells in before
        ]
