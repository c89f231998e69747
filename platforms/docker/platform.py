"""The docker platforms' adapter: a daemon, reached by its endpoint, and the shell of the host that it runs on."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gonogo.jobs.model import Job
from gonogo.platforms.contract import Placed, Platform, Status, Submission
from gonogo.platforms.docker import facts, follow, launch
from gonogo.platforms.docker.connection import Connection, resolve_endpoint
from gonogo.platforms.docker.container import ProbeSpec
from gonogo.platforms.docker.gpu import BY_DEVICES, GpuContainer, GpuWay, ToolkitFacts, gpu_way, toolkit_facts
from gonogo.platforms.docker.gpu_probe import GpuProbe
from gonogo.platforms.docker.home import make_home
from gonogo.platforms.docker.identity import JobUser, demand_no_accidental_root, host_account, named_user, no_account
from gonogo.platforms.docker.image_files import program_in_image
from gonogo.platforms.docker.inside import inside, outside
from gonogo.platforms.docker.inspection import tables
from gonogo.platforms.docker.jobspec import DEFAULT_SHM, JobSpec, command_line, job_spec, limits
from gonogo.platforms.docker.ownership import Debt, debt_of, pay
from gonogo.platforms.docker.pull import login_for, pull_image
from gonogo.platforms.docker.smoke import SmokeImages
from gonogo.platforms.docker.sweep import sweep_probes
from gonogo.platforms.faults import Fault, LaunchLost, LaunchRefused, Refused
from gonogo.platforms.inspection import Table
from gonogo.platforms.probe.answers import Answers, TorchAnswer
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import Question
from gonogo.platforms.probe.render import render
from gonogo.platforms.settings import Settings
from gonogo.platforms.shell import LocalShell, Shell


@dataclass(frozen=True)
class ContainerAnswers:
    """What a probe container answered, and in which image. `own_image` says that it was the job's."""

    answers: Answers
    image: str
    own_image: bool


class DockerPlatform(Platform):
    """`local-docker`: a daemon on this machine, whose host is asked by this machine's own shell."""

    name = "local-docker"

    def __init__(self, settings: Settings, job: Job | None, *, run_id: str = "") -> None:
        self.settings = settings
        self.job = job
        self.run_id = run_id or secrets.token_hex(4)
        self.endpoint = resolve_endpoint(settings.docker_host, os.environ)
        self.connection = self._make_connection()
        self._info: facts.DaemonInfo | None = None
        self._submitter: JobUser | None = None
        self._smoke = SmokeImages(
            self.connection, settings.smoke_image.value, job.image if job else None, may_pull=settings.pull.value
        )
        self.host: Shell = self._make_host()

    def _make_connection(self) -> Connection:
        return Connection(self.endpoint)

    def _make_host(self) -> Shell:
        return LocalShell("this machine")

    # --- reaching and asking ---

    @property
    def address(self) -> str:
        return self.endpoint.shown

    @property
    def has_host_shell(self) -> bool:
        """Whether `host` runs on the daemon's host itself, as the account that we have there."""
        return True

    def submitter(self) -> JobUser:
        """The account that gonogo has on the daemon's host, by that host's own numbers. Raises Fault."""
        if not self.has_host_shell:
            raise no_account(self.address)
        if self._submitter is None:
            self._submitter = host_account(self.host)
        return self._submitter

    def user_of(self, job: Job) -> JobUser:
        """As whom the job runs. Raises Refused where that would be root by accident, or what `submitter` raises."""
        user = named_user(job, self.settings.container_user.value) or self.submitter()
        return demand_no_accidental_root(job, user)

    def identity(self) -> str:
        return f"docker {self.daemon_info().id}"

    def daemon_info(self) -> facts.DaemonInfo:
        """The daemon's version and info, asked anew. Raises Refused for an address that is not of this platform."""
        self._demand_address()
        self._info = facts.daemon_info(self.connection)
        return self._info

    def _demand_address(self) -> None:
        if not self.endpoint.is_local:
            raise Refused(
                f"{self.address} ({self.endpoint.origin}) is not a daemon of this machine",
                remedy="--platform remote-docker, or name a local socket with --docker-host",
            )

    def network(self, name: str) -> facts.NetworkFact | None:
        """The network of that name, None where the launch will create it."""
        return facts.find_network(self.connection, name)

    def containers_of(self, launch_id: str) -> list[facts.ContainerFact]:
        """Containers of that launch, running or not."""
        return facts.containers_of(self.connection, launch_id)

    def image(self, reference: str) -> facts.ImageFact | None:
        """The image if it is on the target."""
        return facts.find_image(self.connection, reference)

    def pull(self, reference: str, progress: Callable[[str], None] | None = None) -> None:
        """Pull the image on the target, with a line for each step. Raises the registry's refusal as a Fault."""
        login = login_for(reference, os.environ, self.settings.registry_user.value)
        pull_image(self.connection, reference, progress, login)

    def prepare(self, job: Job, progress: Callable[[str], None]) -> bool:
        """Pull the job's image where the target does not have it."""
        if job.image is None or self.image(job.image) is not None:
            return False
        self.pull(job.image, progress)
        return True

    def ask(self, questions: Sequence[Question], *, deadline: float) -> Answers:
        """All questions to the daemon's host, in one run of the probe script, as the user of this process."""
        nonce = secrets.token_hex(8)
        done = self.host.run(render(questions, nonce), deadline=deadline)
        return parse(done.stdout + done.stderr, nonce, questions, self.host.target)

    def ask_in_container(
        self,
        questions: Sequence[Question],
        *,
        deadline: float,
        run_id: str | None = None,
        user: JobUser | None = None,
    ) -> ContainerAnswers:
        """All questions from inside one container, started with the job's user and limits. `user` is the job's, where
        it has been settled already.

        Paths are the host's: each is bound by itself, read-only unless a question writes there. Name only paths that
        the host has (docker stops at the first that is missing, then NotFound is raised).
        """
        mapped, binds = inside(questions)
        nonce = secrets.token_hex(8)
        if user is None and self.job is not None:
            user = self.user_of(self.job)
        spec = ProbeSpec(
            image="",
            program=render(mapped, nonce),
            user=user.text if user else "",
            groups=user.groups if user else (),
            binds=binds,
            shm=(self.job.requires.shm if self.job else None) or DEFAULT_SHM,
            limits=limits(self.job),
        )
        what = f"the probe script ({len(questions)} questions)"
        image, done = self._smoke.run(spec, run_id=run_id or self.run_id, deadline=deadline, what=what)
        answers = parse(done.stdout + done.stderr, nonce, mapped, f"a container of {image} on {self.address}")
        own = self.job is not None and image == self.job.image
        return ContainerAnswers(outside(answers, questions, mapped), image, own)

    def program_in_image(self, image: str, program: str) -> str | None:
        """The program's path in the image, without running anything in it; None where it is not there."""
        return program_in_image(self.connection, image, program, run_id=self.run_id)

    def toolkit(self, *, deadline: float = 10.0) -> ToolkitFacts:
        """How the daemon serves GPU requests, and the toolkit's version on its host."""
        return toolkit_facts(self._info or self.daemon_info(), self.host, deadline)

    def gpu_way(self) -> GpuWay:
        """How GPUs are asked of this daemon, by a probe and by the launch alike (GPU-09)."""
        return gpu_way(self._info or self.daemon_info())

    def gpu_container(
        self, *, deadline: float, run_id: str | None = None, user: JobUser | None = None, topology: bool = False
    ) -> GpuContainer:
        """The devices that a container with the job's GPU request, user and GPU variables lists. Raises what daemon or
        nvidia-smi say."""
        return self._gpu_probe(run_id, user).devices(self._smoke, deadline, topology=topology)

    def torch_in_image(
        self,
        python: str,
        *,
        deadline: float,
        run_id: str | None = None,
        user: JobUser | None = None,
        all_reduce: bool = False,
    ) -> TorchAnswer:
        """What torch says in the job's own image, with the job's GPUs. Raises a Fault."""
        return self._gpu_probe(run_id, user).torch(python, deadline, all_reduce=all_reduce)

    def _gpu_probe(self, run_id: str | None, user: JobUser | None) -> GpuProbe:
        return GpuProbe(self.connection, self.job, self.gpu_way(), user, run_id or self.run_id)

    def tiny_job_image(self) -> str | None:
        """The image that probes run in. Raises where the target has none with a shell."""
        image, _ = self._smoke.run(
            ProbeSpec(image="", program=b":\n"), run_id=self.run_id, deadline=30.0, what="a look for a shell"
        )
        return image

    def sweep(self, run_id: str | None = None) -> list[str]:
        return sweep_probes(self.connection, run_id)

    def tables(self) -> list[Table]:
        return tables(self)

    # --- launching ---

    def render(self, submission: Submission) -> str:
        """The equivalent `docker run` line."""
        return command_line(self._spec(submission))

    def submit(self, submission: Submission, progress: Callable[[str], None] | None = None) -> Placed:
        """Pull the image where it is missing, make the network, create and start the container.

        A container of this very launch (same ID, same job) that is there already is led to. Raises LaunchRefused or
        LaunchLost.
        """
        try:
            way = self.gpu_way()
            spec = self._spec(submission, way)
            if self.image(spec.image) is None:
                self.pull(spec.image, progress)
            make_home(self._smoke, spec, run_id=self.run_id)
            return launch.start_job(self.connection, spec)
        except (LaunchRefused, LaunchLost):
            raise
        except Fault as fault:  # before anything of the job was created
            raise LaunchRefused(fault.message, detail=fault.detail, remedy=fault.remedy) from fault

    def _spec(self, submission: Submission, way: GpuWay = BY_DEVICES) -> JobSpec:
        return job_spec(submission, self.user_of(submission.job), self.settings.docker_network.value, way)

    def owed(self, job: Job) -> dict[str, Any]:
        """The ownership of what a job as root will write (ID-04)."""
        user = self.user_of(job)
        debt = debt_of(job, user, self.submitter()) if user.uid == 0 else None
        return debt.to_json() if debt is not None else {}

    def put_right(self, owed: Mapping[str, Any]) -> None:
        debt = Debt.from_json(owed)
        images = SmokeImages(self.connection, self.settings.smoke_image.value, debt.image or None, may_pull=False)
        pay(images, debt, run_id=self.run_id)

    def find(self, launch_id: str) -> Placed | None:
        return launch.find_job(self.connection, launch_id)

    def status(self, native_id: str) -> Status:
        return follow.status_of(follow.inspect(self.connection, native_id)["State"])

    def logs(self, native_id: str, *, tail: int | None = None, follow: bool = False) -> Iterator[bytes]:
        return _read_logs(self.connection, native_id, tail=tail, follow=follow)

    def arrival_output(self, native_id: str) -> bytes:
        return b"".join(_read_logs(self.connection, native_id, tail=None, follow=False))

    def cancel(self, native_id: str, *, grace: float = 10.0) -> Status:
        return follow.cancel(self.connection, native_id, grace)

    def release(self, native_id: str) -> None:
        launch.remove_container(self.connection, native_id)

    def close(self) -> None:
        self.connection.close()


_read_logs = follow.read_logs
