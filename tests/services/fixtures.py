"""Fixtures for tests against real services. Where a service cannot be had, its tests are left out with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import lanes
import pytest

from .dockerd import Dockerd, missing_for_dockerd
from .endpoints import refusing_port, silent_listener
from .gpu_host import GpuHost


@pytest.fixture(scope="session")
def _shared_dockerd() -> Iterator[Dockerd]:
    lanes.require("docker", missing_for_dockerd())
    daemon = Dockerd()
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.close()


@pytest.fixture
def docker_daemon(_shared_dockerd: Dockerd) -> Iterator[Dockerd]:
    """The session's daemon, left without containers and networks after each test. Do not stop, freeze or restart it."""
    yield _shared_dockerd
    _shared_dockerd.clear()


@pytest.fixture(scope="module")
def own_docker_daemon() -> Iterator[Dockerd]:
    """A daemon that the module's tests may stop, freeze, kill and restart; each leaves it running."""
    lanes.require("docker", missing_for_dockerd())
    daemon = Dockerd()
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.close()


@pytest.fixture(scope="session")
def _shared_gpu_host() -> Iterator[GpuHost]:
    lanes.require("docker", missing_for_dockerd())
    host = GpuHost()
    try:
        host.start()
        yield host
    finally:
        host.close()


@pytest.fixture
def gpu_host(_shared_gpu_host: GpuHost) -> Iterator[GpuHost]:
    """The session's simulated GPU host, a good one again after each test."""
    yield _shared_gpu_host
    _shared_gpu_host.reset()
    _shared_gpu_host.daemon.clear()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with silent_listener() as port:
        yield port


@pytest.fixture
def refused_port() -> Iterator[int]:
    """A port that refuses connections."""
    with refusing_port() as port:
        yield port
