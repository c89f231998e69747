"""The job file's model: WHAT shall run. As users write it: `job.schema.json`.

Sizes are bytes and times are seconds once read. A `Job` can be made from a file (`loading.load_job`) or by a program
(`Job(name="x", gpus=1)`); both go through the same validators. Values do not change once read.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gonogo.jobs import fields as kinds
from gonogo.jobs import places
from gonogo.jobs.nodes import Scalar, to_plain

MAX_GPUS, MAX_NODES = 4096, 100_000
#: Sections that choose a platform; an empty one (`docker:`) counts.
PLATFORM_SECTIONS = ("docker", "brev", "lepton", "slurm", "skypilot")


class Section(BaseModel):
    """A part of the job file: unknown keys are faults, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty_keys(cls, data: Any) -> Any:
        """A key without a value (`inputs:`) is as good as absent, but an empty platform section is an empty mapping."""
        if not isinstance(data, dict):
            return data
        empty = {key for key, value in data.items() if isinstance(value, Scalar) and value.is_null}
        kept = {key: value for key, value in data.items() if key not in empty or key not in cls.model_fields}
        return {**kept, **{key: {} for key in empty if key in PLATFORM_SECTIONS and key in cls.model_fields}}


class _AlsoText:
    """In the JSON Schema: text or a number may stand for the mapping."""

    def __init__(self, *types: str) -> None:
        self.types = types

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": kind} for kind in self.types] + [handler(core)]}


class Input(Section):
    """Something the job reads. `fields` are required in each record of an annotation file."""

    name: kinds.Name
    uri: places.URI
    mount: places.MountPoint | None = None
    fields: Annotated[list[kinds.Filled], BeforeValidator(kinds.as_list)] = Field(default_factory=list)
    read_only: kinds.Flag = True


class Output(Section):
    """Something the job writes."""

    name: kinds.Name
    uri: places.URI
    mount: places.MountPoint | None = None


class Mount(Section):
    """A folder of the target inside the container."""

    source: places.AbsolutePath
    target: places.MountPoint
    read_only: kinds.Flag = False


class Requires(Section):
    """What the target must have. Sizes are bytes; version bounds are text such as `>=580`."""

    gpu_memory: kinds.Size | None = None
    gpu_memory_warn: kinds.Size | None = None
    disk: kinds.Size | None = None
    memory: kinds.Size | None = None
    shm: kinds.Size | None = None
    open_files: Annotated[int, BeforeValidator(kinds.whole_number(1, 2**40)), kinds.count_schema(1, 2**40)] | None = (
        None
    )
    driver: kinds.Bound | None = None
    cuda: kinds.Bound | None = None
    container_toolkit: kinds.Bound | None = None
    compute_capability: Annotated[list[kinds.Capability], BeforeValidator(kinds.as_list)] = Field(default_factory=list)
    exclusive_gpus: kinds.Flag = False
    master_reach: kinds.Flag | None = None


def _as_protocol(value: object) -> str:
    text = kinds.as_text(value).lower()
    if text not in ("tcp", "udp"):
        raise kinds.wrong(f"must be tcp or udp, not {kinds.shown(value)}")
    return text


class PublishedPort(Section):
    """A container's port on the host."""

    host: places.Port
    container: places.Port
    protocol: Annotated[Literal["tcp", "udp"], BeforeValidator(_as_protocol)] = "tcp"


class Ports(Section):
    """`master` is the rendezvous port of a job with several processes."""

    master: places.MasterPort | None = None
    publish: list[Annotated[PublishedPort, BeforeValidator(places.publish_parts), _AlsoText("integer", "string")]] = (
        Field(default_factory=list)
    )


def _as_gpu_id(value: object) -> str:
    text = kinds.as_filled(value).strip()
    if re.fullmatch(r"0|[1-9][0-9]{0,3}", text) or re.fullmatch(r"(GPU|MIG)-[0-9a-fA-F][0-9a-fA-F/-]{3,80}", text):
        return text
    raise kinds.wrong(f"{kinds.shown(value)} is not a GPU index or UUID", hint="write one such as 0 or GPU-8f2c…")


class Docker(Section):
    """The docker platforms, local and remote."""

    host: places.DockerHost | None = None
    network: kinds.Name | None = None
    gpu_ids: Annotated[
        list[Annotated[str, BeforeValidator(_as_gpu_id), WithJsonSchema({"type": ["integer", "string"]})]],
        BeforeValidator(kinds.as_list),
    ] = Field(default_factory=list)
    auto_remove: kinds.Flag = False


class Attestation(Section):
    """The user vouches for a row that could not be proven."""

    row: kinds.RowID
    param: kinds.Text = ""
    reason: kinds.Filled
    owner: kinds.Filled


class Waiver(Section):
    """A row that may fail until that date."""

    row: kinds.RowID
    param: kinds.Text = ""
    reason: kinds.Filled
    owner: kinds.Filled
    until: kinds.Day


def _free_values(value: object) -> object:
    """The leaves of a free mapping as ordinary values."""
    if isinstance(value, Scalar):
        return to_plain(value)
    if isinstance(value, dict):
        return {str(key): _free_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_free_values(item) for item in value]
    return value


_Free = Annotated[
    dict[str, Any],
    BeforeValidator(_free_values),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]


class Batch(Section):
    """How many records a step takes, over how many shards: checked against the number of records (S3-06)."""

    size: Annotated[int, BeforeValidator(kinds.whole_number(1, 2**40)), kinds.count_schema(1, 2**40)] | None = None
    shards: Annotated[int, BeforeValidator(kinds.whole_number(1, 2**40)), kinds.count_schema(1, 2**40)] | None = None


class Checkpoints(Section):
    """Size of one checkpoint in bytes, how many are kept, and seconds between two."""

    size: kinds.Size | None = None
    keep: Annotated[int, BeforeValidator(kinds.whole_number(0, 10**6)), kinds.count_schema(0, 10**6)] | None = None
    interval: kinds.Duration | None = None


class Job(Section):
    """One job."""

    name: kinds.Name = "job"
    id: kinds.LaunchID | None = None
    image: places.Image | None = None
    command: kinds.Command = ""
    workdir: places.AbsolutePath | None = None
    gpus: Annotated[
        int,
        BeforeValidator(kinds.whole_number(-1, MAX_GPUS, hint="GPUs per node: 0 none, -1 all visible")),
        kinds.count_schema(-1, MAX_GPUS),
    ] = 0
    nodes: Annotated[int, BeforeValidator(kinds.whole_number(1, MAX_NODES)), kinds.count_schema(1, MAX_NODES)] = 1
    processes: Annotated[int, BeforeValidator(kinds.whole_number(1, 4096)), kinds.count_schema(1, 4096)] | None = None
    splits: Annotated[int, BeforeValidator(kinds.whole_number(1, 10_000)), kinds.count_schema(1, 10_000)] | None = None
    env: dict[kinds.EnvName, kinds.Text] = Field(default_factory=dict)
    credentials: Annotated[list[kinds.EnvName], BeforeValidator(kinds.as_list)] = Field(default_factory=list)
    inputs: list[Input] = Field(default_factory=list)
    outputs: list[Output] = Field(default_factory=list)
    mounts: list[Annotated[Mount, BeforeValidator(places.mount_parts), _AlsoText("string")]] = Field(
        default_factory=list
    )
    requires: Requires = Field(default_factory=Requires)
    run_as: kinds.RunAs = "submitter"
    ports: Ports = Field(default_factory=Ports)
    python_packages: Annotated[list[kinds.Filled], BeforeValidator(kinds.as_list)] = Field(default_factory=list)
    uses: Annotated[list[kinds.Filled], BeforeValidator(kinds.as_list)] = Field(default_factory=list)
    image_sms: Annotated[list[kinds.Architecture], BeforeValidator(kinds.as_list)] = Field(default_factory=list)
    time_limit: kinds.Duration | None = None
    batch: Batch = Field(default_factory=Batch)
    checkpoints: Checkpoints = Field(default_factory=Checkpoints)
    automl: _Free = Field(default_factory=dict)
    docker: Docker | None = None
    brev: _Free | None = None
    lepton: _Free | None = None
    slurm: _Free | None = None
    skypilot: _Free | None = None
    nemo: _Free | None = None
    attested: list[Attestation] = Field(default_factory=list)
    waivers: list[Waiver] = Field(default_factory=list)

    @property
    def processes_per_node(self) -> int:
        """Processes on each node: `processes`, else `gpus` when that is a count, else 1."""
        return self.processes if self.processes is not None else max(self.gpus, 1)

    @property
    def slug(self) -> str:
        """The name as the first part of a launch ID: letters, digits and '-', at most 33 of them."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.name)[:33].strip("-") or "job"
