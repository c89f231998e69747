"""A job on a real Docker daemon from the gate to its end, however it ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from gonogo_command import Gonogo, finish, said
from services.dockerd import Dockerd


def test_launch_status_logs_cancel(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    job = docker_gonogo.job(command="echo up; sleep 600")
    done = docker_gonogo.ok("launch", job, "--id", "life", "--json")
    native_id = done.json["native_id"]
    assert docker_daemon.client().containers.get("tao-job-life").id == native_id
    assert docker_gonogo.wait_for("life", "Running")["native_state"] == "running"
    assert docker_gonogo.ok("logs", "life").out == "up\n"
    assert "life Canceled" in docker_gonogo.ok("cancel", "life", "--grace", "0").out
    assert docker_gonogo.ok("status", "life").out.startswith("life Canceled (exited")
    assert not docker_daemon.client().containers.get("tao-job-life").attrs["State"]["Running"]


@pytest.mark.parametrize(
    ("command", "status", "state", "code"), [("true", 0, "Complete", 0), ("exit 3", 5, "Error", 3)]
)
def test_watched_job_ends(
    docker_gonogo: Gonogo, docker_daemon: Dockerd, command: str, status: int, state: str, code: int
) -> None:
    job = docker_gonogo.job(command=f"echo ran; {command}")
    done = docker_gonogo("launch", job, "--id", "ends", "--watch")
    assert done.status == status, done.said
    assert "ran\n" in done.out
    assert f"ends {state} (exited, exit code {code})" in done.err
    told = docker_gonogo.status("ends")
    assert (told["state"], told["native_state"], told["exit_code"]) == (state, "exited", code)


def watched(gonogo: Gonogo, daemon: Dockerd, command: str = "echo up; sleep 600") -> tuple[subprocess.Popen[str], Any]:
    """A launch that is watching its running job, and the job's container."""
    job = gonogo.job(command=command)
    watch = gonogo.start("launch", job, "--id", "by-hand", "--watch")
    said(watch, "by-hand Running")
    return watch, daemon.client().containers.get("tao-job-by-hand")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda container: container.stop(timeout=0), "by-hand Error (exited, exit code 137): killed by SIGKILL"),
        (lambda container: container.remove(force=True), "removed by hand"),
    ],
    ids=["stopped", "removed"],
)
def test_watched_job_is_ended_by_hand(
    docker_gonogo: Gonogo, docker_daemon: Dockerd, act: Callable[[Any], None], words: str
) -> None:
    watch, container = watched(docker_gonogo, docker_daemon)
    act(container)
    done = finish(watch)
    assert done.status == 5, done.said
    assert words in done.err
    assert docker_gonogo("status", "by-hand").status == 1


def test_out_of_memory_is_told(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    command = "echo up; while [ ! -e /tmp/go ]; do sleep 0.05; done; exec tail /dev/zero"
    watch, container = watched(docker_gonogo, docker_daemon, command)
    container.update(mem_limit="16m", memswap_limit="16m")
    container.exec_run(["touch", "/tmp/go"])
    done = finish(watch)
    assert done.status == 5, done.said
    assert "by-hand Error (exited, exit code 137): killed: out of memory" in done.err
    assert docker_gonogo.status("by-hand")["reason"] == "killed: out of memory"


def test_no_go_leaves_the_daemon_as_it_was(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    before = docker_daemon.inventory()
    job = docker_gonogo.job(
        image=docker_daemon.busybox,
        command="true",
        inputs=[{"name": "gone", "uri": "/no/such", "mount": "/in"}],
    )
    done = docker_gonogo("launch", job, "--id", "stopped", DOCKER_NETWORK="would-be-made")
    assert done.status == 1, done.said
    assert "nothing was submitted" in done.err
    assert docker_daemon.inventory() == before
    assert docker_gonogo("status", "stopped").status == 2


def test_daemon_that_is_not_there(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    job = docker_gonogo.job(command="true")
    docker_gonogo.options = ("--platform=local-docker", f"--docker-host=unix://{docker_gonogo.folder}/no.sock")
    done = docker_gonogo("launch", job, "--id", "nowhere")
    assert done.status == 1, done.said
    assert "no.sock" in done.out + done.err
    assert "DOCK-01" in done.out + done.err


def test_status_of_a_silent_daemon_is_unknown(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    job = docker_gonogo.job(command="sleep 600")
    docker_gonogo.ok("launch", job, "--id", "silent")
    docker_gonogo.wait_for("silent", "Running")
    record = docker_gonogo.state / "launches" / "silent.json"
    record.write_text(record.read_text().replace(docker_daemon.url, f"unix://{docker_gonogo.folder}/no.sock"))
    for words in (["status", "silent"], ["logs", "silent"], ["cancel", "silent"]):
        done = docker_gonogo(*words)
        assert done.status == 3, done.said
        assert "no.sock" in done.err
    assert docker_gonogo.record("silent")["state"] == "Running"
    assert docker_daemon.client().containers.get("tao-job-silent").attrs["State"]["Running"]


def test_refused_by_the_daemon_ends_with_4(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    """A foreign container takes the name after the check: only the daemon can refuse it."""
    job = docker_gonogo.job(command="true")
    docker_gonogo.ok("check", job, "--report", "go.json")
    docker_daemon.client().containers.create(docker_daemon.busybox, name="tao-job-taken")
    before = docker_daemon.inventory()
    done = docker_gonogo("launch", job, "--id", "taken", "--clearance", "go.json")
    assert done.status == 4, done.said
    assert "that gonogo did not make" in done.err
    assert docker_daemon.inventory() == before


def test_replace_from_elsewhere_never_removes_a_running_job(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    job = docker_gonogo.job(command="sleep 600")
    docker_gonogo.ok("check", job, "--report", "go.json")
    docker_gonogo.ok("launch", job, "--id", "busy")
    running = docker_daemon.client().containers.get("tao-job-busy").id
    docker_gonogo.elsewhere("state-2")("launch", job, "--id", "busy", "--replace", "--clearance", "go.json")
    container = docker_daemon.client().containers.get("tao-job-busy")
    assert (container.id, container.status) == (running, "running")
