"""What this node says about an interactive job's programs and packages (NODE-01)."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.programs import first_program


@dataclass(frozen=True)
class ProgramFacts:
    """`programs` maps each needed program to its path, None where it is missing; `packages` each module to its place,
    '' likewise."""

    programs: Mapping[str, str | None]
    packages: Mapping[str, str]
    interpreter: str


def needed_programs(job: Job) -> list[str]:
    """The command's own program, and torchrun where it starts the processes (an interpreter named by its path brings
    its own)."""
    names = [first_program(job)]
    if under_torchrun(job) and "/" not in first_word(job):
        names.append("torchrun")
    return [name for name in dict.fromkeys(names) if name]


def under_torchrun(job: Job) -> bool:
    """Whether torchrun starts the processes: more than one is asked for, and the command is a Python program's own.

    A command that calls a launcher of its own, and any other command, is run once as it is, with MASTER_ADDR and
    MASTER_PORT set.
    """
    return job.processes_per_node > 1 and not starts_processes_itself(job) and is_python(first_word(job))


def first_word(job: Job) -> str:
    """The command's first word where it stands there plainly, unquoted and without shell marks; else ''."""
    if not isinstance(job.command, str):
        return job.command[0] if job.command else ""
    match = _PLAIN_WORD.match(job.command)
    return match[1] if match else ""


def is_python(word: str) -> bool:
    """`python`, `python3`, `/env/bin/python3.12`."""
    return bool(_PYTHON.fullmatch(os.path.basename(word)))


def starts_processes_itself(job: Job) -> bool:
    """Whether the command calls a launcher of its own for its processes."""
    return any(os.path.basename(word) in _LAUNCHERS for word in words(job))


def interpreter(job: Job) -> str:
    """The Python that the command uses: its own `python…` word, else PATH's python3."""
    for word in words(job):
        if is_python(word):
            return word
    return "python3"


def words(job: Job) -> list[str]:
    """The command's words, as a shell would split them; as they stand where it could not."""
    if not isinstance(job.command, str):
        return list(job.command)
    try:
        return shlex.split(job.command, comments=True)
    except ValueError:
        return job.command.split()


_PLAIN_WORD = re.compile(r"\s*([^\s'\"\\$`;|&<>()]+)(?=\s|$)")
_PYTHON = re.compile(r"python(\d+(\.\d+)*)?")
_LAUNCHERS = frozenset(
    {
        "accelerate",
        "deepspeed",
        "horovodrun",
        "mpiexec",
        "mpirun",
        "srun",
        "torch.distributed.launch",
        "torch.distributed.run",
        "torchrun",
    }
)
