"""What only shows when the whole job is known: names used twice, waivers past their date, values that disagree."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from datetime import date

from gonogo.jobs.expand import is_shell_text
from gonogo.jobs.faults import JobFault
from gonogo.jobs.model import PLATFORM_SECTIONS, Job
from gonogo.jobs.nodes import Node, Scalar, dotted, walk
from gonogo.jobs.secrets import is_secret_name, looks_secret
from gonogo.jobs.shelltext import names_used, unset_names

#: Where a file gives values that the job or a launcher uses as they are.
_SECTIONS_WITH_VALUES = ("env", *PLATFORM_SECTIONS)
_NO_LINES: Mapping[str, int] = {}


def consistency_faults(job: Job, today: date) -> list[tuple[str, str, str]]:
    """(dotted key, message, hint) for each fault that concerns more than one value."""
    found: list[tuple[str, str, str]] = []
    for key, names in (
        ("inputs", [entry.name for entry in job.inputs]),
        ("outputs", [entry.name for entry in job.outputs]),
    ):
        found += [
            (f"{key}.{i}.name", f"the name '{name}' is used twice", "give each its own") for i, name in _repeated(names)
        ]
    ports = [f"{port.host}/{port.protocol}" for port in job.ports.publish]
    found += [(f"ports.publish.{i}", f"host port {port} is published twice", "") for i, port in _repeated(ports)]
    gpu_ids = job.docker.gpu_ids if job.docker else []
    found += [(f"docker.gpu_ids.{i}", f"GPU {gpu} is named twice", "") for i, gpu in _repeated(gpu_ids)]
    for i, waiver in enumerate(job.waivers):
        if waiver.until < today:
            message = f"the waiver for {waiver.row} ended on {waiver.until.isoformat()}"
            found.append((f"waivers.{i}.until", message, "renew it with its owner, or remove it"))
    return found


def _repeated(values: Iterable[str]) -> list[tuple[int, str]]:
    seen: set[str] = set()
    return [(i, value) for i, value in enumerate(values) if value in seen or seen.add(value)]  # type: ignore[func-returns-value]


def check_rows(
    job: Job, known_ids: Collection[str], *, file: str = "job file", lines: Mapping[str, int] = _NO_LINES
) -> list[JobFault]:
    """A fault for each waiver or attestation of an unknown row. `file` and `lines` are those of the `LoadedJob`."""
    named = [(f"waivers.{i}.row", entry.row) for i, entry in enumerate(job.waivers)]
    named += [(f"attested.{i}.row", entry.row) for i, entry in enumerate(job.attested)]
    return [
        unknown_row(row, known_ids, file=file, line=lines.get(key, 0), key=key)
        for key, row in named
        if row not in known_ids
    ]


def unknown_row(row: str, known_ids: Collection[str], *, file: str, line: int, key: str) -> JobFault:
    """The fault for one row ID that the catalogue does not have."""
    near = difflib.get_close_matches(row, sorted(known_ids), n=1)
    hint = f"did you mean {near[0]}?" if near else "run: gonogo list"
    return JobFault("JOB-01", file, line, 1 if line else 0, key, f"there is no row '{row}'", hint)


def advice(job: Job) -> list[str]:
    """Notes about the job that are no faults: names nobody sets, secrets in clear, values that disagree."""
    return [*_shell_advice(job), *_secret_advice(job), *_gpu_advice(job)]


def _shell_advice(job: Job) -> list[str]:
    sections = [section for section in (job.slurm, job.skypilot) if section]
    given = {*job.env, *job.credentials}
    for section in sections:
        variables = section.get("env_vars")
        given |= set(variables) if isinstance(variables, dict) else set()
    texts = [str(section["setup"]) for section in sections if section.get("setup")]
    if isinstance(job.command, str):
        texts.append(job.command)
    elif not {"-c", "-lc", "-ec", "-exc"} & set(job.command):
        literal = [name for word in job.command for name in names_used(word)]
        if literal:
            return [
                f"command: '${literal[0]}' stays as it is: a list is run without a shell; write the command as a string"
            ]
    else:
        texts += job.command
    names = list(dict.fromkeys(unset_names(texts, given)))
    return [
        f"command: '${name}' is set by neither the job nor the platform; add it to env or credentials" for name in names
    ]


def _secret_advice(job: Job) -> list[str]:
    both = sorted(set(job.env) & set(job.credentials))
    return [f"env.{name}: also named in credentials; env wins" for name in both]


def clear_secrets(root: Node) -> list[str]:
    """Dotted keys of values that are secrets in clear, as the file has them. `root` must not be expanded yet."""
    return [
        dotted(path)
        for path, _, node in walk(root)
        if isinstance(node, Scalar)
        and isinstance(path[-1], str)
        and path[0] in _SECTIONS_WITH_VALUES
        and not is_shell_text(path)
        and _is_clear_secret(path[-1], node.text)
    ]


def _is_clear_secret(name: str, text: str) -> bool:
    if "${" in text:
        return False
    return looks_secret(text) or (is_secret_name(name) and len(text) >= 8 and not text.startswith("/"))


def _gpu_advice(job: Job) -> list[str]:
    ids = job.docker.gpu_ids if job.docker else []
    if ids and job.gpus not in (-1, len(ids)):
        return [f"docker.gpu_ids names {len(ids)} GPU(s), gpus is {job.gpus}: on docker the named ones are used"]
    return []
