"""A surface has one scene for each measurement, and a table in its place."""

from __future__ import annotations

from kit.drawings.surface import Surface

ROWS = [[1.0, 2.0, 3.0], [10.0, 20.0, 30.5]]
DRAWN = Surface(
    ("linger.ms", [0, 5, 20]),
    ("batch.size", [1_000, 16_000]),
    {"records/s": {"engine": ROWS, "Kafka": ROWS}, "ms": {"engine": ROWS}},
)


def test_each_side_is_one_surface_in_each_scene() -> None:
    figure = DRAWN.figure()
    assert [(trace.name, trace.scene) for trace in figure.data] == [
        ("engine", "scene"), ("Kafka", "scene"), ("engine", "scene2"),
    ]  # fmt: skip
    assert list(figure.data[0].x) == ["0", "5", "20"]
    assert list(figure.data[0].y) == ["1000", "16000"]
    assert figure.layout.scene.xaxis.type == "category"


def test_the_numbers_can_be_read_without_plotly() -> None:
    lines = DRAWN.text.splitlines()
    assert lines[0] == "records/s, engine, by batch.size (rows) and linger.ms (columns)"
    assert [line.split() for line in lines[1:4]] == [
        ["batch.size", "0", "5", "20"], ["1000", "1", "2", "3"], ["16000", "10", "20", "30.5"],
    ]  # fmt: skip
    bundle = DRAWN._repr_mimebundle_()
    assert bundle["text/plain"] == DRAWN.text
    assert len(bundle["application/vnd.plotly.v1+json"]["data"]) == 3
