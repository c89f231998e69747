"""What the docker SDK raises, as faults, each with the daemon's own error line.

Told apart by errno and text: the daemon answers most troubles with status 500 (tried: dockerd 20.10, docker-py 7.2).
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator

from gonogo.platforms.faults import Denied, Fault, Garbled, NotFound, Refused, TimedOut, ToolMissing, Unreachable

#: The closing hint that the CLI and some daemons add; never the cause.
_HINT = re.compile(r"^\s*(See ['\"`]?docker .*--help|Run ['\"`]?docker .*--help).*$", re.IGNORECASE | re.MULTILINE)
_FRAMES = re.compile(r"^(?:docker: )?(?:Error response from daemon: )?")


def true_error(text: str) -> str:
    """The error itself: without the help hint after it and the client's frame before it."""
    kept = _HINT.sub("", text).strip()
    return _FRAMES.sub("", kept).strip()


def translate(error: BaseException, endpoint: str, doing: str, *, seconds: float | None = None) -> Fault:
    """The fault behind an exception of the SDK. `doing` completes 'while …', `seconds` is the bound that was set."""
    if isinstance(error, Fault):
        return error
    chain = list(_chain(error))
    for one in chain:
        fault = _by_system_error(one, endpoint)
        if fault is not None:
            return fault
    names = {type(one).__name__ for one in chain}
    if names & {"ReadTimeout", "ReadTimeoutError", "ConnectTimeout", "ConnectTimeoutError"} or any(
        isinstance(one, TimeoutError) for one in chain
    ):
        return silent(endpoint, doing, seconds)
    text = _text(error)
    if "SSLError" in names or "tls" in text.lower() or "certificate" in text.lower():
        return _tls(endpoint, text)
    status = _status(error)
    if status is not None:
        return _by_answer(status, text, endpoint, doing)
    if names & {"RemoteDisconnected", "ProtocolError", "BadStatusLine", "IncompleteRead", "ConnectionError"}:
        return Unreachable(
            f"the Docker daemon at {endpoint} closed the connection {doing}",
            detail=text,
            remedy="see whether the daemon is restarting: sudo systemctl status docker",
        )
    if names & {"JSONDecodeError", "KeyError", "ValueError", "TypeError"}:
        return not_docker(endpoint, text)
    return Garbled(f"the Docker daemon at {endpoint} gave no usable answer {doing}", detail=text)


def silent(endpoint: str, doing: str, seconds: float | None) -> TimedOut:
    """The connection stands and no answer comes."""
    bound = f" within {seconds:g} s" if seconds is not None else " in time"
    return TimedOut(
        f"the Docker daemon at {endpoint} accepted the connection and gave no answer{bound} {doing}",
        remedy="sudo systemctl restart docker",
    )


def not_docker(endpoint: str, text: str) -> Garbled:
    return Garbled(
        f"what answers at {endpoint} is not a Docker daemon",
        detail=text,
        remedy="name the daemon's own address with --docker-host; `docker context ls` shows those known here",
    )


def _by_system_error(error: BaseException, endpoint: str) -> Fault | None:
    if isinstance(error, socket.gaierror) or type(error).__name__ == "NameResolutionError":
        return Unreachable(
            f"the host in {endpoint} is unknown: no address for that name",
            detail=_text(error),
            remedy="correct the host name in --docker-host or DOCKER_HOST",
        )
    number = getattr(error, "errno", None)
    if not isinstance(error, OSError) or isinstance(error, ssl.SSLError) or number is None:
        return None  # an SSLError's number is OpenSSL's own
    if number == errno.ENOENT:
        return Unreachable(
            f"there is no Docker socket at {endpoint}", detail=_text(error), remedy="sudo systemctl start docker"
        )
    if number in (errno.EACCES, errno.EPERM):
        return Denied(
            f"no permission to open the Docker socket at {endpoint}",
            detail=_text(error),
            remedy="sudo usermod -aG docker $USER && newgrp docker",
        )
    if number == errno.ECONNREFUSED:
        return Refused(
            f"the Docker daemon at {endpoint} refused the connection: nothing is listening there",
            detail=_text(error),
            remedy="sudo systemctl start docker",
        )
    if number in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN):
        return Unreachable(
            f"there is no route to {endpoint}", detail=_text(error), remedy="see the network to that host"
        )
    if number == errno.ENOTSOCK:
        return Unreachable(
            f"{endpoint} is not a socket", detail=_text(error), remedy="name the socket with --docker-host"
        )
    return None


#: Wording -> what is wrong with TLS. Source: OpenSSL 3 as Python words it, Go's crypto/tls as dockerd does.
_TLS_TROUBLES = (
    (r"wrong.version.number|record layer failure", "it speaks no TLS there"),
    (r"HTTP request to an HTTPS server|certificate required|bad certificate", "it wants a certificate of ours"),
    (r"certificate has expired", "its certificate has expired"),
    (r"hostname mismatch|IP address mismatch|doesn't match", "its certificate is for another name"),
    (r"self.signed certificate|unable to get (?:local )?issuer|verify failed|unknown ca", "its signer is unknown here"),
    (r"no such file|path to a|could not find", "the certificates are not there"),
)


def _tls(endpoint: str, text: str) -> Fault:
    line = true_error(text)
    why = next((words for pattern, words in _TLS_TROUBLES if re.search(pattern, line, re.IGNORECASE)), "")
    remedy = "Set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH to the folder with ca.pem, cert.pem and key.pem"
    if why == "it speaks no TLS there":
        remedy = "Unset DOCKER_TLS_VERIFY, or name the port that serves TLS (2376 by custom)"
    return Denied(
        f"TLS with the Docker daemon at {endpoint} failed{f': {why}' if why else ''}", detail=line, remedy=remedy
    )


def _by_answer(status: int, text: str, endpoint: str, doing: str) -> Fault:
    """An answer of HTTP kind that says no."""
    line = true_error(text)
    if "HTTP request to an HTTPS server" in line:
        return _tls(endpoint, line)
    if "<html" in line.lower() or "page not found" in line.lower():
        return not_docker(endpoint, line[:200])
    if status == 404:
        return NotFound(first_line(line), detail=line)
    if status in (401, 403):
        return Denied(f"the Docker daemon at {endpoint} denied {doing.removeprefix('while ')}", detail=line)
    return Refused(f"the Docker daemon at {endpoint} refused {doing}: {first_line(line)}", detail=line)


def container_fault(text: str, image: str) -> Fault | None:
    """What a refused create or start of a container says about image or request, None where it is something else.

    Source of the wordings: dockerd 20.10 with runc 1.1, and the NVIDIA Container Toolkit's hook.
    """
    line = true_error(text)
    low = line.lower()
    missing = re.search(r"bind source path does not exist: (.*)", line, re.DOTALL)
    if missing:
        path = missing.group(1).strip()
        return NotFound(f"{path} does not exist on the daemon's host", detail=line, remedy=f"mkdir -p {path}")
    program = re.search(r'exec: \\?"([^"\\]+)\\?": (?:stat [^:]*: )?(executable file not found|no such file)', line)
    if program:
        return ToolMissing(
            f"image {image} has no {program.group(1)}",
            detail=line,
            remedy="name an image that has a shell: --smoke-image REF",
        )
    if "exec format error" in low:
        return ToolMissing(
            f"image {image} is built for another CPU architecture",
            detail=line,
            remedy=f"docker pull --platform linux/$(uname -m) {image}",
        )
    if "error setting rlimit" in low:
        return Refused(
            "the daemon may not raise a limit that the job needs (locked memory without bound, or the stack)",
            detail=line,
            remedy="run the daemon as root with the capability SYS_RESOURCE; a rootless one cannot grant it",
        )
    return gpu_fault(line)


def gpu_fault(line: str) -> Fault | None:
    """A refused GPU request, None where the text is about something else (GPU-03, GPU-04, GPU-05)."""
    for pattern, kind, message, remedy in _GPU_TROUBLES:
        match = re.search(pattern, line, re.IGNORECASE)
        if match:
            named = (match.group(1) or "").strip() if match.groups() else ""
            return kind(message.format(named), detail=line, remedy=remedy)
    return None


_REGISTER = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
#: Wording, fault, message (with what the wording names), remedy. Source: dockerd 20.10 and 28, Container Toolkit 1.18.
_GPU_TROUBLES: tuple[tuple[str, type[Fault], str, str], ...] = (
    (
        r"could not select device driver",
        Refused,
        "the daemon has no driver for GPU requests: the NVIDIA Container Toolkit is not registered with it",
        _REGISTER,
    ),
    (
        r"unknown (?:runtime specified|or invalid runtime name:) nvidia",
        Refused,
        "the runtime nvidia is not registered with the daemon",
        _REGISTER,
    ),
    (
        r"unresolvable CDI devices(.*)|CDI device injection failed",
        NotFound,
        "the daemon knows no such CDI device",
        "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    ),
    (r"device error: ([^:]+): unknown device", NotFound, "the host has no GPU {}", "nvidia-smi -L"),
    (
        r"unsatisfied condition: ([^,]+)",
        Refused,
        "the image needs {}, which the host's driver does not offer",
        "Install a newer driver, or use an image built for an earlier CUDA",
    ),
    (
        r"nvml error|driver not loaded|nvidia-container-cli: initialization error",
        Unreachable,
        "the host's NVIDIA driver does not answer the container toolkit",
        "sudo modprobe nvidia && nvidia-smi",
    ),
    (
        r"nvidia-container-(?:cli|runtime)",
        Refused,
        "the NVIDIA Container Toolkit refused the request",
        "nvidia-container-cli info",
    ),
)


def first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything it wraps: requests and urllib3 keep the cause in their arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]


def _status(error: BaseException) -> int | None:
    """The HTTP status of an answer that the SDK raised, None where there was no answer."""
    for one in _chain(error):
        code = getattr(getattr(one, "response", None), "status_code", None)
        if isinstance(code, int):
            return code
    return None


def _text(error: BaseException) -> str:
    explanation = getattr(error, "explanation", None)
    if isinstance(explanation, bytes):
        explanation = explanation.decode(errors="replace")
    return str(explanation) if explanation else str(error)
