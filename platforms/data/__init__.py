"""Tables that change with NVIDIA's releases, as data with their sources."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache
def table(name: str) -> Any:
    """The JSON table of that name in this folder; its `source` says where the figures come from, and which
    were not checked."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
