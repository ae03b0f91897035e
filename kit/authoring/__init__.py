"""Builds the notebooks that learners open from each lesson's `source`.

`python -m kit.authoring build` does it; docs/authoring.md is the authors' guide.
"""
