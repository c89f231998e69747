"""The account on a daemon's host, and that host's Docker socket as the account sees it (ID-01, DOCK-01)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gonogo.platforms.faults import Denied, Fault, Garbled, NotFound, Refused, Unreachable
from gonogo.platforms.probe.lines import Reply, decode, replies
from gonogo.platforms.probe.render import literal
from gonogo.platforms.shell import Completed, Shell
from gonogo.platforms.ssh.address import SshAddress

_SECONDS = 8.0


@dataclass(frozen=True)
class Account:
    """Numbers and names as the host has them. `socket` is the daemon's there, empty with `elsewhere` an address that
    is no socket; `state` is `usable`, `missing` or `denied`, `listing` the socket's line of `ls`.

    `relay` is the command that can stand in for a forwarded socket, empty where there is none.
    """

    user: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    group_names: str
    socket: str
    origin: str
    state: str
    listing: str
    elsewhere: str
    docker: str
    relay: tuple[str, ...]


def ask_account(shell: Shell, address: SshAddress) -> Account:
    """One run of the script over the connection. Raises Denied where the account may not run commands, else the
    shell's own Faults."""
    nonce = secrets.token_hex(8)
    head = b"nonce=" + literal(nonce) + b"\nasked=" + literal(address.socket) + b"\n"
    done = shell.run(head + _script(), deadline=_SECONDS, what="a first command")
    reply = replies(done.stdout, nonce).get("account", Reply())
    if "end" not in reply:
        raise _no_shell(done, address)
    return _account(reply)


@lru_cache
def _script() -> bytes:
    return Path(__file__).with_name("account.sh").read_bytes()


def _account(reply: Reply) -> Account:
    try:
        uid, gid = int(reply.first("uid")), int(reply.first("gid"))
        groups = tuple(sorted({int(one) for one in reply.first("groups").split()} - {gid}))
    except ValueError:
        raise Garbled("`id` on the daemon's host gave no numbers", detail=str(reply.lines)) from None
    socket = reply.first("socket")
    relay: tuple[str, ...] = ()
    if "docker" in reply:
        relay = (reply.first("docker"), "-H", f"unix://{socket}", "system", "dial-stdio")
    elif "socat" in reply:
        relay = (reply.first("socat"), "-", f"UNIX-CONNECT:{socket}")
    return Account(
        user=reply.first("user"),
        uid=uid,
        gid=gid,
        groups=groups,
        group_names=reply.first("group-names"),
        socket=socket,
        origin=reply.first("origin"),
        state=reply.first("state"),
        listing=reply.first("listing"),
        elsewhere=reply.first("elsewhere"),
        docker=reply.first("docker"),
        relay=relay,
    )


def _no_shell(done: Completed, address: SshAddress) -> Fault:
    words = decode(done.stderr or done.stdout).strip()
    return Denied(
        f"the login at {address.shown} works, but the account may not run commands there",
        detail=words or f"sh ended with status {done.returncode} and said nothing",
        remedy="Give the account a login shell (chsh), and no ForceCommand in sshd_config",
    )


def socket_fault(account: Account, address: SshAddress) -> Fault | None:
    """Why the account cannot reach a daemon there, None where nothing speaks against it."""
    if account.elsewhere:
        return Refused(
            f"the daemon that {account.origin} names is {account.elsewhere}, which is no socket of {address.host}",
            remedy=f"Name the socket: {SshAddress(address.host, address.user, address.port).shown}/var/run/docker.sock",
        )
    if account.state == "denied":
        return Denied(
            f"the account {account.user} on {address.host} may not open {account.socket}",
            detail=f"{account.listing}; groups of the account: {account.group_names}",
            remedy=address.command(f"sudo usermod -aG docker {account.user}", tty=True),
        )
    if account.state == "missing" and not account.docker:
        return NotFound(
            f"there is no Docker on {address.host}: no docker command and no socket {account.socket}",
            remedy="Install Docker Engine there, or name another host with --docker-host",
        )
    if account.state == "missing":
        return Unreachable(
            f"the Docker daemon on {address.host} does not run: there is no socket {account.socket}",
            detail=f"socket by {account.origin}; the docker command is there: {account.docker}",
            remedy=address.command("sudo systemctl start docker", tty=True),
        )
    return None
