"""Looking into an image without running anything in it: for images that have no shell to ask."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from gonogo.platforms.docker.connection import Client, Connection
from gonogo.platforms.docker.facts import find_image
from gonogo.platforms.docker.labels import PROBE, RUN, this_process
from gonogo.platforms.faults import NotFound

#: What runc searches where an image sets no PATH.
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EXPIRES_SECONDS = 3600.0


def program_in_image(connection: Connection, image: str, program: str, *, run_id: str) -> str | None:
    """The program's path in the image: itself if it is a path, else by the image's PATH; None where it is not there.

    A container is created, never started, and removed. Raises NotFound where the image is not on the target.
    """
    fact = find_image(connection, image)
    if fact is None:
        raise NotFound(f"image {image} is not on the target", remedy=f"docker pull {image}, or add --pull")
    variables = dict(one.partition("=")[::2] for one in fact.environment)
    folders = variables.get("PATH", _DEFAULT_PATH).split(":")
    candidates = [program] if "/" in program else [f"{folder}/{program}" for folder in folders if folder]
    with (
        connection.asking(f"while looking into image {image}") as client,
        _never_started(client, image, run_id) as made,
    ):
        return next((path for path in candidates if _exists(client, made, path)), None)


@contextlib.contextmanager
def _never_started(client: Client, image: str, run_id: str) -> Iterator[str]:
    labels = {PROBE: "1", RUN: run_id, **this_process().labels(time.time() + _EXPIRES_SECONDS)}
    made = str(client.create_container(image, command=["-"], network_disabled=True, labels=labels)["Id"])
    try:
        yield made
    finally:
        client.remove_container(made, force=True, v=True)


def _exists(client: Client, container: str, path: str) -> bool:
    # The SDK has no call for `HEAD /containers/ID/archive`, which tells without sending the file.
    answer = client.head(
        client._url("/containers/{0}/archive", container), params={"path": path}, timeout=client.timeout
    )
    if answer.status_code == 404:
        return False
    client._raise_for_status(answer)
    return True
