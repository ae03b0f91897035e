"""A session's driver takes Spark's classes from the archive that `make setup` has made."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from kit.class_archives import SPARK
from tests.real_clusters import missing


@pytest.mark.spark
def test_the_driver_has_the_archive_in_its_memory(spark: Any) -> None:
    if not SPARK.file().exists():
        missing("The class archive of Spark", "run: make setup")
    driver = psutil.Process(spark.sparkContext._gateway.proc.pid)
    assert str(SPARK.file()) in {part.path for part in driver.memory_maps()}
