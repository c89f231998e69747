"""What the probe script answered, typed. Reading a question without an answer raises its Fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gonogo.platforms.faults import Fault, Garbled


@dataclass(frozen=True)
class PathAnswer:
    """A path as the asking user sees it.

    `kind` is file, directory, other (a device, a socket, a pipe), missing, dangling (a link to nothing), or hidden (a
    parent directory cannot be searched, so nobody can say whether it exists). `blocked_at` is the nearest parent that
    exists, where the path does not. `fits` is false where the question named another kind. `message` is empty, or one
    line on what is wrong.
    """

    path: str
    exists: bool
    kind: str
    readable: bool
    writable: bool
    executable: bool = False
    empty: bool = False
    dangling: bool = False
    fits: bool = True
    blocked_at: str | None = None
    message: str = ""

    @property
    def hidden(self) -> bool:
        """A parent directory may not be searched: this is 'not allowed to know', not 'missing'."""
        return self.kind == "hidden"


@dataclass(frozen=True)
class WriteAnswer:
    """Whether a file could be created in the directory and deleted again.

    `parent_writable` says, for a directory that does not exist, whether its nearest existing parent could be written.
    """

    directory: str
    exists: bool
    created: bool
    deleted: bool
    parent: str | None = None
    parent_writable: bool = False
    message: str = ""

    @property
    def holds(self) -> bool:
        return self.created and self.deleted


@dataclass(frozen=True)
class SpaceAnswer:
    """Free space in bytes for an unprivileged user; `free_inodes` is None where the filesystem counts none.

    `measured_at` is the existing directory that was asked about, `mount` the mount point it lies on ('' where unknown).
    """

    free_bytes: int
    total_bytes: int
    free_inodes: int | None
    mount: str
    measured_at: str
    filesystem: str = ""


@dataclass(frozen=True)
class PortAnswer:
    """`holder` is `name (pid N)` where it could be told. `proposal` is a port above it that is free now."""

    port: int
    free: bool
    holder: str = ""
    proposal: int | None = None
    how: str = ""
    message: str = ""


@dataclass(frozen=True)
class ProgramAnswer:
    """`path` is where the shell finds the program, None where it does not; `message` says why."""

    name: str
    path: str | None
    message: str = ""


@dataclass(frozen=True)
class NodeAnswer:
    """The host and the asking user. Memory and sizes in bytes; limits are soft limits, None for unlimited.

    `user` is empty where the UID has no name. `memory_limit` is the cgroup's bound, None where there is none. `cpus`
    counts those the process may run on. `locked_memory` and `stack` in bytes, `open_files` a count.
    """

    uid: int
    gid: int
    groups: tuple[int, ...]
    user: str
    hostname: str
    kernel: str
    arch: str
    boot_id: str
    machine_id: str
    cpus: int
    memory_total: int
    memory_available: int
    memory_limit: int | None
    shm_size: int | None
    shm_free: int | None
    open_files: int | None
    open_files_hard: int | None
    locked_memory: int | None
    stack: int | None
    tegra: bool = False
    wsl: bool = False


@dataclass(frozen=True)
class Gpu:
    """One device as `nvidia-smi` lists it. Memory in bytes, None for `[N/A]` and for what the driver does not know.

    `compute_cap` such as `9.0`; empty on drivers older than 495. `throttled` names what slows the device down now, None
    where the driver does not tell. `mig_devices` are the UUIDs of its MIG instances. `raw` holds every field by
    nvidia-smi's own name.
    """

    index: int
    name: str
    uuid: str
    memory_total: int | None
    memory_used: int | None
    compute_cap: str = ""
    utilization: int | None = None
    mig_mode: str = ""
    ecc_uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    persistence: str = ""
    temperature: int | None = None
    throttled: tuple[str, ...] | None = None
    mig_devices: tuple[str, ...] = ()
    raw: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GpuProcess:
    """A compute process; `memory` in bytes, None where the driver does not tell."""

    pid: int
    name: str
    gpu_uuid: str
    memory: int | None


@dataclass(frozen=True)
class GpuXid:
    """An Xid error of the last day in the kernel's log: the device's PCI bus (`0000:3b:00`) and the error's number."""

    bus: str
    code: int
    line: str


@dataclass(frozen=True)
class GpuAnswer:
    """What `nvidia-smi` said.

    `trouble` is '' when it answered, else one of: absent (no such program), mismatch (driver and library versions
    differ), no-driver (it could not talk to the driver), no-devices, silent (its bound passed), failed (anything else).
    `error` is then the tool's own error line and `exit_code` its status. `driver` and `cuda` are versions as text, ''
    where unknown. `processes` is None where the tool would not list them, and `processes_error` says why. `xids` is
    None where the kernel's log may not be read. `topology` is the matrix of `nvidia-smi topo -m`, where asked for.
    """

    trouble: str
    error: str
    exit_code: int | None
    driver: str
    cuda: str
    gpus: tuple[Gpu, ...] = ()
    processes: tuple[GpuProcess, ...] | None = None
    processes_error: str = ""
    xids: tuple[GpuXid, ...] | None = None
    topology: str = ""

    @property
    def answered(self) -> bool:
        return not self.trouble


@dataclass(frozen=True)
class ModulesAnswer:
    """`found` maps each module to its file or folder, '' where it cannot be found; `errors` has words for some.

    `interpreter` is the program that answered.
    """

    interpreter: str
    version: str
    found: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(name for name, place in self.found.items() if not place)


@dataclass(frozen=True)
class TorchAnswer:
    """What `torch.cuda` says in the job's interpreter.

    `architectures` as torch names them (`sm_90`, `compute_90`), `capabilities` such as `9.0`, one for each device.
    `trouble` is '' or one line: torch is missing, or CUDA is not available and why. `ran` holds the numbers of the
    devices on which a kernel ran to its end, `kernel_trouble` what torch said of the first on which none did.
    `bandwidth` is that of a sum over all devices in GB/s, None where it was not asked for or did not come out right,
    for the reason in `reduce_trouble`.
    """

    trouble: str
    torch_version: str
    cuda_version: str
    available: bool
    device_count: int
    architectures: tuple[str, ...]
    capabilities: tuple[str, ...]
    interpreter: str = ""
    ran: tuple[int, ...] = ()
    kernel_trouble: str = ""
    bandwidth: float | None = None
    reduce_trouble: str = ""


@dataclass(frozen=True)
class HomeAnswer:
    """Whether the home could be made, a file written in each cache folder, and all of it removed.

    `user` is what `getpass.getuser()` said in `interpreter`, both empty where there is no python. `message` is empty,
    or one line on what went wrong.
    """

    directory: str
    made: bool
    cached: bool
    deleted: bool
    user: str = ""
    interpreter: str = ""
    message: str = ""

    @property
    def works(self) -> bool:
        return self.made and self.cached and not self.message


@dataclass(frozen=True)
class OwnedAnswer:
    """Paths in the directory that belong to root. `cut` says that there are more than were listed."""

    directory: str
    paths: tuple[str, ...]
    cut: bool = False


@dataclass(frozen=True)
class ChownAnswer:
    """`owner` such as `1001:1001` is whom the file belonged to afterwards, empty where it could not be made."""

    directory: str
    holds: bool
    owner: str = ""
    message: str = ""


Answer = (
    PathAnswer
    | WriteAnswer
    | SpaceAnswer
    | PortAnswer
    | ProgramAnswer
    | NodeAnswer
    | GpuAnswer
    | ModulesAnswer
    | TorchAnswer
    | HomeAnswer
    | OwnedAnswer
    | ChownAnswer
)
A = TypeVar("A")


@dataclass(frozen=True)
class Answers:
    """All answers of one run of the script, by the callers' keys. `target` names the host for messages."""

    by_key: Mapping[str, Answer | Fault]
    target: str = ""

    def path(self, key: str) -> PathAnswer:
        return self._get(key, PathAnswer)

    def write(self, key: str) -> WriteAnswer:
        return self._get(key, WriteAnswer)

    def space(self, key: str) -> SpaceAnswer:
        return self._get(key, SpaceAnswer)

    def port(self, key: str) -> PortAnswer:
        return self._get(key, PortAnswer)

    def program(self, key: str) -> ProgramAnswer:
        return self._get(key, ProgramAnswer)

    def node(self, key: str = "node") -> NodeAnswer:
        return self._get(key, NodeAnswer)

    def gpu(self, key: str = "gpu") -> GpuAnswer:
        return self._get(key, GpuAnswer)

    def modules(self, key: str) -> ModulesAnswer:
        return self._get(key, ModulesAnswer)

    def torch(self, key: str = "torch") -> TorchAnswer:
        return self._get(key, TorchAnswer)

    def home(self, key: str = "home") -> HomeAnswer:
        return self._get(key, HomeAnswer)

    def owned(self, key: str) -> OwnedAnswer:
        return self._get(key, OwnedAnswer)

    def chown(self, key: str) -> ChownAnswer:
        return self._get(key, ChownAnswer)

    def _get(self, key: str, kind: type[A]) -> A:
        """The answer to that question. Raises its Fault where it had none, Garbled where it was not asked for."""
        found = self.by_key.get(key)
        if isinstance(found, Fault):
            raise found
        if not isinstance(found, kind):
            raise Garbled(
                f"the probe script has no {kind.__name__} for {key!r}{' on ' + self.target if self.target else ''}"
            )
        return found
