"""Ctrl-C during a launch: a container that was not started yet goes, one that was started stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from docker_jobs import platform
from services.dockerd import Dockerd

from gonogo.platforms.contract import JobState
from gonogo.platforms.docker.platform import DockerPlatform

__all__ = ["platform"]

# `moment` is a step of the launch; the launcher waits there until it is interrupted.
LAUNCHER = """
import sys
from services.docker_platforms import docker_platform, submission
from gonogo.platforms.docker import launch

step = getattr(launch, sys.argv[1])

def wait_here(*arguments):
    print("here", flush=True)
    sys.stdin.read()
    return step(*arguments)

setattr(launch, sys.argv[1], wait_here)
platform = docker_platform(sys.argv[2], docker_network="none")
try:
    platform.submit(submission("cut", sys.argv[3], "sleep 600"))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupted(daemon: Dockerd, moment: str) -> bytes:
    """What a launcher prints that is interrupted at that step."""
    child = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, moment, daemon.url, daemon.busybox],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    child.send_signal(signal.SIGINT)
    return child.communicate(timeout=60)[0]


@pytest.mark.parametrize("moment", ["_create", "_start", "prepared_files"])
def test_before_the_start_nothing_is_left(docker_daemon: Dockerd, platform: DockerPlatform, moment: str) -> None:
    assert interrupted(docker_daemon, moment) == b"interrupted\n"
    assert docker_daemon.client().containers.list(all=True) == []
    assert platform.find("cut") is None


def test_after_the_start_the_job_is_found(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    assert interrupted(docker_daemon, "_details") == b"interrupted\n"
    placed = platform.find("cut")
    assert placed is not None
    assert platform.status(placed.native_id).state is JobState.RUNNING
