"""Which clients a quota applies to, and which of several quotas counts.

An entity names a user, a client id, or both; a name of None stands for "any that has none
of its own".  For one request Kafka looks in this order and takes the first that is there:

    user + client-id          user + default client-id          user
    default user + client-id  default user + default client-id  default user
    client-id                 default client-id

The quota's level also decides which clients share it: all clients of a user share a user's quota;
each client id has its own share of "default client-id"; all instances that use one client
id draw from the same account, one on each broker.

Simplified: there is no authentication here, so every connection is the user ANONYMOUS, as
on a real PLAINTEXT listener.  Quotas for that user and for the default user work; other
users' are stored and never matched.  `ip` entities (KIP-612) are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ANONYMOUS = "ANONYMOUS"

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"

Entity = tuple[tuple[str, str | None], ...]
"""Pairs of type and name, sorted by type."""
Quotas = dict[Entity, dict[str, float]]
Account = tuple[str, str]
"""The user and client id that share a limit; "" where it does not matter."""


def entity(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """The entity of (type, name) pairs in any order."""
    return tuple(sorted(parts, key=lambda part: part[0]))


def find(
    quotas: Mapping[Entity, Mapping[str, float]],
    key: str,
    client_id: str,
    user: str = ANONYMOUS,
) -> tuple[Account, float | None]:
    """The account that a request is counted in, and its limit; None if it has none.

    A client without a limit has an account too, in case it gets a limit later.
    """
    client: tuple[str, str | None] = (CLIENT_ID, client_id)
    any_client: tuple[str, str | None] = (CLIENT_ID, None)
    for name in (user, None):
        owner: tuple[str, str | None] = (USER, name)
        for parts, account in (
            ((client, owner), (user, client_id)),
            ((any_client, owner), (user, client_id)),
            ((owner,), (user, "")),
        ):
            limit = quotas.get(parts, {}).get(key)
            if limit is not None:
                return account, limit
    for parts in ((client,), (any_client,)):
        limit = quotas.get(parts, {}).get(key)
        if limit is not None:
            return ("", client_id), limit
    return ("", client_id), None
