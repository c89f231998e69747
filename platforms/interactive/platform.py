"""The interactive platform: this node, no scheduler, no container. A job is a run folder and a supervised command."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gonogo.jobs.model import Job
from gonogo.platforms.contract import JobState, Placed, Platform, Status, Submission
from gonogo.platforms.faults import Denied, Fault, LaunchLost, LaunchRefused, Refused, TimedOut
from gonogo.platforms.inspection import Table, gpu_table, node_table
from gonogo.platforms.interactive import processes, supervisor
from gonogo.platforms.interactive.command import arguments
from gonogo.platforms.interactive.environment import inherited, job_environment
from gonogo.platforms.interactive.output import read_output
from gonogo.platforms.interactive.runs import RunFolder, Runs, wait_until
from gonogo.platforms.node import under_torchrun
from gonogo.platforms.probe.answers import Answers
from gonogo.platforms.probe.parse import how_far, parse
from gonogo.platforms.probe.questions import GpuQuestion, NodeQuestion, Question
from gonogo.platforms.probe.render import render
from gonogo.platforms.settings import Settings
from gonogo.platforms.shell import Identity, LocalShell, ShellTimedOut

#: Seconds that a supervisor has to start.
_START = 30.0
#: Seconds for processes to vanish after SIGKILL, and for the supervisor to write the end down.
_KILLED = 10.0


class InteractivePlatform(Platform):
    """This node. `state_dir` holds the run folders, so that a later process finds the jobs again."""

    name = "interactive"

    def __init__(self, settings: Settings, job: Job | None, state_dir: Path) -> None:
        self.settings = settings
        self.job = job
        self.runs = Runs(state_dir / "interactive")
        self.shell = LocalShell(self.address)

    @property
    def address(self) -> str:
        return f"this machine ({socket.gethostname()})"

    def identity(self) -> str:
        """systemd's machine ID, else the host name: neither changes between runs."""
        with contextlib.suppress(OSError):
            text = Path("/etc/machine-id").read_text().strip()
            if text:
                return f"machine {text}"
        return f"host {socket.gethostname()}"

    def ask(self, questions: Sequence[Question], *, deadline: float) -> Answers:
        """One run of the probe script as the job's user, with the job's environment but for its secrets."""
        job = self.job or Job()
        nonce = secrets.token_hex(8)
        directory = job.workdir if job.workdir and Path(job.workdir).is_dir() else None
        try:
            done = self.shell.run(
                render(questions, nonce),
                deadline=deadline,
                env=job_environment(job, job.env, os.environ),
                user=job_user(job),
                cwd=directory,
            )
        except ShellTimedOut as fault:
            stuck = how_far(fault.stdout, nonce, questions)
            raise TimedOut(f"{fault.message}{f'; it hung at {stuck}' if stuck else ''}") from fault
        return parse(done.stdout + done.stderr, nonce, questions, self.address)

    def tables(self) -> list[Table]:
        """This node and its GPUs."""
        answers = self.ask([NodeQuestion(), GpuQuestion(seconds=10)], deadline=20.0)
        return [node_table(answers.node()), gpu_table(answers.gpu())]

    def render(self, submission: Submission) -> str:
        """Directory, user, environment and command as `submit` runs them; inherited variables are only counted."""
        job = submission.job
        environment = job_environment(job, submission.environment, os.environ)
        mine = inherited(os.environ)
        changed = {name: value for name, value in sorted(environment.items()) if mine.get(name) != value}
        user = job_user(job)
        lines = [
            f"# {self.address}, as {f'{user.uid}:{user.gid}' if user else f'{os.geteuid()}:{os.getegid()}'}",
            f"# {len(mine)} variables are taken over from this environment; set besides:",
            *(f"export {name}={shlex.quote(value)}" for name, value in changed.items()),
            *(f"export {name}=***" for name in sorted(submission.secrets)),
            f"cd {shlex.quote(_directory(job))}",
            *(["sh preflight.sh  # in-job preflight: on 97 the command never starts"] if submission.preflight else []),
            *(["# torchrun starts the processes"] if under_torchrun(job) else []),
            shlex.join(arguments(job)),
        ]
        return _masked("\n".join(lines) + "\n", submission.secrets)

    def submit(self, submission: Submission) -> Placed:
        """Start the supervisor, which starts the job. Returns once the supervisor has signed in.

        Raises LaunchRefused where nothing was started, LaunchLost where the launch ID has a job already or the
        supervisor did not say within 30 s that it runs.
        """
        job = submission.job
        if not job.command:
            raise LaunchRefused("the job has no command")
        if not os.path.isdir(_directory(job)):
            raise LaunchRefused(f"the working directory {_directory(job)} does not exist on {self.address}")
        token = secrets.token_hex(16)
        order = _order(submission, token)
        with self.runs.claim(submission.launch_id) as (folder, lock):
            try:
                _write(folder, "launch.json", {"token": token, "digest": submission.job_digest, "name": job.name})
                _start_supervisor(folder, lock, order)
            except LaunchRefused:
                folder.remove()
                raise
        return self._placed(folder)

    def find(self, launch_id: str) -> Placed | None:
        """The job of that ID, however its launcher ended. Raises TimedOut while another process is just starting it."""
        folder = self.runs.folder(launch_id)
        if not folder.path.is_dir() or not folder.await_sign_in():
            return None
        return self._placed(folder)

    def status(self, native_id: str) -> Status:
        """From what the supervisor wrote and from /proc; safe against reused PIDs and restarts. Raises NotFound."""
        folder = self.runs.existing(native_id)
        end = folder.read("exit.json")
        if end is None:
            running = self._running(folder)
            if running is not None:
                return running
            end = folder.read("exit.json")  # it may have ended between the two looks
        return _ended(folder, end)

    def _running(self, folder: RunFolder) -> Status | None:
        watcher = folder.process("supervisor.json")
        command = folder.process("command.json")
        canceling = (folder.path / "cancel.json").exists()
        if watcher is None:
            return Status(JobState.PENDING, "starting") if folder.held else None
        if not watcher.alive:
            left = _members(folder)
            reason = "its supervisor is gone: the exit code will not be known"
            return Status(JobState.RUNNING, f"processes {left}", reason=reason) if left else None
        if canceling:
            return Status(JobState.CANCELING, "canceling")
        if command is None:
            return Status(JobState.PENDING, "in-job preflight or start")
        stat = processes.read_stat(command.pid)
        if stat is not None and stat.state == "T":
            return Status(JobState.PAUSED, f"process {command.pid} is stopped")
        return Status(JobState.RUNNING, f"process {command.pid}")

    def logs(self, native_id: str, *, tail: int | None = None, follow: bool = False) -> Iterator[bytes]:
        folder = self.runs.existing(native_id)
        return read_output(folder.path / "output.log", tail=tail, follow=follow, ended=lambda: self._over(native_id))

    def _over(self, native_id: str) -> bool:
        try:
            return self.status(native_id).state.ended
        except Fault:  # released meanwhile
            return True

    def arrival_output(self, native_id: str) -> bytes:
        """The preflight's output is kept apart from the job's own."""
        try:
            return (self.runs.existing(native_id).path / "preflight.log").read_bytes()
        except FileNotFoundError:
            return b""

    def cancel(self, native_id: str, *, grace: float = 10.0) -> Status:
        """SIGTERM to every process of the job, SIGKILL after `grace` seconds; returns once none is left.

        Raises Denied where a process may not be ended, TimedOut where one outlives SIGKILL.
        """
        folder = self.runs.existing(native_id)
        status = self.status(native_id)
        if status.state.ended:
            return status
        _write(folder, "cancel.json", {"asked": time.time()})
        ends = time.monotonic() + grace
        told: set[int] = set()

        def stopped() -> bool:
            left = _members(folder)
            for pid in left:
                if pid not in told:
                    told.add(pid)
                    _signal(pid, signal.SIGTERM)
                    _signal(pid, signal.SIGCONT)
                elif time.monotonic() > ends:
                    _signal(pid, signal.SIGKILL)
            return not left and self.status(native_id).state.ended

        if not wait_until(stopped, grace + _KILLED):
            raise TimedOut(f"job {native_id} on {self.address} still has processes {_members(folder)} after SIGKILL")
        return self.status(native_id)

    def release(self, native_id: str) -> None:
        """Remove the run folder with its log. Raises Refused while the job runs."""
        folder = self.runs.existing(native_id)
        if not self.status(native_id).state.ended:
            raise Refused(f"job {native_id} still runs", remedy=f"gonogo cancel {native_id}")
        folder.remove()

    def sweep(self, run_id: str | None = None) -> list[str]:
        """Probes here leave nothing; without `run_id`, what dead launchers left half made goes."""
        return [] if run_id else self.runs.sweep()

    def _placed(self, folder: RunFolder) -> Placed:
        command = folder.process("command.json") or folder.process("supervisor.json")
        launch = folder.read("launch.json") or {}
        details = {"folder": str(folder.path), "output": str(folder.path / "output.log")}
        details["digest"] = str(launch.get("digest", ""))
        if command is not None:
            details["pid"] = str(command.pid)
        return Placed(folder.launch_id, self.address, details)


def job_user(job: Job) -> Identity | None:
    """Another user that the job asks for (`run_as: UID:GID` or root), None for the submitter."""
    if job.run_as == "submitter":
        return None
    uid, _, gid = ("0:0" if job.run_as == "root" else job.run_as).partition(":")
    try:
        user = Identity(int(uid), int(gid or uid))
    except ValueError:
        raise LaunchRefused(f"run_as: {job.run_as!r} is not submitter, root or UID:GID") from None
    if user.uid == os.geteuid() and user.gid == os.getegid():
        return None
    if os.geteuid() != 0:
        raise Denied(f"run_as: {job.run_as} needs root on this machine", remedy="run_as: submitter")
    return user


def _directory(job: Job) -> str:
    return os.path.abspath(job.workdir) if job.workdir else os.getcwd()


def _order(submission: Submission, token: str) -> dict[str, object]:
    """What the supervisor reads on its standard input; it holds the secrets."""
    job = submission.job
    user = job_user(job)
    environment = job_environment(job, submission.environment, os.environ)
    environment.update(submission.secrets)
    environment["GONOGO_LAUNCH_ID"] = submission.launch_id
    environment["GONOGO_LAUNCH_TOKEN"] = token
    umask = os.umask(0o077)
    os.umask(umask)
    return {
        "argv": arguments(job),
        "env": environment,
        "cwd": _directory(job),
        "user": [user.uid, user.gid, list(user.groups)] if user else None,
        "preflight": base64.b64encode(submission.preflight).decode(),
        "umask": umask,
    }


def _start_supervisor(folder: RunFolder, lock: int, order: Mapping[str, object]) -> None:
    """Start it with the lock, wait for its first word. Raises LaunchRefused where it ended without, else LaunchLost."""
    process = subprocess.Popen(
        [sys.executable, "-I", supervisor.__file__, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", os.defpath), "GONOGO_SUPERVISES": folder.launch_id},
        cwd="/",
        start_new_session=True,
        pass_fds=(lock,),
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise LaunchRefused(f"the supervisor of {folder.launch_id} has no pipes")
    with stdin, stdout, stderr:
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(order).encode())
            stdin.close()
        if not select.select([stdout], [], [], _START)[0]:
            raise LaunchLost(f"the supervisor of {folder.launch_id} did not say within {_START:g} s that it runs")
        word = stdout.readline()
        process.wait()
        if word != b"ready\n":
            detail = stderr.read().decode(errors="replace")
            raise LaunchRefused(f"the supervisor of {folder.launch_id} could not start", detail=detail)


def _members(folder: RunFolder) -> list[int]:
    """Every live process of the job: those that carry its token, and those of the command's session."""
    launch = folder.read("launch.json")
    found = set(processes.marked(f"GONOGO_LAUNCH_TOKEN={launch['token']}")) if launch else set()
    command = folder.process("command.json")
    if command is not None and command.owns_its_session:
        found.update(processes.in_session(command.pid))
    return sorted(found)


def _ended(folder: RunFolder, end: Mapping[str, object] | None) -> Status:
    """The final state from `exit.json`, or without one."""
    canceled = (folder.path / "cancel.json").exists()
    if end is None:
        watcher = folder.process("supervisor.json")
        restarted = watcher is not None and watcher.boot != processes.boot_id()
        reason = (
            "the machine was restarted meanwhile"
            if restarted
            else "its supervisor was killed, or the machine restarted"
        )
        state = JobState.CANCELED if canceled else JobState.ERROR
        return Status(state, "ended without an exit code", None, f"ended without an exit code: {reason}")
    code = end["code"]
    exit_code = int(str(code)) if code is not None else None
    native = f"exit code {exit_code}" if exit_code is not None else "never started"
    if canceled:
        return Status(JobState.CANCELED, native, exit_code, "canceled by the user")
    state = JobState.COMPLETE if exit_code == 0 else JobState.ERROR
    return Status(state, native, exit_code, str(end["reason"]))


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise Denied(f"process {pid} belongs to another user and may not be ended") from error


def _write(folder: RunFolder, name: str, value: Mapping[str, object]) -> None:
    supervisor.write_json(folder.path / name, dict(value))


def _masked(text: str, hidden: Mapping[str, str]) -> str:
    for value in sorted(hidden.values(), key=len, reverse=True):
        if len(value) >= 4:
            text = text.replace(value, "***")
    return text
