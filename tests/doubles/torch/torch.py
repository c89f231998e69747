"""A stand-in for torch, as far as a preflight asks it: put this folder on PYTHONPATH and name a file by FAKE_TORCH.

`version`, `cuda` (null for a CPU build), `architectures` (`["sm_90"]`), `capabilities` (one `[9, 0]` for each device),
`fault` (what the driver says when CUDA is initialised; null for nothing), `kernel_fault` (what a kernel ends with),
`wrong_sum` (true: NCCL sums wrongly).
"""

import json
import os
import sys
from types import ModuleType, SimpleNamespace

with open(os.environ["FAKE_TORCH"]) as _file:
    _told = json.load(_file)

__version__ = _told["version"]
version = SimpleNamespace(cuda=_told["cuda"])


def _init() -> None:
    if _told["cuda"] is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    if _told.get("fault"):
        raise RuntimeError(_told["fault"])


cuda = SimpleNamespace(
    get_arch_list=lambda: _told["architectures"],
    device_count=lambda: len(_told["capabilities"]),
    get_device_capability=lambda index: tuple(_told["capabilities"][index]),
    init=_init,
    is_available=lambda: _told["cuda"] is not None and bool(_told["capabilities"]) and not _told.get("fault"),
)


class Tensor:
    """As many equal numbers on a device."""

    def __init__(self, value: float, count: int) -> None:
        self.value, self.count = value, count

    def __add__(self, more: float) -> "Tensor":
        return Tensor(self.value + more, self.count)

    def __getitem__(self, _index: int) -> "Tensor":
        return Tensor(self.value, 1)

    def sum(self) -> "Tensor":
        return Tensor(self.value * self.count, 1)

    def item(self) -> float:
        return self.value


def ones(count: int, device: str) -> Tensor:
    if _told.get("kernel_fault"):
        raise RuntimeError(_told["kernel_fault"])
    return Tensor(1, count)


def _all_reduce(tensors: list[Tensor]) -> None:
    total = sum(one.value for one in tensors)
    for one in tensors:
        one.value = total + bool(_told.get("wrong_sum"))


cuda.synchronize = lambda _index: None
cuda.nccl = ModuleType("torch.cuda.nccl")
cuda.nccl.all_reduce = _all_reduce
sys.modules["torch.cuda.nccl"] = cuda.nccl
