"""The fleet's pipeline: every number is the generator's, after kills and repeated batches, too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from kit.clusters.interface import Cluster
from labs.fleet.records import PAYMENTS, POSITIONS, Fleet
from labs.fleet.truth import Truth
from labs.L1_telemetry_pipeline.layers import clean_log
from labs.pipeline import balance, command, driver, layers
from labs.pipeline.delta import DeltaStorage
from labs.pipeline.events import FIRST, MENDED
from labs.pipeline.tables import GOLD, MINUTES, PAID, STATES, Place
from tests.real_clusters import restored

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

UNSAFE_VACUUM = "spark.databricks.delta.retentionDurationCheck.enabled"
FLEET = Fleet(events=3_000, seed=11, malformed=0.03, duplicate=0.05)


WAYS = [
    ("engine", "delta"),
    pytest.param("engine", "parquet", marks=pytest.mark.full),
    pytest.param("local", "delta", marks=[pytest.mark.real, pytest.mark.full]),
]


@pytest.fixture
def cluster(request: pytest.FixtureRequest, source: str) -> Iterator[Cluster]:
    with restored(request.getfixturevalue(f"{source}_cluster")) as cluster:
        yield cluster


@pytest.mark.parametrize(("source", "format"), WAYS)
def test_a_killed_broker_a_killed_driver_and_a_replay_leave_the_true_numbers(
    cluster: Cluster, tmp_path: Path, source: str, format: str
) -> None:
    """Bronze is compacted when silver has read a part of it, and silver before gold reads it."""
    truth = command.produce(cluster, FLEET)
    told: list[str] = []
    options = ("--batch", "1500", "--compact", "--format", format)
    command.with_kills(cluster, tmp_path, *options, "--parser", FIRST.name, tell=told.append)
    assert [line for line in told if line.startswith("killed")] == [
        "killed broker 103", "killed the driver",
    ]  # fmt: skip
    report = tmp_path / "report.json"
    more = ("--parser", MENDED.name, "--replay", "--report", str(report))
    assert command.drive(cluster, tmp_path, *options, *more, tell=told.append) == 0
    found = json.loads(report.read_text())
    assert wrong(found["tables"], truth) == [], "\n".join(told)
    assert not any("behind" in line for line in told)
    assert found["tables"]["late"] == {}
    # Silver reads bronze in steps, so its watermark moves while it reads.
    assert any(line.startswith("silver positions 1:") for line in told), "\n".join(told)
    compacted = [line.split(" of ")[0] for line in told if line.startswith("compacted bronze")]
    assert compacted[:1] == (["compacted bronze: 2 files"] if format == "delta" else [])


@pytest.mark.full
def test_a_micro_batch_that_comes_twice_is_written_once(spark: Any, tmp_path: Path) -> None:
    """Each sink of `foreachBatch` gets its batch again, as after a crash before the commit."""
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "a query")
    delta, place = DeltaStorage(spark), Place(tmp_path)
    positions = spark.sql("SELECT 'truck-01' truck, timestamp_millis(0) event_time, 80 speed_kmh")
    orders = spark.sql("SELECT 'order-1' order_id, 2 revision, 'loaded' status")
    payments = spark.sql("SELECT 'p1' event_id, 'order-1' order_id, 500L cents")
    batches = {MINUTES: positions, STATES: orders, PAID: payments}
    for name, gold in GOLD.items():
        delta.create(gold, place.gold(name))
    for _ in range(2):
        delta.append(positions, place.silver(POSITIONS), 7)
        for name, gold in GOLD.items():
            delta.merge(gold, batches[name], place.gold(name), 7)
    delta.merge(GOLD[MINUTES], positions, place.gold(MINUTES), 8)

    def rows(path: str, *columns: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in delta.read(path).select(*columns).collect()]

    assert rows(place.silver(POSITIONS), "truck", "speed_kmh") == [("truck-01", 80)]
    assert rows(place.gold(MINUTES), "positions", "total_kmh") == [(2, 160)]
    assert rows(place.gold(STATES), "revision", "status") == [(2, "loaded")]
    assert rows(place.gold(PAID), "cents") == [(500,)]


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([["p1", "p2"]], marks=pytest.mark.full),
        pytest.param([["p1"], ["p2"]], marks=pytest.mark.full),
        [["p2"], ["p1", "p2"]],
    ],
)
def test_an_order_may_have_several_payments_in_any_micro_batches(
    spark: Any, tmp_path: Path, batches: list[list[str]]
) -> None:
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "a query")
    delta, place, cents = DeltaStorage(spark), Place(tmp_path), {"p1": 100, "p2": 250}
    delta.create(GOLD[PAID], place.gold(PAID))
    for number, batch in enumerate(batches):
        found = [(payment, "order-1", cents[payment]) for payment in batch]
        columns = "event_id STRING, order_id STRING, cents BIGINT"
        delta.merge(GOLD[PAID], spark.createDataFrame(found, columns), place.gold(PAID), number)
    paid = delta.read(place.gold(PAID)).groupBy("order_id").agg({"cents": "sum"}).collect()
    assert [tuple(row) for row in paid] == [("order-1", 350)]


class FollowedTable:
    """A Delta table with two rows in each commit, and a query that reads it in steps."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.delta = DeltaStorage(spark)
        self.path, self.checkpoint = str(folder / "bronze"), str(folder / "checkpoint")
        self.read: list[list[int]] = []

    def commit(self, *numbers: int) -> None:
        for number in numbers:
            rows = self.delta.session.range(10 * number, 10 * number + 2, numPartitions=1)
            rows.write.format("delta").mode("append").save(self.path)

    def go_on(self) -> None:
        def note(batch: Any, number: int) -> None:
            self.read.append([row.id for row in batch.collect()])

        query = self.delta.stream(self.path, "id BIGINT").writeStream.foreachBatch(note)
        query = query.option("checkpointLocation", self.checkpoint)
        query.trigger(availableNow=True).start().awaitTermination()


@pytest.mark.full
def test_a_stream_in_the_middle_of_a_table_passes_over_its_compaction(
    spark: Any, tmp_path: Path
) -> None:
    """Neither a row again, nor another order, though its next files are written into one."""
    table = FollowedTable(spark, tmp_path)
    table.commit(0, 1)
    table.go_on()
    table.commit(2, 3)
    compacted = table.delta.compact(table.path)
    assert compacted is not None
    assert (compacted.files_before, compacted.files_after) == (4, 1)
    table.go_on()
    assert table.delta.compact(table.path) is None
    table.commit(4)
    table.go_on()
    assert table.read == [[10 * number, 10 * number + 1] for number in range(5)]


@pytest.mark.parametrize("lost", ["commits", pytest.param("files", marks=pytest.mark.full)])
@pytest.mark.full
def test_a_table_whose_history_is_gone_is_read_from_what_it_is_now(
    spark: Any, tmp_path: Path, lost: str
) -> None:
    """Its log was cleaned, as after 30 days, or VACUUM deleted what OPTIMIZE had left behind."""
    table = FollowedTable(spark, tmp_path)
    table.commit(0, 1, 2, 3)
    if lost == "commits":
        assert len(clean_log(spark, table.path)) == 2, "the newest commit, and the checkpoint"
    else:
        assert table.delta.compact(table.path) is not None
        spark.conf.set(UNSAFE_VACUUM, "false")
        spark.sql(f"VACUUM delta.`{table.path}` RETAIN 0 HOURS")
        spark.conf.unset(UNSAFE_VACUUM)
    table.go_on()
    table.commit(4)
    table.go_on()
    *first, last = table.read
    assert last == [40, 41]
    assert sorted(chain(*first)) == sorted(chain(*([10 * n, 10 * n + 1] for n in range(4))))
    if lost == "commits":
        assert first == sorted(first), "files in the order of their times"


def wrong(found: dict[str, Any], truth: Truth) -> list[str]:
    return [str(each) for each in balance.equations(found, truth, MENDED) if not each.holds]


@pytest.mark.full
def test_each_topic_has_a_watermark_and_what_is_behind_it_is_kept_apart(
    spark: Any, tmp_path: Path
) -> None:
    """Payments are 50 minutes behind positions; one position is two hours behind the others."""
    delta, place = DeltaStorage(spark), Place(tmp_path)
    now = 1_750_000_000_000

    def position(number: int, ago_min: int) -> tuple[str, str]:
        at = now - ago_min * 60_000
        fields = {"event_id": f"p{number}", "event_time": at, "truck": "t1", "speed_kmh": 80}
        return POSITIONS, json.dumps(fields)

    def payment(number: int, ago_min: int) -> tuple[str, str]:
        at = now - ago_min * 60_000
        fields = {"event_id": f"m{number}", "event_time": at, "order_id": "o1", "cents": 100}
        return PAYMENTS, json.dumps(fields)

    bronze = [
        [position(number, 0) for number in range(5)],
        [payment(number, 50) for number in range(5)] + [position(5, 0), position(0, 0)],
        [position(6, 120), position(6, 120), payment(5, 51), position(7, 40)],
        [position(8, 0), (POSITIONS, "no JSON")],
    ]
    offset = 0
    for commit in bronze:
        rows = [(topic, 0, offset + at, None, None, text.encode())
                for at, (topic, text) in enumerate(commit)]  # fmt: skip
        offset += len(commit)
        frame = spark.createDataFrame(rows, layers.RECORD).repartition(1)
        frame.write.format("delta").mode("append").save(place.bronze)
    told: list[str] = []
    driver.finish([layers.start_dead_letters(delta, place, MENDED)], lambda _: None)
    for _ in range(2):  # a second run finds nothing new
        driver._silver(delta, place, MENDED, lambda _: None, told.append)

    def ids(path: str) -> list[str]:
        return sorted(row[0] for row in delta.read(path).select("event_id").collect())

    assert ids(place.silver(PAYMENTS)) == [f"m{number}" for number in range(6)]
    assert ids(place.silver(POSITIONS)) == ["p0", "p1", "p2", "p3", "p4", "p5", "p7", "p8"]
    assert ids(place.late) == ["p6"]
    assert told == ["late: 1 behind the watermark of the topic, kept apart"]
    # An id is its topic's: a late payment with the id of a late position is kept, too.
    last = [(PAYMENTS, 0, 90, None, None, payment(6, 300)[1].replace("m6", "p6").encode())]
    frame = spark.createDataFrame(last, layers.RECORD).repartition(1)
    frame.write.format("delta").mode("append").save(place.bronze)
    driver._silver(delta, place, MENDED, lambda _: None, told.append)
    assert ids(place.late) == ["p6", "p6"]
    # The driver was killed when the table had the last micro-batch and Spark had not noted it.
    shutil.rmtree(place.late)
    place.unchecked.touch()
    commits = Path(place.checkpoint("silver-positions")) / "commits"
    newest = max(commits.glob("[0-9]*"), key=lambda file: int(file.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    driver._silver(delta, place, MENDED, lambda _: None, told.append)
    assert ids(place.late) == ["p6", "p6"]
    assert not place.unchecked.exists()
