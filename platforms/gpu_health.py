"""What is not normal about a GPU, by nvidia-smi and the kernel's log (GPU-08)."""

from __future__ import annotations

from collections.abc import Sequence

from gonogo.platforms.probe.answers import Gpu, GpuAnswer


def health_problems(gpu: Gpu) -> list[str]:
    """What nvidia-smi reports as not normal for this device."""
    found: list[str] = []
    if gpu.ecc_uncorrected:
        found.append(f"{gpu.ecc_uncorrected} uncorrected ECC errors")
    if gpu.remap_pending:
        found.append("a row remap is pending")
    if gpu.remap_failed:
        found.append("a row remap failed")
    if gpu.throttled:
        found.append(f"slowed down by {', '.join(gpu.throttled)}")
    if gpu.persistence.lower() == "disabled":
        found.append("persistence mode is off: each first call waits for the driver")
    if gpu.raw.get("compute_mode") == "Prohibited":
        found.append("compute mode Prohibited: no program may use it")
    return [f"GPU {gpu.index}: {one}" for one in found]


def mig_problem(gpu: Gpu, asked: Sequence[str]) -> str:
    """Where the device's MIG mode is not what the job expects, which names the instances it wants; else empty."""
    on = gpu.mig_mode.lower() == "enabled"
    wants = any(name.startswith("MIG-") for name in asked)
    if on and not gpu.mig_devices:
        return f"GPU {gpu.index}: MIG is on and has no instance: no program can use it"
    if on and not wants:
        return f"GPU {gpu.index}: MIG is on, and the job names no MIG instance: a process gets the first one only"
    return ""


def xid_problems(answer: GpuAnswer, gpus: Sequence[Gpu]) -> list[str]:
    """Xid errors that the kernel has logged within a day for those devices."""
    found = []
    for gpu in gpus:
        bus = gpu.raw.get("pci.bus_id", "").lower().rpartition(".")[0].lstrip("0")
        codes = [one.code for one in answer.xids or () if bus and one.bus.lower().lstrip("0") == bus]
        found += [f"GPU {gpu.index}: Xid {code} in the kernel log" for code in dict.fromkeys(codes)]
    return found
