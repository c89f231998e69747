"""A row that nobody can ask before the image is there: the job's own first step asks it, before the command starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lanes
import pytest
from gonogo_command import Gonogo
from services.dockerd import Dockerd
from services.registry import Registry, missing_for_registry


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    lanes.require("registry", missing_for_registry())
    serving = Registry()
    try:
        serving.start()
        yield serving
    finally:
        serving.close()


@pytest.fixture
def absent(docker_daemon: Dockerd, registry: Registry) -> Iterator[str]:
    """An image with a shell that the registry has and the daemon has not."""
    client = docker_daemon.client()
    reference = registry.push(client, docker_daemon.busybox, "team/tool")
    yield reference
    docker_daemon.clear()
    for image in client.images.list(name=reference.rpartition(":")[0]):
        client.images.remove(image.tags[0] if reference not in image.tags else reference)


def job_10(file: Path) -> dict[str, Any]:
    document = json.loads(file.read_text())
    return {**next(row for row in document["rows"] if row["id"] == "JOB-10"), "verdict": document["verdict"]}


def test_program_is_there(docker_gonogo: Gonogo, absent: str, tmp_path: Path) -> None:
    job = docker_gonogo.job(image=absent, command=["echo", "the command ran"])
    checked = docker_gonogo.ok("check", job, "--report", "check.json")
    assert "on arrival" in checked.out
    assert job_10(tmp_path / "check.json")["state"] == "deferred"
    done = docker_gonogo.ok("launch", job, "--id", "there", "--watch", "--report", "launch.json")
    assert "the command ran\n" in done.out
    settled = job_10(tmp_path / "launch.json")
    assert (settled["state"], settled["stage"], settled["verdict"]) == ("passed", "arrival", "GO")


def test_program_is_missing(docker_gonogo: Gonogo, docker_daemon: Dockerd, absent: str, tmp_path: Path) -> None:
    job = docker_gonogo.job(image=absent, command="no-such-program --flag; echo the command started")
    before = docker_daemon.inventory()
    files = [tmp_path / "launch.json", tmp_path / "launch.html", tmp_path / "launch.md"]
    words = [word for file in files for word in ("--report", str(file))]
    done = docker_gonogo("launch", job, "--id", "missing", "--watch", *words)
    assert done.status == 1, done.said
    assert "NO-GO on arrival" in done.err
    assert "JOB-10" in done.err
    assert "no-such-program" in done.err
    assert "the command started" not in done.out
    settled = job_10(files[0])
    assert (settled["state"], settled["stage"], settled["verdict"]) == ("failed", "arrival", "NO-GO")
    assert all("NO-GO" in file.read_text() for file in files)
    after = docker_daemon.inventory()
    assert {**after, "images": []} == {**before, "images": []}, "the container is removed"
    status = docker_gonogo("status", "missing")
    assert status.status == 1, status.said
    assert docker_gonogo.record("missing")["phase"] == "ended"


def test_strict_blocks_what_would_be_asked_on_arrival(
    docker_gonogo: Gonogo, docker_daemon: Dockerd, absent: str
) -> None:
    before = docker_daemon.inventory()
    done = docker_gonogo("launch", docker_gonogo.job(image=absent, command="true"), "--id", "strict", "--strict")
    assert done.status == 1, done.said
    assert "nothing was submitted" in done.err
    assert docker_daemon.inventory() == before, "nothing was pulled"


def test_pull_brings_the_question_forward(docker_gonogo: Gonogo, absent: str, tmp_path: Path) -> None:
    job = docker_gonogo.job(image=absent, command=["no-such-program"])
    done = docker_gonogo("check", job, "--pull", "--report", "pulled.json")
    assert done.status == 1, done.said
    assert job_10(tmp_path / "pulled.json")["state"] == "failed"


def test_image_that_the_registry_has_not(docker_gonogo: Gonogo, docker_daemon: Dockerd, registry: Registry) -> None:
    before = docker_daemon.inventory()
    job = docker_gonogo.job(image=f"{registry.address}/team/none:1", command="true")
    done = docker_gonogo("launch", job, "--id", "none")
    assert done.status == 4, done.said
    assert "team/none:1" in done.err
    assert "manifest unknown" in done.err
    assert docker_daemon.inventory() == before
