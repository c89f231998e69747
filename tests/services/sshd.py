"""A real OpenSSH server of the tests' own on loopback, accounts of its own, and an `ssh` that knows its way there.

It needs root: accounts are made with useradd and removed again. Nothing of the user's own ssh configuration is read:
a wrapper named `ssh` (a folder to put first on PATH) runs the real one with a configuration of the tests.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from .dockerd import wait_until

_SSHD = "/usr/sbin/sshd"
#: OpenSSH 9's default key exchange costs 0.3 s of processor time for each connection.
_QUICK = "curve25519-sha256"


def missing_for_sshd() -> str:
    """Why no ssh server can be started here, empty where one can."""
    if os.geteuid() != 0:
        return "accounts for an ssh server need root: run the tests as root"
    for program, package in (
        (_SSHD, "openssh-server"),
        ("ssh", "openssh-client"),
        ("ssh-keygen", "openssh-client"),
        ("useradd", "passwd"),
    ):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install {package}"
    return ""


class Account:
    """A user of this machine for the time of the tests, whom one key lets in."""

    def __init__(self, name: str, *groups: str) -> None:
        self.name = name
        remove_account(name)
        more = ["--groups", ",".join(groups)] if groups else []
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", *more, name], check=True)
        # A fresh account is locked, which a server without PAM refuses also for keys.
        subprocess.run(["usermod", "--password", "*", name], check=True)

    @property
    def ids(self) -> str:
        """`1001:1001`, as the account's own `id` says."""
        return ":".join(_output("id", flag, self.name) for flag in ("-u", "-g"))

    @property
    def home(self) -> Path:
        return Path(os.path.expanduser(f"~{self.name}"))

    def remove(self) -> None:
        remove_account(self.name)


def remove_account(name: str) -> None:
    subprocess.run(["userdel", "--remove", "--force", name], check=False, capture_output=True)


class Sshd:
    """One server. `address` is `ssh://USER@127.0.0.1:PORT`; `connections` counts what its log says was let in."""

    def __init__(self, folder: Path, *, options: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        folder.mkdir(mode=0o755, parents=True)
        self.port = _free_port()
        self.options = dict(options or {})
        self.host_key = folder / "host_key"
        make_key(self.host_key)
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, authorized: Path) -> None:
        """Listen with the given authorized_keys file for every account; the options given win over the usual ones."""
        Path("/run/sshd").mkdir(exist_ok=True)
        usual = {
            "Port": str(self.port),
            "ListenAddress": "127.0.0.1",
            "HostKey": str(self.host_key),
            "PidFile": "none",
            "AuthorizedKeysFile": str(authorized),
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "PrintMotd": "no",
            "LogLevel": "VERBOSE",
        }
        file = self.folder / "sshd_config"
        file.write_text("".join(f"{name} {value}\n" for name, value in {**usual, **self.options}.items()))
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [_SSHD, "-D", "-e", "-f", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={"PATH": os.environ["PATH"]},
            )
        wait_until(self._listens, f"sshd to listen: {self.log()[-500:]}")

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"sshd ended: {self.log()}"
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def connections(self) -> int:
        """How many logins were accepted so far."""
        return len(re.findall("^Accepted publickey for ", self.log(), re.MULTILINE))

    def end_sessions(self) -> None:
        """End the connections that stand, as a network or a server that goes away would; the server goes on."""
        for pid in _descendants(self._pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)

    def sessions(self) -> list[int]:
        """PIDs of the processes that serve connections now."""
        return _descendants(self._pid) if self._process is not None else []

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        if self._process is None:
            return
        self.end_sessions()
        self._process.terminate()
        self._process.wait(10)
        self._process = None


class SshLab:
    """Keys, known hosts and an `ssh` wrapper: what a user's ~/.ssh holds, in a folder of the tests.

    `path` is a PATH with the wrapper first. Host names of the configuration are given to `host`.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gonogo-sshlab-"))
        self.folder.chmod(0o755)
        self.key = self.folder / "id_good"
        make_key(self.key)
        self.authorized = self.folder / "authorized_keys"
        self.authorized.write_text(self.key.with_suffix(".pub").read_text())
        self.authorized.chmod(0o644)
        self.known_hosts = self.folder / "known_hosts"
        self.known_hosts.touch()
        self.config = self.folder / "config"
        self._servers: list[Sshd] = []
        self._hosts: list[str] = []
        self._wrapper()
        self._write()

    def _wrapper(self) -> None:
        """OpenSSH takes ~/.ssh from the user table, not from HOME: only -F keeps it from the real one."""
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.config} "$@"\n')
        wrapper.chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.folder / 'bin'}:{os.environ['PATH']}"

    def server(self, name: str, **options: str) -> Sshd:
        """A started server whose host key is known; each keyword is a line of its sshd_config."""
        server = Sshd(self.folder / name, options=options)
        server.start(self.authorized)
        self._servers.append(server)
        self.know(server)
        return server

    def know(self, server: Sshd, key: Path | None = None) -> None:
        """Add a host key for the server's address to known_hosts."""
        public = (key or server.host_key).with_suffix(".pub").read_text().split()
        with self.known_hosts.open("a") as file:
            file.write(f"[127.0.0.1]:{server.port} {public[0]} {public[1]}\n")

    def host(self, alias: str, **options: str) -> str:
        """Add a `Host` entry in front of the others; returns `ssh://ALIAS`."""
        if "IdentityFile" not in options:  # those of several entries add up, so the usual one is not for all
            options = {**options, "IdentityFile": str(self.key)}
        lines = "".join(f"  {name} {value}\n" for name, value in options.items())
        self._hosts.insert(0, f"Host {alias}\n{lines}")
        self._write()
        return f"ssh://{alias}"

    def _write(self) -> None:
        usual = {
            "UserKnownHostsFile": str(self.known_hosts),
            "GlobalKnownHostsFile": "/dev/null",
            "KexAlgorithms": _QUICK,
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
        }
        common = "".join(f"  {name} {value}\n" for name, value in usual.items())
        self.config.write_text("".join(self._hosts) + "Host *\n" + common)
        self.config.chmod(0o644)

    def close(self) -> None:
        for server in self._servers:
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def accounts(**groups: str) -> Iterator[dict[str, Account]]:
    """Accounts by a short name, each with its group or '' for none; removed afterwards. Names carry this process's
    PID, so that runs beside each other do not meet."""
    made: dict[str, Account] = {}
    try:
        for name, group in groups.items():
            made[name] = Account(f"gonogo-{name}-{os.getpid()}", *([group] if group else []))
        yield made
    finally:
        for account in made.values():
            account.remove()


def make_key(file: Path, passphrase: str = "") -> None:
    """An ed25519 key pair at FILE and FILE.pub."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", file.name, "-f", str(file)], check=True
    )


def _free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


def _descendants(root: int) -> list[int]:
    """PIDs below that process, from /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, waiting = [], [root]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, above in parents.items() if above == parent]
        found += children
        waiting += children
    return found


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
