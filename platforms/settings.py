"""The effective settings of a run and where each came from. One precedence: command line, environment, job file,
default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from gonogo.jobs.model import Job

T = TypeVar("T")


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A value and its origin: `command line`, `environment (DOCKER_HOST)`, `job file`, `policy file` or `default`."""

    value: T
    origin: str = "default"


@dataclass(frozen=True)
class Settings:
    """Everything that a user can set about a run, resolved. Times are in seconds.

    `registry_user` is whom NGC_KEY belongs to at nvcr.io, `auto_remove` that an ended container goes by itself.
    """

    platform: Setting[str]
    docker_host: Setting[str | None] = Setting(None)
    docker_network: Setting[str] = Setting("tao_default")
    container_user: Setting[str | None] = Setting(None)
    registry_user: Setting[str] = Setting("$oauthtoken")
    auto_remove: Setting[bool] = Setting(False)
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
        return {name: {"value": _without_password(s.value), "from": s.origin} for name, s in vars(self).items()}


def _without_password(value: object) -> object:
    """A URL as it may be shown: whoever writes a password into an address must not find it in a report."""
    return re.sub(r"(?<=://)([^/@:\s]*):[^/@\s]*@", r"\1@", value) if isinstance(value, str) else value


def resolve(
    platform: Setting[str], given: Mapping[str, object], environment: Mapping[str, str], job: Job | None
) -> Settings:
    """Settle every setting by the one precedence. `given` holds command-line values by option name, None where not
    given.

    Raises ValueError naming the option or variable whose value cannot be used.
    """
    docker = job.docker if job is not None else None
    pick = _Picker(given, environment)
    return Settings(
        platform=platform,
        docker_host=pick.text("docker_host", "DOCKER_HOST", docker.host if docker else None, None),
        docker_network=pick.required_text(
            "docker_network", "DOCKER_NETWORK", docker.network if docker else None, "tao_default"
        ),
        container_user=pick.text("container_user", "TAO_DOCKER_CONTAINER_USER", None, None),
        registry_user=pick.required_text("registry_user", "DOCKER_USERNAME", None, "$oauthtoken"),
        auto_remove=pick.flag("auto_remove", "DOCKER_AUTO_REMOVE", docker.auto_remove if docker else False),
        probe_timeout=pick.seconds("probe_timeout", "GONOGO_PROBE_TIMEOUT", 30.0),
        deadline=pick.seconds("deadline", "GONOGO_DEADLINE", 300.0),
        smoke_image=pick.text("smoke_image", "GONOGO_SMOKE_IMAGE", None, None),
        strict=pick.flag("strict", "GONOGO_STRICT"),
        offline=pick.flag("offline", "AIR_GAPPED"),
        login_only=pick.flag("login_only", "GONOGO_LOGIN_ONLY"),
        pull=pick.flag("pull", "GONOGO_PULL"),
        deep=pick.flag("deep", "GONOGO_DEEP"),
    )


class _Picker:
    """Command line, then environment, then job file, then default."""

    def __init__(self, given: Mapping[str, object], environment: Mapping[str, str]) -> None:
        self._given = given
        self._environment = environment

    def text(self, option: str, variable: str, in_file: str | None, default: str | None) -> Setting[str | None]:
        value = self._given.get(option)
        if value is not None:
            return Setting(str(value), "command line")
        if self._environment.get(variable):
            return Setting(self._environment[variable], f"environment ({variable})")
        if in_file is not None:
            return Setting(in_file, "job file")
        return Setting(default, "default")

    def required_text(self, option: str, variable: str, in_file: str | None, default: str) -> Setting[str]:
        found = self.text(option, variable, in_file, default)
        return Setting(found.value or default, found.origin)

    def seconds(self, option: str, variable: str, default: float) -> Setting[float]:
        found = self.text(option, variable, None, None)
        if found.value is None:
            return Setting(default, "default")
        name = f"--{option.replace('_', '-')}" if found.origin == "command line" else variable
        try:
            value = float(found.value)
        except ValueError:
            raise ValueError(f"{name}: {found.value!r} is not a number of seconds") from None
        if not 0 < value < 1e7:
            raise ValueError(f"{name}: {found.value} must be more than 0 and less than 10,000,000 seconds")
        return Setting(value, found.origin)

    def flag(self, option: str, variable: str, in_file: bool = False) -> Setting[bool]:
        if self._given.get(option):
            return Setting(True, "command line")
        text = self._environment.get(variable, "").strip().lower()
        if not text:
            return Setting(in_file, "job file" if in_file else "default")
        if text in ("0", "false", "no", "off"):
            return Setting(False, f"environment ({variable})")
        if text in ("1", "true", "yes", "on"):
            return Setting(True, f"environment ({variable})")
        raise ValueError(f"{variable}: {text!r} is neither yes nor no")
