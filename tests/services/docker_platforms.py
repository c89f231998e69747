"""Docker platforms and submissions for tests, as the suite and the launcher make them."""

from __future__ import annotations

from typing import Any

from gonogo.jobs.model import Job
from gonogo.platforms.contract import Submission
from gonogo.platforms.docker.platform import DockerPlatform
from gonogo.platforms.settings import Setting, Settings


def docker_platform(url: str, job: Job | None = None, **settings: Any) -> DockerPlatform:
    """A platform on the daemon at that address; each keyword is the value of a setting."""
    values = {name: Setting(value, "command line") for name, value in settings.items()}
    return DockerPlatform(Settings(Setting("local-docker"), docker_host=Setting(url, "command line"), **values), job)


def submission(launch_id: str, image: str, command: Any, **fields: Any) -> Submission:
    """A tiny job as nobody; `fields` go to the submission where it has them, else to the job."""
    own = {name: fields.pop(name) for name in list(fields) if name in Submission.__dataclass_fields__}
    job = Job(name="tiny", image=image, command=command, **{"run_as": "65534:65534", **fields})
    return Submission(**{"launch_id": launch_id, "job": job, "job_digest": f"digest of {command}", **own})
