# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Hosts that are network namespaces of this one, joined by a bridge.

    with network_of_hosts(4, folder) as options:
        subprocess.run(["mpirun", *options, "-n", "4", ...])

With `rate`, each host sends and receives so many bits a second at most.

mpirun starts a daemon in each as on a machine of its own: ranks on different
hosts share no memory and no loopback device.
"""

import contextlib
import os
import shutil
import subprocess

# Interfaces have names of 15 characters at most; several runs may be going on.
PREFIX = f"cm{os.getpid() % 100000}"
SUBNET = f"10.{77 + os.getpid() % 100}.{os.getpid() // 100 % 250}"

# In place of ssh. The hosts have names of their own, by which mpirun tells them
# apart.
AGENT = """#!/bin/sh
host=$1
shift
number=$((${host##*.} - 1))
exec unshare --uts sh -c "hostname PREFIXh$number; exec ip netns exec PREFIXn$number sh -c '$*'"
"""


def reason_against():
    """Why this machine can have no such hosts; None where it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip") or not shutil.which("unshare"):
        return "network namespaces need the commands ip and unshare"
    probe = f"{PREFIX}probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True)
    return None if made.returncode == 0 else f"no network namespaces here: {made.stderr.strip()}"


def _ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True)


def _tc(*arguments):
    subprocess.run(["tc", *map(str, arguments)], check=True, capture_output=True)


@contextlib.contextmanager
def network_of_hosts(count, folder, rate=None):
    """Options that make mpirun start one rank on each of `count` hosts."""
    bridge = f"{PREFIX}b"
    with contextlib.ExitStack() as undo:
        _ip("link", "add", bridge, "type", "bridge")
        undo.callback(_ip, "link", "del", bridge)
        _ip("addr", "add", f"{SUBNET}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for number in range(count):
            host, outside = f"{PREFIX}n{number}", f"{PREFIX}v{number}"
            _ip("netns", "add", host)
            undo.callback(_ip, "netns", "del", host)
            _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", host)
            _ip("link", "set", outside, "master", bridge, "up")
            _ip("-n", host, "addr", "add", f"{SUBNET}.{number + 1}/24", "dev", "eth0")
            _ip("-n", host, "link", "set", "eth0", "up")
            _ip("-n", host, "link", "set", "lo", "up")
            if rate:
                # A queue of 20 ms, as switches have: TCP fills it.
                shape = ["root", "tbf", "rate", f"{rate}bit", "burst", "256k", "latency", "20ms"]
                _tc("qdisc", "add", "dev", outside, *shape)
                _tc("-n", host, "qdisc", "add", "dev", "eth0", *shape)
        agent = folder / "agent.sh"
        agent.write_text(AGENT.replace("PREFIX", PREFIX))
        agent.chmod(0o755)
        network = f"{SUBNET}.0/24"
        settings = {
            "plm_rsh_agent": agent,
            "oob_tcp_if_include": network,
            "btl": "tcp,self",
            "btl_tcp_if_include": network,
        }
        hosts = ",".join(f"{SUBNET}.{number + 1}" for number in range(count))
        options = [word for key, value in settings.items() for word in ("--mca", key, str(value))]
        # Each daemon would take the first core for its rank.
        yield [*options, "--host", hosts, "--bind-to", "none"]
