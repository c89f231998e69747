"""A scenario (README.md has its fields) -> one self-contained nvidia-smi for a host or a container, as sh text."""

import json
import os

HERE = os.path.dirname(os.path.realpath(__file__))
UNITS = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "memory.free": "MiB",
    "used_memory": "MiB",
    "utilization.gpu": "%",
}
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.65"
#: What a device answers where the scenario does not say.
DEVICE = {
    "name": "NVIDIA H100 80GB HBM3",
    "memory.total": 81559,
    "memory.used": 3,
    "utilization.gpu": 0,
    "compute_cap": "9.0",
    "mig.mode.current": "Disabled",
    "ecc.errors.uncorrected.volatile.total": 0,
    "retired_pages.pending": "[N/A]",
    "persistence_mode": "Enabled",
    "temperature.gpu": 31,
    "power.draw": "71.10",
    "power.limit": "700.00",
    "compute_mode": "Default",
    "clocks_throttle_reasons.active": "0x0000000000000001",
    "remapped_rows.pending": 0,
    "remapped_rows.failure": 0,
}


class NoSuchDevice(Exception):
    """A selection names a device that the host does not have."""


def load(path):
    """The scenario with one entry for each device, complete but for the index."""
    with open(path) as file:
        scenario = json.load(file)
    gpus = []
    for entry in scenario.get("gpus", []):
        for _ in range(entry.get("count", 1)):
            gpus.append(device(len(gpus), entry, scenario))
    scenario["gpus"] = gpus
    return scenario


def device(index, entry, scenario):
    own = {name: value for name, value in entry.items() if name not in ("count", "mig")}
    gpu = dict(DEVICE, uuid=f"GPU-{index:08x}-0000-0000-0000-{index:012x}")
    if "mig" in entry:
        gpu["mig.mode.current"] = "Enabled"
    gpu.update(own, driver_version=scenario["driver_version"], mig=[])
    for number, slice_ in enumerate(entry.get("mig", [])):
        uuid = f"MIG-{index:08x}-0000-0000-0000-{number:012x}"
        gpu["mig"].append({"profile": slice_["profile"], "uuid": slice_.get("uuid", uuid)})
    gpu["gpu_uuid"] = gpu["uuid"]
    gpu["pci.bus_id"] = "00000000:%02X:00.0" % (27 + index)
    return gpu


def selected(scenario, visible):
    """Positions of the devices that NVIDIA_VISIBLE_DEVICES=`visible` gives, in the host's order, and MIG UUIDs named.

    Raises NoSuchDevice.
    """
    gpus = scenario["gpus"]
    if visible == "all":
        return list(range(len(gpus))), set()
    chosen, slices = set(), set()
    for name in visible.split(","):
        match = [at for at, gpu in enumerate(gpus) if name in (str(at), gpu["uuid"])]
        for at, gpu in enumerate(gpus):
            if name in [one["uuid"] for one in gpu["mig"]]:
                match.append(at)
                slices.add(name)
        if not match:
            raise NoSuchDevice(name)
        chosen.update(match)
    return sorted(chosen), slices


def render(scenario, chosen, slices=(), inside=False):
    """The program, as bytes. `inside` a container the processes of the host are not seen."""
    shown = []
    for index, at in enumerate(chosen):
        gpu = dict(scenario["gpus"][at], index=index)
        gpu["mig"] = [one for one in gpu["mig"] if not slices or one["uuid"] in slices]
        shown.append(gpu)
    processes = [] if inside else [process_row(one, scenario["gpus"]) for one in scenario.get("processes", [])]
    unknown = set(scenario.get("unknown_fields", ()))
    lines = [
        "#!/bin/sh",
        "gpus=" + quoted(" ".join("g{}".format(gpu["index"]) for gpu in shown)),
        "processes=" + quoted(" ".join(f"p{at}" for at in range(len(processes)))),
        "list=" + quoted("".join(map(listed, shown))),
        "topology=" + quoted(scenario.get("topology", matrix(shown))),
        "summary=" + quoted(summary(scenario, shown)),
        "trouble() {\n" + trouble(scenario, shown) + ":\n}",
        "value() {\ncase $1:$2 in",
    ]
    for kind, rows in (("g", shown), ("p", processes)):
        for at, row in enumerate(rows):
            lines += [case(f"{kind}{at}", name, row[name]) for name in row if name not in unknown | {"mig"}]
    lines.append("*) return 1 ;;\nesac\n}\n")
    with open(os.path.join(HERE, "smi.sh")) as body:
        lines.append(body.read())
    return "\n".join(lines).encode("utf-8", "surrogateescape")  # a lone surrogate is a byte that is no UTF-8


def case(row, name, value):
    unit = UNITS.get(name, "") if not isinstance(value, str) else ""
    return f"{quoted(row + ':' + name)}) cell={quoted(value)} unit={quoted(unit)} ;;"


def quoted(value):
    return "'" + str(value).replace("'", "'\\''") + "'"


def process_row(process, gpus):
    return dict(process, gpu_uuid=gpus[process["gpu"]]["uuid"])


def listed(gpu):
    text = "GPU {index}: {name} (UUID: {uuid})\n".format(**gpu)
    for number, one in enumerate(gpu["mig"]):
        text += "  MIG {profile:12} Device  {number}: (UUID: {uuid})\n".format(number=number, **one)
    return text


def matrix(gpus):
    """Every pair by NVLink, as on a board with a switch."""
    names = ["GPU{index}".format(**gpu) for gpu in gpus]
    rows = ["\t" + "\t".join(names)]
    rows += ["\t".join([name, *(" X " if name == other else "NV18" for other in names)]) for name in names]
    return "\n".join(rows) + "\n"


def summary(scenario, gpus):
    driver, cuda = scenario["driver_version"], scenario.get("cuda_version", "N/A")
    rule = "+" + "-" * 85 + "+\n"
    text = rule + f"| NVIDIA-SMI {driver:20} Driver Version: {driver:14} CUDA Version: {cuda:8}|\n" + rule
    text += "".join("|   {index}  {name:70} |\n".format(**gpu) for gpu in gpus) + rule
    return text + ("| MIG devices: |\n" if any(gpu["mig.mode.current"] == "Enabled" for gpu in gpus) else "")


def trouble(scenario, gpus):
    """What comes before any answer; the argument is the kind of query."""
    if scenario.get("hang"):
        return "exec sleep 3600\n"
    if scenario.get("mismatch"):
        return stop(18, MISMATCH)
    if scenario.get("smi_error"):
        return stop(*scenario["smi_error"])
    if not gpus:
        return stop(scenario.get("no_devices_exit", 6), "No devices were found")
    if scenario.get("apps_error"):
        return '[ "$1" != processes ] || {\n' + stop(*scenario["apps_error"]) + "}\n"
    return ""


def stop(code, text):
    return f"printf '%s\\n' {quoted(text)}\nexit {code}\n"
