"""Whether an image's programs run on a job's devices: by lists, by PTX, by a kernel that ran; unknown is no pass."""

from __future__ import annotations

from typing import Any

import pytest

from gonogo.platforms.architectures import ImageCode, architectures
from gonogo.platforms.faults import Garbled, NotFound, ToolMissing
from gonogo.platforms.gpus import JobGpus
from gonogo.platforms.image_judgement import ImageJudgement, judge_image
from gonogo.platforms.probe.answers import Gpu, GpuAnswer, TorchAnswer


def devices(*capabilities: str, cuda: str = "13.0") -> JobGpus:
    gpus = tuple(Gpu(at, "H100", f"GPU-{at}", None, None, one) for at, one in enumerate(capabilities))
    return JobGpus(GpuAnswer("", "", 0, "580.65", cuda, gpus), gpus, "nvidia-smi")


def code(*names: str, cuda: str = "") -> ImageCode:
    return ImageCode(architectures(names), "a list" if names else "", cuda)


def torch(**fields: Any) -> TorchAnswer:
    values: dict[str, Any] = {
        "trouble": "",
        "torch_version": "2.9.0",
        "cuda_version": "13.0",
        "available": True,
        "device_count": 1,
        "architectures": ("sm_90",),
        "capabilities": ("9.0",),
    }
    return TorchAnswer(**{**values, **fields})


def proven(judged: ImageJudgement) -> bool:
    return judged.holds and judged.fault is None


def test_each_device_must_be_covered() -> None:
    assert proven(judge_image(devices("9.0", "8.0"), code("8.0", "9.0"), None))
    judged = judge_image(devices("9.0", "7.5"), code("8.0", "9.0"), None)
    assert not judged.holds
    assert "7.5 (GPU 1, H100)" in judged.message


def test_a_lower_minor_version_is_no_proof_and_a_kernel_is() -> None:
    assert not judge_image(devices("12.1"), code("12.0"), None).holds
    assert proven(judge_image(devices("12.1"), code("12.0"), torch(ran=(0,))))
    failed = judge_image(devices("12.1"), code("12.0"), torch(kernel_trouble="device 0: no kernel image"))
    assert "no kernel image" in failed.message


def test_a_kernel_on_some_devices_is_no_proof() -> None:
    assert not judge_image(devices("9.0", "12.1"), code("9.0", "12.0"), torch(ran=(0,))).holds


def test_ptx_of_a_newer_cuda_than_the_drivers() -> None:
    assert proven(judge_image(devices("10.0", cuda="12.8"), code("9.0+PTX", cuda="12.8"), None))
    assert not judge_image(devices("10.0", cuda="12.4"), code("9.0+PTX", cuda="12.8"), None).holds


def test_torch_brings_the_list() -> None:
    assert proven(judge_image(devices("9.0"), code(), torch()))
    assert not judge_image(devices("8.0"), code(), torch()).holds


@pytest.mark.parametrize(
    "answer", [None, NotFound("no python"), torch(trouble="torch cannot be imported", architectures=())]
)
def test_what_nobody_knows_is_not_passed(answer: Any) -> None:
    judged = judge_image(devices("9.0"), code(cuda="11.2"), answer)
    assert not judged.holds
    assert isinstance(judged.fault, ToolMissing)
    assert not judged.fault.conclusive
    assert "CUDA 11.2 does not know 9.0" in judged.fault.message


def test_a_device_that_does_not_say_what_it_is() -> None:
    judged = judge_image(devices(""), code("9.0"), None)
    assert isinstance(judged.fault, Garbled)
