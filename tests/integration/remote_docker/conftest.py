"""A daemon on a host of its own, with accounts that may and may not use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lanes
import pytest
from far_hosts import FarHost, Opener
from services.dockerd import Dockerd
from services.sshd import SshLab, accounts, missing_for_sshd

from gonogo.jobs.model import Job
from gonogo.platforms.docker.remote import RemoteDockerPlatform
from gonogo.platforms.settings import Setting, Settings


@pytest.fixture(scope="session")
def _far_host(_shared_dockerd: Dockerd) -> Iterator[FarHost]:
    lanes.require("sshd", missing_for_sshd())
    lab = SshLab()
    try:
        with accounts(ops="docker", plain="") as made:
            sshd = lab.server("sshd", SetEnv=f"DOCKER_HOST={_shared_dockerd.url}")
            far = FarHost(_shared_dockerd, lab, sshd, made["ops"], made["plain"], "")
            far.url = far.alias("gpu-host")
            yield far
    finally:
        lab.close()


@pytest.fixture
def far_host(_far_host: FarHost, docker_daemon: Dockerd, monkeypatch: pytest.MonkeyPatch) -> FarHost:
    """The session's far host, its daemon left without containers afterwards. This process finds its ssh on PATH."""
    monkeypatch.setenv("PATH", _far_host.lab.path)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return _far_host


@pytest.fixture(scope="module")
def own_far_daemon(own_docker_daemon: Dockerd, _far_host: FarHost) -> FarHost:
    """A far host whose daemon the module's tests may stop and freeze; each leaves it running."""
    sshd = _far_host.lab.server("sshd-own", SetEnv=f"DOCKER_HOST={own_docker_daemon.url}")
    far = FarHost(own_docker_daemon, _far_host.lab, sshd, _far_host.ops, _far_host.plain, "")
    far.url = far.alias("own-host")
    return far


@pytest.fixture
def open_far() -> Iterator[Opener]:
    """Makes platforms as the suite does, and closes them."""
    opened: list[RemoteDockerPlatform] = []

    def make(url: str | None, job: Job | None = None, **settings: Any) -> RemoteDockerPlatform:
        values = {name: Setting(value, "command line") for name, value in settings.items()}
        host = Setting(url, "command line") if url is not None else Setting(None)
        platform = RemoteDockerPlatform(Settings(Setting("remote-docker"), docker_host=host, **values), job)
        opened.append(platform)
        return platform

    yield make
    for platform in opened:
        platform.close()
