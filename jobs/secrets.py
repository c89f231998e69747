"""Which names and values are secrets. In doubt they are: a false alarm costs a masked word, a miss costs a key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gonogo.jobs.model import Job

#: Names that hold secrets on the platforms served here (reference: TAO SDK, NGC, Hugging Face, AWS, Lepton, Brev).
WELL_KNOWN = frozenset(
    {
        "ACCESS_KEY",
        "SECRET_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "BREV_API_TOKEN",
        "CLOUD_METADATA",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "LEPTON_AUTH_TOKEN",
        "LEPTON_WORKSPACE_TOKEN",
        "MONGOSECRET",
        "NGC_API_KEY",
        "NGC_KEY",
        "NVIDIA_API_KEY",
        "WANDB_API_KEY",
    }
)
_NAME = re.compile(
    r"TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|"
    r"(?:^|_)(?:PASS|PAT|AUTH|KEY)(?:_|$)",
    re.IGNORECASE,
)
#: Names that match the pattern and hold none: tokenizer switches, counts and places.
_HARMLESS = re.compile(
    r"TOKENIZER|(?:^|_)(?:MAX|NUM|MIN|N)_\w*TOKENS?$|TOKENS?_PER_|(?:_PATH|_FILE|_DIR|_NAME)$|^SSH_AUTH_SOCK$",
    re.IGNORECASE,
)

#: Shapes of tokens that services hand out: Hugging Face, AWS, NVIDIA, GitHub, GitLab, Slack, Google, OpenAI and JWT.
TOKEN_SHAPES = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|\bnvapi-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable or key of that name is taken to hold a secret."""
    if name.upper() in WELL_KNOWN:
        return True
    return bool(_NAME.search(name)) and not _HARMLESS.search(name)


def looks_secret(value: str) -> bool:
    """Whether the text holds something in the shape of a token, a private key or a password in a URL."""
    return bool(TOKEN_SHAPES.search(value) or _URL_PASSWORD.search(value))


def secret_names(job: Job, environment: Mapping[str, str]) -> set[str]:
    """Names in the environment or the job's `env` whose values must never be shown.

    The job's `credentials`; names by `is_secret_name`; values in the shape of a token; and `env` entries that carry
    the value of one of those.
    """
    names = set(job.credentials)
    for source in (environment, job.env):
        names |= {name for name, value in source.items() if is_secret_name(name) or looks_secret(value)}
    hidden = {environment[name] for name in names if len(environment.get(name, "")) >= 8}
    return names | {name for name, value in job.env.items() if any(secret in value for secret in hidden)}


def secret_values(job: Job, environment: Mapping[str, str]) -> set[str]:
    """The values behind `secret_names` and those in platform sections, for masking.

    Values under four characters are left out: they would mask ordinary words.
    """
    names = secret_names(job, environment)
    found = {source[name] for name in names for source in (environment, job.env) if name in source}
    for section in (job.brev, job.lepton, job.slurm, job.skypilot, job.nemo):
        found |= set(_secrets_below(section or {}))
    return {value for value in found if len(value) >= 4}


def _secrets_below(section: Mapping[str, object]) -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _secrets_below(value)
        elif isinstance(value, str) and (is_secret_name(name) or looks_secret(value)):
            yield value


def credential_fault(value: str) -> str:
    """What is wrong with a credential's value, as a phrase without the value ('is empty'); empty where nothing is."""
    if not value.strip():
        return "is empty"
    if value[0] in "\"'" or value[-1] in "\"'":
        return "begins or ends with a quote"
    if value != value.strip() or "\n" in value or "\r" in value:
        return "begins or ends with white space, or holds a line break"
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        return "holds a control character"
    if re.fullmatch(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?", value):
        return "is a variable that was not expanded"
    return "is a placeholder" if _is_placeholder(value) else ""


def _is_placeholder(value: str) -> bool:
    from gonogo.jobs.placeholders import placeholder_in  # here: placeholders builds on this module

    return bool(placeholder_in(value)) or len(set(value)) == 1
