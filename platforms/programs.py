"""Whether the command's program is where the job will run (JOB-10)."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from gonogo.jobs.model import Job


@dataclass(frozen=True)
class CommandAnswer:
    """`program` as the command names it (or its shell), `found` its path, None where it is missing, `where` it was
    looked
    for. `deferred` says why it can only be asked on arrival."""

    program: str
    found: str | None
    where: str
    deferred: str = ""
    remedy: str = ""


#: Words of the shell's own that may begin a command.
_SHELL_WORDS = frozenset(
    """
    if for while until case { ( ! [ [[ : . source cd export set exec eval test true false echo printf exit trap umask
    ulimit unset wait read shift return local declare time command type
    """.split()
)


def first_program(job: Job) -> str:
    """The program that the command starts: the first word of a list, the shell's first plain word of a string.

    Where a string begins with an assignment or a word of the shell's own, that is the shell itself.
    """
    if not isinstance(job.command, str):
        return job.command[0] if job.command else ""
    try:
        words = shlex.split(job.command, comments=True)
    except ValueError:
        return "sh"
    for word in words:
        if "=" in word.partition("/")[0] and word.partition("=")[0].isidentifier():
            continue
        plain = word not in _SHELL_WORDS and not any(mark in word for mark in "$`;|&<>(){}*?~")
        return word if plain else "sh"
    return "sh"
