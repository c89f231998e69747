"""Reads small regular files and nothing else: no hang on a FIFO, no endless device, no traceback."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gonogo.jobs.faults import JobFault, JobFileError
from gonogo.jobs.yaml_reader import MAX_BYTES


def printable(text: str) -> str:
    """Text that can be printed anywhere: bytes of a file name that are no UTF-8 become a replacement character."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not text.isascii() else text


def read_small_file(path: str | Path) -> bytes:
    """The file's bytes, at most one more than `MAX_BYTES`. Raises JobFileError with one fault."""
    name = printable(os.fspath(path))
    if not name:
        raise _unreadable("(no file)", "the file name is empty")
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _unreadable(name, "there is no such file", _neighbours(Path(path))) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a file name"
        raise _unreadable(name, f"the file cannot be read: {reason}") from None
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise _unreadable(name, "this is a folder", "name the job file in it")
        if not stat.S_ISREG(mode):
            raise _unreadable(name, "this is not a regular file", "write the job into a file")
        with os.fdopen(os.dup(handle), "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(name, f"the file cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)


def _neighbours(path: Path) -> str:
    """The YAML files beside the one that is missing."""
    try:
        found = sorted(p.name for p in path.parent.iterdir() if p.suffix in (".yaml", ".yml"))[:5]
    except OSError:
        return ""
    return "there are: " + ", ".join(printable(name) for name in found) if found else "run: gonogo init"


def _unreadable(file: str, message: str, hint: str = "") -> JobFileError:
    return JobFileError([JobFault("JOB-01", file, 0, 0, "", message, hint)])
