"""What `make bench` measures of the labs' pipeline, by the pattern of `kit/bench`."""

from __future__ import annotations

PARTS = ("pipeline", "spark")
ON_REQUEST = ("pipeline_scale",)
