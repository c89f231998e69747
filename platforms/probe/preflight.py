"""The in-job preflight: what only the place itself can answer, judged there, as the job's first step.

The program prints `@gonogo` lines, ends with status 0 when everything holds and 97 when anything does not, so that
`sh preflight.sh && exec COMMAND` starts the command only then. Nothing unanswered passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from gonogo.platforms.probe.lines import PREFIX, replies
from gonogo.platforms.probe.questions import (
    GpuQuestion,
    ModulesQuestion,
    NodeQuestion,
    PathQuestion,
    PortQuestion,
    ProgramQuestion,
    Question,
    SpaceQuestion,
    WriteQuestion,
)
from gonogo.platforms.probe.render import (
    call,
    plain_path,
    probe_file,
    program,
    target_program,
)

#: Exit status of a preflight that did not pass: the command never started.
NOT_STARTED = 97

#: For `sh -c ENTRY PREFLIGHT-FILE COMMAND ARGUMENT …`: the command takes the shell's place where the preflight passed.
ENTRY = f'sh "$0" || exit {NOT_STARTED}; exec "$@"'

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Expectation:
    """A question and what its answer must be. Only the fields of the question's own kind are looked at.

    Paths: `writable` besides readable. Space: `free` bytes. GPUs: `gpus` devices, each with `gpu_memory` bytes, least
    `driver` and `cuda` versions (bare, such as `580`). Node: `memory`, `shm` in bytes, `open_files`. A write, port,
    program or modules question has one good answer.
    """

    question: Question
    writable: bool = False
    free: int = 0
    gpus: int = 0
    gpu_memory: int = 0
    driver: str = ""
    cuda: str = ""
    memory: int = 0
    shm: int = 0
    open_files: int = 0


@dataclass(frozen=True)
class PreflightResult:
    """What an in-job preflight has said so far. `done`: it ended. `results` by key: does it hold, and words."""

    done: bool
    passed: bool
    results: Mapping[str, tuple[bool, str]] = field(default_factory=dict)


def build_preflight(expected: Sequence[Expectation | Question], nonce: str) -> bytes:
    """The sh program that asks, judges and exits with 0 or 97. A bare question expects its plain good answer.

    Raises ValueError for a question that cannot be judged in sh (torch) or a version bound that is not a bare version.
    """
    expectations = [one if isinstance(one, Expectation) else Expectation(one) for one in expected]
    calls = [call("gng_say", "preflight", "began", "yes")]
    calls += [_judgement(index, one, nonce) for index, one in enumerate(expectations)]
    questions = [one.question for one in expectations]
    return program([*calls, b"gng_finish"], questions, nonce, functions=("script.sh", "gpu.sh", "judge.sh"))


def _judgement(index: int, expectation: Expectation, nonce: str) -> bytes:
    question = expectation.question
    key = quote(question.key.encode("utf-8", "surrogateescape"), safe="")
    if isinstance(question, PathQuestion):
        rights = "rw" if expectation.writable else "r"
        return call("gng_judge_path", key, shown(question.path), question.kind, rights, plain_path(question.path))
    if isinstance(question, WriteQuestion):
        file = probe_file(question.directory, nonce, index)
        return call("gng_judge_write", key, shown(question.directory), plain_path(question.directory), file)
    if isinstance(question, SpaceQuestion):
        return call("gng_judge_space", key, shown(question.directory), plain_path(question.directory), expectation.free)
    if isinstance(question, PortQuestion):
        return call("gng_judge_port", key, target_program("target_ports"), question.port, f"{question.port:04X}")
    if isinstance(question, ProgramQuestion):
        return call("gng_judge_program", key, shown(question.name), question.name)
    return _judgement_of_node(key, expectation)


def _judgement_of_node(key: str, expectation: Expectation) -> bytes:
    question = expectation.question
    if isinstance(question, ModulesQuestion):
        text = target_program("target_modules")
        interpreter = question.python
        return call(
            "gng_judge_modules", key, shown(interpreter), question.seconds, interpreter, text, *question.modules
        )
    if isinstance(question, GpuQuestion):
        memory = -(-expectation.gpu_memory // _MIB)
        versions = [_bare(expectation.driver), _bare(expectation.cuda)]
        return call("gng_judge_gpu", key, question.seconds, expectation.gpus, memory, *versions)
    if isinstance(question, NodeQuestion):
        memory, shm = -(-expectation.memory // _KIB), -(-expectation.shm // _KIB)
        return call("gng_judge_node", key, memory, shm, expectation.open_files)
    raise ValueError(f"{type(question).__name__} cannot be judged by the in-job preflight")


def _bare(version: str) -> str:
    """`>=580` and `580` as `580`. Raises ValueError for any other bound."""
    match = re.fullmatch(r"\s*(?:>=)?\s*(\d+(?:\.\d+)*|)\s*", version)
    if match is None:
        raise ValueError(f"the in-job preflight knows least versions only, not {version!r}")
    return match[1]


def shown(text: str) -> str:
    """The text for one line of output: control characters and bytes that are no UTF-8 as escapes."""
    plain = text if text.isprintable() else text.encode("unicode_escape").decode()
    return plain.encode("utf-8", "backslashreplace").decode()


def parse_preflight(output: bytes, nonce: str) -> PreflightResult:
    """What the preflight of that nonce has printed so far, among whatever else the job's output holds.

    `passed` only where it came to its end and every judgement is good; an unanswered question is not.
    """
    found = replies(output, nonce)
    results: dict[str, tuple[bool, str]] = {}
    for state in ("ok", "bad", "unknown"):
        for text in found["check"].all(state) if "check" in found else ():
            key, _, words = text.partition(" ")
            results[unquote(key, errors="surrogateescape")] = (state == "ok", words)
    end = found.get("preflight")
    passed = end is not None and "passed" in end and "failed" not in end and all(ok for ok, _ in results.values())
    done = end is not None and ("passed" in end or "failed" in end)
    return PreflightResult(done, passed, results)


_BEGIN = re.compile(rb"^" + PREFIX.encode() + rb" [0-9A-Za-z-]+ ")
_END = re.compile(rb"^" + PREFIX.encode() + rb" [0-9A-Za-z-]+ preflight (?:passed|failed) ")


def strip_preflight(stream: Iterable[bytes]) -> Iterator[bytes]:
    """The job's output without the preflight's lines at its beginning.

    From the preflight's end line on, or from the start where there was none, every chunk passes as it is, at once.
    """
    chunks = iter(stream)
    held = b""
    stripping = False
    for chunk in chunks:
        held += chunk
        while held:
            line, newline, rest = held.partition(b"\n")
            if not newline and _may_be_ours(held):
                break  # wait for the rest of the line
            ours = _BEGIN.match(line)
            if not ours and not stripping:
                yield held
                yield from chunks
                return
            stripping = True
            if not ours:
                yield line + newline  # a tool's own words in between
            held = rest
            if ours and _END.match(line):
                if held:
                    yield held
                yield from chunks
                return
    if held and not _BEGIN.match(held):
        yield held


def _may_be_ours(start: bytes) -> bool:
    prefix = PREFIX.encode() + b" "
    return start.startswith(prefix) or prefix.startswith(start)
