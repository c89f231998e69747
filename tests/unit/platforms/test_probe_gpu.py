"""nvidia-smi's answers and troubles, told by a scenario-driven double on PATH."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from probe_asking import NVIDIA_SMI, ask, environment, script, shells, tools

from gonogo.platforms.probe.answers import GpuAnswer, GpuProcess
from gonogo.platforms.probe.questions import GpuQuestion, PathQuestion

MIB = 1024 * 1024
GOOD = {"driver_version": "580.65.06", "cuda_version": "13.0", "gpus": [{"count": 2}]}


@pytest.fixture(params=shells())
def gpu(request: pytest.FixtureRequest, tmp_path: Path):
    """Ask about GPUs under a scenario; the calls of nvidia-smi are kept in `calls`."""

    def asked(scenario: dict[str, object], seconds: int = 20) -> GpuAnswer:
        (tmp_path / "scenario.json").write_text(json.dumps(scenario))
        env = environment(
            PATH=f"{NVIDIA_SMI}:{os.environ['PATH']}",
            FAKE_GPU_SCENARIO=str(tmp_path / "scenario.json"),
            FAKE_GPU_CALLS=str(tmp_path / "calls"),
        )
        answers = ask([GpuQuestion(seconds=seconds), PathQuestion("root", "/")], request.param, env=env)
        assert answers.path("root").exists, "another question lost its answer"
        return answers.gpu()

    return asked


def test_devices_driver_and_cuda(gpu) -> None:
    answer = gpu(GOOD)
    assert (answer.trouble, answer.driver, answer.cuda) == ("", "580.65.06", "13.0")
    assert [one.index for one in answer.gpus] == [0, 1]
    first = answer.gpus[0]
    assert (first.name, first.compute_cap) == ("NVIDIA H100 80GB HBM3", "9.0")
    assert (first.memory_total, first.memory_used) == (81559 * MIB, 3 * MIB)
    assert (first.ecc_uncorrected, first.remap_pending, first.remap_failed) == (0, False, False)
    assert (first.mig_mode, first.persistence, first.throttled) == ("Disabled", "Enabled", ())
    assert answer.processes == ()


def test_processes_on_devices(gpu) -> None:
    process = {"gpu": 1, "pid": 4242, "process_name": "/opt/a, b/python3", "used_memory": 74000}
    answer = gpu({**GOOD, "processes": [process]})
    assert answer.processes == (GpuProcess(4242, "/opt/a, b/python3", answer.gpus[1].uuid, 74000 * MIB),)


def test_processes_that_are_not_listed_are_not_none(gpu) -> None:
    answer = gpu({**GOOD, "apps_error": [6, "Insufficient Permissions"]})
    assert len(answer.gpus) == 2
    assert answer.processes is None
    assert answer.processes_error == "Insufficient Permissions"


def test_ill_health_is_seen(gpu) -> None:
    ill = {
        "ecc.errors.uncorrected.volatile.total": 7,
        "remapped_rows.pending": 1,
        "remapped_rows.failure": 1,
        "clocks_throttle_reasons.active": "0x0000000000000048",
        "mig.mode.current": "Enabled",
    }
    device = gpu({**GOOD, "gpus": [ill]}).gpus[0]
    assert (device.ecc_uncorrected, device.remap_pending, device.remap_failed) == (7, True, True)
    assert device.throttled == ("hardware slowdown", "thermal (hardware)")
    assert device.mig_mode == "Enabled"


def test_old_driver_drops_the_fields_it_does_not_know(gpu, tmp_path: Path) -> None:
    unknown = ["compute_cap", "clocks_throttle_reasons.active"]
    answer = gpu({**GOOD, "driver_version": "470.82.01", "cuda_version": "11.4", "unknown_fields": unknown})
    assert (answer.driver, answer.cuda, len(answer.gpus)) == ("470.82.01", "11.4", 2)
    assert (answer.gpus[0].compute_cap, answer.gpus[0].throttled) == ("", None)
    assert answer.gpus[0].memory_total == 81559 * MIB
    queries = [line for line in (tmp_path / "calls").read_text().splitlines() if "--query-gpu" in line]
    assert len(queries) == 1 + len(unknown)


def test_unknown_values_are_unknown(gpu) -> None:
    device = {
        "memory.total": "[N/A]",
        "memory.used": "[N/A]",
        "utilization.gpu": "[Not Supported]",
        "compute_cap": "N/A",
    }
    answer = gpu({**GOOD, "gpus": [device]}).gpus[0]
    assert (answer.memory_total, answer.memory_used, answer.utilization, answer.compute_cap) == (None, None, None, "")


def test_bytes_that_are_no_text_do_no_harm(gpu) -> None:
    answer = gpu({**GOOD, "gpus": [{"name": "GPU \udcff\udc80"}]})
    assert answer.gpus[0].name == "GPU \ufffd\ufffd"


@pytest.mark.parametrize(
    ("scenario", "trouble", "words", "code"),
    [
        ({"mismatch": True}, "mismatch", "Failed to initialize NVML: Driver/library version mismatch", 18),
        ({"gpus": [], "no_devices_exit": 6}, "no-devices", "No devices were found", 6),
        ({"gpus": [], "no_devices_exit": 0}, "no-devices", "No devices were found", 0),
        (
            {
                "smi_error": [
                    9,
                    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure…",
                ]
            },
            "no-driver",
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure…",
            9,
        ),
        (
            {"smi_error": [1, "Unable to determine the device handle\n\nrun 'nvidia-smi -h' --help"]},
            "failed",
            "Unable to determine the device handle",
            1,
        ),
    ],
    ids=["mismatch", "none-6", "none-0", "no-driver", "other"],
)
def test_each_trouble_is_told_with_the_tools_words(gpu, scenario: dict, trouble: str, words: str, code: int) -> None:
    answer = gpu({**GOOD, **scenario})
    assert (answer.trouble, answer.error, answer.exit_code) == (trouble, words, code)
    assert not answer.answered
    assert answer.gpus == ()


def test_hanging_tool_is_given_up(gpu) -> None:
    answer = gpu({**GOOD, "hang": True}, seconds=1)
    assert (answer.trouble, answer.error) == ("silent", "nvidia-smi gave no answer within 1 s")


@pytest.mark.parametrize("sh", shells())
def test_absent_tool(tmp_path: Path, sh: tuple[str, ...]) -> None:
    if Path("/usr/lib/wsl/lib/nvidia-smi").exists():
        pytest.skip("this machine has its own")
    answer = ask([GpuQuestion()], sh, env=environment(PATH=tools(tmp_path / "bin", "rm", "sleep"))).gpu()
    assert (answer.trouble, answer.exit_code) == ("absent", None)


@pytest.mark.parametrize("sh", shells())
def test_success_without_any_device_is_not_understood(tmp_path: Path, sh: tuple[str, ...]) -> None:
    """Exit code 0 and unknown words: an error, not an empty list of devices."""
    script(tmp_path / "nvidia-smi", "#!/bin/sh\necho 'Something new'\n")
    answers = ask([GpuQuestion()], sh, env=environment(PATH=f"{tmp_path}:{os.environ['PATH']}"))
    with pytest.raises(Exception, match="lists no device and no error: 'Something new'"):
        answers.gpu()
