"""One wheel and two environments for all packaging tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments import Environment, build_wheel, make_environment


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the committed files."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with gonogo installed from the wheel."""
    return make_environment(tmp_path_factory.mktemp("installed") / "env", wheel)


@pytest.fixture(scope="session")
def without(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The same environment without gonogo."""
    return make_environment(tmp_path_factory.mktemp("without") / "env")
