"""Starts a command that is killed with its parent: `python parent_death.py PARENT COMMAND...`.

A process can request this from the kernel only for itself, and code between fork and exec is not
safe in a parent with threads. The parent therefore starts this script, which makes the request and
then becomes the command, with the same process id. It imports as little as possible, to start fast.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    end_with(parent)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def end_with(parent: int) -> None:
    """Requests that this process is killed with its parent. Exits if that has already ended."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
