"""In which image probes run: the one asked for, else the job's own, else the smallest there that has a shell."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.container import NoShell, ProbeSpec, run_probe
from gonogo.platforms.docker.facts import find_image, images_by_size
from gonogo.platforms.docker.pull import pull_image
from gonogo.platforms.faults import Fault, ToolMissing
from gonogo.platforms.shell import Completed

#: Images tried at most; each costs one refused start.
_TRIES = 8
_SHELL_REMEDY = "name an image on the target that has /bin/sh: --smoke-image REF"


class SmokeImages:
    """Chooses once and remembers, for all probes of a run."""

    def __init__(self, connection: Connection, asked: str | None, job_image: str | None, *, may_pull: bool) -> None:
        self._connection = connection
        self._asked = asked
        self._job_image = job_image
        self._may_pull = may_pull
        self._lock = threading.Lock()
        self._chosen: str | None = None

    def run(self, spec: ProbeSpec, *, run_id: str, deadline: float, what: str) -> tuple[str, Completed]:
        """Run the probe in the first image that can: its reference and what came of it. Raises as `run_probe`,

        ToolMissing where no image can be had or none of those tried has a shell.
        """
        without_shell: list[NoShell] = []
        for image in self._candidates():
            try:
                done = run_probe(
                    self._connection,
                    self._in(image, spec),
                    run_id=run_id,
                    deadline=deadline,
                    what=what,
                )
            except NoShell as fault:
                without_shell.append(fault)
                continue
            with self._lock:
                self._chosen = image
            return image, done
        if not without_shell:
            raise self._none_there()
        raise self._no_shell(without_shell)

    def _in(self, image: str, spec: ProbeSpec) -> ProbeSpec:
        """The probe in that image. What another image than the job's asks of the driver is not the job's matter."""
        foreign = {} if image == self._job_image or not (spec.gpus or spec.runtime) else {"NVIDIA_DISABLE_REQUIRE": "1"}
        return dataclasses.replace(spec, image=image, environment={**foreign, **spec.environment})

    def _candidates(self) -> Iterator[str]:
        with self._lock:
            chosen = self._chosen
        if chosen is not None:
            yield chosen
            return
        if self._asked is not None:
            yield self._present(self._asked)
            return
        if self._job_image is not None and find_image(self._connection, self._job_image) is not None:
            yield self._job_image
        others = [image for image in images_by_size(self._connection) if image != self._job_image]
        yield from others[:_TRIES]

    def _present(self, image: str) -> str:
        if find_image(self._connection, image) is not None:
            return image
        if self._may_pull:
            pull_image(self._connection, image)
            return image
        raise ToolMissing(f"smoke image {image} is not on the target", remedy=f"docker pull {image}, or add --pull")

    def _none_there(self) -> Fault:
        wanted = self._job_image or "busybox"
        return ToolMissing(
            f"there is no image on the daemon at {self._connection.address} to run probes in",
            remedy=f"docker pull {wanted}, or --smoke-image REF --pull",
        )

    def _no_shell(self, faults: list[NoShell]) -> Fault:
        if self._asked is not None:
            return ToolMissing(f"smoke {faults[0].message}", detail=faults[0].detail, remedy=_SHELL_REMEDY)
        told = "; ".join(fault.message for fault in faults)
        return ToolMissing(f"no image on the target has a shell: {told}", detail=faults[0].detail, remedy=_SHELL_REMEDY)
