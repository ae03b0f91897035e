"""The Cluster panel over a recorded world, as a learner and a lecturer meet it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from engine.sim.world.world import World
from kit.drawings.walkthrough import Walkthrough
from kit.panel.time_panel import TimePanel
from kit.probes.virtual import send
from lessons.nb07_reconciliation.watermark_runs import settled, two_deaths
from tests.kit.panel.panels import at_the_end
from tests.kit.panel.worlds import old_rule

pytestmark = pytest.mark.browser

CELL = """
from kit import lab
from tests.kit.panel.worlds import old_rule
panel = lab.panel(old_rule(), "orders")
panel
"""
YARDSTICK_ELEMENTS = 1_600
"""A frame's script takes at most as long as making so many SVG elements (0.7 of that)."""
FRAMES = 120
FOUR_OR_MORE = re.compile(r"^([4-9]|\d\d+)$")


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=30_000)
    return waiting(locator)


@contextmanager
def panel_in(lab: Any, cell: str = CELL, **context: Any) -> Iterator[tuple[Any, Any]]:
    """A notebook that shows a panel: the open notebook, and the panel in it."""
    with lab.open(lab.notebook(cell), **context) as notebook:
        notebook.run_all()
        panel = notebook.outputs.locator(".time-panel")
        panel.locator(".row").first.wait_for()
        panel.focus()
        yield notebook, panel
        assert notebook.complaints == []


@contextmanager
def page_of(chromium: Any, file: Path, **context: Any) -> Iterator[tuple[Any, list[str]]]:
    """An exported page opened as a file, and every address it asked for."""
    context.setdefault("viewport", {"width": 1180, "height": 1000})
    browser = chromium.new_context(**context)
    page = browser.new_page()
    asked: list[str] = []
    troubles: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    try:
        page.goto(file.as_uri())
        page.locator(".time-panel .row").first.wait_for()
        page.locator(".time-panel").focus()
        yield page, asked
        assert troubles == []
    finally:
        browser.close()


@pytest.fixture(scope="module")
def lecture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported page of a world and its fork, open at the moment where they part."""
    panel = TimePanel(old_rule(), "orders")
    panel.jump("truncation")
    panel.back()
    panel.fork("kip-101")
    panel.jump("truncation")
    return panel.export(tmp_path_factory.mktemp("lecture") / "lecture.html")


def test_a_message_at_a_cut_stands_still_until_the_link_is_mended(
    chromium: Any, tmp_path: Path
) -> None:
    world = settled(101, 103, 102)
    world.cut(101, 103)
    Walkthrough(world).send("A")
    world.run(for_s=0.5)
    panel = TimePanel(world, "orders")
    panel.position = len(panel) - 1
    with page_of(chromium, panel.export(tmp_path / "held.html")) as (page, _):
        held = page.locator(".flight.held")
        expect(held).to_have_count(1)
        expect(page.locator(".says.held")).to_have_text("held: HW 0, record 0")
        stands = held.locator(".dot").get_attribute("transform")
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".caption")).not_to_contain_text(panel.caption.split(":")[0])
        page.keyboard.press("End")
        expect(held.locator(".dot")).to_have_attribute("transform", stands)


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_scrub_to_the_divergence_fork_change_the_rule_see_the_other_ending(
    lab: Any, tmp_path: Path, theme: str
) -> None:
    size = {"width": 1280, "height": 1100}
    with panel_in(lab, theme=theme, viewport=size, reduced_motion="reduce") as (notebook, panel):
        press = notebook.page.keyboard.press
        slider = panel.get_by_role("slider", name="timeline")
        press("x")  # to the first truncation
        expect(panel.locator(".caption")).to_contain_text("103 cuts its log from 2 to 1")
        at = int(slider.input_value())
        slider.fill(str(at - 1))  # scrub to just before it
        expect(panel.locator(".caption")).to_contain_text("The controller elects 102")
        expect(panel.locator('[data-row="103"] .cell')).to_have_count(2)

        panel.get_by_label("truncation rule of the fork").select_option("kip-101")
        panel.get_by_role("button", name="fork here").click()
        expect(panel.locator(".track")).to_have_class(re.compile("two"))
        expect(panel.locator(".caption")).to_contain_text("truncation rule kip-101")
        expect(panel.locator(".compared")).to_contain_text("are the same in both")

        panel.focus()
        press("ArrowRight")
        expect(panel.locator(".compared")).to_contain_text(
            "103 holds A in timeline 1, and A and B in timeline 2."
        )
        press("End")
        expect(panel.locator(".compared")).to_contain_text(
            "B was acknowledged: lost in timeline 1, kept in timeline 2."
        )
        row = panel.locator('[data-row="103"]')
        expect(row.locator(".lane").nth(0).locator(".cell")).to_have_count(1)
        expect(row.locator(".lane").nth(1).locator(".cell")).to_have_count(2)
        expect(row.locator(".cell.differs")).to_have_count(1)
        expect(row.locator(".ghost")).to_have_count(1)
        panel.screenshot(path=tmp_path / f"other-ending-{theme}.png")


def test_the_keyboard_steps_plays_and_opens_the_source(lab: Any) -> None:
    with panel_in(lab) as (notebook, panel):
        press = notebook.page.keyboard.press
        slider = panel.get_by_role("slider", name="timeline")
        press("ArrowRight")
        press("ArrowRight")
        expect(slider).to_have_value("2")
        press("ArrowLeft")
        expect(slider).to_have_value("1")
        press("n")
        expect(panel.locator(".caption")).to_contain_text("101 is killed")
        press("Shift+N")
        expect(panel.locator(".notice")).to_contain_text("There is no fault before this moment.")
        press("x")
        press("o")
        source = panel.locator(".source")
        expect(source.locator("h4")).to_contain_text("engine/replication/")
        expect(source.locator(".here")).to_contain_text("trace(")
        press("Escape")
        expect(source).to_have_count(0)
        press("+")
        press("+")
        expect(panel.get_by_label("speed")).to_have_value("4")
        press("Home")
        press("Space")
        expect(slider).to_have_value(FOUR_OR_MORE)  # it does not stand still while we look
        press("Space")
        expect(panel.get_by_role("button", name="stop playing")).to_have_count(0)
        press("Home")
        press("t")
        expect(panel.locator("pre.reading")).to_contain_text("101, leader, running")
        # none of these letters has reached the notebook's own shortcuts
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 1


def test_a_trace_line_opens_the_engines_source_at_its_line(lab: Any) -> None:
    with panel_in(lab, reduced_motion="reduce") as (notebook, panel):
        notebook.page.keyboard.press("x")
        line = panel.locator("aside button.now", has_text="truncate 2 → 1")
        line.click()
        expect(line).to_have_attribute("aria-expanded", "true")
        place = panel.locator(".source h4 code").inner_text()
        file, number = place.split(":")
        text = (Path(__file__).parents[2] / file).read_text("utf-8").splitlines()
        here = panel.locator(".source .here").inner_text().split(maxsplit=1)
        assert here[0] == number
        assert here[1].strip() == text[int(number) - 1].strip()
        assert '"truncate"' in here[1]


def test_a_kill_in_the_past_makes_a_second_timeline(lab: Any) -> None:
    with panel_in(lab, reduced_motion="reduce") as (notebook, panel):
        notebook.page.keyboard.press("n")
        notebook.page.keyboard.press("ArrowLeft")
        panel.locator('[data-row="102"]').get_by_role("button", name="kill 102").click()
        expect(panel.locator(".track")).to_have_class(re.compile("two"))
        expect(panel.locator('[data-row="102"] .standing.take2')).to_contain_text("killed")
        expect(panel.locator('[data-row="102"] .standing.take1')).not_to_contain_text("killed")
        panel.get_by_role("button", name="drop 2").click()
        expect(panel.locator(".track.two")).to_have_count(0)


def test_messages_move_by_virtual_time_and_say_what_they_carry(
    chromium: Any, lecture: Path
) -> None:
    with page_of(chromium, lecture) as (page, _):
        page.keyboard.press("Home")
        page.keyboard.press("-")  # half speed: a busy machine draws few frames
        most: list[Any] = []
        for _ in range(8):
            seen = page.evaluate(FLYING)  # takes a step, and looks while its message flies
            assert all(0 <= share <= 1 and far < 2 for share, far in seen)  # where the clock says
            most = max(most, sorted({share for share, _ in seen}), key=len)
        assert len(most) > 2  # and it is seen in several places on its way
        page.keyboard.press("n")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        assert page.locator(".says").count() > 0


def test_the_exported_page_plays_alone_and_asks_for_nothing(chromium: Any, lecture: Path) -> None:
    with page_of(chromium, lecture, reduced_motion="reduce") as (page, asked):
        panel = page.locator(".time-panel")
        expect(panel.locator(".compared")).to_contain_text("103 holds A in timeline 1")
        page.keyboard.press("End")
        expect(panel.locator(".compared")).to_contain_text("lost in timeline 1, kept in timeline 2")
        panel.locator("aside button.now").first.click()
        expect(panel.locator(".source .here")).to_have_count(1)
        panel.get_by_role("button", name="fork here").click(force=True)
        expect(panel.locator(".notice")).to_contain_text("a recording without an engine")
        slider = panel.get_by_role("slider", name="timeline")
        slider.fill("1")
        expect(panel.locator(".caption")).to_contain_text("101 appends A at offset 0")
        assert asked == [lecture.as_uri()]


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_it_fits_and_reads_in_both_themes(
    chromium: Any, lecture: Path, tmp_path: Path, theme: str
) -> None:
    with page_of(chromium, lecture, color_scheme=theme, reduced_motion="reduce") as (page, _):
        panel = page.locator(".time-panel")
        page.keyboard.press("o")
        for width, mode in ((1180, "wide"), (760, "mid"), (420, "narrow")):
            page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            panel.screenshot(path=tmp_path / f"time-{theme}-{width}.png")
            paper = panel.evaluate("panel => getComputedStyle(panel).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (theme == "light")
            assert panel.evaluate(OUTSIDE) == []


def a_follower_far_behind() -> TimePanel:
    """103 was cut off after 1,200 records, the others have 40 more: its marks are out of view."""
    world = settled(101, 102, 103)
    send(world, "orders", *map(str, range(1_200)))
    world.run(for_s=1)
    world.cut(101, 103)
    world.load("orders", count=40, period_us=8_000)
    world.run(for_s=3)
    return at_the_end(world)


def two_timelines_with_an_empty_log() -> TimePanel:
    """101 is back, fenced still, and in one timeline has cut its whole log."""
    panel = TimePanel(two_deaths(), "orders")
    panel.jump("parted")
    panel.fork("to-high-watermark")
    while (
        not panel.caption.endswith("cut at the own high watermark.") or panel.scene(1).rows[0].cells
    ):
        panel.step()
    return panel


def nothing_written() -> TimePanel:
    return TimePanel(settled(101, 102, 103), "orders")


@pytest.mark.parametrize(
    "make", [two_timelines_with_an_empty_log, a_follower_far_behind, nothing_written]
)
def test_marks_touch_neither_the_broker_nor_each_other(
    chromium: Any, tmp_path: Path, make: Callable[[], TimePanel]
) -> None:
    with page_of(chromium, make().export(tmp_path / "m.html"), reduced_motion="reduce") as (
        page,
        _,
    ):
        panel = page.locator(".time-panel")
        for width, mode in ((1180, "wide"), (760, "mid"), (420, "narrow")):
            page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            assert panel.evaluate(TOUCHING) == [], width


def test_however_narrow_the_newest_record_is_in_view(chromium: Any, tmp_path: Path) -> None:
    file = a_follower_far_behind().export(tmp_path / "narrow.html")
    with page_of(chromium, file, reduced_motion="reduce") as (page, _):
        for width, mode in ((760, "mid"), (420, "narrow")):
            page.set_viewport_size({"width": width, "height": 1000})
            expect(page.locator(".time-panel")).to_have_class(re.compile(mode))
            newest = page.locator('[data-row="101"] .cell').last.locator("title")
            expect(newest).to_have_text(re.compile("offset 1239,"))


def test_it_has_names_for_those_who_cannot_see_it(lab: Any) -> None:
    with panel_in(lab) as (notebook, panel):
        expect(notebook.page.get_by_role("group", name="time travel")).to_be_visible()
        expect(panel.locator(".caption")).to_have_attribute("aria-live", "polite")
        slider = panel.get_by_role("slider", name="timeline")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("step 0 of .*seconds: "))
        unnamed = panel.evaluate(
            "panel => [...panel.querySelectorAll('button, input, select')]"
            ".filter(part => !part.ariaLabel && !part.textContent.trim() && !part.labels?.length)"
            ".length"
        )
        assert unnamed == 0
        expect(panel.get_by_role("note", name="legend")).to_contain_text(
            "this broker does not yet know that it is committed"
        )
        for word in ("leader", "epoch", "ISR", "rule"):
            meaning = panel.locator("header .fact", has_text=word).first
            expect(meaning).to_have_attribute("data-tip", re.compile(r"\w+ .*\."))


@pytest.mark.full
def test_nothing_moves_for_those_who_asked_for_that(chromium: Any, lecture: Path) -> None:
    with page_of(chromium, lecture, reduced_motion="reduce") as (page, _):
        panel = page.locator(".time-panel")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
            assert panel.evaluate("panel => panel.getAnimations({subtree: true}).length") == 0
            assert page.locator(".flight.waiting").count() == 0


@pytest.mark.full
def test_with_five_brokers_and_three_partitions_a_frame_takes_little_script(
    chromium: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(seed=5, brokers=5)
    world.create_topic("orders", partitions=3, replicas=5)
    world.load("orders", count=90, period_us=8_000)
    world.run(for_s=0.5)
    world.kill(world.leader("orders", 0))
    world.run(for_s=3)
    panel = TimePanel(world, "orders")
    panel.position = 20
    panel.fork("to-high-watermark")
    panel.position = 0
    file = panel.export(tmp_path / "five.html")
    with page_of(chromium, file, reduced_motion="reduce") as (page, _):
        assert page.locator(".row").count() == 5
        assert page.get_by_role("tab").count() == 3
        meter = page.context.new_cdp_session(page)
        meter.send("Performance.enable", {"timeDomain": "threadTicks"})
        processor_ms, clock_ms, yardstick_ms = [], [], []
        for _ in range(FRAMES):
            before = script_s(meter)
            clock_ms += page.evaluate(STEP)
            between = script_s(meter)
            processor_ms.append((between - before) * 1000)
            page.evaluate(YARDSTICK, YARDSTICK_ELEMENTS)
            yardstick_ms.append((script_s(meter) - between) * 1000)
        assert page.locator(".compared").count() == 1  # most of them with two timelines
    with capsys.disabled():
        print(
            f"\nscript a frame, 95th percentile of {FRAMES}: {p95(processor_ms):.1f} ms of the "
            f"processor, {p95(clock_ms):.1f} ms by the clock (median {median(clock_ms):.1f}); "
            f"the yardstick {p95(yardstick_ms):.1f} ms (median {median(yardstick_ms):.1f})"
        )
    assert p95(processor_ms) <= p95(yardstick_ms)
    assert median(clock_ms) <= median(yardstick_ms)


def script_s(meter: Any) -> float:
    """The processor time that the page's script has used: others use the machine as well."""
    metrics = meter.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


def p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


FLYING = """async () => {
    const panel = document.querySelector(".time-panel"), seen = [];
    const told = () => panel.querySelector(".clock").textContent.split(" ")[0];
    const clock = () => Math.round(Number(told()) * 1e6);
    const bow = ([a, b, c, d], share, i) => {
        const rest = 1 - share;
        return rest**3 * a[i] + 3 * rest**2 * share * b[i]
            + 3 * rest * share**2 * c[i] + share**3 * d[i];
    };
    panel.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    for (let frame = 0; frame < 40 && seen.length < 12; frame++) {
        await new Promise(requestAnimationFrame);
        const flight = panel.querySelector(".flight:not(.waiting):not(.there)");
        if (!flight) continue;
        const [sent, arrives, points] = JSON.parse(flight.dataset.flight);
        const [x, y] = flight.lastChild.getAttribute("transform").match(/[-\\d.]+/g).map(Number);
        const share = (clock() - sent) / (arrives - sent);
        const far = Math.hypot(x - bow(points, share, 0), y - bow(points, share, 1));
        seen.push([share, far]);
    }
    return seen;
}"""
YARDSTICK = """(count) => new Promise((done) => requestAnimationFrame(() => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (let at = 0; at < count; at++) {
        const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        rect.setAttribute("x", at * 1.5);
        rect.setAttribute("class", `cell ${at % 7}`);
        svg.append(rect);
    }
    requestAnimationFrame(() => done(svg.childNodes.length));
}))"""
STEP = """async () => {
    const panel = document.querySelector(".time-panel");
    panel.drawn.length = 0;
    panel.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    for (let wait = 0; wait < 2; wait++) await new Promise(requestAnimationFrame);
    return [...panel.drawn];
}"""
TOUCHING = """panel => {
    const box = part => part.getBoundingClientRect(), found = [];
    const near = (a, b) => a.left < b.right + 4 && b.left < a.right + 4
        && a.top < b.bottom && b.top < a.bottom;
    const words = [...panel.querySelectorAll(".mark text")];
    const others = [...panel.querySelectorAll(".card"), ...panel.querySelectorAll(".standing > *")];
    for (const word of words)
        for (const other of [...others, ...words.filter(each => each !== word)])
            if (near(box(word), box(other))) found.push([word.textContent, other.textContent]);
    for (const part of panel.querySelectorAll(".standing > *"))
        if (box(part).right > box(part.closest(".card")).right) found.push(part.textContent);
    return found;
}"""
OUTSIDE = """panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    const parts = ".lane, .card, .mark, header, footer, .says, .deck, .standing";
    return [...panel.querySelectorAll(parts)]
        .filter(part => part.getBoundingClientRect().right > edge)
        .map(part => part.getAttribute("class") + " " + part.textContent.slice(0, 40));
}"""
