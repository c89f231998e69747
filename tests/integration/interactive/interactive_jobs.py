"""Jobs on this node for the tests of this folder: submitted for real, ended for certain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gonogo.jobs.model import Job
from gonogo.platforms.contract import JobState, Placed, Status, Submission
from gonogo.platforms.faults import Fault
from gonogo.platforms.interactive.platform import InteractivePlatform
from gonogo.platforms.settings import Setting, Settings

SETTINGS = Settings(platform=Setting("interactive"))


def wait_for(holds: Callable[[], bool], what: str, patience: float = 60.0) -> None:
    ends = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < ends, f"waited {patience:g} s for {what}"
        time.sleep(0.02)


@dataclass
class Jobs:
    platform: InteractivePlatform
    directory: Path
    ids: list[str] = field(default_factory=list)

    def submission(self, command: str | list[str], launch_id: str = "", **parts: object) -> Submission:
        """`parts`: fields of the submission (environment, secrets, preflight …); all others are the job's."""
        own = {name: parts.pop(name) for name in list(parts) if name in Submission.__dataclass_fields__}
        job = Job(command=command, **{"workdir": str(self.directory), "gpus": 0, **parts})
        return Submission(launch_id or f"job-{len(self.ids)}", job, "sha256:0", **own)  # type: ignore[arg-type]

    def submit(self, command: str | list[str], launch_id: str = "", **parts: object) -> str:
        return self.place(self.submission(command, launch_id, **parts)).native_id

    def place(self, submission: Submission) -> Placed:
        self.ids.append(submission.launch_id)
        return self.platform.submit(submission)

    def run(self, command: str | list[str], **parts: object) -> tuple[Status, str]:
        """Submit and wait for the end: the final status and the whole output."""
        native_id = self.submit(command, **parts)
        return self.end(native_id), self.output(native_id)

    def end(self, native_id: str) -> Status:
        wait_for(lambda: self.platform.status(native_id).state.ended, f"the end of {native_id}")
        return self.platform.status(native_id)

    def output(self, native_id: str, **options: object) -> str:
        return b"".join(self.platform.logs(native_id, **options)).decode()  # type: ignore[arg-type]

    def started(self, native_id: str, line: str = "started") -> None:
        """Wait until the command has spoken and the supervisor has noted that it runs, which comes a moment later."""
        wait_for(lambda: line in self.output(native_id), f"{line!r} from {native_id}")
        wait_for(lambda: self.platform.status(native_id).state is JobState.RUNNING, f"{native_id} to be Running")

    def stop_all(self) -> None:
        for native_id in self.ids:
            try:
                self.platform.cancel(native_id, grace=0.0)
            except Fault:
                continue


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    (tmp_path / "work").mkdir()
    made = Jobs(InteractivePlatform(SETTINGS, None, tmp_path / "state"), tmp_path / "work")
    yield made
    made.stop_all()
