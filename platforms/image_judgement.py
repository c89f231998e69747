"""Whether an image's programs run on a job's GPUs, from all that is known of both (IMG-05)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gonogo.platforms.architectures import ImageCode, architectures, coverage, too_new_for
from gonogo.platforms.faults import Fault, Garbled, ToolMissing
from gonogo.platforms.gpus import JobGpus
from gonogo.platforms.probe.answers import Gpu, TorchAnswer
from gonogo.platforms.versions import compare


@dataclass(frozen=True)
class ImageJudgement:
    """`found` and `origin` for a person; `fault` where it could not be proven, `message` where it does not hold."""

    holds: bool
    found: str
    origin: str
    message: str = ""
    remedy: str = ""
    fault: Fault | None = None


def judge_image(used: JobGpus, code: ImageCode, torch: TorchAnswer | Fault | None) -> ImageJudgement:
    """By the list where it has the device's own code or PTX for it; else by a kernel that torch ran; else not.

    Binary code for a lower minor version of the same architecture is no proof: it often runs, and what is compiled at
    run time (Triton, nvrtc) then fails. A list that the job file gives is final.
    """
    told = torch if isinstance(torch, TorchAnswer) else None
    if not code.architectures and told is not None and told.architectures:
        code = ImageCode(
            architectures(told.architectures), "torch.cuda.get_arch_list() in the image", told.cuda_version
        )
    found, origin = code.words or "unknown", code.origin or "nobody"
    # All or none: torch may number the devices in another order than nvidia-smi does.
    ran = told is not None and len(told.ran) >= len(used.chosen)
    unproven = [] if ran else [gpu for gpu in used.chosen if not _listed(gpu, code, used)]
    if not unproven:
        return ImageJudgement(True, found, f"{origin}; a kernel of torch in it ran on every device" if ran else origin)
    unknown = [gpu for gpu in unproven if not gpu.compute_cap]
    if code.architectures and not unknown:
        return _not_for(unproven[0], code, found, origin, told)
    return _unknown(unproven, code, torch, found, origin)


def _listed(gpu: Gpu, code: ImageCode, used: JobGpus) -> bool:
    return bool(gpu.compute_cap) and coverage(
        gpu.compute_cap, code.architectures, ptx_compiles=_compiles_ptx(code, used.answer.cuda)
    ) in ("exact", "ptx")


def _compiles_ptx(code: ImageCode, driver_cuda: str) -> bool:
    """A driver compiles PTX of its own CUDA level and older. Unknown levels are left to GPU-02."""
    return not (code.cuda and driver_cuda) or compare(driver_cuda, code.cuda) >= 0


def _not_for(gpu: Gpu, code: ImageCode, found: str, origin: str, torch: TorchAnswer | None) -> ImageJudgement:
    device = f"GPU {gpu.index}, {gpu.name}"
    message = f"the image has no code for compute capability {gpu.compute_cap} ({device}), only {found}"
    remedy = f"Use an image that is built for {gpu.compute_cap}, or other GPUs"
    if torch is not None and torch.kernel_trouble:
        message += f"; a kernel failed: {torch.kernel_trouble}"
    elif coverage(gpu.compute_cap, code.architectures) == "minor":
        message += "; code for a lower minor version may run, which nothing here has proven"
        remedy += f'; once it is known to run there, add "{gpu.compute_cap}" to `image_sms`'
    return ImageJudgement(False, found, origin, message, remedy)


def _unknown(
    gpus: Sequence[Gpu], code: ImageCode, torch: TorchAnswer | Fault | None, found: str, origin: str
) -> ImageJudgement:
    silent = next((gpu for gpu in gpus if not gpu.compute_cap), None)
    if silent is not None:
        fault: Fault = Garbled(
            f"GPU {silent.index} ({silent.name}) does not tell its compute capability: drivers before 495 do not",
            remedy="Install a newer driver, or attest the row with the capability that the device is known to have",
        )
        return ImageJudgement(False, found, origin, fault=fault)
    gpu = gpus[0]
    first = too_new_for(gpu.compute_cap, code.cuda)
    hint = f"; its CUDA {code.cuda} does not know {gpu.compute_cap}, the first that does is {first}" if first else ""
    detail = torch.message if isinstance(torch, Fault) else torch.trouble if torch is not None else ""
    fault = ToolMissing(
        f"nothing says what the image is compiled for{hint}",
        detail=detail,
        remedy=f'Set `image_sms: ["{gpu.compute_cap}"]`, with all that the image is built for, or attest the row',
    )
    return ImageJudgement(False, found, origin, fault=fault)
