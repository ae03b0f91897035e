"""A consumer as a state machine: its group membership, its fetches, its offsets.

Start with `consumer.py`, the calls that an application makes.  Below it:

    classic        membership: JoinGroup, SyncGroup, LeaveGroup      leading     the leader's work
    consumer_group membership: ConsumerGroupHeartbeat (KIP-848)      handover    revoked, assigned
    heartbeats     the other thread: it keeps the membership alive   coordinator where it is
    subscription   what is assigned, and how far each partition is   positions   resets, validation
    fetcher        Fetch, and the records that wait for `poll`       commits     committed offsets
    application    a poll loop that a scene or a campaign can drive

May import: client, client.consumer.assignors, events, records, wire.
"""
