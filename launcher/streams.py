"""Standard output and standard error that outlive their reader: `gonogo … | head -1` ends quietly, with its own
code."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


class ReaderLeft(Exception):
    """Nobody reads standard output any more."""


class _Forgiving(io.FileIO):
    """What nobody reads any more is dropped."""

    left = False

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            self.left = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return memoryview(data).nbytes  # type: ignore[arg-type]


class ForReader:
    """Takes bytes for standard output as long as somebody reads: for what has no other end, such as a followed log."""

    def write(self, chunk: bytes) -> int:
        return sys.stdout.buffer.write(chunk)

    def flush(self) -> None:
        """Raises ReaderLeft."""
        sys.stdout.buffer.flush()
        if getattr(getattr(sys.stdout.buffer, "raw", None), "left", False):
            raise ReaderLeft


def outlive_readers() -> None:
    """Make both streams of this process so: a broken pipe in the middle of a launch must not become its exit code.

    A stream that was closed from the start (`>&-`) goes nowhere.
    """
    sys.stdout = _reopened(sys.stdout, 1)
    sys.stderr = _reopened(sys.stderr, 2)


def _reopened(stream: TextIO | None, number: int) -> io.TextIOWrapper:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    stream.flush()
    raw = _Forgiving(number, "w", closefd=False)
    by_line = number == 2 or raw.isatty()
    encoding, errors = stream.encoding or "utf-8", stream.errors or "replace"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=by_line)
