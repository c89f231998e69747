"""The daemon's and registries' words, as they were recorded, become the right faults."""

from __future__ import annotations

import pytest

from gonogo.platforms.docker.errors import container_fault, gpu_fault, true_error
from gonogo.platforms.docker.pull import registry_fault
from gonogo.platforms.faults import Denied, NotFound, Refused, TimedOut, ToolMissing, Unreachable

FRAME = "OCI runtime create failed: runc create failed: unable to start container process: "


def test_true_error_loses_frame_and_hint() -> None:
    text = "docker: Error response from daemon: Unknown runtime specified nvidia.\nSee 'docker run --help'."
    assert true_error(text) == "Unknown runtime specified nvidia."
    assert (
        true_error("docker: Error response from daemon: no.\n\nRun 'docker run --help' for more information") == "no."
    )


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (
            'invalid mount config for type "bind": bind source path does not exist: /a, b',
            NotFound,
            "/a, b does not exist",
        ),
        (
            FRAME + 'exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown',
            ToolMissing,
            "img:1 has no /bin/sh",
        ),
        (FRAME + 'exec: "python": executable file not found in $PATH: unknown', ToolMissing, "img:1 has no python"),
        ("exec /bin/sh: exec format error", ToolMissing, "another CPU architecture"),
        (FRAME + "error setting rlimit type 8: operation not permitted: unknown", Refused, "may not raise a limit"),
        ('could not select device driver "" with capabilities: [[gpu]]', Refused, "no driver for GPU requests"),
        ("Unknown runtime specified nvidia", Refused, "runtime nvidia is not registered"),
        ("unknown or invalid runtime name: nvidia", Refused, "runtime nvidia is not registered"),
        ("nvidia-container-cli: device error: 9: unknown device: unknown", NotFound, "no GPU 9"),
        ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7", NotFound, "no such CDI device"),
        ("nvidia-container-cli: mount error: file creation failed", Refused, "Toolkit refused"),
    ],
)
def test_container_troubles(text: str, kind: type[Exception], words: str) -> None:
    fault = container_fault(text, "img:1")
    assert type(fault) is kind
    assert words in fault.message
    assert fault.detail == text
    assert fault.remedy


@pytest.mark.parametrize("text", ["", "driver failed programming external connectivity: port is already allocated"])
def test_other_words_are_left_to_others(text: str) -> None:
    assert container_fault(text, "img:1") is None
    assert gpu_fault(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('Head "https://nvcr.io/v2/nv/py/manifests/1": no basic auth credentials', Denied),
        ("unauthorized: authentication required", Denied),
        ("pull access denied for a, repository does not exist or may require 'docker login'", Denied),
        ("manifest for nvcr.io/nv/py:nope not found: manifest unknown: manifest unknown", NotFound),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", NotFound),
        ('Get "https://nvcr.io/v2/": x509: certificate signed by unknown authority', Refused),
        ('Get "http://127.0.0.1:5999/v2/": dial tcp 127.0.0.1:5999: connect: connection refused', Unreachable),
        ("dial tcp: lookup registry.invalid on 10.0.0.1:53: no such host", Unreachable),
        ("net/http: TLS handshake timeout", TimedOut),
        ("context deadline exceeded", TimedOut),
        ("something else", Refused),
    ],
)
def test_registry_troubles(text: str, kind: type[Exception]) -> None:
    fault = registry_fault(text, "nvcr.io/nv/py:nope")
    assert type(fault) is kind
    assert fault.detail == text
