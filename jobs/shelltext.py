"""What a shell text (`command`, `setup`) refers to. It is read, never run: the target's shell has the last word."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

#: Names that a platform, torchrun, a login or the shell itself sets where the job runs.
# fmt: off
PLATFORM_NAMES = frozenset(
    {
        "NODE_RANK", "LOCAL_RANK", "RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
        "GROUP_WORLD_SIZE", "NNODES", "NUM_NODES", "NUM_GPUS", "NPROC_PER_NODE", "MASTER_ADDR", "MASTER_PORT",
        "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HOME", "USER", "LOGNAME", "PATH", "PWD", "OLDPWD",
        "SHELL", "HOSTNAME", "TMPDIR", "LANG", "TERM", "UID", "EUID", "PPID", "IFS", "RANDOM", "SECONDS",
        "LINENO", "BASH", "BASH_SOURCE", "OPTARG", "OPTIND", "REPLY", "PYTHONPATH", "LD_LIBRARY_PATH",
        "VIRTUAL_ENV", "CONDA_PREFIX", "TAO_JOB_ID", "TAO_RESULTS_ROOT", "TAO_API_RESULTS_DIR",
    }
)
# fmt: on
PLATFORM_PREFIXES = ("SLURM_", "SKYPILOT_", "LEPTON_", "TORCHELASTIC_", "GONOGO_", "PMIX_", "OMPI_")

_SINGLE_QUOTED = re.compile(r"'[^']*'")
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NAME_USED = re.compile(r"(?<![\\$])\$(?:\{[#!]?)?([A-Za-z_][A-Za-z0-9_]*)(:?[-=?+])?")
_NAME_SET = re.compile(r"(?:^|[\s;&|(])(?:export\s+|local\s+|declare\s+|readonly\s+)?([A-Za-z_][A-Za-z0-9_]*)=")
_NAME_BOUND = re.compile(r"\b(?:for|read(?:\s+-r)?|mapfile|getopts\s+\S+)\s+([A-Za-z_][A-Za-z0-9_]*)")


def names_used(text: str) -> list[str]:
    """Variables that the text expects to find, in order: not those it sets itself or gives a default for."""
    visible = _without_single_quotes(text)
    own = {*_NAME_SET.findall(visible), *_NAME_BOUND.findall(visible)}
    wanted = (name for name, default in _NAME_USED.findall(visible) if not default)
    return [name for name in dict.fromkeys(wanted) if name not in own]


def _without_single_quotes(text: str) -> str:
    """The text without what stands in single quotes, which no shell expands; those inside double quotes stay."""
    kept, at = [], 0
    for match in re.finditer(rf"{_DOUBLE_QUOTED.pattern}|{_SINGLE_QUOTED.pattern}", text, re.DOTALL):
        kept.append(text[at : match.start()])
        kept.append(match.group() if match.group().startswith('"') else "''")
        at = match.end()
    return "".join([*kept, text[at:]])


def unset_names(texts: Iterable[str], given: Iterable[str]) -> Iterator[str]:
    """Names that neither the job (`given`) nor a platform will set."""
    known = {*given, *PLATFORM_NAMES}
    for text in texts:
        for name in names_used(text):
            if name not in known and not name.startswith(PLATFORM_PREFIXES):
                yield name


def quote_fault(text: str) -> str:
    """What is wrong with the quotes in that text, or nothing."""
    if "<<" in text:  # a here-document may hold any quotes
        return ""
    try:
        shlex.split(_without_comments(text))
    except ValueError as error:
        return "a quote is not closed" if "quotation" in str(error) else "a backslash stands at the very end"
    return ""


def _without_comments(text: str) -> str:
    return re.sub(r"(?m)^\s*#.*$", "", text)
