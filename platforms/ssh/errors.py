"""What ssh says, as faults: each kind of trouble told apart, with a remedy. Source: wordings of OpenSSH 8 to 9."""

from __future__ import annotations

import re
import shlex

from gonogo.platforms.faults import ConnectionLost, Denied, Fault, Garbled, Refused, TimedOut, Unreachable
from gonogo.platforms.ssh import keys
from gonogo.platforms.ssh.address import SshAddress

#: Said with every end of a connection, or on success: never the cause.
_NOISE = re.compile(
    r"^(Authenticated to |Transferred: |Bytes per second: |Warning: Permanently added |Connection closed by UNKNOWN"
    r"|Connection to UNKNOWN|kex_exchange_identification: Connection closed|@{10}|\s*$)"
)
_FOREIGN = re.compile(r"(banner exchange: .*invalid format|Bad remote protocol version.*|no matching .* found.*)")


def login_fault(words: str, address: SshAddress, seconds: float) -> Fault:
    """Why ssh ended before it was logged in. `words` is all that it said, `seconds` its bound on the connection."""
    for judge in (_configuration, _network, _jump, _host_key, _account):
        fault = judge(words, address, seconds)
        if fault is not None:
            fault.detail = fault.detail or true_words(words)
            return fault
    return Garbled(
        f"ssh could not log in at {address.shown}",
        detail=true_words(words) or "ssh said nothing",
        remedy=f"See what ssh says: `{address.command('true')}`",
    )


def connection_lost(words: str, address: SshAddress) -> ConnectionLost:
    """A connection that stood and has ended."""
    said = true_words(words)
    if "Timeout, server" in words:
        message = f"the ssh connection to {address.shown} was lost: the host did not answer for 15 s"
    else:
        message = f"the ssh connection to {address.shown} was lost"
    return ConnectionLost(
        message, detail=said, remedy=f"See whether the host is up and the network stays: `{address.command('uptime')}`"
    )


def true_words(words: str) -> str:
    """ssh's words without the lines that say nothing about the cause."""
    return "\n".join(line for line in words.splitlines() if not _NOISE.match(line)).strip()


def _configuration(words: str, address: SshAddress, _seconds: float) -> Fault | None:
    match = re.search(r"Bad owner or permissions on (\S+)", words)
    if match:
        file = match.group(1)
        return Denied(f"ssh refuses its configuration {file}: others may write it", remedy=f"chmod 600 {file}")
    if "Bad configuration option" in words or "extra arguments at end of line" in words:
        return Garbled(
            "ssh cannot read its configuration",
            remedy=f"Correct the line that ssh names: `{address.command('true')}`",
        )
    return None


def _network(words: str, address: SshAddress, seconds: float) -> Fault | None:
    match = re.search(r"Could not resolve hostname (\S+): ", words)
    if match:
        return Unreachable(
            f"the ssh host {match.group(1)} is unknown: no address for that name",
            remedy=f"Correct the host, or give `Host {match.group(1)}` its HostName in ~/.ssh/config",
        )
    match = re.search(r"connect to host (\S+) port (\d+): Connection refused", words)
    if match:
        return Refused(
            f"port {match.group(2)} of {match.group(1)} refused the ssh connection: no ssh server listens there",
            remedy="Start it there (sudo systemctl start ssh), or give the right port: ssh://USER@HOST:PORT",
        )
    match = re.search(r"connect to host (\S+) port (\d+): (?:Connection|Operation) timed out", words)
    if match:
        return TimedOut(
            f"no answer from port {match.group(2)} of {match.group(1)} within {seconds:g} s",
            remedy="See whether the host is up, and whether a firewall or a missing VPN is between",
        )
    match = re.search(r"connect to host (\S+) port \d+: (No route to host|Network is unreachable)", words)
    if match:
        return Unreachable(f"no way to {match.group(1)}: {match.group(2)}", remedy="See the network, or the VPN")
    if "timed out during banner exchange" in words or "Connection timed out" in words:
        return TimedOut(
            f"{_who(words, address)} accepted the connection and sent no ssh greeting within {seconds:g} s",
            remedy="See on the host why sshd is silent: sudo systemctl restart ssh",
        )
    match = _FOREIGN.search(words)
    if match:
        return Refused(
            f"{_who(words, address)} does not speak ssh in a way that this client takes: {match.group(1)}",
            remedy="See that the port is an ssh server's, and that its algorithms are not outdated",
        )
    return None


def _jump(words: str, address: SshAddress, _seconds: float) -> Fault | None:
    if "stdio forwarding failed" not in words:
        return None
    match = re.search(r"open failed: (administratively prohibited|connect failed: (.*)|.*)", words)
    reason = match.group(2) or match.group(1) if match else "no reason given"
    if reason == "administratively prohibited":
        return Refused(
            f"the jump host forbids the way to {address.shown}",
            remedy="Set `AllowTcpForwarding yes` in sshd_config of the jump host, or jump over another",
        )
    kind = Unreachable if "resol" in reason or "route" in reason else Refused
    return kind(
        f"the jump host was reached, {address.shown} was not from there: {reason.strip()}",
        remedy="See that sshd runs on the host behind the jump, and its HostName and Port in ~/.ssh/config",
    )


def _host_key(words: str, address: SshAddress, _seconds: float) -> Fault | None:
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in words:
        return _changed_key(words, address)
    if "Host key verification failed" not in words and "host key is known" not in words:
        return None
    named = re.search(r"No \S+ host key is known for (\S+) ", words)
    host = named.group(1) if named else _who(words, address)
    return Denied(
        f"the host key of {host} is unknown here, and nobody is asked in a run",
        remedy=f"Compare its fingerprint with the host's own, and accept it once: `{address.command('true')}`",
    )


def _changed_key(words: str, address: SshAddress) -> Fault:
    host = re.search(r"Host key for (\S+) has changed", words)
    file = re.search(r"Offending \S+ key in (.+):(\d+)", words)
    print_ = re.search(r"(SHA256:\S+?)\.?$", words, re.MULTILINE)
    name = host.group(1) if host else address.host
    forget = shlex.join(["ssh-keygen", *(["-f", file.group(1)] if file else []), "-R", name])
    line = f" ({file.group(1)}, line {file.group(2)})" if file else ""
    return Denied(
        f"the host key of {name} is not the one that is known here{line}: it was set up anew, or another host answers",
        remedy=f"Compare {print_.group(1) if print_ else 'the new fingerprint'} with the host's own; if it is right, "
        f"forget the old key: `{forget}`",
    )


def _account(words: str, address: SshAddress, _seconds: float) -> Fault | None:
    match = re.search(r"^Permissions (\d+) for '(.+)' are too open", words, re.MULTILINE)
    if match:
        return keys.too_open(match.group(2), match.group(1))
    if "agent refused operation" in words:
        return Denied("the ssh agent refused to sign with the key", remedy="ssh-add -l, then give it the key again")
    if "Too many authentication failures" in words:
        return Denied(
            f"{address.shown} closed the login after too many keys",
            remedy=f"Name the key under `Host {address.host}` in ~/.ssh/config: IdentityFile and IdentitiesOnly yes",
        )
    match = re.search(r"^(?:(\S+)@(\S+): )?Permission denied \(([^)]*)\)", words, re.MULTILINE)
    if match:
        account = f"{match.group(1)}@{match.group(2)}" if match.group(1) else address.shown
        return keys.refused(words, address, account, match.group(3))
    return None


def _who(words: str, address: SshAddress) -> str:
    """The jump host where it is the one that ended things: ssh then has no address for the connection."""
    return f"the jump host before {address.shown}" if "UNKNOWN port" in words else address.shown
