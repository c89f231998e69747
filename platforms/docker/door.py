"""The way to a daemon behind ssh: its socket forwarded to a private one here or, where that is forbidden, relayed."""

from __future__ import annotations

import shlex
import socket
import threading
import time
from pathlib import Path
from typing import Protocol

from gonogo.platforms.docker.account import Account, ask_account, socket_fault
from gonogo.platforms.faults import ConnectionLost, Fault, Refused, TimedOut
from gonogo.platforms.ssh.address import SshAddress
from gonogo.platforms.ssh.link import Link
from gonogo.platforms.ssh.master import Master
from gonogo.platforms.ssh.relay import Relay
from gonogo.platforms.ssh.shell import SshShell

#: A daemon that is silent to a first ping for so long, seconds, is left to the caller, who waits and names it.
_PING_SECONDS = 1.0
#: ssh's word about a connection that could not be forwarded comes with or just before its end, seconds.
_WORD_SECONDS = 0.5
#: A host that gives no sign of life for so long, seconds, is taken to be gone.
_SIGN_SECONDS = 3.0


class Door(Protocol):
    """Where the SDK finds the daemon, when that is not the address that a person gave."""

    @property
    def brief(self) -> bool:
        """Whether each connection should serve one call only."""

    def url(self) -> str:
        """The `unix://` address of now. Raises a Fault where there is no way."""

    def explain(self, fault: Fault) -> Fault:
        """The fault as it is on that way: the broken way itself, or with a remedy that works from here."""


class SshDoor:
    """A `Door` over one ssh link. The way is made on first use, and anew after the connection broke."""

    def __init__(self, address: SshAddress) -> None:
        self.address = address
        self.link = Link(address)
        self.shell = SshShell(self.link)
        #: how calls travel, for evidence
        self.route = ""
        self.brief = False
        self._lock = threading.Lock()
        self._account: Account | None = None
        self._through: Master | None = None
        self._local: Path | None = None
        self._relay: Relay | None = None

    def account(self) -> Account:
        """Who we are on the host, asked once. Raises the login's Fault (CRED-07)."""
        with self._lock:
            return self._asked()

    def _asked(self) -> Account:
        if self._account is None:
            self._account = ask_account(self.shell, self.address)
        return self._account

    def url(self) -> str:
        """Raises the login's Fault, or the one of the daemon's socket (DOCK-01)."""
        with self._lock:
            master = self.link.master()
            if master is not self._through or self._local is None:
                self._local = self._open(master, self._asked())
                self._through = master
            return f"unix://{self._local}"

    def _open(self, master: Master, account: Account) -> Path:
        fault = socket_fault(account, self.address)
        if fault is not None:
            self._account = None  # the next one to ask may find it mended
            raise fault
        self._end_relay()
        local = master.forward(account.socket)
        seen, words = _try(local, master)
        if seen == "closed" and master.alive:
            return self._relayed(master, account, words)
        self.route, self.brief = f"ssh, {account.socket} forwarded", False
        return local

    def _relayed(self, master: Master, account: Account, words: str) -> Path:
        """sshd says the same of a socket that nobody listens at and of one that it may not forward: a program on the
        host tells them apart, and stands in."""
        if not account.relay:
            raise _neither(account, self.address, words)
        self._relay = Relay(master, (shlex.join(account.relay),))
        seen, _ = _try(self._relay.path, master)
        if seen == "closed":
            raise _nobody_listens(account, self.address, self._relay.words or words)
        name = "docker system dial-stdio" if "dial-stdio" in account.relay else "socat"
        self.route, self.brief = f"ssh, {account.socket} by `{name}`: sshd forbids the forwarding of sockets", True
        return self._relay.path

    def explain(self, fault: Fault) -> Fault:
        if isinstance(fault, ConnectionLost):
            return fault
        lost = self.link.broken(patience=0.0 if isinstance(fault, TimedOut) else _WORD_SECONDS)
        if lost is not None:
            return lost
        if isinstance(fault, TimedOut) and not self._host_answers():
            return ConnectionLost(
                f"{self.address.host} itself does not answer any more over the ssh connection",
                detail=fault.message,
                remedy=f"See whether the host is up and the network stays: `{self.address.command('uptime')}`",
            )
        if fault.remedy.startswith("sudo "):
            fault.remedy = self.address.command(fault.remedy, tty=True)
        return fault

    def _host_answers(self) -> bool:
        """Whether the host does: a daemon that is silent is told from a way that is."""
        try:
            self.shell.run(b":\n", deadline=_SIGN_SECONDS, what="a sign of life")
        except Fault:
            return False
        return True

    def close(self) -> None:
        self._end_relay()
        self.link.close()

    def _end_relay(self) -> None:
        if self._relay is not None:
            self._relay.close()
            self._relay = None


def _try(local: Path, master: Master) -> tuple[str, str]:
    """A ping by hand through a fresh socket: `answered`, `silent` or `closed`, and what ssh said meanwhile."""
    before = len(master.words)
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(_PING_SECONDS)
            asking.connect(str(local))
            asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            seen = "answered" if asking.recv(16) else "closed"
    except TimeoutError:
        seen = "silent"
    except OSError:
        seen = "closed"
    ends = time.monotonic() + _WORD_SECONDS
    while seen == "closed" and len(master.words) == before and master.alive and time.monotonic() < ends:
        time.sleep(0.01)
    return seen, master.words[before:].strip()


def _nobody_listens(account: Account, address: SshAddress, words: str) -> Fault:
    return Refused(
        f"the Docker daemon on {address.host} does not run: nobody listens at its socket {account.socket}",
        detail=words,
        remedy=address.command("sudo systemctl start docker", tty=True),
    )


def _neither(account: Account, address: SshAddress, words: str) -> Fault:
    return Refused(
        f"{account.socket} on {address.host} is not reached over ssh: nobody listens there, or sshd forbids the "
        "forwarding of sockets, and there is neither docker nor socat to tell and to stand in",
        detail=words,
        remedy="Set `AllowStreamLocalForwarding yes` in sshd_config there, and see that the daemon runs",
    )
