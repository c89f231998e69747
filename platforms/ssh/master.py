"""One OpenSSH connection, kept open for commands and forwarded sockets (ssh(1), ControlMaster).

ssh runs in the foreground of a small sh program that holds a lifeline: a pipe from this process. When the pipe closes,
however this process ended (also by SIGKILL), ssh is ended and its folder removed. `ssh -f` would live on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections import deque
from pathlib import Path

from gonogo.platforms.faults import Fault, Refused, TimedOut, ToolMissing
from gonogo.platforms.ssh.address import SshAddress
from gonogo.platforms.ssh.errors import connection_lost, login_fault
from gonogo.platforms.ssh.folders import private_folder

#: Seconds for name, connection and greeting together; below the ten that a probe gets which only reaches its target.
CONNECT_SECONDS = 8
_TICK = 0.01
_FORWARD_SECONDS = 5.0
#: What ssh said is kept up to this many lines: a long watch must not fill the memory.
_KEPT_LINES = 400

#: $1 is the private folder, the rest is the ssh command; standard input is the lifeline.
_GUARD = r"""
folder=$1
shift
exec 3<&0 </dev/null
"$@" &
ssh=$!
{ read -r _ <&3; kill "$ssh"; } 2>/dev/null &
lifeline=$!
exec 3<&-
wait "$ssh"
status=$?
kill "$lifeline" 2>/dev/null
rm -rf -- "$folder"
exit "$status"
"""

#: Nothing that would wait for a person, no convenience of the user's own sessions. Keys, hosts and jumps stay theirs.
_LOGIN = (
    "-o", "BatchMode=yes",
    "-o", "ControlPersist=no",
    "-o", "ClearAllForwardings=yes",
    "-o", "PermitLocalCommand=no",
    "-o", "RemoteCommand=none",
    "-o", "ConnectionAttempts=1",
    "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3",
    "-o", "LogLevel=VERBOSE",
    "-a", "-x", "-nNT",
)  # fmt: skip
#: Over the connection no configuration is read (a LocalForward in it would be asked for again), and where the
#: connection is gone ssh would make one of its own, but for that ProxyCommand.
_OVER_IT = ("-F", "/dev/null", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ProxyCommand=false")


class Master:
    """A connection to one host: `open` it, then `argv` gives commands that run over it."""

    def __init__(self, address: SshAddress, *, seconds: int = CONNECT_SECONDS) -> None:
        self.address = address
        self._seconds = seconds
        self._folder: Path | None = None
        self._lock_file: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reader: threading.Thread | None = None
        self._closed = False
        self.opened = False

    def open(self) -> None:
        """Log in. Raises the Fault that ssh's own words stand for, TimedOut where it says nothing in time."""
        program = shutil.which("ssh")
        if program is None:
            raise ToolMissing(
                "the OpenSSH client is not installed here: ssh is not on PATH",
                remedy="sudo apt-get install openssh-client",
            )
        self._folder, self._lock_file = private_folder()
        try:
            self._start(program)
            self._wait_for_login()
            self.opened = True
        except BaseException:
            self.close()
            raise

    def _start(self, program: str) -> None:
        command = [program, *_LOGIN, "-o", "ControlMaster=yes", "-o", f"ControlPath={self.control}"]
        command += ["-o", f"ConnectTimeout={self._seconds}", *self.address.words]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "gonogo-ssh", str(self._folder), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this process, which then closes the connection in order
        )
        self._reader = threading.Thread(target=self._read, name="gonogo-ssh-words", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as words:
            for line in words:
                self._said.append(line.decode(errors="replace").rstrip())

    def _wait_for_login(self) -> None:
        ends = time.monotonic() + self._seconds + 1.0
        while not self.control.exists():
            if self._ended():
                raise login_fault(self.words, self.address, self._seconds)
            if time.monotonic() > ends:
                raise TimedOut(
                    f"no login at {self.address.shown} within {self._seconds} s",
                    detail=self.words,
                    remedy=f"See where it waits: `{self.address.command('true')}`",
                )
            time.sleep(_TICK)

    @property
    def folder(self) -> Path:
        """The connection's own folder, mode 0700; its sockets lie in it."""
        assert self._folder is not None, "the connection was never opened"
        return self._folder

    @property
    def control(self) -> Path:
        return self.folder / "c"

    @property
    def words(self) -> str:
        """What ssh has said so far."""
        if self._reader is not None and self._ended():
            self._reader.join(timeout=1.0)
        return "\n".join(self._said)

    @property
    def alive(self) -> bool:
        return not self._closed and not self._ended()

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def lost(self) -> Fault:
        """The fault that the end of this connection is, in ssh's own words."""
        return connection_lost(self.words, self.address)

    def argv(self, *remote: str) -> tuple[str, ...]:
        """An ssh command over this connection. Where the connection is gone it fails: it never makes one of its own."""
        return (*self._client(), "-T", *self.address.words, *remote)

    def _client(self) -> tuple[str, ...]:
        return ("ssh", *_OVER_IT, "-o", f"ControlPath={self.control}")

    def forward(self, remote_socket: str) -> Path:
        """A local socket that leads to the one on the host. Whether anyone listens there shows on its first use.

        Raises Refused where this ssh cannot, and the connection's own fault where it is gone.
        """
        local = self.folder / "d"
        command = [*self._client(), "-O", "forward", "-L", f"{local}:{remote_socket}", *self.address.words]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_FORWARD_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise TimedOut(f"ssh did not answer whether it forwards {remote_socket} of {self.address.shown}") from None
        if done.returncode == 0:
            return local
        if not self.alive:
            raise self.lost()
        words = done.stderr.decode(errors="replace").strip()
        raise Refused(f"ssh does not forward {remote_socket} of {self.address.shown}", detail=words)

    def close(self) -> None:
        """End the connection and remove its folder; any time, any number of times."""
        self._closed = True
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()
            try:
                process.wait(2.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
        if process is not None and process.stdin is not None:
            process.stdin.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None
