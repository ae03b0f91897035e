"""The Quorum panel: the controllers, how they elect one, and the log that they keep together.

A controller is a row: its role in its epoch, its vote, and its copy of the metadata log, aligned by
offset with the others', so that divergence is seen at a glance.  It is the Cluster panel's picture
of another log: the same rows, messages, timeline and second timeline (kit/panel), with cards,
records and sentences of its own.

The parts, in the order of the data: `logs` reads the metadata log, with its records in words;
`view` takes one moment out of a snapshot and adds the logs; `scene` turns it into plain shapes,
with who leads and who votes from `standings`; `story` and `log_story` say in one sentence what
changed; `text`, `still` and `small` draw it without a browser, the scripts with one.  `time_panel`
is the widget over a simulated world: `recording` keeps its moments, and `flights` says what the
controllers send to each other.  `live_panel` is the one over a running cluster, whose logs come
from the controllers' files.
"""
