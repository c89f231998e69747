"""Pulling an image as a step of its own, with the registry's refusals told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.errors import first_line, true_error
from gonogo.platforms.faults import Denied, Fault, NotFound, Refused, TimedOut, Unreachable

#: Seconds without any word of progress after which a pull counts as hung.
_SILENCE = 120.0


def login_for(reference: str, environment: Mapping[str, str], user: str) -> dict[str, str] | None:
    """The login that a pull brings along: NGC_KEY for images of nvcr.io; None leaves it to the docker configuration."""
    key = environment.get("NGC_KEY")
    if not key or not reference.startswith("nvcr.io/"):
        return None
    return {"username": user, "password": key}


def pull_image(
    connection: Connection,
    reference: str,
    progress: Callable[[str], None] | None = None,
    login: Mapping[str, str] | None = None,
) -> None:
    """Pull it on the target with that login, else with the one in this user's docker configuration.

    `progress` gets one line for each change of state. Raises Denied, NotFound, Unreachable, Refused or TimedOut.
    """
    from docker.utils import parse_repository_tag

    repository, tag = parse_repository_tag(reference)
    try:
        lines = connection.client(_SILENCE).pull(
            repository, tag=tag or "latest", stream=True, decode=True, auth_config=login
        )
        for line in lines:
            if "error" in line:  # the answer began with status 200: the refusal comes in the stream
                raise registry_fault(str(line["error"]), reference)
            if progress is not None and line.get("status") and "progressDetail" not in line:
                progress(f"{line.get('id', reference)}: {line['status']}")
    except Fault:
        raise
    except Exception as error:
        text = str(getattr(error, "explanation", "") or "")
        if text:
            raise registry_fault(text, reference) from error
        raise connection.fault(error, f"while pulling {reference}", _SILENCE) from error


def registry_fault(text: str, reference: str) -> Fault:
    """A registry's refusal by its words; most come with status 500 (tried: dockerd 20.10, docker-registry 2.8)."""
    line = true_error(text)
    low = line.lower()
    registry = reference.split("/", 1)[0] if "/" in reference else "docker.io"
    if "no basic auth credentials" in low or "unauthorized" in low or "authentication required" in low:
        return Denied(
            f"registry {registry} wants a login for {reference}", detail=line, remedy=f"docker login {registry}"
        )
    if "denied" in low:
        return Denied(
            f"registry {registry} does not give {reference} to this login, or it does not exist",
            detail=line,
            remedy=f"ask the owner of {reference} for access, then docker login {registry}",
        )
    if "manifest unknown" in low or "not found" in low:
        return NotFound(
            f"registry {registry} has no {reference}", detail=line, remedy="correct `image` in the job file"
        )
    if "no matching manifest" in low:
        return NotFound(f"{reference} is not built for the target's CPU architecture", detail=line)
    if "x509" in low or "certificate" in low:
        return Refused(
            f"the daemon does not trust the certificate of registry {registry}",
            detail=line,
            remedy=f"put its CA into /etc/docker/certs.d/{registry}/ca.crt on the docker host",
        )
    if "no such host" in low or "connection refused" in low or "no route to host" in low:
        return Unreachable(f"the daemon does not reach registry {registry}", detail=line)
    if "timeout" in low or "deadline exceeded" in low:
        return TimedOut(f"registry {registry} did not answer the daemon in time", detail=line)
    return Refused(f"{reference} could not be pulled: {first_line(line)}", detail=line)
