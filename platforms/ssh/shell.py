"""sh programs on a host, over the connection that stands. The program travels on standard input."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gonogo.platforms.faults import ToolMissing
from gonogo.platforms.probe.render import literal
from gonogo.platforms.shell import Completed, Identity, LocalShell
from gonogo.platforms.ssh.link import Link

#: ssh's own exit status; a remote program may use it too.
_SSH_FAILED = 255
#: sshd's MaxSessions (10 by default) was reached: a session that is open now will be closed soon.
_NO_SESSION = b"Session open refused by peer"
_SESSION_PAUSE = 0.1
_NOTICE_SECONDS = 1.0


class SshShell:
    """`sh` on the host as the account that logs in (`platforms.shell.Shell`)."""

    def __init__(self, link: Link) -> None:
        self.target = link.address.shown
        self.runs = 0
        self._link = link

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
        """As `LocalShell.run`; `env` is added to the account's own. Raises ConnectionLost where the connection breaks,

        the login's own Fault where there is none, ToolMissing for another `user`.
        """
        if user is not None:
            raise ToolMissing(f"{what} cannot be run as another user than the one who logs in at {self.target}")
        self.runs += 1
        ends = time.monotonic() + deadline
        while True:
            master = self._link.master()
            shell = LocalShell(self.target, master.argv("sh", "-s"))
            done = shell.run(_prepared(program, env, cwd), deadline=max(0.1, ends - time.monotonic()), what=what)
            if done.returncode != _SSH_FAILED:
                return done
            if _NO_SESSION in done.stderr and time.monotonic() + _SESSION_PAUSE < ends:
                time.sleep(_SESSION_PAUSE)
                continue
            lost = self._link.broken(patience=_NOTICE_SECONDS)
            if lost is not None:
                raise lost
            return done


def _prepared(program: bytes, env: Mapping[str, str] | None, cwd: str | None) -> bytes:
    lines = [b"export " + name.encode() + b"=" + literal(value) for name, value in (env or {}).items()]
    if cwd is not None:
        lines.append(b"cd -- " + literal(cwd) + b" || exit 126")
    return b"\n".join([*lines, program])
