"""The `gonogo` command as a user starts it: a process of its own, a state folder of its own, job files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import suite_runs
from node_processes import end_jobs_below
from services.dockerd import Dockerd

SECONDS = 120.0
RECORD_SCHEMA = json.loads((suite_runs.ROOT / "launcher" / "launch.schema.json").read_text())


class Done(NamedTuple):
    """A command that has ended: exit status and both streams."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return f"exit status {self.status}\n-- stdout\n{self.out}\n-- stderr\n{self.err}"

    @property
    def json(self) -> Any:
        """Standard output, which holds one JSON value and nothing else."""
        return json.loads(self.out)


@dataclass
class Gonogo:
    """Starts `gonogo` in `folder`. `options` go to each `launch`, `check`, `fix` and `conformance`, `fields` into each
    job file."""

    folder: Path
    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def state(self) -> Path:
        return Path(self.variables.get("GONOGO_STATE_DIR", self.folder / "state"))

    def elsewhere(self, name: str) -> Gonogo:
        """The same command with a state folder of its own."""
        other = {**self.variables, "GONOGO_STATE_DIR": str(self.folder / name)}
        return Gonogo(self.folder, self.options, other, self.fields, self.started)

    def job(self, file: str = "job.yaml", **fields: Any) -> str:
        """A job file in the folder. Returns its path."""
        path = self.folder / file
        path.write_text(suite_runs.job_text(**{"gpus": 0, **self.fields, **fields}))
        return str(path)

    def start(
        self,
        *words: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        **variables: str,
    ) -> subprocess.Popen[str]:
        options = self.options if words[0] in ("launch", "check", "conformance", "fix") else ()
        process = subprocess.Popen(
            [sys.executable, "-m", "gonogo", *words, *options],
            cwd=self.folder,
            env=suite_runs.environment(self.folder, **{**self.variables, **variables}),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
            errors="replace",
        )
        self.started.append(process)
        return process

    def __call__(self, *words: str, **variables: str) -> Done:
        return finish(self.start(*words, **variables))

    def ok(self, *words: str, **variables: str) -> Done:
        """A command that must end with 0."""
        done = self(*words, **variables)
        assert done.status == 0, done.said
        return done

    def record(self, launch_id: str) -> dict[str, Any]:
        """The record's file, held against the published schema."""
        record = json.loads((self.state / "launches" / f"{launch_id}.json").read_text())
        jsonschema.validate(record, RECORD_SCHEMA)
        return dict(record)

    def status(self, launch_id: str) -> dict[str, Any]:
        """The record as `gonogo status --json` gives it."""
        done = self("status", launch_id, "--json")
        assert done.status in (0, 1), done.said
        return dict(done.json)

    def wait_for(self, launch_id: str, *states: str) -> dict[str, Any]:
        """Ask for the status until it is one of those."""
        found: dict[str, Any] = {}

        def there() -> bool:
            found.update(self.status(launch_id))
            return found["state"] in states

        wait_until(there, f"{launch_id} to be {' or '.join(states)}")
        return found

    def stop_all(self) -> None:
        """End what still runs: commands that were started, and interactive jobs."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for state in {self.state, *self.folder.glob("state*")}:
            end_jobs_below(state)


def on_docker(folder: Path, daemon: Dockerd) -> Gonogo:
    """`gonogo` on that daemon, for jobs in its busybox image, as nobody and without a network."""
    options = ("--platform=local-docker", f"--docker-host={daemon.url}")
    variables = {"DOCKER_NETWORK": "none", "DOCKER_CONFIG": str(folder)}
    return Gonogo(folder, options, variables, {"image": daemon.busybox, "run_as": "65534:65534"})


def finish(process: subprocess.Popen[str]) -> Done:
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{process.args} did not end within {SECONDS:g} s\n{out}\n{err}") from None
    return Done(process.returncode, out or "", err or "")


def wait_until(holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Poll until it holds. Raises AssertionError naming what was waited for."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"waited {seconds:g} s for {what}"
        time.sleep(0.05)


def said(process: subprocess.Popen[str], words: str) -> list[str]:
    """Read the process's standard error up to the line that holds those words; the lines read."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{process.args} ended without saying {words!r}:\n{''.join(lines)}")
