"""A daemon on a host of its own, for tests: a real dockerd behind a real sshd on loopback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import suite_runs
from services.dockerd import Dockerd
from services.sshd import Account, Sshd, SshLab

from gonogo.platforms.docker.remote import RemoteDockerPlatform

#: Makes a platform on an address; each keyword is the value of a setting, `job` the job.
Opener = Callable[..., RemoteDockerPlatform]


@dataclass
class FarHost:
    """`ops` is in the docker group, `plain` is not. `url` logs in as `ops` through the ssh alias `gpu-host`."""

    daemon: Dockerd
    lab: SshLab
    sshd: Sshd
    ops: Account
    plain: Account
    url: str

    def alias(self, name: str, account: Account | None = None, server: Sshd | None = None, **options: str) -> str:
        """A further name for a login; `options` are lines of its entry in the ssh configuration."""
        where = {"HostName": "127.0.0.1", "Port": str((server or self.sshd).port)}
        return self.lab.host(name, **{**where, "User": (account or self.ops).name, **options})


def start_gonogo(far: FarHost, folder: Path, *words: str) -> subprocess.Popen[str]:
    """The command as a user starts it, with its state in the folder; the ssh of the tests is first on its PATH."""
    variables = suite_runs.environment(folder, PATH=far.lab.path, DOCKER_NETWORK="none")
    return subprocess.Popen(
        [sys.executable, "-m", "gonogo", *words],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def gonogo(far: FarHost, folder: Path, *words: str, status: int = 0) -> str:
    """A command to its end, which must be that status. Returns its standard output."""
    process = start_gonogo(far, folder, *words)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == status, f"{words} ended with {process.returncode}\n{out}\n{err}"
    return out
