"""URIs, paths, images, ports and hosts as a job file writes them. Sources: rows JOB-04, JOB-06, PORT-01, PORT-04."""

from __future__ import annotations

import difflib
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, WithJsonSchema

from gonogo.jobs.fields import as_filled, hidden, shown, whole_number, wrong
from gonogo.jobs.nodes import Scalar

#: Schemes that a job may use; which platform serves which is `rules.foreign_schemes`.
SCHEMES = ("s3", "file", "lepton", "lustre")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/*)(.*)", re.DOTALL)
_BARE_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_FOREIGN = {
    "gs": "copy the data to an S3-compatible store and write s3://BUCKET/KEY",
    "gcs": "copy the data to an S3-compatible store and write s3://BUCKET/KEY",
    "azure": "copy the data to an S3-compatible store and write s3://BUCKET/KEY",
    "az": "copy the data to an S3-compatible store and write s3://BUCKET/KEY",
    "s3a": "write s3://BUCKET/KEY",
    "s3n": "write s3://BUCKET/KEY",
    "aws": "write s3://BUCKET/KEY",
    "slurm": "write the absolute path as the cluster sees it",
    "ssh": "write the absolute path as the target sees it",
    "nfs": "mount it on the target and write the absolute path",
    "http": "download it first and write the absolute path, or s3://BUCKET/KEY",
    "https": "download it first and write the absolute path, or s3://BUCKET/KEY",
    "hf": "let the job load it by its name, or download it first and write the absolute path",
    "ngc": "download it first and write the absolute path",
}

_PATH_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_PATH_PART}(?:/{_PATH_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_LONGEST_PATH = 4096


def as_uri(value: object) -> str:
    """An `s3://`, `file:///`, `lepton://` or `lustre://` URI, or an absolute path."""
    text = as_filled(value)
    if len(text) > _LONGEST_PATH:
        raise wrong(f"longer than {_LONGEST_PATH} characters", row="JOB-04")
    if text.startswith("/"):
        return text
    match = _SCHEME.fullmatch(text)
    if not match:
        raise _relative(text, value)
    scheme, slashes, rest = match.groups()
    if hidden(value) and scheme.lower() not in SCHEMES:
        raise wrong(
            "the value has a scheme that is not served", hint="write s3://BUCKET/KEY or an absolute path", row="JOB-04"
        )
    if not slashes and "/" in scheme:
        raise _relative(text, value)
    return _checked_uri(text, scheme, slashes, rest)


def _refuse_bare_variable(text: str, value: object) -> None:
    if _BARE_VARIABLE.fullmatch(text) and not hidden(value):
        raise wrong("a variable name that is not expanded", hint=f"write ${{{text}}}", row="JOB-02")


def _relative(text: str, value: object) -> Exception:
    _refuse_bare_variable(text, value)
    if text.startswith("~"):
        return wrong("'~' is not expanded", hint="write ${HOME}/… or the absolute path", row="JOB-04")
    hint = "write the absolute path as the target sees it, or s3://BUCKET/KEY"
    return wrong(f"{shown(value)} is a relative path", hint=hint, row="JOB-04")


def _checked_uri(text: str, scheme: str, slashes: str, rest: str) -> str:
    low = scheme.lower()
    if low not in SCHEMES:
        raise wrong(f"the scheme '{scheme[:20]}' is not served", hint=_right_form(low, scheme), row="JOB-04")
    if scheme != low:
        raise wrong("a scheme is written in lower case", hint=f"write {low}://…", row="JOB-04")
    if low == "s3" and (slashes != "//" or not rest or rest.startswith("/")):
        bucket = rest.split("/", 1)[0]
        hint = "write s3://BUCKET/KEY" if not bucket else "write s3://, the bucket and the key"
        raise wrong("not an s3 URI with a bucket", hint=hint, row="JOB-04")
    if low == "s3" and re.search(r"[\s?#@]", rest.split("/", 1)[0]):
        raise wrong("the bucket name holds a character that none may have", hint="write s3://BUCKET/KEY", row="JOB-04")
    if low == "file" and slashes != "///":
        raise wrong("a file URI has three slashes and an absolute path", hint="write file:///data/…", row="JOB-04")
    if low in ("lepton", "lustre") and len(slashes) < 2:
        raise wrong(f"a {low} URI begins with {low}://", hint=f"write {low}://…", row="JOB-04")
    return text


def _right_form(low: str, scheme: str) -> str:
    if low in _FOREIGN:
        return _FOREIGN[low]
    if len(scheme) == 1:
        return "write the path as the target (Linux) sees it"
    near = difflib.get_close_matches(low, SCHEMES, n=1)
    return f"did you mean {near[0]}://?" if near else "write s3://BUCKET/KEY or an absolute path"


def as_absolute(value: object) -> str:
    """An absolute path without `..`."""
    text = as_filled(value)
    _refuse_bare_variable(text, value)
    if not text.startswith("/"):
        raise wrong(f"{shown(value)} is not an absolute path", hint="begin it with /", row="JOB-06")
    if ".." in text.split("/"):
        raise wrong(f"{shown(value)} goes up with '..'", hint="write the path it ends at", row="JOB-06")
    return text


def as_mount_point(value: object) -> str:
    """An absolute path inside the container, other than `/`."""
    text = as_absolute(value)
    if not text.strip("/"):
        raise wrong("'/' would hide everything in the image", hint="mount it below a folder", row="JOB-06")
    return text


def as_image(value: object) -> str:
    """A container image reference, or the absolute path of a `.sqsh` file."""
    text = as_filled(value)
    _refuse_bare_variable(text, value)
    scheme = re.match(r"(docker|https?|oci|dockerd|podman|enroot|shub|library)://", text)
    if scheme:
        raise wrong(f"an image reference has no '{scheme[1]}://'", hint="write REGISTRY/NAME:TAG")
    if "#" in text:
        raise wrong("an image reference has no '#'", hint="write REGISTRY/NAME:TAG")
    if text.startswith("/") and text.endswith(".sqsh"):
        return text
    if not _IMAGE.fullmatch(text):
        lowered = text.lower()
        hint = (
            "names are lower case; write REGISTRY/NAME:TAG" if _IMAGE.fullmatch(lowered) else "write REGISTRY/NAME:TAG"
        )
        raise wrong(f"{shown(value)} is not an image reference", hint=hint)
    return text


_port = whole_number(-(2**31), 2**31)


def as_master_port(value: object) -> int:
    """A rendezvous port: 1024 to 65535."""
    number = as_port(value)
    if number < 1024:
        raise wrong(
            f"port {number} is privileged: only root may listen there",
            hint="choose one from 1024 to 65535, such as 29500",
        )
    return number


def as_port(value: object) -> int:
    """A port: 1 to 65535."""
    number = _port(value)
    if number == 0:
        raise wrong("port 0 means any free port, which nobody could connect to", hint="name one from 1024 to 65535")
    if not 1 <= number <= 65535:
        raise wrong(f"{shown(value)} is not a port: they go from 1 to 65535")
    return number


def as_docker_host(value: object) -> str:
    """A daemon's URL: unix://, tcp:// or ssh://. A password in it is refused and not shown."""
    text = as_filled(value)
    match = re.match(r"(unix|tcp|ssh|http|https|npipe|fd)://", text)
    if not match:
        raise wrong(
            f"{shown(value)} is not a daemon's URL", hint="write ssh://USER@HOST, tcp://HOST:PORT or unix:///PATH"
        )
    if match[1] in ("tcp", "ssh", "http", "https"):
        try:
            parts = urlsplit(text)
            host, password = parts.hostname, parts.password
            _ = parts.port
        except ValueError:
            raise wrong("the host or port in the URL cannot be read", hint="write ssh://USER@HOST:PORT") from None
        if password is not None:
            raise wrong(
                "the URL holds a password", hint="use a key or an agent, and write ssh://USER@HOST", row="CRED-06"
            )
        if not host or host.startswith("-"):
            raise wrong("the URL names no host", hint="write ssh://USER@HOST")
    return text


def publish_parts(value: object) -> object:
    """`8080` and `8080:80` and `8080:80/udp` as the mapping `{host, container, protocol}`; a mapping stays."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"host": value, "container": value}
    if not isinstance(value, (str, Scalar)):
        return value
    text = value.text if isinstance(value, Scalar) else value
    match = re.fullmatch(r"([0-9]{1,9})(?::([0-9]{1,9}))?(?:/(tcp|udp))?", text.strip())
    if not match:
        raise wrong(
            f"{shown(value)} is not a port to publish", hint='write 8080, "8080:80" or {host: 8080, container: 80}'
        )
    host, container, protocol = match.groups()
    return {"host": int(host), "container": int(container or host), "protocol": protocol or "tcp"}


def mount_parts(value: object) -> object:
    """`SRC:DST[:ro|rw]` as the mapping `{source, target, read_only}`; a mapping stays."""
    if not isinstance(value, (str, Scalar)):
        return value
    parts = (value.text if isinstance(value, Scalar) else value).split(":")
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in ("ro", "rw")):
        hint = "write /SRC:/DST, /SRC:/DST:ro, or {source: …, target: …} where a path holds ':'"
        raise wrong(f"{shown(value)} is not a mount", hint=hint, row="JOB-06")
    if not parts[0].startswith("/"):
        hint = "write the absolute path of a folder on the target; named volumes are not used"
        raise wrong(f"the source of {shown(value)} is not an absolute path", hint=hint, row="JOB-06")
    return {"source": parts[0], "target": parts[1], "read_only": len(parts) == 3 and parts[2] == "ro"}


_PORT_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "string"}]}
_MASTER_SCHEMA = {
    "anyOf": [{"type": "integer", "minimum": 1024, "maximum": 65535}, {"type": "string", "pattern": r"\$\{"}]
}

URI = Annotated[
    str,
    BeforeValidator(as_uri),
    WithJsonSchema(
        {"type": "string", "description": "s3://BUCKET/KEY, file:///PATH, lustre://…, lepton://…, or an absolute path."}
    ),
]
AbsolutePath = Annotated[str, BeforeValidator(as_absolute), WithJsonSchema({"type": "string", "pattern": r"^/|\$\{"})]
MountPoint = Annotated[str, BeforeValidator(as_mount_point), WithJsonSchema({"type": "string", "pattern": r"^/|\$\{"})]
Image = Annotated[str, BeforeValidator(as_image), WithJsonSchema({"type": "string", "minLength": 1})]
MasterPort = Annotated[int, BeforeValidator(as_master_port), WithJsonSchema(_MASTER_SCHEMA)]
Port = Annotated[int, BeforeValidator(as_port), WithJsonSchema(_PORT_SCHEMA)]
DockerHost = Annotated[str, BeforeValidator(as_docker_host), WithJsonSchema({"type": "string"})]
