"""Folders of a host that are nobody's job's own: owners are never changed there, nor does root write there."""

from __future__ import annotations

import posixpath

#: Folders that many share; one below them may be a job's own.
_SHARED = frozenset("/ /home /media /mnt /opt /root /srv /tmp /var /var/lib /var/tmp".split())
#: Folders of the system's, below which none is a job's own.
_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/run")


def plain(path: str) -> str:
    """The path without `..`, doubled or trailing slashes."""
    return posixpath.normpath("/" + path.lstrip("/"))


def is_hosts_own(path: str) -> bool:
    """Whether the folder is the host's own or shared by all, judged by its name."""
    name = plain(path)
    return name in _SHARED or any(name == one or name.startswith(f"{one}/") for one in _SYSTEM)
