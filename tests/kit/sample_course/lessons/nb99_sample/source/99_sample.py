# %% [markdown]
# # A sample notebook
#
# Small enough for a test, with every kind of cell that the pipeline knows. **Time:** {minutes}.

# %% doorway tags=["setup"]
from kit import exercises as lab

BROKERS = (101, 102, 103)

# %% 99-1 tags=["stub", "predict"]
lab.predict("99-1")

# %% 99-1 tags=["solution", "predict"]
lab.predict("99-1", "b")

# %% how-a-high-watermark-moves tags=["sim"]
log_end_offsets = {101: 5, 102: 3, 103: 4}
watermark = min(log_end_offsets.values())
print(watermark)
lab.verdict("99-1", {"high watermark": watermark, "log ends": [5, 3, 4], "gap": 2.25})

# %% [markdown]
# The shortest log decides. Now a question with a free answer.

# %% 99-5 tags=["stub", "predict"]
lab.predict("99-5")

# %% 99-5 tags=["solution", "predict"]
lab.predict("99-5", "102 103")

# %% who-is-behind tags=["live"]
ends = {101: 5, 102: 3, 103: 4}
behind = [broker for broker, end in ends.items() if end < max(ends.values())]
lab.verdict("99-5", {"behind": behind})


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

# %% 99-4 tags=["stub", "predict", "quiz"]
lab.quiz("99-4")

# %% 99-4 tags=["solution", "predict", "quiz"]
lab.quiz("99-4", "a", "c")

# %% [markdown]
# ## Deeper: another cluster
#
# Opens on demand.

# %% five-replicas tags=["sim"]
five = {101: 5, 102: 3, 103: 4, 104: 9, 105: 1}
min(five.values())
