"""`remote-docker`: a daemon on another machine, over ssh, TCP, or a socket that somebody has forwarded here.

Over ssh the host's questions are asked by the account that logs in; elsewhere, by a container (`host_container`).
"""

from __future__ import annotations

import dataclasses
import shlex
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from gonogo.platforms.docker import facts
from gonogo.platforms.docker.account import Account
from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.door import SshDoor
from gonogo.platforms.docker.host_container import HostByContainer
from gonogo.platforms.docker.platform import DockerPlatform
from gonogo.platforms.faults import Refused
from gonogo.platforms.shell import Shell
from gonogo.platforms.ssh.address import parse_address

_EXAMPLE = "ssh://USER@HOST"
_SCHEMES = ("ssh", "tcp", "http", "https", "unix", "http+unix")

#: First words of commands that change the daemon's host, or look at it.
_FOR_THE_HOST = frozenset({"sudo", "mkdir", "chmod", "chown", "rm", "systemctl", "nvidia-smi", "nvidia-ctk"})
#: What the docker command does here whatever daemon it speaks to.
_FOR_HERE = frozenset({"login", "context"})


@dataclass(frozen=True)
class Login:
    """How we are logged in on the daemon's host. `open_keys` are key files that ssh left aside as open to others."""

    account: Account
    address: str
    open_keys: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """`ml (1001:1001)`."""
        return f"{self.account.user} ({self.account.uid}:{self.account.gid})"


class RemoteDockerPlatform(DockerPlatform):
    """The same adapter on another machine's daemon."""

    name = "remote-docker"
    _door: SshDoor | None = None
    _bad_address = ""

    def _make_connection(self) -> Connection:
        if self.endpoint.is_ssh:
            try:
                self._door = SshDoor(parse_address(self.endpoint.url))
            except ValueError as error:
                self._bad_address = str(error)
        return Connection(self.endpoint, self._door)

    def _make_host(self) -> Shell:
        if self._door is not None:
            return self._door.shell
        return HostByContainer(self._smoke, self.address, self.run_id)

    @property
    def has_host_shell(self) -> bool:
        return self._door is not None

    def login(self) -> Login | None:
        """Log in over ssh and say as whom; None where the daemon is reached another way. Raises the login's Fault."""
        if self._bad_address:
            raise Refused(f"{self._bad_address} ({self.endpoint.origin})", remedy=f"--docker-host {_EXAMPLE}")
        if self._door is None:
            return None
        return Login(self._door.account(), self._door.address.shown, self._door.link.open_keys())

    def daemon_info(self) -> facts.DaemonInfo:
        info = super().daemon_info()
        scheme = urlsplit(self.endpoint.url).scheme
        if scheme in ("unix", "http+unix") and info.hostname == socket.gethostname():
            raise self._local(f"the daemon at {self.address} ({self.endpoint.origin}) runs on this machine")
        route = self._door.route if self._door is not None else ""
        self._info = dataclasses.replace(info, route=route, in_clear=self.endpoint.in_clear)
        return self._info

    def _demand_address(self) -> None:
        """Raises Refused for an address that cannot be another machine's."""
        self.login()
        if self.endpoint.origin == "default":
            raise self._local("remote-docker needs the address of a daemon on another machine, and none is given")
        if urlsplit(self.endpoint.url).scheme not in _SCHEMES:
            raise self._local(f"{self.address} ({self.endpoint.origin}) is no address of a remote daemon")

    def _local(self, message: str) -> Refused:
        return Refused(
            message, remedy=f"Name one (--docker-host {_EXAMPLE}, or DOCKER_HOST), or use --platform local-docker"
        )

    def from_here(self, remedy: str) -> str:
        """The command over ssh where the host is reached so; a docker command names the daemon."""
        first, _, rest = remedy.partition(" ")
        if first == "docker" and rest.partition(" ")[0] not in _FOR_HERE:
            return f"docker -H {shlex.quote(self.address)} {rest}"
        if first not in _FOR_THE_HOST:
            return remedy
        if self._door is None:
            return f"On the host of {self.address}: `{remedy}`"
        return self._door.address.command(remedy, tty=True)

    def close(self) -> None:
        super().close()
        if self._door is not None:
            self._door.close()
