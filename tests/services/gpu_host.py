"""A Docker host with GPUs, simulated: a real dockerd whose container hook and runtime are driven by a scenario.

dockerd finds the hook on its own PATH, as it does the real one: `--gpus` takes the daemon's and runc's real ways. What
the host's nvidia-smi, a container's and the hook say comes from one JSON file (tests/doubles/nvidia_smi/README.md).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .dockerd import Dockerd, wait_until
from .images import busybox_tar, make_image, with_programs

DOUBLES = Path(__file__).resolve().parents[1] / "doubles" / "nvidia_smi"
#: A host on which everything is as it should be.
GOOD: Mapping[str, Any] = {"driver_version": "580.65.06", "cuda_version": "13.0", "gpus": [{"count": 4}]}
#: The image's environment as NVIDIA's own images have it, and a list of what its programs were compiled for.
CUDA_IMAGE = (
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "ENV CUDA_VERSION=12.8.0",
    "ENV TORCH_CUDA_ARCH_LIST='8.0 8.6 9.0 10.0 12.0'",
)


class GpuHost:
    """The daemon, the folder of the host's tools, and the scenario. `path` is the PATH of whatever runs on the host."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gonogo-gpu-host-"))
        self.folder.chmod(0o755)
        self.scenario = self.folder / "scenario.json"
        self.bin = self.folder / "bin"
        doubles = self.folder / "doubles"
        shutil.copytree(DOUBLES, doubles, ignore=shutil.ignore_patterns("__pycache__"))
        self.bin.mkdir()
        for name in ("nvidia-container-runtime-hook", "nvidia-container-runtime"):
            self._tool(name, f'FAKE_GPU_SCENARIO={self.scenario} exec {doubles}/{name} "$@"')
        self.reset()
        self.daemon = Dockerd(environment={"PATH": self.path}, config=self._runtimes("nvidia"))

    @property
    def url(self) -> str:
        return self.daemon.url

    @property
    def path(self) -> str:
        return f"{self.bin}:{os.environ['PATH']}"

    def start(self) -> None:
        self.daemon.start()
        self.daemon.load_images()
        self.image = self.make_image("cuda", CUDA_IMAGE)

    def make_image(self, name: str, changes: Sequence[str], files: Mapping[str, str] | None = None) -> str:
        """An image of busybox with that configuration, and with these programs."""
        tar = with_programs(busybox_tar(), files or {})
        return make_image(self.daemon.client(), f"gonogo-test/{name}", tar, changes)

    def set(self, **changes: Any) -> None:
        """A good host, but for these fields of the scenario."""
        self.scenario.write_text(json.dumps({**GOOD, **changes}))

    def install(self, name: str, script: str | None) -> None:
        """Put a tool on the host's PATH, or take it away with None."""
        if script is None:
            (self.bin / name).unlink(missing_ok=True)
        else:
            self._tool(name, script)

    def reset(self) -> None:
        """A good host again, with its tools; containers stay."""
        self.set()
        self._tool("nvidia-smi", f'FAKE_GPU_SCENARIO={self.scenario} exec {self.folder}/doubles/nvidia-smi "$@"')
        self.install_toolkit("1.19.0")
        self._tool("dmesg", "exit 0")

    def install_toolkit(self, version: str) -> None:
        self._tool("nvidia-ctk", f"printf 'NVIDIA Container Toolkit CLI version {version}\\ncommit: 0\\n'")

    def name_runtime(self, name: str) -> None:
        """Register the NVIDIA runtime under that name alone; the daemon reads its configuration again."""
        file = self.daemon.folder / "daemon.json"
        file.write_text(json.dumps({"debug": True, **self._runtimes(name)}))
        os.kill(self.daemon.pid, signal.SIGHUP)
        client = self.daemon.client()
        wait_until(
            lambda: set(client.info()["Runtimes"]) - _OF_DOCKER == ({name} if name else set()), f"runtime {name}"
        )

    def close(self) -> None:
        self.daemon.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _runtimes(self, name: str) -> dict[str, Any]:
        return {"runtimes": {name: {"path": str(self.bin / "nvidia-container-runtime")}} if name else {}}

    def _tool(self, name: str, script: str) -> None:
        """Written beside and renamed, so that nobody runs half of it."""
        new = self.bin / f".{name}"
        new.write_text(f"#!/bin/sh\n{script}\n")
        new.chmod(0o755)
        new.rename(self.bin / name)


_OF_DOCKER = {"runc", "io.containerd.runc.v2", "io.containerd.runtime.v1.linux"}
