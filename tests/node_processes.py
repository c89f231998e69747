"""Processes of this machine, found by what they were started with; and an end for interactive jobs that a test left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path


def marked(marker: str) -> list[int]:
    """PIDs of live processes that have that `NAME=value` in the environment they were started with."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and marker.encode() in _bytes_of(entry / "environ").split(b"\0"):
            found.append(int(entry.name))
    return found


def command_lines() -> Iterator[bytes]:
    """The argument vectors of every live process but this one, as /proc shows them."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            yield _bytes_of(entry / "cmdline")


def end_jobs_below(state: Path) -> None:
    """End every process of the interactive jobs whose run folders are in that state folder, each by its PID."""
    for run in state.glob("interactive/*/launch.json"):
        for pid in marked(f"GONOGO_LAUNCH_TOKEN={json.loads(run.read_text())['token']}"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # gone meanwhile, or a kernel thread's
        return b""
