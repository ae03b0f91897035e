"""The Cluster panel: what every replica holds, live, beside the buttons that break it.

The parts, in the order of the data: `source` asks a cluster and keeps its snapshots as
numbered frames; `story` says in one sentence what changed between two of them; `scene`
turns a frame into plain shapes; `text` and `still` draw them without a browser, and
`live.js` with one; `panel` is the widget that ties them together.

Over a simulated world there is time travel: `recording` keeps a frame for every step and
`flights` the messages between them; `step_story` tells each step, `source_lines` finds the
engine's line that wrote it; `moments` lays two timelines side by side, `film` packs all of
it for `time.js`; `time_panel` is the widget, `export` the page for a lecture.

`drawing.js`, `panel.js` and `time_panel.js` draw rows of any log; the Quorum panel is made of them,
too (kit/quorum_panel).
"""
