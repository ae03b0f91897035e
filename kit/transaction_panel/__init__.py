"""The Transaction panel: what the coordinator decides, what the logs hold, what readers are given.

A transaction lives in three places.  The coordinator has a state for its transactional id, and
writes each change into `__transaction_state`.  The partitions' logs have the records, and in the
end a marker each.  And a reader with read_committed stops at the last stable offset (LSO) as long
as the marker is missing.  The panel shows the three beside each other, step by step.

The parts, in the order of the data: `logs` reads a partition's log as plain data; `view` takes one
moment out of a snapshot and adds the logs and the producers' own word; `readers` says what each
isolation level has been given; `scene` turns a moment into plain shapes; `story` says in one
sentence what changed; `text` and `still` draw it without a browser, the scripts with one.
`time_panel` is the widget over a simulated world, and `producers` are its transactional producers.
`live_panel` is the one over a running cluster: its batches come from the brokers' files
(`folders`), and its producers are processes (`producer_processes`).
"""
