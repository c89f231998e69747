"""Ctrl-C, SIGTERM, and a reader that leaves: the exit code stays true, and the output says whether a job exists."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gonogo_command import Gonogo, finish, said
from stopped_launcher import STOP, stopped_launcher


@pytest.fixture
def asked_port() -> Iterator[socket.socket]:
    """A listener that answers nothing; a connection to it shows that the suite is asking its target."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        yield listener


@pytest.mark.parametrize(("command", "number"), [("check", signal.SIGINT), ("launch", signal.SIGTERM)])
def test_interrupted_while_the_suite_runs(
    gonogo: Gonogo, asked_port: socket.socket, command: str, number: signal.Signals
) -> None:
    gonogo.options = ("--platform=local-docker", f"--docker-host=tcp://127.0.0.1:{asked_port.getsockname()[1]}")
    job = gonogo.job(image="gonogo-test/none:1", command="true", run_as="65534:65534")
    process = gonogo.start(
        command, job, "--report", "readiness.json", *(["--id", "cut"] if command == "launch" else [])
    )
    connection, _ = asked_port.accept()
    process.send_signal(number)
    done = finish(process)
    connection.close()
    assert done.status == 130, done.said
    assert "interrupted" in done.err
    assert '"verdict": "GO"' not in (gonogo.folder / "readiness.json").read_text()
    assert "Traceback" not in done.err
    if command == "launch":
        assert "no job was made" in done.err
        assert gonogo("status", "cut").status == 2


def test_interrupted_before_the_submission(gonogo: Gonogo, tmp_path: Path) -> None:
    job = gonogo.job(command=f"echo run >>{tmp_path}/count")
    launcher = stopped_launcher(gonogo, STOP, "launch", job, "--id", "cut", STOP="before")
    launcher.send_signal(signal.SIGINT)
    done = finish(launcher)
    assert done.status == 130, done.said
    assert "no job was made" in done.err
    gonogo.ok("launch", job, "--id", "cut", "--watch")
    assert (tmp_path / "count").read_text() == "run\n"


@pytest.mark.parametrize("target", ["gonogo", "docker_gonogo"])
def test_interrupted_after_the_submission(request: pytest.FixtureRequest, target: str) -> None:
    gonogo: Gonogo = request.getfixturevalue(target)
    launcher = stopped_launcher(gonogo, STOP, "launch", gonogo.job(command="sleep 600"), "--id", "cut", STOP="after")
    launcher.send_signal(signal.SIGTERM)
    done = finish(launcher)
    assert done.status == 130, done.said
    assert "job cut exists" in done.err
    assert "gonogo cancel cut" in done.err
    assert gonogo.wait_for("cut", "Running")["phase"] == "submitted"
    gonogo.ok("cancel", "cut", "--grace", "0")


def test_interrupted_watch_leaves_the_job(gonogo: Gonogo) -> None:
    watch = gonogo.start("launch", gonogo.job(command="sleep 600"), "--id", "watched", "--watch")
    said(watch, "watched Running")
    watch.send_signal(signal.SIGINT)
    done = finish(watch)
    assert done.status == 130, done.said
    assert "job watched goes on" in done.err
    assert gonogo.status("watched")["state"] == "Running"


def with_closed_pipe(gonogo: Gonogo, *words: str, stderr_too: bool = False) -> tuple[int, str]:
    """Run it with a standard output (and error) that nobody reads. Exit status and standard error."""
    reader, writer = os.pipe()
    os.close(reader)
    process = gonogo.start(*words, stdout=writer, stderr=writer if stderr_too else subprocess.PIPE)
    os.close(writer)
    done = finish(process)
    return done.status, done.err


def test_nobody_reads_the_verdict(gonogo: Gonogo) -> None:
    bad = gonogo.job("bad.yaml", command="true", inputs=[{"name": "gone", "uri": "/no/such"}])
    assert with_closed_pipe(gonogo, "check", bad) == (1, "")
    assert with_closed_pipe(gonogo, "list") == (0, "")
    assert with_closed_pipe(gonogo, "check", "/no/such.yaml", stderr_too=True)[0] == 2


def test_nobody_reads_a_launch(gonogo: Gonogo, tmp_path: Path) -> None:
    """Also standard error: the launch is made, recorded and followed all the same."""
    job = gonogo.job(command=f"echo run >>{tmp_path}/count; echo out; exit 3")
    status, _ = with_closed_pipe(gonogo, "launch", job, "--id", "unread", "--watch", stderr_too=True)
    assert status == 5
    assert gonogo.record("unread")["exit_code"] == 3
    assert (tmp_path / "count").read_text() == "run\n"
    assert with_closed_pipe(gonogo, "status", "unread") == (1, "")
    assert with_closed_pipe(gonogo, "logs", "unread") == (1, "")
