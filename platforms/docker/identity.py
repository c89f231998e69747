"""As whom the job's container runs. Sources: rows ID-01, ID-03, ID-04, ID-07."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.faults import Refused


@dataclass(frozen=True)
class JobUser:
    """Numeric user and group, and supplementary groups of a submitter on this machine."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    name: str = ""

    @property
    def text(self) -> str:
        """As docker takes it: `1001:1001`."""
        return f"{self.uid}:{self.gid}"

    @property
    def shown(self) -> str:
        """For a person: `ml (1001:1001)`, or the numbers alone."""
        return f"{self.name} ({self.text})" if self.name else self.text


def job_user(job: Job) -> JobUser:
    """The user that the job file asks for, on a daemon of this machine.

    `submitter` is this process's own user with its groups. A bare UID stands for the group of the same number. Raises
    Refused where the submitter is root: its files would be root's, so a user must be named.
    """
    if job.run_as == "root":
        return JobUser(0, 0, name="root")
    if job.run_as != "submitter":
        user, _, group = job.run_as.partition(":")
        return JobUser(int(user), int(group or user))
    uid = os.geteuid()
    if uid == 0:
        raise Refused(
            "the submitter is root, and a job runs as root only when its file says so",
            remedy='set `run_as: "UID:GID"` of a user who owns the outputs, or `run_as: root`',
        )
    return JobUser(uid, os.getegid(), tuple(sorted(set(os.getgroups()) - {os.getegid()})), _name(uid))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
