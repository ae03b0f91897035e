"""Deleting topics: marked in /admin/delete_topics, gone when every replica has said so.

    marked       clients hear that the topic is gone (UpdateMetadata with leader -2)
    stopping     StopReplica with delete to every replica whose broker is alive
    all gone     the znodes go, the mark last

A broker that is down keeps its replica, and the topic stays marked until the broker is back.  A new
controller finds the mark and begins from the start; deleting twice harms nothing.

Simplified: replicas do not leave the ISR first.  Source: TopicDeletionManager of Kafka 3.9.
"""

from __future__ import annotations

from functools import partial

from engine.metadata.image import TOPIC
from engine.wire.errors import Errors
from engine.zookeeper import states, znodes
from engine.zookeeper.context import Context
from engine.zookeeper.messages import Ordered, StopReplicaRequest
from engine.zookeeper.steps import Results
from engine.zookeeper.tree import Delete, GetChildren, Operation


def marks_change(c: Context, now: int, _: Results) -> list[Operation] | None:
    """An event: /admin/delete_topics has changed."""
    if not c.is_active:
        return None
    c.steps.then(partial(read_marks, c), partial(resume, c))
    return None


def read_marks(c: Context, now: int, _: Results) -> list[Operation]:
    """A step: which topics are to be deleted?"""
    c.steps.then(partial(_take_marks, c))
    return [GetChildren(znodes.DELETE_TOPICS, watch=True)]


def _take_marks(c: Context, now: int, results: Results) -> list[Operation]:
    unknown = []
    for name in results[0].children:
        if name not in c.image.topic_ids:
            unknown.append(name)
        elif name not in c.deleting:
            c.tell("deletion.marks_change", "topic-marked", "it is in /admin/delete_topics",
                    topic=name)  # fmt: skip
            c.deleting[name] = {
                (broker, index): None
                for (topic, index), replicas in c.replicas.items() if topic == name
                for broker in replicas
            }  # fmt: skip
    return [c.fenced(Delete(f"{znodes.DELETE_TOPICS}/{name}")) for name in unknown]


def resume(c: Context, now: int, _: Results) -> None:
    """A step: asks every live broker for what it still has of topics that are to go."""
    for name, remaining in c.deleting.items():
        keys = [key for key in c.written_by if key[0] == name]
        c.inform(list(c.live), keys)
        for broker, index in remaining:
            if broker in c.live:
                c.batch.stop.setdefault(broker, {})[name, index] = True
    finished = [name for name, remaining in c.deleting.items() if not remaining]
    c.steps.then(partial(states.send, c), *(partial(_remove, c, name) for name in finished))


def stopped(
    c: Context, broker: int, order: StopReplicaRequest, body: Ordered, now: int, _: Results
) -> None:
    """An event: a broker has answered StopReplica."""
    if not c.is_active or not order.delete or body.error_code != Errors.NONE:
        return
    finished = []
    for topic, index, _epoch in order.partitions:
        remaining = c.deleting.get(topic)
        if remaining and not body.partition_errors.get((topic, index)):
            remaining.pop((broker, index), None)
            if not remaining:
                finished.append(topic)
    c.steps.then(*(partial(_remove, c, name) for name in finished))


def _remove(c: Context, name: str, now: int, _: Results) -> list[Operation]:
    """All replicas are gone: now the znodes, children first, the mark last."""
    indexes = sorted(index for topic, index in c.replicas if topic == name)
    paths = [path for index in indexes
             for path in (znodes.state(name, index), znodes.partition(name, index))]  # fmt: skip
    paths += [znodes.partitions(name), znodes.topic(name), znodes.config(TOPIC, name),
              f"{znodes.DELETE_TOPICS}/{name}"]  # fmt: skip
    c.steps.then(partial(_removed, c, name))
    return [c.fenced(Delete(path)) for path in paths]


def _removed(c: Context, name: str, now: int, _: Results) -> None:
    c.tell("deletion.resume", "topic-deleted", "every replica is gone", topic=name)
    c.remove_topic(name)
