"""A producer among renumbered batches, recreated topics, deposed leaders and late answers."""

from __future__ import annotations

from tests.engine.client.worlds import finish, lines, produce, send, world


def test_a_batch_numbered_anew_and_refused_again_gets_a_new_epoch_not_endless_tries() -> None:
    w = world()
    producer = produce(w, linger_ms=0, batch_size=1)
    send(w, "known")
    finish(w)
    w.delay(101, "shop", ms=0, count=1, api="Produce")
    w.drop(101, "shop", count=1, api="Produce")  # both are stored, but only A's answer arrives
    send(w, "A", "B")
    assert producer.identity is not None
    producer.identity.restart_partition(("orders", 0))
    producer.identity.settle()
    assert finish(w).verdicts.count() == {"acknowledged": 3}
    gaps = [f for _, f, _ in lines(w, "answered") if f["error"] == "OUT_OF_ORDER_SEQUENCE_NUMBER"]
    assert len(gaps) == 1
    assert [fields["epoch"] for _, fields, _ in lines(w, "epoch_bump")] == [1, 2]
