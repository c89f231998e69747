"""Which names and values are secrets, and what a credential must look like."""

from __future__ import annotations

import pytest

from gonogo.jobs.model import Job
from gonogo.jobs.secrets import credential_fault, is_secret_name, looks_secret, secret_names, secret_values


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("HF_TOKEN", True),
        ("hf_token", True),
        ("MONGOSECRET", True),
        ("DB_PASSWORD", True),
        ("DB_PASSWD", True),
        ("DB_PASS", True),
        ("GITHUB_PAT", True),
        ("NGC_KEY", True),
        ("SSH_PRIVATE_KEY", True),
        ("WANDB_API_KEY", True),
        ("OPENAI_APIKEY", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("MAX_NUM_TOKENS", False),
        ("TOKENS_PER_BATCH", False),
        ("SSH_KEY_PATH", False),
        ("SSH_AUTH_SOCK", False),
        ("NCCL_DEBUG", False),
        ("PATH", False),
        ("COMPASS_DIR", False),
        ("MONKEY", False),
        ("HOME", False),
    ],
)
def test_secret_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) == secret


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("hf_abcdefghijklmnopqrst", True),
        ("AKIAABCDEFGHIJKLMNOP", True),
        ("nvapi-abcdefghijklmnopqrst", True),
        ("prefix ghp_abcdefghijklmnopqrstuvwxyz", True),
        ("https://u:p4ssword@h/x", True),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", True),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", True),
        ("https://h:8080/x", False),
        ("ssh://ml@gpu-host:22", False),
        ("hf_short", False),
        ("/data/train", False),
        ("skipping-this-one-is-fine-really", False),
    ],
)
def test_token_shapes(value: str, secret: bool) -> None:
    assert looks_secret(value) == secret


def test_names_and_values_of_a_job() -> None:
    environment = {
        "HF_TOKEN": "canary-token-1",
        "PLAIN": "x",
        "ODD": "hf_abcdefghijklmnopqrst",
        "MINE": "canary-mine-2",
        "SHORT_KEY": "ab",
    }
    job = Job(
        credentials=["MINE"],
        env={"A": "canary-token-1", "B": "plain", "DB_PASS": "canary-pass-3", "C": "x=canary-mine-2"},
    )
    assert secret_names(job, environment) == {"HF_TOKEN", "ODD", "MINE", "SHORT_KEY", "A", "C", "DB_PASS"}
    values = secret_values(job, environment)
    assert {"canary-token-1", "canary-mine-2", "canary-pass-3", "hf_abcdefghijklmnopqrst"} <= values
    assert not {"ab", "plain", "x"} & values


def test_values_in_platform_sections_are_masked_too() -> None:
    job = Job(
        slurm={"hf_token": "canary-a", "env_vars": {"WANDB_API_KEY": "canary-b", "N": "4444"}, "time": "10:30:00"}
    )
    assert secret_values(job, {}) == {"canary-a", "canary-b"}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("'abc'", "quote"),
        ("abc\n", "white space"),
        (" abc", "white space"),
        ("a\nb", "line break"),
        ("a\tb", "control character"),
        ("$HF_TOKEN", "variable that was not expanded"),
        ("${HF_TOKEN}", "variable that was not expanded"),
        ("changeme", "placeholder"),
        ("<your_token>", "placeholder"),
        ("xxxxxxxx", "placeholder"),
        ("hf_your_token_here", "placeholder"),
        ("********", "placeholder"),
        ("hf_abcdefghijklmnopqrst", ""),
        ("p4ss word", ""),
    ],
)
def test_credentials(value: str, fault: str) -> None:
    found = credential_fault(value)
    assert fault in found
    assert bool(found) == bool(fault)
