"""Who owns what a job as root has written, and giving it back to the submitter after every end (ID-04, ID-08).

What is owed is kept with the launch's record before the container is created. So any later command can pay it, however
job, daemon or launcher ended.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gonogo.jobs.model import Job
from gonogo.jobs.uris import input_paths, mounted_paths, writable_mounts
from gonogo.platforms.docker.binds import Bind
from gonogo.platforms.docker.container import ProbeSpec
from gonogo.platforms.docker.identity import JobUser
from gonogo.platforms.docker.smoke import SmokeImages
from gonogo.platforms.faults import Garbled, NotFound
from gonogo.platforms.host_folders import is_hosts_own, plain

#: Seconds for one folder; a million files take a local disk some ten of them.
SECONDS = 300.0
_INSIDE = "/.gonogo/owned"
#: The remedy where no owner may be changed.
OWN_FOLDER = "Choose a folder of the job's own: this one is the host's"
_DONE = b"gonogo: ownership is as owed\n"


@dataclass(frozen=True)
class Debt:
    """Folders of the host in which everything of root's is the submitter's, as `1001:1001`. `image` is the job's."""

    folders: tuple[str, ...]
    owner: str
    image: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"folders": list(self.folders), "owner": self.owner, "image": self.image}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Debt:
        """Raises Garbled where it is no debt: nothing is done by guess."""
        folders, owner = data.get("folders"), data.get("owner")
        if not isinstance(folders, list) or not isinstance(owner, str) or not owner.replace(":", "").isdigit():
            raise Garbled("what the launch's record says of ownership cannot be understood")
        return cls(tuple(str(one) for one in folders), owner, str(data.get("image") or ""))


def debt_of(job: Job, user: JobUser, account: JobUser | None) -> Debt | None:
    """What a job that runs as that user will owe; None for any but root, and where the submitter is root as well."""
    folders = writable_mounts(job)
    if user.uid != 0 or account is None or account.uid == 0 or not folders:
        return None
    return Debt(tuple(folders), account.text, job.image or "")


def isolation_faults(job: Job) -> list[str]:
    """Why the folders that a job as root may write are not the job's own: each fault one line."""
    faults = []
    writable = [plain(path) for path in writable_mounts(job)]
    others = [plain(path) for path in input_paths(job) + mounted_paths(job) if plain(path) not in writable]
    for path in writable:
        if is_hosts_own(path):
            faults.append(f"{path} is a folder of the host's own, not of this job alone")
        for other in [*others, *writable]:
            if other != path and _within(other, path):
                faults.append(f"{other} lies in {path}, which root may write")
    return faults


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def pay(images: SmokeImages, debt: Debt, *, run_id: str) -> None:
    """Give everything of root's in the folders to the owner, each folder in a short container; doing it twice harms
    nothing. A folder that is gone owes nothing.

    Raises the daemon's Fault, Garbled where root-owned entries are left.
    """
    for folder in debt.folders:
        probe = ProbeSpec(
            image="", program=_program(debt.owner), user="0:0", binds=[Bind(folder, _INSIDE, read_only=False)]
        )
        what = f"giving {folder} to {debt.owner}"
        try:
            _, done = images.run(probe, run_id=run_id, deadline=SECONDS, what=what)
        except NotFound as fault:
            if fault.message.startswith(folder):
                continue
            raise
        if done.returncode or done.stdout != _DONE:
            words = (done.stderr or done.stdout).decode(errors="replace").replace(_INSIDE, folder).strip()
            raise Garbled(
                f"files of root's are left in {folder}: {words.splitlines()[0] if words else 'no words'}",
                detail=words,
                remedy=give_command(folder, debt.owner),
            )


def _program(owner: str) -> bytes:
    """Symbolic links are changed themselves, never what they lead to, and no other filesystem is entered."""
    search = f"find {_INSIDE} -xdev -mindepth 1 -user 0"
    lines = [
        f"{search} -exec chown -h {owner} {{}} +  || exit 1",
        f"left=$({search} -print | head -n 1) || exit 1",
        '[ -z "$left" ] || { echo "$left" >&2; exit 1; }',
        f"echo '{_DONE.decode().strip()}'",
    ]
    return "\n".join(lines).encode() + b"\n"


def give_command(folder: str, owner: str) -> str:
    """The same as a command for a person on the docker host; no command where it would break the host."""
    if is_hosts_own(folder):
        return OWN_FOLDER
    return f"sudo find {shlex.quote(folder)} -xdev -mindepth 1 -user 0 -exec chown -h {owner} {{}} +"


@dataclass(frozen=True)
class Owing:
    """An earlier launch and its debt. `native_id` is None where its launcher was cut short before it had one."""

    launch_id: str
    native_id: str | None
    ended: bool


def owing_launches(state: Path, identity: str) -> Iterator[Owing]:
    """Launches on the target of that identity whose records still hold a debt; unreadable files are the launcher's to
    name."""
    for file in sorted((state / "launches").glob("*.json")):
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            owes, target = data.get("owes_ownership"), data.get("target") or {}
        except (OSError, ValueError, AttributeError):
            continue
        if owes and target.get("identity") == identity:
            native_id = data.get("native_id")
            yield Owing(str(data.get("id") or file.stem), native_id, data.get("phase") in ("ended", "refused"))
