"""What the panels over a running cluster share: they look at it, keep frames, and act on it.

A panel of this kind brings its scene and its actions:

    frames          the frames that are kept, from the oldest on
    _look()         asks the cluster, and says whether there is something new
    _show()         draws the frame in view
    _end()          ends what the panel has started
    and what each panel has (kit/film/output.py): text, _picture(), _do(content)

`_begin` is the last thing that its constructor calls before it looks for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import traitlets

from kit.film.attention import Attention
from kit.film.output import Panel
from kit.film.source import Frame

NOW = -1
LOOKING_BACK = "You are looking back. Press End to return to now."


class LivePanel(Panel):
    """A panel that looks while it is in view."""

    def _begin(self, interval_s: float, *redrawn_by: str) -> None:
        """`redrawn_by` are the traits whose change draws it again."""
        self.attention = Attention(self._look, self._show, self._say, interval_s)
        self.on_msg(self._hear)
        self.observe(lambda change: self._show(), redrawn_by)

    def refresh(self) -> None:
        """Looks once, and shows what is there now.  Waits for the answer."""
        self.attention.once()

    def close(self) -> None:
        """Ends the looking, and what the panel has started."""
        if hasattr(self, "attention"):  # a panel that could not be made is closed, too
            self.attention.close()
            self._end()
        super().close()

    def _look(self) -> bool:
        raise NotImplementedError

    def _show(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """Nothing was started."""

    def _say(self, words: str) -> None:
        self.notice = words

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("type") == "watch":
            self.attention.keep()
        else:
            self._do(content)


class FramesPanel(LivePanel):
    """A live panel with a timeline: `position` is a frame's number there, -1 is now."""

    scene = traitlets.Dict().tag(sync=True)
    timeline = traitlets.Dict().tag(sync=True)
    position = traitlets.Int(NOW).tag(sync=True)

    def _begin(self, interval_s: float, *redrawn_by: str) -> None:
        self._labels: dict[int, str] = {}
        super()._begin(interval_s, "position", *redrawn_by)

    @property
    def frames(self) -> Sequence[Frame]:
        raise NotImplementedError

    @property
    def frame(self) -> Frame:
        """The frame in view."""
        if self.position == NOW:
            return self.frames[-1]
        place = self.position - self.frames[0].number
        return self.frames[min(max(place, 0), len(self.frames) - 1)]

    def _is_now(self) -> bool:
        """Whether a button may act; if not, the notice says why."""
        if self.position != NOW:
            self.notice = LOOKING_BACK
        return self.position == NOW

    def _since_start(self, frame: Frame) -> str:
        return f"{(frame.time_us - self.frames[0].time_us) / 1e6:.1f} s"

    def _named(
        self, frames: Sequence[Frame], name: Callable[[Frame, Frame], str]
    ) -> Iterator[tuple[Frame, str]]:
        """The frames with a name, by the frame before; each name is worked out once."""
        for before, frame in pairwise(frames):
            if frame.number not in self._labels:
                self._labels[frame.number] = name(before, frame)
            if self._labels[frame.number]:
                yield frame, self._labels[frame.number]
