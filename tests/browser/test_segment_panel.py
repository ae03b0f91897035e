"""The Segment panel as a learner meets it: the files of a running engine, byte by byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

LIVE = """
from confluent_kafka import Producer
from kit import lab

cluster = lab.engine(private=True, settings=lab.BRISK)
config = {"internal.segment.bytes": 3000, "index.interval.bytes": 200}
cluster.create_topic("orders", partitions=1, config=config)
producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0})

def write(first, count):
    for number in range(first, first + count):
        producer.produce("orders", f"order {number}", key=f"k{number % 3}")
        producer.flush()

write(0, 60)
panel = lab.segments(cluster, "orders")
panel
"""
MORE = "write(60, 1)"
TOY = """
import pathlib, tempfile
from kit.segment_panel.panel import SegmentPanel
from tests.kit.segment_panel.toy_cluster import ToyCluster
from tests.kit.segment_panel.toy_log import written

root = pathlib.Path(tempfile.mkdtemp())
(root / "101").mkdir()
written(root / "101", batches=BATCHES, per_batch=PER_BATCH, compressions=(0, 4))
panel = SegmentPanel(ToyCluster(root), "orders")
panel.look_up(offset=BATCHES * PER_BATCH // 3)
panel.go(3)
panel
"""

WORLD = """
from kit import lab
from tests.kit.panel.worlds import divergent

panel = lab.segments(divergent(), "orders", broker=101)
panel.goto(0)
panel
"""


@contextmanager
def panel_in(lab: Any, *cells: str, **context: Any) -> Iterator[tuple[Any, Any]]:
    """A notebook whose first cell shows a panel: the open notebook, and the panel in it."""
    with lab.open(lab.notebook(*cells), **context) as notebook:
        notebook.run(0)
        panel = notebook.outputs.locator(".segment-panel")
        panel.locator(".folder").wait_for()
        yield notebook, panel
        assert notebook.complaints == []


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=60_000)
    return waiting(locator)


def test_it_follows_the_log_and_walks_through_its_batches(lab: Any) -> None:
    with panel_in(lab, LIVE, MORE) as (notebook, panel):
        top = panel.locator(".batch h4")
        expect(top).to_have_text("Batch 59")
        assert panel.locator(".row").count() > 1
        notebook.run(1)
        expect(top).to_have_text("Batch 60")
        panel.focus()
        notebook.page.keyboard.press("ArrowLeft")
        expect(top).to_have_text("Batch 59")
        notebook.page.keyboard.press("Home")
        expect(top).to_have_text("Batch 0")
        expect(panel.locator(".grid .character", has_text="k").first).to_be_visible()
        panel.locator(".row").last.locator(".label").click()
        expect(top).not_to_have_text("Batch 0")
        notebook.page.keyboard.press("f")
        expect(panel.locator("header")).to_contain_text("follows the newest batch")
        # none of these letters has reached the notebook's own shortcuts
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2


def test_pointing_at_a_byte_and_the_arrow_keys_tell_its_meaning(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        readout = panel.locator(".readout")
        panel.locator('.grid [data-field="4"]').hover()
        expect(readout).to_contain_text("CRC-32C")
        expect(readout).to_contain_text("it agrees")
        expect(panel.locator('.list [data-field="4"]')).to_have_class(re.compile("hit"))
        notebook.page.mouse.move(0, 0)
        panel.focus()
        for _ in range(3):
            notebook.page.keyboard.press("ArrowDown")
        expect(readout).to_contain_text("leader epoch")
        focused = panel.evaluate("() => document.activeElement.getAttribute('aria-label')")
        assert focused.startswith("bytes 12–15: leader epoch = 0.")


def test_a_look_up_is_gone_through_step_by_step(lab: Any) -> None:
    with panel_in(lab, LIVE) as (notebook, panel):
        panel.focus()
        notebook.page.keyboard.press("l")
        notebook.page.keyboard.type("7")
        notebook.page.keyboard.press("Enter")
        expect(panel.locator(".batch h4")).to_have_text("Batch 7")
        expect(panel.locator(".count")).to_contain_text("step 1 of")
        panel.get_by_role("button", name="The next step (N)").click()
        expect(panel.locator(".entry.probed")).to_have_count(1)
        expect(panel.locator(".steps .now")).to_contain_text("read 8 B at")
        expect(panel.locator(".caption")).to_contain_text("Entry")
        panel.get_by_role("button", name="The answer").click()
        expect(panel.locator(".caption")).to_contain_text("Offset 7 is in the batch 7")
        assert panel.locator(".bar .passed").count() >= 1
        panel.focus()
        notebook.page.keyboard.press("p")
        expect(panel.locator(".bar .passed.now")).to_have_count(1)
        notebook.page.keyboard.press("t")
        expect(panel.locator("footer pre")).to_contain_text("look-up of offset 7")
        panel.get_by_role("button", name="clear").click()
        expect(panel.locator(".steps")).to_have_count(0)


def test_another_brokers_files_are_chosen_in_the_heading(lab: Any) -> None:
    with panel_in(lab, LIVE) as (_, panel):
        chooser = panel.get_by_role("combobox", name="broker")
        now = chooser.input_value()
        other = "102" if now != "102" else "103"
        chooser.select_option(other)
        expect(panel.locator("header .fact", has_text="replica")).to_have_text("replica follower")
        expect(panel.locator(".batch h4")).to_have_text("Batch 59")


def test_a_recorded_world_goes_through_its_moments(lab: Any) -> None:
    with panel_in(lab, WORLD) as (notebook, panel):
        expect(panel.locator(".caption")).to_contain_text("has no folder")
        clock = panel.locator(".travel .clock")
        expect(clock).to_have_text("0.000 s")
        panel.focus()
        notebook.page.keyboard.press("]")
        expect(clock).not_to_have_text("0.000 s")
        panel.get_by_role("button", name="The end").click()
        expect(panel.locator(".batch h4")).to_contain_text("Batch")
        expect(panel.locator(".travel")).to_contain_text(re.compile(r"moment (\d+) of \1"))
        panel.get_by_role("slider", name="timeline").fill("0")
        expect(panel.locator(".caption")).to_contain_text("has no folder")
        panel.focus()
        notebook.page.keyboard.press(" ")
        expect(panel.locator(".batch h4")).to_be_visible()
        notebook.page.keyboard.press(" ")


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
@pytest.mark.parametrize(
    ("batches", "per_batch"),
    [
        pytest.param(1, 1, marks=pytest.mark.full),
        pytest.param(60, 2, marks=pytest.mark.full),
        (400, 5),
    ],
)
def test_it_fits_and_reads_in_both_themes(
    lab: Any, tmp_path: Path, theme: str, batches: int, per_batch: int
) -> None:
    cell = f"BATCHES, PER_BATCH = {batches}, {per_batch}\n{TOY}"
    with panel_in(lab, cell, theme=theme) as (notebook, panel):
        for width, mode in ((1440, "wide"), (900, "mid"), (512, "narrow")):
            notebook.page.set_viewport_size({"width": width, "height": 1000})
            expect(panel).to_have_class(re.compile(mode))
            panel.screenshot(path=tmp_path / f"segment-{theme}-{batches}-{width}.png")
            assert panel.evaluate(PARTS_OUTSIDE) == []
            assert panel.evaluate(OVERLAPPING) == 0


@pytest.mark.full
def test_nothing_moves_for_those_who_asked_for_that(lab: Any) -> None:
    cell = f"BATCHES, PER_BATCH = 60, 2\n{TOY}"
    with panel_in(lab, cell, reduced_motion="reduce") as (notebook, panel):
        panel.focus()
        for _ in range(4):
            notebook.page.keyboard.press("n")
        assert panel.evaluate("panel => panel.getAnimations({subtree: true}).length") == 0


def test_it_has_a_name_and_a_voice_for_those_who_cannot_see_it(lab: Any) -> None:
    with panel_in(lab, f"BATCHES, PER_BATCH = 60, 2\n{TOY}") as (notebook, panel):
        expect(notebook.page.get_by_role("group", name="Segment panel")).to_be_visible()
        expect(panel.locator(".caption")).to_have_attribute("aria-live", "polite")
        expect(panel.get_by_role("option", name="bytes 0–7: base offset").first).to_be_visible()
        unnamed = panel.evaluate(
            "panel => [...panel.querySelectorAll('button, input, select')]"
            ".filter(part => !part.ariaLabel && !part.textContent.trim()).length"
        )
        assert unnamed == 0


PARTS_OUTSIDE = """panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    const parts = ".bar, .file, .grid, .entry, .list, header, footer, .deck > *, .ask > *";
    return [...panel.querySelectorAll(parts)]
        .filter(part => part.getBoundingClientRect().right > edge)
        .map(part => part.getAttribute("class"));
}"""
OVERLAPPING = """panel => {
    const boxes = [...panel.querySelectorAll(".grid .face")]
        .map(face => face.getBoundingClientRect());
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    return boxes.flatMap((a, at) => boxes.slice(at + 1).filter(b => !apart(a, b))).length;
}"""
