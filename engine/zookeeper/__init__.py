"""The historic control plane: ZooKeeper, and Kafka's controller on top of it, as in Kafka 3.9.

Kafka 4.0 removed both.  They are here so that one fault can be played in both designs, on the same
brokers: `World(control_plane="zookeeper", ensemble=3)`.

    the ensemble
        settings.py      historic configs, and what a request costs
        tree.py          znodes, and the rules of what changes them
        watches.py       one-shot notices; sessions.py: when a client is given up
        agreement.py     which member leads, and what a majority has; txn_log.py: on its disk
        member.py        a server, with the clients that are connected to it
    a broker, in the place of KRaft's parts
        znodes.py        paths, and what is in them
        client.py        its session, and what it asks; chroot.py: below which znode
        plane.py         registration, and the way of events to the parts
        orders.py        it obeys LeaderAndIsr, UpdateMetadata and StopReplica
    the controller part of a broker
        controller.py    election, resignation, requests
        steps.py         one event after the other, each in steps between round trips
        context.py       what it knows
        changes.py       what a watch leads to, and what a new controller does
        states.py        partitions: leaders and ISRs; deletion.py: topics that go
        admin.py         what clients and leaders ask for
        channels.py      requests to brokers, in order
    besides: messages.py, what travels; shell.py, an operator; preloaded.py, many partitions

Three elections: the members agree on a leader of the ensemble; ZooKeeper gives `/controller` to
one broker; that controller elects the leaders of partitions.

Two fences keep a former controller out.  A broker refuses what carries an older controller epoch
(STALE_CONTROLLER_EPOCH).  ZooKeeper refuses a write whose check of the version of
`/controller_epoch` fails; then the controller resigns.

Source: kafka.controller, kafka.zk and kafka.zookeeper of Kafka 3.9; ZooKeeper's programmer's
guide.  Simplified: the members agree by a small protocol of their own instead of Zab.  A batch of
requests travels as one message, with the cost of each request in it.  There are no ACLs, no
reassignment and no features.  A broker knows partitions from LeaderAndIsr and from UpdateMetadata
in one image.  It forwards administrative requests to the controller; Kafka's clients asked the
controller themselves.  Replicas, logs and clients are those of today's Kafka.

Groups of the classic protocol and transactions work, as their topics are topics like any other.
The consumer protocol (KIP-848) needs a feature that only KRaft has.

May import: broker, control, events, metadata, plain, replication, settings, storage, wire.
"""
