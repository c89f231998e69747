"""What nvidia-smi printed. Field names and error texts: drivers 470 to 580, `nvidia-smi --help-query-gpu`."""

from __future__ import annotations

import re

from gonogo.platforms.faults import Garbled
from gonogo.platforms.probe.answers import Gpu, GpuAnswer, GpuProcess, GpuXid
from gonogo.platforms.probe.lines import Reply, error_line
from gonogo.platforms.probe.questions import GpuQuestion

_MIB = 1024 * 1024
_CUDA = re.compile(r"CUDA(?: \w+)? Version\s*:\s*(\d+(?:\.\d+)*)")
#: `[ 123.456] NVRM: Xid (PCI:0000:3b:00): 79, pid=…`, the time in seconds since boot. Not compared with a real log.
_XID = re.compile(
    r"^(?:<\d+>)?(?:\[\s*(?P<when>\d+\.\d+)\])?.*NVRM: Xid \(PCI:(?P<bus>[0-9a-fA-F:.]+)\): (?P<code>\d+)"
)
_RECENT = 24 * 3600.0
_UNKNOWN = re.compile(
    r"^\[?(?:N/A|Not Supported|Unknown Error|Not Available|Insufficient Permissions|Requested functionality.*)\]?$",
    re.IGNORECASE,
)

#: Bits of clocks_throttle_reasons.active (NVML, nvmlClocksThrottleReason*) that mean trouble.
_THROTTLES = {
    0x08: "hardware slowdown",
    0x20: "thermal (software)",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}

#: What the tool's text means, in the order of asking.
_TROUBLES = (
    ("mismatch", re.compile(r"driver/library version mismatch", re.I)),
    ("no-driver", re.compile(r"couldn't communicate with the NVIDIA driver|driver not loaded|not loaded", re.I)),
    ("no-devices", re.compile(r"no devices were found|no devices found", re.I)),
)


def gpu_answer(question: GpuQuestion, reply: Reply) -> GpuAnswer:
    """Devices and processes, or what kept the tool from telling. Raises Garbled where neither is named."""
    status = reply.first("devices-status")
    text = reply.text("devices")
    if status == "absent":
        return _in_trouble("absent", "nvidia-smi is not on PATH", None)
    if "silent" in reply or "over" not in reply or status in ("137", "124"):
        return _in_trouble("silent", f"nvidia-smi gave no answer within {question.seconds} s", None)
    code = int(status)
    for trouble, pattern in _TROUBLES:
        found = next((line.strip() for line in text.splitlines() if pattern.search(line)), None)
        if found:
            return _in_trouble(trouble, found, code)
    if code != 0:
        return _in_trouble("failed", error_line(text) or f"nvidia-smi failed with exit code {code} and no words", code)
    return _answered(reply, text, code)


def _in_trouble(trouble: str, error: str, code: int | None) -> GpuAnswer:
    return GpuAnswer(trouble=trouble, error=error, exit_code=code, driver="", cuda="")


def _answered(reply: Reply, text: str, code: int) -> GpuAnswer:
    fields = reply.first("fields").split(",")
    rows = [row for row in (_row(fields, line) for line in text.splitlines()) if row]
    if not rows:
        raise Garbled(f"nvidia-smi lists no device and no error: {error_line(text)!r}", detail=text)
    remaps, instances = _remaps(reply), _mig_devices(reply)
    cuda = _CUDA.search(reply.text("table"))
    return GpuAnswer(
        trouble="",
        error="",
        exit_code=code,
        driver=known(rows[0].get("driver_version", "")),
        cuda=cuda[1] if cuda else "",
        gpus=tuple(_gpu(row, remaps, instances) for row in rows),
        processes=_processes(reply),
        processes_error=error_line(reply.text("apps")) if reply.first("apps-status") != "0" else "",
        xids=_xids(reply),
        topology=reply.text("topology") if reply.first("topology-status", "") == "0" else "",
    )


def _row(fields: list[str], line: str) -> dict[str, str] | None:
    """A CSV line by field name; None for a line that is none (a warning among them)."""
    values = [value.strip() for value in line.split(",")]
    if len(values) != len(fields) or not values[0].isdigit():
        return None
    return dict(zip(fields, values, strict=True))


def known(text: str) -> str:
    """The text, or '' for `[N/A]` and its like."""
    return "" if _UNKNOWN.match(text.strip()) else text.strip()


def whole(text: str | None) -> int | None:
    """The leading whole number (`81559`, `81559 MiB`), None where there is none."""
    match = re.match(r"\s*(\d+)", text or "")
    return int(match[1]) if match else None


def _mib(text: str | None) -> int | None:
    number = whole(text)
    return None if number is None else number * _MIB


def _gpu(row: dict[str, str], remaps: dict[str, tuple[bool, bool]], instances: dict[str, tuple[str, ...]]) -> Gpu:
    uuid = known(row["uuid"])
    pending, failed = remaps.get(uuid, (None, None))
    return Gpu(
        index=int(row["index"]),
        name=known(row["name"]),
        uuid=uuid,
        memory_total=_mib(row.get("memory.total")),
        memory_used=_mib(row.get("memory.used")),
        compute_cap=known(row.get("compute_cap", "")),
        utilization=whole(row.get("utilization.gpu")),
        mig_mode=known(row.get("mig.mode.current", "")),
        ecc_uncorrected=whole(row.get("ecc.errors.uncorrected.volatile.total")),
        remap_pending=pending if pending is not None else _yes(row.get("retired_pages.pending", "")),
        remap_failed=failed,
        persistence=known(row.get("persistence_mode", "")),
        temperature=whole(row.get("temperature.gpu")),
        throttled=_throttled(row.get("clocks_throttle_reasons.active", "")),
        mig_devices=instances.get(uuid, ()),
        raw=row,
    )


def _yes(text: str) -> bool | None:
    return {"yes": True, "1": True, "no": False, "0": False}.get(known(text).lower())


def _throttled(text: str) -> tuple[str, ...] | None:
    try:
        bits = int(known(text), 16)
    except ValueError:
        return None
    return tuple(words for bit, words in _THROTTLES.items() if bits & bit)


def _remaps(reply: Reply) -> dict[str, tuple[bool, bool]]:
    """Pending and failed row remaps by UUID; empty on drivers and devices without (before Ampere)."""
    if reply.first("remaps-status") != "0":
        return {}
    found = {}
    for line in reply.all("remaps"):
        words = [word.strip() for word in line.split(",")]
        if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
            found[words[0]] = (words[1] != "0", words[2] != "0")
    return found


def _mig_devices(reply: Reply) -> dict[str, tuple[str, ...]]:
    """UUIDs of the MIG instances by the UUID of their device, from `nvidia-smi -L`."""
    found: dict[str, tuple[str, ...]] = {}
    device = ""
    for line in reply.all("instances"):
        match = re.search(r"\(UUID: ((GPU|MIG)-[^)]+)\)", line)
        if match and match[2] == "GPU":
            device = match[1]
        elif match:
            found[device] = (*found.get(device, ()), match[1])
    return found


def _xids(reply: Reply) -> tuple[GpuXid, ...] | None:
    """Those of the last day; one whose time cannot be read counts as recent. None where the log may not be read."""
    if "uptime" not in reply:
        return None
    now = float(reply.first("uptime").split()[0])
    found = []
    for line in reply.all("xid"):
        match = _XID.search(line)
        if match and (match["when"] is None or now - float(match["when"]) < _RECENT):
            found.append(GpuXid(match["bus"], int(match["code"]), line))
    return tuple(found)


def _processes(reply: Reply) -> tuple[GpuProcess, ...] | None:
    """Compute processes; None where the tool would not list them: 'none' must never be read from a failure."""
    if reply.first("apps-status") != "0":
        return None
    found = []
    for line in reply.all("apps"):
        words = [word.strip() for word in line.split(",", 3)]
        if len(words) == 4 and words[0].isdigit():
            found.append(GpuProcess(pid=int(words[0]), name=words[3], gpu_uuid=words[1], memory=_mib(words[2])))
    return tuple(found)
