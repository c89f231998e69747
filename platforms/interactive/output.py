"""The output file of a job: its last lines, and following it while it grows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

_CHUNK = 64 * 1024
_TICK = 0.1


def read_output(path: Path, *, tail: int | None, follow: bool, ended: Callable[[], bool]) -> Iterator[bytes]:
    """The file in chunks, from its last `tail` lines on (None: all). With `follow` until `ended` and all is read."""
    while not path.exists():
        if not follow or ended():
            return
        time.sleep(_TICK)
    with open(path, "rb") as file:
        if tail is not None:
            file.seek(tail_offset(file, tail))
        while True:
            # Asked before reading: what was written before the end is then read for certain.
            over = not follow or ended()
            while chunk := file.read(_CHUNK):
                yield chunk
            if over:
                return
            time.sleep(_TICK)


def tail_offset(file: BinaryIO, lines: int) -> int:
    """Where the last `lines` lines begin; a last line without newline counts as one."""
    end = file.seek(0, os.SEEK_END)
    if lines <= 0 or end == 0:
        return end
    at, found = end, 0
    while at > 0:
        size = min(_CHUNK, at)
        at -= size
        file.seek(at)
        block = file.read(size)
        # The newline that ends the file ends the last line, it does not begin another.
        stop = len(block) - 1 if at + size == end and block.endswith(b"\n") else len(block)
        while (newline := block.rfind(b"\n", 0, stop)) >= 0:
            found += 1
            if found == lines:
                return at + newline + 1
            stop = newline
    return 0
