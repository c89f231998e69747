"""Secrets are hidden in every form in which a tool echoes them; ordinary text stays."""

from __future__ import annotations

import base64
import html
import json
import shlex
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.reports.redact import Redactor

CANARY = 'caNary/7+"quoted" & <x>é'
REDACTOR = Redactor({"MY_TOKEN": CANARY})


@pytest.mark.parametrize(
    "form",
    [
        CANARY,
        quote(CANARY, safe=""),
        quote(CANARY),
        quote_plus(CANARY),
        json.dumps(CANARY),
        json.dumps(CANARY, ensure_ascii=False),
        html.escape(CANARY),
        shlex.quote(CANARY),
        repr(CANARY),
        base64.b64encode(CANARY.encode()).decode(),
        base64.urlsafe_b64encode(CANARY.encode()).decode(),
        *[base64.b64encode(b"u" * pad + b":" + CANARY.encode() + b"!").decode() for pad in range(3)],
    ],
)
def test_each_spelling_of_a_known_value_is_hidden(form: str) -> None:
    shown = REDACTOR.text(f"before {form} after")
    assert "[secret MY_TOKEN]" in shown
    assert "caNary" not in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    for pad in range(3):
        middle = base64.b64encode(b"u" * pad + CANARY.encode()).decode()[4:-4]
        assert middle not in shown


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("login hf_" + "aB3" * 12, "aB3aB3"),
        ("key nvapi-" + "x-_9" * 12, "x-_9"),
        ("prefix-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0xx.c2ln", "c2ln"),
        ("AKIA" + "Q7" * 8, "Q7Q7"),
        ("ASIA" + "Q7" * 8, "Q7Q7"),
        ("Authorization: Bearer abc", "abc"),
        ('{"Authorization": "Basic dTpw"}', "dTpw"),
        ("curl -H 'x: Bearer 0123456789abcdefghij'", "0123456789"),
        ("Basic " + base64.b64encode(b"user:pass").decode(), "dXNlcjpwYXNz"),
        ("https://user:p4ss@host/x", "p4ss"),
        ("redis://:p4ss@host", "p4ss"),
        ("https://averylongtokenaverylong@host/x", "averylong"),
        ("?X-Amz-Signature=deadbeef&a=b", "deadbeef"),
        ("X-Amz-Credential=AB%2F2026&", "AB%2F2026"),
        ("x-amz-security-token: IQoJb3JpZ2lu", "IQoJ"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0xx.c2lnbmF0dXJl", "c2ln"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MII"),
        ("-----BEGIN PRIVATE KEY-----\\nMIIabc cut off", "MII"),
        ("WANDB_API_KEY=0123456789abcdef", "0123456789"),
        ("ghp_" + "a1" * 18, "a1a1"),
    ],
)
def test_known_shapes_are_hidden(text: str, gone: str) -> None:
    shown = Redactor().text(text)
    assert gone not in shown
    assert "[secret]" in shown
    assert Redactor().text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "0a" * 32,
        "nvcr.io/nvidia/tao/tao-toolkit:7.1.0-pyt@sha256:" + "ff" * 32,
        "registry.example.com:5000/team/image:1.2",
        "ssh://ml@gpu-host:22",
        "git@github.com:owner/name.git",
        "s3://bucket/coco/train/",
        "/data/sk-learn-experiments-with-a-long-name/run-1",
        "Bearer authentication is needed",
        "Basic authentication failed",
        "TOKENIZERS_PARALLELISM=false HF_TOKEN=${HF_TOKEN} NGC_KEY=<your key>",
        "GPU-5d8e7a2c-1f0b-4a55-9d3e-3c1d2b4a5f60",
        "mail someone@example.com, see https://example.com/a@b",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor({"A": "x" * 20}).text(text) == text


def test_short_and_plain_values_are_left_alone() -> None:
    redactor = Redactor({"A": "1", "B": "root", "C": "12345", "D": "", "E": "a1b!", "F": "hunter"})
    assert redactor.text("root 1 12345") == "root 1 12345"
    assert redactor.text("a1b! xa1b!x hunter hunters") == "[secret E] xa1b!x [secret F] hunters"


def test_a_secret_that_is_a_word_of_the_schema_breaks_no_report() -> None:
    redactor = Redactor({"A": "required", "B": "seconds"})
    data = {"severity": "required", "seconds": 1.5, "message": "it is required here"}
    assert redactor.data(data) == {"severity": "required", "seconds": 1.5, "message": "it is [secret A] here"}


def test_data_is_hidden_at_any_depth_and_in_keys() -> None:
    shown = REDACTOR.data({"a": [{"b": (CANARY, None, True, 3)}], CANARY: b"x " + CANARY.encode()})
    assert "caNary" not in json.dumps(shown)
    assert shown["a"][0]["b"][1:] == [None, True, 3]


def test_each_line_of_a_long_secret_is_hidden() -> None:
    key = "first-line-0123456789\nsecond-line-0123456789"
    assert Redactor({"K": key}).text("saw second-line-0123456789") == "saw [secret K]"


def test_values_without_names_and_the_object_itself_show_nothing() -> None:
    redactor = Redactor({CANARY})
    assert redactor.text(CANARY) == "[secret]"
    assert "caNary" not in repr(redactor)
    assert "caNary" not in repr(REDACTOR)


@given(text=st.text(), values=st.lists(st.text(min_size=1, max_size=20), max_size=3))
def test_hiding_twice_changes_nothing(text: str, values: list[str]) -> None:
    redactor = Redactor({f"NAME_{number}": value for number, value in enumerate(values)})
    once = redactor.text(text + "".join(values))
    assert redactor.text(once) == once


@given(value=st.text(alphabet="abcXYZ0189/+=&%\"'\\<", min_size=12, max_size=40), before=st.text(max_size=9))
def test_a_known_value_is_never_left(value: str, before: str) -> None:
    shown = Redactor({"T": value}).text(f"{before} {value}")
    assert value not in shown
