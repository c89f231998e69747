"""Secrets out of text and data: values that are known, and shapes that are known to be secrets (CRED-06).

Known values are found in the forms in which tools echo them: as they are, URL-encoded, JSON-escaped, HTML-escaped,
shell-quoted, and in base64 at each of the three alignments, so also inside `base64(user:secret)`.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from gonogo.reports.rows import Severity, State

#: A value shorter than this is left alone: hiding every `1` or `no` would make a report unreadable.
MINIMUM = 4
#: A value shorter than this is left alone unless it mixes letters with other characters: `root`, `true`, `12345`.
PLAIN_MINIMUM = 6
#: A value shorter than this is only hidden where it stands by itself, not inside a longer word.
ANYWHERE = 10

_HIDDEN = "[secret]"
_MARK = r"\[secret(?: [\w.-]+)?\]"

#: Words of our own schema. A 'secret' that equals one of them may not break a report's states.
_VOCABULARY = frozenset(
    (
        *(state.value for state in State),
        *(severity.value for severity in Severity),
        *("static", "target", "arrival", "GO", "NO-GO", "INCOMPLETE", "waiver", "attestation", "gonogo.readiness/1"),
    )
)
_OWN_KEY = re.compile(r"[a-z][a-z_-]{0,40}\Z")

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, flags), replacement)
    for pattern, flags, replacement in (
        (r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL, _HIDDEN),
        (r"\beyJ[\w-]{8,1000}\.[\w-]{8,}\.[\w-]*", 0, _HIDDEN),  # JSON Web Token
        (r"\bhf_[A-Za-z0-9]{16,}", 0, _HIDDEN),  # Hugging Face
        (r"\bnvapi-[\w-]{16,}", 0, _HIDDEN),  # NGC
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", 0, _HIDDEN),  # AWS access key ID
        (r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})", 0, _HIDDEN),
        (r"\bsk-(?:(?:proj|ant|svcacct)-[\w-]{20,}|[A-Za-z0-9]{32,})", 0, _HIDDEN),
        (r"\bxox[abprs]-[A-Za-z0-9-]{10,}", 0, _HIDDEN),  # Slack
        (r"\bAIza[\w-]{30,}", 0, _HIDDEN),  # Google
        (r"(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)[^\s\"'\[]+", re.I, rf"\1{_HIDDEN}"),
        (r"(\bbearer\s+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}", re.I, rf"\1{_HIDDEN}"),
        (r"(://[^\s/:@?#\"'<>]*:)(?!\[secret)[^\s/\"<>]+(?=@)", 0, rf"\1{_HIDDEN}"),  # user:password@host
        (r"(\bhttps?://)(?!\[secret)[^\s/:@\"'<>]{20,}(?=@)", re.I, rf"\1{_HIDDEN}"),  # token@host
        (
            r"((?:x-(?:amz|goog)-(?:signature|credential|security-token)|[?&](?:sig|signature|awsaccesskeyid))"
            r"[\"']?\s*[=:]\s*[\"']?)(?!\[secret)[^\s&\"']+",
            re.I,
            rf"\1{_HIDDEN}",
        ),
        (
            r"(\b[A-Z0-9_]*(?:TOKEN|PASSWORD|SECRET|API_KEY|SECRET_KEY|ACCESS_KEY|NGC_KEY)=[\"']?)"
            r"(?![\[$<{…])[^\s\"'&]{8,}",
            0,
            rf"\1{_HIDDEN}",
        ),
    )
)


_BASIC = re.compile(r"(\bbasic\s+)([A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)


class Redactor:
    """Hides secrets. Immutable, safe to share between threads, and idempotent: what it has hidden it leaves alone.

    `values` maps a name to a secret's value; the name is what a reader sees instead: `[secret HF_TOKEN]`. Values
    without names are taken too, and show as `[secret]`.
    """

    def __init__(self, values: Mapping[str, str] | Iterable[str] = ()) -> None:
        named = values.items() if isinstance(values, Mapping) else (("", value) for value in values)
        self._names: dict[str, str] = {}
        for name, value in sorted(named):
            for form in _forms(value):
                self._names.setdefault(form, name)
        self._known = _known_pattern(self._names)

    def text(self, text: str) -> str:
        """The text without secrets."""
        hidden = self._once(text)
        while hidden != text:  # hiding one secret may free the edge of a short one beside it
            text, hidden = hidden, self._once(hidden)
        return hidden

    def _once(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(self._replacement, text)
        for pattern, replacement in _SHAPES:
            text = pattern.sub(replacement, text)
        return _BASIC.sub(_basic, text)

    def data(self, data: Any) -> Any:
        """A copy of JSON-able data without secrets, in values and in keys; numbers, booleans and None as they are."""
        if isinstance(data, str):
            return data if data in _VOCABULARY else self.text(data)
        if isinstance(data, Mapping):
            return {self._key(key): self.data(value) for key, value in data.items()}
        if isinstance(data, (list, tuple)):
            return [self.data(item) for item in data]
        if isinstance(data, (bytes, bytearray)):
            return self.text(bytes(data).decode("utf-8", "replace"))
        return data

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) and not _OWN_KEY.match(key) else key

    def _replacement(self, match: re.Match[str]) -> str:
        found = match.group(0)
        name = self._names.get(found)
        if name is None:
            return found
        return f"[secret {re.sub(r'[^A-Za-z0-9_.-]', '_', name)}]" if name else _HIDDEN

    def __repr__(self) -> str:
        return f"Redactor({sorted(set(self._names.values()))})"  # never the values


def _basic(match: re.Match[str]) -> str:
    """`Basic <base64 of user:password>`; an ordinary word after 'basic' stays."""
    try:
        decoded = base64.b64decode(match.group(2), validate=True)
    except ValueError:
        return match.group(0)
    return match.group(1) + _HIDDEN if b":" in decoded else match.group(0)


def _known_pattern(forms: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    if not longest_first:
        return None
    bounded = [
        re.escape(form) if len(form) >= ANYWHERE else rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])"
        for form in longest_first
    ]
    return re.compile("|".join([_MARK, *bounded]))  # the mark first: what is hidden stays hidden, as it is


def _forms(value: str) -> set[str]:
    """The spellings under which a value may turn up."""
    pieces = {value, value.strip()}
    if "\n" in value:
        pieces |= {line.strip() for line in value.splitlines() if len(line.strip()) >= 16}
    forms: set[str] = set()
    for piece in pieces:
        if not _worth_hiding(piece):
            continue
        forms |= {
            piece,
            quote(piece, safe="", errors="replace"),
            quote(piece, errors="replace"),
            quote_plus(piece, errors="replace"),
            json.dumps(piece)[1:-1],
            json.dumps(piece, ensure_ascii=False)[1:-1],
            repr(piece)[1:-1],
            html.escape(piece),
            shlex.quote(piece).strip("'"),
        }
        forms |= _base64_forms(piece)
    return {form for form in forms if len(form) >= MINIMUM}


def _worth_hiding(value: str) -> bool:
    if len(value) < PLAIN_MINIMUM:
        return len(value) >= MINIMUM and not value.isalpha() and any(char.isalpha() for char in value)
    return True


def _base64_forms(value: str) -> set[str]:
    """The characters that are the same wherever the value stands inside a base64 text, in both alphabets."""
    data = value.encode("utf-8", "surrogatepass")
    forms: set[str] = set()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + data)
        settled_bits = (offset + len(data)) * 8
        core = encoded[-(-offset * 8 // 6) : settled_bits // 6].decode("ascii")
        if len(core) >= ANYWHERE - 2:
            forms |= {core, core.replace("+", "-").replace("/", "_")}
    for whole in (base64.b64encode(data).decode("ascii"), base64.urlsafe_b64encode(data).decode("ascii")):
        forms |= {whole, whole.rstrip("=")}
    return forms
