"""Runs of the suite in a process of their own, as a user starts them, and what a test may ask of one that has ended."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import lanes

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 65534
USAGE_ERROR = 4
#: States in which a row that does not hold may end, by what was found out.
_OPEN = ("failed", "unverified", "warned")


class Finished(NamedTuple):
    """A run that has ended: pytest's exit status, everything it printed, its JSON report (None where it left none)."""

    status: int
    output: str
    document: dict[str, Any] | None

    @property
    def report(self) -> dict[str, Any]:
        assert self.document is not None, f"the run left no report:\n{self.output}"
        return self.document

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def causes(self) -> list[str]:
        """The names of the rows that are causes, those first that most rows wait on."""
        return [cause["name"] for cause in self.report["causes"]]

    @property
    def probes(self) -> list[str]:
        """The names of the probes that were asked or would have been, sorted."""
        return sorted(probe["name"] for probe in self.report["probes"])

    def row(self, name: str) -> dict[str, Any]:
        """The row of that name (`PATH-01[/data]`) as the report has it."""
        found = [row for row in self.report["rows"] if name_of(row) == name]
        assert len(found) == 1, f"{name} is there {len(found)} times: {sorted(states(self.report))}\n{self.output}"
        return dict(found[0])

    def fine(self, *names: str) -> None:
        """Each of those rows was proven to hold."""
        for name in names:
            row = self.row(name)
            assert row["state"] == "passed", (name, row["state"], row["message"], row["evidence"])

    def broken(self, name: str, message: str, *, remedy: str, state: str = "failed") -> dict[str, Any]:
        """That row does not hold, in these words, with that remedy; a required one is a cause. Returns the row."""
        row = self.row(name)
        assert state in _OPEN
        assert row["state"] == state, (name, row["state"], row["message"], row["evidence"])
        assert message in row["message"], row["message"]
        assert remedy in row["remedy"], row["remedy"]
        if row["severity"] == "required" and state != "warned":
            cause = next((one for one in self.report["causes"] if one["name"] == name), None)
            assert cause is not None, (name, self.causes)
            assert remedy in cause["remedy"], cause
            assert self.verdict == "NO-GO"
            assert self.status == 1
        return row

    def blocked(self, *names: str, by: str) -> None:
        """Each of those rows waits on that one, and is listed under it."""
        cause = next(one for one in self.report["causes"] if one["name"] == by)
        for name in names:
            row = self.row(name)
            assert (row["state"], row["cause"]) == ("blocked", by), (name, row["state"], row["message"])
            assert name in cause["blocks"]

    def refused(self, row: str, message: str) -> None:
        """The run never began: a usage error that names the row, in these words."""
        assert self.status == USAGE_ERROR, self.output
        assert self.document is None
        lines = [line for line in self.output.splitlines() if line.endswith(f"[{row}]")]
        assert any(message in line for line in lines), self.output
        assert "Traceback" not in self.output

    def detail(self, name: str) -> str:
        """The tool's own words in the evidence of that row."""
        return next(one["text"] for one in self.row(name)["evidence"] if one["name"] == "the tool's own words")


def name_of(row: dict[str, Any]) -> str:
    return f"{row['id']}[{row['param']}]" if row["param"] else str(row["id"])


def states(document: dict[str, Any]) -> dict[str, str]:
    return {name_of(row): row["state"] for row in document["rows"]}


def job_text(**fields: Any) -> str:
    """A job file with those keys. It is JSON, which YAML takes: names with quotes and newlines stay what they are."""
    return json.dumps({"name": "tiny", "command": ["true"], **fields}, indent=1)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What a run sees of its surroundings: PATH, HOME and LANG of ours, no other people's plugins.

    It keeps compiled files, as a user's does: without them each run costs three times the processor time.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {"GONOGO_STATE_DIR": str(folder / "state"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return {**kept, **own, **more}


def start(
    folder: Path,
    *options: str,
    job: str | None = None,
    platform: str = "interactive",
    user: int | None = None,
    **variables: str,
) -> subprocess.Popen[str]:
    """Start a run that writes `readiness.json` into the folder. `user` is a UID for the whole run."""
    command = [sys.executable, "-m", "pytest", f"--platform={platform}", "-p", "no:cacheprovider", "-p", "xdist.plugin"]
    if job is not None:
        (folder / "job.yaml").write_text(job)
        command.append(f"--job={folder / 'job.yaml'}")
    command.append(f"--report={folder / 'readiness.json'}")
    return subprocess.Popen(
        [*_as_user(user), *command, *options],
        cwd=ROOT,
        env=environment(folder, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _as_user(user: int | None) -> list[str]:
    """A prefix that changes to the user. It may still read everything: the interpreter or this checkout may lie in a
    folder that is closed to others. What it may write, connect to and own is the user's."""
    if user is None:
        return []
    change = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return [*change, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"]


def finish(process: subprocess.Popen[str], folder: Path) -> Finished:
    """Wait for a run that was started in that folder."""
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    report = folder / "readiness.json"
    return Finished(process.returncode, output, json.loads(report.read_text()) if report.exists() else None)


def run(
    folder: Path,
    *options: str,
    job: str | None = None,
    platform: str = "interactive",
    user: int | None = None,
    **variables: str,
) -> Finished:
    """A whole run; variables are further ones of its environment."""
    (folder / "readiness.json").unlink(missing_ok=True)
    return finish(start(folder, *options, job=job, platform=platform, user=user, **variables), folder)


def require_other_user() -> None:
    """Leave the test out where we may not become another user."""
    missing = ""
    if os.geteuid() != 0:
        missing = "becoming another user needs root: run the tests as root"
    elif shutil.which("setpriv") is None:
        missing = "setpriv is not installed: apt-get install util-linux"
    lanes.require("other-user", missing)
