"""Three ways to hand on an order, with the same calls: a queue, a pub/sub topic, a log.

None of them is a model.  The queue is Python's own `queue.Queue`, as a thread pool uses it.  The
pub/sub topic is a ZeroMQ publisher with subscribers on TCP sockets: a library without a broker,
which hands a message to the subscribers of that moment.  The log is a topic of Kafka's protocol.

    channel.publish("order 1")
    stock = channel.reader("stock")
    stock.read()              # what it gets now
    stock.start_over()        # True if the channel can do that
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import Protocol

import zmq

from kit.clusters.interface import Cluster
from lessons.nb01_events import readers

SETTLE_MS = 200


class ChannelReader(Protocol):
    def read(self, most: int | None = None) -> list[str]:
        """What it gets now, at most `most`."""
        ...

    def start_over(self) -> bool:
        """Asks for everything once more; False if the channel has no such call."""
        ...

    def close(self) -> None: ...


class Channel(Protocol):
    name: str

    def publish(self, order: str) -> None: ...
    def reader(self, name: str) -> ChannelReader: ...
    def close(self) -> None: ...


class Queue:
    """All readers take from one queue.Queue."""

    name = "queue"

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.waiting: queue.Queue[str] = queue.Queue()

    def publish(self, order: str) -> None:
        self.waiting.put(order)

    def reader(self, name: str) -> QueueReader:
        return QueueReader(self.waiting)

    def close(self) -> None:
        """Nothing is open."""


class QueueReader:
    def __init__(self, waiting: queue.Queue[str]) -> None:
        self.waiting = waiting

    def read(self, most: int | None = None) -> list[str]:
        found: list[str] = []
        while most is None or len(found) < most:
            try:
                found.append(self.waiting.get_nowait())
            except queue.Empty:
                break
        return found

    def start_over(self) -> bool:
        return False  # a queue has no such call

    def close(self) -> None:
        """Nothing is open."""


class PubSub:
    """A ZeroMQ publisher on a port of this machine; each reader subscribes over TCP."""

    name = "pub/sub"

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.XPUB)
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)  # each subscription is reported here
        self.port = self.socket.bind_to_random_port("tcp://127.0.0.1")

    def publish(self, order: str) -> None:
        self.socket.send_multipart([self.topic.encode(), order.encode()])

    def reader(self, name: str) -> PubSubReader:
        reader = PubSubReader(self.context, self.port, self.topic)
        self.socket.recv()  # the subscription has arrived
        return reader

    def close(self) -> None:
        self.socket.close(linger=0)
        self.context.term()


class PubSubReader:
    def __init__(self, context: zmq.Context, port: int, topic: str) -> None:
        self.socket = context.socket(zmq.SUB)
        self.socket.setsockopt_string(zmq.SUBSCRIBE, topic)
        self.socket.connect(f"tcp://127.0.0.1:{port}")

    def read(self, most: int | None = None) -> list[str]:
        found: list[str] = []
        while (most is None or len(found) < most) and self.socket.poll(SETTLE_MS):
            found.append(self.socket.recv_multipart()[1].decode())
        return found

    def start_over(self) -> bool:
        return False  # nothing was kept

    def close(self) -> None:
        self.socket.close(linger=0)


class Log:
    """A topic; each reader is a group of its own."""

    name = "log"

    def __init__(self, cluster: Cluster, topic: str, groups: Sequence[str]) -> None:
        self.cluster, self.topic = cluster, topic
        cluster.create_topic(topic)
        readers.forget(cluster, *groups)

    def publish(self, order: str) -> None:
        readers.write(self.cluster, self.topic, [order])

    def reader(self, name: str) -> LogReader:
        return LogReader(self.cluster, self.topic, name)

    def close(self) -> None:
        """The topic stays."""


class LogReader:
    def __init__(self, cluster: Cluster, topic: str, group: str) -> None:
        settings = {"auto.offset.reset": "earliest"}
        self.inner = readers.Reader(cluster, topic, group, settings)

    def read(self, most: int | None = None) -> list[str]:
        return self.inner.read(most)

    def start_over(self) -> bool:
        self.inner.start_over()
        return True

    def close(self) -> None:
        self.inner.close()
