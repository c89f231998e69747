"""Images that a naive probe trips over: the paths are judged all the same, or exactly what is missing is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import lanes
import pytest
from services.dockerd import Dockerd, missing_for_dockerd
from services.images import files_tar, make_image, shell_less_tar
from suite_runs import Finished, job_text, run

INPUT = "PATH-01[/etc/hosts]"


def preflight(tmp_path: Path, daemon: Dockerd, image: str, *options: str, **fields: Any) -> Finished:
    inputs = [{"name": "hosts", "uri": "/etc/hosts"}]
    job = job_text(**{"image": image, "run_as": "65534:65534", "inputs": inputs, **fields})
    return run(tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=daemon.url)


def test_entrypoint_is_not_run(tmp_path: Path, docker_daemon: Dockerd) -> None:
    done = preflight(tmp_path, docker_daemon, docker_daemon.entrypoint_image)
    assert done.verdict == "GO", done.output
    done.fine(INPUT, "DOCK-04", "JOB-10")
    assert "entrypoint was here" not in done.output


def test_image_without_a_shell(tmp_path: Path, docker_daemon: Dockerd) -> None:
    image = docker_daemon.shell_less_image
    done = preflight(tmp_path, docker_daemon, image, command=["/bin/true"])
    assert done.verdict == "GO", done.output
    done.fine(INPUT, "DOCK-04", "JOB-10")
    done = preflight(tmp_path, docker_daemon, image, command="true && true")
    done.broken("JOB-10", f"/bin/sh is not in image {image}", remedy="as a list, which needs no shell")
    done.fine(INPUT, "DOCK-04")
    done = preflight(tmp_path, docker_daemon, image, command=["/bin/train"])
    done.broken("JOB-10", f"/bin/train is not in image {image}", remedy="first word of `command`")
    done.fine(INPUT, "DOCK-04")


def test_program_that_the_image_lacks(tmp_path: Path, docker_daemon: Dockerd) -> None:
    done = preflight(tmp_path, docker_daemon, docker_daemon.busybox, command=["dino", "train"])
    done.broken("JOB-10", f"dino is not in image {docker_daemon.busybox}", remedy="Correct `command`")
    assert done.causes == ["JOB-10"]


def test_image_that_is_not_on_the_target(tmp_path: Path, docker_daemon: Dockerd) -> None:
    image = "registry.invalid/team/trainer:1"
    done = preflight(tmp_path, docker_daemon, image)
    assert done.verdict == "GO", done.output
    row = done.row("JOB-10")
    assert (row["state"], image in row["message"]) == ("deferred", True)
    done.fine(INPUT, "DOCK-04")
    assert "arrival" in done.report["because"]
    strict = preflight(tmp_path, docker_daemon, image, "--strict")
    assert (strict.status, strict.verdict, strict.causes) == (1, "NO-GO", ["JOB-10"])


def test_pull_that_the_registry_refuses(tmp_path: Path, docker_daemon: Dockerd) -> None:
    image = "registry.invalid/team/trainer:1"
    done = preflight(tmp_path, docker_daemon, image, "--pull")
    assert done.verdict == "NO-GO"
    assert len(done.causes) == 1, done.causes
    cause = done.report["causes"][0]
    assert image in cause["cause"] or "registry.invalid" in cause["cause"], cause
    assert "--help" not in done.output
    done.blocked(INPUT, by=done.causes[0])


@pytest.fixture
def bare_daemon() -> Iterator[Dockerd]:
    """A daemon without any image."""
    lanes.require("docker", missing_for_dockerd())
    daemon = Dockerd()
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.close()


def test_daemon_without_an_image_that_can_be_asked(tmp_path: Path, bare_daemon: Dockerd) -> None:
    done = preflight(tmp_path, bare_daemon, "trainer:1")
    done.broken("DOCK-04", "there is no image", remedy="docker pull trainer:1", state="unverified")
    done.blocked(INPUT, by="DOCK-04")
    assert "does not exist" not in done.output

    client = bare_daemon.client()
    only = make_image(client, "shell-less", shell_less_tar(), ['CMD ["/bin/true"]'])
    done = preflight(tmp_path, bare_daemon, only)
    done.broken("DOCK-04", f"no image on the target has a shell: image {only} has no /bin/sh", remedy="--smoke-image",
                state="unverified")  # fmt: skip
    assert 'exec: "/bin/sh"' in done.detail("DOCK-04")
    assert "--help" not in done.output
    done.blocked(INPUT, by="DOCK-04")
    assert client.containers.list(all=True) == []


def test_smoke_image_that_is_not_there(tmp_path: Path, docker_daemon: Dockerd) -> None:
    done = preflight(tmp_path, docker_daemon, docker_daemon.busybox, "--smoke-image=no-such:1")
    done.broken("DOCK-04", "smoke image no-such:1 is not on the target", remedy="--pull", state="unverified")
    done.blocked(INPUT, by="DOCK-04")
    with pytest.raises(docker.errors.ImageNotFound):
        docker_daemon.client().images.get("no-such:1")


def test_image_for_another_architecture(tmp_path: Path, docker_daemon: Dockerd) -> None:
    foreign = make_image(
        docker_daemon.client(), "gonogo-test/foreign", files_tar({"bin/sh": _elf_header()}), ['CMD ["/bin/true"]']
    )
    done = preflight(tmp_path, docker_daemon, foreign)
    docker_daemon.client().images.remove(foreign)
    done.broken("DOCK-04", f"image {foreign} is built for another CPU architecture", remedy="--platform linux",
                state="unverified")  # fmt: skip
    assert "exec format error" in done.detail("DOCK-04")
    done.blocked(INPUT, "JOB-10", by="DOCK-04")


def _elf_header() -> bytes:
    """64 bit, little endian, executable, for machine 0x1234."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little") + (0x1234).to_bytes(2, "little") + bytes(44)
