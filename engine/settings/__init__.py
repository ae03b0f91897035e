"""Kafka's configs: what there is, what is in effect, what the engine does with each.

>>> settings = Settings({"replica.lag.time.max.ms": 5000})
>>> settings["replica.lag.time.max.ms"], settings["num.partitions"]
(5000, 1)
>>> settings.topic({"retention.ms": "-1"})["segment.bytes"]
1073741824

May import: wire.
"""

from engine.settings.settings import Settings
from engine.settings.topic_config import TopicConfig

__all__ = ["Settings", "TopicConfig"]
