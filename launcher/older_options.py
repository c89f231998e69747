"""The options of the older launch-preflight script, in gonogo's own words.

`gonogo check` takes them, so that a script which called it can switch by changing the program's name. What the older
script merely assumed (how many GPUs, of which size) is asked of the target instead. What has no check in this version
is refused: an option that is silently not looked at would be a GO without looking. See docs/exit-codes.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from gonogo.jobs.rules import is_remote_daemon
from gonogo.launcher.exits import Exit, Stop


@dataclass
class Translated:
    """gonogo's words, and sentences about what became of options that have no word of their own."""

    words: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass
class _Older:
    """The older options met so far."""

    environment: Mapping[str, str]
    words: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    platform: str | None = None
    docker_host: str | None = None
    paths: dict[str, str] = field(default_factory=dict)
    disk: dict[str, float] = field(default_factory=dict)
    gpu_ids: list[str] = field(default_factory=list)
    sms: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)


def translate(arguments: list[str], environment: Mapping[str, str] = os.environ) -> Translated:
    """`check` with older options as `check` with ours; any other command line as it is. Raises Stop(USAGE)."""
    if not arguments or arguments[0] != "check" or not _uses_older(arguments[1:]):
        return Translated(list(arguments))
    older = _Older(environment)
    rest = list(arguments[1:])
    while rest:
        word = rest.pop(0)
        name, equals, inline = word.partition("=")
        if name in _FLAGS:
            _FLAGS[name](older, "")
        elif name in _VALUED:
            if not equals and not rest:
                raise Stop(Exit.USAGE, f"{name} needs a value")
            _VALUED[name](older, inline if equals else rest.pop(0))
        else:
            older.words.append(word)
    return _finished(older)


def _uses_older(arguments: list[str]) -> bool:
    names = {word.partition("=")[0] for word in arguments}
    platforms = {"docker", "virtualenv"}
    named = {after for before, after in pairwise(arguments) if before == "--platform"}
    named |= {word.partition("=")[2] for word in arguments if word.startswith("--platform=")}
    ours = {"--platform", "--path", "--docker-host"}
    return bool(names & (set(_FLAGS) | set(_VALUED) - ours) or named & platforms)


def _finished(older: _Older) -> Translated:
    words = ["check"]
    if older.platform is not None:
        words.append(f"--platform={_platform(older)}")
    if older.docker_host is not None:
        words.append(f"--docker-host={older.docker_host}")
    for label in older.disk:
        if label not in older.paths:
            raise Stop(Exit.USAGE, f"--min-free-disk-gb {label}=…: no --path has the label {label!r}")
    for label, path in older.paths.items():
        words.append(f"--{'output' if label in older.disk else 'path'}={label}={path}")
    if older.disk:
        words.append(f"--set=requires.disk={max(older.disk.values()):g} GiB")
    if older.gpu_ids:
        words.append(f"--set=docker.gpu_ids=[{', '.join(older.gpu_ids)}]")
    if older.sms:
        words.append(f"--set=image_sms=[{', '.join(older.sms)}]")
    if older.allowed:
        words.append(f"--set=requires.compute_capability=[{', '.join(older.allowed)}]")
    return Translated([*words, *older.words], older.notes)


def _platform(older: _Older) -> str:
    if older.platform == "virtualenv":
        return "interactive"
    if older.platform != "docker":
        return older.platform or ""
    host = older.docker_host or older.environment.get("DOCKER_HOST")
    return "remote-docker" if is_remote_daemon(host) else "local-docker"


def _set_platform(older: _Older, value: str) -> None:
    older.platform = value


def _set_host(older: _Older, value: str) -> None:
    older.docker_host = value


def _add_path(older: _Older, value: str) -> None:
    label, equals, path = value.partition("=")
    if not label.strip() or (equals and not path.strip()):
        raise Stop(Exit.USAGE, f"--path {value!r}: neither the label nor the path may be empty; write LABEL=PATH")
    if label in older.paths:
        raise Stop(Exit.USAGE, f"--path: the label {label!r} is given twice")
    older.paths[label] = path if equals else value


def _add_disk(older: _Older, value: str) -> None:
    label, equals, size = value.partition("=")
    if not equals:
        raise Stop(Exit.USAGE, f"--min-free-disk-gb {value!r}: write LABEL=GIB")
    older.disk[label] = _number("--min-free-disk-gb", size)


def _own(option: str, unit: str = "", key: str = "") -> Callable[[_Older, str], None]:
    """An option of ours of another name, or a key of the job file."""

    def take(older: _Older, value: str) -> None:
        text = f"{_number(option, value):g} {unit}" if unit else value
        older.words.append(f"--set={key}={text}" if key else f"{option}={text}")

    return take


def _number(option: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:  # refuses nan and inf as well
        raise Stop(Exit.USAGE, f"{option}: {value!r} is not a size")
    return number


def _asked_instead(what: str) -> Callable[[_Older, str], None]:
    def take(older: _Older, _value: str) -> None:
        older.notes.append(f"{what} is asked of the target; the value given is not assumed")

    return take


def _without_effect(name: str) -> Callable[[_Older, str], None]:
    def take(older: _Older, _value: str) -> None:
        older.notes.append(f"{name} has no effect here")

    return take


def _refused(name: str, row: str) -> Callable[[_Older, str], None]:
    def take(_older: _Older, _value: str) -> None:
        raise Stop(Exit.USAGE, f"{name} needs {row}, which this version does not have yet", remedy=f"leave {name} out")

    return take


def _flag(word: str) -> Callable[[_Older, str], None]:
    def take(older: _Older, _value: str) -> None:
        older.words.append(word)

    return take


def _add_index(older: _Older, value: str) -> None:
    older.gpu_ids += [one.strip() for one in value.split(",") if one.strip()]


def _add_sms(older: _Older, value: str) -> None:
    older.sms += [one.strip() for one in value.split(",") if one.strip()]


def _add_allowed(older: _Older, value: str) -> None:
    label, equals, sms = value.partition("=")
    named = [one.strip() for one in sms.split(",") if one.strip()]
    if not label.strip() or not equals or not named:
        raise Stop(Exit.USAGE, f"--gpu-arch-allowlist {value!r}: write LABEL=SM[,SM]")
    if older.allowed:
        named = [one for one in older.allowed if one in named]  # every list must allow the device
        if not named:
            raise Stop(Exit.USAGE, "--gpu-arch-allowlist: no architecture is in every list")
    older.allowed = named


_FLAGS: Mapping[str, Callable[[_Older, str], None]] = {
    "--pull-smoke-image": _flag("--pull"),
    "--install-missing-tools": _without_effect("--install-missing-tools"),
}
_VALUED: Mapping[str, Callable[[_Older, str], None]] = {
    "--platform": _set_platform,
    "--docker-host": _set_host,
    "--path": _add_path,
    "--skill-bank": _without_effect("--skill-bank"),
    "--min-free-disk-gb": _add_disk,
    "--container-image": _own("--image"),
    "--gpu-smoke-image": _own("--smoke-image"),
    "--gpu-min-count": _own("--gpus"),
    "--gpu-min-memory-gb": _own("--gpu-min-memory-gb", "GiB", "requires.gpu_memory"),
    "--min-gpu-memory-gb": _own("--min-gpu-memory-gb", "GiB", "requires.gpu_memory"),
    "--low-vram-threshold-gb": _own("--low-vram-threshold-gb", "GiB", "requires.gpu_memory_warn"),
    "--min-driver-version": _own("--min-driver-version", key="requires.driver"),
    "--min-cuda-version": _own("--min-cuda-version", key="requires.cuda"),
    "--min-container-toolkit-version": _own("--min-container-toolkit-version", key="requires.container_toolkit"),
    "--target-gpu-index": _add_index,
    "--image-supported-sm": _add_sms,
    "--target-gpu-count": _asked_instead("the number of GPUs"),
    "--target-gpu-memory-gb": _asked_instead("the GPUs' memory"),
    "--gpu-arch": _asked_instead("the GPUs' architecture"),
    "--gpu-arch-allowlist": _add_allowed,
    "--gpu-min-total-memory-gb": _refused("--gpu-min-total-memory-gb", "a bound on the sum of GPU memory"),
    "--json-required-field": _refused("--json-required-field", "row S3-06"),
    "--json-sample-limit": _refused("--json-sample-limit", "row S3-06"),
    "--effective-batch-limit": _refused("--effective-batch-limit", "row S3-06"),
}
