"""Questions become one sh program: the static functions, then one with the calls, run once it was read to its end.

A program that was cut short on its way is a syntax error and runs nothing. What may hang (nvidia-smi, an interpreter)
is started first, in the background, and waited for last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gonogo.platforms.probe.questions import (
    ChownQuestion,
    GpuQuestion,
    HomeQuestion,
    ModulesQuestion,
    NodeQuestion,
    OwnedQuestion,
    PathQuestion,
    PortQuestion,
    ProgramQuestion,
    Question,
    SpaceQuestion,
    TorchQuestion,
    WriteQuestion,
)

#: Asked of `nvidia-smi --query-gpu`; a driver that does not know one drops it (compute_cap: before 495).
GPU_FIELDS = (
    "index",
    "name",
    "uuid",
    "driver_version",
    "memory.total",
    "memory.used",
    "utilization.gpu",
    "compute_cap",
    "mig.mode.current",
    "ecc.errors.uncorrected.volatile.total",
    "retired_pages.pending",
    "persistence_mode",
    "temperature.gpu",
    "power.draw",
    "power.limit",
    "compute_mode",
    "clocks_throttle_reasons.active",
    "pci.bus_id",
)
#: Seconds for the search for what belongs to root, and how many paths it lists at most.
OWNED_SECONDS, OWNED_MOST = 8, 200
#: Questions that make something and remove it again.
_Made = WriteQuestion | HomeQuestion | ChownQuestion
_MADE = (WriteQuestion, HomeQuestion, ChownQuestion)
#: Bytes of file names in one `rm`, far below what a kernel takes in one argument list.
_RM_BYTES = 64 * 1024


def literal(text: str | bytes) -> bytes:
    """A single-quoted sh word. Raises ValueError for a NUL, which no argument can hold."""
    raw = os.fsencode(text)
    if b"\0" in raw:
        raise ValueError(f"{text!r} holds a NUL character")
    return b"'" + raw.replace(b"'", b"'\\''") + b"'"


def plain_path(path: str) -> str:
    """The path without doubled or trailing slashes; a relative one begins with `./`. ValueError where empty."""
    if not path:
        raise ValueError("a path is empty")
    text = re.sub("/+", "/", path)
    if len(text) > 1:
        text = text.rstrip("/")
    return text if text.startswith("/") or text == "." else f"./{text}"


def call(function: str, *words: object) -> bytes:
    """One call with every word quoted."""
    return b" ".join([function.encode(), *(literal(word if isinstance(word, bytes) else str(word)) for word in words)])


@lru_cache
def static_functions(name: str = "script.sh") -> bytes:
    """The text of one of the sh files beside this module."""
    return Path(__file__).with_name(name).read_bytes()


@lru_cache
def target_program(name: str) -> bytes:
    """The text of a Python program that runs on the target."""
    return Path(__file__).with_name(f"{name}.py").read_bytes()


def render(questions: Sequence[Question], nonce: str) -> bytes:
    """The sh program that asks all questions, for `sh -s` or standard input of `sh`.

    `nonce` (letters, digits, hyphens) marks the answers and names the files that writing is tried with.
    """
    identity = any(isinstance(one, (HomeQuestion, OwnedQuestion, ChownQuestion)) for one in questions)
    gpus = any(isinstance(one, GpuQuestion) for one in questions)
    functions = ("script.sh", *(["gpu.sh"] if gpus else []), *(["identity.sh"] if identity else []))
    calls = [*asking(questions, nonce), call("gng_say", "end", "answers", len(questions))]
    return program(calls, questions, nonce, functions)


def program(
    calls: Iterable[bytes], questions: Sequence[Question], nonce: str, functions: Sequence[str] = ("script.sh",)
) -> bytes:
    """The static functions and a main function of those calls, with the clean-up of the write questions."""
    if not re.fullmatch("[0-9A-Za-z-]+", nonce):
        raise ValueError(f"nonce {nonce!r} must be letters, digits and hyphens")
    lines = [
        b"gng_remove() {",
        b'[ -n "$gng_made" ] || return 0',
        b"gng_made=",
        *_removals(questions, nonce),
        b"}",
        b"gng_clean() {",
        b"gng_remove",
        b"gng_stop",
        b"}",
        b"gng_main() {",
        call("gng_setup", nonce),
        b"trap gng_clean 0",
        b"trap 'exit 130' INT",
        b"trap 'exit 143' HUP TERM",
        *calls,
        b"}",
        b"gng_main </dev/null",
    ]
    return b"\n".join([*map(static_functions, functions), *lines]) + b"\n"


def asking(questions: Sequence[Question], nonce: str) -> list[bytes]:
    """The calls that put every question; its index in the sequence is its name on the way."""
    started: list[bytes] = []
    asked: list[bytes] = []
    spaces: list[object] = []
    ports: list[object] = []
    made: list[tuple[int, _Made]] = []
    owned = [plain_path(one.directory) for one in questions if isinstance(one, OwnedQuestion)]
    for index, question in enumerate(questions):
        if isinstance(question, SpaceQuestion):
            spaces += [index, plain_path(question.directory)]
        elif isinstance(question, PortQuestion):
            ports += [index, question.port, f"{question.port:04X}"]
        elif isinstance(question, _MADE):
            made.append((index, question))
        elif isinstance(question, OwnedQuestion):
            continue
        elif type(question) in _BACKGROUND:
            started.append(_BACKGROUND[type(question)](index, question))
        else:
            asked.append(_FOREGROUND[type(question)](index, question))
    return [
        *([call("gng_begin", "owned", OWNED_SECONDS, "gng_owned", OWNED_MOST, *owned)] if owned else []),
        *started,
        *asked,
        *([call("gng_ports", target_program("target_ports"), *ports)] if ports else []),
        *_write_calls(made, nonce),
        *([call("gng_spaces", *spaces)] if spaces else []),
        b"gng_await",
    ]


def _path(index: int, question: PathQuestion) -> bytes:
    return call("gng_path", index, plain_path(question.path))


def _program(index: int, question: ProgramQuestion) -> bytes:
    return call("gng_program", index, question.name)


def _node(index: int, _question: NodeQuestion) -> bytes:
    return call("gng_node", index)


def _gpu(index: int, question: GpuQuestion) -> bytes:
    seconds = question.seconds
    topology = ["topology"] if question.topology else []
    # Up to six runs of nvidia-smi, each within its bound; a hanging first one ends the question.
    return call("gng_begin", index, seconds + 2, "gng_gpu", index, seconds, ",".join(GPU_FIELDS), *topology)


def _modules(index: int, question: ModulesQuestion) -> bytes:
    text = target_program("target_modules")
    return _python(index, question.seconds, question.python, text, *question.modules)


def _torch(index: int, question: TorchQuestion) -> bytes:
    more = ["all-reduce"] if question.all_reduce else []
    return _python(index, question.seconds, question.python, target_program("target_torch"), *more)


def _python(index: int, seconds: int, interpreter: str, text: bytes, *arguments: str) -> bytes:
    return call("gng_begin", index, seconds + 2, "gng_python", index, seconds, interpreter, text, *arguments)


_FOREGROUND: dict[type, Callable[[int, Any], bytes]] = {
    PathQuestion: _path,
    ProgramQuestion: _program,
    NodeQuestion: _node,
}
_BACKGROUND: dict[type, Callable[[int, Any], bytes]] = {
    GpuQuestion: _gpu,
    ModulesQuestion: _modules,
    TorchQuestion: _torch,
}


def probe_file(directory: str, nonce: str, index: int) -> str:
    """The file that a write question creates and removes."""
    return f"{plain_path(directory).rstrip('/')}/.gonogo-write-{nonce}-{index}"


def probe_home(question: HomeQuestion, nonce: str, index: int) -> str:
    """The home that a home question makes, or the one that is there already."""
    directory = plain_path(question.directory).rstrip("/")
    return f"{directory}/.gonogo-home-{nonce}-{index}" if question.mounted else directory


def _made_path(question: _Made, nonce: str, index: int) -> str:
    if isinstance(question, HomeQuestion):
        return probe_home(question, nonce, index)
    return probe_file(question.directory, nonce, index)


def _write_calls(made: Sequence[tuple[int, _Made]], nonce: str) -> list[bytes]:
    """All is made, then all is removed, then each is looked for."""
    if not made:
        return []
    paths = [(index, question, _made_path(question, nonce, index)) for index, question in made]
    return [
        *(_creation(index, question, path) for index, question, path in paths),
        b"gng_remove",
        *(call("gng_deleted", index, path) for index, _, path in paths),
    ]


def _creation(index: int, question: _Made, path: str) -> bytes:
    if isinstance(question, WriteQuestion):
        return call("gng_create", index, plain_path(question.directory), path)
    if isinstance(question, ChownQuestion):
        return call("gng_chown", index, path, f"{question.uid}:{question.gid}")
    variables = [f"{name}={f'{path}/{folder}' if folder else path}" for name, folder in question.folders]
    text = target_program("target_home")
    return call("gng_home", index, question.seconds, path, text, question.user, *variables)


def _removals(questions: Sequence[Question], nonce: str) -> list[bytes]:
    """`rm` calls for all that the questions make, as few as argument lists allow."""
    chunks: list[list[bytes]] = [[]]
    for index, question in enumerate(questions):
        if isinstance(question, _MADE):
            word = literal(_made_path(question, nonce, index))
            if sum(map(len, chunks[-1])) + len(word) > _RM_BYTES:
                chunks.append([])
            chunks[-1].append(word)
    return [b'"$gng_rm" -rf ' + b" ".join(words) + b" 2>/dev/null" for words in chunks if words]
