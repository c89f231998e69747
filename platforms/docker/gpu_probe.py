"""A container started with the job's GPU request: the devices it sees, and what torch in it says (GPU-04, IMG-05)."""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass

from gonogo.jobs.model import Job
from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.container import ProbeSpec, run_probe
from gonogo.platforms.docker.errors import gpu_fault
from gonogo.platforms.docker.gpu import GpuContainer, GpuRequest, GpuWay, gpu_request
from gonogo.platforms.docker.identity import JobUser
from gonogo.platforms.docker.smoke import SmokeImages
from gonogo.platforms.faults import ToolMissing
from gonogo.platforms.gpus import trouble
from gonogo.platforms.probe.answers import GpuAnswer, TorchAnswer
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import GpuQuestion, Question, TorchQuestion
from gonogo.platforms.probe.render import render

#: Seconds of a deadline that are kept for starting and removing the container.
_OVERHEAD = 8
#: Variables of the job that decide what the container's programs see of the devices.
_OF_GPUS = ("NVIDIA_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


@dataclass(frozen=True)
class GpuProbe:
    """Starts containers as the job's: its request, its user and its GPU variables. Limits and binds, which a daemon may
    refuse for reasons of their own, are asked about elsewhere (DOCK-04, PATH-01)."""

    connection: Connection
    job: Job | None
    way: GpuWay
    user: JobUser | None
    run_id: str

    @property
    def request(self) -> GpuRequest:
        return gpu_request(self.job, self.way)

    def devices(self, smoke: SmokeImages, deadline: float, *, topology: bool = False) -> GpuContainer:
        """What nvidia-smi lists in a container. Raises what daemon, hook or nvidia-smi say."""
        question = GpuQuestion(seconds=max(2, int(deadline) - _OVERHEAD), topology=topology)
        spec, nonce = self._spec(question)
        image, done = smoke.run(spec, run_id=self.run_id, deadline=deadline, what="nvidia-smi")
        where = f"a container of {image} on {self.connection.address}"
        answer = parse(done.stdout, nonce, [question], where).gpu()
        if answer.trouble == "absent":
            raise self._without_tool(image)
        fault = gpu_fault(answer.error) or trouble(answer, where) if answer.trouble else None
        if fault is not None:
            raise fault
        return GpuContainer(answer.gpus, image, self.request.words, answer.driver, answer.cuda, _of_container(answer))

    def torch(self, python: str, deadline: float, *, all_reduce: bool = False) -> TorchAnswer:
        """What torch.cuda says in the job's own image. Raises a Fault, NoShell where the image has no sh."""
        image = self.job.image if self.job is not None else None
        if image is None:
            raise ToolMissing("there is no image to ask")
        question = TorchQuestion(python=python, seconds=max(2, int(deadline) - _OVERHEAD), all_reduce=all_reduce)
        spec, nonce = self._spec(question)
        spec = dataclasses.replace(spec, image=image)
        done = run_probe(self.connection, spec, run_id=self.run_id, deadline=deadline, what="torch.cuda")
        return parse(done.stdout, nonce, [question], f"image {image}").torch()

    def _spec(self, question: Question) -> tuple[ProbeSpec, str]:
        nonce, request = secrets.token_hex(8), self.request
        told = self.job.env if self.job is not None else {}
        spec = ProbeSpec(
            image="",
            program=render([question], nonce),
            user=self.user.text if self.user else "",
            groups=self.user.groups if self.user else (),
            environment={**request.environment, **{k: v for k, v in told.items() if k.startswith(_OF_GPUS)}},
            gpus=request.devices,
            runtime=request.runtime,
        )
        return spec, nonce

    def _without_tool(self, image: str) -> ToolMissing:
        return ToolMissing(
            f"a container of {image} was started with {self.request.words} but has no nvidia-smi",
            remedy="Set NVIDIA_DRIVER_CAPABILITIES: compute,utility in `env`, or register the NVIDIA Container Toolkit",
        )


def _of_container(answer: GpuAnswer) -> GpuAnswer:
    """The host's processes and kernel log are not seen from inside: an empty list there says nothing."""
    why = "the host's processes are not seen from inside a container"
    return dataclasses.replace(answer, processes=None, processes_error=why, xids=None)
