"""One job for one launch ID, whoever is killed at whatever moment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

import lanes
import pytest
from interactive_jobs import Jobs, jobs, wait_for

from gonogo.platforms.contract import JobState
from gonogo.platforms.faults import Denied, LaunchLost, NotFound
from gonogo.platforms.interactive import processes
from gonogo.platforms.interactive.runs import RunFolder

__all__ = ["jobs"]
CANARY = "canary-7f3a9c-secret"
FOREVER = "echo started; while :; do sleep 0.1; done"


def facts(jobs: Jobs, native_id: str, name: str) -> processes.Process:
    process = RunFolder(jobs.platform.runs.directory / native_id).process(name)
    assert process is not None
    return process


def test_one_id_makes_one_job_at_the_same_instant(jobs: Jobs) -> None:
    counter = jobs.directory / "count"
    submission = jobs.submission(f"echo run >>{counter}; sleep 0.5", "same")
    start = threading.Barrier(8)
    placed, refused = [], []

    def submit() -> None:
        start.wait()
        try:
            placed.append(jobs.place(submission))
        except LaunchLost as fault:
            refused.append(fault.message)

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(placed), len(refused)) == (1, 7)
    jobs.end("same")
    assert counter.read_text() == "run\n"
    with pytest.raises(LaunchLost, match="exists already"):
        jobs.submit("true", "same")


def test_supervisor_killed_while_the_job_runs(jobs: Jobs) -> None:
    native_id = jobs.submit(FOREVER)
    jobs.started(native_id)
    os.kill(facts(jobs, native_id, "supervisor.json").pid, signal.SIGKILL)
    wait_for(lambda: not facts(jobs, native_id, "supervisor.json").alive, "the supervisor's end")
    status = jobs.platform.status(native_id)
    assert status.state is JobState.RUNNING
    assert "supervisor is gone" in status.reason
    with pytest.raises(LaunchLost):
        jobs.submit("true", native_id)
    assert jobs.platform.cancel(native_id, grace=1.0).state is JobState.CANCELED


def test_supervisor_and_job_killed(jobs: Jobs) -> None:
    native_id = jobs.submit(FOREVER)
    jobs.started(native_id)
    for name in ("supervisor.json", "command.json"):
        os.kill(facts(jobs, native_id, name).pid, signal.SIGKILL)
    status = jobs.end(native_id)
    assert (status.state, status.exit_code) == (JobState.ERROR, None)
    assert "without an exit code" in status.reason


@pytest.mark.parametrize("change", [{"start": 1}, {"boot": "another-boot"}], ids=["reused-pid", "restarted"])
def test_another_process_with_the_same_pid_is_not_the_job(jobs: Jobs, change: dict[str, object]) -> None:
    """A record whose PID now belongs to somebody else, or is of an earlier boot."""
    native_id = jobs.submit("true")
    jobs.end(native_id)
    folder = RunFolder(jobs.platform.runs.directory / native_id)
    (folder.path / "exit.json").unlink()
    me = processes.this_process(os.getpid())
    assert me is not None
    for name in ("supervisor.json", "command.json"):
        (folder.path / name).write_text(json.dumps({**vars(me), **change}))
    status = jobs.platform.status(native_id)
    assert (status.state, status.exit_code) == (JobState.ERROR, None)
    assert ("restarted" in status.reason) == ("boot" in change) or "or the machine restarted" in status.reason


LAUNCHER = """
import sys
from pathlib import Path
from gonogo.jobs.model import Job
from gonogo.platforms.contract import Submission
from gonogo.platforms.interactive.platform import InteractivePlatform
from gonogo.platforms.settings import Setting, Settings
state, work = sys.argv[1:]
platform = InteractivePlatform(Settings(platform=Setting("interactive")), None, Path(state))
job = Job(command=f"echo run >>{work}/count; echo started; sleep 0.3", workdir=work)
print("begin", flush=True)
platform.submit(Submission("crash", job, "sha256:0"))
print("end", flush=True)
"""


@pytest.mark.parametrize("step", range(12))
def test_launcher_killed_at_any_moment_makes_one_job(jobs: Jobs, step: int) -> None:
    """Killed ten milliseconds later each time: afterwards the job is found, or was never started and can be."""
    state = jobs.platform.runs.directory.parent
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(state), str(jobs.directory)], stdout=subprocess.PIPE
    )
    with launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"begin\n"
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(step / 100)
        launcher.kill()
        launcher.wait()
    if jobs.platform.find("crash") is None:
        jobs.submit(f"echo run >>{jobs.directory}/count; echo started", "crash")
    jobs.ids.append("crash")
    jobs.end("crash")
    assert (jobs.directory / "count").read_text() == "run\n"


def test_launcher_killed_before_it_started_anything(jobs: Jobs) -> None:
    """A run folder without a supervisor, whose lock nobody holds: as good as none."""
    with jobs.platform.runs.claim("half"):
        with pytest.raises(NotFound):
            type(jobs.platform.runs)(jobs.platform.runs.directory / "elsewhere").existing("half")
        assert jobs.platform.status("half").state is JobState.PENDING
    assert jobs.platform.find("half") is None
    with pytest.raises(NotFound):
        jobs.platform.status("half")
    assert jobs.run("exit 2", launch_id="half")[0].exit_code == 2


def test_sweep_takes_only_what_dead_launchers_left(jobs: Jobs) -> None:
    native_id = jobs.submit("true")
    jobs.end(native_id)
    runs = jobs.platform.runs.directory
    for name, age in ((".new-dead-01", 1000), (".new-young-02", 0), (".old-dead-03", 1000)):
        (runs / name).mkdir()
        if age:
            os.utime(runs / name, (0, 0))
    assert jobs.platform.sweep() == [".new-dead-01", ".old-dead-03"]
    assert sorted(path.name for path in runs.iterdir()) == [".new-young-02", native_id]
    assert jobs.platform.sweep("this-run") == []


def test_run_as_another_user_without_root_is_denied(jobs: Jobs) -> None:
    lanes.require("root", "" if os.geteuid() == 0 else "this test gives root up: run it as root")
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setresuid(65534, 65534, 65534)
            with pytest.raises(Denied, match="needs root"):
                jobs.platform.render(jobs.submission("true", run_as="1:1"))
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
