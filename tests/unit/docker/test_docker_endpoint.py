"""Which daemon is meant, and what is said of one that cannot be meant."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from gonogo.platforms.docker.connection import DEFAULT_SOCKET, Endpoint, resolve_endpoint
from gonogo.platforms.faults import NotFound
from gonogo.platforms.settings import Setting


def context(home: Path, name: str, meta: Any, *, current: bool = True) -> None:
    folder = home / ".docker" / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(meta))
    if current:
        (home / ".docker" / "config.json").write_text(json.dumps({"currentContext": name}))


def test_setting_wins_over_the_context(tmp_path: Path) -> None:
    context(tmp_path, "lab", {"Endpoints": {"docker": {"Host": "unix:///lab.sock"}}})
    given: Setting[str | None] = Setting("tcp://127.0.0.1:2375", "environment (DOCKER_HOST)")
    found = resolve_endpoint(given, {"HOME": str(tmp_path)})
    assert (found.url, found.origin) == ("tcp://127.0.0.1:2375", "environment (DOCKER_HOST)")


def test_bare_path_is_a_socket() -> None:
    assert resolve_endpoint(Setting("/run/my.sock", "command line"), {}).url == "unix:///run/my.sock"


def test_current_context(tmp_path: Path) -> None:
    context(tmp_path, "lab", {"Endpoints": {"docker": {"Host": "unix:///lab.sock", "SkipTLSVerify": False}}})
    found = resolve_endpoint(Setting(None), {"HOME": str(tmp_path)})
    assert (found.url, found.origin, found.tls) == ("unix:///lab.sock", "docker context (lab)", None)


def test_context_by_variable(tmp_path: Path) -> None:
    context(tmp_path, "lab", {"Endpoints": {"docker": {"Host": "unix:///lab.sock"}}})
    context(tmp_path, "other", {"Endpoints": {"docker": {"Host": "unix:///other.sock"}}}, current=False)
    environment = {"HOME": str(tmp_path), "DOCKER_CONTEXT": "other"}
    assert resolve_endpoint(Setting(None), environment).url == "unix:///other.sock"
    environment["DOCKER_CONTEXT"] = "default"
    assert resolve_endpoint(Setting(None), environment).url == DEFAULT_SOCKET


@pytest.mark.parametrize("config", ["", "not json", "[]", '{"currentContext": null}', '{"auths": {}}'])
def test_no_context_is_the_default_socket(tmp_path: Path, config: str) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(config)
    found = resolve_endpoint(Setting(None), {"HOME": str(tmp_path)})
    assert (found.url, found.origin) == (DEFAULT_SOCKET, "default")


@pytest.mark.parametrize("meta", [{}, {"Endpoints": {}}, [], "x"])
def test_broken_context_is_named(tmp_path: Path, meta: Any) -> None:
    context(tmp_path, "lab", meta)
    with pytest.raises(NotFound, match="the docker context lab is in use and cannot be read") as raised:
        resolve_endpoint(Setting(None), {"HOME": str(tmp_path)})
    assert "docker context use" in raised.value.remedy


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("unix:///var/run/docker.sock", True),
        ("tcp://127.0.0.1:2375", True),
        ("tcp://localhost:2375", True),
        ("tcp://[::1]:2375", True),
        ("tcp://10.0.0.4:2375", False),
        ("tcp://127.example.org:2375", False),
        ("ssh://ml@gpu-host", False),
        ("ssh://localhost", False),
    ],
)
def test_local_by_address(url: str, local: bool) -> None:
    assert Endpoint(url, "command line").is_local is local
