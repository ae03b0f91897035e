"""The jars of the JVM side: resolved once by Maven, checked against a list, then usable offline.

A set of jars is a `pom.xml` that pins the artifacts and a `jars.sha256` beside it that lists
every file they pull in.  The jars are stored in the cache, in a directory named after the hash of
both files: a new course version gets a new directory, and never half of an old one.  There
are six sets: Kafka's own (`kit/kafka`), which the functions of this module serve, the store
of Kafka's tests for tiered storage (`kit/kafka_tiered`), Kafka Streams (`kit/kafka_streams`),
beside PySpark its Kafka connector (`kit/spark_connector`) and Delta Lake (`kit/spark_delta`), and
the Kafka that still had ZooKeeper (`kit/kafka_zookeeper`).  Two of them may be missing: where Delta
Lake cannot be fetched, set-up says so and goes on, and Kafka with ZooKeeper is fetched when
`lab.zookeeper()` is first called.

    python -m kit.jars            resolve and check, what `make setup` runs
    python -m kit.jars --from DIR   take them from a bundle's folder, without Maven
    python -m kit.jars --record   write jars.sha256 again, after a change of a pom

`KAFKA_JARS`, `KAFKA_TIERED_JARS`, `KAFKA_STREAMS_JARS`, `SPARK_JARS`, `DELTA_JARS` and
`KAFKA_ZOOKEEPER_JARS` name a directory of jars to use instead, as they are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kit import places

_HERE = Path(__file__).parent
POM = _HERE / "kafka" / "pom.xml"
CHECKSUMS = _HERE / "kafka" / "jars.sha256"


class JarsMissing(RuntimeError):
    """A part of the JVM side is missing; the message names it and the remedy."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """The jars that one pom pins."""

    name: str
    """As a sentence names them: "Kafka's jars"."""
    pom: Path
    checksums: Path
    variable: str
    """The environment variable that names a directory to use instead."""
    landmark: str
    """The start of a file name; without this jar the set counts as missing."""
    remedy: str = "run: make setup"
    """What fetches it."""

    def directory(self) -> Path:
        """Where the jars are or would be."""
        if named := os.environ.get(self.variable):
            return Path(named)
        digest = hashlib.sha256(self.pom.read_bytes() + self.checksums.read_bytes()).hexdigest()
        return places.cache_dir() / "jars" / digest[:16]

    def installed(self) -> bool:
        return bool(list(self.directory().glob(f"{self.landmark}-*.jar")))

    def require(self) -> Path:
        """The directory; JarsMissing when the jars are not there."""
        place = self.directory()
        if not self.installed():
            if os.environ.get(self.variable):
                raise JarsMissing(
                    f"{self.variable} names {place}, where there is no {self.landmark} jar: "
                    f"unset it, or point it at a directory of {self.name}."
                )
            verb = "is" if self.name.startswith("the jar ") else "are"
            raise JarsMissing(f"{self.name} {verb} not here yet: {self.remedy}")
        return place

    def ensure(self) -> Path:
        """Resolves the jars if they are not in the cache yet; returns their directory."""
        java()
        place = self.directory()
        if self.installed() or os.environ.get(self.variable):
            return self.require()
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            fresh = Path(scratch) / "jars"
            self.resolve(fresh)
            self.verify(fresh, self.recorded())
            try:
                fresh.rename(place)
            except OSError:
                if not self.installed():  # another process may have been faster
                    raise
        return place

    def take(self, folder: Path) -> bool:
        """Copies the jars from a bundle's folder; False if it has none of this version."""
        source, place = folder / self.directory().name, self.directory()
        if self.installed() or not source.is_dir():
            return self.installed()
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            fresh = Path(scratch) / "jars"
            shutil.copytree(source, fresh)
            self.verify(fresh, self.recorded())
            fresh.rename(place)
        return True

    def resolve(self, into: Path) -> None:
        """Lets Maven copy the pom's artifacts and what they need into `into`."""
        maven = shutil.which("mvn")
        if maven is None:
            raise JarsMissing(
                f"Maven is missing: install it (Debian: apt-get install maven), then {self.remedy}"
            )
        command = [
            *(maven, "-q", "-B", "-f", str(self.pom), "dependency:copy-dependencies"),
            *("-DincludeScope=runtime", f"-DoutputDirectory={into}"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
            reason = lines[0] if lines else f"exit code {done.returncode}"
            raise JarsMissing(
                f"Maven could not fetch {self.name} ({reason}): "
                f"check the network and Maven's settings, then {self.remedy}"
            )

    def recorded(self) -> dict[str, str]:
        """SHA-256 by file name, as jars.sha256 has them."""
        lines = self.checksums.read_text().splitlines()
        return {name: digest for digest, name in (line.split() for line in lines)}

    def verify(self, place: Path, expected: dict[str, str]) -> None:
        """JarsMissing unless the directory holds exactly the expected files."""
        found = digests(place)
        wrong = sorted(
            name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)
        )
        if wrong:
            raise JarsMissing(
                f"{len(wrong)} of {self.name} are not the recorded ones (first: {wrong[0]}): "
                f"delete them from Maven's local repository, then {self.remedy}"
            )

    def record(self) -> None:
        """Writes jars.sha256 again."""
        with tempfile.TemporaryDirectory() as scratch:
            self.resolve(Path(scratch))
            lines = [f"{digest}  {name}\n" for name, digest in digests(Path(scratch)).items()]
        self.checksums.write_text("".join(lines))


SPARK = JarSet(
    "the jars of Spark's Kafka connector",
    _HERE / "spark_connector" / "pom.xml",
    _HERE / "spark_connector" / "jars.sha256",
    "SPARK_JARS",
    "spark-sql-kafka",
)


DELTA = JarSet(
    "the jars of Delta Lake",
    _HERE / "spark_delta" / "pom.xml",
    _HERE / "spark_delta" / "jars.sha256",
    "DELTA_JARS",
    "delta-storage",
)


TIERED = JarSet(
    "the jar of Kafka's LocalTieredStorage",
    _HERE / "kafka_tiered" / "pom.xml",
    _HERE / "kafka_tiered" / "jars.sha256",
    "KAFKA_TIERED_JARS",
    "kafka-storage",
)


STREAMS = JarSet(
    "the jar of Kafka Streams",
    _HERE / "kafka_streams" / "pom.xml",
    _HERE / "kafka_streams" / "jars.sha256",
    "KAFKA_STREAMS_JARS",
    "kafka-streams",
)


ZOOKEEPER = JarSet(
    "the jars of Kafka 3.9 with ZooKeeper",
    _HERE / "kafka_zookeeper" / "pom.xml",
    _HERE / "kafka_zookeeper" / "jars.sha256",
    "KAFKA_ZOOKEEPER_JARS",
    "zookeeper",
    "call lab.zookeeper() again",
)


def kafka() -> JarSet:
    """The jars of a real Kafka: brokers, controller, tools."""
    return JarSet("Kafka's jars", POM, CHECKSUMS, "KAFKA_JARS", "kafka-clients")


def all_sets() -> tuple[JarSet, ...]:
    """Every set, those of Spark last."""
    return (kafka(), TIERED, STREAMS, ZOOKEEPER, SPARK, DELTA)


def java() -> str:
    """The `java` command; JarsMissing when there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else None
    found = found or shutil.which("java")
    if found is None:
        raise JarsMissing(
            "Java is missing: install a JDK 17 or newer (Debian: apt-get install "
            "openjdk-17-jdk-headless maven), then run: make setup"
        )
    return found


def digests(place: Path) -> dict[str, str]:
    """SHA-256 of each jar in a directory, by file name."""
    return {
        jar.name: hashlib.sha256(jar.read_bytes()).hexdigest()
        for jar in sorted(place.glob("*.jar"))
    }


# -- Kafka's own jars


def directory() -> Path:
    """Where Kafka's jars are or would be."""
    return kafka().directory()


def installed() -> bool:
    """Whether `classpath` would succeed."""
    return kafka().installed()


def classpath() -> str:
    """Kafka's jars as Java wants them; JarsMissing when they are not there."""
    return f"{kafka().require()}/*"


def ensure() -> Path:
    """Resolves Kafka's jars if they are not in the cache yet; returns their directory."""
    return kafka().ensure()


def recorded() -> dict[str, str]:
    """SHA-256 of each of Kafka's jars by file name."""
    return kafka().recorded()


def verify(place: Path, expected: dict[str, str]) -> None:
    """JarsMissing unless the directory holds exactly the expected files."""
    kafka().verify(place, expected)


def _delta() -> str:
    """Where Delta Lake is, or why it is not: no set-up fails for it."""
    try:
        return f"Delta Lake is in {DELTA.ensure()}"
    except JarsMissing as missing:
        return f"Spark writes Parquet tables, not Delta tables: {missing}"


def main(arguments: list[str]) -> int:
    """Entry point of `python -m kit.jars`."""
    try:
        if arguments == ["--record"]:
            for each in all_sets():
                each.record()
            return 0
        if arguments[:1] == ["--from"]:
            for each in all_sets():
                if each.take(Path(arguments[1])):
                    print(f"{each.name}: {each.directory()}")
            return 0
        print(f"Kafka's jars are in {ensure()}")
        print(f"Kafka's LocalTieredStorage is in {TIERED.ensure()}")
        print(f"Kafka Streams is in {STREAMS.ensure()}")
        if find_spec("pyspark") is not None:
            print(f"Spark's Kafka connector is in {SPARK.ensure()}")
            print(_delta())
    except (JarsMissing, places.Unwritable) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
