"""Lanes: groups of tests that need something a machine may not have, such as a Docker daemon, root or a browser.

A missing lane is left out and named at the end of the run. Under GONOGO_REQUIRE_LANES=1, as in CI, it is a failure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

import pytest

REQUIRE = "GONOGO_REQUIRE_LANES"
_LEFT_OUT = re.compile(r"lane (?P<lane>[\w-]+) is left out: (?P<missing>.*)", re.DOTALL)


def require(lane: str, missing: str) -> None:
    """Go on where `missing` is empty; else leave the test out, or fail it where lanes are required.

    `missing` says what is not there and how to get it: `dockerd is not installed: apt-get install docker.io`.
    """
    if not missing:
        return
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"lane {lane} is required ({REQUIRE}=1): {missing}", pytrace=False)
    pytest.skip(f"lane {lane} is left out: {missing}")


def left_out(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> Mapping[tuple[str, str], int]:
    """(lane, what is missing) -> how many tests it took along, from the reports of skipped tests."""
    counts: dict[tuple[str, str], int] = {}
    for report in reports:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        match = _LEFT_OUT.search(reason)
        if match:
            key = (match["lane"], match["missing"])
            counts[key] = counts.get(key, 0) + 1
    return counts


def summary(counts: Mapping[tuple[str, str], int]) -> list[str]:
    """One line for each lane that was left out, with how to enable it."""
    lines = []
    for (lane, missing), count in sorted(counts.items()):
        tests = "1 test" if count == 1 else f"{count} tests"
        lines.append(f"{lane} ({tests}): {missing}")
    return lines
