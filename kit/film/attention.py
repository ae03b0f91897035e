"""Looks at a running cluster while its panel is in view, and carries out what a button asks.

A thread of its own waits for the cluster's answer, the kernel's event loop changes the picture,
and nothing is ever printed.  A browser says every few seconds that the panel is in view; when it
stops, the looking stops.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

WATCHED_FOR_S = 12.0


class Attention:
    """`look` asks the cluster and says whether there is something new; `show` draws it.

    `say` puts a sentence under the picture, an empty one takes it away.
    """

    def __init__(
        self,
        look: Callable[[], bool],
        show: Callable[[], None],
        say: Callable[[str], None],
        interval_s: float,
    ) -> None:
        self._look = look
        self._show = show
        self._say = say
        self._interval_s = interval_s
        self._trouble = ""
        self._watched_until = 0.0
        self.polling: asyncio.Task[None] | None = None
        self._pressing: set[asyncio.Task[None]] = set()
        self._asker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="panel")

    def once(self) -> None:
        """Looks once, and shows what is there now.  Waits for the answer."""
        self._asker.submit(self._ask).result()
        self._show()
        self._say(self._trouble)

    def keep(self) -> None:
        """Polls for a while; called again and again while the panel is in view."""
        self._watched_until = time.monotonic() + WATCHED_FOR_S
        loop = running_loop()
        if loop is not None and (self.polling is None or self.polling.done()):
            self.polling = loop.create_task(self._poll())

    def close(self) -> None:
        self._watched_until = 0.0
        self._asker.shutdown(wait=False)

    def carry_out(self, doing: str, action: Callable[[], None]) -> None:
        """Does something to the cluster.  On the kernel's loop it returns at once."""
        work = self._carry_out(doing, action)
        loop = running_loop()
        if loop is None:
            asyncio.run(work)
            return
        task = loop.create_task(work)
        self._pressing.add(task)
        task.add_done_callback(self._pressing.discard)

    async def _carry_out(self, doing: str, action: Callable[[], None]) -> None:
        self._say(f"{doing} …")
        said = ""
        try:
            await asyncio.to_thread(action)
        except Exception as error:
            said = str(error) or f"{doing} did not work."
        await asyncio.get_running_loop().run_in_executor(self._asker, self._ask)
        self._show()
        self._say(said)

    async def _poll(self) -> None:
        loop = asyncio.get_running_loop()
        while time.monotonic() < self._watched_until:
            asked = time.monotonic()
            if await loop.run_in_executor(self._asker, self._ask):
                self._show()
            if self._trouble or not self._pressing:
                self._say(self._trouble)
            # a cluster that answers slowly is asked less often
            await asyncio.sleep(max(self._interval_s, 2 * (time.monotonic() - asked)))

    def _ask(self) -> bool:
        try:
            changed = self._look()
        except Exception as error:
            self._trouble = f"The cluster does not answer: {error}"
            return False
        self._trouble = ""
        return changed


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
