"""What will be submitted: the job with its environment, its secrets apart, and the review that is shown first."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence

from gonogo.jobs.model import Job
from gonogo.jobs.secrets import secret_names
from gonogo.launcher.exits import Exit, Stop
from gonogo.platforms.contract import Submission
from gonogo.platforms.probe.preflight import Expectation, build_preflight


def launch_id_for(job: Job, asked: str | None) -> str:
    """The ID asked for, the job's own, or `<name>-<6 hex>`."""
    return asked or job.id or f"{job.slug}-{secrets.token_hex(3)}"


def build_submission(
    job: Job,
    digest: str,
    launch_id: str,
    environment: Mapping[str, str],
    arrival: Sequence[Expectation] = (),
) -> Submission:
    """The job's own environment and the credentials that it names; nothing else of this process's environment.

    Raises Stop(USAGE) for a credential that is not set.
    """
    missing = [name for name in job.credentials if not environment.get(name)]
    if missing:
        raise Stop(Exit.USAGE, f"credentials not set: {', '.join(missing)}", remedy=f"export {missing[0]}=…")
    shown, hidden = _environment(job, environment)
    named = {name: environment[name] for name in job.credentials}
    nonce = secrets.token_hex(8)
    return Submission(
        launch_id=launch_id,
        job=job,
        job_digest=digest,
        environment=shown,
        secrets=hidden | named,
        preflight=build_preflight(list(arrival), nonce) if arrival else b"",
        preflight_nonce=nonce if arrival else "",
    )


def _environment(job: Job, environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The job's own variables: those that may be shown, and the secret ones."""
    secret = secret_names(job, environment)
    shown = {name: value for name, value in job.env.items() if name not in secret}
    return shown, {name: value for name, value in job.env.items() if name in secret}


def review(job: Job, launch_id: str, target: str, environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a person should see before it is submitted: label and text, secrets by name only. `target` is a person's
    name for it."""
    shown, hidden = _environment(job, environment)
    command = job.command if isinstance(job.command, str) else " ".join(job.command)
    rows = [
        ("launch", launch_id),
        ("platform", target),
        ("image", job.image or ""),
        ("command", re.sub(r"\s*\n\s*", " ⏎ ", command.strip())),
        ("GPUs", _gpus(job)),
        ("identity", job.run_as),
        ("inputs", "; ".join(_mounted(one.uri, one.mount) for one in job.inputs)),
        ("outputs", "; ".join(_mounted(one.uri, one.mount) for one in job.outputs)),
        ("mounts", "; ".join(_mounted(one.source, one.target) for one in job.mounts)),
        ("environment", ", ".join(sorted(shown))),
        ("credentials", ", ".join(sorted({*hidden, *job.credentials}))),
    ]
    return [(label, text) for label, text in rows if text]


def _gpus(job: Job) -> str:
    ids = job.docker.gpu_ids if job.docker is not None else []
    if ids:
        return f"IDs {', '.join(str(one) for one in ids)}"
    return {0: "none", -1: "all"}.get(job.gpus, str(job.gpus))


def _mounted(source: str, target: str | None) -> str:
    return f"{source} -> {target}" if target and target != source else source
