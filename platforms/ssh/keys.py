"""Why no key let us in: looked up on this machine after a refusal, without another connection (CRED-07)."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gonogo.platforms.faults import Denied, Fault
from gonogo.platforms.ssh.address import SshAddress

_SECONDS = 5.0


@dataclass(frozen=True)
class Key:
    """A key file that the configuration names and that is there."""

    path: str
    mode: int
    own: bool
    locked: bool
    fingerprint: str

    @property
    def open_to_others(self) -> bool:
        """ssh uses no key of the user's own that others may read."""
        return self.own and bool(self.mode & 0o077)


def too_open(path: str, mode: str) -> Fault:
    """A private key that others may read."""
    return Denied(
        f"the key {path} can be read by others (mode {mode}), so ssh does not use it",
        remedy=shlex.join(["chmod", "600", path]),
    )


def refused(words: str, address: SshAddress, account: str, methods: str) -> Fault:
    """The server let nobody in: the likeliest cause first. `methods` is what the server would have taken."""
    missing = re.search(r"(?:no such identity: |Identity file )(.+?)(?:: | not accessible)", words)
    if missing:
        return Denied(
            f"the key {missing.group(1)}, which the ssh configuration names, is not there",
            remedy="Correct IdentityFile in ~/.ssh/config, or put the key there",
        )
    if "publickey" not in methods:
        return Denied(
            f"the server of {account} takes no keys, only {methods}, and nobody is asked in a run",
            remedy="Set `PubkeyAuthentication yes` in sshd_config of the host",
        )
    named = _named_keys(address)
    for key in named:
        if key.open_to_others:
            return too_open(key.path, f"{key.mode:04o}")
    held = _held_by_agent(address)
    for key in named:
        if key.locked and key.fingerprint not in (held or ""):
            return _locked(key, agent=held is not None)
    if not named and not held:
        return Denied(
            f"there is no key to log in with as {account}",
            remedy=f"Make one (ssh-keygen -t ed25519) and have it taken: `{_copy_id(address, '')}`",
        )
    shown = ", ".join(key.path for key in named) or "the keys of the agent"
    first = named[0].path if named else ""
    return Denied(
        f"{account} was refused: the server does not take {shown}",
        remedy=f"Have the key taken, by a login that works: `{_copy_id(address, first)}`; or correct the user",
    )


def _locked(key: Key, *, agent: bool) -> Fault:
    message = f"the key {key.path} has a passphrase and no agent holds it"
    add = shlex.join(["ssh-add", key.path])
    if agent:
        return Denied(message, remedy=add)
    return Denied(message, remedy=f'Start an agent in this shell and give it the key: `eval "$(ssh-agent)" && {add}`')


def _copy_id(address: SshAddress, key: str) -> str:
    port = ["-p", str(address.port)] if address.port is not None else []
    target = f"{address.user}@{address.host}" if address.user else address.host
    return shlex.join(["ssh-copy-id", *(["-i", f"{key}.pub"] if key else []), *port, target])


def _named_keys(address: SshAddress) -> list[Key]:
    """The key files of the effective configuration that exist."""
    found = []
    for line in _output("ssh", "-G", *address.words).splitlines():
        name, _, value = line.partition(" ")
        if name == "identityfile" and value != "none":
            key = _key(os.path.expanduser(value))
            if key is not None:
                found.append(key)
    return found


def _key(path: str) -> Key | None:
    try:
        facts = Path(path).stat()
    except OSError:
        return None
    opened = subprocess.run(
        ["ssh-keygen", "-y", "-P", "", "-f", path],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    locked = b"incorrect passphrase" in opened.stderr
    fingerprint = re.search(r"SHA256:\S+", _output("ssh-keygen", "-lf", path))
    return Key(
        path,
        stat.S_IMODE(facts.st_mode),
        facts.st_uid == os.geteuid(),
        locked,
        fingerprint.group() if fingerprint else "?",
    )


def _held_by_agent(address: SshAddress) -> str | None:
    """What the agent lists, None where there is no agent."""
    agent = re.search(r"^identityagent (.+)$", _output("ssh", "-G", *address.words), re.MULTILINE)
    environment = dict(os.environ)
    if agent and agent.group(1) == "none":
        return None
    if agent and agent.group(1) != "SSH_AUTH_SOCK":
        environment["SSH_AUTH_SOCK"] = os.path.expanduser(agent.group(1))
    if not environment.get("SSH_AUTH_SOCK"):
        return None
    done = _run("ssh-add", "-l", environment=environment)
    return done.stdout.decode(errors="replace") if done is not None and done.returncode in (0, 1) else None


def _output(*command: str) -> str:
    done = _run(*command)
    return done.stdout.decode(errors="replace") if done is not None else ""


def _run(*command: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
