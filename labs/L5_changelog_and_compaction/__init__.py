"""Lab L5: a change feed of a database, a compacted topic, and a table that is kept from it."""
