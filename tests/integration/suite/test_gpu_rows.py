"""The GPU rows of this node, by scenario-driven doubles of nvidia-smi and torch: each broken, fine, or left open."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from suite_runs import ROOT, Finished, job_text, run

DOUBLES = ROOT / "tests" / "doubles"
GOOD = {"driver_version": "580.65.06", "cuda_version": "13.0", "gpus": [{"count": 2}]}
GOOD_TORCH = {"version": "2.9.0", "cuda": "13.0", "architectures": ["sm_80", "sm_90"], "capabilities": [[9, 0]] * 2}
REQUIRES = {"driver": ">=580", "cuda": ">=13.0", "gpu_memory": "40 GiB", "exclusive_gpus": True}
JOB: dict[str, Any] = {
    "command": ["python3", "train.py"],
    "gpus": 2,
    "processes": 1,
    "requires": REQUIRES,
    "python_packages": ["torch"],
    "inputs": [{"name": "hosts", "uri": "/etc/hosts"}],
}
#: Rows that have nothing to ask where nvidia-smi gives no answer.
WAITING = ("GPU-02", "GPU-05", "GPU-06", "GPU-07", "NODE-02")


def preflight(
    tmp_path: Path, scenario: dict[str, Any] | None, *options: str, torch: dict[str, Any] | None = None, **job: Any
) -> Finished:
    """A run under that scenario; None for a node without nvidia-smi."""
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(DOUBLES / "torch"),
        "FAKE_TORCH": f"{tmp_path}/torch.json",
    }
    (tmp_path / "torch.json").write_text(json.dumps(torch or GOOD_TORCH))
    if scenario is not None:
        (tmp_path / "scenario.json").write_text(json.dumps(scenario))
        variables["PATH"] = f"{DOUBLES / 'nvidia_smi'}:{variables['PATH']}"
        variables["FAKE_GPU_SCENARIO"] = str(tmp_path / "scenario.json")
    variables |= job.pop("variables", {})
    return run(tmp_path, *options, job=job_text(**{**JOB, **job}), **variables)


def test_good_node_is_go(tmp_path: Path) -> None:
    done = preflight(tmp_path, GOOD)
    assert done.status == 0, done.output
    done.fine("GPU-01", "GPU-02", "GPU-05", "GPU-06", "GPU-07", "GPU-08", "GPU-11", "NODE-01", "NODE-02")


def test_old_driver_and_one_small_busy_broken_device(tmp_path: Path) -> None:
    device = {"name": "Tesla T4", "memory.total": 15360, "ecc.errors.uncorrected.volatile.total": 3}
    done = preflight(
        tmp_path,
        {
            "driver_version": "470.256.02",
            "cuda_version": "11.4",
            "gpus": [device],
            "unknown_fields": ["compute_cap"],
            "processes": [{"gpu": 0, "pid": 4242, "process_name": "python3", "used_memory": 9000}],
        },
        torch={**GOOD_TORCH, "capabilities": [[7, 5]] * 2},
        processes=2,
    )
    done.broken("GPU-01", "driver 470.256.02 does not meet >=580", remedy="Install a driver that meets >=580")
    done.broken("GPU-02", "CUDA 11.4 does not meet >=13.0", remedy="CUDA level meets >=13.0")
    done.broken("GPU-05", "1 GPUs are visible, the job asks for 2", remedy="Ask for at most 1 GPUs")
    done.broken("GPU-06", "GPU 0 (Tesla T4) has 15 GiB", remedy="Choose larger GPUs")
    done.broken("GPU-07", "GPU 0 is used by python3 (pid 4242)", remedy="Wait for them or stop them")
    done.broken("GPU-08", "GPU 0: 3 uncorrected ECC errors", remedy="Reset the GPU", state="warned")
    done.broken("GPU-11", "torch has no kernels for compute capability 7.5", remedy="CUDA build of torch")
    done.broken("NODE-02", "2 processes, 1 visible GPUs", remedy="Set `processes` to at most 1")
    done.broken("NODE-01", "not found on this node: torchrun", remedy="Install torchrun")
    assert len(done.causes) == 8
    done.fine("PATH-01[/etc/hosts]", "NODE-03")


@pytest.mark.parametrize(
    ("scenario", "message", "remedy", "state"),
    [
        ({**GOOD, "mismatch": True}, "driver and its library", "Reboot the host", "failed"),
        ({**GOOD, "gpus": []}, "finds no devices", "gpus: 0", "failed"),
        ({**GOOD, "gpus": [], "no_devices_exit": 0}, "finds no devices", "gpus: 0", "failed"),
        (
            {**GOOD, "smi_error": [9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."]},
            "cannot talk to the driver",
            "sudo modprobe nvidia",
            "failed",
        ),
        ({**GOOD, "smi_error": [1, "Segmentation fault"]}, "failed with exit code 1", "", "unverified"),
        (None, "nvidia-smi is not on the PATH", "Install the NVIDIA driver", "unverified"),
    ],
    ids=["mismatch", "no devices, exit 6", "no devices, exit 0", "no driver", "crash", "absent"],
)
def test_tool_that_tells_nothing_is_one_cause(
    tmp_path: Path, scenario: dict[str, Any] | None, message: str, remedy: str, state: str
) -> None:
    done = preflight(tmp_path, scenario)
    done.broken("GPU-01", message, remedy=remedy, state=state)
    assert done.causes == ["GPU-01"]
    done.blocked(*WAITING, by="GPU-01")
    assert done.row("GPU-08")["state"] == "blocked"
    done.fine("GPU-11", "PATH-01[/etc/hosts]", "NODE-01", "NODE-03")  # each of these asks something else
    if scenario is not None:
        told = done.detail("GPU-01")
        assert told
        assert "help" not in told


def test_tool_that_hangs_is_named_and_holds_back_nothing(tmp_path: Path) -> None:
    done = preflight(tmp_path, {**GOOD, "hang": True}, "--probe-timeout=6")
    done.broken("GPU-01", "nvidia-smi", remedy="dmesg", state="unverified")
    assert "in time" in done.row("GPU-01")["message"] or "within" in done.row("GPU-01")["message"]
    assert done.causes == ["GPU-01"]
    done.blocked(*WAITING, by="GPU-01")
    done.fine("PATH-01[/etc/hosts]", "NODE-01", "NODE-03", "GPU-11")
    times = {probe["name"]: probe["began"] + probe["seconds"] for probe in done.report["probes"]}
    assert times["path_facts"] < times["node_gpus"], "the paths were answered while the driver hung"


def test_shared_devices_are_no_obstacle_unless_the_job_says_so(tmp_path: Path) -> None:
    process = {"gpu": 1, "pid": 77, "process_name": "neighbour", "used_memory": 9000}
    device = {"memory.total": "[N/A]", "name": "Grace"}
    attested = [{"row": "GPU-06", "reason": "data sheet", "owner": "site"}]
    scenario = {**GOOD, "gpus": [{"count": 1}, device], "processes": [process]}
    done = preflight(tmp_path, scenario, requires={**REQUIRES, "exclusive_gpus": False}, attested=attested)
    done.broken("GPU-07", "GPU 1 is used by neighbour (pid 77)", remedy="Wait", state="warned")
    row = done.row("GPU-06")
    assert row["state"] == "attested"
    assert "GPU 1 (Grace) does not tell its memory" in row["message"]
    assert done.verdict == "GO"
    done = preflight(tmp_path, scenario)
    done.broken("GPU-06", "does not tell its memory", remedy="Attest the row", state="unverified")
    done.broken("GPU-07", "GPU 1 is used by neighbour (pid 77)", remedy="CUDA_VISIBLE_DEVICES")
    # The first device alone is free, and tells its memory.
    done = preflight(tmp_path, scenario, gpus=1, variables={"CUDA_VISIBLE_DEVICES": "0"})
    done.fine("GPU-05", "GPU-06", "GPU-07")


@pytest.mark.parametrize(
    ("visible", "message"), [("", "0 GPUs are visible"), ("-1,0", "0 GPUs are visible"), ("0,7", "no such device: 7")]
)
def test_variable_that_hides_devices(tmp_path: Path, visible: str, message: str) -> None:
    done = preflight(tmp_path, GOOD, variables={"CUDA_VISIBLE_DEVICES": visible})
    done.broken("GPU-05", message, remedy="")


@pytest.mark.parametrize(
    ("torch", "message"),
    [
        ({**GOOD_TORCH, "cuda": None, "architectures": [], "capabilities": []}, "not compiled with CUDA"),
        ({**GOOD_TORCH, "fault": "CUDA driver version is insufficient"}, "CUDA driver version is insufficient"),
        ({**GOOD_TORCH, "capabilities": [[9, 0]]}, "torch sees 1 GPUs, the job asks for 2"),
        ({**GOOD_TORCH, "kernel_fault": "no kernel image is available"}, "device 0: RuntimeError: no kernel image"),
    ],
    ids=["CPU build", "driver too old", "too few", "no kernel"],
)
def test_torch_that_cannot_use_the_devices(tmp_path: Path, torch: dict[str, Any], message: str) -> None:
    done = preflight(tmp_path, GOOD, torch=torch)
    done.broken("GPU-11", message, remedy="Install a CUDA build of torch")
    assert done.causes == ["GPU-11"]


def test_node_without_a_driver_is_ready_for_jobs_that_need_none(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.status, done.verdict) == (0, "GO"), done.output
    assert "no job" in done.output
    done = preflight(tmp_path, None, gpus=0, python_packages=[])
    assert done.verdict == "GO"
    assert not [row for row in done.report["rows"] if row["id"].startswith("GPU")], "left out, not skipped"
