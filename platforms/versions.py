"""Versions as drivers and tools print them (`580.65.06`, `13.0`, `1.19.0-rc.2`), and bounds on them (`>=13.0,<14`)."""

from __future__ import annotations

import re
from itertools import zip_longest

_BOUND = re.compile(r"^\s*(>=|<=|==|!=|>|<|=)?\s*v?(\d+(?:\.\d+)*)\s*$")
_VERSION = re.compile(r"^\s*v?(\d+(?:\.\d+)*)")


def numbers(version: str) -> tuple[int, ...]:
    """The leading dotted numbers of a version: `580.65.06` is (580, 65, 6). Raises ValueError where there are none."""
    match = _VERSION.match(version)
    if match is None:
        raise ValueError(f"{version!r} is not a version")
    return tuple(int(part) for part in match.group(1).split("."))


def compare(left: str, right: str) -> int:
    """-1, 0 or 1; missing parts count as 0, so `13` equals `13.0`. A suffix (`-rc.1`) is not weighed."""
    for one, other in zip_longest(numbers(left), numbers(right), fillvalue=0):
        if one != other:
            return -1 if one < other else 1
    return 0


def meets(bound: str, version: str) -> bool:
    """Whether the version meets every comma-separated bound. A bound without operator is a minimum; `==13` means 13.x.

    Raises ValueError for a bound or version that cannot be read.
    """
    return all(_meets_one(one, version) for one in bound.split(","))


def _meets_one(bound: str, version: str) -> bool:
    match = _BOUND.match(bound)
    if match is None:
        raise ValueError(f"{bound!r} is not a version bound such as '>=580'")
    operator, wanted = match.group(1) or ">=", match.group(2)
    if operator in ("=", "==", "!="):
        same = numbers(version)[: len(numbers(wanted))] == numbers(wanted)
        return same != (operator == "!=")
    order = compare(version, wanted)
    return {">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0}[operator]
