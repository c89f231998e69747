"""What a Docker host offers: the daemon, GPUs, images and networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gonogo.jobs.sizes import format_size
from gonogo.platforms.faults import Fault
from gonogo.platforms.inspection import Table, gpu_table, node_table
from gonogo.platforms.probe.questions import GpuQuestion, NodeQuestion

if TYPE_CHECKING:
    from gonogo.platforms.docker.connection import Connection
    from gonogo.platforms.docker.platform import DockerPlatform


def tables(platform: DockerPlatform) -> list[Table]:
    """Raises the daemon's Fault; a host that gives no answer about itself leaves its tables out, said in a note."""
    return [_daemon(platform), *_host(platform), _images(platform.connection), _networks(platform.connection)]


def _daemon(platform: DockerPlatform) -> Table:
    info = platform.daemon_info()
    rows = (
        ("address", platform.address),
        ("version", f"{info.version} (API {info.api_version})"),
        ("system", f"{info.os}/{info.arch}"),
        ("runtimes", ", ".join(info.runtimes)),
        ("storage", f"{info.storage_driver} in {info.root_dir}"),
        ("cgroup", info.cgroup),
    )
    return Table("Docker daemon", ("what", "value"), rows)


def _host(platform: DockerPlatform) -> list[Table]:
    try:
        answers = platform.ask([NodeQuestion(), GpuQuestion(seconds=10)], deadline=20.0)
        return [node_table(answers.node()), gpu_table(answers.gpu())]
    except Fault as fault:
        return [Table("Host", (), (), fault.message)]


def _images(connection: Connection) -> Table:
    found = connection.call("when asked for its images", lambda client: client.images())
    rows = [
        (tag, format_size(int(image.get("Size") or 0)))
        for image in found
        for tag in image.get("RepoTags") or []
        if tag != "<none>:<none>"
    ]
    return Table("Images", ("reference", "size"), tuple(sorted(rows)))


def _networks(connection: Connection) -> Table:
    found = connection.call("when asked for its networks", lambda client: client.networks())
    return Table("Networks", ("name", "driver"), tuple(sorted((str(one["Name"]), str(one["Driver"])) for one in found)))
