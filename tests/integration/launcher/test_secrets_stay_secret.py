"""A secret reaches the job and nothing else: no output, no record, no argument vector, no label (CRED-06)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from gonogo_command import Gonogo
from node_processes import command_lines
from services.dockerd import Dockerd

CANARY = "hf_canary7c1d93e8b5f24a60"
#: Prints the secret's length, so that it is seen to arrive without being shown.
COMMAND = "echo got ${#HF_TOKEN} and ${#OWN}; sleep 1"


class ArgumentVectors:
    """Looks at all processes of this machine again and again; keeps those that show the secret."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.looks = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> ArgumentVectors:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            self.looks += 1
            self.seen |= {line for line in command_lines() if CANARY.encode() in line}


def holding(folder: Path) -> list[str]:
    """Files below the folder that hold the secret."""
    return [str(one) for one in folder.rglob("*") if one.is_file() and CANARY.encode() in one.read_bytes()]


def test_secret_reaches_the_job_only(either: Gonogo) -> None:
    job = either.job(command=COMMAND, credentials=["HF_TOKEN"], env={"OWN": "${HF_TOKEN}"})
    said = ""
    with ArgumentVectors() as vectors:
        for words in (
            ["check", job, "--json", "--report", "r.json", "--report", "r.html", "--report", "r.md"],
            ["launch", job, "--dry-run"],
            ["launch", job, "--id", "secret", "--watch"],
            ["launch", job, "--id", "secret", "--json"],
            ["status", "secret", "--json"],
            ["logs", "secret"],
            ["jobs", "--json"],
        ):
            done = either.ok(*words, HF_TOKEN=CANARY)
            said += done.out + done.err
    assert f"got {len(CANARY)} and {len(CANARY)}\n" in said
    assert CANARY not in said
    assert vectors.looks > 10
    assert vectors.seen == set()
    assert holding(either.folder) == []


def test_docker_holds_it_in_the_environment_only(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    """The daemon must know what it starts: whoever may talk to it can read it there, and nowhere else."""
    job = docker_gonogo.job(command=COMMAND, credentials=["HF_TOKEN"])
    docker_gonogo.ok("launch", job, "--id", "kept", "--watch", HF_TOKEN=CANARY)
    attributes = docker_daemon.client().containers.get("tao-job-kept").attrs
    assert f"HF_TOKEN={CANARY}" in attributes["Config"].pop("Env")
    assert CANARY not in json.dumps(attributes)


def test_secret_in_an_exception_is_hidden(gonogo: Gonogo, tmp_path: Path) -> None:
    """Also one that only the job file names: `OWN` has no secret's name in this process's environment."""
    (tmp_path / "sitecustomize.py").write_text(
        "import gonogo.launcher.gate as gate\n\n\ndef broken(self, launch_id):\n"
        "    raise RuntimeError(self.opened.job.env['API_TOKEN'])\n\n\ngate.Gate.launch = broken\n"
    )
    job = gonogo.job(command="true", env={"API_TOKEN": "${FROM_HERE}"})
    own = "p1ain-looking-value-77"
    done = gonogo("launch", job, "--id", "x", PYTHONPATH=str(tmp_path), FROM_HERE=own, GONOGO_DEBUG="1")
    assert done.status == 3, done.said
    assert own not in done.out + done.err
    assert "RuntimeError: [secret API_TOKEN]" in done.err


@pytest.mark.parametrize("words", [["launch", "JOB", "--dry-run"], ["launch", "JOB", "--id", "unset"]])
def test_credential_that_is_not_set(gonogo: Gonogo, words: list[str]) -> None:
    job = gonogo.job(command="true", credentials=["HF_TOKEN"])
    done = gonogo(*[job if word == "JOB" else word for word in words])
    assert done.status in (1, 2), done.said
    assert "HF_TOKEN" in done.out + done.err
    assert not list(gonogo.state.glob("interactive/*"))
