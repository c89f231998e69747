"""Run folders: one for each launch ID, made under a lock and renamed into place, so that one ID never makes two jobs.

The lock (flock on `lock`) is held by the launcher from before the folder has its name, and handed to the supervisor,
which holds it until the end. A folder that nobody holds and where no supervisor ever signed in was left by a launcher
that died before it started anything.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gonogo.platforms.faults import LaunchLost, LaunchRefused, NotFound, TimedOut
from gonogo.platforms.interactive.processes import Process

_TICK = 0.02
#: Seconds within which a supervisor signs in once it holds the lock.
SIGN_IN = 10.0
#: Seconds in which a new folder may be without its lock.
_YOUNG = 60.0


@dataclass(frozen=True)
class RunFolder:
    """One launch's folder, below the state directory."""

    path: Path

    @property
    def launch_id(self) -> str:
        return self.path.name

    def read(self, name: str) -> dict[str, Any] | None:
        """A JSON file of the folder; None where it is not there (they are written whole)."""
        try:
            value = json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        return dict(value)

    def process(self, name: str) -> Process | None:
        """`supervisor.json` or `command.json` as a process."""
        facts = self.read(name)
        return Process(facts["pid"], facts["start"], facts["boot"]) if facts else None

    @property
    def signed_in(self) -> bool:
        return (self.path / "supervisor.json").exists()

    @property
    def held(self) -> bool:
        """Whether a launcher or a supervisor holds the lock."""
        with contextlib.suppress(FileNotFoundError), open(self.path / "lock", "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def await_sign_in(self, patience: float = SIGN_IN) -> bool:
        """Whether a job was started here; waits while the lock is held and nobody has signed in. Raises TimedOut."""
        ends = time.monotonic() + patience
        while not self.signed_in:
            if not self.held:
                # The holder may have signed in and ended between the two looks.
                return self.signed_in
            if time.monotonic() > ends:
                raise TimedOut(
                    f"launch {self.launch_id} is being started by another process, which has not said how it went "
                    f"within {patience:g} s"
                )
            time.sleep(_TICK)
        return True

    def remove(self) -> None:
        """Out of sight first, so that a half-removed folder is never taken for a run."""
        grave = self.path.with_name(f".old-{self.launch_id}-{secrets.token_hex(4)}")
        with contextlib.suppress(FileNotFoundError):
            os.rename(self.path, grave)
            shutil.rmtree(grave, ignore_errors=True)


class Runs:
    """All run folders below one directory (mode 0700)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def folder(self, launch_id: str) -> RunFolder:
        """That launch's folder, which need not exist. Raises LaunchRefused for an ID that cannot name one."""
        if not launch_id or "/" in launch_id or launch_id.startswith(".") or "\0" in launch_id:
            raise LaunchRefused(f"{launch_id!r} cannot name a launch")
        return RunFolder(self.directory / launch_id)

    def existing(self, launch_id: str) -> RunFolder:
        """The folder of a job that was started. Raises NotFound."""
        folder = self.folder(launch_id)
        if not folder.path.is_dir() or not (folder.signed_in or folder.held):
            raise NotFound(f"no job {launch_id} was started on this machine (looked in {self.directory})")
        return folder

    @contextlib.contextmanager
    def claim(self, launch_id: str) -> Iterator[tuple[RunFolder, int]]:
        """A new folder of that ID, and its lock as a file descriptor for the supervisor to inherit.

        Leaving the context closes this process's copy. Raises LaunchLost where the ID has a folder already.
        """
        target = self.folder(launch_id)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = RunFolder(self.directory / f".new-{launch_id}-{secrets.token_hex(4)}")
        new.path.mkdir(mode=0o700)
        lock = os.open(new.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self._put_in_place(new, target)
            except BaseException:
                shutil.rmtree(new.path, ignore_errors=True)
                raise
            yield target, lock
        finally:
            os.close(lock)

    def _put_in_place(self, new: RunFolder, target: RunFolder) -> None:
        for _ in range(2):
            try:
                os.rename(new.path, target.path)  # fails where the target is there: a run folder is never empty
                return
            except OSError as error:
                if not target.path.is_dir():
                    raise LaunchRefused(f"the run folder {target.path} cannot be made: {error.strerror}") from error
            if target.await_sign_in():
                break
            target.remove()  # nobody holds it and nothing was started: left by a launcher that died
        raise LaunchLost(f"launch {target.launch_id} exists already on this machine")

    def sweep(self) -> list[str]:
        """Remove folders that launchers left half made or half removed. Returns their names."""
        removed = []
        for path in sorted(self.directory.glob(".*-*")) if self.directory.is_dir() else []:
            if path.name.startswith((".new-", ".old-")) and _age(path) > _YOUNG and not RunFolder(path).held:
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path.name)
        return removed


def _age(path: Path) -> float:
    """Seconds since the folder was last changed; 0 where it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again until it holds or the time is up."""
    ends = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(_TICK)
    return True
