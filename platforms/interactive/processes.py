"""Processes of this node as /proc shows them: who is alive, and who belongs to a launch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process, not to be mistaken for a later one with the same PID: its start time (clock ticks) and the boot."""

    pid: int
    start: int
    boot: str

    @property
    def alive(self) -> bool:
        """Whether it still runs, on this boot; a zombie does not."""
        if self.boot != boot_id():
            return False
        stat = read_stat(self.pid)
        return stat is not None and stat.start == self.start and stat.state not in "ZX"

    @property
    def owns_its_session(self) -> bool:
        """Whether the session that it made still bears its PID, also after it has ended itself.

        The kernel gives a PID to nobody else while a session of that number has members.
        """
        stat = read_stat(self.pid)
        return self.boot == boot_id() and (stat is None or stat.start == self.start)


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that are used here."""

    state: str
    group: int
    session: int
    start: int


def boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def read_stat(pid: int) -> Stat | None:
    """None where there is no such process."""
    try:
        raw = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = raw.rpartition(b")")[2].split()
    return Stat(fields[0].decode(), int(fields[2]), int(fields[3]), int(fields[19]))


def this_process(pid: int) -> Process | None:
    stat = read_stat(pid)
    return Process(pid, stat.start, boot_id()) if stat is not None else None


def marked(marker: str) -> list[int]:
    """PIDs of live processes whose environment, as it was when they started, has the line `marker` (`NAME=value`)."""
    wanted = marker.encode()
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or another user's
            continue
        if wanted in environment and _lives(int(entry.name)):
            found.append(int(entry.name))
    return found


def in_session(session: int) -> list[int]:
    """PIDs of live processes in that session."""
    pids = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if (stat := read_stat(pid)) and stat.session == session and stat.state not in "ZX"]


def _lives(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.state not in "ZX"
