"""The glossary: terms are found as people write them, and name what Kafka has."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from engine.settings.definitions import table
from kit import glossary, lab

ROOT = Path(__file__).resolve().parents[2]
OF_CLIENTS = {
    "acks",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.size",
    "bootstrap.servers",
    "buffer.memory",
    "check.crcs",
    "client.rack",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.idempotence",
    "errors.deadletterqueue.topic.name",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.poll.interval.ms",
    "max.poll.records",
    "partition.assignment.strategy",
    "partitioner.class",
    "processing.guarantee",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "session.timeout.ms",
    "transactional.id",
}
OF_OTHERS = {"confluent.placement.constraints", "metadata.version"}
BETWEEN_NODES = {"AlterPartition", "BrokerHeartbeat", "BrokerRegistration"}


@pytest.mark.parametrize("word", ["ISR", "isr", "ISRs", "in-sync replica", "In sync replicas"])
def test_a_term_is_found_in_any_case_and_number(word: str) -> None:
    card = lab.term(word)
    assert card
    assert card.heading == "in-sync replicas (ISR)"
    assert "kept up" in repr(card)
    assert "replica.lag.time.max.ms" in card._repr_html_()


@pytest.mark.parametrize("word", ["purgatories", "batches", "indexes", "epochs", "acks", "retries"])
def test_a_plural_is_forgiven(word: str) -> None:
    assert lab.term(word)


def test_an_unknown_term_gets_the_nearest() -> None:
    card = lab.term("high water mark")
    assert not card
    assert "high watermark (HW)" in repr(card)


def test_a_setting_or_a_kip_leads_to_its_terms() -> None:
    assert "linger" in dict(lab.term("linger.ms").rows)
    assert "eligible leader replicas (ELR)" in dict(lab.term("kip-966").rows)


def test_where_nothing_is_near_the_list_is_named() -> None:
    assert "lab.term() lists all" in repr(lab.term("qqqqqq"))


def test_without_a_word_all_terms_are_listed() -> None:
    listed = lab.term()
    assert len(listed.rows) == len(glossary.read()) > 90
    lines = (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    assert len(listed.rows) == sum(line.startswith("| ") for line in lines) - 1


def test_no_two_terms_share_a_name_and_they_stand_in_order() -> None:
    keys = [{glossary.key(name) for name in (each.name, *each.others)} for each in glossary.read()]
    shared = [name for name, times in Counter(n for own in keys for n in own).items() if times > 1]
    assert shared == []
    names = [each.name.lower().replace("-", " ") for each in glossary.read()]
    assert names == sorted(names)


def test_what_a_term_belongs_to_exists() -> None:
    """Settings are those of the pinned Kafka; clients', Streams' and Connect's are listed here."""
    known = OF_CLIENTS | OF_OTHERS
    for resource in ("broker", "topic", "group"):
        known |= set(table(resource))
    advertised = json.loads((ROOT / "kit" / "kafka" / "advertised.json").read_text("utf-8"))
    apis = set(advertised["apis"]) | BETWEEN_NODES
    for each in glossary.read():
        for place in filter(None, each.see.split(", ")):
            if place.endswith(" API"):
                assert place.removesuffix(" API") in apis, each.name
            elif re.fullmatch(r"[a-z.]+\.[a-z.]+|acks|retries", place):
                assert place in known, each.name


def test_each_meaning_is_a_sentence() -> None:
    for each in glossary.read():
        assert re.fullmatch(r"[A-Z].*\.", each.meaning), each.name
