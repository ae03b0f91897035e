"""The parts of notebook 01: channels, payloads, the call chain, the graph of the shop."""

from __future__ import annotations

import pytest

from lessons.nb01_events import call_chain, change_cost, schema_payload
from lessons.nb01_events.channels import PubSub, Queue
from lessons.nb01_events.links import Feeds, Links, pairs


def test_a_queue_hands_each_message_to_one_reader() -> None:
    channel = Queue("orders")
    one, two = channel.reader("one"), channel.reader("two")
    for number in range(4):
        channel.publish(str(number))
    assert [one.read(1), two.read(1), one.read(), two.read()] == [["0"], ["1"], ["2", "3"], []]
    assert not one.start_over()


def test_a_late_subscriber_gets_nothing_that_was_published_before() -> None:
    channel = PubSub("orders")
    one, two = channel.reader("one"), channel.reader("two")
    channel.publish("A")
    late = channel.reader("late")
    channel.publish("B")
    got = [each.read() for each in (one, two, late)]
    for each in (one, two, late, channel):
        each.close()
    assert got == [["A", "B"], ["A", "B"], ["B"]]


ORDER = {"order": "long", "name": "string"}


@pytest.mark.parametrize("number", [0, -1, 1, 63, 64, -65, 4711, 2**40, -(2**40)])
def test_an_order_survives_the_payload(number: int) -> None:
    event = {"order": number, "name": "Jürgen"}
    body = schema_payload.write(ORDER, event)
    assert schema_payload.read(ORDER, body) == event


def test_a_long_is_written_as_avro_writes_it() -> None:
    written = [schema_payload.write_long(number).hex() for number in (0, -1, 1, -64, 64)]
    assert written == ["00", "01", "02", "7f", "8001"]


def test_a_body_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="name"):
        schema_payload.read(ORDER, schema_payload.write_long(1))
    with pytest.raises(ValueError, match="claims"):
        schema_payload.read(ORDER, b"\x02\x08ab")


def test_the_frame_has_five_bytes() -> None:
    assert schema_payload.framed(258, b"x") == b"\x00\x00\x00\x01\x02x"


def test_a_request_waits_for_a_free_thread() -> None:
    server = call_chain.Threads(1, {"call": ["slow"], "page": []}, {"slow": 1_000})
    server.arrives(0.0, "call")
    server.arrives(0.5, "page")
    call, page = server.run()
    assert round(call.took_ms) == 1_010
    assert round(page.waited_ms) == 510
    assert call_chain.slowest([call, page], "call") == call.took_ms


def test_a_service_is_slow_for_its_time_only() -> None:
    server = call_chain.Threads(9, {"call": ["mail"]}, {"mail": 20})
    server.slow("mail", 500, from_s=1, for_s=1)
    for at_s in (0.0, 1.5, 2.5):
        server.arrives(at_s, "call")
    assert [round(each.took_ms) for each in server.run()] == [30, 510, 30]


def test_a_new_reader_of_the_log_changes_nothing_that_is_there() -> None:
    tangled, program, calling, on_log = change_cost.SHOP
    assert [len(each.added("loyalty")[0]) for each in (program, calling, on_log)] == [1, 1, 0]
    assert [len(each.stopped("mail")) for each in (program, calling, on_log)] == [4, 3, 1]
    assert program.renamed("total")[1] == {"shop"}
    assert on_log.renamed("total")[0] == {"checkout", "payment"}
    assert [each.units for each in (tangled, program, calling)] == [1, 1, 4]


def test_modules_keep_a_change_inside_and_are_released_together() -> None:
    tangled, program, *_ = change_cost.SHOP
    assert tangled.arrows > program.arrows
    assert tangled.changed_inside("mail") == (set(change_cost.PARTS), {"shop"})
    assert program.changed_inside("mail") == ({"mail"}, {"shop"})


def test_links_are_counted() -> None:
    assert Links(5).text.startswith("5 systems: 10 links")
    assert "66 links" in Links(12).svg()
    assert "12 links" in Links(12).svg()
    assert pairs(2) == 1


def test_senders_and_receivers_multiply_in_pairs_and_add_up_through_a_log() -> None:
    assert Feeds(6, 4).text.startswith("6 senders, 4 receivers: 24 links")
    assert "24 links" in Feeds(6, 4).svg()
    assert "10 links" in Feeds(6, 4).svg()
    assert len(set(Feeds(3, 2).pairs)) == 6
