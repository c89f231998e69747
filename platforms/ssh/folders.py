"""Private folders for sockets, and the removal of those whose process was killed.

A socket's path may have 107 bytes, and ssh adds 17 to the one that it makes first, so the folder's path is kept short.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "gonogo-ssh-"
_LONGEST = 60
#: A folder without a held lock counts as left behind after this, seconds: its maker may be about to lock it.
_GRACE = 60.0


def private_folder() -> tuple[Path, int]:
    """A new folder, mode 0700, and the open file whose lock says that it is in use. Sweeps abandoned ones before."""
    base = _base()
    sweep(base)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def sweep(base: Path | None = None) -> list[str]:
    """Remove this user's folders whose process is gone. Returns their names."""
    removed = []
    for folder in _own_folders(base or _base()):
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
    return removed


def _base() -> Path:
    for candidate in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()):
        if candidate and len(candidate) <= _LONGEST and os.access(candidate, os.W_OK | os.X_OK):
            return Path(candidate)
    return Path("/tmp")


def _own_folders(base: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for folder in base.glob(f"{PREFIX}*"):
            facts = folder.lstat()
            if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid():
                yield folder


def _abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return _age(folder) > _GRACE
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    # Between its making and its locking a file is there and free.
    return _age(folder) > _GRACE or any(one.name != "lock" for one in folder.iterdir())


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0
