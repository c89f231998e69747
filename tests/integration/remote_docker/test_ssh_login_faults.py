"""Each way in which ssh does not let us in is a fault of its own, with ssh's own words and a remedy that works."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from far_hosts import FarHost, Opener
from services.sshd import Sshd, make_key

from gonogo.platforms.faults import Denied, Fault, Refused, ToolMissing, Unreachable
from gonogo.platforms.ssh.address import parse_address
from gonogo.platforms.ssh.master import Master


def login_fault(open_far: Opener, url: str) -> Fault:
    with pytest.raises(Fault) as caught:
        open_far(url).login()
    return caught.value


def own_key(far_host: FarHost, folder: Path, passphrase: str = "", *, public: bool = True) -> Path:
    """A key that the server takes, at a place of the test's own."""
    key = folder / "id_test"
    if passphrase:
        make_key(key, passphrase)
        with far_host.lab.authorized.open("a") as file:
            file.write(key.with_suffix(".pub").read_text())
    else:
        shutil.copy(far_host.lab.key, key)
    if public:
        shutil.copy(far_host.lab.key.with_suffix(".pub"), key.with_suffix(".pub"))
    return key


def test_unknown_host(open_far: Opener, far_host: FarHost) -> None:
    fault = login_fault(open_far, "ssh://no-such-host.invalid")
    assert isinstance(fault, Unreachable)
    assert fault.message == "the ssh host no-such-host.invalid is unknown: no address for that name"
    assert "Could not resolve hostname" in fault.detail
    assert "HostName" in fault.remedy


def test_port_refuses(open_far: Opener, far_host: FarHost, refused_port: int) -> None:
    fault = login_fault(open_far, f"ssh://ml@127.0.0.1:{refused_port}")
    assert isinstance(fault, Refused)
    assert f"port {refused_port} of 127.0.0.1 refused" in fault.message
    assert "systemctl start ssh" in fault.remedy


def test_unknown_host_key_and_acceptance(open_far: Opener, far_host: FarHost, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    url = far_host.alias("new-host", UserKnownHostsFile=str(known))
    fault = login_fault(open_far, url)
    assert isinstance(fault, Denied)
    assert "the host key of ssh://new-host is unknown here" in fault.message
    assert "`ssh new-host true`" in fault.remedy
    accepted = ["ssh", "-o", "StrictHostKeyChecking=accept-new", "new-host", "true"]  # a person's yes
    subprocess.run(accepted, check=True, capture_output=True)
    assert open_far(url).login() is not None


def test_changed_host_key(open_far: Opener, far_host: FarHost, tmp_path: Path) -> None:
    other = tmp_path / "other_key"
    make_key(other)
    words = other.with_suffix(".pub").read_text().split()
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{far_host.sshd.port} {words[0]} {words[1]}\n")
    fault = login_fault(open_far, far_host.alias("changed-host", UserKnownHostsFile=str(known)))
    assert isinstance(fault, Denied)
    assert f"the host key of [127.0.0.1]:{far_host.sshd.port} is not the one that is known here" in fault.message
    assert f"{known}, line 1" in fault.message
    forget = fault.remedy.partition("`")[2].rstrip("`")
    assert "SHA256:" in fault.remedy
    subprocess.run(forget, shell=True, check=True, capture_output=True)
    assert "unknown here" in login_fault(open_far, "ssh://changed-host").message


def test_refused_key(open_far: Opener, far_host: FarHost, tmp_path: Path) -> None:
    key = tmp_path / "id_stranger"
    make_key(key)
    url = far_host.alias("stranger", IdentityFile=str(key))
    fault = login_fault(open_far, url)
    assert isinstance(fault, Denied)
    assert f"was refused: the server does not take {key}" in fault.message
    assert far_host.ops.name in fault.message
    assert "Permission denied (publickey)" in fault.detail
    assert f"`ssh-copy-id -i {key}.pub stranger`" in fault.remedy


def test_key_that_others_may_read(open_far: Opener, far_host: FarHost, tmp_path: Path) -> None:
    key = own_key(far_host, tmp_path)
    key.chmod(0o644)
    url = far_host.alias("open-key", IdentityFile=str(key))
    fault = login_fault(open_far, url)
    assert isinstance(fault, Denied)
    assert f"the key {key} can be read by others (mode 0644)" in fault.message
    assert fault.remedy == f"chmod 600 {key}"
    subprocess.run(fault.remedy, shell=True, check=True)
    assert open_far(url).login() is not None


def test_key_is_missing(open_far: Opener, far_host: FarHost, tmp_path: Path) -> None:
    fault = login_fault(open_far, far_host.alias("no-key", IdentityFile=str(tmp_path / "id_gone")))
    assert isinstance(fault, Denied)
    assert f"the key {tmp_path / 'id_gone'}, which the ssh configuration names, is not there" in fault.message


def test_passphrase_without_agent(open_far: Opener, far_host: FarHost, tmp_path: Path) -> None:
    key = own_key(far_host, tmp_path, "a passphrase", public=False)
    fault = login_fault(open_far, far_host.alias("locked-key", IdentityFile=str(key)))
    assert isinstance(fault, Denied)
    assert fault.message == f"the key {key} has a passphrase and no agent holds it"
    assert f"ssh-add {key}" in fault.remedy


def test_jump_host_refuses(open_far: Opener, far_host: FarHost, refused_port: int) -> None:
    far_host.alias("dead-jump", Port=str(refused_port))
    fault = login_fault(open_far, far_host.alias("behind-dead", ProxyJump="dead-jump"))
    assert isinstance(fault, Refused)
    assert f"port {refused_port} of 127.0.0.1 refused" in fault.message


def test_host_behind_the_jump_refuses(open_far: Opener, far_host: FarHost, refused_port: int) -> None:
    fault = login_fault(open_far, far_host.alias("dead-behind", Port=str(refused_port), ProxyJump="gpu-host"))
    assert isinstance(fault, Refused)
    assert "the jump host was reached, ssh://dead-behind was not from there: Connection refused" in fault.message


def test_account_may_not_run_commands(open_far: Opener, far_host: FarHost) -> None:
    forced: Sshd = far_host.lab.server("sshd-forced", ForceCommand="echo no shell for you; exit 1")
    fault = login_fault(open_far, far_host.alias("forced", server=forced))
    assert isinstance(fault, Denied)
    assert "the account may not run commands there" in fault.message
    assert "no shell for you" in fault.detail


def test_no_ssh_client(open_far: Opener, far_host: FarHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    fault = login_fault(open_far, far_host.url)
    assert isinstance(fault, ToolMissing)
    assert fault.remedy == "sudo apt-get install openssh-client"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ssh://ml:hunter2@gpu-host", "holds a password"),
        ("ssh://-oProxyCommand=touch%20x", "is no host name"),
        ("ssh://-oProxyCommand=x@gpu-host", "is no user name"),
        ("ssh://gpu-host:notaport", "cannot be read"),
        ("ssh://gpu-host/sock?x=1", "a query or a fragment"),
    ],
)
def test_address_that_is_none(open_far: Opener, url: str, words: str) -> None:
    platform = open_far(url)
    with pytest.raises(Refused, match=words) as caught:
        platform.login()
    assert "hunter2" not in f"{caught.value.message} {caught.value.remedy} {platform.address}"


def test_nothing_is_left_of_a_login_that_failed(open_far: Opener, far_host: FarHost, refused_port: int) -> None:
    master = Master(parse_address(f"ssh://127.0.0.1:{refused_port}"))
    with pytest.raises(Refused):
        master.open()
    assert not master.alive
    assert not master.folder.exists()
