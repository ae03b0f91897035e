"""DescribeLogDirs (key 35): which replicas this broker hosts, how large they are, how far behind.

Each broker speaks for itself, so tools ask them one by one.  `offset_lag` is how far a replica's
log end is behind its high watermark: 0 unless it follows and still has to catch up.

Simplified: one log directory per broker; volume sizes are not reported (-1); replicas are never on
their way to another directory (KIP-113), nor is a directory cordoned (KIP-1066).
Versions: 2+ flexible, 3+ an error of its own, 4+ volume sizes, 5+ cordoned.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m

Response = m.DescribeLogDirsResponse


def handle(broker: Broker, now: int, request: Request[m.DescribeLogDirsRequest]) -> None:
    asked = None
    if request.body.topics is not None:
        asked = {(t.topic, index) for t in request.body.topics for index in t.partitions}
    settings = broker.settings
    directory = (settings["log.dirs"] or settings["log.dir"])[0]
    result = Response.DescribeLogDirsResult(log_dir=directory)
    topics: dict[str, Response.DescribeLogDirsTopic] = {}
    for (name, index), partition in sorted(broker.replicas.partitions.items()):
        if asked is not None and (name, index) not in asked:
            continue
        topic = topics.setdefault(name, Response.DescribeLogDirsTopic(name=name))
        topic.partitions.append(
            Response.DescribeLogDirsPartition(
                partition_index=index,
                partition_size=partition.log.size_in_bytes,
                offset_lag=max(partition.high_watermark - partition.log.log_end_offset, 0),
            )
        )
    result.topics = list(topics.values())
    broker.outbox.reply(request, Response(results=[result]))
