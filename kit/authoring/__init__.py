"""How a notebook comes to be: from a lesson's `source` to what learners open.

`python -m kit.authoring build` does it; docs/authoring.md is the authors' guide.
"""
