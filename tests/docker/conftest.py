"""A Docker daemon, Kafka's image and the composed cluster, as the machine allows.

A running daemon is used; else root starts one of its own, in a temporary directory, and
ends it.  An image that can be had is used; else a stand-in is built from the machine's own
package mirror and Kafka's jars, and removed again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit import jars, places
from kit.clusters import docker as composed
from kit.clusters.interface import ClusterError
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.reaper import Reaper
from tests.real_clusters import missing, require_local_kafka, use

docker = pytest.importorskip("docker", reason="Docker's Python SDK is missing: run: make setup")

IMAGE, SPARK_IMAGE = "apache/kafka:4.3.1", "apache/spark:4.2.0"
ROOTFS = "kafka-inside-out/rootfs"
HERE = Path(__file__).parent
LOGGING = """
Configuration:
  Appenders:
    Console:
      name: out
      PatternLayout: {pattern: "[%d] %p %m (%c)%n"}
  Loggers:
    Root: {level: INFO, AppenderRef: {ref: out}}
"""

pytest.register_assert_rewrite("tests.kit.clusters.contract")


def pytest_configure(config: pytest.Config) -> None:
    use(config)


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[None]:
    """A daemon that `docker.from_env()` reaches."""
    try:
        composed.connect().close()
    except ClusterError:
        pass
    else:
        yield
        return
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        missing("A Docker daemon", "start one: sudo systemctl start docker")
    reaper = Reaper.start()
    root = Path(tempfile.mkdtemp(prefix="kafka-inside-out-dockerd-"))
    reaper.own(str(root))
    address = f"unix://{root}/docker.sock"
    command = [
        *("dockerd", "--iptables=false", "--ip-masq=false", "-H", address),
        *("--data-root", f"{root}/data", "--exec-root", f"{root}/exec", "-p", f"{root}/pid"),
    ]
    log = root / "log"
    daemon = reaper.spawn(command, name="dockerd", label="tests", log_path=str(log), grace_s=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", address)
        deadline = time.monotonic() + 60
        while True:
            try:
                composed.connect().close()
                break
            except ClusterError:
                if daemon.state() != "running" or time.monotonic() > deadline:
                    said = log.read_text().splitlines()[-3:]
                    reaper.end()
                    missing("A Docker daemon", f"dockerd did not start: {said}")
                time.sleep(0.1)
        yield
    reaper.end()


@pytest.fixture(scope="session")
def kafka_image(docker_daemon: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """The image that docker-compose.yml names, or Kafka's jars in the image's place."""
    with image(IMAGE, build_kafka, request):
        yield IMAGE


@pytest.fixture(scope="session")
def spark_image(docker_daemon: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """The image of the profile `spark`, or PySpark's Spark in the image's place."""
    with image(SPARK_IMAGE, build_spark, request):
        yield SPARK_IMAGE


@contextmanager
def image(
    name: str, build: Callable[[docker.DockerClient], None], request: pytest.FixtureRequest
) -> Iterator[None]:
    """An image that is here or can be had; else a stand-in under its name, which is removed."""
    images = composed.connect().images
    stand_in = False
    try:
        images.get(name)
    except docker.errors.ImageNotFound:
        try:
            images.pull(name)
        except docker.errors.APIError:
            request.getfixturevalue("rootfs")
            build(composed.connect())
            stand_in = True
    yield
    if stand_in:
        images.remove(name, force=True)


@pytest.fixture(scope="session")
def rootfs(docker_daemon: None) -> Iterator[str]:
    """The image below the stand-ins."""
    client = composed.connect()
    client.api.import_image(src=str(root_file_system()), repository=ROOTFS)
    yield ROOTFS
    client.images.remove(ROOTFS, force=True)


@pytest.fixture(scope="session")
def docker_cluster(kafka_image: str) -> Iterator[KafkaCluster]:
    """The composed cluster."""
    if composed.attach() is not None:
        missing("A free Docker daemon", "the composed cluster is up already: kafkalab down")
    try:
        with composed.up() as cluster:
            yield cluster
    finally:
        composed.down()


def build_kafka(client: docker.DockerClient) -> None:
    """Puts Kafka's jars on a minimal system with a Java runtime."""
    require_local_kafka()
    with tempfile.TemporaryDirectory() as context:
        (Path(context) / "libs").mkdir()
        for jar in jars.directory().glob("*.jar"):
            shutil.copy(jar, Path(context) / "libs")
        for name in ("Dockerfile", "entrypoint.sh"):
            shutil.copy(HERE / name, context)
        for name in ("log4j2.yaml", "tools-log4j2.yaml"):
            (Path(context) / name).write_text(LOGGING)
        (Path(context) / "server.properties").touch()
        (Path(context) / "entrypoint.sh").chmod(0o755)
        client.images.build(path=context, tag=IMAGE)


def build_spark(client: docker.DockerClient) -> None:
    """Puts PySpark's scripts and jars where the official image has them."""
    home = Path(pytest.importorskip("pyspark").__file__).parent
    with tempfile.TemporaryDirectory() as context:
        for part in ("bin", "jars"):
            shutil.copytree(home / part, Path(context) / part)
        lines = [f"FROM {ROOTFS}", "COPY bin /opt/spark/bin", "COPY jars /opt/spark/jars"]
        (Path(context) / "Dockerfile").write_text("\n".join(lines))
        client.images.build(path=context, tag=SPARK_IMAGE)


def root_file_system() -> Path:
    """A tar file of a minimal Debian with a Java runtime; made once, then cached."""
    cached = places.cache_dir() / "rootfs-openjdk-17.tar"
    if cached.exists():
        return cached
    if os.getuid() != 0 or shutil.which("debootstrap") is None:
        missing("The image apache/kafka:4.3.1", "docker pull apache/kafka:4.3.1")
    mirror, release = package_mirror()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        bootstrap = ["debootstrap", "--variant=minbase", "--include=openjdk-17-jre-headless"]
        done = subprocess.run([*bootstrap, release, str(root), mirror], capture_output=True)
        if done.returncode != 0:
            missing("A root file system for the stand-in image", str(done.stdout[-300:]))
        fresh = cached.with_suffix(".new")
        unneeded = ("./var/cache/apt", "./var/lib/apt", "./usr/share/doc", "./dev", "./proc")
        exclude = [f"--exclude={each}/*" for each in unneeded]
        subprocess.run(["tar", "-C", str(root), *exclude, "-cf", str(fresh), "."], check=True)
        fresh.rename(cached)
    return cached


def package_mirror() -> tuple[str, str]:
    """Where this machine gets its packages from, and its release's name."""
    released = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )
    release = released.get("VERSION_CODENAME", "stable").strip('"')
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]
    listed = subprocess.run(
        [*command, "Created-By: Packages"], capture_output=True, text=True, check=True
    )
    targets = [line.split() for line in listed.stdout.splitlines()]
    addresses = [each[0] for each in targets if each[1:] == [release, "main"]]
    if not addresses:
        missing("A package mirror", f"apt lists none for {release} main")
    return addresses[0], release
