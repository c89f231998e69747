"""`ssh://[user@]host[:port][/socket]`, as the docker CLI writes a daemon's address."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

#: A name of ~/.ssh/config, a DNS name or an address. It can not begin with '-', which ssh would take for an option.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.%-]*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%A-Za-z]*")
_USER = re.compile(r"[^\s@:/-][^\s@:/]*")


@dataclass(frozen=True)
class SshAddress:
    """Where to log in. Empty `user` and no `port` leave both to the user's ssh configuration.

    `socket` is the daemon's socket on that host where the URL names one.
    """

    host: str
    user: str = ""
    port: int | None = None
    socket: str = ""

    @property
    def shown(self) -> str:
        """For a person: `ssh://ml@gpu-host:22`. A password never gets this far."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port is not None else ""
        return f"ssh://{user}{host}{port}{self.socket}"

    @property
    def words(self) -> tuple[str, ...]:
        """As arguments of ssh, the last ones before a remote command."""
        user = ("-l", self.user) if self.user else ()
        port = ("-p", str(self.port)) if self.port is not None else ()
        return (*user, *port, "--", self.host)

    def command(self, remote: str = "", *, tty: bool = False) -> str:
        """An ssh command for a person to paste: `ssh -p 2222 ml@gpu-host 'id'`."""
        target = f"{self.user}@{self.host}" if self.user else self.host
        words = ["ssh", *(["-t"] if tty else []), *(["-p", str(self.port)] if self.port is not None else []), target]
        return shlex.join([*words, *([remote] if remote else [])])


def parse_address(url: str) -> SshAddress:
    """Read the URL. Raises ValueError, which never repeats a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(f"the ssh address cannot be read: {error}") from None
    if parts.scheme != "ssh":
        raise ValueError("the address does not begin with ssh://")
    if parts.password is not None:
        raise ValueError("the ssh address holds a password: log in with a key, and leave the password out")
    # urlsplit lowers the host; an alias of ~/.ssh/config is told apart by case.
    given = parts.netloc.rpartition("@")[2]
    plain = given if given.lower() == host else given.rpartition(":")[0]
    host = unquote(plain if plain.lower() == host else host)
    if not _HOST.fullmatch(host):
        raise ValueError(f"{host!r} in the ssh address is no host name")
    user = unquote(parts.username or "")
    if user and not _USER.fullmatch(user):
        raise ValueError(f"{user!r} in the ssh address is no user name")
    if parts.query or parts.fragment:
        raise ValueError("the ssh address has a query or a fragment, which mean nothing there")
    path = unquote(parts.path)
    return SshAddress(host, user, port, "" if path == "/" else path)
