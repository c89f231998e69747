"""Addresses of daemons behind ssh, and what ssh's words mean."""

from __future__ import annotations

import pickle
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.platforms.faults import ConnectionLost, Denied, Fault, Garbled, Refused, TimedOut, Unreachable
from gonogo.platforms.ssh.address import SshAddress, parse_address
from gonogo.platforms.ssh.errors import connection_lost, login_fault, true_words

ADDRESS = SshAddress("gpu-host", "ml")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ssh://gpu-host", SshAddress("gpu-host")),
        ("ssh://ml@gpu-host:2222", SshAddress("gpu-host", "ml", 2222)),
        ("ssh://ml@GPU-Host", SshAddress("GPU-Host", "ml")),
        ("ssh://ml@[fe80::1%25eth0]:22", SshAddress("fe80::1%eth0", "ml", 22)),
        ("ssh://gpu_host/run/user/1001/docker.sock", SshAddress("gpu_host", socket="/run/user/1001/docker.sock")),
        ("ssh://gpu-host/", SshAddress("gpu-host")),
    ],
)
def test_address_is_read(url: str, expected: SshAddress) -> None:
    assert parse_address(url) == expected


@given(st.text(max_size=40))
def test_no_address_ever_becomes_an_option(text: str) -> None:
    try:
        address = parse_address(f"ssh://{text}")
    except ValueError:
        return
    words = address.words
    assert not address.host.startswith("-")
    assert words[-2:] == ("--", address.host)
    assert address.host
    assert not any(character.isspace() or character in "\0'\"`$;&|" for character in address.host)


def test_command_for_a_person_is_quoted() -> None:
    command = SshAddress("h", "u", 2222).command("sudo usermod -aG docker 'x y'", tty=True)
    assert shlex.split(command) == ["ssh", "-t", "-p", "2222", "u@h", "sudo usermod -aG docker 'x y'"]


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("ssh: connect to host 10.0.0.9 port 22: Connection timed out", TimedOut, "no answer from port 22 of 10.0.0.9"),
        ("ssh: connect to host h port 22: No route to host", Unreachable, "no way to h: No route to host"),
        ("ssh: connect to host h port 22: Network is unreachable", Unreachable, "Network is unreachable"),
        (
            "Connection timed out during banner exchange\nConnection to UNKNOWN port 65535 timed out",
            TimedOut,
            "the jump host before ssh://ml@gpu-host accepted the connection",
        ),
        (
            "Unable to negotiate with 10.0.0.9 port 22: no matching host key type found. Their offer: ssh-rsa",
            Refused,
            "no matching host key type found. Their offer: ssh-rsa",
        ),
        (
            "channel 0: open failed: administratively prohibited: open failed\nstdio forwarding failed",
            Refused,
            "the jump host forbids the way to ssh://ml@gpu-host",
        ),
        ("Bad owner or permissions on /u/ml/.ssh/config", Denied, "/u/ml/.ssh/config: others may write it"),
        ("/u/ml/.ssh/config: line 3: Bad configuration option: hots", Garbled, "cannot read its configuration"),
        (
            "Received disconnect from 10.0.0.9 port 22:2: Too many authentication failures",
            Denied,
            "closed the login after too many keys",
        ),
        (
            'sign_and_send_pubkey: signing failed for ED25519 "k" from agent: agent refused operation\n'
            "ml@gpu-host: Permission denied (publickey).",
            Denied,
            "the ssh agent refused to sign",
        ),
        ("something new", Garbled, "ssh could not log in at ssh://ml@gpu-host"),
        ("", Garbled, "ssh could not log in"),
    ],
)
def test_words_of_ssh(words: str, kind: type[Fault], message: str) -> None:
    fault = login_fault(words, ADDRESS, 8)
    assert type(fault) is kind
    assert message in fault.message
    assert "\n" not in fault.message
    assert fault.remedy
    assert fault.detail


def test_lines_that_tell_nothing_are_left_out() -> None:
    words = 'Authenticated to h ([10.0.0.9]:22) using "publickey".\nclient_loop: send disconnect: Broken pipe\n'
    assert true_words(words) == "client_loop: send disconnect: Broken pipe"
    lost = connection_lost(words, ADDRESS)
    assert (type(lost), lost.detail) == (ConnectionLost, "client_loop: send disconnect: Broken pipe")
    assert pickle.loads(pickle.dumps(lost)).message == lost.message


def test_a_silent_host_is_told_from_one_that_closed() -> None:
    lost = connection_lost("Timeout, server gpu-host not responding.", ADDRESS)
    assert "the host did not answer for 15 s" in lost.message
