"""A stand-in for torch, as far as a preflight asks it: put this folder on PYTHONPATH and name a file by FAKE_TORCH.

`version`, `cuda` (null for a CPU build), `architectures` (`["sm_90"]`), `capabilities` (one `[9, 0]` for each device),
`fault` (what the driver says when CUDA is initialised; null for nothing).
"""

import json
import os
from types import SimpleNamespace

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
