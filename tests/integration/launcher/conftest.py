"""The command on both targets: this node, and a real Docker daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gonogo_command import Gonogo
from services.dockerd import Dockerd


@pytest.fixture
def gonogo(tmp_path: Path) -> Iterator[Gonogo]:
    """`gonogo` on this node."""
    made = Gonogo(tmp_path, ("--platform=interactive",))
    yield made
    made.stop_all()


def on_docker(folder: Path, daemon: Dockerd) -> Gonogo:
    """`gonogo` on that daemon, for jobs without a network."""
    options = ("--platform=local-docker", f"--docker-host={daemon.url}")
    return Gonogo(folder, options, {"DOCKER_NETWORK": "none", "DOCKER_CONFIG": str(folder)})


@pytest.fixture
def docker_gonogo(tmp_path: Path, docker_daemon: Dockerd) -> Iterator[Gonogo]:
    """`gonogo` on the session's daemon; its jobs are removed with the daemon's other containers."""
    made = on_docker(tmp_path, docker_daemon)
    yield made
    made.stop_all()
