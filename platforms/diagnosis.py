"""Why a job ended as it did, in a class, a cause, the evidence, and the next step (GATE-07).

What the platform itself knows comes first (killed for memory, never started); then the most specific thing that the
end of the log says; only then the bare exit code. The evidence is always the line that the cause was read from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gonogo.platforms.contract import JobState, Status

PROGRAM, INFRASTRUCTURE, CAPACITY, CREDENTIALS, IMAGE = "program", "infrastructure", "capacity", "credentials", "image"
#: How much of a log's end is looked at, lines.
LOOKED_AT = 400


@dataclass(frozen=True)
class Diagnosis:
    """`kind` is program, infrastructure, capacity, credentials or image; empty while nothing is wrong.

    `row` names the requirement that asks for this before a launch, where there is one.
    """

    kind: str
    cause: str
    evidence: tuple[str, ...]
    next_step: str
    row: str = ""


@dataclass(frozen=True)
class Sign:
    """What one failure looks like in a log or in a daemon's refusal. The most specific stand first in `SIGNS`."""

    pattern: re.Pattern[str]
    kind: str
    cause: str
    next_step: str
    row: str = ""


def _sign(pattern: str, kind: str, cause: str, next_step: str, row: str = "") -> Sign:
    return Sign(re.compile(pattern, re.IGNORECASE), kind, cause, next_step, row)


#: Texts as the tools print them; each was seen in a public report of a real failure.
SIGNS = (
    _sign(
        r"could not select device driver|nvidia-container-cli|unknown runtime specified nvidia|no known GPU vendor",
        INFRASTRUCTURE,
        "the daemon refused the GPU request",
        "gonogo check JOB names what is missing on the docker host (GPU-03, GPU-04)",
        "GPU-04",
    ),
    _sign(
        r"driver/library version mismatch",
        INFRASTRUCTURE,
        "the NVIDIA driver and its library have different versions",
        "Reboot the host: a driver upgrade is waiting for it",
        "GPU-01",
    ),
    _sign(
        r"no kernel image is available for execution",
        IMAGE,
        "the image has no kernels for this GPU",
        "Use an image built for this GPU's compute capability, or another GPU",
        "IMG-05",
    ),
    _sign(
        r"CUDA driver version is insufficient|forward compatibility was attempted",
        IMAGE,
        "the host's driver is too old for the image's CUDA",
        "Use an image built for an older CUDA, or a host with a newer driver",
        "GPU-02",
    ),
    _sign(
        r"CUDA out of memory|torch\.cuda\.OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED",
        CAPACITY,
        "the GPU's memory was not enough",
        "Lower the batch size, or ask for GPUs with more memory in `requires.gpu_memory`",
        "GPU-06",
    ),
    _sign(
        r"getpwuid\(\): uid not found|no user exists for uid|cannot find name for user id",
        IMAGE,
        "the job's UID has no entry in the image's user table",
        "Launch with gonogo's own identity variables (USER, LOGNAME, HOME), or use an image that has the user",
        "ID-03",
    ),
    _sign(
        r"bus error|unable to (?:open|allocate) shared memory|posix_fallocate failed|"
        r"error while creating shared memory|"
        r"insufficient shared memory|/dev/shm.*no space left",
        CAPACITY,
        "/dev/shm is too small",
        "Set `requires.shm` to a larger size",
        "DOCK-04",
    ),
    _sign(
        r"no space left on device|disk quota exceeded|ENOSPC",
        CAPACITY,
        "a disk is full",
        "Free space on the output's filesystem, and set `requires.disk` so that the next check looks for it",
        "PATH-05",
    ),
    _sign(
        r"address already in use|EADDRINUSE|errno: ?98",
        INFRASTRUCTURE,
        "a port that the job listens on is taken",
        "Stop the holder, or set `ports.master` to a free port",
        "PORT-01",
    ),
    _sign(
        r"exec format error|exec user process caused|no match for platform in manifest",
        IMAGE,
        "the image or its program is for another CPU architecture",
        "Use an image for the target's architecture",
        "IMG-02",
    ),
    _sign(
        r"unauthorized: authentication required|no basic auth credentials|pull access denied|401 unauthorized",
        CREDENTIALS,
        "the registry did not accept the credentials",
        "docker login to the registry on the target, then launch again",
        "IMG-01",
    ),
    _sign(
        r"manifest unknown|manifest for .* not found|no such image|repository .* not found",
        IMAGE,
        "the image does not exist under that name",
        "Correct `image` in the job file",
        "IMG-01",
    ),
    _sign(
        r"bind source path does not exist|error mounting|mount point not found",
        INFRASTRUCTURE,
        "a path to be mounted is not on the docker host",
        "gonogo check JOB names the path (PATH-01)",
        "PATH-01",
    ),
    _sign(
        r"(?:invalid|expired) (?:token|credentials)|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|"
        r"401 Client Error|403 Client Error|GatedRepoError|HTTP 403",
        CREDENTIALS,
        "a service did not accept the job's credentials",
        "Renew the credential that the line names, export it and launch again",
        "CRED-08",
    ),
    _sign(
        r"NCCL (?:error|WARN)|ncclSystemError|ncclInternalError|watchdog caught collective operation timeout",
        INFRASTRUCTURE,
        "the processes lost each other",
        "See the first NCCL line in the log of each process, and NCCL_SOCKET_IFNAME",
        "NET-01",
    ),
    _sign(
        r"permission denied|PermissionError|EACCES|read-only file system",
        INFRASTRUCTURE,
        "the job's user may not read or write a path",
        "See who owns the path that the line names; gonogo check JOB asks as the job's user (PATH-02)",
        "PATH-02",
    ),
    _sign(
        r"executable file not found|command not found|: not found$|can't open file",
        PROGRAM,
        "a program that the command starts is not there",
        "Correct `command`, or use an image that has the program",
        "JOB-10",
    ),
    _sign(
        r"ModuleNotFoundError|No module named",
        PROGRAM,
        "a Python package is missing",
        "Install it where the job runs, and name it in `python_packages` so that the next check looks for it",
        "NODE-01",
    ),
    _sign(
        r"FileNotFoundError|No such file or directory",
        PROGRAM,
        "a path that the program opens is not there",
        "Mount it: inside a container only `inputs`, `outputs` and `mounts` are seen",
        "PATH-07",
    ),
)


def diagnose(status: Status, log: str) -> Diagnosis:
    """The most specific thing that is known. A job that has not failed gets an empty kind."""
    lines = log.splitlines()[-LOOKED_AT:]
    if status.state in (JobState.COMPLETE, JobState.RUNNING, JobState.PENDING, JobState.PAUSED, JobState.CANCELING):
        return Diagnosis("", f"nothing is wrong: the job is {status.state.value}", (), "")
    if status.state is JobState.CANCELED:
        return Diagnosis("", "the job was canceled", (), "")
    known = _by_platform(status, lines)
    if known is not None:
        return known
    found = by_text([status.reason, *lines])
    return found if found is not None else _by_exit_code(status, lines)


def by_text(lines: Iterable[str]) -> Diagnosis | None:
    """The most specific sign in those lines, with the line that shows it."""
    kept = [line for line in lines if line.strip()]
    for sign in SIGNS:
        for line in reversed(kept):
            if sign.pattern.search(line):
                return Diagnosis(sign.kind, sign.cause, (line.strip()[:500],), sign.next_step, sign.row)
    return None


def _by_platform(status: Status, lines: list[str]) -> Diagnosis | None:
    """What the platform itself says, which no log line can overrule."""
    reason = status.reason.lower()
    if "out of memory" in reason or "oom" in reason:
        return Diagnosis(
            CAPACITY,
            "the job was killed: out of memory",
            (status.reason,),
            "Lower the number of data loader workers or the batch size, or use a host with more memory",
            "NODE-03",
        )
    if "never started" in reason:
        return Diagnosis(
            INFRASTRUCTURE,
            "the in-job preflight did not pass, the command never started",
            (status.reason, *lines[-3:]),
            "gonogo check JOB names the requirement that does not hold",
        )
    return None


def _by_exit_code(status: Status, lines: list[str]) -> Diagnosis:
    code = status.exit_code
    last = _last_words(lines)
    evidence = tuple(text for text in (status.reason, last) if text)
    if code in (126, 127):
        cause = "the command could not be executed" if code == 126 else "the command was not found"
        return Diagnosis(
            PROGRAM, cause, evidence, "Correct `command`: gonogo check JOB looks for its program (JOB-10)", "JOB-10"
        )
    if code == 137:
        return Diagnosis(
            INFRASTRUCTURE,
            "the job was killed (SIGKILL) from outside",
            evidence,
            "See the host's kernel log: dmesg | grep -i kill",
        )
    if code in (134, 139):
        return Diagnosis(
            PROGRAM, "the program crashed in native code", evidence, "Run it again with PYTHONFAULTHANDLER=1 in `env`"
        )
    if code == 143:
        return Diagnosis(
            INFRASTRUCTURE,
            "the job was stopped (SIGTERM) from outside",
            evidence,
            "See who stopped it; launch it again",
        )
    if code is None:
        return Diagnosis(
            INFRASTRUCTURE,
            "the job ended without an exit code",
            evidence,
            "See whether the machine or its daemon restarted; launch it again",
        )
    return Diagnosis(
        PROGRAM,
        f"the program ended with exit code {code}",
        evidence,
        "See the log: the evidence is its last error line",
    )


_ERROR_LINE = re.compile(
    r"^\s*(?:[A-Za-z_.]*(?:Error|Exception|Interrupt)\b.*|.*\b(?:error|fatal|failed)\b.*)$", re.IGNORECASE
)


def _last_words(lines: list[str]) -> str:
    """The last line that speaks of an error, else the last line at all."""
    kept = [line.strip() for line in lines if line.strip()]
    errors = [line for line in kept if _ERROR_LINE.match(line)]
    return (errors or kept or [""])[-1][:500]
