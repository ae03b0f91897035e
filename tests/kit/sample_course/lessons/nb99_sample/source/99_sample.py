# %% [markdown]
# # A sample notebook
#
# Small enough for a test, with every kind of cell that the pipeline knows.

# %% doorway tags=["setup"]
from kit import exercises as lab

# %% how-a-high-watermark-moves tags=["sim"]
log_end_offsets = {101: 5, 102: 3, 103: 4}
min(log_end_offsets.values())

# %% 99-1 tags=["stub", "predict"]
lab.predict("99-1")

# %% 99-1 tags=["solution", "predict"]
lab.predict("99-1", "b")


# %% [markdown]
# Write the rule as a function: what is the high watermark of a partition?


# %% 99-2 tags=["stub"]
def high_watermark(log_end_offsets, isr):
    """The offset up to which every in-sync replica has the log."""


# %% 99-2 tags=["solution"]
def high_watermark(log_end_offsets, isr):
    """The offset up to which every in-sync replica has the log."""
    return min(log_end_offsets[broker] for broker in isr)


# %% 99-2 tags=["check"]
lab.check("99-2", high_watermark)

# %% 99-3 tags=["stub"]
quorum = None

# %% 99-3 tags=["solution"]
quorum = {"replicas": 3, "min.insync.replicas": 2}

# %% 99-3 tags=["check"]
lab.check("99-3", quorum)
