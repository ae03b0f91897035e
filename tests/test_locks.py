"""pyproject.toml, the two locks and environment.yml say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ["requirements.lock", "requirements-spark.lock"]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def wanted(*extras: str) -> dict[str, Requirement]:
    lines = list(project()["dependencies"])
    for extra in extras:
        lines += project()["optional-dependencies"][extra]
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def locked(name: str) -> dict[str, list[str]]:
    """Package -> locked versions (one per environment marker)."""
    found: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text(name), re.MULTILINE):
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def text(name: str) -> str:
    return (ROOT / name).read_text()


@pytest.mark.parametrize(
    ("lock", "extras"),
    [(LOCKS[0], ("docker", "test")), (LOCKS[1], ("docker", "test", "spark"))],
)
def test_a_lock_has_every_dependency_in_a_version_that_is_allowed(lock, extras) -> None:
    versions = locked(lock)
    for name, requirement in wanted(*extras).items():
        assert name in versions, f"{name} is not in {lock}; run: make lock"
        for version in versions[name]:
            assert requirement.specifier.contains(version), f"{name} {version}; run: make lock"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_for_all_and_addresses_for_none(lock) -> None:
    content = text(lock)
    assert "://" not in content
    assert "--index-url" not in content
    assert "--find-links" not in content
    for block in re.split(r"\n(?=[A-Za-z0-9])", content):
        if "==" in block:
            assert "--hash=sha256:" in block, block


SPARK = {"pyspark", "py4j", "pandas", "pyarrow", "protobuf", "numpy", "pytz"}


def test_the_locks_differ_by_spark_alone() -> None:
    base, spark = locked(LOCKS[0]), locked(LOCKS[1])
    assert {name: spark[name] for name in base} == base
    # pandas, pyarrow and protobuf are for transformWithState (docs/decisions.md).
    assert set(spark) - set(base) == SPARK


def test_conda_users_get_the_same_packages_and_a_jdk_and_maven() -> None:
    environment = yaml.safe_load(text("environment.yml"))
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    names = {re.split(r"[<>=]", entry)[0]: entry for entry in conda}
    assert {"python", "openjdk", "maven", "pip"} <= set(names)
    assert names["openjdk"].startswith("openjdk>=17")
    assert project()["requires-python"] in names["python"]
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    from_pip = {canonicalize_name(Requirement(line).name): Requirement(line) for line in pip}
    expected = wanted("spark", "docker", "test")
    assert set(from_pip) == set(expected)
    for name, requirement in from_pip.items():
        assert requirement.specifier == expected[name].specifier, name
