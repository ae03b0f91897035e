"""The progress panel without a browser and without Spark: its numbers, its words, its end."""

from __future__ import annotations

from xml.etree import ElementTree

from kit.spark_progress import progress
from kit.spark_progress.micro_batches import lag_now, micro_batches
from kit.spark_progress.panel import ProgressPanel
from tests.kit.spark_progress.reports import ToyQuery, idle, report, state

EVENTS = {"watermark": "2026-03-02T08:00:00.000Z", "max": "2026-03-02T08:00:09.500Z"}


def test_lag_is_what_was_there_and_is_not_read_yet() -> None:
    (batch,) = micro_batches([report(0, 40, end=40, latest=100)])
    assert batch.lag == {"orders": 60}
    assert (batch.rows, batch.duration_ms) == (40, 100)
    assert (batch.state_rows, batch.watermark_s) == (None, None)


def test_a_trigger_without_data_is_no_micro_batch_but_tells_the_lag() -> None:
    reports = [report(0, 40, end=40, latest=40), idle(1, end=40, latest=70)]
    assert [each.number for each in micro_batches(reports)] == [0]
    assert lag_now(reports) == {"orders": 30}
    reports.append(report(1, 30, end=70, latest=70))
    assert [each.rows for each in micro_batches(reports)] == [40, 30]


def test_state_and_watermark_come_from_the_operators() -> None:
    more = {"stateOperators": [state(5), state(7, dropped=2)], "eventTime": EVENTS}
    (batch,) = micro_batches([report(3, 10, 10, 10, **more)])
    assert (batch.state_rows, batch.late_rows) == (12, 2)
    assert (batch.newest_event_s or 0) - (batch.watermark_s or 0) == 9.5
    before = {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert micro_batches([report(0, 1, 1, 1, **before)])[0].watermark_s is None


def test_a_source_without_offsets_by_partition_has_no_lag() -> None:
    rate = {"description": "RateStreamV2", "endOffset": "7", "latestOffset": None}
    delta = {"description": "Delta", "endOffset": '{"index": 3}', "latestOffset": None}
    (batch,) = micro_batches([report(0, 7, 0, 0, sources=[rate, delta])])
    assert batch.lag == {}


def test_the_panel_follows_and_keeps_what_spark_forgets() -> None:
    query = ToyQuery(report(0, 40, 40, 100))
    panel = progress(query)
    assert "1 micro-batch, 60 records behind; running, waiting for data" in panel.text
    query.recentProgress = [report(1, 60, 100, 100)]
    panel.refresh()
    assert [each.number for each in panel.batches] == [0, 1]
    assert "0 records behind" in panel.words
    assert 'class="kio-chart"' in panel.picture


def test_the_panel_says_how_the_query_ended_and_asks_no_more() -> None:
    query = ToyQuery(report(0, 40, 40, 40))
    panel = progress(query)
    query.isActive, query.failure = False, RuntimeError("the topic is gone\n at line 1")
    panel.refresh()
    assert panel.text.splitlines()[0].endswith("failed: the topic is gone")
    del query.recentProgress
    panel.refresh()
    assert "failed: the topic is gone" in panel.text


def test_a_stopped_session_is_a_sentence() -> None:
    query = ToyQuery(report(0, 40, 40, 40))
    panel = progress(query)
    del query.recentProgress
    panel.refresh()
    assert "Spark does not answer (AttributeError): was the session stopped?" in panel.words
    assert len(panel.batches) == 1


def said(panel: ProgressPanel) -> set[str | None]:
    """The picture's texts."""
    root = ElementTree.fromstring(panel.picture)
    return {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}


def test_the_picture_is_valid_and_leaves_out_what_is_not_there() -> None:
    plain = said(progress(ToyQuery(report(0, 40, 40, 40))))
    assert {"rows", "lag in records"} <= plain
    assert not {"rows in the state", "event time"} & plain
    more = {"stateOperators": [state(5, dropped=1)], "eventTime": EVENTS}
    panel = progress(ToyQuery(*(report(n, 11, 11 * n, 90, **more) for n in range(60))))
    assert {"rows in the state", "event time", "late, dropped", "addBatch", "25"} <= said(panel)
    assert "10" not in said(panel), "only the newest 40 are drawn"
    assert progress(ToyQuery()).text.endswith("running, waiting for data to arrive")


def test_what_a_notebook_stores_is_still_and_has_words() -> None:
    panel = progress(ToyQuery(report(0, 40, 40, 40)))
    bundle, _ = panel._repr_mimebundle_()
    assert bundle["image/svg+xml"] == panel.picture
    assert bundle["text/plain"] == panel.text
