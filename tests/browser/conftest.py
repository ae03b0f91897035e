"""A JupyterLab with a browser in front of it, for tests that look at what a learner sees.

One server and one Chromium serve this folder (Playwright keeps an event loop running, which no
test outside it may find); each test opens a notebook of its own.  They share a page, since
JupyterLab takes seconds to start; one that asks for a context of its own (a screen's size, less
motion) gets it.  The server runs from the interpreter that runs the tests, on a free loopback
port, with every Jupyter path in a temporary folder, in a session of its own, and is ended by its
process id.

    def test_something(lab):
        with lab.open(lab.notebook("print('hello')")) as page:
            page.run_all()
            assert "hello" in page.outputs.first.inner_text()

`CHROMIUM` names another browser than the `chromium` on the path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.real_clusters import missing

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CONFIG = """
from jupyterlab.galata import configure_jupyter_server
c = get_config()  # noqa: F821
configure_jupyter_server(c)
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = {port}
c.ServerApp.root_dir = {root!r}
c.ServerApp.allow_root = True
c.LabApp.workspaces_dir = {workspaces!r}
"""
QUIET = {"notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False}}
# the session must be there: before that the indicator says idle, and a run opens a dialog
IDLE = """() => {
  const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
  const kernel = session?.session?.kernel;
  const waiting = [...document.querySelectorAll(".jp-Notebook .jp-InputPrompt")]
    .some((prompt) => prompt.textContent.includes("*"));
  return session?.isReady && kernel?.connectionStatus === "connected"
    && kernel.status === "idle" && !waiting;
}"""
# JupyterLab draws only the cells near the view
SCROLL = """name => {
  const content = window.jupyterapp.shell.currentWidget.content;
  return content.scrollToItem(content.widgets.findIndex(cell => cell.model.id === name), "start");
}"""
SELECT = """name => {
  const content = window.jupyterapp.shell.currentWidget.content;
  content.activeCellIndex = content.widgets.findIndex(cell => cell.model.id === name);
}"""
STARTED = "() => window.jupyterapp?.restored.then(() => true)"
OPEN = """path =>
  void window.jupyterapp.commands.execute("docmanager:open", { path, factory: "Notebook" })"""
IS_OPEN = "path => window.jupyterapp.shell.currentWidget?.context?.path === path"
# without `dirty` a dialog would ask whether to save
CLOSE = """path => {
  for (const widget of [...window.jupyterapp.shell.widgets("main")]) {
    if (widget.context?.path !== path) continue;
    widget.context.model.dirty = false;
    widget.dispose();
  }
}"""
VIEWPORT = {"width": 1280, "height": 900}
ENGINE_ONLY = "%env KAFKALAB_REAL=off"
KERNEL_LIST = re.compile(r"/api/kernels\?\d+$")
"""JupyterLab asks for it every few seconds, and Jupyter fails to make it while a kernel ends."""
START_TIMEOUT_S = 90
STEP_TIMEOUT_MS = 60_000
LESSON_TIMEOUT_MS = 240_000


class NotebookPage:
    """An open notebook: a Playwright page and what tests do with it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.is_open = True
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("console", self._note)

    def _note(self, message: Any) -> None:
        where = (message.location or {}).get("url", "")
        its_own = KERNEL_LIST.search(where) and "status of 500" in message.text
        if message.type == "error" and not its_own:
            self._complain(f"{message.text} ({where})")

    def _complain(self, words: str) -> None:
        if self.is_open:
            self.complaints.append(words)

    @property
    def outputs(self) -> Any:
        """Everything the notebook's cells have put out."""
        return self.page.locator(".jp-Notebook .jp-OutputArea-output")

    def run_all(self) -> None:
        """Runs every cell and waits until the last one is done."""
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.wait_idle()

    def run(self, cell: int) -> None:
        """Runs one cell by its place and waits until it is done."""
        self.page.locator(".jp-Notebook .jp-Cell").nth(cell).click()
        self.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
        self.wait_idle()

    def run_in_two_parts(self, second: str, between: str) -> None:
        """Runs the cells above `second`, waits until `between` is drawn, and runs the others.

        For a plot that keeps the page busy for seconds where there is no graphics card: anywidget
        gives up on a model that the page does not get to within two seconds.
        """
        self.page.evaluate(SELECT, second)
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-above')")
        self.wait_idle()
        self.scroll_to(second)
        self.page.locator(between).first.wait_for(state="attached")
        self.page.evaluate(SELECT, second)
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-below')")
        self.wait_idle()

    def run_up_to(self, cell: str) -> None:
        """Runs the cells above one, by its name, then that one, and shows it."""
        self.page.evaluate(SELECT, cell)
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-above')")
        self.wait_idle()
        self.run_named(cell)

    def run_named(self, cell: str) -> None:
        """Runs one cell by its name and shows it."""
        self.page.evaluate(SELECT, cell)
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-cell')")
        self.wait_idle()
        self.scroll_to(cell)

    def restart(self) -> None:
        """Ends the kernel and starts another; what the cells have put out stays."""
        self.page.evaluate(
            "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
        )

    def wait_idle(self) -> None:
        """Waits until every cell that was started is done and the kernel rests."""
        self.page.wait_for_function(IDLE)

    def scroll_to(self, cell: str) -> None:
        """Brings a cell into view by its name, so that its output is drawn."""
        self.page.evaluate(SCROLL, cell)

    def kill_the_leader(self, panel: Any) -> None:
        """Presses kill on a Cluster panel's leader and sees another broker lead."""
        from playwright.sync_api import expect

        leads = panel.locator("header .fact", has_text="leader")
        before = leads.inner_text()
        panel.locator(".card.leads").get_by_role("button", name="kill").click()
        expect(leads).not_to_have_text(before)
        expect(panel.locator(".caption")).to_contain_text("became leader")

    def save(self) -> None:
        """Writes the notebook to its file."""
        self.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")

    def theme(self, name: str) -> None:
        """`light` or `dark`."""
        full = f"JupyterLab {name.capitalize()}"
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", full
        )
        light = str(name == "light").lower()
        self.page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")


class JupyterLab:
    """The server and the browser."""

    def __init__(self, url: str, folder: Path, browser: Any) -> None:
        self.url = url
        self.folder = folder
        self._browser = browser
        self._written = 0
        self._page: Any = None

    def notebook(self, *cells: str, name: str | None = None) -> str:
        """Writes a notebook of code cells into the server's folder; its path there."""
        self._written += 1
        path = name or f"test-{self._written}.ipynb"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        # without these a dialog asks which kernel to take
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, self.folder / path)
        return path

    def bring(self, file: Path) -> str:
        """Copies a notebook into the server's folder; its path there."""
        shutil.copy(file, self.folder / file.name)
        return file.name

    @contextmanager
    def open(self, path: str, *, theme: str = "light", **context: Any) -> Iterator[NotebookPage]:
        """Opens a notebook; `context` is what Playwright's `new_context` takes."""
        page = self._started(**context) if context else self._kept()
        notebook = NotebookPage(page)
        try:
            page.evaluate(OPEN, path)
            page.wait_for_function(IS_OPEN, arg=path)
            page.wait_for_selector(".jp-Notebook .jp-Cell")
            notebook.wait_idle()
            notebook.theme(theme)
            yield notebook
        finally:
            notebook.is_open = False
            page.evaluate(CLOSE, path)
            self._end_kernels(path)
            if context:
                page.context.close()

    def _kept(self) -> Any:
        """The page that notebooks share which need no context of their own: it is slow to start."""
        if self._page is None:
            self._page = self._started()
        self._page.set_viewport_size(VIEWPORT)
        self._page.set_default_timeout(STEP_TIMEOUT_MS)
        return self._page

    def _started(self, **context: Any) -> Any:
        """A page with JupyterLab in it, in a fresh browser context."""
        context.setdefault("viewport", VIEWPORT)
        browser = self._browser.new_context(**context)
        browser.set_default_timeout(STEP_TIMEOUT_MS)
        page = browser.new_page()
        page.goto(f"{self.url}/lab?reset")
        page.wait_for_function(STARTED)
        page.evaluate("void window.jupyterapp.shell.collapseLeft()")
        return page

    @contextmanager
    def lesson(
        self,
        file: Path,
        *,
        parts: tuple[str, str] | None = None,
        up_to: str = "",
        theme: str = "light",
    ) -> Iterator[NotebookPage]:
        """A notebook of the course as learners get it, the real side off: its cells run.

        `parts` is what `run_in_two_parts` takes; `up_to` names the last cell to be run.
        """
        from playwright.sync_api import expect

        path = self.bring(file)
        content = nbformat.read(self.folder / path, as_version=4)
        content.cells.insert(0, nbformat.v4.new_code_cell(ENGINE_ONLY))
        nbformat.write(content, self.folder / path)
        expect.set_options(timeout=STEP_TIMEOUT_MS)
        with self.open(path, theme=theme) as notebook:
            notebook.page.set_default_timeout(LESSON_TIMEOUT_MS)
            if up_to:
                notebook.run_up_to(up_to)
            else:
                notebook.run_in_two_parts(*parts) if parts else notebook.run_all()
            errors = notebook.page.locator(".jp-RenderedText[data-mime-type*=error]")
            expect(errors).to_have_count(0)
            yield notebook
            assert notebook.complaints == []

    def _end_kernels(self, path: str) -> None:
        with urllib.request.urlopen(f"{self.url}/api/sessions") as answer:
            sessions = json.load(answer)
        for session in sessions:
            if session["path"] == path:
                url = f"{self.url}/api/sessions/{session['id']}"
                urllib.request.urlopen(urllib.request.Request(url, method="DELETE")).close()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """A headless Chromium under Playwright."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        missing("Chromium", "install it (apt-get install chromium), or set CHROMIUM to its path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def lab(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    """A running JupyterLab, open to the browser."""
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "notebooks"
    places = {
        "HOME": home / "home",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "IPYTHONDIR": home / "ipython",
        "TMPDIR": home / "tmp",
    }
    for place in (folder, *places.values()):
        place.mkdir(parents=True)
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    for name, value in QUIET.items():
        (settings / name).write_text(json.dumps(value))
    port = _free_port()
    config = home / "config" / "jupyter_test_config.py"
    workspaces = str(home / "workspaces")
    config.write_text(CONFIG.format(port=port, root=str(folder), workspaces=workspaces))
    environment = {**os.environ, **{name: str(place) for name, place in places.items()}}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    )
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--config={config}"]
    with open(home / "server.log", "wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, server, home / "server.log")
            yield JupyterLab(url, folder, chromium)
        finally:
            _end(server)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{url}/api/status", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ends the server and the kernels in its session."""
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(server.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    server.wait()
