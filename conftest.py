"""Table of contents: the plugin modules that make up the harness are listed in `fixtures/__init__.py`."""

import pytest

from gonogo.fixtures import PLUGINS


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load them. Not by `pytest_plugins`: a run from elsewhere meets this file late, when they are loaded already."""
    for name in PLUGINS:
        pluginmanager.import_plugin(name)
