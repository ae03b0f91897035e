"""What notebook 05 asks ZooKeeper's ensemble: its history, its watches, its writes.

ensemble.history(world)                 a row for each thing that happened to a znode
ensemble.watchers(world, "/controller") the brokers that a member would inform of a change
ensemble.writes(world, action)          how many changes the members agreed on meanwhile
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby

from engine.events import Trace
from engine.sim.world.run import EPOCH_US
from engine.sim.world.tape import Add, Ask
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.zookeeper import znodes
from engine.zookeeper.shell import Shell
from kit.tables import Table

OPERATOR, OFFSETS = "zkcli", "__consumer_offsets"
HISTORY = ("registered", "controller", "resigned", "session-over", "brokers", "watch")
MOMENT = ("", "/a/brokers/ids", "/a/controller", "/b/brokers/ids", "/b/controller",
          "leaders of orders in /a")  # fmt: skip
"""The columns of `moment`."""
SHORT_S = 0.5


# -- an operator, and what it sees


def operator(world: World) -> Shell:
    """Adds a client at ZooKeeper's command line: `world.tell("zkcli", "delete", "/controller")`."""
    made = world.add(OPERATOR, Shell(OPERATOR, world.cluster.spec))
    world.run(until=lambda w: made.client.is_connected, for_s=10)
    return made


def history(world: World) -> Table:
    """What happened to brokers, sessions and watches, and what was done from outside."""
    seen = [(at, str(node), _said(line)) for at, node, line in world.cluster.trace
            if line.kind in HISTORY]  # fmt: skip
    done = [(EPOCH_US + each.at_us, "", str(each.action).removeprefix("tell "))
            for each in world.tape if not isinstance(each.action, Add | Ask)]  # fmt: skip
    rows = []
    everything = sorted(seen + done, key=lambda row: row[0])
    for said, group in groupby(everything, key=lambda row: row[2]):
        together = list(group)
        nodes = " ".join(dict.fromkeys(node for _, node, _ in together))
        rows.append((f"{(together[0][0] - EPOCH_US) / 1e6:.3f}", nodes, said))
    return Table("What happened", ("second", "node", "what"), rows)


def _said(line: Trace) -> str:
    fields = dict(line.fields)
    match line.kind:
        case "registered":
            return f"creates /brokers/ids/{fields['broker']}"
        case "controller":
            return f"creates /controller, epoch {fields['epoch']}"
        case "resigned":
            return f"resigns: {line.why}"
        case "session-over":
            return f"ends a session, and with it {', '.join(fields['owned'])}"
        case "brokers":
            return f"finds new brokers {fields['new']}, gone {fields['gone']}"
    return f"its watch fires: {fields['path']} {fields['what']}"


def watchers(world: World, path: str) -> list[int]:
    """The brokers that watch a path; each has its watch at the member it is connected to."""
    sessions = {broker.plane.client.session: each for each in world.cluster.spec.brokers
                if (broker := world.cluster.nodes.get(each)) is not None}  # fmt: skip
    members = [world.cluster.nodes[each] for each in world.cluster.spec.ensemble]
    found = {session for member in members for kind in ("data", "child")
             for session in member.watches.by_path.get((kind, path), ())}  # fmt: skip
    return sorted(sessions[each] for each in found if each in sessions)


# -- several clusters


def named_by(world: World, broker: int) -> list[int]:
    """The brokers that this one names to clients."""
    answer = world.ask(m.MetadataRequest(topics=[]), broker)
    return [] if answer is None else sorted(each.node_id for each in answer.brokers)


def moment(world: World, name: str) -> tuple[str, ...]:
    """A row: in both clusters the brokers that are registered and the controller, in /a leaders."""
    led = Counter(each.leader for each in world.partitions("orders").values())
    there = world.znodes()
    row = [name]
    for chroot in ("/a", "/b"):
        ids = [path.rpartition("/")[2] for path in there if f"{chroot}/brokers/ids/" in path]
        known = there.get(f"{chroot}/controller")
        row += [" ".join(ids), str(znodes.controller_of(known.data)) if known else "none"]
    return (*row, ", ".join(f"{each}: {led[each]}" for each in sorted(led)))


# -- what is written


def writes(world: World, action: Callable[[], object]) -> int:
    """How many changes the members agree on while `action` runs."""
    before = _last_zxid(world)
    action()
    return _last_zxid(world) - before


def _last_zxid(world: World) -> int:
    members = [world.cluster.nodes[each] for each in world.cluster.spec.ensemble]
    return max(int(each.agreement.applied) for each in members)


# -- a consumer's offsets, then and now


def offsets_then(world: World, chroot: str, commits: int) -> tuple[int, str]:
    """A consumer before 0.9 commits so often: the writes, and the znode with its offset."""
    path, parents = f"{chroot}/consumers", ("/billing", "/offsets", "/orders", "/0")
    world.tell(OPERATOR, "create", path)
    for name in parents:
        path += name
        world.tell(OPERATOR, "create", path)
    world.run(for_s=1)

    def commit() -> None:
        for offset in range(1, commits + 1):
            world.tell(OPERATOR, "set", path, str(offset))
            world.run(for_s=1)

    return writes(world, commit), f"{path} is {world.znodes()[path].data}"


def offsets_now(world: World, commits: int) -> tuple[int, str]:
    """The same with today's request: the writes, and what the offsets topic has gained."""
    coordinator = _coordinator(world)
    log = world.replica(coordinator, OFFSETS, 0).log
    before = log.log_end_offset

    def commit() -> None:
        for offset in range(1, commits + 1):
            request = m.OffsetCommitRequest
            row = request.OffsetCommitRequestPartition(0, offset, -1, "")
            topic = request.OffsetCommitRequestTopic("orders", partitions=[row])
            world.ask(request("billing", -1, "", topics=[topic]), coordinator, version_max=9)
            world.run(for_s=1)

    written = writes(world, commit)
    return written, f"{OFFSETS}-0 has {log.log_end_offset - before} more records"


def _coordinator(world: World) -> int:
    """The group's coordinator, once it has read its partition."""
    for _ in range(50):
        answer = world.ask(m.FindCoordinatorRequest(key_type=0, coordinator_keys=["billing"]))
        world.run(for_s=SHORT_S)
        if answer is not None and answer.coordinators[0].error_code == 0:
            return int(answer.coordinators[0].node_id)
    raise AssertionError("No broker coordinates the group.")
