"""IMG-05 on a simulated GPU host: what the image is built for, known in each of the ways there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from services.gpu_host import CUDA_IMAGE, GpuHost
from suite_runs import Finished, job_text, run

GB10 = {"name": "NVIDIA GB10", "compute_cap": "12.1"}
BARE = CUDA_IMAGE[:1]
#: A stand-in for an interpreter with torch: prints what target_torch.py would.
PYTHON = """#!/bin/sh
printf '@t\\tinterpreter\\tpython3\\n@t\\ttorch\\t2.9.0\\n@t\\tcuda\\t13.0\\n@t\\tarchitectures\\tsm_80 sm_90 sm_120\\n'
printf '@t\\tcount\\t1\\n@t\\tcapabilities\\t12.1\\n@t\\tavailable\\tyes\\n%s'
"""


def check(host: GpuHost, folder: Path, *options: str, **fields: Any) -> Finished:
    job = {"image": host.image, "run_as": "65534:65534", "gpus": 1, **fields}
    return run(folder, *options, job=job_text(**job), platform="local-docker", DOCKER_HOST=host.url, PATH=host.path)


def told_by(done: Finished) -> str:
    return next(one["text"] for one in done.row("IMG-05")["evidence"] if one["name"] == "told_by")


def test_a_device_that_is_newer_than_the_list(gpu_host: GpuHost, tmp_path: Path) -> None:
    gpu_host.set(gpus=[GB10])
    done = check(gpu_host, tmp_path)
    done.broken(
        "IMG-05",
        "no code for compute capability 12.1 (GPU 0, NVIDIA GB10), only sm_80 sm_86 sm_90 sm_100 sm_120",
        remedy="Use an image that is built for 12.1",
    )
    done.fine("GPU-04", "GPU-05")


def test_the_job_file_says_it(gpu_host: GpuHost, tmp_path: Path) -> None:
    gpu_host.set(gpus=[GB10])
    done = check(gpu_host, tmp_path, image_sms=["9.0", "12.0+PTX"])
    done.fine("IMG-05")
    assert told_by(done) == "image_sms in the job file"


def test_nobody_says_it(gpu_host: GpuHost, tmp_path: Path) -> None:
    image = gpu_host.make_image("bare", BARE)
    done = check(gpu_host, tmp_path, image=image)
    done.broken("IMG-05", "nothing says what the image", remedy='Set `image_sms: ["9.0"]`', state="unverified")


@pytest.mark.parametrize(
    ("printed", "holds"),
    [("@t\\tran\\t0\\n", True), ("@t\\tkernel-trouble\\tdevice 0: no kernel image is available\\n", False)],
)
def test_torch_in_the_image_says_it(gpu_host: GpuHost, tmp_path: Path, printed: str, holds: bool) -> None:
    """Code for 12.0 may run on 12.1: only a kernel that ran proves it."""
    gpu_host.set(gpus=[GB10])
    image = gpu_host.make_image(f"torch-{holds}".lower(), BARE, files={"usr/bin/python3": PYTHON % printed})
    done = check(gpu_host, tmp_path, image=image)
    if holds:
        done.fine("IMG-05")
        assert "a kernel of torch in it ran on every device" in told_by(done)
    else:
        done.broken("IMG-05", "a kernel failed: device 0: no kernel image is available", remedy="built for 12.1")


def test_an_image_that_is_not_there_yet(gpu_host: GpuHost, tmp_path: Path) -> None:
    """Probes then run in another image, whose own wishes for a driver do not count."""
    smoke = gpu_host.make_image("newest-cuda", [*BARE, "ENV NVIDIA_REQUIRE_CUDA='cuda>=13.1'"])
    absent = "registry.invalid/cuda/train:1"
    done = check(gpu_host, tmp_path, f"--smoke-image={smoke}", image=absent)
    assert done.row("IMG-05")["state"] == "deferred"
    done.fine("GPU-04", "GPU-05")
    known = check(gpu_host, tmp_path, image="registry.invalid/cosmos-rl:1")
    known.fine("IMG-05")
    assert told_by(known).startswith("known image")
