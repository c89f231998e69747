"""What a target offers, as tables: for a person to fill a job file in from (`gonogo inspect`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gonogo.jobs.sizes import format_size
from gonogo.platforms.probe.answers import GpuAnswer, NodeAnswer


@dataclass(frozen=True)
class Table:
    """A titled table of texts. `note` says what could not be had, or is empty."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def node_table(node: NodeAnswer) -> Table:
    """The host: processors, memory, /dev/shm."""
    rows = [
        ("host", node.hostname),
        ("kernel", f"{node.kernel} {node.arch}"),
        ("processors", str(node.cpus)),
        ("memory", f"{format_size(node.memory_available)} free of {format_size(node.memory_total)}"),
        ("/dev/shm", format_size(node.shm_size) if node.shm_size is not None else "none"),
        ("asked as", f"{node.user or 'UID'} ({node.uid}:{node.gid})"),
    ]
    return Table("Host", ("what", "value"), tuple(rows))


def gpu_table(answer: GpuAnswer, fault: str = "") -> Table:
    """The GPUs and their state; where nvidia-smi did not answer, its own words as the note."""
    columns = ("index", "name", "memory", "used", "compute", "busy with", "UUID")
    note = fault or (answer.error if not answer.answered else f"driver {answer.driver}, CUDA {answer.cuda}")
    rows = []
    for gpu in answer.gpus:
        holders = [f"{one.name} ({one.pid})" for one in answer.processes or () if one.gpu_uuid == gpu.uuid]
        busy = ", ".join(holders) if answer.processes is not None else "unknown"
        rows.append(
            (str(gpu.index), gpu.name, _size(gpu.memory_total), _size(gpu.memory_used), gpu.compute_cap, busy, gpu.uuid)
        )
    return Table("GPUs", columns, tuple(rows), note)


def as_text(tables: Sequence[Table]) -> str:
    """The tables for a terminal."""
    return "\n\n".join(_one(table) for table in tables)


def _one(table: Table) -> str:
    lines = [f"{table.title}{f'  ({table.note})' if table.note else ''}"]
    if not table.rows:
        return lines[0] + ("" if table.note else "  (none)")
    grid = [table.columns, *table.rows]
    widths = [max(len(row[column]) for row in grid) for column in range(len(table.columns))]
    lines += [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
    ]
    return "\n".join(lines)


def _size(size: int | None) -> str:
    return "unknown" if size is None else format_size(size)
