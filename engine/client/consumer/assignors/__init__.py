"""Assignors: who in a group gets which partitions.  Pure functions over plain data.

The protocol leaves the decision to one of the members.  The coordinator collects the subscriptions
and makes one member the leader; the leader runs the assignor that all members share.  Start with
`memberships.py` (what an assignor is given), then `range.py`, the simplest; `choices.py` has the
list.

    range               each topic by itself, in blocks                    eager
    round robin         all partitions of all topics, dealt like cards     eager
    sticky              balanced, and with as few moves as possible        eager
    cooperative sticky  the same, but what moves is first only taken away  cooperative, eager

May import: wire.
"""
