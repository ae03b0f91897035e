"""What the controller does when a watch fires, and when it has just been elected.

    /brokers/ids changed     a broker is new, gone, or back with another epoch
    /brokers/topics changed  a topic is new: its partitions get a state; or it is gone
    a topic's znode changed  it has more partitions
    elected                  everything is read first: brokers, topics, configs, the state of each
                             partition.  So the time to take over grows with their number

A broker that is gone: its partitions get other leaders, then it leaves every ISR.  A new broker
hears of all partitions, then of its replicas; then partitions without a leader get another
attempt.  A broker with another epoch (it was gone and back before anyone looked) is treated as
gone, then as new.

Source: KafkaController of Kafka 3.9.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from engine.metadata.image import BROKER, TOPIC
from engine.wire import messages as m
from engine.zookeeper import deletion, states, znodes
from engine.zookeeper.context import Context, Key
from engine.zookeeper.steps import Results
from engine.zookeeper.tree import GetChildren, GetData, Operation

# -- brokers


def broker_change(c: Context, now: int, _: Results) -> list[Operation] | None:
    """An event: /brokers/ids has changed."""
    if not c.is_active:
        return None
    read_brokers(c)
    return None


def read_brokers(c: Context, at_failover: bool = False) -> None:
    """Puts the steps that read who is alive, and act on it."""
    c.steps.then(partial(_ask_for_ids, c), partial(_ask_for_brokers, c, at_failover))


def _ask_for_ids(c: Context, now: int, _: Results) -> list[Operation]:
    return [GetChildren(znodes.BROKER_IDS, watch=True)]


def _ask_for_brokers(
    c: Context, at_failover: bool, now: int, results: Results
) -> list[Operation] | None:
    ids = [int(each) for each in results[0].children]
    c.steps.then(partial(_compare, c, ids, at_failover))
    return [GetData(znodes.broker(each)) for each in ids]


def _compare(c: Context, ids: Sequence[int], at_failover: bool, now: int, results: Results) -> None:
    found: dict[int, m.RegisterBrokerRecord] = {}
    for broker_id, result in zip(ids, results, strict=True):
        if result.znode is not None:
            data = znodes.fields(result.znode.data)
            point = m.RegisterBrokerRecord.BrokerEndpoint(
                name="PLAINTEXT", host=data["host"], port=data["port"]
            )
            found[broker_id] = m.RegisterBrokerRecord(
                broker_id=broker_id, broker_epoch=result.znode.czxid, end_points=[point],
                rack=data["rack"], fenced=False,
            )  # fmt: skip
    known = {each.id: each.epoch for each in c.live.values()}
    new = [each for each in found if each not in known]
    back = [each for each in found if known.get(each, found[each].broker_epoch)
            != found[each].broker_epoch]  # fmt: skip
    gone = [each for each in known if each not in found]
    for broker_id in (*gone, *back):
        c.channels.drop(broker_id)
    if at_failover:
        for record in found.values():
            c.state.apply(c.image.offset, record)
        return
    if new or back or gone:
        c.tell("changes.broker_change", "brokers", "a watch on /brokers/ids has fired",
                new=new, back=back, gone=gone)  # fmt: skip
    c.steps.then(
        partial(_register, c, [found[each] for each in new]), partial(_started, c, new),
        partial(_unregister, c, back), partial(_failed, c, back),
        partial(_register, c, [found[each] for each in back]), partial(_started, c, back),
        partial(_unregister, c, gone), partial(_failed, c, gone),
    )  # fmt: skip


def _register(c: Context, records: Sequence[m.RegisterBrokerRecord], now: int, _: Results) -> None:
    for record in records:
        c.state.apply(c.image.offset, record)


def _unregister(c: Context, brokers: Sequence[int], now: int, _: Results) -> None:
    for broker in brokers:
        c.state.apply(c.image.offset, m.UnregisterBrokerRecord(broker_id=broker))


def _started(c: Context, brokers: Sequence[int], now: int, _: Results) -> None:
    """New brokers: first what clients ask about, then their replicas, then elections."""
    if not brokers:
        return
    c.inform([each for each in c.live if each not in brokers], [])
    c.inform(list(brokers), list(c.written_by))
    for broker in brokers:
        for key in c.on_broker(broker):
            if key in c.written_by and key[0] not in c.deleting:
                c.order([broker], key)
    why = f"broker {' '.join(map(str, brokers))} is back"
    c.steps.then(partial(states.send, c), partial(bring_online, c, why),
                 partial(deletion.resume, c))  # fmt: skip


def bring_online(c: Context, why: str, now: int, _: Results) -> None:
    """A step: leaders for partitions that are offline or new."""
    c.steps.then(partial(states.send, c))
    states.initialize(c, c.new_partitions())
    states.change(c, c.offline_partitions(), states.offline, why)


def _failed(c: Context, brokers: Sequence[int], now: int, _: Results) -> None:
    """Brokers that are gone: other leaders first, then they leave the ISRs."""
    if not brokers:
        return
    why = f"broker {' '.join(map(str, brokers))} is gone"
    c.inform(list(c.live), [])
    steps = [partial(_leave, c, broker, why) for broker in brokers]
    c.steps.then(partial(bring_online, c, why), *steps, partial(states.send, c))


def _leave(c: Context, broker: int, why: str, now: int, _: Results) -> None:
    keys = [key for key in c.on_broker(broker) if key in c.written_by and key[0] not in c.deleting]
    states.change(c, keys, partial(states.without, broker), why)


# -- topics


def topic_change(c: Context, now: int, _: Results) -> None:
    """An event: /brokers/topics has changed."""
    if c.is_active:
        read_topics(c)


def read_topics(c: Context, at_failover: bool = False) -> None:
    """Puts the steps that read which topics there are, and start the partitions of new ones."""
    c.steps.then(partial(_ask_for_topics, c), partial(_ask_for_new_topics, c, at_failover))


def _ask_for_topics(c: Context, now: int, _: Results) -> list[Operation]:
    return [GetChildren(znodes.TOPICS, watch=True)]


def _ask_for_new_topics(
    c: Context, at_failover: bool, now: int, results: Results
) -> list[Operation]:
    names = results[0].children
    for name in [each for each in c.image.topic_ids if each not in names]:
        c.remove_topic(name)
    new = [each for each in names if each not in c.image.topic_ids]
    c.steps.then(partial(_take_topics, c, new, at_failover))
    own_configs = [GetData(znodes.config(TOPIC, each)) for each in new]
    return [*(GetData(znodes.topic(each), watch=True) for each in new), *own_configs]


def _take_topics(
    c: Context, names: Sequence[str], at_failover: bool, now: int, results: Results
) -> None:
    for name, result, configs in zip(names, results, results[len(names) :], strict=False):
        if result.znode is None:
            continue
        topic_id, replicas = znodes.topic_of(result.znode.data)
        c.add_topic(name, topic_id)
        c.replicas.update({(name, index): each for index, each in replicas.items()})
        if configs.znode is not None:
            take_configs(c, TOPIC, name, configs.znode.data)
    if not at_failover:
        c.steps.then(partial(bring_online, c, "a new topic"), c.answer_created)


def take_configs(c: Context, resource_type: int, name: str, data: str) -> None:
    """The controller's own view of a resource's configs becomes what the znode says."""
    now_set: dict[str, str] = json.loads(data)["config"]
    before = c.image.configs.get((resource_type, name), {})
    for config in {**before, **now_set}:
        c.state.apply(c.image.offset, m.ConfigRecord(
            resource_type=resource_type, resource_name=name, name=config,
            value=now_set.get(config),
        ))  # fmt: skip


def partitions_change(c: Context, name: str, now: int, _: Results) -> list[Operation] | None:
    """An event: a topic's own znode has changed."""
    if not c.is_active or name not in c.image.topic_ids:
        return None
    c.steps.then(partial(_take_partitions, c, name))
    return [GetData(znodes.topic(name), watch=True)]


def _take_partitions(c: Context, name: str, now: int, results: Results) -> None:
    if results[0].znode is None or name in c.deleting:
        return
    replicas = znodes.topic_of(results[0].znode.data)[1]
    c.replicas.update({(name, index): each for index, each in replicas.items()})
    c.steps.then(partial(bring_online, c, "a new partition"), c.answer_created)


# -- a new controller


def load(c: Context) -> None:
    """Puts the steps of a controller that was just elected: read all, then act on all."""
    c.steps.then(
        partial(_read_all, c), partial(_ask_for_states, c), partial(_loaded, c),
        partial(deletion.read_marks, c), partial(_ready, c), partial(deletion.resume, c),
    )  # fmt: skip


def _read_all(c: Context, now: int, _: Results) -> list[Operation]:
    c.steps.then(partial(_read_rest, c))
    return [GetData(znodes.config(BROKER, ""))]


def _read_rest(c: Context, now: int, results: Results) -> None:
    if results[0].znode is not None:
        take_configs(c, BROKER, "", results[0].znode.data)
    read_topics(c, at_failover=True)
    read_brokers(c, at_failover=True)


def _ask_for_states(c: Context, now: int, _: Results) -> list[Operation]:
    return [GetData(znodes.state(*key)) for key in c.replicas]


def _loaded(c: Context, now: int, results: Results) -> None:
    for (key, replicas), result in zip(c.replicas.items(), results, strict=False):
        if result.znode is not None:
            c.take(key, *znodes.state_of(result.znode.data, result.znode.version, replicas))
    c.tell(
        "changes.load",
        "loaded",
        "everything is read from ZooKeeper first",
        epoch=c.epoch,
        brokers=len(c.live),
        topics=len(c.image.topic_ids),
        partitions=len(c.replicas),
    )


def _ready(c: Context, now: int, _: Results) -> None:
    """Every broker hears which are alive, then of its replicas; then come elections."""
    c.is_loaded = True
    c.inform(list(c.live), [])
    states.send(c, now)
    for key, replicas in c.replicas.items():
        if key in c.written_by and key[0] not in c.deleting:
            c.order([each for each in replicas if c.is_online(each)], key)
    states.send(c, now)
    dead = sorted({each for replicas in c.replicas.values() for each in replicas
                   if each not in c.live})  # fmt: skip
    why = f"controller epoch {c.epoch} begins"
    c.steps.then(*(partial(_leave, c, broker, why) for broker in dead),
                 partial(bring_online, c, why), partial(_is_ready, c))  # fmt: skip


def _is_ready(c: Context, now: int, _: Results) -> None:
    c.tell("changes.load", "controller-ready", "it has acted on everything", epoch=c.epoch)


# -- a broker that wants to stop


def controlled_shutdown(c: Context, broker: int) -> None:
    """Puts the steps that move its leaderships away and take it from the ISRs."""
    record = m.BrokerRegistrationChangeRecord(broker_id=broker, in_controlled_shutdown=1)
    c.state.apply(c.image.offset, record)
    keys: list[Key] = [key for key in c.on_broker(broker) if len(c.replicas[key]) > 1
                       and key in c.written_by and key[0] not in c.deleting]  # fmt: skip
    images = {key: c.partition(key) for key in keys}
    led = [key for key, image in images.items() if image and image.leader == broker]
    followed = [key for key in keys if key not in led]
    why = f"broker {broker} is shutting down"
    c.steps.then(partial(_move, c, led, why), partial(_stop, c, broker, followed, why),
                 partial(states.send, c))  # fmt: skip


def _move(c: Context, keys: Sequence[Key], why: str, now: int, _: Results) -> None:
    c.steps.then(partial(states.send, c))
    states.change(c, keys, states.shutdown, why)


def _stop(c: Context, broker: int, keys: Sequence[Key], why: str, now: int, _: Results) -> None:
    c.batch.stop.setdefault(broker, {}).update(dict.fromkeys(keys, False))
    states.change(c, keys, partial(states.without, broker), why)
