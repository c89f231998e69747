"""How GPUs are connected, by the matrix of `nvidia-smi topo -m` (GPU-10)."""

from __future__ import annotations

from collections.abc import Sequence

#: A pair whose traffic crosses the link between processors. Source: the legend of `nvidia-smi topo -m`.
_ACROSS_PROCESSORS = "SYS"
#: Bus bandwidth of a sum over all GPUs, in GB/s, below which something is wrong. A guess, well under
#: what PCIe 3.0 x16 should give; not measured.
LEAST_BANDWIDTH = 4.0


def slow_pairs(matrix: str, indices: Sequence[int]) -> list[str]:
    """`GPU0 and GPU4` for each pair of those devices that is connected across processors only."""
    wanted = [f"GPU{index}" for index in indices]
    links = _links(matrix)
    return [
        f"{one} and {other}"
        for at, one in enumerate(wanted)
        for other in wanted[at + 1 :]
        if links.get((one, other)) == _ACROSS_PROCESSORS
    ]


def _links(matrix: str) -> dict[tuple[str, str], str]:
    """Each pair's kind of connection: `NV18`, `PIX`, `NODE`, `SYS`, …"""
    lines = [line.split() for line in matrix.splitlines() if line.strip()]
    if not lines:
        return {}
    columns = [name for name in lines[0] if name.startswith("GPU") and name[3:].isdigit()]
    return {
        (line[0], column): kind
        for line in lines[1:]
        if line[0] in columns
        for column, kind in zip(columns, line[1:], strict=False)
    }
