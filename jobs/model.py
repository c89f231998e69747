"""The job file's model: WHAT shall run. Source: interface.md, 'The job file'."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A part of the job file: unknown keys are faults, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Input(Section):
    name: str
    uri: str
    mount: str | None = None
    fields: list[str] = Field(default_factory=list)
    read_only: bool = True


class Output(Section):
    name: str
    uri: str
    mount: str | None = None


class Mount(Section):
    source: str
    target: str
    read_only: bool = False


class Requires(Section):
    """Sizes are bytes once read; version bounds are text such as `>=580`."""

    gpu_memory: int | None = None
    gpu_memory_warn: int | None = None
    disk: int | None = None
    memory: int | None = None
    shm: int | None = None
    open_files: int | None = None
    driver: str | None = None
    cuda: str | None = None
    container_toolkit: str | None = None
    compute_capability: list[str] = Field(default_factory=list)
    exclusive_gpus: bool = False
    master_reach: bool | None = None


class PublishedPort(Section):
    host: int
    container: int
    protocol: Literal["tcp", "udp"] = "tcp"


class Ports(Section):
    master: int | None = None
    publish: list[PublishedPort] = Field(default_factory=list)


class Docker(Section):
    host: str | None = None
    network: str | None = None
    gpu_ids: list[str] = Field(default_factory=list)
    auto_remove: bool = False


class Attestation(Section):
    row: str
    param: str = ""
    reason: str
    owner: str


class Waiver(Section):
    row: str
    param: str = ""
    reason: str
    owner: str
    until: date


class Job(Section):
    """One job. `source` names the file it came from, empty for an ad-hoc job."""

    name: str = "job"
    id: str | None = None
    image: str | None = None
    command: str | list[str] = ""
    workdir: str | None = None
    gpus: int = 0
    nodes: int = 1
    processes: int | None = None
    splits: int | None = None
    env: dict[str, str] = Field(default_factory=dict)
    credentials: list[str] = Field(default_factory=list)
    inputs: list[Input] = Field(default_factory=list)
    outputs: list[Output] = Field(default_factory=list)
    mounts: list[Mount] = Field(default_factory=list)
    requires: Requires = Field(default_factory=Requires)
    run_as: str = "submitter"
    ports: Ports = Field(default_factory=Ports)
    python_packages: list[str] = Field(default_factory=list)
    uses: list[str] = Field(default_factory=list)
    image_sms: list[str] = Field(default_factory=list)
    time_limit: int | None = None  # seconds
    batch: dict[str, Any] = Field(default_factory=dict)
    checkpoints: dict[str, Any] = Field(default_factory=dict)
    automl: dict[str, Any] = Field(default_factory=dict)
    docker: Docker | None = None
    brev: dict[str, Any] | None = None
    lepton: dict[str, Any] | None = None
    slurm: dict[str, Any] | None = None
    skypilot: dict[str, Any] | None = None
    nemo: dict[str, Any] | None = None
    attested: list[Attestation] = Field(default_factory=list)
    waivers: list[Waiver] = Field(default_factory=list)

    @property
    def processes_per_node(self) -> int:
        """Processes on each node: `processes`, else `gpus` when that is a count, else 1."""
        return self.processes if self.processes is not None else max(self.gpus, 1)
