"""Four ways in which a daemon does not answer: each is one cause with its own remedy, and everything waits under it."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from services.dockerd import Dockerd
from suite_runs import NOBODY, Finished, job_text, require_other_user, run

PATHS = ["/etc/hosts", "/etc/group", "/etc/passwd"]
JOB = job_text(
    image="gonogo-test/busybox:1",
    run_as="65534:65534",
    inputs=[{"name": f"input-{number}", "uri": path} for number, path in enumerate(PATHS)],
)
#: What the issue asks of a daemon that accepts and never answers, with three paths and default options.
SILENCE_SECONDS = 25.0


def unreachable(folder: Path, url: str, *, user: int | None = None) -> Finished:
    return run(folder, "--gpus=1", job=JOB, platform="local-docker", user=user, DOCKER_HOST=url)


def demand_one_cause(done: Finished, url: str) -> None:
    assert done.causes == ["DOCK-01"], done.causes
    done.blocked("DOCK-02", "DOCK-03", "DOCK-04", "GPU-03", "GPU-04", "GPU-05", "JOB-10", by="DOCK-01")
    done.blocked(*(f"PATH-01[{path}]" for path in PATHS), by="DOCK-01")
    assert url in done.row("DOCK-01")["message"]
    assert done.output.count(done.row("DOCK-01")["remedy"]) <= 2, "once in the failure, once in the summary"
    assert "Traceback" not in done.output


def test_socket_is_absent(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/docker.sock"
    done = unreachable(tmp_path, url)
    done.broken("DOCK-01", f"there is no Docker socket at {url}", remedy="sudo systemctl start docker")
    demand_one_cause(done, url)


COUNT_PARSED = """
import pathlib, sys

parsed = []
sys.addaudithook(lambda event, arguments: parsed.append(event) if event == "compile" else None)


def pytest_unconfigure(config):
    pathlib.Path({file!r}).write_text(str(len(parsed)))
"""


def test_rows_that_wait_cost_next_to_nothing(tmp_path: Path) -> None:
    """pytest would parse every file of each row's traceback, to say what nobody is told."""
    (tmp_path / "count_parsed.py").write_text(COUNT_PARSED.format(file=str(tmp_path / "parsed")))
    parsed = []
    for number in (3, 3, 100):  # the first run leaves the compiled files that the others find
        paths = [tmp_path / f"input-{one}" for one in range(number)]
        for path in paths:
            path.touch()
        inputs = [{"name": path.name, "uri": str(path)} for path in paths]
        job = job_text(image="trainer:1", run_as="65534:65534", inputs=inputs)
        url, options = f"unix://{tmp_path}/docker.sock", ("-p", "count_parsed")
        done = run(tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=url, PYTHONPATH=str(tmp_path))
        done.blocked(*(f"PATH-01[{path}]" for path in paths), by="DOCK-01")
        parsed.append(int((tmp_path / "parsed").read_text()))
    assert parsed[2] == parsed[1]


def test_nothing_listens_on_the_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(tmp_path / "docker.sock"))
    url = f"unix://{tmp_path}/docker.sock"
    done = unreachable(tmp_path, url)
    done.broken("DOCK-01", "refused the connection: nothing is listening", remedy="sudo systemctl start docker")
    demand_one_cause(done, url)


def test_port_refuses(tmp_path: Path, refused_port: int) -> None:
    url = f"tcp://127.0.0.1:{refused_port}"
    done = unreachable(tmp_path, url)
    done.broken("DOCK-01", "refused the connection: nothing is listening", remedy="sudo systemctl start docker")
    demand_one_cause(done, url)


def test_port_accepts_and_never_answers(tmp_path: Path, silent_port: int) -> None:
    url = f"tcp://127.0.0.1:{silent_port}"
    began = time.monotonic()
    done = unreachable(tmp_path, url)
    took = time.monotonic() - began
    done.broken("DOCK-01", "accepted the connection and gave no answer", remedy="docker", state="unverified")
    demand_one_cause(done, url)
    assert took < SILENCE_SECONDS, "the bound that is promised to users, start of the interpreter included"


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    """A folder that the other user owns; pytest's own are closed to it."""
    require_other_user()
    folder = Path(tempfile.mkdtemp(prefix="gonogo-nobody-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def test_no_permission_for_the_socket(folder_of_nobody: Path, docker_daemon: Dockerd) -> None:
    url = docker_daemon.url
    done = unreachable(folder_of_nobody, url, user=NOBODY)
    done.broken("DOCK-01", f"no permission to open the Docker socket at {url}", remedy="usermod -aG docker")
    demand_one_cause(done, url)
