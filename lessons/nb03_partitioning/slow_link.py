"""A slow link between a producer and a broker: what a codec saves on it, and on loopback.

All brokers are on this machine, where no link is slow.  So the producer's end keeps the pace: it
writes a request to its socket at so many bits a second.  Nothing else differs.
"""

from __future__ import annotations

import time
from statistics import median

from engine.records import batch, compression
from engine.wire import framing
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import requests
from kit.probes.clients import partition
from kit.probes.raw_client import NAMED, RawClient
from lessons.nb03_partitioning import payloads

LINKS = {"10 Mbit/s": 10_000_000, "loopback": 0}
"""Bits a second by name; 0 for no limit."""
CODECS = ("none", "zstd")
BATCHES, RECORDS, PIECE = 15, 100, 1_250
"""Batches that are sent one after the other, records in each, and bytes written at once."""


def crossings(cluster: Cluster) -> list[str]:
    """A line for each link: the median time of a batch and the rate, by codec.

    The time of a batch is that from the first byte of its request to the answer, in milliseconds;
    the rate counts the values' bytes before compression, in MB/s.
    """
    cluster.create_topic("crossing")
    leader = partition(cluster, "crossing")["leader"]
    found = []
    with RawClient(cluster, leader, "app") as client:
        for link, bits_per_s in LINKS.items():
            by_codec = ", ".join(f"{codec} {_sent(client, codec, bits_per_s)}" for codec in CODECS)
            found.append(f"{cluster.name}, {link}: {by_codec}")
    return found


def _sent(client: RawClient, codec: str, bits_per_s: int) -> str:
    values = [position.encode() for position in payloads.positions(RECORDS)]
    now = requests.now_ms()
    records = [batch.Record(0, now, None, value, ()) for value in values]
    encoded = batch.encode(records, compression=compression.NAMES.index(codec))
    body = requests.producing("crossing", acks=1, records=encoded)
    waits = []
    for number in range(1 + BATCHES):
        frame = framing.write_request(NAMED, number, client.client_id, body)
        began = time.monotonic()
        _write(client, bytes(frame), bits_per_s)
        _, answer = framing.read_response(type(body).API_KEY, NAMED, client.receive_bytes())
        waits.append(time.monotonic() - began)
        if refusal := requests.refusal(requests.first_partition(answer)):
            raise ClusterError(f"The leader refused a batch: {refusal}.")
    del waits[0]  # the first one of a connection is slow
    rate = BATCHES * sum(map(len, values)) / sum(waits) / 1e6
    return f"p50 {1_000 * median(waits):.1f} ms and {rate:.1f} MB/s"


def _write(client: RawClient, frame: bytes, bits_per_s: int) -> None:
    """Writes the frame piece by piece, and waits until each piece would have crossed the link."""
    piece = PIECE if bits_per_s else len(frame)
    due = time.monotonic()
    for at in range(0, len(frame), piece):
        data = frame[at : at + piece]
        if bits_per_s:
            due += 8 * len(data) / bits_per_s
            time.sleep(max(0.0, due - time.monotonic()))
        client.send_bytes(data)
