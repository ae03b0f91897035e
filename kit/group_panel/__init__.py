"""The Group panel: which member reads which partition, who says so, and what a rebalance costs.

A group has two truths.  The coordinator's is in the cluster's snapshot: members, generation or
epoch, assignment, committed offsets.  Each member's own is in its process: what it believes it
owns and how far it has read.  They differ in the middle of a rebalance, and when a member is a
zombie; the panel shows both.

The parts, in the order of the data: `view` takes one group out of a snapshot and puts the members'
beliefs beside it; `ownership` follows who reads each partition, and when it had no reader; `seats`
brings a member and a client together; `scene` turns a frame into plain shapes; `story` says in one
sentence what changed; `text` and `still` draw it without a browser, `group.js` with one.
`live_panel` is the widget over a running cluster, `time_panel` the one over a simulated world.

Members of a running cluster are processes of their own (`crew`, `member_process`), or consumers
of the notebook that the panel watches (`watched`).
"""
