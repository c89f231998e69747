"""Exit codes, and the one exception that carries one. See docs/exit-codes.md."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    NO_GO = 1
    JOB_IN_ERROR = 1
    USAGE = 2
    HARNESS = 3
    REFUSED = 4
    JOB_FAILED = 5
    INTERRUPTED = 130


class Stop(Exception):
    """Ends a command with that exit code and those words on standard error. `remedy` is a next step, or empty."""

    def __init__(self, code: Exit, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
