"""Starts a command that is killed with its parent: `python parent_death.py PARENT COMMAND...`.

A process can only ask this of the kernel for itself, and code between fork and exec is not safe
in a parent with threads. So the parent starts this script, which asks and then becomes the
command, with the same process id. Linux only. It imports as little as it can, to start fast.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before we asked
        sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
