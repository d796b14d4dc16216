"""unit_filter.py UNIT COMMAND...: run a command under the SystemCallFilter= and SystemCallErrorNumber= of a systemd unit.

systemd itself is not needed, only systemd-analyze, which knows the groups of system calls, and libseccomp.
"""

import ctypes
import errno
import os
import re
import subprocess
import sys

KILL, ERROR, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000


def members(group):
    """The system calls of @GROUP, and of the groups in it."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True).stdout
    for word in (line.strip() for line in listed.splitlines()[1:]):
        if word.startswith("@"):
            yield from members(word)
        elif word and not word.startswith("#"):
            yield word


def settings(unit):
    with open(unit, encoding="utf-8") as file:
        text = file.read()
    names = " ".join(re.findall(r"^SystemCallFilter=(.*)", text, re.MULTILINE)).split()
    number = re.search(r"^SystemCallErrorNumber=(\w+)", text, re.MULTILINE)
    return names, ERROR | getattr(errno, number.group(1)) if number else KILL


def main(unit, *command):
    names, action = settings(unit)
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(action)))
    for name in names:
        for call in members(name) if name.startswith("@") else [name]:
            number = library.seccomp_syscall_resolve_name(call.encode())
            if number >= 0:
                library.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), ctypes.c_int(number), ctypes.c_uint(0))
    if library.seccomp_load(context) != 0:
        sys.exit("the filter cannot be loaded")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
