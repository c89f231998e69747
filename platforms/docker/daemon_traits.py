"""What is known to be bad about a daemon, and what a confined one forbids. Sources: rows DOCK-04, DOCK-05; Docker
Engine 20.10 to 28 (storage drivers, dual logging, user namespaces), snapd's docker.
"""

from __future__ import annotations

from gonogo.platforms.docker.facts import DaemonInfo
from gonogo.platforms.versions import compare

#: Engine 20.10, the first that keeps logs readable beside a driver that cannot be read.
OLDEST_API = "1.41"
_STORAGE = {
    "vfs": "storage driver vfs copies the whole image for each container: slow starts, and a full disk soon",
    "devicemapper": "storage driver devicemapper was taken out of Docker Engine 25, and is slow on loop devices",
    "aufs": "storage driver aufs was taken out of Docker Engine 24",
    "overlay": "storage driver overlay was taken out of Docker Engine 24: overlay2 has taken its place",
}
#: Log drivers whose logs the daemon itself can read.
_READABLE = frozenset({"json-file", "local", "journald"})


def troubles(info: DaemonInfo) -> list[str]:
    """Each known trouble in one line; empty for a daemon without any."""
    found = []
    if _is_old(info):
        found.append(f"API {info.api_version} is older than {OLDEST_API} (Docker Engine 20.10)")
    if info.storage_driver in _STORAGE:
        found.append(_STORAGE[info.storage_driver])
    found += _log_troubles(info)
    return found + confinement(info)


def _is_old(info: DaemonInfo) -> bool:
    return not info.api_version or compare(info.api_version, OLDEST_API) < 0


def _log_troubles(info: DaemonInfo) -> list[str]:
    if info.logging_driver in _READABLE or not info.logging_driver:
        return []
    if info.logging_driver == "none" or _is_old(info):
        return [f"log driver {info.logging_driver}: no log of a job can be read afterwards"]
    return [f"log driver {info.logging_driver}: of a job's log only what the daemon still keeps beside it can be read"]


def confinement(info: DaemonInfo) -> list[str]:
    """What a daemon forbids that is rootless, maps users, or is confined by snap; each in one line."""
    found = []
    if info.rootless:
        found.append(
            "the daemon is rootless: users in containers are others on the host, root is its own account, and it "
            "cannot raise limits such as memlock"
        )
    elif info.remaps_users:
        found.append(
            "the daemon remaps users (userns-remap): users in containers are others on the host, so that folders must "
            "belong to the mapped numbers"
        )
    if info.root_dir.startswith("/var/snap/"):
        found.append(
            "the daemon is confined by snap: it sees no folders outside /home and removable media, and the NVIDIA "
            "Container Toolkit cannot hook into it"
        )
    return found
