"""A NeMo AutoModel recipe as a job file (row JOB-08).

Source: NVIDIA-NeMo/Automodel as of 0.7.0. Up to 0.3.0 the command line is `automodel COMMAND DOMAIN -c FILE` and a
`slurm:` section submits the job; from 0.4.0 on it is `automodel FILE`, the file has `recipe:`, and `slurm:` is ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import PurePath

from gonogo.jobs.faults import JobFault
from gonogo.jobs.nodes import Entry, Mapping, Node, Place, Scalar
from gonogo.jobs.nodes import Sequence as SequenceNode

COMMANDS = ("finetune", "pretrain", "kd", "benchmark")
DOMAINS = ("llm", "vlm")
#: What the launchers use where the recipe says nothing.
SLURM_PORT, TORCHRUN_PORT, SLURM_TASKS = 13742, 29500, 8

_MARKS = ("recipe", "step_scheduler")
_RECIPE_KEYS = frozenset(
    {"recipe", "step_scheduler", "model", "dist_env", "distributed", "optimizer", "dataset", "validation_dataset"}
    | {"loss_fn", "dataloader", "checkpoint", "packed_sequence", "lr_scheduler", "peft", "rng", "teacher_model"}
)
_LAUNCHERS = ("slurm", "skypilot")
#: Keys of ours that may stand in a recipe. All others are NeMo's and are left alone.
_OURS = frozenset(
    {"nemo", "id", "name", "credentials", "env", "requires", "inputs", "outputs", "mounts", "run_as", "ports", "gpus"}
    | {
        "nodes",
        "processes",
        "time_limit",
        "uses",
        "python_packages",
        "attested",
        "waivers",
        "command",
        "image",
        "workdir",
    }
)
_MODULES = {
    "train_ft": "finetune",
    "finetune": "finetune",
    "pretrain": "pretrain",
    "kd": "kd",
    "benchmark": "benchmark",
}


@dataclass
class Translated:
    """The job that the recipe describes, as nodes with the recipe's places."""

    root: Mapping
    faults: list[JobFault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_recipe(root: Mapping) -> bool:
    """Whether the file is a NeMo recipe rather than a job file."""
    keys = set(root.keys())
    if any(entry.key in ("command", "image") and entry.place.line for entry in root.entries):
        return False
    return bool(keys & set(_MARKS)) or len(keys & _RECIPE_KEYS) >= 2


def as_job(root: Mapping, file: str, set_keys: Sequence[str] = ()) -> Translated:
    """The recipe as a job. `set_keys` are keys of `--set`: those of NeMo's own are handed on to NeMo's command line."""
    place = Place(file, 1, 1)
    job = Mapping(tuple(entry for entry in root.entries if entry.key in _OURS or entry.key in _LAUNCHERS), root.place)
    result = Translated(job)
    launch = _command_line(root, file, result)
    defaults = {
        "name": _scalar(_name(root, file), place),
        "command": SequenceNode(tuple(_scalar(word, place) for word in (*launch, *_handed_on(root, set_keys))), place),
        **_shape(root, place),
    }
    for key, node in defaults.items():
        if result.root.entry(key) is None:
            result.root = result.root.put(Entry(key, node.place, node))
    result.notes += _version_notes(root)
    return result


def _command_line(root: Mapping, file: str, result: Translated) -> list[str]:
    """What starts the recipe, or nothing with faults that name what is missing."""
    path = os.path.abspath(file)
    command, domain = (_text(root, "nemo", key) for key in ("command", "domain"))
    _check_word(root, "command", command, COMMANDS, result)
    _check_word(root, "domain", domain, DOMAINS, result)
    if root.get("recipe") is not None:
        found = target_of(root)
        if found == ("", "") and not (command and domain):
            result.notes.append("recipe: the target is not one that is known here; NeMo will judge it")
        return ["automodel", path]
    for key, value, words in (("command", command, COMMANDS), ("domain", domain, DOMAINS)):
        if not value:
            hint = f"add nemo: {{{key}: {words[0]}}} (one of {', '.join(words)}), or recipe:"
            message = "the recipe does not say it, and no recipe: names it"
            result.faults.append(JobFault("JOB-08", file, 1, 1, f"nemo.{key}", message, hint))
    return ["automodel", command, domain, "-c", path] if command and domain else ["automodel", path]


def _check_word(root: Mapping, key: str, value: str, words: tuple[str, ...], result: Translated) -> None:
    nemo = root.get("nemo")
    node = nemo.get(key) if isinstance(nemo, Mapping) else None
    if value and value not in words and node is not None:
        place, message = node.place, f"'{value[:40]}' is not a NeMo {key}"
        hint = "one of " + ", ".join(words)
        result.faults.append(JobFault("JOB-08", place.file, place.line, place.column, f"nemo.{key}", message, hint))


def target_of(root: Mapping) -> tuple[str, str]:
    """(command, domain) as the recipe's target tells them, empty where it does not."""
    recipe = root.get("recipe")
    target = recipe.get("_target_") if isinstance(recipe, Mapping) else recipe
    text = target.text if isinstance(target, Scalar) else ""
    module = re.search(r"recipes\.([a-z_]+)\.([a-z_]+)", text)
    if module:
        return _MODULES.get(module[2], ""), module[1]
    folded = text.lower()
    command = next(
        (
            word
            for mark, word in (
                ("distil", "kd"),
                ("benchmark", "benchmark"),
                ("pretrain", "pretrain"),
                ("finetune", "finetune"),
            )
            if mark in folded
        ),
        "",
    )
    domain = "vlm" if "vlm" in folded else "llm" if "nexttoken" in folded else ""
    return command, domain


def _handed_on(root: Mapping, set_keys: Sequence[str]) -> list[str]:
    """`--key=value` for values that `--set` changed in NeMo's part: the file on disk does not hold them."""
    words = []
    for key in dict.fromkeys(set_keys):
        parts = key.split(".")
        node: Node | None = root
        for part in parts:
            node = node.get(part) if isinstance(node, Mapping) else None
        if parts[0] not in _OURS and parts[0] not in _LAUNCHERS and isinstance(node, Scalar):
            words.append(f"--{key}={node.text}")
    return words


def _shape(root: Mapping, place: Place) -> dict[str, Node]:
    """GPUs, nodes, port and time limit as the launcher section says them."""
    if root.get("slurm") is not None:
        tasks = _node(root, "slurm", "ntasks_per_node") or _scalar(str(SLURM_TASKS), place)
        shape = {"gpus": tasks, "processes": tasks}
        shape |= _present({"nodes": _node(root, "slurm", "nodes"), "time_limit": _node(root, "slurm", "time")})
        return {**shape, "ports": _ports(_node(root, "slurm", "master_port") or _scalar(str(SLURM_PORT), place))}
    if root.get("skypilot") is not None:
        accelerators = _text(root, "skypilot", "accelerators") or "T4:1"
        count = accelerators.partition(":")[2]
        gpus = _scalar(count if count.isdigit() else "1", place)
        return {"gpus": gpus, **_present({"nodes": _node(root, "skypilot", "num_nodes")})}
    # NeMo starts torchrun itself, over all devices that it sees, with torchrun's default port.
    return {
        "gpus": _scalar("-1", place),
        "processes": _scalar("1", place),
        "ports": _ports(_scalar(str(TORCHRUN_PORT), place)),
    }


def _present(nodes: dict[str, Node | None]) -> dict[str, Node]:
    return {key: node for key, node in nodes.items() if node is not None}


def _ports(master: Node) -> Mapping:
    return Mapping((Entry("master", master.place, master),), master.place)


def _name(root: Mapping, file: str) -> str:
    written = _text(root, "slurm", "job_name") or _text(root, "skypilot", "job_name") or PurePath(file).stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", written).strip("-_.")[:63] or "recipe"


def _version_notes(root: Mapping) -> list[str]:
    """From 0.4.0 on NeMo's own command ignores `slurm:` and would start the job on the machine it is typed on."""
    if root.get("slurm") is None:
        return []
    version = _text(root, "nemo", "version") or _installed()
    new_form = isinstance(root.get("recipe"), Scalar)
    if not (new_form or (version and _at_least_0_4(version))):
        return []
    reason = (
        f"NeMo AutoModel {version}" if version and _at_least_0_4(version) else "a recipe of this form (from 0.4.0 on)"
    )
    return [
        f"slurm: {reason} ignores this section: its own automodel command would run the job on this machine; "
        "launch it with gonogo"
    ]


def _at_least_0_4(version: str) -> bool:
    numbers = [int(part) for part in re.findall(r"\d{1,6}", version)[:2]]
    return tuple(numbers) >= (0, 4)


def _installed() -> str:
    try:
        return metadata.version("nemo_automodel")
    except metadata.PackageNotFoundError:
        return ""


def _node(root: Mapping, section: str, key: str) -> Node | None:
    found = root.get(section)
    return found.get(key) if isinstance(found, Mapping) else None


def _text(root: Mapping, section: str, key: str) -> str:
    node = _node(root, section, key)
    return node.text if isinstance(node, Scalar) and not node.is_null else ""


def _scalar(text: str, place: Place) -> Scalar:
    return Scalar(text, True, place)
