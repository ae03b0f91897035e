"""What ran where and how long, as parts of a page: lanes of tasks, and bars with their numbers.

Plain HTML with widths in percent, so that it fits a phone and prints; its texts are escaped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from kit.at_scale.tasks import Done

STYLE = """<style>
.lane { display: grid; grid-template-columns: 5.5rem 1fr; gap: .6rem; margin: .35rem 0; }
.lane b { font-weight: 600; line-height: 1.7rem; }
.lane > div { position: relative; height: 1.7rem; background: var(--panel); border-radius: .25rem; }
.lane span { position: absolute; top: 0; bottom: 0; border-radius: .2rem; background: var(--note);
  opacity: .75; border-right: 2px solid var(--back); box-sizing: border-box; min-width: 3px; }
.lane span.again { background: var(--wrong); opacity: 1; }
.axis { display: flex; justify-content: space-between; margin-left: 6.1rem; color: var(--quiet);
  font-size: .85rem; }
.bar { display: flex; height: 1.35rem; min-width: 7rem; border-radius: .2rem; overflow: hidden;
  background: var(--panel); }
.bar i { display: block; height: 100%; box-sizing: border-box; font: 600 .8rem/1.35rem system-ui;
  text-align: center; overflow: hidden; }
.key i { display: inline-block; width: 1rem; height: .8rem; border-radius: .15rem;
  margin: 0 .35rem -.05rem 0; }
.key span { margin-right: 1.2rem; white-space: nowrap; }
i.right { background: var(--right); color: var(--back); }
i.wrong { background: var(--wrong); color: var(--back); }
i.failed { color: var(--text);
  background: repeating-linear-gradient(-45deg, var(--wrong) 0 3px, var(--panel) 3px 10px); }
i.empty { background: var(--line); color: var(--text); }
i.time { background: var(--note); opacity: .75; }
table.bars { width: 100%; } table.bars td:nth-child(2) { width: 75%; }
table.bars th, table.bars td { padding: .35rem .4rem; vertical-align: middle; }
table.bars th { min-width: 0; max-width: 12rem; } td.number { white-space: nowrap; }
</style>"""


def summed_up(finished: Sequence[Done[Any]], what: str, where: str) -> str:
    """A paragraph: how much was done, how much of it at once, and what was tried again."""
    work_s = sum(done.seconds for done in finished)
    first = min(done.started_s for done in finished)
    span_s = max(done.started_s + done.seconds for done in finished) - first
    at_once = work_s / span_s if span_s else 1.0
    again = len({done.task for done in finished if done.attempt})
    retried = f"{again} {'task was' if again == 1 else 'tasks were'} tried again" if again else (
        "no task was tried again"
    )  # fmt: skip
    return (
        f"<p>{len(finished)} {escape(what)} in {len({done.task for done in finished})} Spark tasks "
        f"on {escape(where)}: {work_s:,.0f} s of work within {span_s:,.0f} s, "
        f"{at_once:.2f} at once on average; {retried}.</p>"
    )


def lanes(finished: Sequence[Done[Any]], name: Callable[[Done[Any]], str]) -> str:
    """A lane per worker: each block is an item, from its start to its end."""
    first = min(done.started_s for done in finished)
    span_s = max(done.started_s + done.seconds for done in finished) - first or 1.0
    by_worker: dict[str, list[Done[Any]]] = defaultdict(list)
    for done in sorted(finished, key=lambda each: each.started_s):
        by_worker[done.worker].append(done)
    rows = ""
    for number, (worker, mine) in enumerate(by_worker.items(), 1):
        blocks = "".join(_block(done, first, span_s, name(done)) for done in mine)
        rows += (
            f"<div class='lane'><b title='{escape(worker, quote=True)}'>worker {number}</b>"
            f"<div role='img' aria-label='{len(mine)} by worker {number}'>{blocks}</div></div>"
        )
    digits = 0 if span_s >= 20 else 1
    ticks = "".join(f"<span>{span_s * part / 4:.{digits}f} s</span>" for part in range(5))
    return f"{rows}<div class='axis'>{ticks}</div>"


def _block(done: Done[Any], first: float, span_s: float, name: str) -> str:
    left = 100 * (done.started_s - first) / span_s
    tried = f", attempt {done.attempt + 1}" if done.attempt else ""
    title = escape(f"{name}: {done.seconds:.1f} s, task {done.task}{tried}", quote=True)
    return (
        f"<span class='{'again' if done.attempt else 'once'}' title='{title}' "
        f"style='left:{left:.2f}%;width:{100 * done.seconds / span_s:.2f}%'></span>"
    )


def key(looks: Iterable[tuple[str, str]]) -> str:
    """What the parts of bars mean: their classes and words."""
    each = (f"<span><i class='{look}'></i>{escape(words)}</span>" for look, words in looks)
    return f"<p class='key quiet'>{' '.join(each)}</p>"


def bars(
    rows: Iterable[tuple[str, Sequence[tuple[str, float, str]], str]], caption: str = ""
) -> str:
    """A table of bars: name, parts (class, percent, text), and what is at the end."""
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td><div class='bar'>"
        + "".join(
            f"<i class='{look}' style='width:{percent:.2f}%' title='{escape(text, quote=True)}'>"
            f"{escape(text) if percent >= 4 else ''}</i>"
            for look, percent, text in parts
        )
        + f"</div></td><td class='number'>{escape(closing)}</td></tr>"
        for name, parts, closing in rows
    )
    below = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<div class='scroll'><table class='bars'>{below}<tbody>{body}</tbody></table></div>"
