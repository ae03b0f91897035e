"""The quorum of controllers that keeps the metadata log: Raft, by fetching (KIP-595).

    voters.py            a set of voters, each a node and a directory
    voter_history.py     the sets that the log has had, by offset
    formatting.py        the first set of a new quorum
    roles.py             the six states of a voter, and what leads from one to the next
    election_state.py    what a voter must not forget: epoch, leader, vote
    quorum_state.py      the only place that changes a state; written down before it is seen
    ballot.py            counting votes
    raft_log.py          `__cluster_metadata-0`: append, flush, cut, how far it is committed
    snapshots.py         the snapshots on a disk, which stand for what the log no longer has
    voter_progress.py    what the leader knows of the others: high watermark, check-quorum
    fetches.py           the leader's side of Fetch, and the requests that wait
    snapshot_fetches.py  the leader's side of FetchSnapshot
    raft_messages.py     the requests and answers, for the one partition that they are about
    voter_changes.py     the leader's side of AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter
    requests.py          what a voter asks of the others, by its state
    copying.py           what it does with the answers to Fetch and FetchSnapshot
    replica.py           a voter: answers the others, and acts when a time has come
    describe.py          DescribeQuorum

A voter is part of a controller, which is the machine on top: it applies what is committed, and
leads while its voter leads.  Nothing here reads a clock or opens a socket.

The voters are fixed (kraft.version 0), or data in the log, and then they may change (1).

Source: `raft` of Kafka 4.3.1; KIP-595, KIP-630 (snapshots), KIP-853 (voters), KIP-996 (pre-vote).
Simplified: brokers read what is committed; their copy of the log is in engine/broker.

May import: events, metadata, records, settings, storage, wire.
"""
