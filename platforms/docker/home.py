"""The job's home on a mount, made by the job's own user before the container starts (ID-03).

Made by the daemon, the folders would be root's, and a network filesystem that squashes root would refuse it.
"""

from __future__ import annotations

from gonogo.platforms.docker.binds import Bind
from gonogo.platforms.docker.container import ProbeSpec
from gonogo.platforms.docker.jobspec import JobSpec
from gonogo.platforms.docker.smoke import SmokeImages
from gonogo.platforms.faults import LaunchRefused
from gonogo.platforms.probe.render import literal

_INSIDE = "/.gonogo/home"


def make_home(images: SmokeImages, spec: JobSpec, *, run_id: str, deadline: float = 60.0) -> None:
    """Make the home on its mount; nothing is done where it lies on none. Raises LaunchRefused, or what the daemon
    says."""
    bind = spec.home_bind
    if bind is None:
        return
    below = spec.home.removeprefix(bind.target.rstrip("/"))
    folder = f"{_INSIDE}{below}"
    program = b"umask 077 && mkdir -p %s\n" % literal(folder)
    probe = ProbeSpec(
        image="",
        program=program,
        user=spec.user.text,
        groups=spec.user.groups,
        binds=[Bind(bind.source, _INSIDE, read_only=False)],
    )
    _, done = images.run(probe, run_id=run_id, deadline=deadline, what="the making of the job's home")
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().replace(_INSIDE, bind.source)
        raise LaunchRefused(
            f"{spec.user.shown} cannot make the job's home in {bind.source}: {words.splitlines()[-1] if words else ''}",
            detail=words,
            remedy=f"sudo chown {spec.user.text} {bind.source}",
        )
