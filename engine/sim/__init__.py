"""The cluster in virtual time, and everything that judges it there.

world/ is the driver, clients/ its load; invariants/ and history/ judge; scripts/, cases/, model/
and campaign/ make runs: by hand, by name, by search, by seed.
May import: nothing.
"""
