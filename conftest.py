"""Table of contents: the plugin modules that make up the harness are listed in `fixtures/__init__.py`."""

from gonogo.fixtures import PLUGINS

pytest_plugins = PLUGINS
