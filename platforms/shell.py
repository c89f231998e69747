"""Running a sh program on a host. `LocalShell` is this node; shells over ssh or in a container have the same call."""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from gonogo.platforms.faults import Denied, NotFound, TimedOut, ToolMissing

_CHUNK = 64 * 1024
#: Seconds between the polite and the final signal to a program whose time is up; its trap removes its files in it.
_GRACE = 1.0
#: Seconds between looks at whether the program has ended, where no output tells.
_TICK = 0.05


@dataclass(frozen=True)
class Completed:
    """A program that ended: its two outputs and its exit status (negative: the signal that ended it)."""

    stdout: bytes
    stderr: bytes
    returncode: int


@dataclass(frozen=True)
class Identity:
    """The user that a program runs as. Changing it needs root."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


class ShellTimedOut(TimedOut):
    """The time was up; `stdout` is what had been printed until then."""

    stdout: bytes = b""


class Shell(Protocol):
    """A way to run sh programs on one host."""

    #: how many programs were run
    runs: int

    @property
    def target(self) -> str:
        """The host as a person would name it."""

    def run(
        self,
        program: bytes,
        *,
        deadline: float,
        env: Mapping[str, str] | None = None,
        user: Identity | None = None,
        cwd: str | None = None,
        what: str = "the probe script",
    ) -> Completed:
        """Run the program in `sh`, read to its end within `deadline` seconds. Raises a Fault."""


class LocalShell:
    """`sh` on this node, with the program on its standard input, in a session of its own."""

    def __init__(self, target: str = "this machine", sh: tuple[str, ...] = ("/bin/sh",)) -> None:
        self.target = target
        self.runs = 0
        self._sh = sh

    def run(
        self,
        program: bytes,
        *,
        deadline: float,
        env: Mapping[str, str] | None = None,
        user: Identity | None = None,
        cwd: str | None = None,
        what: str = "the probe script",
    ) -> Completed:
        """Run the program. Everything it started is ended with it; a process that left the session but holds the output
        open is not waited for. `env` replaces the environment, `what` names the program in a fault.

        Raises ShellTimedOut at the deadline (seconds), ToolMissing without sh, NotFound without the directory, Denied
        where the user cannot be changed to.
        """
        self.runs += 1
        process = self._start(program, env, user, cwd)
        exchange = _Exchange(process, program)
        try:
            ended = exchange.run(time.monotonic() + deadline)
        finally:
            returncode = _end_session(process)
            for stream in (process.stdin, process.stdout, process.stderr):
                _close(stream)
        stdout, stderr = (bytes(output) for output in exchange.outputs.values())
        if not ended:
            fault = ShellTimedOut(f"{what} on {self.target} gave no answer within {deadline:g} s")
            fault.stdout = stdout
            raise fault
        return Completed(stdout, stderr, returncode)

    def _start(
        self, program: bytes, env: Mapping[str, str] | None, user: Identity | None, cwd: str | None
    ) -> subprocess.Popen[bytes]:
        change: dict[str, object] = {}
        if user is not None and (user.uid, user.gid) != (os.geteuid(), os.getegid()):
            change = {"user": user.uid, "group": user.gid, "extra_groups": list(user.groups)}
        try:
            return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
                list(self._sh),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
                **change,
            )
        except FileNotFoundError as error:
            if cwd is not None and not os.path.isdir(cwd):
                raise NotFound(f"the working directory {cwd} does not exist on {self.target}") from error
            raise ToolMissing(f"{self._sh[0]} is not there on {self.target}") from error
        except PermissionError as error:
            raise Denied(f"a program cannot be run as user {user} on {self.target}: {error.strerror}") from error


class _Exchange:
    """Feeding a program and reading its two outputs, without ever blocking on either."""

    def __init__(self, process: subprocess.Popen[bytes], program: bytes) -> None:
        self.process = process
        self.rest = memoryview(program)
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        if stdin is None or stdout is None or stderr is None:
            raise ValueError("the process has no pipes")
        self.stdin: IO[bytes] = stdin
        self.outputs: dict[IO[bytes], bytearray] = {stdout: bytearray(), stderr: bytearray()}
        for stream in (stdin, *self.outputs):
            os.set_blocking(stream.fileno(), False)

    def run(self, until: float) -> bool:
        """Until the process has ended and what it wrote is read: True; or until the time is up: False."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.stdin, selectors.EVENT_WRITE, self._feed)
            for stream in self.outputs:
                ready.register(stream, selectors.EVENT_READ, functools.partial(self._drain, stream))
            while (left := until - time.monotonic()) > 0:
                # Short waits, since an inherited pipe may stay open after the process itself has ended.
                for key, _ in ready.select(min(left, _TICK)) if ready.get_map() else ():
                    if not key.data():
                        ready.unregister(key.fileobj)
                if not ready.get_map():
                    time.sleep(min(left, _TICK / 10))
                if has_ended(self.process.pid):
                    for stream in self.outputs:
                        self._drain(stream)
                    return True
        return False

    def _feed(self) -> bool:
        """Write what the pipe takes; False when there is nothing more to write."""
        try:
            self.rest = self.rest[os.write(self.stdin.fileno(), self.rest[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self.rest = self.rest[:0]
        if not self.rest:
            _close(self.stdin)
        return bool(self.rest)

    def _drain(self, stream: IO[bytes]) -> bool:
        """Read what is there; False at the end of the stream."""
        while True:
            try:
                chunk = os.read(stream.fileno(), _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self.outputs[stream] += chunk


def has_ended(child: int) -> bool:
    """Whether that child of ours has ended. It is not reaped, so that its PID stays its own."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()


def _end_session(process: subprocess.Popen[bytes]) -> int:
    """End what is left of the session that the process leads: politely while it lives, then for good. Then reap it.

    The leader is reaped last: until then no other process can get its PID, and no other session its number.
    """
    if process.returncode is not None:
        return process.returncode
    if not has_ended(process.pid):
        os.killpg(process.pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE
        while not has_ended(process.pid) and time.monotonic() < until:
            time.sleep(_TICK / 10)
    for pid in session_members(process.pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    try:
        return process.wait(_GRACE)
    except subprocess.TimeoutExpired:  # the kernel holds it (a dead network filesystem): nobody can end it
        return -signal.SIGKILL


def session_members(session: int) -> list[int]:
    """PIDs of the live processes in that session, from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
            found.append(int(entry.name))
    return found
