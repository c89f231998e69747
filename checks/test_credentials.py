"""CRED: what the job logs in with. Values are looked at, never shown."""

from __future__ import annotations

import os

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.jobs.secrets import credential_fault


@requirement("CRED-04", remedy="export {name}=… in this shell, without quotes or a newline in the value")
def test_credential_is_set(param: str, evidence: Notes) -> None:
    """The credential that the job names is set, well formed and not a placeholder."""
    value = os.environ.get(param)
    evidence(found="set" if value else "not set", expected="set", name=param)
    assert value, f"{param} is not set"
    fault = credential_fault(value)
    assert not fault, f"{param} {fault}"
