"""`kafkalab lab` serves a notebook with this environment's kernel and without pop-ups."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.authoring.build import build

SAMPLE = Path(__file__).parents[1] / "sample_course"


@pytest.fixture
def address(tmp_path, monkeypatch) -> Iterator[str]:
    """The address that the command prints, for a course of one notebook."""
    course = tmp_path / "course"
    shutil.copytree(SAMPLE, course)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("KAFKALAB_COURSE", str(course))
    build(course / "lessons" / "nb99_sample" / "source" / "99_sample.py")
    server = subprocess.Popen(
        [sys.executable, "-m", "kit.cli", "lab", "99", "--no-browser", "--port", "18888"],
        env=os.environ | {"HOME": str(home), "KAFKALAB_COURSE": str(course)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert server.stderr is not None
    try:
        yield next(
            found.group()
            for line in server.stderr
            if (found := re.search(r"http://127\.0\.0\.1:\d+/lab/\S+", line))
        )
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        server.stderr.close()


def get(address: str, path: str) -> str:
    base, _, token = address.partition("?")
    root = base.split("/lab")[0]
    while True:  # the address is printed a moment before the server listens
        try:
            with urllib.request.urlopen(f"{root}{path}?{token}", timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise


@pytest.mark.timeout(600)
def test_the_lab_opens_the_notebook_with_the_right_kernel(address) -> None:
    assert "/lab/tree/99-sample.ipynb" in address
    contents = json.loads(get(address, "/api/contents/99-sample.ipynb"))
    assert contents["content"]["metadata"]["kernelspec"]["name"] == "python3"
    specs = json.loads(get(address, "/api/kernelspecs"))
    assert specs["default"] == "python3"
    page = get(address, "/lab")
    settings = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    assert "@jupyterlab/apputils-extension:announcements" in settings["disabledExtensions"]
