"""Questions to a daemon's host that no shell reaches: put from a container that sees the host's files read-only.

The host's own sh runs in it, in a changed root, so that links, names and mounts are the host's. It runs as root of the
container and on the host's network; the questions that are put this way only look.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from gonogo.platforms.docker.binds import Bind
from gonogo.platforms.docker.container import ProbeSpec
from gonogo.platforms.docker.smoke import SmokeImages
from gonogo.platforms.faults import ToolMissing
from gonogo.platforms.probe.render import literal
from gonogo.platforms.shell import Completed, Identity

_ROOT = "/.gonogo-host"
_NO_CHROOT = 127


class HostByContainer:
    """`sh` on the daemon's host (`platforms.shell.Shell`), each run in a container of its own."""

    def __init__(self, smoke: SmokeImages, address: str, run_id: str) -> None:
        self.target = f"the host of {address}, seen by a container with its / bound read-only"
        self.runs = 0
        self._smoke = smoke
        self._run_id = run_id

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
        """As `LocalShell.run`. Raises ToolMissing for another `user` and where the image has no chroot, else as a
        probe container does."""
        if user is not None:
            raise ToolMissing(f"{what} cannot be run as another user on {self.target}")
        self.runs += 1
        spec = ProbeSpec(
            image="",
            program=_in_host_root(program, env or {}, cwd),
            user="0:0",
            binds=(Bind("/", _ROOT),),
            network="host",
        )
        image, done = self._smoke.run(spec, run_id=self._run_id, deadline=deadline, what=what)
        if done.returncode == _NO_CHROOT and b"chroot" in done.stderr:
            raise ToolMissing(
                f"image {image} has no chroot, with which {self.target} could be asked",
                detail=done.stderr.decode(errors="replace"),
                remedy="name an image with the usual tools: --smoke-image REF",
            )
        return done


def _in_host_root(program: bytes, env: Mapping[str, str], cwd: str | None) -> bytes:
    """The program as the input of the host's own sh: one line ends it that cannot be part of it."""
    end = f"GONOGO_{secrets.token_hex(16)}".encode()
    exports = [b"export " + name.encode() + b"=" + literal(value) for name, value in env.items()]
    inner = [*exports, *([b"cd -- " + literal(cwd) + b" || exit 126"] if cwd is not None else []), program]
    return b"\n".join([b"chroot " + _ROOT.encode() + b" /bin/sh -s <<'" + end + b"'", *inner, end]) + b"\n"
