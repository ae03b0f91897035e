"""Consumer groups: who owns which partition, and how far the group has read.

Read in this order: `states` (the life of a group, as a table), `group` (who is in it),
`join`, `rebalance` and `membership` (how it changes), `offsets` (what it has read),
`coordinator` (where all that lives, and how it survives the loss of a broker).
"""
