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


@pytest.hookimpl(trylast=True)  # after the user's conftest.py, which may have an option of the same name
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Load the harness's plugins. Raises pytest.UsageError where another plugin already owns one of their options."""
    if not _asked_for(args) or _in_checkout(early_config.invocation_params.dir):
        return
    _, unknown = parser.parse_known_and_unknown_args(args)
    if not _asked_for(unknown):
        return  # each of the options that were given is somebody else's: so is the run
    from gonogo.fixtures import PLUGINS

    options, *others = PLUGINS
    try:
        early_config.pluginmanager.import_plugin(options)
    except ValueError as error:  # what pytest says of an option that exists; the words differ between its versions
        raise pytest.UsageError(
            f"gonogo: another plugin or a conftest.py here defines an option of gonogo's: {error}. "
            "`gonogo check` loads neither."
        ) from None
    for name in others:
        early_config.pluginmanager.import_plugin(name)
