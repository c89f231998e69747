"""Folders that any user can reach, and the command run by somebody who is not root."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from identity_runs import SUBMITTER, Launcher
from services.dockerd import Dockerd
from suite_runs import require_other_user


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of root's that any user can reach: any pytest that starts closes pytest's own folders to others."""
    with tempfile.TemporaryDirectory(prefix="gonogo-identity-") as made:
        path = Path(made)
        path.chmod(0o755)
        yield path


@pytest.fixture
def open_launcher(folder: Path) -> Iterator[Callable[[Dockerd], Launcher]]:
    """Makes a `gonogo` of the submitter's on a daemon, which then lets everybody in."""
    require_other_user()
    made: list[Launcher] = []

    def make(daemon: Dockerd) -> Launcher:
        daemon.socket.chmod(0o666)
        made.append(Launcher(folder / "submitter", daemon, SUBMITTER))
        return made[-1]

    yield make
    for one in made:
        one.stop_all()
        with contextlib.suppress(FileNotFoundError):  # a test's own daemon has ended by now
            one.daemon.socket.chmod(0o660)


@pytest.fixture
def launcher(open_launcher: Callable[[Dockerd], Launcher], docker_daemon: Dockerd) -> Launcher:
    """`gonogo` as the submitter, whom the session's daemon lets in."""
    return open_launcher(docker_daemon)
