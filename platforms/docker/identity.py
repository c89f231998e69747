"""As whom the job's container runs, by the numbers of the docker host. Sources: rows ID-01, ID-03, ID-04, ID-07."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.faults import Garbled, Refused
from gonogo.platforms.shell import Shell

#: The older variable that names the container's user.
CONTAINER_USER = "TAO_DOCKER_CONTAINER_USER"
_ROOT = frozenset({"root", "0", "0:0"})
_NUMBERS = re.compile(r"([0-9]{1,10})(?::([0-9]{1,10}))?")
_MOST = 2**32 - 2
_ASK = b"id -u && id -g && id -G && { id -un 2>/dev/null || echo; }\n"


@dataclass(frozen=True)
class JobUser:
    """Numeric user and group, and supplementary groups, on the docker host. `origin` says where they come from."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    name: str = ""
    origin: str = ""

    @property
    def text(self) -> str:
        """As docker takes it: `1001:1001`."""
        return f"{self.uid}:{self.gid}"

    @property
    def shown(self) -> str:
        """For a person: `ml (1001:1001)`, or the numbers alone."""
        return f"{self.name} ({self.text})" if self.name else self.text


def wants_root(job: Job) -> bool:
    """Whether the job file asks for root, the recorded exception (ID-04)."""
    return job.run_as in _ROOT


def named_user(job: Job, container_user: str | None) -> JobUser | None:
    """The user that is named outright, None where the submitter is meant. The environment beats the job file.

    A bare UID stands for the group of the same number too. Raises Refused for a TAO_DOCKER_CONTAINER_USER that is no
    number or is root: a name means another UID on another host, and root is asked for by the job file alone.
    """
    if container_user:
        return _from_environment(container_user)
    if wants_root(job):
        return JobUser(0, 0, name="root", origin="run_as in the job file")
    if job.run_as == "submitter":
        return None
    uid, _, gid = job.run_as.partition(":")
    return JobUser(int(uid), int(gid or uid), origin="run_as in the job file")


def account_user(uid: int, gid: int, groups: tuple[int, ...], name: str, host: str) -> JobUser:
    """An account on the docker host, as that host numbers it."""
    known = "" if name.isdigit() else name  # `id -un` prints the number where there is no name
    return JobUser(uid, gid, tuple(sorted(set(groups) - {gid})), known, f"the account on {host}")


def host_account(shell: Shell, *, deadline: float = 10.0) -> JobUser:
    """Ask the docker host's own `id`. Raises the shell's Fault, Garbled where `id` gives no numbers."""
    done = shell.run(_ASK, deadline=deadline, what="id")
    lines = done.stdout.decode(errors="replace").splitlines()
    try:
        uid, gid, groups = int(lines[0]), int(lines[1]), tuple(int(one) for one in lines[2].split())
    except (IndexError, ValueError):
        words = done.stderr.decode(errors="replace").strip()
        raise Garbled(f"id on {shell.target} gives no numeric user", detail=words, remedy=_NAME_ONE) from None
    return account_user(uid, gid, groups, lines[3].strip() if len(lines) > 3 else "", shell.target)


def demand_no_accidental_root(job: Job, user: JobUser) -> JobUser:
    """The user again. Raises Refused where the submitter is root and nobody asked for that: its files would be
    root's."""
    if user.uid == 0 and not wants_root(job):
        raise Refused(
            f"the job would run as root ({user.origin}), which it does only when its file says so",
            remedy='set `run_as: "UID:GID"` of a user who owns the outputs, or `run_as: root`',
        )
    return user


def no_account(address: str) -> Refused:
    """The submitter has no account on the docker host that could be asked: the client's own numbers are not taken."""
    return Refused(
        f"gonogo has no account on the host of {address}, whose numbers could be the job's", remedy=_NAME_ONE
    )


_NAME_ONE = 'set `run_as: "UID:GID"` of the user on the docker host who owns the outputs'


def _from_environment(text: str) -> JobUser:
    match = _NUMBERS.fullmatch(text.strip())
    uid, gid = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if match is None or max(uid, gid) > _MOST:
        raise Refused(
            f"{CONTAINER_USER} is {text!r}, not UID:GID: a name may be another number on the docker host",
            remedy=f"export {CONTAINER_USER}=$(id -u):$(id -g) with the numbers of the docker host",
        )
    if uid == 0:
        raise Refused(
            f"{CONTAINER_USER} is root, and a job runs as root only when its file says so",
            remedy=f"unset {CONTAINER_USER}, and set `run_as: root` in the job file if root is meant",
        )
    return JobUser(uid, gid, origin=f"environment ({CONTAINER_USER})")
