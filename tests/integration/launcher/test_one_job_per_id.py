"""One launch ID makes one job: launched twice at the same instant, or killed at the worst moment (GATE-03)."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from gonogo_command import Gonogo, finish, wait_until
from services.dockerd import Dockerd

AS_NOBODY = {"run_as": "65534:65534"}

#: Stops the launcher for good at one moment of a submission; put into its process by way of `sitecustomize`.
STOP = """
import os, time
from pathlib import Path
import gonogo.platforms.registry as registry

opened = registry.open_platform


def open_platform(*arguments):
    platform = opened(*arguments)
    submit = platform.submit

    def stopping(submission):
        if os.environ["STOP"] == "before":
            stop()
        placed = submit(submission)
        stop()
        return placed

    platform.submit = stopping
    return platform


def stop():
    Path(os.environ["STOPPED"]).touch()
    while True:
        time.sleep(1)


registry.open_platform = open_platform
"""
#: The same between the daemon's create and start.
STOP_BETWEEN = """
import os, time
from pathlib import Path
from docker.api.container import ContainerApiMixin


def start(self, *arguments, **options):
    Path(os.environ["STOPPED"]).touch()
    while True:
        time.sleep(1)


put_archive = ContainerApiMixin.put_archive


def put(self, container, *arguments):
    if self.inspect_container(container)["Name"].startswith("/tao-job-"):
        ContainerApiMixin.start = start
    return put_archive(self, container, *arguments)


ContainerApiMixin.put_archive = put
"""


def stopped_launcher(gonogo: Gonogo, program: str, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Start that command and wait until it has stopped where `program` says."""
    folder = gonogo.folder / "stop"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(program)
    stopped = folder / "stopped"
    launcher = gonogo.start(*words, PYTHONPATH=str(folder), STOPPED=str(stopped), **variables)
    wait_until(lambda: stopped.exists() or launcher.poll() is not None, "the launcher to come to its stop")
    assert stopped.exists(), finish(launcher).said
    return launcher


def kill_while_stopped(gonogo: Gonogo, program: str, *words: str, **variables: str) -> None:
    """Start that command, wait until it has stopped where `program` says, and kill it."""
    launcher = stopped_launcher(gonogo, program, *words, **variables)
    launcher.send_signal(signal.SIGKILL)
    launcher.communicate()


def together(*commands: tuple[Gonogo, list[str]]) -> list[str]:
    """Run them at the same instant; what each said. All must end with 0."""
    processes = [gonogo.start(*words) for gonogo, words in commands]
    done = [finish(process) for process in processes]
    assert [one.status for one in done] == [0] * len(done), "\n".join(one.said for one in done)
    return [one.err for one in done]


def test_two_launches_at_once_on_this_node(gonogo: Gonogo, tmp_path: Path) -> None:
    job = gonogo.job(command=f"echo run >>{tmp_path}/count; sleep 1")
    told = together(*[(gonogo, ["launch", job, "--id", "twin"])] * 3)
    assert sum("submitted twin" in words for words in told) == 1
    assert sum("already launched" in words for words in told) == 2
    gonogo.wait_for("twin", "Complete")
    assert (tmp_path / "count").read_text() == "run\n"


def created(daemon: Dockerd, began: int) -> list[str]:
    """Names of the job containers that the daemon has created since then."""
    events = daemon.client().events(since=began, until=int(time.time()) + 1, decode=True, filters={"event": "create"})
    names = [one["Actor"]["Attributes"].get("name", "") for one in events]
    return [name for name in names if name.startswith("tao-job-")]


@pytest.mark.parametrize("folders", ["same", "two"])
def test_two_launches_at_once_on_docker(docker_gonogo: Gonogo, docker_daemon: Dockerd, folders: str) -> None:
    """Also from two state folders, where nothing but the container's name decides."""
    began = int(time.time())
    job = docker_gonogo.job(image=docker_daemon.busybox, command="echo once; sleep 600", **AS_NOBODY)
    docker_gonogo.ok("check", job, "--report", "go.json")
    words = ["launch", job, "--id", f"twin-{folders}", "--clearance", "go.json"]
    other = docker_gonogo if folders == "same" else docker_gonogo.elsewhere("state-2")
    together((docker_gonogo, words), (other, words))
    assert created(docker_daemon, began) == [f"tao-job-twin-{folders}"]
    ids = {one.record(f"twin-{folders}")["native_id"] for one in (docker_gonogo, other)}
    assert ids == {docker_daemon.client().containers.get(f"tao-job-twin-{folders}").id}


@pytest.mark.parametrize("next_command", ["status", "launch"])
def test_killed_between_submit_and_record_on_this_node(gonogo: Gonogo, tmp_path: Path, next_command: str) -> None:
    job = gonogo.job(command=f"echo run >>{tmp_path}/count")
    kill_while_stopped(gonogo, STOP, "launch", job, "--id", "cut", STOP="after")
    assert gonogo.record("cut")["phase"] == "intent"
    done = gonogo.ok(*(["status", "cut"] if next_command == "status" else ["launch", job, "--id", "cut"]))
    assert "submitted cut" not in done.err
    record = gonogo.wait_for("cut", "Complete")
    assert (record["phase"], record["native_id"]) == ("ended", "cut")
    gonogo.ok("launch", job, "--id", "cut")
    assert (tmp_path / "count").read_text() == "run\n"


@pytest.mark.parametrize("next_command", ["status", "launch"])
def test_killed_between_submit_and_record_on_docker(
    docker_gonogo: Gonogo, docker_daemon: Dockerd, next_command: str
) -> None:
    job = docker_gonogo.job(image=docker_daemon.busybox, command="sleep 600", **AS_NOBODY)
    kill_while_stopped(docker_gonogo, STOP, "launch", job, "--id", "cut", STOP="after")
    docker_gonogo.ok(*(["status", "cut"] if next_command == "status" else ["launch", job, "--id", "cut"]))
    container = docker_daemon.client().containers.get("tao-job-cut")
    assert docker_gonogo.record("cut")["native_id"] == container.id
    assert [one.name for one in docker_daemon.client().containers.list(all=True)] == ["tao-job-cut"]


def test_killed_before_submit(gonogo: Gonogo, tmp_path: Path) -> None:
    job = gonogo.job(command=f"echo run >>{tmp_path}/count")
    kill_while_stopped(gonogo, STOP, "launch", job, "--id", "early", STOP="before")
    asked = gonogo("status", "early")
    assert asked.status == 2, asked.said
    assert "interrupted before anything was submitted" in asked.err
    gonogo.ok("launch", job, "--id", "early", "--watch")
    assert (tmp_path / "count").read_text() == "run\n"


def test_killed_between_create_and_start(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    job = docker_gonogo.job(image=docker_daemon.busybox, command="echo once", **AS_NOBODY)
    kill_while_stopped(docker_gonogo, STOP_BETWEEN, "launch", job, "--id", "half")
    assert docker_daemon.client().containers.get("tao-job-half").status == "created"
    done = docker_gonogo.ok("launch", job, "--id", "half", "--watch")
    assert "once\n" in done.out
    assert [one.name for one in docker_daemon.client().containers.list(all=True)] == ["tao-job-half"]


def test_status_while_it_is_being_launched(gonogo: Gonogo) -> None:
    """A launch that is on its way is no interrupted one."""
    launcher = stopped_launcher(gonogo, STOP, "launch", gonogo.job(command="true"), "--id", "slow", STOP="before")
    asked = gonogo("status", "slow")
    assert "interrupted" not in asked.said
    assert str(launcher.pid) in asked.said, "the process that launches it is named"
