"""`gonogo conformance`: a sound adapter is GO on both platforms, and each broken promise is found by the point that is
meant for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import suite_runs
from node_processes import end_jobs_below
from services.dockerd import Dockerd


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """An adapter whose `cancel` does nothing leaves its job running; and tests that fail may leave some."""
    yield
    end_jobs_below(tmp_path / "state")


class Run(NamedTuple):
    status: int
    output: str
    document: dict[str, Any]

    @property
    def failed(self) -> dict[str, str]:
        """Row ID -> its message, for each point that does not hold."""
        return {row["id"]: row["message"] for row in self.document["rows"] if row["state"] != "passed"}


def conformance(folder: Path, *options: str, **variables: str) -> Run:
    report = folder / "conformance.json"
    done = subprocess.run(
        [sys.executable, "-m", "gonogo", "conformance", "--quiet", "--report", str(report), *options],
        cwd=folder,
        env=suite_runs.environment(folder, **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert report.exists(), done.stdout
    return Run(done.returncode, done.stdout, json.loads(report.read_text()))


def test_this_node_conforms_and_is_left_clean(tmp_path: Path) -> None:
    run = conformance(tmp_path, "--platform=interactive")
    assert (run.status, run.document["verdict"]) == (0, "GO"), run.output
    assert sorted(row["id"] for row in run.document["rows"]) == [f"CONF-{number:02d}" for number in range(1, 14)]
    assert list((tmp_path / "state" / "interactive").iterdir()) == [], "the tiny jobs are removed"


def test_docker_conforms_and_is_left_clean(tmp_path: Path, docker_daemon: Dockerd) -> None:
    before = docker_daemon.inventory()
    run = conformance(tmp_path, "--platform=local-docker", f"--docker-host={docker_daemon.url}", DOCKER_NETWORK="none")
    assert (run.status, run.document["verdict"]) == (0, "GO"), run.output
    assert len(run.document["rows"]) == 13
    assert docker_daemon.inventory() == before


def test_daemon_that_is_not_there_is_no_go(tmp_path: Path) -> None:
    run = conformance(tmp_path, "--platform=local-docker", f"--docker-host=unix://{tmp_path}/no.sock")
    assert (run.status, run.document["verdict"]) == (1, "NO-GO"), run.output
    assert "no.sock" in run.output


#: What is broken, as a method of the adapter, by the one point that must find it.
BROKEN = {
    "CONF-01": """
    def find(self, launch_id):
        return None
""",
    "CONF-02": """
    def status(self, native_id):
        status = super().status(native_id)
        running = status.state is JobState.RUNNING
        return dataclasses.replace(status, state=JobState.PENDING) if running else status
""",
    "CONF-03": """
    def status(self, native_id):
        status = super().status(native_id)
        return dataclasses.replace(status, exit_code=1) if status.exit_code == 7 else status
""",
    "CONF-04": """
    def logs(self, native_id, *, tail=None, follow=False):
        lines = b"".join(super().logs(native_id, tail=tail, follow=follow)).splitlines(keepends=True)
        if len(lines) > 1000:
            lines[500:502] = reversed(lines[500:502])
        return iter(lines)
""",
    "CONF-05": """
    def logs(self, native_id, *, tail=None, follow=False):
        return super().logs(native_id, follow=follow)
""",
    "CONF-06": """
    def submit(self, submission):
        kept = {name: value.strip() for name, value in submission.environment.items()}
        return super().submit(dataclasses.replace(submission, environment=kept))
""",
    "CONF-07": """
    def submit(self, submission):
        command = submission.job.command
        text = command if isinstance(command, str) else " ".join(command)
        job = submission.job.model_copy(update={"command": text})
        return super().submit(dataclasses.replace(submission, job=job))
""",
    "CONF-08": """
    def cancel(self, native_id, *, grace=10.0):
        return dataclasses.replace(self.status(native_id), state=JobState.CANCELED)
""",
    "CONF-09": """
    made = 0

    def submit(self, submission):
        if "sleep 2" not in str(submission.job.command):
            return super().submit(submission)
        type(self).made += 1
        other = f"{submission.launch_id}-{type(self).made}"
        return super().submit(dataclasses.replace(submission, launch_id=other))
""",
    "CONF-10": """
    def status(self, native_id):
        status = super().status(native_id)
        return dataclasses.replace(status, exit_code=9) if status.exit_code == 137 else status
""",
    "CONF-11": """
    def submit(self, submission):
        return super().submit(dataclasses.replace(submission, preflight=b""))
""",
    "CONF-12": """
    def status(self, native_id):
        status = super().status(native_id)
        asked = self.arrival_output(native_id)
        return dataclasses.replace(status, exit_code=0) if asked and status.state.ended else status
""",
    "CONF-13": """
    def release(self, native_id):
        pass
""",
}


#: Opens an adapter with several broken promises, each in a class of its own that leaves the others' work alone.
PROGRAM = """
import dataclasses
import gonogo.platforms.registry as registry
from gonogo.platforms.contract import JobState
from gonogo.platforms.interactive.platform import InteractivePlatform

{classes}

class Broken({names}):
    pass


registry.open_platform = lambda name, settings, job, state: Broken(settings, job, state)
"""


def broken_adapter(points: list[str]) -> str:
    names = [point.replace("-", "") for point in points]
    classes = [
        f"class {name}(InteractivePlatform):\n{BROKEN[point]}" for name, point in zip(names, points, strict=True)
    ]
    return PROGRAM.format(classes="\n\n".join(classes), names=", ".join(names))


@pytest.mark.parametrize("first", range(3))
def test_broken_promises_are_found_by_their_points(tmp_path: Path, first: int) -> None:
    """Every third promise is broken: those points fail, and no other."""
    points = list(BROKEN)[first::3]
    (tmp_path / "sitecustomize.py").write_text(broken_adapter(points))
    run = conformance(tmp_path, "--platform=interactive", PYTHONPATH=str(tmp_path))
    assert sorted(run.failed) == points, run.failed
    assert all(run.failed.values()), "each says why"
    assert (run.status, run.document["verdict"]) == (1, "NO-GO")
