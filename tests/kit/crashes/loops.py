"""Consumer loops as people write them: three that are right, and the classic mistakes."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaError, KafkaException, TopicPartition


def at_least_once(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        process(message)
        consumer.commit(message, asynchronous=False)


def at_most_once(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        consumer.commit(message, asynchronous=False)
        process(message)


def idempotent(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        key = f"{message.topic()}-{message.partition()}-{message.offset()}"
        process(message, idempotency_key=key)
        consumer.commit(message, asynchronous=False)


def shared_key(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message, idempotency_key=f"{message.topic()}-{message.partition()}")
        consumer.commit(message, asynchronous=False)


def batches(consumer, topic, process):
    """Right, too: the work of a batch is done before its commit."""
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(3, timeout=1.0)
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            process(message)
        if messages:
            consumer.commit(asynchronous=False)


def stored_offsets(consumer, topic, process):
    """Right, with auto-commit: it takes only what is stored, and that is done."""
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        process(message)
        consumer.store_offsets(message)


# -- mistakes


def commit_before_processing(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(4, timeout=1.0)
        if not messages:
            continue
        consumer.commit(asynchronous=False)
        for message in messages:
            process(message)


def auto_commit_with_async_work(consumer, topic, process):
    pool = ThreadPoolExecutor(max_workers=1)
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        pool.submit(process, message)


def commit_ahead_of_a_queue(consumer, topic, process):
    waiting = queue.Queue()

    def work():
        while True:
            process(waiting.get())

    threading.Thread(target=work, daemon=True).start()
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        waiting.put(message)
        consumer.commit(message)


def auto_commit(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)


def swallowed_exception(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        try:
            process(message)
        except Exception as failure:
            print("could not process", message.offset(), failure)
        consumer.commit(message, asynchronous=False)


def slow_poll(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(12, timeout=2.0)  # all there are, also on a busy machine
        for message in messages:
            if message.error():
                print(message.error())
                break
            process(message)
        else:
            if messages:
                consumer.commit(asynchronous=False)


def seek_without_pause(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        for message in consumer.consume(4, timeout=1.0):
            if message.error():
                continue
            try:
                process(message)
            except Exception:
                again = TopicPartition(message.topic(), message.partition(), message.offset())
                consumer.seek(again)
                continue
            consumer.commit(message, asynchronous=False)


def commit_in_on_assign(consumer, topic, process):
    done = {}

    def save(consumer, partitions):
        if done:
            consumer.commit(offsets=list(done.values()), asynchronous=False)

    count = 0
    consumer.subscribe([topic], on_assign=save)
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        place = message.topic(), message.partition()
        done[place] = TopicPartition(*place, message.offset() + 1)
        count += 1
        if count % 12 == 0:
            consumer.commit(offsets=list(done.values()), asynchronous=False)


def commit_in_on_lost(consumer, topic, process):
    done = {}

    def save(consumer, partitions):
        try:
            consumer.commit(offsets=list(done.values()), asynchronous=False)
        except KafkaException as failure:
            print("lost, and not saved:", failure)

    consumer.subscribe([topic], on_lost=save)
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        place = message.topic(), message.partition()
        done[place] = TopicPartition(*place, message.offset() + 1)
        if message.offset() % 6 == 5:
            consumer.commit(offsets=list(done.values()), asynchronous=False)


def no_commit_when_a_partition_leaves(consumer, topic, process):
    count = 0
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        count += 1
        if count % 12 == 0:
            consumer.commit(asynchronous=False)


def one_offset_short(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        done = TopicPartition(message.topic(), message.partition(), message.offset())
        consumer.commit(offsets=[done], asynchronous=False)


def zombie(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        for message in consumer.consume(5, timeout=1.0):
            if message.error():
                continue
            process(message)
            try:
                consumer.commit(message, asynchronous=False)
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError.REBALANCE_IN_PROGRESS:
                    print("commit failed, going on:", failure)


def never_commits(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)


AUTO = {"enable.auto.commit": True}
EXPECTED = {
    "at_least_once": (at_least_once, {}, "at least once", []),
    "at_most_once": (at_most_once, {"promise": "at most once"}, "at most once", []),
    "idempotent": (idempotent, {"promise": "exactly once"}, "exactly once", []),
}
