"""The harness's own tests: strict warnings, the services they need, and what was left out on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gonogo.fixtures.run import asked_for
from tests import lanes

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Load the fixtures of the services: not in a preflight run, which passes here too and must not import clients."""
    if not asked_for(config):
        config.pluginmanager.import_plugin("tests.services.fixtures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A warning fails the test. In pyproject.toml this would govern preflight runs too, and make a warning a NO-GO."""
    for item in items:
        if HERE in item.path.parents:
            # In front of the test's own marks, which may allow a warning.
            item.add_marker(pytest.mark.filterwarnings("error"), append=False)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines = lanes.summary(lanes.left_out(terminalreporter.stats.get("skipped", [])))
    if not lines:
        return
    terminalreporter.section("lanes left out")
    for line in lines:
        terminalreporter.write_line(line)
