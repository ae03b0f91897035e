"""What must hold in every consumer group, of either protocol, after every event.

    one owner     A partition has one owner per generation: in what a coordinator gives out, and in
                  what the members of that generation believe.  In the consumer protocol no two
                  members have it at one time.
    fencing       A commit is refused from a member that was out of the group, or in an older
                  generation, when it sent it.
    generations   They only grow, also from one coordinator to the next, and no assignment is given
                  out before it is stored.
    members       A new coordinator has the members of the generation that it goes on with, and
                  none that was removed before.
    offsets       An acknowledged commit is what OffsetFetch answers until a later one, also after
                  fail-over.
    cooperative   What a member may keep, it is not made to give back.

The coordinator is the broker that the controller has made the leader, once it has loaded the
group.  A former leader may go on for a while in its own world; it stores nothing there.

A commit without an answer may have been stored, so its offset may be seen, now or later.
An unclean election of `__consumer_offsets` may lose what was stored: from then on all begins
from the front.

Not judged: groups whose offsets or topics are deleted, and members that commit without a group.
"""

from __future__ import annotations

from typing import Any

from engine.client.consumer.classic import ClassicMembership
from engine.client.consumer.consumer import CLOSE, Consumer
from engine.client.metadata import Place
from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.states import GroupState
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.group_shard import GroupShard
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, partition_for
from engine.events import Trace
from engine.metadata.image import TopicImage
from engine.plain import Plain
from engine.sim.invariants import group_commits
from engine.sim.invariants.books import Violation
from engine.sim.invariants.coordinator_view import is_stored, places_assigned, places_owned
from engine.sim.invariants.group_books import GroupBooks, named, places_of

READ_BYTES = 1 << 20
UNCLEAN = ("unclean", "last known")


class GroupInvariants:
    """Reads the trace lines of coordinators and members; `note` raises Violation."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.books: dict[str, GroupBooks] = {}
        self.may_have_lost = False
        """Whether an unclean election may have lost a group, its members included."""
        self.heard_since: dict[NodeId, None] = {}
        """Members that a coordinator has spoken to since; the others believe what was before."""
        self._offsets_topic: tuple[int, TopicImage | None] = (0, None)
        """The metadata offset at which the controller was last seen, and its offsets topic then."""
        self.owners: dict[str, dict[Place, tuple[str, str]]] = {}
        """By group and partition: member id and group.instance.id of the last owner."""

    def note(self, node: NodeId, line: Trace) -> None:
        """Judges one line of the trace, at the end of its event."""
        if isinstance(node, int):
            match line.kind:
                case "group":
                    self._group(node, dict(line.fields))
                case "groups-loaded":
                    self._loaded(node)
                case "elected" if line.partition.startswith(OFFSETS_TOPIC):
                    if dict(line.fields)["reason"] in UNCLEAN:
                        self.books.clear()
                        self.may_have_lost = True
                        self.heard_since.clear()
            return
        member = self.cluster.nodes.get(node)
        if not isinstance(member, Consumer) or not member.settings.group_id:
            return
        match line.kind:
            case "joined" | "assigned":
                self._believes(node, member, line.kind, dict(line.fields))
            case "revoked":
                self._revoked(member, dict(line.fields)["partitions"])
            case "committing" | "committed" | "offset fetched":
                self._offset(member, line.partition, line.kind, dict(line.fields))

    # -- looking

    def shard(self, group: str) -> GroupShard | None:
        """Of the group's coordinator, once the broker that leads its partition has loaded it."""
        topic = self._topic()
        if topic is None:
            return None
        index = partition_for(group, len(topic.partitions))
        image = topic.partitions[index]
        broker = self.cluster.nodes.get(image.leader)
        replica = broker.replicas.partition(OFFSETS_TOPIC, index) if broker is not None else None
        if broker is None or replica is None or replica.leader_epoch != image.leader_epoch:
            return None
        return self._shard_of(image.leader, index)

    def _shard_of(self, node: int, index: int) -> GroupShard | None:
        broker = self.cluster.nodes.get(node)
        found = None if broker is None else broker.groups.runtime.shards.get(index)
        return None if found is None else found.state

    def _topic(self) -> TopicImage | None:
        """As the controller has it, or last had it: while it is away there is no election."""
        controller = self.cluster.controller
        seen_at, topic = self._offsets_topic
        if controller is not None and controller.image.offset >= seen_at:
            topic = controller.image.topic(OFFSETS_TOPIC)
            self._offsets_topic = (controller.image.offset, topic)
        return topic

    def members(self, group: str) -> dict[NodeId, Consumer]:
        """The processes that read for a group, whether the group knows of them or not."""
        nodes = self.cluster.nodes.items()
        return {
            name: node
            for name, node in nodes
            if isinstance(node, Consumer) and node.settings.group_id == group
        }

    def orphans(self, group_id: str) -> list[Place]:
        """Partitions that wait for the next rebalance, in Kafka as well.

        A cooperative group takes a partition from one member and gives it to another in a second
        rebalance, which the first one begins (KIP-429).  If that is a static member that dies
        in between, its replacement gets its smaller assignment without a rebalance (KIP-345), and
        no member asks for the second one.
        """
        shard = self.shard(group_id)
        group = None if shard is None else shard.group(group_id)
        if not isinstance(group, Group) or group.state is not GroupState.STABLE:
            return []
        members = group.members.values()
        given = {place for each in members for place in places_assigned(each.assignment)}
        return [
            place
            for place, (member_id, instance) in self.owners.get(group_id, {}).items()
            if place not in given and group.static_members.get(instance, member_id) != member_id
        ]

    def _books(self, group: str) -> GroupBooks:
        return self.books.setdefault(group, GroupBooks())

    # -- what the coordinator says

    def _group(self, node: int, fields: Plain) -> None:
        shard = self.shard(fields["group"])
        if shard is None or shard.log.host.node_id != node:
            self._note_taken_back(node, fields["group"])
            return
        group = shard.group(fields["group"])
        if isinstance(group, ConsumerGroup):
            self._one_holder(group)
            self._note_removed(node, group)
        elif isinstance(group, Group) and fields["state"] == GroupState.STABLE:
            self._generation_begins(shard, group, fields["generation"])

    def _generation_begins(self, shard: GroupShard, group: Group, generation: int) -> None:
        books = self._books(group.id)
        if generation <= books.generation:
            raise Violation(
                f"generations: {group.id}: generation {generation} begins after {books.generation}"
            )
        if not is_stored(shard, group.id, generation):
            raise Violation(
                f"generations: {group.id}: the assignment of generation {generation} is given out "
                f"before it is stored"
            )
        books.generation = generation
        books.dynamic = [each.id for each in group.members.values() if each.instance_id is None]
        taken: dict[Place, str] = {}
        for member in group.members.values():
            for place in places_assigned(member.assignment):
                if place in taken:
                    raise Violation(
                        f"one owner: {group.id}: generation {generation} gives {named(place)} to "
                        f"{taken[place]} and {member.id}"
                    )
                taken[place] = member.id

    def _one_holder(self, group: ConsumerGroup) -> None:
        held: dict[tuple[bytes, int], str] = {}
        for member in group.members.values():
            for owned in (member.assigned, member.revoking):
                for at in ((topic, index) for topic, each in owned.items() for index in each):
                    if at in held:
                        raise Violation(
                            f"one owner: {group.id}: partition {at[1]} is {held[at]}'s, and "
                            f"{member.id} gets it in epoch {group.epoch}"
                        )
                    held[at] = member.id

    def _note_removed(self, node: int, group: ConsumerGroup) -> None:
        books = self._books(group.id)
        # A static member is replaced in the same epoch: hearing of that one proves nothing.
        proof = group.epoch if group.epoch > books.epoch else group.epoch + 1
        books.epoch = group.epoch
        for member_id in books.present.get(node, ()):
            if member_id not in group.members:
                books.removed[member_id] = proof
        for member_id in group.members:
            books.removed.pop(member_id, None)  # back under its own id
        books.present[node] = list(group.members)

    def _note_taken_back(self, node: int, group_id: str) -> None:
        """A former coordinator writes on, and its successor may have copied what it wrote."""
        topic, books = self._topic(), self._books(group_id)
        if topic is None:
            return
        shard = self._shard_of(node, partition_for(group_id, len(topic.partitions)))
        group = None if shard is None else shard.group(group_id)
        if isinstance(group, ConsumerGroup):
            before = books.present.get(node, group.members)
            for member_id in group.members:
                if member_id not in before:
                    books.removed.pop(member_id, None)
            books.present[node] = list(group.members)

    def _loaded(self, node: int) -> None:
        """A new coordinator: it must know what its predecessor has answered."""
        for group_id, books in self.books.items():
            shard = self.shard(group_id)
            if shard is None or shard.log.host.node_id != node:
                continue
            group = shard.group(group_id)
            known = group.epoch if isinstance(group, ConsumerGroup) else 0
            if isinstance(group, Group):
                known = group.generation
            if known < max(books.generation, books.heard):
                raise Violation(
                    f"generations: {group_id}: its new coordinator {node} goes on with {known}, "
                    f"after {max(books.generation, books.heard)}"
                )
            if isinstance(group, Group) and known == books.generation:
                gone = [each for each in books.dynamic if each not in group.members]
                if gone:
                    raise Violation(
                        f"members: {group_id}: its new coordinator {node} does not know "
                        f"{', '.join(gone)} of generation {known}"
                    )
            if isinstance(group, ConsumerGroup):
                self._check_removed(books, group, node)

    def _check_removed(self, books: GroupBooks, group: ConsumerGroup, node: int) -> None:
        """What was removed before an epoch that some member has heard of was stored."""
        for member_id, epoch in books.removed.items():
            if member_id in group.members and epoch <= books.heard:
                raise Violation(
                    f"members: {group.id}: its new coordinator {node} has {member_id}, which was "
                    f"removed in epoch {epoch}"
                )
        books.removed = {
            each: at for each, at in books.removed.items() if each not in group.members
        }
        books.present[node] = list(group.members)

    # -- what members believe

    def _believes(self, name: NodeId, member: Consumer, kind: str, fields: Plain) -> None:
        group_id, membership = member.settings.group_id, member.membership
        classic = isinstance(membership, ClassicMembership)
        owner = membership.member_id, member.settings.group_instance_id
        self.owners.setdefault(group_id, {}).update(dict.fromkeys(member.owned, owner))
        self.heard_since[name] = None
        if kind == "joined" and not classic:
            books = self._books(group_id)
            books.heard = max(books.heard, fields["generation"])
        shard = self.shard(group_id)
        group = None if shard is None else shard.group(group_id)
        if group is None or membership.member_id not in group.members:
            return
        for other_name, other in self.members(group_id).items():
            theirs = other.membership
            if other is member or theirs.member_id not in group.members:
                continue
            if self.may_have_lost and other_name not in self.heard_since:
                continue
            if classic and theirs.generation != membership.generation:
                continue
            both = [place for place in member.owned if place in other.owned]
            if both:
                raise Violation(
                    f"one owner: {group_id}: {name} and {other_name} both read "
                    f"{', '.join(map(named, both))} in {membership.generation}"
                )

    def _revoked(self, member: Consumer, names: str) -> None:
        """A cooperative member gave back; was that asked of it?"""
        group_id, membership = member.settings.group_id, member.membership
        if isinstance(membership, ClassicMembership) and membership.protocol != "cooperative":
            return
        shard = self.shard(group_id)
        group = None if shard is None else shard.group(group_id)
        known: Any = None if group is None else group.members.get(membership.member_id)
        if shard is None or known is None or member.call == CLOSE:
            return
        if isinstance(group, Group):
            if group.generation != membership.generation:
                return
            stays = places_assigned(known.assignment)
        else:
            stays = places_owned(shard, known.assigned)
        needless = [place for place in places_of(names) if place in stays]
        if needless:
            raise Violation(
                f"cooperative: {group_id}: {member.name} gives back "
                f"{', '.join(map(named, needless))}, which it may keep"
            )

    # -- committed offsets

    def _offset(self, member: Consumer, partition: str, kind: str, fields: Plain) -> None:
        group_id, place = member.settings.group_id, places_of(partition)[0]
        shard, books, now_us = self.shard(group_id), self._books(group_id), self.cluster.now
        if kind == "committing":
            group_commits.committing(books, shard, member, place, fields, now_us)
        elif kind == "committed":
            group_commits.committed(books, shard, member, place, fields, now_us)
        elif shard is not None and shard.log.host.node_id == fields["broker"]:
            # a former coordinator may answer with what it has, as Kafka's does
            self.fetched(group_id, place, fields["offset"], fields["asked_us"])

    def fetched(self, group: str, place: Place, offset: int, asked_us: int) -> None:
        """OffsetFetch has answered this offset, -1 for none."""
        group_commits.fetched(self._books(group), group, place, offset, asked_us)
