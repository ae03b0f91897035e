"""The Spark session: its settings, its absence in a sentence, and its JVM's life and death."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

from kit import jars, spark
from kit.course import PROJECT

ENDLESS = "spark.range(10**13).selectExpr('sum(hash(id))').collect()"
START_S = 180


def test_the_master_is_the_users_choice(monkeypatch) -> None:
    monkeypatch.delenv("SPARK_MASTER", raising=False)
    assert spark.master().startswith("local[")
    monkeypatch.setenv("SPARK_MASTER", "spark://host:7077")
    assert spark.master() == "spark://host:7077"


def test_a_local_session_binds_to_loopback_and_shows_nothing(tmp_path) -> None:
    (tmp_path / "connector.jar").touch()
    chosen = spark.settings("local[2]", tmp_path, tmp_path)
    assert chosen["spark.driver.bindAddress"] == chosen["spark.driver.host"] == "127.0.0.1"
    assert chosen["spark.ui.enabled"] == chosen["spark.ui.showConsoleProgress"] == "false"
    assert chosen["spark.jars"] == str(tmp_path / "connector.jar")
    for area in ("spark.local.dir", "spark.sql.warehouse.dir"):
        assert Path(chosen[area]).is_relative_to(tmp_path)
    assert not [name for name in chosen if "delta" in chosen[name].lower()]
    with_delta = spark.settings("local[2]", tmp_path, tmp_path, tmp_path)
    assert "DeltaSparkSessionExtension" in with_delta["spark.sql.extensions"]
    # On another machine's master, loopback would be that machine's.
    assert "spark.driver.host" not in spark.settings("spark://host:7077", tmp_path, tmp_path)


def test_what_is_missing_is_named_with_its_remedy(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(jars, "java", lambda: "java")
    monkeypatch.setenv("SPARK_JARS", str(tmp_path))
    monkeypatch.setattr(spark, "find_spec", lambda name: None)
    with pytest.raises(spark.SparkMissing, match=r"PySpark is not installed.*run: make setup"):
        spark.session()
    monkeypatch.setattr(spark, "find_spec", lambda name: object())
    with pytest.raises(spark.SparkMissing, match="SPARK_JARS names"):
        spark.session()
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(spark.SparkMissing, match=r"Java is missing: .*run: make setup"):
        spark.session()


def test_the_kit_loads_spark_only_when_used() -> None:
    code = "import sys, kit.lab, kit.spark; print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    assert done.stdout.strip() == "False"


def run_cell(client, code: str) -> str:
    """What a cell printed, or the name of its error."""
    seen = []

    def keep(message) -> None:
        content = message["content"]
        seen.append(content.get("text") or content.get("ename") or "")

    client.execute_interactive(code, timeout=START_S, output_hook=keep)
    return "".join(seen).strip()


def test_an_interrupt_is_known_behind_the_error_that_it_has_caused() -> None:
    closed = OSError("the connection is closed")
    closed.__context__ = KeyboardInterrupt()
    assert spark._was_interrupted(closed)
    assert not spark._was_interrupted(OSError())
    assert not spark._was_interrupted(None)


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_an_interrupt_frees_the_session_and_a_killed_kernel_takes_the_jvm_along() -> None:
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(PROJECT), env=os.environ | {"PYTHONPATH": str(PROJECT)}
    )
    jvm = None
    try:
        start = "from kit.spark import session, temporary; spark = session(); print(temporary())"
        area = Path(run_cell(client, start)).parent
        kernel = psutil.Process(manager.provisioner.pid)
        children = kernel.children(recursive=True)
        (jvm,) = (child for child in children if child.name() == "java")
        listening = [c for c in jvm.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        assert {c.laddr.ip.removeprefix("::ffff:") for c in listening} == {"127.0.0.1"}

        # The interrupt is sent once the job is running, from a thread of the kernel itself.
        tracker = "spark.sparkContext.statusTracker().getActiveJobsIds()"
        interrupt = (
            "import os, signal, threading\n"
            "def interrupt():\n"
            f"    while not {tracker}: pass\n"
            "    os.killpg(os.getpgid(0), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
        )
        ended = run_cell(client, interrupt + ENDLESS)
        assert "KeyboardInterrupt" in ended, ended
        assert ended.endswith(("KeyboardInterrupt", "Py4JNetworkError")), ended
        assert run_cell(client, "print(spark.range(10).count())") == "10"
        assert run_cell(client, f"print({tracker})") == "[]"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)  # SIGKILL
    gone, _ = psutil.wait_procs([jvm], timeout=60)
    assert gone == [jvm]
    assert psutil.wait_procs([child for child in children if child != jvm], timeout=60)[1] == []
    assert not area.exists()
