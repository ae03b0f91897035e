"""The life of a segment in the remote tier, as a table.

    COPY_SEGMENT_STARTED ---> COPY_SEGMENT_FINISHED      only now is it read
              |                         |
              +-----------+-------------+
                          v
              DELETE_SEGMENT_STARTED ---> DELETE_SEGMENT_FINISHED

The store and the record of what is in it are two things, and a broker may die between them.  So
each change is written down before it is made, and once more when it is complete.  A copy that has
been started and not finished is no copy: the segment is copied again under another id, and
retention deletes the files of the first attempt.  A delete that has been started goes on, and the
segment is not read in between.

The same state once more changes nothing, because a broker that has lost the answer writes its
record again.

Source: KIP-405; Kafka's RemoteLogSegmentState.
"""

from __future__ import annotations

from enum import IntEnum


class RemoteLogSegmentState(IntEnum):
    """With the numbers that Kafka's records have."""

    COPY_SEGMENT_STARTED = 0
    COPY_SEGMENT_FINISHED = 1
    DELETE_SEGMENT_STARTED = 2
    DELETE_SEGMENT_FINISHED = 3


_S = RemoteLogSegmentState
TRANSITIONS: dict[RemoteLogSegmentState | None, tuple[RemoteLogSegmentState, ...]] = {
    None: (_S.COPY_SEGMENT_STARTED,),
    _S.COPY_SEGMENT_STARTED: (_S.COPY_SEGMENT_FINISHED, _S.DELETE_SEGMENT_STARTED),
    _S.COPY_SEGMENT_FINISHED: (_S.DELETE_SEGMENT_STARTED,),
    _S.DELETE_SEGMENT_STARTED: (_S.DELETE_SEGMENT_FINISHED,),
    _S.DELETE_SEGMENT_FINISHED: (),
}
"""The states that may follow each; None is a segment that is not known yet."""


def may_follow(before: RemoteLogSegmentState | None, after: RemoteLogSegmentState) -> bool:
    return before is after or after in TRANSITIONS[before]
