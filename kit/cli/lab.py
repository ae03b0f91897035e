"""`kafkalab lab`: opens the course in JupyterLab.

Jupyter's settings come from this environment and the command line; the user's own
configuration is neither needed nor changed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("notebook", nargs="?", default="00", help="its number; default 00")
    command.add_argument("--no-browser", action="store_true", help="only print the address")
    command.add_argument("--port", type=int, default=8888, help="the next free one if taken")


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing
    from kit.course import PROJECT, notebooks_folder

    folder = notebooks_folder()
    notebook = next(iter(sorted(folder.glob(f"{chosen.notebook}*.ipynb"))), None)
    if notebook is None:
        there = ", ".join(sorted(path.name[:2] for path in folder.glob("*.ipynb"))) or "none"
        raise PartMissing(f"There is no notebook {chosen.notebook}; there are: {there}.")
    root = PROJECT if folder.is_relative_to(PROJECT) else folder
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--LabApp.default_url=/lab/tree/{notebook.relative_to(root)}",
        f"--ServerApp.root_dir={root}",
        "--ServerApp.log_level=WARN",
        f"--ServerApp.port={chosen.port}",
        "--ServerApp.ip=127.0.0.1",
        *(["--no-browser"] if chosen.no_browser else []),
        *(["--allow-root"] if os.geteuid() == 0 else []),  # a container's only user
    ]
    turn_news_off()
    os.chdir(root)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not another's
    sys.stdout.flush()
    os.execv(sys.executable, command)


def turn_news_off() -> None:
    """Suppresses JupyterLab's news pop-up, in this environment alone."""
    settings = Path(sys.prefix) / "etc" / "jupyter" / "labconfig" / "page_config.json"
    if settings.exists() or sys.prefix == sys.base_prefix:
        return
    news = "@jupyterlab/apputils-extension:announcements"
    with contextlib.suppress(OSError):
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"disabledExtensions": {news: True}}, indent=2) + "\n")
