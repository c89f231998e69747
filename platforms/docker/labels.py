"""Names and labels of what gonogo makes on a daemon, and whose they are."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROBE = "gonogo.probe"
LAUNCH = "gonogo.launch"
DIGEST = "gonogo.digest"
VERSION = "gonogo.version"
RUN = "gonogo.run"
_BOOT, _NAMESPACE, _PID, _STARTED, _EXPIRES = (
    "gonogo.boot",
    "gonogo.pid-namespace",
    "gonogo.pid",
    "gonogo.pid-started",
    "gonogo.expires",
)


def job_container_name(launch_id: str) -> str:
    """The container of a launch: the daemon holds a name once, so one launch ID makes one job."""
    return f"tao-job-{launch_id}"


@dataclass(frozen=True)
class Maker:
    """The process that made a container: it is alive while its PID and start time are, in its boot and namespace."""

    boot: str
    namespace: str
    pid: int
    started: str

    def labels(self, expires: float) -> dict[str, str]:
        """`expires` in seconds since the epoch: after it the container belongs to nobody."""
        return {
            _BOOT: self.boot,
            _NAMESPACE: self.namespace,
            _PID: str(self.pid),
            _STARTED: self.started,
            _EXPIRES: str(int(expires)),
        }


def this_process() -> Maker:
    """The maker that this process is."""
    return Maker(_boot(), _namespace(), os.getpid(), _start_time(os.getpid()) or "")


def made_here(labels: Mapping[str, str]) -> bool:
    """Whether this very process made what carries these labels."""
    mine = this_process().labels(expires=0)
    return all(labels.get(name) == value for name, value in mine.items() if name != _EXPIRES)


def abandoned(labels: Mapping[str, str]) -> bool:
    """Whether what carries these labels has lost its maker: its time is over, or the process is dead.

    A process can only be judged from its own boot and PID namespace; elsewhere the time alone decides.
    """
    try:
        if time.time() > float(labels[_EXPIRES]):
            return True
        pid, started = int(labels[_PID]), labels[_STARTED]
    except (KeyError, ValueError):
        return False
    if (labels.get(_BOOT), labels.get(_NAMESPACE)) != (_boot(), _namespace()):
        return False
    return _start_time(pid) != started


def _boot() -> str:
    return _text("/proc/sys/kernel/random/boot_id")


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """The process's start in clock ticks since boot, None where there is none (field 22 of proc(5) stat)."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in ("Z", "X") else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
