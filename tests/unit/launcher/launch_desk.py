"""A platform in memory for the gate's tests, and what a launch on it needs: an opened job, a report that is GO."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from gonogo.fixtures.catalogue import expected
from gonogo.fixtures.suite_identity import suite_digest, suite_version
from gonogo.jobs.loading import load_job
from gonogo.jobs.policy import Policy
from gonogo.launcher.gate import Gate
from gonogo.launcher.opening import Opened
from gonogo.launcher.records import Records
from gonogo.launcher.suite import ROOT
from gonogo.platforms.contract import JobState, Placed, Platform, Status, Submission
from gonogo.platforms.faults import Fault, NotFound
from gonogo.platforms.probe.answers import Answers
from gonogo.platforms.probe.questions import Question
from gonogo.platforms.settings import Setting, Settings
from gonogo.reports.document import RunFacts, build_document
from gonogo.reports.redact import Redactor
from gonogo.reports.rows import Expected, Row, State
from gonogo.reports.verdict import judge

JOB = 'name: desk\ncommand: "true"\n'


@dataclass
class DeskJob:
    """A job that the desk has taken. Its preflight, if it has one, has really been run."""

    digest: str
    status: Status
    output: bytes = b""


@dataclass
class Desk(Platform):
    """Takes jobs into `jobs`. `before` and `after` are called around the taking and may raise; `mute` holds faults
    that the next questions raise, one each."""

    name: str = "interactive"
    where: str = "desk 1"
    who: str = "desk-one"
    jobs: dict[str, DeskJob] = field(default_factory=dict)
    submissions: list[Submission] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None
    mute: list[Fault] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.where

    def identity(self) -> str:
        return self.who

    def ask(self, questions: Sequence[Question], *, deadline: float) -> Answers:
        raise NotImplementedError

    def render(self, submission: Submission) -> str:
        return f"run {submission.job.command}"

    def submit(self, submission: Submission) -> Placed:
        self.before()
        assert submission.launch_id not in self.jobs, "a second job under one launch ID"
        self.submissions.append(submission)
        self.jobs[submission.launch_id] = self._taken(submission)
        self.after()
        return self._placed(submission.launch_id)

    def _taken(self, submission: Submission) -> DeskJob:
        running = Status(JobState.RUNNING, "running")
        if not submission.preflight:
            return DeskJob(submission.job_digest, running)
        done = subprocess.run(["sh"], input=submission.preflight, capture_output=True, timeout=30, check=False)
        status = Status(JobState.ERROR, "exited", done.returncode) if done.returncode else running
        return DeskJob(submission.job_digest, status, done.stdout)

    def find(self, launch_id: str) -> Placed | None:
        self._speak()
        return self._placed(launch_id) if launch_id in self.jobs else None

    def _placed(self, launch_id: str) -> Placed:
        return Placed(launch_id, self.where, {"digest": self.jobs[launch_id].digest})

    def _speak(self) -> None:
        if self.mute:
            raise self.mute.pop(0)

    def status(self, native_id: str) -> Status:
        self._speak()
        if native_id not in self.jobs:
            raise NotFound(f"no job {native_id}")
        return self.jobs[native_id].status

    def end(self, launch_id: str, state: JobState = JobState.COMPLETE, code: int | None = 0) -> None:
        self.jobs[launch_id].status = Status(state, "exited", code)

    def logs(self, native_id: str, *, tail: int | None = None, follow: bool = False) -> Iterator[bytes]:
        self.status(native_id)
        yield self.jobs[native_id].output

    def arrival_output(self, native_id: str) -> bytes:
        return self.jobs[native_id].output

    def cancel(self, native_id: str, *, grace: float = 10.0) -> Status:
        self._speak()
        self.end(native_id, JobState.CANCELED, None)
        return self.jobs[native_id].status

    def release(self, native_id: str) -> None:
        self._speak()
        self.released.append(native_id)
        del self.jobs[native_id]


def opened(folder: Path, desk: Desk, text: str = JOB, environment: Mapping[str, str] | None = None) -> Opened:
    """That job, to be launched on that desk."""
    file = folder / "desk-job.yaml"
    file.write_text(text)
    loaded = load_job(file, environment=environment or {})
    return Opened(loaded, Settings(platform=Setting(desk.name)), desk, Redactor(), Policy())


def report(job: Opened, states: Mapping[str, State] | None = None, *, age: float = 0.0) -> dict[str, Any]:
    """The report of a run `age` seconds ago in which every row passed, but for `states` by row ID."""
    platform = job.settings.platform.value
    pairs = expected(job.job, platform)
    rows = [_row(pair, (states or {}).get(pair.id, State.PASSED)) for pair in pairs]
    began = datetime.now(timezone.utc) - timedelta(seconds=age)
    facts = RunFacts(
        platform=platform,
        target={"address": job.platform.address, "identity": job.platform.identity(), "facts": {}},
        suite={"version": suite_version(), "digest": suite_digest(ROOT), "options": {}},
        started=began,
        finished=began,
        seconds=0.1,
        job={"name": job.job.name, "file": job.loaded.file, "digest": job.loaded.digest},
    )
    return build_document(judge(rows, pairs), facts)


def _row(pair: Expected, state: State) -> Row:
    message = None if state is State.PASSED else f"{pair.id} is {state.value}"
    return Row(pair.id, pair.param, pair.title, pair.severity, state, pair.stage, message=message)


@dataclass
class Launch:
    """A gate on a desk, with what it said and kept."""

    gate: Gate
    said: list[str]
    kept: list[Mapping[str, Any]]
    proven: list[Mapping[str, Any]]


def gate(
    folder: Path,
    job: Opened,
    states: Mapping[str, State] | None = None,
    *,
    state_folder: str = "state",
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Launch:
    """A gate whose suite gives `report(job, states)`."""
    said: list[str] = []
    kept: list[Mapping[str, Any]] = []
    proven: list[Mapping[str, Any]] = []

    def prove() -> Mapping[str, Any]:
        proven.append(report(job, states))
        return proven[-1]

    made = Gate(
        job, Records(folder / state_folder), prove, said.append, said.append, kept.append,
        environment=environment or {}, **options,
    )  # fmt: skip
    return Launch(made, said, kept, proven)
