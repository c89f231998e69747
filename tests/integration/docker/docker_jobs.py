"""What the tests of Docker jobs share: a platform on the real daemon, a folder to write, and a job's end and output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from services.docker_platforms import docker_platform
from services.dockerd import Dockerd, wait_until

from gonogo.platforms.contract import Placed, Status
from gonogo.platforms.docker.platform import DockerPlatform

NOBODY = 65534


@pytest.fixture
def platform(docker_daemon: Dockerd) -> Iterator[DockerPlatform]:
    opened = docker_platform(docker_daemon.url, docker_network="none")
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    for parent in (path, path.parent, path.parent.parent):
        parent.chmod(0o755)
    os.chown(path, NOBODY, NOBODY)
    return path


def end_of(platform: DockerPlatform, placed: Placed) -> Status:
    wait_until(lambda: platform.status(placed.native_id).state.ended, "the job to end")
    return platform.status(placed.native_id)


def output(platform: DockerPlatform, placed: Placed) -> str:
    return b"".join(platform.logs(placed.native_id)).decode()
