"""What can be asked of a host in one run of the probe script.

`key` is the caller's own name for the question: it never travels, so it may hold anything. Paths and names may hold any
character but NUL (non-UTF-8 bytes as `os.fsdecode` gives them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PathKind = Literal["any", "file", "directory"]


@dataclass(frozen=True)
class PathQuestion:
    """Does the path exist, what is it, and may the asking user read and write it? `kind` is what its name promises."""

    key: str
    path: str
    kind: PathKind = "any"


@dataclass(frozen=True)
class WriteQuestion:
    """Can the asking user create and delete a file in the directory? The file is removed, also on a signal."""

    key: str
    directory: str


@dataclass(frozen=True)
class SpaceQuestion:
    """Free bytes and inodes of the filesystem under the directory, or under its nearest existing ancestor."""

    key: str
    directory: str


@dataclass(frozen=True)
class PortQuestion:
    """Can a program of the asking user listen on the TCP port, on IPv4 and (where there is one) IPv6?"""

    key: str
    port: int


@dataclass(frozen=True)
class ProgramQuestion:
    """Where is the program: a name for PATH, or a path?"""

    key: str
    name: str


@dataclass(frozen=True)
class NodeQuestion:
    """Identity of the asking user and the host, its memory, `/dev/shm` and limits."""

    key: str = "node"


@dataclass(frozen=True)
class GpuQuestion:
    """What `nvidia-smi` says. `seconds` bounds the tool inside the script, so that other questions still answer.

    With `topology` also how the devices are connected.
    """

    key: str = "gpu"
    seconds: int = 15
    topology: bool = False


@dataclass(frozen=True)
class ModulesQuestion:
    """Which Python modules or distributions can be found by that interpreter (a name for PATH, or a path)?

    `transformers==4.57.1` asks for that version too; other bounds are not weighed. Only parent packages are imported.
    """

    key: str
    python: str
    modules: tuple[str, ...]
    seconds: int = 20


@dataclass(frozen=True)
class TorchQuestion:
    """What `torch.cuda` says in that interpreter, in a process of its own with its own bound.

    With `all_reduce` also a timed sum over all devices.
    """

    key: str = "torch"
    python: str = "python3"
    seconds: int = 60
    all_reduce: bool = False


@dataclass(frozen=True)
class HomeQuestion:
    """Do user name, home and caches work for the asking user, whom the user table may not know?

    A home is made in the directory and removed again; without `mounted`, the directory is itself the home and is left
    where it is. `folders` maps each variable to its folder below the home, '' for the home itself.
    """

    key: str
    directory: str
    user: str
    folders: tuple[tuple[str, str], ...]
    mounted: bool = True
    seconds: int = 10


@dataclass(frozen=True)
class OwnedQuestion:
    """What in the directory belongs to root, down to its children's children? All directories in one `find`."""

    key: str
    directory: str


@dataclass(frozen=True)
class ChownQuestion:
    """Can the asking user, who is root, give a file in the directory to that user and group? The file is removed."""

    key: str
    directory: str
    uid: int
    gid: int


Question = (
    PathQuestion
    | WriteQuestion
    | SpaceQuestion
    | PortQuestion
    | ProgramQuestion
    | NodeQuestion
    | GpuQuestion
    | ModulesQuestion
    | TorchQuestion
    | HomeQuestion
    | OwnedQuestion
    | ChownQuestion
)
