"""The frame of the grader's pages: one file each, no script, light and dark, fit to print.

The pages hold texts of learners, so a policy in the page forbids scripts and every request.
"""

from __future__ import annotations

from html import escape

from kit.grading.marking import Mark
from kit.grading.report import SIGNS

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
WORDS = {
    "right": "right",
    "wrong": "wrong",
    "empty": "left empty",
    "failed": "no answer reached the judge",
}
STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --quiet: #59636e; --line: #d1d9e0;
  --back: #ffffff; --panel: #f6f8fa; --right: #00694c; --wrong: #a34700; --note: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --quiet: #9da7b1; --line: #3d444d;
  --back: #0d1117; --panel: #161b22; --right: #3fc79a; --wrong: #f0883e; --note: #79b8ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
body.feedback { max-width: 48rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
p { margin: .3rem 0 .7rem; } .quiet, caption { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
caption { caption-side: bottom; text-align: left; padding-top: .4rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .7rem; text-align: left;
  vertical-align: top; }
thead th { white-space: nowrap; background: var(--panel); }
td.number { text-align: right; } td.sign { text-align: center; }
.right { color: var(--right); } .wrong, .failed { color: var(--wrong); }
.empty { color: var(--quiet); } .problem { color: var(--wrong); }
.notes { font-size: .9rem; max-width: 26rem; overflow-wrap: anywhere; }
tbody th { font-weight: 600; overflow-wrap: break-word; min-width: 6rem; max-width: 18rem; }
th.exercise { white-space: nowrap; min-width: 0; } th small { font-weight: 400; }
a { color: var(--note); }
section { border: 1px solid var(--line); border-left: .3rem solid currentColor;
  border-radius: .4rem; padding: .6rem 1rem; margin: .8rem 0; break-inside: avoid; }
section > * { color: var(--text); } section h2 { font-size: 1.05rem; margin: 0 0 .3rem; }
section h2 span { color: inherit; font-weight: 400; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0; }
dt { color: var(--quiet); } dd { margin: 0; }
dd.said, pre { font: .88rem/1.45 ui-monospace, monospace; }
pre { background: var(--panel); padding: .6rem .8rem; border-radius: .3rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0 0; }
.score { font-size: 1.3rem; font-weight: 600; }
@media print { body { margin: 0; max-width: none; } }
"""


def document(title: str, body: str, *, kind: str = "class") -> str:
    """A whole page; `title` is text, `body` is HTML."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body class='{kind}'>{body}</body></html>\n"
    )


def sign_of(mark: Mark | None) -> str:
    """A table's cell: a sign with its word for screen readers, and the message on hover."""
    if mark is None:
        return "<td></td>"
    title = escape(f"{WORDS[mark.state]}. {mark.message}".strip(), quote=True)
    sign = SIGNS[mark.state]
    return (
        f"<td class='sign {mark.state}' title='{title}'>"
        f"<span role='img' aria-label='{WORDS[mark.state]}'>{sign}</span></td>"
    )
