"""GPU-10: how the GPUs are connected, asked only with --deep."""

from __future__ import annotations

from pathlib import Path

from services.gpu_host import CUDA_IMAGE, GpuHost
from suite_runs import Finished, job_text, run

#: A stand-in for an interpreter with torch: prints what target_torch.py would after a sum over two devices.
PYTHON = """#!/bin/sh
printf '@t\\tinterpreter\\tpython3\\n@t\\ttorch\\t2.9.0\\n@t\\tcount\\t2\\n@t\\tavailable\\tyes\\n@t\\tran\\t0 1\\n'
case "$*" in
  *all-reduce) printf '@t\\tbandwidth\\t%s\\n' ;;
esac
"""
ACROSS = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-15\nGPU1\tSYS\t X \t16-31\n"


def check(host: GpuHost, folder: Path, *options: str, image: str = "") -> Finished:
    job = job_text(image=image or host.image, run_as="65534:65534", gpus=2)
    return run(folder, *options, job=job, platform="local-docker", DOCKER_HOST=host.url, PATH=host.path)


def with_torch(host: GpuHost, bandwidth: str) -> str:
    return host.make_image(f"torch-{bandwidth}", CUDA_IMAGE, files={"usr/bin/python3": PYTHON % bandwidth})


def test_a_sum_that_is_fast_enough(gpu_host: GpuHost, tmp_path: Path) -> None:
    done = check(gpu_host, tmp_path, "--deep", image=with_torch(gpu_host, "180.5"))
    done.fine("GPU-10")
    assert "all-reduce 180.5 GB/s" in done.row("GPU-10")["found"]


def test_a_sum_that_is_slow(gpu_host: GpuHost, tmp_path: Path) -> None:
    done = check(gpu_host, tmp_path, "--deep", image=with_torch(gpu_host, "0.4"))
    done.broken("GPU-10", "a sum over the GPUs ran at 0.4 GB/s", remedy="nvidia-smi topo -m", state="warned")


def test_a_pair_across_processors(gpu_host: GpuHost, tmp_path: Path) -> None:
    gpu_host.set(gpus=[{"count": 2}], topology=ACROSS)
    done = check(gpu_host, tmp_path, "--deep")
    done.broken("GPU-10", "GPU0 and GPU1 (of 1 such pairs)", remedy="one NVLink island", state="warned")


def test_an_image_without_torch_leaves_it_open(gpu_host: GpuHost, tmp_path: Path) -> None:
    row = check(gpu_host, tmp_path, "--deep").row("GPU-10")
    assert row["state"] == "unverified"
    assert row["severity"] == "advisory"
