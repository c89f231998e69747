"""The effective settings of a run and where each came from. One precedence: command line, environment, job file, default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A value and its origin: `command line`, `environment (DOCKER_HOST)`, `job file`, `policy file` or `default`."""

    value: T
    origin: str = "default"


@dataclass(frozen=True)
class Settings:
    """Everything that a user can set about a run, resolved. Times are in seconds."""

    platform: Setting[str]
    docker_host: Setting[str | None] = Setting(None)
    docker_network: Setting[str] = Setting("tao_default")
    probe_timeout: Setting[float] = Setting(30.0)
    deadline: Setting[float] = Setting(300.0)
    smoke_image: Setting[str | None] = Setting(None)
    strict: Setting[bool] = Setting(False)
    offline: Setting[bool] = Setting(False)
    login_only: Setting[bool] = Setting(False)
    pull: Setting[bool] = Setting(False)
    deep: Setting[bool] = Setting(False)

    def shown(self) -> Mapping[str, dict[str, object]]:
        """For report headers: `{name: {"value": …, "from": …}}`."""
        return {name: {"value": s.value, "from": s.origin} for name, s in vars(self).items()}
