"""`fix`: offers each remedy that is a command, runs what the user agrees to, asks the rows again."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gonogo.launcher.commands.check import DockerHost, PlatformName, Reports, Sets, pytest_options, run, show
from gonogo.launcher.exits import Exit

#: What `fix` may run, alone or after sudo. A remedy is text, and text that only looks like a command is never run.
_PROGRAMS = frozenset("mkdir chmod chown chgrp docker systemctl usermod nvidia-ctk nvidia-smi modprobe sysctl".split())
#: Platforms whose target is this machine: elsewhere a remedy is for a person on the target.
_HERE = ("interactive", "local-docker")
#: Seconds that one command may take.
_PATIENCE = 600.0
_PLACEHOLDERS = frozenset({"ID", "NAME", "REF", "URL", "PATH", "FILE"})


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("fix")(fix)


def fix(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job file.")],
    platform: PlatformName = None,
    sets: Sets = None,
    docker_host: DockerHost = None,
    yes: Annotated[bool, typer.Option("--yes", help="Run every remedy that is a command, without asking.")] = False,
    report: Reports = None,
) -> int:
    """Offer each remedy that is a command, run those that you agree to, and ask again."""
    options = pytest_options(set=sets, docker_host=docker_host, report=report)
    document = run(job, platform, options, progress=True)
    wanted = remedies(document)
    chosen = [remedy for remedy in wanted if _agreed(remedy, yes=yes)] if document["platform"] in _HERE else []
    if not chosen:
        show(document, report or [], quiet=False, as_json=False)
        for remedy in wanted:
            print(f"not run: {remedy}", file=sys.stderr)
        return _code(document)
    for remedy in chosen:
        _carry_out(remedy)
    document = run(job, platform, options, progress=True)
    show(document, report or [], quiet=False, as_json=False)
    return _code(document)


def remedies(document: Mapping[str, Any]) -> list[str]:
    """The remedies of the causes, then of the warnings, that `fix` can run; each once."""
    found = [str(cause.get("remedy") or "") for cause in document["causes"]]
    found += [str(row.get("remedy") or "") for row in document["rows"] if row["state"] == "warned"]
    return [remedy for remedy in dict.fromkeys(found) if commands_in(remedy)]


def commands_in(remedy: str) -> list[list[str]]:
    """The argument vectors of a remedy such as `mkdir -p /data && chown 1000:1000 /data`; empty where it is prose, or
    needs a shell, a choice or a value that only a person has."""
    found = []
    for part in remedy.strip().split(" && "):
        try:
            words = shlex.split(part)
        except ValueError:
            return []
        program = words[1] if words[:1] == ["sudo"] and len(words) > 1 else (words or [""])[0]
        if program not in _PROGRAMS or len(words) < 2 or "\n" in part or any(_is_open(word) for word in words):
            return []
        found.append(words)
    return found


def _is_open(word: str) -> bool:
    """Whether a word asks for a shell or for a person's choice."""
    return word in _PLACEHOLDERS or word[-1:] in (",", ";") or any(sign in word for sign in "`$|<>…")


def _agreed(remedy: str, *, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        return False
    return typer.confirm(f"run: {remedy}", default=False, err=True)


def _carry_out(remedy: str) -> None:
    """Run it and say how it ended; what it left unmended the rows will tell."""
    print(f"running: {remedy}", file=sys.stderr, flush=True)
    for words in commands_in(remedy):
        failure = _failure_of(words)
        if failure:
            print(f"  {words[0]}: {failure}", file=sys.stderr)
            return


def _failure_of(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, stdout=sys.stderr, check=False, timeout=_PATIENCE)
    except FileNotFoundError:
        return "there is no such program"
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return f"had not ended after {_PATIENCE:g} s and was stopped"
    return f"exit status {done.returncode}" if done.returncode else ""


def _code(document: Mapping[str, Any]) -> int:
    return Exit.OK if document["verdict"] == "GO" else Exit.NO_GO
