"""A streaming query's progress, live and in words.

    from kit.spark_progress import progress
    progress(query)                       # last in a cell: a chart that follows the query
    print(progress(query).text)
    progress(query).batches[-1].lag       # {"fleet.positions": 0}

Spark joins no consumer group, so `kafka-consumer-groups` shows nothing of it.  What a streaming
query reads and keeps is in its own reports (`query.recentProgress`), one for each micro-batch.
"""

from __future__ import annotations

from kit.spark_progress.panel import ProgressPanel as progress

__all__ = ["progress"]
