"""The pytest entry point: loads the harness only into a run that asks for it, so that other people's runs stay as
they are.

A run asks for it by one of the options below. In a checkout of gonogo the root `conftest.py` loads the same
plugins, from the checkout; this module then steps aside, so that the checkout's code runs even beside an installed
copy.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TRIGGERS = ("--platform", "--job", "--image", "--path", "--output", "--checks", "--docker-host")


def _asked_for(args: list[str]) -> bool:
    return any(arg == option or arg.startswith(option + "=") for arg in args for option in TRIGGERS)


def _in_checkout(start: Path) -> bool:
    return any((folder / "gonogo_pytest.py").is_file() for folder in (start, *start.parents))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Load the harness's plugins. Raises pytest.UsageError where another plugin already owns one of their options."""
    if not _asked_for(args) or _in_checkout(early_config.invocation_params.dir):
        return
    from gonogo.fixtures import PLUGINS

    try:
        for name in PLUGINS:
            early_config.pluginmanager.import_plugin(name)
    except ValueError as error:
        if "already added" not in str(error):
            raise
        raise pytest.UsageError(
            f"gonogo: {error}. Another plugin or a conftest.py here has the same option; `gonogo check` loads neither."
        ) from None
