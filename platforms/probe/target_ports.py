"""Runs on the target, in whatever python3 (3.6 or later) is there: tries to listen on ports, names who holds them.

Arguments: INDEX PORT HEX for each port. One line each: index, free|busy|denied, holder's PID, its name, a free port
above, separated by tabs; empty where unknown.
"""

import errno
import os
import socket
import sys


def listen(port: int) -> str:
    """free, busy or denied: as torch's store and most servers bind, on IPv6 and IPv4, with SO_REUSEADDR."""
    for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            one = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            continue
        with one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind((host, port))
                one.listen(1)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return "busy"
                if error.errno in (errno.EACCES, errno.EPERM):
                    return "denied"
                if family == socket.AF_INET:
                    return "denied"
    return "free"


def inodes(port_hex: str) -> "set[str]":
    """Socket inodes bound to the port, from the kernel's tables; listeners first where there are any."""
    listening = set()  # type: set[str]
    bound = set()  # type: set[str]
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                for line in lines:
                    words = line.split()
                    if len(words) > 9 and words[1].endswith(":" + port_hex) and words[9] != "0":
                        (listening if words[3] == "0A" else bound).add(words[9])
        except OSError:
            continue
    return listening or bound


def holder(port_hex: str) -> "tuple[str, str]":
    """PID and name of a process that has one of those sockets open; empty where none can be seen."""
    wanted = {f"socket:[{inode}]" for inode in inodes(port_hex)}
    if not wanted:
        return "", ""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for one in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{one}") in wanted:
                    with open(f"/proc/{pid}/comm", errors="replace") as name:
                        return pid, name.read().strip()
        except OSError:
            continue
    return "", ""


def main(arguments: "list[str]") -> None:
    for at in range(0, len(arguments), 3):
        index, port, port_hex = arguments[at], int(arguments[at + 1]), arguments[at + 2]
        state = listen(port)
        pid, name = holder(port_hex) if state == "busy" else ("", "")
        above = (other for other in range(port + 1, min(port + 200, 65536)) if listen(other) == "free")
        proposal = "" if state == "free" else str(next(above, ""))
        sys.stdout.write("\t".join((index, state, pid, name.replace("\t", " "), proposal)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
