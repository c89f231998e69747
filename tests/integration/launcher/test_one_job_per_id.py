"""One launch ID makes one job: launched twice at the same instant, or killed at the worst moment (GATE-03)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from gonogo_command import Gonogo, finish
from services.dockerd import Dockerd
from stopped_launcher import STOP, STOP_BETWEEN, kill_while_stopped, stopped_launcher


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
    job = docker_gonogo.job(command="echo once; sleep 600")
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
    job = docker_gonogo.job(command="sleep 600")
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
    job = docker_gonogo.job(command="echo once")
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
