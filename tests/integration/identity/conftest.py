"""Folders that any user can reach, and the command run by somebody who is not root."""

from __future__ import annotations

from pathlib import Path

import pytest
from identity_runs import SUBMITTER, Launcher
from services.dockerd import Dockerd
from suite_runs import require_other_user


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of root's that any user can reach."""
    path = tmp_path_factory.mktemp("data")
    for parent in (path, path.parent, path.parent.parent):
        parent.chmod(0o755)
    return path


@pytest.fixture
def launcher(tmp_path: Path, docker_daemon: Dockerd) -> Launcher:
    """`gonogo` as the submitter, whom the daemon lets in."""
    require_other_user()
    docker_daemon.socket.chmod(0o666)
    return Launcher(tmp_path, docker_daemon, SUBMITTER)
