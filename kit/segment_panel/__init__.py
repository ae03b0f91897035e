"""The Segment panel: a replica's files as they are on its broker's disk, down to the byte.

Every byte that it shows was read from the files of a cluster, an engine or a real Kafka: the
segments of a partition and what is beside them, the batches inside a segment, one batch opened
field by field, and a look-up through the indexes read by read.

The parts, in the order of the data: `source` finds a replica's folder and what its broker says of
it; `files` reads the folder at one moment and writes down each read; `folder` says what is in it;
`batches` and `records` take one batch apart; `lookups` lets the engine's own code search, and tells
its reads; `scene` puts together what is drawn; `text` and `still` draw it without a browser, the
scripts with one (`export` lists them).  `panel` is the widget; over a simulated world, `recording`
gives it the files of every moment.

The search is `engine/storage`'s, and so are the codecs of batches, records and checkpoints: what
the panel shows of them is what a broker does.
"""
