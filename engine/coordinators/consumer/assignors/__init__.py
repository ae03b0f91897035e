"""The coordinator's assignors: who shall own which partition, as a pure function.

    assign(members, topics, alike) -> member id -> topic id -> partitions

`subscription` is what goes in and comes out.  `uniform` balances and moves little (with
`uneven` where members read different topics), `range_assignor` gives each member the same
numbers of several topics.
May import: nothing.
"""
