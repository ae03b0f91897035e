"""A driver in a process of its own: its answers, its errors, its end."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from kit.spark_driver import Driver, DriverFailed

HERE = "tests.kit.test_spark_driver"


def half(spark: Any, number: int) -> dict[str, Any]:
    print("what the work prints is no answer")
    rows = spark.range(number).where("id % 2 = 0").count()
    return {"rows": rows, "cores": spark.sparkContext.defaultParallelism}


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_driver_answers_until_it_is_closed_and_leaves_no_jvm() -> None:
    with Driver("local[1]", f"{HERE}:half") as driver:
        assert driver.run(number=10) == {"rows": 5, "cores": 1}
        with pytest.raises(DriverFailed, match=r"local\[1\] says: TypeError: .*unexpected keyword"):
            driver.run(count=10)
        assert driver.run(number=4)["rows"] == 2
        family = psutil.Process(driver._process.pid).children(recursive=True)
        assert "java" in {process.name() for process in family}
    assert psutil.wait_procs(family, timeout=30)[1] == []


def test_work_that_is_not_there_is_named() -> None:
    driver = Driver("local[1]", f"{HERE}:nothing")
    with driver, pytest.raises(DriverFailed, match=r"ended: .*no attribute 'nothing'"):
        driver.run()
