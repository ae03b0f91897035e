"""Kafka's own producer settings beside the engine's: defaults, and refused settings.

One Java program asks Kafka's ProducerConfig, from the jars; without them only the engine's
side is shown.  It sends no request and needs no cluster.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine.client.settings import ProducerSettings
from engine.wire.errors import KafkaError
from kit import jars
from kit.lab import REAL_VARIABLE
from kit.tables import Table

NAMES = ("acks", "enable.idempotence", "retries", "max.in.flight.requests.per.connection",
         "delivery.timeout.ms", "request.timeout.ms", "linger.ms", "retry.backoff.ms",
         "retry.backoff.max.ms", "max.block.ms", "buffer.memory", "batch.size")  # fmt: skip
ASKED: tuple[Mapping[str, str], ...] = (
    {},
    {"acks": "1"},
    {"retries": "0"},
    {"acks": "1", "enable.idempotence": "true"},
    {"retries": "0", "enable.idempotence": "true"},
    {"max.in.flight.requests.per.connection": "6"},
    {"max.in.flight.requests.per.connection": "6", "enable.idempotence": "false"},
    {"delivery.timeout.ms": "1000"},
)
SOURCE = """
import java.util.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;
public class Settings {
    public static void main(String[] lines) {
        for (String line : lines) {
            Properties given = new Properties();
            given.put("bootstrap.servers", "127.0.0.1:1");
            for (String pair : line.split(" ")) {
                if (pair.contains("=")) given.put(pair.split("=")[0], pair.split("=")[1]);
            }
            try {
                new KafkaProducer<>(given, new StringSerializer(), new StringSerializer())
                    .close(java.time.Duration.ZERO);
                given.put("key.serializer", StringSerializer.class);
                given.put("value.serializer", StringSerializer.class);
                Map<String, ?> values = new ProducerConfig(given).values();
                StringBuilder out = new StringBuilder("ok");
                for (String name : "%s".split(" ")) out.append(" ").append(values.get(name));
                System.out.println(out);
            } catch (Exception e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                System.out.println("refused " + cause.getClass().getSimpleName());
            }
        }
    }
}
"""


def kafkas() -> list[str]:
    """Kafka's answers, a line for each of ASKED; empty where its jars are not, or not wanted."""
    if os.environ.get(REAL_VARIABLE) == "off":
        return []
    try:
        command = [jars.java(), "-XX:TieredStopAtLevel=1", "-cp", jars.classpath()]
    except jars.JarsMissing:
        return []
    lines = [" ".join(f"{name}={value}" for name, value in each.items()) or "-" for each in ASKED]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Settings.java"
        source.write_text(SOURCE.replace("%s", " ".join(NAMES)), encoding="utf-8")
        done = subprocess.run([*command, str(source), *lines], capture_output=True, text=True,
                              check=True)  # fmt: skip
    return done.stdout.splitlines()


def ours() -> list[str]:
    """The same answers from the engine's producer."""
    told = []
    for given in ASKED:
        try:
            settings = ProducerSettings.of(given)
        except KafkaError:
            told.append("refused ConfigException")
        else:
            found = [getattr(settings, name.replace(".", "_")) for name in NAMES]
            told.append(" ".join(["ok", *(_java(value) for value in found)]))
    return told


def _java(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def compared() -> Table:
    """The defaults, then the answers to settings that contradict each other."""
    mine, theirs = ours(), kafkas()
    rows = [
        [name, mine[0].split()[at], *([theirs[0].split()[at]] if theirs else [])]
        for at, name in enumerate(NAMES, start=1)
    ]
    rows += [
        ["given " + ", ".join(f"{name}={value}" for name, value in given.items()),
         _short(mine[at]), *([_short(theirs[at])] if theirs else [])]
        for at, given in enumerate(ASKED) if given
    ]  # fmt: skip
    columns = ("setting", "engine's producer", *(["Kafka's, Java"] if theirs else []))
    closing = "" if theirs else "Engine only: Kafka's jars are not here, or not wanted."
    return Table("Defaults, and what does not go together", columns, rows, closing)


def _short(told: str) -> str:
    if told.startswith("refused"):
        return "ConfigException"
    return "idempotence on" if told.split()[2] == "true" else "idempotence off"
