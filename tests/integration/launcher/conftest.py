"""The command on both targets: this node, and a real Docker daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gonogo_command import Gonogo, on_docker
from services.dockerd import Dockerd


@pytest.fixture
def gonogo(tmp_path: Path) -> Iterator[Gonogo]:
    """`gonogo` on this node."""
    made = Gonogo(tmp_path, ("--platform=interactive",))
    yield made
    made.stop_all()


@pytest.fixture
def docker_gonogo(tmp_path: Path, docker_daemon: Dockerd) -> Iterator[Gonogo]:
    """`gonogo` on the session's daemon; its jobs are removed with the daemon's other containers."""
    made = on_docker(tmp_path, docker_daemon)
    yield made
    made.stop_all()


@pytest.fixture(params=["this node", "docker"])
def either(request: pytest.FixtureRequest) -> Gonogo:
    """The same test on both targets."""
    name = "gonogo" if request.param == "this node" else "docker_gonogo"
    made = request.getfixturevalue(name)
    assert isinstance(made, Gonogo)
    return made
