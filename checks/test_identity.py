"""ID: as whom the job runs, and who owns what it writes."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.jobs.model import Job
from gonogo.platforms.docker.identity import JobUser


@requirement("ID-07")
def test_user_is_not_root_by_accident(job: Job, job_identity: JobUser, evidence: Notes) -> None:
    """The job runs as root only where its file says so."""
    evidence(found=job_identity.shown, expected="not root, unless `run_as: root`", run_as=job.run_as)
    assert job_identity.uid != 0 or job.run_as in ("root", "0", "0:0"), "the job would run as root"
