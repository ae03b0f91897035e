"""The image that `kafkalab bundle` saves comes back where no registry can be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import bundle, install
from kit.clusters import docker as composed

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


def test_docker_takes_the_image_from_a_bundle(kafka_image: str, tmp_path: Path) -> None:
    images = composed.connect().images
    saved = images.get(kafka_image).id
    assert bundle.save_image(tmp_path / install.IMAGE)
    images.remove(kafka_image, force=True)
    assert not images.list(kafka_image)
    install.load_image(tmp_path)
    assert images.get(kafka_image).id == saved
