"""A daemon that goes away under a running job: the job's state is never guessed, and a follow goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import lanes
import pytest
from services.docker_platforms import docker_platform, submission
from services.dockerd import Dockerd, missing_for_dockerd, wait_until

from gonogo.platforms.contract import JobState
from gonogo.platforms.faults import Fault, LaunchLost


@pytest.fixture(scope="module")
def lasting_daemon() -> Iterator[Dockerd]:
    """A daemon whose containers outlive it."""
    lanes.require("docker", missing_for_dockerd())
    daemon = Dockerd(arguments=["--live-restore"])
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.close()


def test_job_that_ends_with_the_daemon(own_docker_daemon: Dockerd) -> None:
    platform = docker_platform(own_docker_daemon.url, docker_network="none")
    placed = platform.submit(
        submission("restart", own_docker_daemon.busybox, "trap 'exit 143' TERM; while :; do sleep 0.1; done")
    )
    own_docker_daemon.stop()
    with pytest.raises(Fault):
        platform.status(placed.native_id)
    own_docker_daemon.start()
    status = platform.status(placed.native_id)
    assert status.state is JobState.ERROR
    assert status.exit_code in (137, 143)
    platform.close()


def test_job_that_outlives_the_daemon_is_followed(lasting_daemon: Dockerd) -> None:
    platform = docker_platform(lasting_daemon.url, docker_network="none")
    command = "echo before; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo after"
    placed = platform.submit(submission("outlives", lasting_daemon.busybox, command))
    chunks: list[bytes] = []
    reader = threading.Thread(target=lambda: chunks.extend(platform.logs(placed.native_id, follow=True)))
    reader.start()
    wait_until(lambda: chunks == [b"before\n"], "the first line")
    lasting_daemon.restart()
    assert platform.status(placed.native_id).state is JobState.RUNNING
    lasting_daemon.client().containers.get(placed.native_id).exec_run(["touch", "/tmp/go"])
    reader.join(60)
    assert chunks == [b"before\n", b"after\n"]
    assert platform.status(placed.native_id).state is JobState.COMPLETE
    platform.close()


def test_daemon_that_falls_silent_while_starting(own_docker_daemon: Dockerd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gonogo.platforms.docker.launch.STEP_SECONDS", 1.0)
    platform = docker_platform(own_docker_daemon.url, docker_network="none")
    platform.daemon_info()
    spec = platform._spec(submission("lost", own_docker_daemon.busybox, "true"))
    from gonogo.platforms.docker import launch

    platform.connection.client(1.0)
    with own_docker_daemon.frozen(), pytest.raises(LaunchLost, match="tao-job-lost may or may not run"):
        launch._create(platform.connection, spec)
    platform.close()
