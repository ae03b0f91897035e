"""What all panels are made with: frames of a cluster over time, and how they are shown.

`source` asks a cluster and keeps its snapshots as numbered frames; `steps` are the facts
between two of them, `words` makes sentences agree.  `source_lines` finds the engine's line that
wrote a line of the trace.  `pool` packs frames for a browser, `page` puts scripts together and
writes a page without a kernel; `tree.js` draws, `shapes` draws without a browser.
"""
