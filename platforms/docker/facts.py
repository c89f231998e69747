"""What the daemon says of itself, its networks, containers and images, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.labels import LAUNCH, job_container_name
from gonogo.platforms.faults import Garbled, NotFound

#: Drivers that a single container can be attached to.
USABLE_DRIVERS = frozenset({"bridge", "host", "null", "macvlan", "ipvlan"})
_PREDEFINED = frozenset({"bridge", "host", "none"})


@dataclass(frozen=True)
class DaemonInfo:
    """The daemon's version and info. `memory` in bytes, `cgroup` such as `2`, `security` the names of its options.

    `route` is how calls travel where that is worth a word, `in_clear` whether they do so over TCP without TLS.
    """

    id: str
    version: str
    api_version: str
    os: str
    arch: str
    kernel: str
    hostname: str
    runtimes: tuple[str, ...]
    default_runtime: str
    security: tuple[str, ...]
    cgroup: str
    storage_driver: str
    logging_driver: str
    root_dir: str
    live_restore: bool
    cdi_dirs: tuple[str, ...]
    cdi_devices: tuple[str, ...]
    cpus: int
    memory: int
    runtime_paths: Mapping[str, str] = field(default_factory=dict)
    route: str = ""
    in_clear: bool = False

    @property
    def rootless(self) -> bool:
        return "rootless" in self.security

    @property
    def remaps_users(self) -> bool:
        return "userns" in self.security

    @property
    def selinux(self) -> bool:
        return "selinux" in self.security

    @property
    def tegra(self) -> bool:
        return "tegra" in self.kernel.lower()


@dataclass(frozen=True)
class NetworkFact:
    """A network of the daemon. `usable` says whether one container can be attached to it by its name, which `holders`
    networks have."""

    name: str
    id: str
    driver: str
    usable: bool
    holders: int = 1


@dataclass(frozen=True)
class ContainerFact:
    """A container, running or not. `launch_id` is empty where it is no job of ours."""

    id: str
    name: str
    status: str
    image: str
    launch_id: str = ""

    @property
    def running(self) -> bool:
        return self.status in ("running", "restarting", "paused")


@dataclass(frozen=True)
class ImageFact:
    """An image on the target. `size` in bytes, `arch` as the daemon names it (`amd64`)."""

    id: str
    reference: str
    size: int
    arch: str
    entrypoint: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def daemon_info(connection: Connection) -> DaemonInfo:
    """Ask version and info. Raises a Fault; Garbled where the answer lacks the daemon's ID."""
    with connection.asking("when asked for its info") as client:
        version: Mapping[str, Any] = client.version()
        info: Mapping[str, Any] = client.info()
    if not info.get("ID") or not info.get("ServerVersion"):
        errors = "; ".join(str(one) for one in info.get("ServerErrors") or [])
        raise Garbled(f"the Docker daemon at {connection.address} answers without an ID or a version", detail=errors)
    return DaemonInfo(
        id=str(info["ID"]),
        version=str(info["ServerVersion"]),
        api_version=str(version.get("ApiVersion", "")),
        os=str(info.get("OSType", "")),
        arch=str(version.get("Arch") or info.get("Architecture", "")),
        kernel=str(info.get("KernelVersion", "")),
        hostname=str(info.get("Name", "")),
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        default_runtime=str(info.get("DefaultRuntime", "")),
        security=_security(info.get("SecurityOptions") or []),
        cgroup=str(info.get("CgroupVersion", "1")),
        storage_driver=str(info.get("Driver", "")),
        logging_driver=str(info.get("LoggingDriver", "")),
        root_dir=str(info.get("DockerRootDir", "")),
        live_restore=bool(info.get("LiveRestoreEnabled")),
        cdi_dirs=tuple(info.get("CDISpecDirs") or ()),
        cdi_devices=tuple(str(one.get("ID", "")) for one in info.get("DiscoveredDevices") or ()),
        cpus=int(info.get("NCPU") or 0),
        memory=int(info.get("MemTotal") or 0),
        runtime_paths={name: str(one.get("path", "")) for name, one in (info.get("Runtimes") or {}).items()},
    )


def _security(options: list[str]) -> tuple[str, ...]:
    """`name=seccomp,profile=default` is seccomp."""
    return tuple(option.split(",", 1)[0].removeprefix("name=") for option in options)


def find_network(connection: Connection, name: str) -> NetworkFact | None:
    """The network of exactly that name, None where the launch will create it.

    Raises NotFound for a predefined name (bridge, host, none) that the daemon does not have: nobody can create it.
    """
    found = connection.call("when asked for its networks", lambda client: client.networks(names=[name]))
    match = [one for one in found if one.get("Name") == name]
    if not match:
        if name in _PREDEFINED:
            raise NotFound(
                f"the daemon has no network {name}: it was started without it",
                remedy="set `docker.network` (DOCKER_NETWORK) to another name, which the launch will create",
            )
        return None
    # A name held twice can only be used by its ID; the launch names the network, so the daemon would refuse it.
    driver = str(match[0].get("Driver", ""))
    usable = len(match) == 1 and (driver in USABLE_DRIVERS or bool(match[0].get("Attachable")))
    return NetworkFact(name, str(match[0].get("Id", "")), driver, usable, len(match))


def containers_of(connection: Connection, launch_id: str) -> list[ContainerFact]:
    """Containers of that launch, by their label or their name, running or not."""
    by_label = {"label": [f"{LAUNCH}={launch_id}"]}
    by_name = {"name": [f"^/?{job_container_name(launch_id)}$"]}
    with connection.asking("when asked for its containers") as client:
        found = [*client.containers(all=True, filters=by_label), *client.containers(all=True, filters=by_name)]
    facts = [container_fact(one) for one in found]
    return list({fact.id: fact for fact in facts}.values())


def container_fact(listed: Mapping[str, Any]) -> ContainerFact:
    """One entry of the daemon's list of containers."""
    names = listed.get("Names") or [""]
    return ContainerFact(
        id=str(listed.get("Id", "")),
        name=str(names[0]).lstrip("/"),
        status=str(listed.get("State", "")),
        image=str(listed.get("Image", "")),
        launch_id=str((listed.get("Labels") or {}).get(LAUNCH, "")),
    )


def find_image(connection: Connection, reference: str) -> ImageFact | None:
    """The image if it is on the target, None where it is not."""
    try:
        found = connection.call(f"when asked for image {reference}", lambda client: client.inspect_image(reference))
    except NotFound:
        return None
    config = found.get("Config") or {}
    return ImageFact(
        id=str(found.get("Id", "")),
        reference=reference,
        size=int(found.get("Size") or 0),
        arch=str(found.get("Architecture", "")),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        environment=tuple(config.get("Env") or ()),
        user=str(config.get("User") or ""),
        labels=dict(config.get("Labels") or {}),
    )


def images_by_size(connection: Connection) -> list[str]:
    """References of the images on the target, the smallest first; an untagged one by its ID."""
    found = connection.call("when asked for its images", lambda client: client.images())
    ordered = sorted(found, key=lambda one: (int(one.get("Size") or 0), str(one.get("Id"))))
    return [_reference(one) for one in ordered]


def _reference(listed: Mapping[str, Any]) -> str:
    tags = [tag for tag in listed.get("RepoTags") or [] if tag != "<none>:<none>"]
    return str(tags[0] if tags else listed.get("Id", ""))
