"""Diagnosis: each failure that people report is named, with its evidence and a next step."""

from __future__ import annotations

import pytest

from gonogo.platforms.contract import JobState, Status
from gonogo.platforms.diagnosis import diagnose

FAILED = Status(JobState.ERROR, "exited", 1, "exit code 1")

LOGS = [
    ('could not select device driver "" with capabilities: [[gpu]]', "infrastructure", "GPU-04"),
    ("Failed to initialize NVML: Driver/library version mismatch", "infrastructure", "GPU-01"),
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "image", "IMG-05"),
    ("CUDA driver version is insufficient for CUDA runtime version", "image", "GPU-02"),
    ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "capacity", "GPU-06"),
    ("KeyError: 'getpwuid(): uid not found: 1042'", "image", "ID-03"),
    ("RuntimeError: DataLoader worker (pid 41) is killed by signal: Bus error.", "capacity", "DOCK-04"),
    ("OSError: [Errno 28] No space left on device: '/results/ckpt'", "capacity", "PATH-05"),
    ("RuntimeError: The server socket has failed to listen: EADDRINUSE, port: 29500", "infrastructure", "PORT-01"),
    ("exec /usr/bin/python: exec format error", "image", "IMG-02"),
    ("unauthorized: authentication required", "credentials", "IMG-01"),
    ("manifest for registry.test/x:nope not found: manifest unknown", "image", "IMG-01"),
    ("invalid mount config: bind source path does not exist: /data/x", "infrastructure", "PATH-01"),
    ("PermissionError: [Errno 13] Permission denied: '/results/out'", "infrastructure", "PATH-02"),
    ("sh: 1: trainer: not found", "program", "JOB-10"),
    ("ModuleNotFoundError: No module named 'transformers'", "program", "NODE-01"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/data/train.json'", "program", "PATH-07"),
    ("huggingface_hub.errors.GatedRepoError: 403 Client Error", "credentials", "CRED-08"),
]


@pytest.mark.parametrize(("line", "kind", "row"), LOGS, ids=[row for _, _, row in LOGS])
def test_log_line_is_recognised(line: str, kind: str, row: str) -> None:
    found = diagnose(FAILED, f"epoch 1\n{line}\nbye\n")
    assert (found.kind, found.row) == (kind, row)
    assert found.evidence == (line,)
    assert found.next_step


def test_specific_sign_beats_a_later_general_one() -> None:
    log = "OSError: [Errno 28] No space left on device\nTraceback:\nFileNotFoundError: No such file or directory: 'x'\n"
    assert diagnose(FAILED, log).row == "PATH-05"


def test_platform_beats_the_log() -> None:
    killed = Status(JobState.ERROR, "exited", 137, "killed: out of memory")
    found = diagnose(killed, "ModuleNotFoundError: No module named 'x'\n")
    assert (found.kind, found.cause) == ("capacity", "the job was killed: out of memory")


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (127, "program", "not found"),
        (126, "program", "could not be executed"),
        (137, "infrastructure", "SIGKILL"),
        (139, "program", "crashed"),
        (143, "infrastructure", "SIGTERM"),
        (None, "infrastructure", "without an exit code"),
        (3, "program", "exit code 3"),
    ],
)
def test_bare_exit_code_still_gives_a_next_step(code: int | None, kind: str, words: str) -> None:
    found = diagnose(Status(JobState.ERROR, "exited", code, ""), "step 12\nValueError: odd loss\n")
    assert found.kind == kind
    assert words in found.cause
    assert "ValueError: odd loss" in found.evidence
    assert found.next_step


@pytest.mark.parametrize("state", [JobState.COMPLETE, JobState.RUNNING, JobState.PENDING, JobState.CANCELED])
def test_job_that_has_not_failed_has_no_class(state: JobState) -> None:
    assert diagnose(Status(state, "x"), "No space left on device").kind == ""
