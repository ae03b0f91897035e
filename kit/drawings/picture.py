"""What every picture has: words for a reader, and a frame of size, background and style."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Picture:
    """Shown in a notebook as SVG, and elsewhere in words; a subclass has both."""

    @property
    def text(self) -> str:
        """What the picture shows, in words."""
        raise NotImplementedError

    def svg(self) -> str:
        """The picture; `picture` makes its frame."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": self.text, "image/svg+xml": self.svg()}


def picture(
    name: str, width: float | str, height: float | str, text: str, style: str, parts: Iterable[str]
) -> str:
    """An SVG of that many pixels, or smaller where the page is narrower.

    `name` is its class, to which the rules of `style` are bound: a page may have many pictures.
    `style` defines --bg, the background.  `text` says in words what the picture shows.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(text)}" style="max-width:100%;height:auto">'
        f"<style>{style}</style>"
        f'<rect width="{width}" height="{height}" rx="10" fill="var(--bg)"/>'
        f"{''.join(parts)}</svg>"
    )
