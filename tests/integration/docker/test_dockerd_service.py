"""The tests' own daemon: it answers, its images are what they say, and it leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import docker
import lanes
import pytest
from services.dockerd import Dockerd, missing_for_dockerd


def test_images_are_what_they_say(docker_daemon: Dockerd) -> None:
    client = docker_daemon.client()
    said = client.containers.run(docker_daemon.busybox, ["sh", "-c", "echo here"], network_mode="none", remove=True)
    assert said == b"here\n"
    with pytest.raises(docker.errors.ContainerError) as error:
        client.containers.run(docker_daemon.entrypoint_image, "true", network_mode="none", remove=True)
    assert error.value.exit_status == 9
    with pytest.raises(docker.errors.APIError, match="not found"):
        client.containers.run(docker_daemon.shell_less_image, ["sh", "-c", "true"], network_mode="none", remove=True)
    assert docker_daemon.secret_canary in str(client.images.get(docker_daemon.secret_label_image).labels)


def test_nothing_stays_behind() -> None:
    lanes.require("docker", missing_for_dockerd())
    daemon = Dockerd()
    try:
        daemon.start()
        daemon.load_images()
        daemon.client().containers.run(daemon.busybox, ["sleep", "600"], network_mode="none", detach=True)
        daemon.kill()
    finally:
        daemon.close()
    assert not daemon.folder.exists()
    assert str(daemon.folder) not in Path("/proc/self/mountinfo").read_text()
    assert not [one for one in Path("/proc").glob("[0-9]*/cmdline") if str(daemon.folder) in _text(one)]


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
