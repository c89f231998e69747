"""CRED: what the job logs in with. Values are looked at, never shown."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement, warn
from gonogo.jobs.secrets import credential_fault

if TYPE_CHECKING:
    from gonogo.platforms.docker.remote import Login


@requirement("CRED-04", remedy="export {name}=… in this shell, without quotes or a newline in the value")
def test_credential_is_set(param: str, evidence: Notes) -> None:
    """The credential that the job names is set, well formed and not a placeholder."""
    value = os.environ.get(param)
    evidence(found="set" if value else "not set", expected="set", name=param)
    assert value, f"{param} is not set"
    fault = credential_fault(value)
    assert not fault, f"{param} {fault}"


@requirement("CRED-07")
def test_ssh_logs_in(ssh_login: Login | None, evidence: Notes) -> None:
    """ssh logs in on the daemon's host without a prompt, with a key that only its owner can read."""
    if ssh_login is None:
        evidence(found="no ssh: the daemon is reached by its own address")
        return
    evidence(found=f"logged in as {ssh_login.shown}", expected="a login without a prompt", target=ssh_login.address)
    evidence(groups=ssh_login.account.group_names or None)
    if ssh_login.open_keys:
        evidence.remedy(shlex.join(["chmod", "600", *ssh_login.open_keys]))
        warn(f"the key {ssh_login.open_keys[0]} can be read by others, so ssh left it aside and used another")
