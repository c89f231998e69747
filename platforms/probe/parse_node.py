"""Answers about the node."""

from __future__ import annotations

import re

from gonogo.platforms.probe.answers import NodeAnswer
from gonogo.platforms.probe.lines import Reply
from gonogo.platforms.probe.questions import NodeQuestion

#: cgroup v1 says 'no limit' with a number near 2**63.
_NO_LIMIT = 1 << 60


def node_answer(_question: NodeQuestion, reply: Reply) -> NodeAnswer:
    """Facts from /proc, id and df. Raises KeyError or ValueError where one that every Linux has is missing."""
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in reply.all("status"))}
    shm_size, shm_free = _shm(reply)
    kernel = reply.first("kernel")
    return NodeAnswer(
        uid=int(status["Uid"].split()[1]),
        gid=int(status["Gid"].split()[1]),
        groups=tuple(int(group) for group in status.get("Groups", "").split()),
        user=_name(reply.first("user")),
        hostname=reply.first("hostname"),
        kernel=kernel,
        arch=reply.first("arch"),
        boot_id=reply.first("boot-id"),
        machine_id=reply.first("machine-id"),
        cpus=count_ranges(status["Cpus_allowed_list"]),
        memory_total=_kib(status["MemTotal"]),
        memory_available=_kib(status["MemAvailable"]),
        memory_limit=min(
            (int(text) for text in reply.all("memory-limit") if text.isdigit() and int(text) < _NO_LIMIT), default=None
        ),
        shm_size=shm_size,
        shm_free=shm_free,
        open_files=_limit(reply, "Max open files", 0),
        open_files_hard=_limit(reply, "Max open files", 1),
        locked_memory=_limit(reply, "Max locked memory", 0),
        stack=_limit(reply, "Max stack size", 0),
        tegra=reply.first("tegra") == "yes" or reply.first("soc").lower().startswith("tegra"),
        wsl="microsoft" in kernel.lower(),
    )


def _name(text: str) -> str:
    """`id -un` prints the number where there is no name."""
    return "" if text.isdigit() else text


def count_ranges(text: str) -> int:
    """How many numbers `0-3,8` names: 5."""
    total = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total


def _kib(text: str) -> int:
    return int(text.split()[0]) * 1024


def _limit(reply: Reply, name: str, column: int) -> int | None:
    """A line of /proc/self/limits: name, soft limit, hard limit, unit; None for `unlimited`."""
    line = next(line for line in reply.all("limits") if line.startswith(name))
    word = line[len(name) :].split()[column]
    return None if word == "unlimited" else int(word)


def _shm(reply: Reply) -> tuple[int | None, int | None]:
    for line in reply.all("shm"):
        match = re.match(r"^.*?\s(\d+)\s+\d+\s+(\d+)\s+(?:-|\d+%)\s+/dev/shm$", line)
        if match:
            return int(match[1]) * 1024, int(match[2]) * 1024
    return None, None
