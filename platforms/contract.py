"""What every platform answers for. Small on purpose: reach the target, ask it, submit, follow, stop.

A platform is opened by `platforms.registry.open_platform` and used from any Python program; nothing here knows pytest.
Every call that reaches out is bounded and raises a `platforms.faults.Fault`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gonogo.jobs.model import Job
    from gonogo.platforms.diagnosis import Diagnosis
    from gonogo.platforms.inspection import Table
    from gonogo.platforms.probe.answers import Answers
    from gonogo.platforms.probe.questions import Question


class JobState(str, Enum):
    """One vocabulary on all platforms (GATE-05)."""

    PENDING = "Pending"
    RUNNING = "Running"
    PAUSED = "Paused"
    COMPLETE = "Complete"
    ERROR = "Error"
    CANCELING = "Canceling"
    CANCELED = "Canceled"
    UNKNOWN = "Unknown"

    @property
    def ended(self) -> bool:
        return self in (JobState.COMPLETE, JobState.ERROR, JobState.CANCELED)


@dataclass(frozen=True)
class Status:
    """Where a job stands. `native` is the platform's own word; `reason` one line, such as 'killed: out of memory'."""

    state: JobState
    native: str
    exit_code: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Submission:
    """One job as it will be submitted.

    `environment` holds what may be shown, `secrets` what may not: they travel by standard input, a mode-0600 file
    or an API body, never in an argument vector. `preflight` is the arrival stage's sh program (see
    `platforms.probe.preflight`), run as the job's first step; empty when nothing was deferred.
    """

    launch_id: str
    job: Job
    job_digest: str
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    preflight: bytes = b""
    preflight_nonce: str = ""


@dataclass(frozen=True)
class Placed:
    """A job the platform has taken: `native_id` is the platform's own ID, used in every later call.

    `details` are for a person, but for `digest`: the job digest that it was submitted with. A job without it is
    somebody else's.
    """

    native_id: str
    address: str
    details: Mapping[str, str] = field(default_factory=dict)


class Platform(ABC):
    """One kind of place, opened on one target."""

    name: str
    #: seconds that a question which only reaches the target may take
    reach_deadline: float = 10.0

    @property
    @abstractmethod
    def address(self) -> str:
        """The target as a person would name it: `unix:///run/docker.sock`, `this machine (host-7)`. No network."""

    @abstractmethod
    def identity(self) -> str:
        """An ID of the target that does not change between runs (daemon ID, machine ID). Raises Fault."""

    @abstractmethod
    def ask(self, questions: Sequence[Question], *, deadline: float) -> Answers:
        """Put all questions to the target's host in one run of the probe script."""

    @abstractmethod
    def render(self, submission: Submission) -> str:
        """What `submit` would send, as text for `--dry-run`; secret values never in it."""

    def prepare(self, job: Job, progress: Callable[[str], None]) -> bool:
        """Bring to the target what the job needs and rows wait for (its image), with a line for each step. Returns
        whether anything was brought: then those rows can be asked. Raises Fault."""
        return False

    @abstractmethod
    def submit(self, submission: Submission) -> Placed:
        """Start the job, detached. Raises LaunchRefused, or LaunchLost where it may have started."""

    @abstractmethod
    def find(self, launch_id: str) -> Placed | None:
        """The job of that launch ID if the platform has one (running or ended), however it came to be recorded."""

    @abstractmethod
    def status(self, native_id: str) -> Status:
        """Where the job stands; `Unknown` is for the caller to say when this raises."""

    @abstractmethod
    def logs(self, native_id: str, *, tail: int | None = None, follow: bool = False) -> Iterator[bytes]:
        """The job's output, both streams, in order, in chunks; with `follow` until the job has ended."""

    def arrival_output(self, native_id: str) -> bytes:
        """What the in-job preflight has printed so far, for `parse_preflight`; empty without one."""
        return b""

    @abstractmethod
    def cancel(self, native_id: str, *, grace: float = 10.0) -> Status:
        """Stop the job and prove it stopped: returns the state seen afterwards."""

    @abstractmethod
    def release(self, native_id: str) -> None:
        """Remove what `submit` made on the target (container, run folder), for a job that never may or has ended."""

    def owed(self, job: Job) -> dict[str, Any]:
        """What must be put right on the target when that job has ended, as plain data for its record; empty for most
        (ID-04). Raises Fault."""
        return {}

    def put_right(self, owed: Mapping[str, Any]) -> None:  # noqa: B027 - most platforms owe nothing
        """Do what is owed, also again where it was done in part. Raises Fault."""

    def tables(self) -> list[Table]:
        """What the target offers, for `gonogo inspect`. Raises Fault."""
        return []

    def diagnose(self, native_id: str) -> Diagnosis:
        """Why the job ended as it did, from its status and the end of its log. Raises Fault."""
        from gonogo.platforms.diagnosis import LOOKED_AT, diagnose

        status = self.status(native_id)
        log = b"".join(self.logs(native_id, tail=LOOKED_AT)).decode(errors="replace")
        return diagnose(status, log)

    def tiny_job_image(self) -> str | None:
        """An image on the target that can run a shell, for conformance; None on platforms without images. Raises
        Fault."""
        return None

    def from_here(self, remedy: str) -> str:
        """A remedy that is a command for the target's host, as it runs from this machine."""
        return remedy

    def sweep(self, run_id: str | None = None) -> list[str]:
        """Remove what probes left: this run's (`run_id`) or, without it, dead runs'. Returns the names removed."""
        return []

    def close(self) -> None:  # noqa: B027 - most platforms hold none
        """Let go of connections."""
