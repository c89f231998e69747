"""GPU architectures: what an image was compiled for, and whether that runs on a device (IMG-05, GPU-11).

Rules: the CUDA C++ Programming Guide on binary compatibility, PTX and feature sets, written from memory and not
tried on devices. A lower minor version is not taken as proof: IMG-05 asks for the exact one or PTX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gonogo.jobs.model import Job
from gonogo.platforms.data import table
from gonogo.platforms.versions import compare

#: How a list covers a device: code for it or its family; PTX that the driver compiles; only binary code for a lower
#: minor version, which may run and may not; nothing.
Coverage = Literal["exact", "ptx", "minor", "none"]

_SPELLING = re.compile(
    r"(?:(?P<kind>sm|compute)_?)?(?P<major>\d+?)\.?(?P<minor>\d)(?P<suffix>[af]?)(?P<ptx>\+ptx)?", re.IGNORECASE
)


@dataclass(frozen=True)
class Architecture:
    """One entry of a list. `ptx` says that it is code for the driver to compile, `suffix` is '', 'a' or 'f'."""

    major: int
    minor: int
    suffix: str = ""
    ptx: bool = False

    @property
    def text(self) -> str:
        return f"{'compute' if self.ptx else 'sm'}_{self.major}{self.minor}{self.suffix}"


@dataclass(frozen=True)
class ImageCode:
    """What an image is known to hold, and where that is known from. No architectures: unknown. `cuda` is its toolkit's
    version, empty where unknown."""

    architectures: tuple[Architecture, ...] = ()
    origin: str = ""
    cuda: str = ""

    @property
    def words(self) -> str:
        return " ".join(one.text for one in self.architectures)


def architectures(words: Iterable[str]) -> tuple[Architecture, ...]:
    """Read `sm_90a`, `compute_90`, `9.0`, `90`, `12.0+PTX`. Words that are none are left out."""
    found: list[Architecture] = []
    for word in words:
        match = _SPELLING.fullmatch(word.strip())
        if match is None:
            continue
        major, minor, suffix = int(match["major"]), int(match["minor"]), match["suffix"].lower()
        compute = (match["kind"] or "").lower() == "compute"
        found.append(Architecture(major, minor, suffix, ptx=compute))
        if match["ptx"] and not compute:
            found.append(Architecture(major, minor, suffix, ptx=True))
    return tuple(dict.fromkeys(found))


def coverage(capability: str, code: Sequence[Architecture], *, ptx_compiles: bool = True) -> Coverage:
    """How the list covers a device of that compute capability (`9.0`). `ptx_compiles` is false where the driver is too
    old for the PTX. Raises ValueError for a capability that cannot be read."""
    major, _, minor = capability.partition(".")
    device = (int(major), int(minor))
    if any(_exact(one, device) for one in code if not one.ptx):
        return "exact"
    if ptx_compiles and any(_compiles(one, device) for one in code if one.ptx):
        return "ptx"
    plain = [one for one in code if not one.ptx and not one.suffix]
    return "minor" if any(one.major == device[0] and one.minor < device[1] for one in plain) else "none"


def covered(capability: str, names: Sequence[str]) -> bool:
    """Whether a program compiled for those architectures runs at all on the device, as torch itself judges: also binary
    code of a lower minor version."""
    try:
        return coverage(capability, architectures(names)) != "none"
    except ValueError:
        return False


def _exact(one: Architecture, device: tuple[int, int]) -> bool:
    """Code with suffix f runs within its family: the same major version, from its minor version on."""
    if one.suffix == "f":
        return one.major == device[0] and one.minor <= device[1]
    return (one.major, one.minor) == device


def _compiles(one: Architecture, device: tuple[int, int]) -> bool:
    """PTX is compiled for any device from its own version on; with a suffix only where the code itself would run."""
    return _exact(one, device) if one.suffix else (one.major, one.minor) <= device


def image_code(
    job: Job, environment: Sequence[str] = (), labels: Mapping[str, str] | None = None, *, is_there: bool = True
) -> ImageCode:
    """What is known without running anything: the job's own list, else the image's environment and labels, else the
    table of known images. `is_there` says whether the image's configuration could be read."""
    told = {**(labels or {}), **dict(pair.split("=", 1) for pair in environment if "=" in pair)} if is_there else {}
    cuda = _cuda_version(told)
    if job.image_sms:
        return ImageCode(architectures(job.image_sms), "image_sms in the job file", cuda)
    listed = architectures(re.split(r"[\s;,]+", told.get("TORCH_CUDA_ARCH_LIST", "").strip("'\"")))
    if listed:
        return ImageCode(listed, "TORCH_CUDA_ARCH_LIST of the image", cuda)
    for known in table("images")["images"]:
        if known["contains"] in (job.image or ""):
            return ImageCode(architectures(known["architectures"]), f"known image: {known['source']}", cuda)
    return ImageCode(cuda=cuda)


def _cuda_version(told: Mapping[str, str]) -> str:
    """Of the image's CUDA_VERSION, else the first bound of its NVIDIA_REQUIRE_CUDA (`cuda>=12.4 brand=…`)."""
    for text in (told.get("CUDA_VERSION", ""), told.get("NVIDIA_REQUIRE_CUDA", "")):
        match = re.search(r"(?:^|cuda>=)(\d+\.\d+)", text)
        if match:
            return match[1]
    return ""


def too_new_for(capability: str, cuda: str) -> str:
    """The CUDA that first knew the device, where the image's is older: empty otherwise, and where either is unknown."""
    first = str(table("architectures")["first_cuda"].get(capability, ""))
    return first if first and cuda and compare(cuda, first) < 0 else ""


def driver_for(cuda: str) -> str:
    """The driver that came with that CUDA (`13.0`), empty for one that the table does not have."""
    releases = table("cuda")["releases"]
    return str(releases.get(".".join(cuda.split(".")[:2]), {}).get("driver", ""))
