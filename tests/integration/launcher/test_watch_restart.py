"""A daemon that restarts under a watched job: the watch goes on, and nothing is guessed, lost or repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lanes
import pytest
from gonogo_command import Gonogo, finish, on_docker, said
from services.dockerd import Dockerd, missing_for_dockerd


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


@pytest.fixture
def restarted(tmp_path: Path, lasting_daemon: Dockerd) -> Iterator[Gonogo]:
    made = on_docker(tmp_path, lasting_daemon)
    yield made
    made.stop_all()
    lasting_daemon.clear()


def test_job_outlives_the_daemon(restarted: Gonogo, lasting_daemon: Dockerd) -> None:
    command = "echo before; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo after; exit 3"
    watch = restarted.start("launch", restarted.job(command=command), "--id", "outlives", "--watch")
    said(watch, "outlives Running")
    lasting_daemon.stop()
    said(watch, "outlives Unknown")
    lasting_daemon.start()
    lasting_daemon.client().containers.get("tao-job-outlives").exec_run(["touch", "/tmp/go"])
    done = finish(watch)
    assert done.status == 5, done.said
    assert done.out.endswith("before\nafter\n"), done.said
    assert restarted.record("outlives")["exit_code"] == 3


def test_job_ends_with_the_daemon(tmp_path: Path, own_docker_daemon: Dockerd) -> None:
    gonogo = on_docker(tmp_path, own_docker_daemon)
    command = "trap 'exit 143' TERM; while :; do sleep 0.1; done"
    watch = gonogo.start("launch", gonogo.job(command=command), "--id", "ends", "--watch")
    said(watch, "ends Running")
    own_docker_daemon.restart()
    done = finish(watch)
    assert done.status == 5, done.said
    assert "ends Error (exited, exit code " in done.err
    assert gonogo.status("ends")["exit_code"] == 143
    gonogo.stop_all()
